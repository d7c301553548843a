/* session.c - see session.h */
#include "services/transceiver/core/session/session.h"

#include <assert.h>
#include <stdlib.h>

enum session_timer {
    SESSION_TIMER_SETUP,
    SESSION_TIMER_EXPIRING,
    SESSION_TIMER_DURATION,
    SESSION_TIMER_LAST_WORD,
    SESSION_TIMER_VOICE, /* it is held at most so long */
    SESSION_TIMER_COUNT
};

/* The way to the ear: the encoder, half a round trip, and what a browser holds back. */
#define LAST_WORD_US (200 * US_PER_MS)

struct session {
    uint32_t id;
    uint8_t tenant[SESSION_TENANT_BYTES];
    uint64_t deadline_us[SESSION_TIMER_COUNT];
    struct session_timeline timeline;
    struct session_events events;
    bool ends_when_drained;
    bool is_ended;
    struct client_leg *client;
    struct voice_side voice;
    struct backend_side backend;
    struct data_side data;
};

/* --- life ------------------------------------------------------------------------------------- */

struct rtp_sender *session_rtp_sender(const struct session *s)
{
    return voice_side_sender(&s->voice);
}

static bool create_voice(struct session *s, const struct session_config *config, uint64_t now_us)
{
    const struct voice_side_config voice = {
        .session_id = s->id,
        .offer = config->offer,
        .outbox = config->outbox,
        .random = config->random,
        .unix_offset_us = config->unix_offset_us,
        .credit_us = config->backend_start.credit_us,
        .bitrate_bps = config->bitrate_bps,
        .idle_sparse = config->idle_sparse,
        .effort = config->effort,
        .silences = config->silences,
        .timeline = &s->timeline,
    };
    return voice_side_init(&s->voice, &voice, now_us);
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
        .random = config->random,
        .event_label = config->event_label,
        .has_event_stream = config->has_event_stream,
        .event_stream = config->event_stream,
    };
    s->client = client_leg_create(&client, now_us);
    return s->client != NULL;
}

struct session *session_create(const struct session_config *config, uint64_t now_us)
{
    assert(strlen(config->backend_start.call_id) < SESSION_CALL_ID_CAP);
    struct session *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->id = config->session_id;
    memcpy(s->tenant, config->tenant, sizeof(s->tenant));
    s->timeline.created_us = now_us;
    /* Another host's clock: it may be wrong by more than the call is old. */
    s->timeline.offer_us = config->offer_us != 0 ? time_earlier(config->offer_us, now_us) : now_us;
    s->deadline_us[SESSION_TIMER_SETUP] = now_us + config->setup_timeout_us;
    s->deadline_us[SESSION_TIMER_DURATION] = now_us + config->duration_max_us;
    s->deadline_us[SESSION_TIMER_EXPIRING] =
        config->duration_max_us > SESSION_EXPIRING_US
            ? now_us + config->duration_max_us - SESSION_EXPIRING_US
            : TIME_NEVER;
    s->deadline_us[SESSION_TIMER_LAST_WORD] = TIME_NEVER;
    s->deadline_us[SESSION_TIMER_VOICE] = TIME_NEVER;
    const struct backend_leg_config backend = {.session_id = s->id,
                                               .start = &config->backend_start,
                                               .random = config->random,
                                               .outbox = config->outbox};
    if (!create_voice(s, config, now_us) || !create_client(s, config, now_us) ||
        !backend_side_init(&s->backend, &backend, s->voice.uplink, s->voice.downlink,
                           config->sidebands, now_us)) {
        session_destroy(s);
        return NULL;
    }
    const struct data_side_config data = {
        .channels = client_leg_data(s->client),
        .backend = &s->backend.leg,
        .sidebands = &s->backend.sidebands,
        .message_bytes_max = config->backend_start.message_bytes_max,
    };
    data_side_init(&s->data, &data);
    return s;
}

void session_destroy(struct session *s)
{
    if (s == NULL) {
        return;
    }
    client_leg_destroy(s->client);
    voice_side_deinit(&s->voice);
    backend_side_deinit(&s->backend);
    data_side_deinit(&s->data);
    free(s);
}

uint32_t session_id(const struct session *s)
{
    return s->id;
}

const char *session_call_id(const struct session *s)
{
    return s->backend.leg.start->call_id;
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
        .uplink = *voice_uplink_stats(s->voice.uplink),
        .quality = voice_uplink_quality(s->voice.uplink),
        .downlink = voice_downlink_stats(s->voice.downlink),
        .voice = *voice_sender_stats(voice_downlink_sender(s->voice.downlink)),
        .sender = rtp_sender_stats(session_rtp_sender(s)),
        .rtcp = s->voice.rtcp.stats,
        .sent_again = s->voice.sent_again,
        .data = s->data.stats,
        .channels = data_channels_stats(client_leg_data(s->client)),
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

/* --- the end ---------------------------------------------------------------------------------- */

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
    voice_side_send_bye(&s->voice, s->client, now_us);
    data_side_close(&s->data);
    client_leg_close(s->client, now_us);
    session_events_push(&s->events,
                        (struct session_event){.kind = SESSION_EVENT_ENDED, .reason = reason});
}

/* --- from the client -------------------------------------------------------------------------- */

static void start_voice_if_heard(struct session *s, uint64_t now_us)
{
    if (s->deadline_us[SESSION_TIMER_VOICE] != TIME_NEVER &&
        (client_leg_can_be_heard(s->client) || now_us >= s->deadline_us[SESSION_TIMER_VOICE])) {
        s->deadline_us[SESSION_TIMER_VOICE] = TIME_NEVER;
        voice_side_start(&s->voice, now_us);
    }
}

static void connect_media(struct session *s, uint64_t now_us)
{
    s->timeline.connected_us = now_us;
    s->deadline_us[SESSION_TIMER_SETUP] = TIME_NEVER;
    s->deadline_us[SESSION_TIMER_VOICE] = now_us + SESSION_VOICE_HOLD_US;
    start_voice_if_heard(s, now_us);
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

static void run_data(struct session *s, uint64_t now_us)
{
    switch (data_side_run(&s->data, now_us)) {
    case DATA_SIDE_NOTHING:
        break;
    case DATA_SIDE_CLOSED:
        session_end(s, SESSION_END_CLIENT_CLOSED, now_us);
        break;
    case DATA_SIDE_SLOW_READER:
        session_end(s, SESSION_END_SLOW_READER, now_us);
        break;
    }
    client_leg_send_data(s->client, now_us);
}

enum client_leg_result session_input_datagram(struct session *s, struct bytes_span *datagram,
                                              const struct net_path *from, uint64_t now_us)
{
    const enum client_leg_result result = client_leg_input(s->client, datagram, from, now_us);
    const struct bytes_view plain = bytes_view_of(datagram->data, datagram->len);
    if (result == CLIENT_LEG_RTP) {
        voice_side_take_rtp(&s->voice, plain, now_us);
    } else if (result == CLIENT_LEG_RTCP) {
        voice_side_take_rtcp(&s->voice, s->client, plain, now_us);
    }
    take_client_events(s, now_us);
    start_voice_if_heard(s, now_us);
    if (result == CLIENT_LEG_DTLS) {
        run_data(s, now_us);
    }
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
    if (s->ends_when_drained && voice_side_is_said(&s->voice) &&
        s->deadline_us[SESSION_TIMER_LAST_WORD] == TIME_NEVER) {
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
    case BACKEND_SIDE_MESSAGE:
        data_side_take_backend_message(&s->data, &s->backend.leg.message, now_us);
        backend_messages_release(&s->backend.leg.messages);
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
    if (event == BACKEND_SIDE_MESSAGE || frame->type == BACKEND_SESSION_ACCEPT) {
        run_data(s, now_us);
    }
    return event != BACKEND_SIDE_NONSENSE;
}

void session_backend_lost(struct session *s, uint64_t now_us)
{
    if (!s->is_ended && backend_side_lost(&s->backend, now_us)) {
        session_events_push(&s->events, (struct session_event){.kind = SESSION_EVENT_BACKEND_LOST});
        data_side_say(&s->data, SERVER_ERROR_BACKEND_LOST, now_us);
        client_leg_send_data(s->client, now_us);
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

/* --- side-bands ------------------------------------------------------------------------------- */

const struct sidebands *session_sidebands(const struct session *s)
{
    return &s->backend.sidebands;
}

enum sidebands_result session_attach_sideband(struct session *s, uint32_t id, uint64_t lease_us,
                                              uint64_t now_us)
{
    return backend_side_attach_sideband(&s->backend, id, lease_us, now_us);
}

void session_detach_sideband(struct session *s, uint32_t id, uint64_t now_us)
{
    backend_side_detach_sideband(&s->backend, id, now_us);
}

enum backend_side_injected session_inject_event(struct session *s, uint32_t sideband_id,
                                                struct bytes_view event, uint64_t now_us)
{
    return backend_side_inject(&s->backend, sideband_id, event, now_us);
}

/* --- time ------------------------------------------------------------------------------------- */

void session_expire(struct session *s, uint64_t now_us)
{
    if (s->is_ended || s->deadline_us[SESSION_TIMER_EXPIRING] == TIME_NEVER) {
        return;
    }
    s->deadline_us[SESSION_TIMER_EXPIRING] = TIME_NEVER;
    data_side_say(&s->data, SERVER_ERROR_SESSION_EXPIRING, now_us);
    client_leg_send_data(s->client, now_us);
}

static void tick_deadlines(struct session *s, uint64_t now_us)
{
    if (now_us >= s->deadline_us[SESSION_TIMER_EXPIRING]) {
        session_expire(s, now_us);
    }
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
    if (!s->is_ended) {
        run_data(s, now_us);
    }
    if (!s->is_ended && session_is_connected(s)) {
        start_voice_if_heard(s, now_us);
        voice_side_tick(&s->voice, s->client, now_us);
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
    first_us = time_earlier(first_us, data_side_next_timeout(&s->data));
    if (session_is_connected(s)) {
        first_us = time_earlier(first_us, voice_side_next_timeout(&s->voice));
    }
    return first_us;
}
