/* session_facts.c - see session_facts.h */
#include "services/transceiver/port/session_facts.h"

#include <assert.h>
#include <stdio.h>

static_assert((int)CONTROL_SESSION_CHECKING == SESSION_CHECKING + 1 &&
                  (int)CONTROL_SESSION_HANDSHAKE == SESSION_HANDSHAKE + 1 &&
                  (int)CONTROL_SESSION_CONNECTED == SESSION_CONNECTED + 1 &&
                  (int)CONTROL_SESSION_ENDED == SESSION_ENDED + 1,
              "the states of a session, behind \"unknown\"");

static void add(struct control_facts *facts, const char *name, uint64_t value)
{
    assert(facts->count < CONTROL_FACTS_MAX);
    struct control_fact *fact = &facts->fact[facts->count++];
    const int len = snprintf(fact->name, sizeof(fact->name), "%s", name);
    assert(len > 0 && (size_t)len < sizeof(fact->name));
    (void)len;
    fact->value = value;
}

void session_facts_row(const struct session *s, uint64_t unix_offset_us,
                       struct control_session_row *out)
{
    const struct session_timeline *t = session_timeline(s);
    *out = (struct control_session_row){
        .session_id = session_id(s),
        .state = (enum control_session_state)(session_timeline_state(t) + 1),
        .offer_unix_us = unix_offset_us + t->offer_us,
    };
    static_assert(sizeof(out->call_id) == SESSION_CALL_ID_CAP, "a call id is a call id");
    memcpy(out->call_id, session_call_id(s), strnlen(session_call_id(s), SESSION_CALL_ID_CAP - 1));
}

static void fill_timeline(const struct session_timeline *t, struct control_facts *out)
{
    const struct {
        const char *name;
        uint64_t at_us;
    } moment[] = {
        {"answer", t->created_us},
        {"first_check", t->first_check_us},
        {"dtls_done", t->connected_us},
        {"accepted", t->accepted_us},
        {"first_audio_in", t->first_audio_in_us},
        {"first_audio_out", t->first_audio_out_us},
        {"ended", t->ended_us},
    };
    for (size_t i = 0; i < COUNT_OF(moment); i++) {
        if (moment[i].at_us != 0) {
            add(out, moment[i].name, time_since(t->offer_us, moment[i].at_us));
        }
    }
}

static void fill_incoming(const struct session_stats *stats, struct control_facts *out)
{
    const struct voice_uplink_quality *q = &stats->quality;
    for (size_t i = 0; i < VOICE_UPLINK_RESULT_COUNT; i++) {
        char name[CONTROL_FACT_CHARS_MAX + 1];
        (void)snprintf(name, sizeof(name), "in_%s",
                       voice_uplink_result_name((enum voice_uplink_result)i));
        add(out, name, stats->uplink.packets[i]);
    }
    add(out, "in_red_packets", stats->uplink.red_packets);
    add(out, "in_frames", stats->uplink.frames);
    add(out, "in_concealed", stats->uplink.concealed);
    add(out, "in_undecoded", stats->uplink.undecoded);
    add(out, "in_lost", q->expected > q->received ? q->expected - q->received : 0);
    add(out, "in_gave_up", q->late);
    add(out, "in_concealed_us", q->concealed_us);
    add(out, "in_fec_us", q->fec_us);
    add(out, "in_red_us", q->red_us);
    add(out, "in_jitter_us", q->jitter_us);
}

static void fill_outgoing(const struct session_stats *stats, struct control_facts *out)
{
    add(out, "out_packets", stats->voice.packets);
    add(out, "out_speech_packets", stats->voice.speech_packets);
    add(out, "out_red_packets", stats->voice.red_packets);
    add(out, "out_sent_again", stats->sent_again);
    add(out, "out_skipped_slots", stats->voice.skipped_slots);
    add(out, "out_underruns", stats->downlink.underruns);
    /* These three as the client reports them. */
    add(out, "out_lost",
        stats->sender.cumulative_lost > 0 ? (uint64_t)stats->sender.cumulative_lost : 0);
    add(out, "out_lost_permille_now", (uint64_t)stats->sender.fraction_lost * 1000 / 256);
    add(out, "out_jitter_us", stats->sender.jitter_us);
}

static void fill_channels(const struct session_stats *stats, struct control_facts *out)
{
    add(out, "channels_opened", stats->channels.opened);
    add(out, "channels_refused", stats->channels.refused);
    add(out, "channel_messages_in", stats->channels.messages_in);
    add(out, "channel_messages_out", stats->channels.messages_out);
    add(out, "channel_messages_dropped", stats->channels.messages_dropped);
    add(out, "events_in", stats->data.events_in);
    add(out, "events_out", stats->data.events_out);
}

static void fill_sidebands(const struct sidebands *sidebands, struct control_facts *out)
{
    add(out, "sidebands", sidebands_count(sidebands));
    add(out, "sideband_messages", sidebands->sequence);
    add(out, "sideband_messages_lost", sidebands->lost);
}

static void fill_counters(const struct session *s, struct control_facts *out, uint64_t now_us)
{
    const struct session_stats stats = session_stats(s);
    const struct client_leg_path path = session_path(s);
    add(out, "ice_generation", session_ice(s)->generation);
    add(out, "path_moves", path.moves);
    add(out, "path_is_tcp", path.is_tcp);
    add(out, "client_silent_us", time_since(path.last_alive_us, now_us));
    add(out, "rtt_us", stats.sender.rtt_us);
    fill_incoming(&stats, out);
    fill_outgoing(&stats, out);
    fill_channels(&stats, out);
    fill_sidebands(session_sidebands(s), out);
}

void session_facts_fill(const struct session *s, uint64_t unix_offset_us, struct control_reply *out,
                        uint64_t now_us)
{
    const struct session_timeline *t = session_timeline(s);
    out->kind = CONTROL_GET_SESSION;
    session_facts_row(s, unix_offset_us, &out->row);
    if (t->ended_us != 0) {
        out->end_reason = bytes_view_of_text(session_end_reason_name(t->end_reason));
    }
    fill_timeline(t, &out->timeline);
    fill_counters(s, &out->counters, now_us);
}
