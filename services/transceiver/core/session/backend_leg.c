/* backend_leg.c - see backend_leg.h */
#include "services/transceiver/core/session/backend_leg.h"

#include "common/backend_link/backend_start.h"

#include <assert.h>

#define JSON_CAP    512
#define TOKEN_BYTES (BACKEND_TOKEN_CAP / 2)

static void emit(struct backend_leg *leg, enum backend_frame_type type, uint16_t flags,
                 struct bytes_view payload, uint64_t now_us)
{
    const struct backend_frame frame = {
        .type = (uint8_t)type,
        .flags = flags,
        .session = leg->session_id,
        .time_us = time_since(leg->start_us, now_us),
        .payload = payload,
    };
    outbox_add_frame(leg->outbox, leg->session_id, &frame);
}

static void make_token(struct backend_leg *leg, char token[BACKEND_TOKEN_CAP])
{
    uint8_t bytes[TOKEN_BYTES];
    random_fill(leg->random, bytes, sizeof(bytes));
    const bool fits = bytes_to_hex(bytes_view_of(bytes, sizeof(bytes)), token, BACKEND_TOKEN_CAP);
    assert(fits);
    (void)fits;
    explicit_bzero(bytes, sizeof(bytes));
}

/* --- start ------------------------------------------------------------------------------------ */

static void emit_chunks(struct backend_leg *leg, enum backend_frame_type type,
                        struct bytes_view message, uint64_t now_us)
{
    while (message.len > BACKEND_CHUNK_BYTES) {
        emit(leg, type, 0, bytes_view_of(message.data, BACKEND_CHUNK_BYTES), now_us);
        message =
            bytes_view_of(message.data + BACKEND_CHUNK_BYTES, message.len - BACKEND_CHUNK_BYTES);
    }
    emit(leg, type, BACKEND_FLAG_LAST, message, now_us);
}

static bool send_start(struct backend_leg *leg, uint64_t now_us)
{
    struct backend_start start = *leg->start;
    size_t len = 0;
    make_token(leg, leg->token);
    start.resume_token = leg->token;
    start.is_restarted = leg->was_accepted;
    start.wall_clock_us += time_since(leg->start_us, now_us);
    char *text = backend_start_text_create(&start, &len);
    if (text == NULL) {
        return false;
    }
    emit_chunks(leg, BACKEND_SESSION_START, bytes_view_of(text, len), now_us);
    backend_start_text_destroy(text, len);
    return true;
}

/* --- life ------------------------------------------------------------------------------------- */

bool backend_leg_init(struct backend_leg *leg, const struct backend_leg_config *config,
                      uint64_t now_us)
{
    *leg = (struct backend_leg){
        .session_id = config->session_id,
        .random = config->random,
        .outbox = config->outbox,
        .start = backend_start_copy(config->start),
        .start_us = now_us,
        .deadline_us = now_us + BACKEND_LEG_ACCEPT_US,
    };
    return leg->start != NULL && send_start(leg, now_us);
}

void backend_leg_deinit(struct backend_leg *leg)
{
    backend_messages_clear(&leg->messages);
    backend_start_destroy(leg->start);
    explicit_bzero(leg->token, sizeof(leg->token));
    explicit_bzero(leg->next_token, sizeof(leg->next_token));
    leg->start = NULL;
}

static void be_over(struct backend_leg *leg)
{
    leg->state = BACKEND_LEG_OVER;
    leg->deadline_us = TIME_NEVER;
}

bool backend_leg_is_attached(const struct backend_leg *leg)
{
    return leg->state == BACKEND_LEG_ACCEPTED || leg->state == BACKEND_LEG_ASKED;
}

/* --- start and accept ------------------------------------------------------------------------- */

static bool is_among(const struct backend_format *list, size_t count, struct backend_format format)
{
    for (size_t i = 0; i < count; i++) {
        if (backend_format_equal(list[i], format)) {
            return true;
        }
    }
    return false;
}

static void tell_connected(struct backend_leg *leg, uint64_t now_us)
{
    char text[JSON_CAP];
    if (!leg->is_connected || leg->is_connected_told) {
        return;
    }
    const struct backend_connected connected = {
        .is_tcp = leg->is_connected_tcp,
        .setup_us = time_since(leg->start_us, leg->connected_us),
    };
    leg->is_connected_told = true;
    const size_t len = backend_connected_encode(&connected, text, sizeof(text));
    emit(leg, BACKEND_CONNECTED, 0, bytes_view_of(text, len), now_us);
}

void backend_leg_connected(struct backend_leg *leg, bool is_tcp, uint64_t now_us)
{
    leg->is_connected = true;
    leg->is_connected_tcp = is_tcp;
    leg->connected_us = now_us;
    if (leg->state == BACKEND_LEG_STARTING || backend_leg_is_attached(leg)) {
        tell_connected(leg, now_us);
    }
}

void backend_leg_net_stats(struct backend_leg *leg, const struct backend_net_stats *stats,
                           uint64_t now_us)
{
    char text[JSON_CAP];
    if (leg->state == BACKEND_LEG_ACCEPTED) {
        const size_t len = backend_net_stats_encode(stats, text, sizeof(text));
        emit(leg, BACKEND_NET_STATS, 0, bytes_view_of(text, len), now_us);
    }
}

bool backend_leg_is_listening(const struct backend_leg *leg)
{
    return leg->state == BACKEND_LEG_ACCEPTED;
}

void backend_leg_sideband(struct backend_leg *leg, const struct backend_sideband *sideband,
                          uint64_t now_us)
{
    char text[JSON_CAP];
    assert(backend_leg_is_listening(leg));
    const size_t len = backend_sideband_encode(sideband, text, sizeof(text));
    emit(leg, BACKEND_SIDEBAND, 0, bytes_view_of(text, len), now_us);
}

void backend_leg_event(struct backend_leg *leg, struct bytes_view event, uint64_t now_us)
{
    assert(backend_leg_is_listening(leg));
    emit_chunks(leg, BACKEND_EVENT, event, now_us);
}

void backend_leg_channel_data(struct backend_leg *leg, const struct backend_channel *channel,
                              struct bytes_view data, uint64_t now_us)
{
    char text[BACKEND_CHANNEL_BYTES_MAX];
    assert(backend_leg_is_listening(leg));
    const size_t len = backend_channel_encode(channel, text, sizeof(text));
    if (len > 0) { /* else: no memory */
        emit(leg, BACKEND_CHANNEL_DATA, 0, bytes_view_of(text, len), now_us);
        emit_chunks(leg, BACKEND_CHANNEL_DATA, data, now_us);
    }
}

static enum backend_leg_event take_accept(struct backend_leg *leg,
                                          const struct backend_frame *frame, uint64_t now_us)
{
    if (leg->state != BACKEND_LEG_STARTING && leg->state != BACKEND_LEG_RESUMING) {
        return BACKEND_LEG_NOTHING;
    }
    struct backend_accept accept;
    if (!backend_accept_decode(frame->payload, &accept)) {
        return BACKEND_LEG_GOT_NONSENSE;
    }
    if (!is_among(leg->start->in, leg->start->in_count, accept.in) ||
        !is_among(leg->start->out, leg->start->out_count, accept.out)) {
        backend_leg_error(leg, "codec", frame, now_us);
        return BACKEND_LEG_GOT_REJECT;
    }
    enum backend_leg_event event =
        leg->was_accepted ? BACKEND_LEG_GOT_RESTARTED : BACKEND_LEG_GOT_ACCEPT;
    if (leg->state == BACKEND_LEG_RESUMING) {
        event = BACKEND_LEG_GOT_RESUMED;
        memcpy(leg->token, leg->next_token, sizeof(leg->token));
    }
    leg->accept = accept;
    leg->state = BACKEND_LEG_ACCEPTED;
    leg->was_accepted = true;
    leg->deadline_us = TIME_NEVER;
    tell_connected(leg, now_us);
    return event;
}

static void start_anew(struct backend_leg *leg, uint64_t now_us)
{
    leg->state = BACKEND_LEG_STARTING;
    leg->is_connected_told = false;
    backend_messages_clear(&leg->messages);
    if (!send_start(leg, now_us)) {
        leg->state = BACKEND_LEG_AWAY; /* no memory: the deadline decides */
        return;
    }
    if (leg->was_accepted) {
        leg->deadline_us = now_us + BACKEND_LEG_ACCEPT_US;
    }
    tell_connected(leg, now_us);
}

static uint64_t given_up_us(const struct backend_leg *leg)
{
    return leg->lost_us + BACKEND_LEG_AWAY_US;
}

/* A call that had a backend: lost again before it was back, the time it has counts from the first
 * loss. */
static void be_away(struct backend_leg *leg)
{
    if (leg->was_accepted) {
        leg->deadline_us = given_up_us(leg);
    }
    leg->state = BACKEND_LEG_AWAY;
}

static enum backend_leg_event take_reject(struct backend_leg *leg,
                                          const struct backend_frame *frame, uint64_t now_us)
{
    struct backend_reject reject;
    if (!backend_reject_decode(frame->payload, &reject)) {
        return BACKEND_LEG_GOT_NONSENSE;
    }
    if (leg->state == BACKEND_LEG_RESUMING && strcmp(reject.code, "no_session") == 0) {
        start_anew(leg, now_us);
        return BACKEND_LEG_STARTED_ANEW;
    }
    if (leg->state == BACKEND_LEG_RESUMING ||
        (leg->state == BACKEND_LEG_STARTING && leg->was_accepted && reject.retry_elsewhere)) {
        be_away(leg);
        return BACKEND_LEG_NOTHING;
    }
    be_over(leg);
    return BACKEND_LEG_GOT_REJECT;
}

/* --- loss and return -------------------------------------------------------------------------- */

void backend_leg_lost(struct backend_leg *leg, uint64_t now_us)
{
    switch (leg->state) {
    case BACKEND_LEG_ACCEPTED:
        leg->lost_us = now_us;
        be_away(leg);
        break;
    case BACKEND_LEG_RESUMING:
    case BACKEND_LEG_STARTING:
        be_away(leg);
        break;
    case BACKEND_LEG_AWAY: /* nothing more to lose */
        break;
    default: /* its last word was said */
        be_over(leg);
        break;
    }
}

bool backend_leg_is_away(const struct backend_leg *leg)
{
    return leg->state == BACKEND_LEG_AWAY;
}

static void send_resume(struct backend_leg *leg, const struct backend_position *position,
                        uint64_t audio_in_from_us, uint64_t now_us)
{
    struct backend_resume resume = {.position = *position, .audio_in_from_us = audio_in_from_us};
    char text[BACKEND_PAYLOAD_BYTES_MAX];
    make_token(leg, leg->next_token);
    memcpy(resume.call_id, leg->start->call_id,
           strnlen(leg->start->call_id, sizeof(resume.call_id) - 1));
    memcpy(resume.token, leg->token, sizeof(resume.token));
    memcpy(resume.next_token, leg->next_token, sizeof(resume.next_token));
    const size_t len = backend_resume_encode(&resume, text, sizeof(text));
    emit(leg, BACKEND_SESSION_RESUME, 0, bytes_view_of(text, len), now_us);
    explicit_bzero(text, sizeof(text));
    explicit_bzero(&resume, sizeof(resume));
}

bool backend_leg_reconnect(struct backend_leg *leg, bool can_resume,
                           const struct backend_position *position, uint64_t audio_in_from_us,
                           uint64_t now_us)
{
    assert(leg->state == BACKEND_LEG_AWAY);
    if (!leg->was_accepted || !can_resume) {
        start_anew(leg, now_us);
        return true;
    }
    leg->state = BACKEND_LEG_RESUMING;
    leg->deadline_us = now_us + BACKEND_LEG_ACCEPT_US;
    backend_messages_clear(&leg->messages);
    send_resume(leg, position, audio_in_from_us, now_us);
    return false;
}

/* --- end, errors, messages -------------------------------------------------------------------- */

static enum backend_leg_event take_end(struct backend_leg *leg, const struct backend_frame *frame)
{
    struct backend_end end;
    if (!backend_end_decode(frame->payload, &end)) {
        return BACKEND_LEG_GOT_NONSENSE;
    }
    const bool has_queue = leg->was_accepted;
    leg->state = BACKEND_LEG_ASKED;
    leg->deadline_us = TIME_NEVER;
    return end.when_drained && has_queue ? BACKEND_LEG_GOT_END_DRAINED : BACKEND_LEG_GOT_END;
}

static enum backend_leg_event take_error(const struct backend_frame *frame)
{
    struct backend_error error;
    if (!backend_error_decode(frame->payload, &error)) {
        return BACKEND_LEG_GOT_NONSENSE;
    }
    return error.is_fatal ? BACKEND_LEG_GOT_END : BACKEND_LEG_NOTHING;
}

static enum backend_leg_event take_message(struct backend_leg *leg,
                                           const struct backend_frame *frame, uint64_t now_us)
{
    switch (backend_messages_input(&leg->messages, frame, &leg->message)) {
    case BACKEND_CHUNK_MORE:
        return BACKEND_LEG_NOTHING;
    case BACKEND_CHUNK_WHOLE:
        return BACKEND_LEG_GOT_MESSAGE;
    case BACKEND_CHUNK_TOO_LONG:
        backend_leg_error(leg, "overload", frame, now_us);
        return BACKEND_LEG_NOTHING;
    case BACKEND_CHUNK_BAD_HEADER:
        break;
    }
    return BACKEND_LEG_GOT_NONSENSE;
}

enum backend_leg_event backend_leg_input(struct backend_leg *leg, const struct backend_frame *frame,
                                         uint64_t now_us)
{
    if (leg->state == BACKEND_LEG_AWAY || leg->state == BACKEND_LEG_OVER) {
        return BACKEND_LEG_NOTHING;
    }
    switch (frame->type) {
    case BACKEND_SESSION_ACCEPT:
        return take_accept(leg, frame, now_us);
    case BACKEND_SESSION_REJECT:
        return take_reject(leg, frame, now_us);
    case BACKEND_SESSION_END:
        return take_end(leg, frame);
    case BACKEND_SESSION_ENDED: /* without a question: its handle is free all the same */
        be_over(leg);
        return BACKEND_LEG_GOT_END;
    case BACKEND_ERROR:
        return take_error(frame);
    case BACKEND_EVENT:
    case BACKEND_CHANNEL_DATA:
        return take_message(leg, frame, now_us);
    default:
        return BACKEND_LEG_NOTHING;
    }
}

void backend_leg_error(struct backend_leg *leg, const char *code, const struct backend_frame *about,
                       uint64_t now_us)
{
    struct backend_error error = {.type = about->type, .sequence = about->sequence};
    char text[JSON_CAP];
    memcpy(error.code, code, strnlen(code, sizeof(error.code) - 1));
    const size_t len = backend_error_encode(&error, text, sizeof(text));
    emit(leg, BACKEND_ERROR, 0, bytes_view_of(text, len), now_us);
}

static void send_end(struct backend_leg *leg, const char *reason, uint64_t now_us)
{
    char text[JSON_CAP];
    struct backend_end end = {0};
    memcpy(end.reason, reason, strnlen(reason, sizeof(end.reason) - 1));
    const size_t len = backend_end_encode(&end, text, sizeof(text));
    emit(leg, BACKEND_SESSION_END, 0, bytes_view_of(text, len), now_us);
}

bool backend_leg_tick(struct backend_leg *leg, uint64_t now_us)
{
    if (now_us < leg->deadline_us) {
        return true;
    }
    if (!leg->was_accepted || now_us >= given_up_us(leg)) {
        return false;
    }
    send_end(leg, "backend_lost", now_us); /* its handle is wanted for the next try */
    be_away(leg);
    return true;
}

void backend_leg_end(struct backend_leg *leg, const char *reason,
                     const struct backend_ended *totals, uint64_t now_us)
{
    char text[JSON_CAP];
    struct backend_ended ended = *totals;
    size_t len = 0;
    memcpy(ended.reason, reason, strnlen(reason, sizeof(ended.reason) - 1));
    switch (leg->state) {
    case BACKEND_LEG_STARTING:
    case BACKEND_LEG_ACCEPTED:
    case BACKEND_LEG_RESUMING:
        send_end(leg, reason, now_us);
        break;
    case BACKEND_LEG_ASKED:
        len = backend_ended_encode(&ended, text, sizeof(text));
        emit(leg, BACKEND_SESSION_ENDED, 0, bytes_view_of(text, len), now_us);
        break;
    default: /* nobody listens */
        break;
    }
    be_over(leg);
}
