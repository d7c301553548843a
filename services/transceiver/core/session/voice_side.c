/* voice_side.c - see voice_side.h */
#include "services/transceiver/core/session/voice_side.h"

#define PACKET_CAP (OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES)

/* --- life ------------------------------------------------------------------------------------- */

static void note_direction(struct voice_side *v, const struct sdp_offer *offer)
{
    for (size_t i = 0; i < offer->section_count; i++) {
        const struct sdp_section *section = &offer->section[i];
        if (section->is_accepted && section->media == SDP_MEDIA_AUDIO) {
            v->client_sends =
                section->direction == SDP_SENDRECV || section->direction == SDP_SENDONLY;
            v->client_receives =
                section->direction == SDP_SENDRECV || section->direction == SDP_RECVONLY;
        }
    }
}

struct rtp_sender *voice_side_sender(const struct voice_side *v)
{
    return voice_sender_rtp(voice_downlink_sender(v->downlink));
}

bool voice_side_init(struct voice_side *v, const struct voice_side_config *config, uint64_t now_us)
{
    v->timeline = config->timeline;
    note_direction(v, config->offer);
    const struct voice_uplink_config uplink = {
        .session_id = config->session_id,
        .offer = config->offer,
        .start_us = now_us,
        .outbox = config->outbox,
    };
    const struct voice_downlink_config downlink = {
        .session_id = config->session_id,
        .start_us = now_us,
        .credit_us = config->credit_us,
        .outbox = config->outbox,
        .voice = {.session_id = config->session_id,
                  .codec = config->offer->audio_codec,
                  .payload_type = config->offer->audio_payload_type,
                  .bitrate_bps = config->bitrate_bps,
                  .red_payload_type = config->offer->has_red ? config->offer->red_payload_type : 0,
                  .has_nack = config->offer->has_nack,
                  .idle_sparse = config->idle_sparse,
                  .effort = config->effort,
                  .silences = config->silences,
                  .rtp = {.random = config->random, .unix_offset_us = config->unix_offset_us}},
    };
    v->uplink = voice_uplink_create(&uplink);
    v->downlink = voice_downlink_create(&downlink);
    if (v->uplink == NULL || v->downlink == NULL) {
        return false;
    }
    const struct voice_rtcp_config rtcp = {
        .receiver = voice_uplink_receiver(v->uplink),
        .sender = voice_side_sender(v),
        .history = voice_sender_history(voice_downlink_sender(v->downlink)),
        .seed = random_u32(config->random),
    };
    voice_rtcp_init(&v->rtcp, &rtcp);
    return true;
}

void voice_side_deinit(struct voice_side *v)
{
    voice_uplink_destroy(v->uplink);
    voice_downlink_destroy(v->downlink);
}

void voice_side_start(struct voice_side *v, uint64_t now_us)
{
    if (v->client_receives) {
        voice_downlink_start(v->downlink, now_us);
    }
}

bool voice_side_is_said(const struct voice_side *v)
{
    return !v->client_receives || voice_downlink_is_drained(v->downlink);
}

/* --- to the client ---------------------------------------------------------------------------- */

static void send_voice(struct voice_side *v, struct client_leg *client, uint64_t now_us)
{
    uint8_t packet[PACKET_CAP];
    size_t len = 0;
    while ((len = voice_downlink_poll_packet(v->downlink, packet, now_us)) > 0) {
        struct bytes_span span = {packet, len, sizeof(packet)};
        if (client_leg_send_rtp(client, &span, now_us)) {
            voice_sender_keep(voice_downlink_sender(v->downlink),
                              bytes_view_of(span.data, span.len));
        }
        voice_rtcp_note_sent(&v->rtcp, now_us);
    }
    if (voice_sender_stats(voice_downlink_sender(v->downlink))->speech_packets > 0) {
        session_timeline_note(&v->timeline->first_audio_out_us, now_us);
    }
}

static void send_report(struct voice_side *v, struct client_leg *client, uint64_t now_us)
{
    uint8_t report[PACKET_CAP];
    const size_t len = voice_rtcp_poll_report(&v->rtcp, report, now_us);
    if (len > 0) {
        struct bytes_span span = {report, len, sizeof(report)};
        (void)client_leg_send_rtcp(client, &span, now_us);
    }
}

void voice_side_send_bye(struct voice_side *v, struct client_leg *client, uint64_t now_us)
{
    uint8_t bye[PACKET_CAP];
    const size_t len = voice_rtcp_bye(&v->rtcp, bye, now_us);
    if (len > 0) {
        struct bytes_span span = {bye, len, sizeof(bye)};
        (void)client_leg_send_rtcp(client, &span, now_us);
    }
}

/* --- from the client -------------------------------------------------------------------------- */

/* Whether that holds what is being said, the backend has decided. */
static void take_onset(struct voice_side *v, uint64_t now_us)
{
    if (voice_uplink_take_onset(v->uplink)) {
        voice_downlink_speech_started(v->downlink, now_us);
    }
}

void voice_side_take_rtp(struct voice_side *v, struct bytes_view datagram, uint64_t now_us)
{
    struct rtp_packet packet;
    if (!v->client_sends) {
        return;
    }
    const enum rtp_packet_result parsed = rtp_packet_parse(datagram, &packet);
    if (parsed != RTP_PACKET_OK) {
        voice_uplink_note_refused(v->uplink, parsed);
        return;
    }
    (void)voice_uplink_input(v->uplink, &packet, now_us); /* counted there */
    take_onset(v, now_us);
    voice_rtcp_note_received(&v->rtcp, now_us);
    if (voice_uplink_stats(v->uplink)->frames > 0) {
        session_timeline_note(&v->timeline->first_audio_in_us, now_us);
    }
}

void voice_side_take_rtcp(struct voice_side *v, struct client_leg *client,
                          struct bytes_view compound, uint64_t now_us)
{
    struct voice_sender *sender = voice_downlink_sender(v->downlink);
    const uint64_t reports = rtp_sender_stats(voice_sender_rtp(sender)).reports;
    voice_rtcp_input(&v->rtcp, compound, now_us);
    if (rtp_sender_stats(voice_sender_rtp(sender)).reports != reports) {
        voice_sender_follow_report(sender, now_us);
    }
    struct bytes_view packet;
    while (voice_sender_history(sender) != NULL &&
           rtp_history_poll(voice_sender_history(sender), &packet)) {
        client_leg_send_again(client, packet, now_us);
        v->sent_again++;
    }
}

/* --- time ------------------------------------------------------------------------------------- */

void voice_side_tick(struct voice_side *v, struct client_leg *client, uint64_t now_us)
{
    voice_uplink_tick(v->uplink, now_us);
    take_onset(v, now_us);
    send_voice(v, client, now_us);
    send_report(v, client, now_us);
}

uint64_t voice_side_next_timeout(const struct voice_side *v)
{
    return time_earlier(voice_rtcp_next_timeout(&v->rtcp),
                        time_earlier(voice_uplink_next_timeout(v->uplink),
                                     voice_downlink_next_timeout(v->downlink)));
}
