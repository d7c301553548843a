/* session.c - see session.h */
#include "services/transceiver/core/session/session.h"

#include <assert.h>
#include <stdlib.h>

enum session_timer {
    SESSION_TIMER_SETUP,
    SESSION_TIMER_DURATION,
    SESSION_TIMER_LAST_WORD,
    SESSION_TIMER_COUNT
};

/* The way to the ear: the encoder, half a round trip, and what a browser holds back. */
#define LAST_WORD_US (200 * US_PER_MS)

#define PACKET_CAP (OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES)

struct session {
    uint32_t id;
    char call_id[SESSION_CALL_ID_CAP];
    uint8_t tenant[SESSION_TENANT_BYTES];
    uint64_t deadline_us[SESSION_TIMER_COUNT];
    struct session_timeline timeline;
    struct session_events events;
    bool client_sends; /* its direction of the audio section */
    bool client_receives;
    bool ends_when_drained;
    bool is_ended;
    struct client_leg *client;
    struct voice_uplink *uplink;
    struct voice_downlink *downlink;
    struct voice_rtcp rtcp;
    uint64_t sent_again;
    struct backend_side backend;
};

/* --- life ------------------------------------------------------------------------------------- */

static void note_direction(struct session *s, const struct sdp_offer *offer)
{
    for (size_t i = 0; i < offer->section_count; i++) {
        const struct sdp_section *section = &offer->section[i];
        if (section->is_accepted && section->media == SDP_MEDIA_AUDIO) {
            s->client_sends =
                section->direction == SDP_SENDRECV || section->direction == SDP_SENDONLY;
            s->client_receives =
                section->direction == SDP_SENDRECV || section->direction == SDP_RECVONLY;
        }
    }
}

struct rtp_sender *session_rtp_sender(const struct session *s)
{
    return voice_sender_rtp(voice_downlink_sender(s->downlink));
}

static bool create_voice(struct session *s, const struct session_config *config, uint64_t now_us)
{
    const struct voice_uplink_config uplink = {
        .session_id = s->id,
        .offer = config->offer,
        .start_us = now_us,
        .outbox = config->outbox,
    };
    const struct voice_downlink_config downlink = {
        .session_id = s->id,
        .start_us = now_us,
        .credit_us = config->backend_start.credit_us,
        .outbox = config->outbox,
        .voice = {.session_id = s->id,
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
    s->uplink = voice_uplink_create(&uplink);
    s->downlink = voice_downlink_create(&downlink);
    if (s->uplink == NULL || s->downlink == NULL) {
        return false;
    }
    const struct voice_rtcp_config rtcp = {
        .receiver = voice_uplink_receiver(s->uplink),
        .sender = session_rtp_sender(s),
        .history = voice_sender_history(voice_downlink_sender(s->downlink)),
        .seed = random_u32(config->random),
    };
    voice_rtcp_init(&s->rtcp, &rtcp);
    return true;
}

static bool create_client(struct session *s, const struct session_config *config, uint64_t now_us)
{
    const struct client_leg_config client = {
        .session_id = s->id,
        .offer = config->offer,
        .ice_ufrag = config->ice_ufrag,
        .ice_pwd = config->ice_pwd,
        .identity = config->identity,
        .ssrc = session_ssrc(s),
        .outbox = config->outbox,
    };
    s->client = client_leg_create(&client, now_us);
    return s->client != NULL;
}

struct session *session_create(const struct session_config *config, uint64_t now_us)
{
    struct session *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->id = config->session_id;
    memcpy(s->call_id, config->call_id, sizeof(s->call_id));
    memcpy(s->tenant, config->tenant, sizeof(s->tenant));
    s->timeline.created_us = now_us;
    /* Another host's clock: it may be wrong by more than the call is old. */
    s->timeline.offer_us = config->offer_us != 0 ? time_earlier(config->offer_us, now_us) : now_us;
    s->deadline_us[SESSION_TIMER_SETUP] = now_us + config->setup_timeout_us;
    s->deadline_us[SESSION_TIMER_DURATION] = now_us + config->duration_max_us;
    s->deadline_us[SESSION_TIMER_LAST_WORD] = TIME_NEVER;
    note_direction(s, config->offer);
    const struct backend_leg_config backend = {.session_id = s->id,
                                               .start = &config->backend_start,
                                               .random = config->random,
                                               .outbox = config->outbox};
    if (!create_voice(s, config, now_us) || !create_client(s, config, now_us) ||
        !backend_side_init(&s->backend, &backend, s->uplink, s->downlink, now_us)) {
        session_destroy(s);
        return NULL;
    }
    return s;
}

void session_destroy(struct session *s)
{
    if (s == NULL) {
        return;
    }
    client_leg_destroy(s->client);
    voice_uplink_destroy(s->uplink);
    voice_downlink_destroy(s->downlink);
    backend_side_deinit(&s->backend);
    free(s);
}

uint32_t session_id(const struct session *s)
{
    return s->id;
}

const char *session_call_id(const struct session *s)
{
    return s->call_id;
}

const uint8_t *session_tenant(const struct session *s)
{
    return s->tenant;
}

uint32_t session_ssrc(const struct session *s)
{
    return rtp_sender_ssrc(session_rtp_sender(s));
}

const struct session_timeline *session_timeline(const struct session *s)
{
    return &s->timeline;
}

const struct client_leg_ice *session_ice(const struct session *s)
{
    return client_leg_ice(s->client);
}

struct client_leg_path session_path(const struct session *s)
{
    return client_leg_path(s->client);
}

struct session_stats session_stats(const struct session *s)
{
    return (struct session_stats){
        .uplink = *voice_uplink_stats(s->uplink),
        .quality = voice_uplink_quality(s->uplink),
        .downlink = voice_downlink_stats(s->downlink),
        .voice = *voice_sender_stats(voice_downlink_sender(s->downlink)),
        .sender = rtp_sender_stats(session_rtp_sender(s)),
        .rtcp = s->rtcp.stats,
        .sent_again = s->sent_again,
        .messages_ignored = s->backend.leg.messages_ignored,
    };
}

bool session_is_connected(const struct session *s)
{
    return client_leg_is_connected(s->client);
}

bool session_is_over(const struct session *s)
{
    return s->is_ended && client_leg_is_over(s->client);
}

bool session_poll_event(struct session *s, struct session_event *out)
{
    return session_events_poll(&s->events, out);
}

/* --- to the client ---------------------------------------------------------------------------- */

static void send_voice(struct session *s, uint64_t now_us)
{
    uint8_t packet[PACKET_CAP];
    size_t len = 0;
    while ((len = voice_downlink_poll_packet(s->downlink, packet, now_us)) > 0) {
        struct bytes_span span = {packet, len, sizeof(packet)};
        if (client_leg_send_rtp(s->client, &span, now_us)) {
            voice_sender_keep(voice_downlink_sender(s->downlink),
                              bytes_view_of(span.data, span.len));
        }
        voice_rtcp_note_sent(&s->rtcp, now_us);
    }
    if (voice_sender_stats(voice_downlink_sender(s->downlink))->speech_packets > 0) {
        session_timeline_note(&s->timeline.first_audio_out_us, now_us);
    }
}

static void send_report(struct session *s, uint64_t now_us)
{
    uint8_t report[PACKET_CAP];
    const size_t len = voice_rtcp_poll_report(&s->rtcp, report, now_us);
    if (len > 0) {
        struct bytes_span span = {report, len, sizeof(report)};
        (void)client_leg_send_rtcp(s->client, &span, now_us);
    }
}

static void send_bye(struct session *s, uint64_t now_us)
{
    uint8_t bye[PACKET_CAP];
    const size_t len = voice_rtcp_bye(&s->rtcp, bye, now_us);
    if (len > 0) {
        struct bytes_span span = {bye, len, sizeof(bye)};
        (void)client_leg_send_rtcp(s->client, &span, now_us);
    }
}

void session_end(struct session *s, enum session_end_reason reason, uint64_t now_us)
{
    if (s->is_ended) {
        return;
    }
    s->is_ended = true;
    s->timeline.ended_us = now_us;
    s->timeline.end_reason = reason;
    backend_side_end(&s->backend, session_end_reason_name(reason),
                     reason == SESSION_END_BACKEND_LOST, now_us);
    send_bye(s, now_us);
    client_leg_close(s->client, now_us);
    session_events_push(&s->events,
                        (struct session_event){.kind = SESSION_EVENT_ENDED, .reason = reason});
}

/* --- from the client -------------------------------------------------------------------------- */

static void connect_media(struct session *s, uint64_t now_us)
{
    s->timeline.connected_us = now_us;
    s->deadline_us[SESSION_TIMER_SETUP] = TIME_NEVER;
    if (s->client_receives) {
        voice_downlink_start(s->downlink, now_us);
    }
    backend_side_connected(&s->backend, client_leg_path(s->client).is_tcp, now_us);
    session_events_push(&s->events, (struct session_event){.kind = SESSION_EVENT_CONNECTED});
}

static void take_client_events(struct session *s, uint64_t now_us)
{
    enum client_leg_event event;
    while (client_leg_poll_event(s->client, &event)) {
        switch (event) {
        case CLIENT_LEG_CHECKED:
            s->timeline.first_check_us = now_us;
            break;
        case CLIENT_LEG_CONNECTED:
            connect_media(s, now_us);
            break;
        case CLIENT_LEG_FINGERPRINT:
            session_end(s, SESSION_END_FINGERPRINT, now_us);
            break;
        case CLIENT_LEG_DTLS_FAILED:
            session_end(s, SESSION_END_DTLS, now_us);
            break;
        case CLIENT_LEG_NO_SRTP:
            session_end(s, SESSION_END_SRTP, now_us);
            break;
        case CLIENT_LEG_CLOSED:
            session_end(s, SESSION_END_CLIENT_CLOSED, now_us);
            break;
        case CLIENT_LEG_LOST:
            /* Who never came was not lost: an operator looks elsewhere for the cause. */
            session_end(s,
                        s->timeline.first_check_us == 0 ? SESSION_END_SETUP_TIMEOUT
                                                        : SESSION_END_CLIENT_LOST,
                        now_us);
            break;
        }
    }
}

/* Whether that holds what is being said, the backend has decided. */
static void take_onset(struct session *s, uint64_t now_us)
{
    if (voice_uplink_take_onset(s->uplink)) {
        voice_downlink_speech_started(s->downlink, now_us);
    }
}

static void take_rtp(struct session *s, struct bytes_view datagram, uint64_t now_us)
{
    struct rtp_packet packet;
    if (!s->client_sends) {
        return;
    }
    const enum rtp_packet_result parsed = rtp_packet_parse(datagram, &packet);
    if (parsed != RTP_PACKET_OK) {
        voice_uplink_note_refused(s->uplink, parsed);
        return;
    }
    (void)voice_uplink_input(s->uplink, &packet, now_us); /* counted there */
    take_onset(s, now_us);
    voice_rtcp_note_received(&s->rtcp, now_us);
    if (voice_uplink_stats(s->uplink)->frames > 0) {
        session_timeline_note(&s->timeline.first_audio_in_us, now_us);
    }
}

static void take_rtcp(struct session *s, struct bytes_view compound, uint64_t now_us)
{
    struct voice_sender *sender = voice_downlink_sender(s->downlink);
    const uint64_t reports = rtp_sender_stats(voice_sender_rtp(sender)).reports;
    voice_rtcp_input(&s->rtcp, compound, now_us);
    if (rtp_sender_stats(voice_sender_rtp(sender)).reports != reports) {
        voice_sender_follow_report(sender, now_us);
    }
    struct bytes_view packet;
    while (voice_sender_history(sender) != NULL &&
           rtp_history_poll(voice_sender_history(sender), &packet)) {
        client_leg_send_again(s->client, packet, now_us);
        s->sent_again++;
    }
}

enum client_leg_result session_input_datagram(struct session *s, struct bytes_span *datagram,
                                              const struct net_path *from, uint64_t now_us)
{
    const enum client_leg_result result = client_leg_input(s->client, datagram, from, now_us);
    if (result == CLIENT_LEG_RTP) {
        take_rtp(s, bytes_view_of(datagram->data, datagram->len), now_us);
    } else if (result == CLIENT_LEG_RTCP) {
        take_rtcp(s, bytes_view_of(datagram->data, datagram->len), now_us);
    }
    take_client_events(s, now_us);
    return result;
}

void session_restart_ice(struct session *s, const struct client_leg_ice *next, uint64_t now_us)
{
    client_leg_restart_ice(s->client, next, now_us);
}

/* --- from the backend ------------------------------------------------------------------------- */

/* The last word of the backend was sent, or nobody listens: it may still be on its way. */
static void plan_end_when_drained(struct session *s, uint64_t now_us)
{
    const bool is_said = !s->client_receives || voice_downlink_is_drained(s->downlink);
    if (s->ends_when_drained && is_said && s->deadline_us[SESSION_TIMER_LAST_WORD] == TIME_NEVER) {
        s->deadline_us[SESSION_TIMER_LAST_WORD] = now_us + LAST_WORD_US;
    }
}

/* One that was there before is lost, one that never was is not available. */
static void end_without_backend(struct session *s, uint64_t now_us)
{
    const bool had_one = backend_side_was_attached(&s->backend);
    session_end(s, had_one ? SESSION_END_BACKEND_LOST : SESSION_END_BACKEND_UNAVAILABLE, now_us);
}

static void take_backend_event(struct session *s, enum backend_side_event event, uint64_t now_us)
{
    switch (event) {
    case BACKEND_SIDE_ACCEPTED:
        session_timeline_note(&s->timeline.accepted_us, now_us);
        break;
    case BACKEND_SIDE_RESUMED:
    case BACKEND_SIDE_RESTARTED:
        session_events_push(&s->events, (struct session_event){
                                            .kind = event == BACKEND_SIDE_RESUMED
                                                        ? SESSION_EVENT_BACKEND_RESUMED
                                                        : SESSION_EVENT_BACKEND_RESTARTED,
                                            .away_us = backend_side_away_us(&s->backend, now_us)});
        break;
    case BACKEND_SIDE_FAILED:
        end_without_backend(s, now_us);
        break;
    case BACKEND_SIDE_ENDED:
        session_end(s, SESSION_END_BACKEND_ENDED, now_us);
        break;
    case BACKEND_SIDE_ENDED_DRAINED:
        s->ends_when_drained = true;
        plan_end_when_drained(s, now_us);
        break;
    case BACKEND_SIDE_NOTHING:
    case BACKEND_SIDE_NONSENSE: /* its connection breaks: session_backend_lost */
        break;
    }
}

bool session_input_frame(struct session *s, const struct backend_frame *frame, uint64_t now_us)
{
    const enum backend_side_event event = backend_side_input(&s->backend, frame, now_us);
    take_backend_event(s, event, now_us);
    return event != BACKEND_SIDE_NONSENSE;
}

void session_backend_lost(struct session *s, uint64_t now_us)
{
    if (!s->is_ended && backend_side_lost(&s->backend, now_us)) {
        session_events_push(&s->events, (struct session_event){.kind = SESSION_EVENT_BACKEND_LOST});
    }
}

bool session_wants_backend(const struct session *s)
{
    return !s->is_ended && backend_side_is_away(&s->backend);
}

void session_backend_found(struct session *s, bool can_resume, uint64_t now_us)
{
    backend_side_found(&s->backend, can_resume, now_us);
}

/* --- time ------------------------------------------------------------------------------------- */

static void tick_deadlines(struct session *s, uint64_t now_us)
{
    if (now_us >= s->deadline_us[SESSION_TIMER_SETUP]) {
        session_end(s, SESSION_END_SETUP_TIMEOUT, now_us);
    } else if (now_us >= s->deadline_us[SESSION_TIMER_DURATION]) {
        session_end(s, SESSION_END_DURATION, now_us);
    } else if (now_us >= s->deadline_us[SESSION_TIMER_LAST_WORD]) {
        session_end(s, SESSION_END_BACKEND_ENDED, now_us);
    } else {
        take_backend_event(s, backend_side_tick(&s->backend, now_us), now_us);
    }
}

void session_tick(struct session *s, uint64_t now_us)
{
    client_leg_tick(s->client, now_us);
    take_client_events(s, now_us);
    if (!s->is_ended) {
        tick_deadlines(s, now_us);
    }
    if (!s->is_ended && session_is_connected(s)) {
        voice_uplink_tick(s->uplink, now_us);
        take_onset(s, now_us);
        send_voice(s, now_us);
        send_report(s, now_us);
        plan_end_when_drained(s, now_us);
    }
}

uint64_t session_next_timeout(const struct session *s)
{
    uint64_t first_us = client_leg_next_timeout(s->client);
    if (s->is_ended) {
        return first_us;
    }
    for (size_t i = 0; i < SESSION_TIMER_COUNT; i++) {
        first_us = time_earlier(first_us, s->deadline_us[i]);
    }
    first_us = time_earlier(first_us, backend_side_next_timeout(&s->backend));
    if (session_is_connected(s)) {
        first_us = time_earlier(first_us, voice_uplink_next_timeout(s->uplink));
        first_us = time_earlier(first_us, voice_downlink_next_timeout(s->downlink));
        first_us = time_earlier(first_us, voice_rtcp_next_timeout(&s->rtcp));
    }
    return first_us;
}
