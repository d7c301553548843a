/* stub_link.c - see stub_link.h */
#include "services/inference-stub/stub_link.h"

#include "common/backend_link/backend_message.h"
#include "services/inference-stub/link_calls.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define HELLO_TIMEOUT_US    (2 * US_PER_S)
#define HEARTBEAT_MS        1000
#define HEARTBEAT_MS_MIN    100 /* a peer may not make us ping without end */
#define DEAD_HEARTBEATS     3
#define NOT_READING_US      (5 * US_PER_S)
#define LINGER_US           US_PER_S /* for the ERROR to be read */
#define ERROR_PAUSE_US      US_PER_S
#define SESSION_TICK_US     (100 * US_PER_MS)
#define PING_BYTES          8
#define OUR_FRAME_BYTES_MAX (BACKEND_FRAME_HEADER_BYTES + BACKEND_CHUNK_BYTES) /* none is longer */

enum link_state {
    LINK_GREETING, /* HELLO has not come */
    LINK_OPEN,
    LINK_CLOSING, /* nothing is read any more; what was written still leaves */
    LINK_OVER
};

enum link_timer {
    TIMER_PEER,    /* HELLO or the next frame must have come */
    TIMER_PING,    /* we have been silent too long */
    TIMER_READING, /* the peer must have read something */
    TIMER_SESSIONS,
    TIMER_LINGER,
    TIMER_COUNT
};

struct stub_link {
    const struct stub_behaviour *behaviour;
    const char *instance;
    enum link_state state;
    enum stub_close_reason reason;
    uint64_t deadline_us[TIMER_COUNT];
    uint64_t heartbeat_us;
    uint32_t sequence_in; /* of session 0 */
    uint32_t sequence_out;
    bool hello_waits;
    bool ping_waits;
    bool pong_waits;
    uint8_t pong[PING_BYTES];
    uint64_t pong_time_us;
    bool go_away_waits;
    uint64_t go_away_us;
    bool error_waits;
    struct backend_error error;
    uint64_t error_allowed_us;
    struct link_calls calls;
    struct backend_frame_reader *reader;
    size_t output_first;
    size_t output_end;
    uint8_t output[LINK_OUTPUT_BYTES];
    char text[1024];
};

struct stub_link *stub_link_create(const struct stub_behaviour *behaviour, const char *instance,
                                   uint64_t now_us)
{
    struct stub_link *l = calloc(1, sizeof(*l));
    if (l == NULL) {
        return NULL;
    }
    l->behaviour = behaviour;
    l->instance = instance;
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        l->deadline_us[i] = TIME_NEVER;
    }
    l->deadline_us[TIMER_PEER] = now_us + HELLO_TIMEOUT_US;
    l->heartbeat_us = HEARTBEAT_MS * US_PER_MS;
    link_calls_init(&l->calls);
    l->reader = backend_frame_reader_create();
    if (l->reader == NULL) {
        free(l);
        return NULL;
    }
    return l;
}

void stub_link_destroy(struct stub_link *l)
{
    if (l == NULL) {
        return;
    }
    link_calls_clear(&l->calls);
    backend_frame_reader_destroy(l->reader);
    free(l);
}

void stub_link_shelve(struct stub_link *l, uint64_t now_us)
{
    if (l->behaviour->shelf != NULL) {
        link_calls_shelve(&l->calls, l->behaviour->shelf, now_us);
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

static void set_error(struct stub_link *l, const struct backend_frame *frame, const char *code,
                      const char *message)
{
    l->error_waits = true;
    l->error = (struct backend_error){.type = frame->type, .sequence = frame->sequence};
    (void)snprintf(l->error.code, sizeof(l->error.code), "%s", code);
    (void)snprintf(l->error.message, sizeof(l->error.message), "%s", message);
}

static void report(struct stub_link *l, const struct backend_frame *frame, const char *code,
                   const char *message, uint64_t now_us)
{
    if (!l->error_waits && now_us >= l->error_allowed_us) {
        l->error_allowed_us = now_us + ERROR_PAUSE_US;
        set_error(l, frame, code, message);
    }
}

/* The ERROR is the last frame. frame: what was wrong, or NULL. */
static void fail(struct stub_link *l, enum stub_close_reason reason, const char *code,
                 const char *message, const struct backend_frame *frame, uint64_t now_us)
{
    static const struct backend_frame no_frame;
    set_error(l, frame == NULL ? &no_frame : frame, code, message);
    l->error.is_fatal = true;
    l->pong_waits = false;
    l->ping_waits = false;
    l->go_away_waits = false;
    l->state = LINK_CLOSING;
    l->reason = reason;
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        l->deadline_us[i] = TIME_NEVER;
    }
    l->deadline_us[TIMER_LINGER] = now_us + LINGER_US;
}

/* --- input ------------------------------------------------------------------------------------ */

static void greeting_input(struct stub_link *l, const struct backend_frame *frame, uint64_t now_us)
{
    struct backend_hello hello;
    if (frame->type != BACKEND_HELLO || frame->session != 0 ||
        !backend_hello_decode(frame->payload, &hello)) {
        fail(l, STUB_CLOSE_BAD_FRAME, "bad_frame", "the first frame must be a HELLO", frame,
             now_us);
    } else if (!hello.speaks_version_1) {
        fail(l, STUB_CLOSE_VERSION, "version", "this backend speaks version 1", frame, now_us);
    } else {
        const uint32_t theirs_ms =
            hello.heartbeat_ms < HEARTBEAT_MS ? hello.heartbeat_ms : HEARTBEAT_MS;
        const uint32_t beat_ms = theirs_ms > HEARTBEAT_MS_MIN ? theirs_ms : HEARTBEAT_MS_MIN;
        l->heartbeat_us = beat_ms * US_PER_MS;
        l->state = LINK_OPEN;
        l->hello_waits = true;
        l->deadline_us[TIMER_SESSIONS] = now_us + SESSION_TICK_US;
    }
}

static void connection_input(struct stub_link *l, const struct backend_frame *frame,
                             uint64_t now_us)
{
    switch (frame->type) {
    case BACKEND_PING:
        if (frame->payload.len != PING_BYTES) {
            fail(l, STUB_CLOSE_BAD_FRAME, "bad_frame", "a PING has 8 bytes", frame, now_us);
            return;
        }
        /* Whoever pings faster than it reads gets the newest answer only. */
        memcpy(l->pong, frame->payload.data, PING_BYTES);
        l->pong_time_us = now_us;
        l->pong_waits = true;
        return;
    case BACKEND_PONG:
    case BACKEND_GOAWAY: /* sessions here end when it ends them */
        return;
    case BACKEND_ERROR:
        metric_add(&l->behaviour->counters->errors_heard, 1);
        return;
    default:
        if (frame->type < BACKEND_FRAME_TYPE_OPTIONAL_FROM) {
            report(l, frame, "unsupported", "not a type of the connection (session 0)", now_us);
        }
        return;
    }
}

static void call_input(struct stub_link *l, const struct backend_frame *frame, uint64_t now_us)
{
    struct call *call = link_calls_find(&l->calls, frame->session);
    bool is_resumed = false;
    if (call == NULL) {
        if (frame->type == BACKEND_SESSION_RESUME) {
            call = link_calls_resume(&l->calls, l->behaviour, frame, now_us);
            is_resumed = call != NULL && stub_session_can_resume(call->session);
        } else if (frame->type == BACKEND_SESSION_START) {
            call = link_calls_add(&l->calls, l->behaviour, frame->session, now_us);
        } else {
            if (frame->type < BACKEND_FRAME_TYPE_OPTIONAL_FROM) {
                report(l, frame, "no_session", "unknown session handle", now_us);
            }
            return;
        }
        if (call == NULL) {
            fail(l, STUB_CLOSE_OVERLOAD, "overload", "no room for another session", frame, now_us);
            return;
        }
    }
    if (frame->sequence != call->sequence_in) {
        fail(l, STUB_CLOSE_SEQUENCE, "sequence", "a frame of this session is missing", frame,
             now_us);
        return;
    }
    call->sequence_in++;
    if (!is_resumed && !stub_session_input(call->session, frame, now_us)) {
        fail(l, STUB_CLOSE_BAD_FRAME, "bad_frame", "not a frame this session can have", frame,
             now_us);
        return;
    }
    link_calls_let_wait(&l->calls, call);
}

static void frame_input(struct stub_link *l, const struct backend_frame *frame, uint64_t now_us)
{
    metric_add(&l->behaviour->counters->frames_in, 1);
    if (frame->session == 0 && frame->sequence != l->sequence_in) {
        fail(l, STUB_CLOSE_SEQUENCE, "sequence", "a frame of session 0 is missing", frame, now_us);
        return;
    }
    l->sequence_in += frame->session == 0;
    if (l->state == LINK_GREETING) {
        greeting_input(l, frame, now_us);
    } else if (frame->session == 0) {
        connection_input(l, frame, now_us);
    } else {
        call_input(l, frame, now_us);
    }
    if (l->state == LINK_OPEN) {
        l->deadline_us[TIMER_PEER] = now_us + DEAD_HEARTBEATS * l->heartbeat_us;
    }
}

struct bytes_span stub_link_reserve(struct stub_link *l)
{
    if (l->state == LINK_CLOSING) {
        return (struct bytes_span){.data = (uint8_t *)l->text, .cap = sizeof(l->text)};
    }
    return backend_frame_reader_reserve(l->reader);
}

void stub_link_commit(struct stub_link *l, size_t len, uint64_t now_us)
{
    if (l->state == LINK_CLOSING || l->state == LINK_OVER) {
        return; /* read only so that the peer can read our ERROR */
    }
    backend_frame_reader_commit(l->reader, len);
    for (;;) {
        struct backend_frame frame;
        switch (backend_frame_reader_poll(l->reader, &frame)) {
        case BACKEND_FRAME_OK:
            frame_input(l, &frame, now_us);
            break;
        case BACKEND_FRAME_MORE:
            return;
        case BACKEND_FRAME_LENGTH:
        case BACKEND_FRAME_BAD_MAGIC:
            fail(l, STUB_CLOSE_BAD_FRAME, "bad_frame", "wrong length or magic", NULL, now_us);
            return;
        }
        if (l->state == LINK_CLOSING) {
            return;
        }
    }
}

void stub_link_peer_closed(struct stub_link *l)
{
    if (l->state != LINK_CLOSING) {
        l->reason = STUB_CLOSE_PEER;
    }
    l->state = LINK_OVER;
}

/* --- output ----------------------------------------------------------------------------------- */

static bool take_hello(struct stub_link *l, struct backend_frame *out)
{
    struct backend_hello hello = {
        .name = "earshot-inference-stub",
        .format = {{BACKEND_CODEC_PCM16, 24}, {BACKEND_CODEC_PCM16, 16}},
        .format_count = 2,
        .session_count_max = l->behaviour->sessions_max < LINK_CALLS_MAX
                                 ? l->behaviour->sessions_max
                                 : LINK_CALLS_MAX,
        .can_resume = l->behaviour->shelf != NULL,
        .heartbeat_ms = HEARTBEAT_MS,
    };
    (void)snprintf(hello.instance, sizeof(hello.instance), "%s", l->instance);
    out->type = BACKEND_HELLO;
    out->payload.len = backend_hello_encode(&hello, l->text, sizeof(l->text));
    return true;
}

static bool take_error(struct stub_link *l, struct backend_frame *out)
{
    metric_add(&l->behaviour->counters->errors_sent, 1);
    out->type = BACKEND_ERROR;
    out->payload.len = backend_error_encode(&l->error, l->text, sizeof(l->text));
    return true;
}

static bool take_pong(struct stub_link *l, struct backend_frame *out)
{
    out->type = BACKEND_PONG;
    out->time_us = l->pong_time_us;
    out->payload = bytes_view_of(l->pong, PING_BYTES);
    return true;
}

static bool take_ping(struct stub_link *l, struct backend_frame *out)
{
    memset(l->text, 0, PING_BYTES);
    out->type = BACKEND_PING;
    out->payload.len = PING_BYTES;
    return true;
}

static bool take_go_away(struct stub_link *l, struct backend_frame *out)
{
    out->type = BACKEND_GOAWAY;
    const struct backend_go_away go_away = {.reason = "shutdown", .deadline_us = l->go_away_us};
    out->payload.len = backend_go_away_encode(&go_away, l->text, sizeof(l->text));
    return true;
}

static bool clear(bool *flag)
{
    const bool was_set = *flag;
    *flag = false;
    return was_set;
}

/* The next frame of session 0; HELLO leaves before anything else. */
static bool take_of_connection(struct stub_link *l, struct backend_frame *out)
{
    *out = (struct backend_frame){.payload.data = (const uint8_t *)l->text};
    return (clear(&l->hello_waits) && take_hello(l, out)) ||
           (clear(&l->error_waits) && take_error(l, out)) ||
           (clear(&l->pong_waits) && take_pong(l, out)) ||
           (clear(&l->ping_waits) && take_ping(l, out)) ||
           (clear(&l->go_away_waits) && take_go_away(l, out));
}

static void write_frame(struct stub_link *l, struct backend_frame *frame, uint32_t *sequence)
{
    frame->sequence = (*sequence)++;
    assert(BACKEND_FRAME_HEADER_BYTES + frame->payload.len <= OUR_FRAME_BYTES_MAX);
    backend_frame_encode_header(frame, l->output + l->output_end);
    if (frame->payload.len > 0) {
        memcpy(l->output + l->output_end + BACKEND_FRAME_HEADER_BYTES, frame->payload.data,
               frame->payload.len);
    }
    l->output_end += BACKEND_FRAME_HEADER_BYTES + frame->payload.len;
    metric_add(&l->behaviour->counters->frames_out, 1);
}

static bool write_of_a_call(struct stub_link *l)
{
    struct backend_frame frame;
    struct call *call = link_calls_take(&l->calls, &frame);
    if (call == NULL) {
        return false;
    }
    write_frame(l, &frame, &call->sequence_out);
    if (stub_session_is_over(call->session)) {
        link_calls_remove(&l->calls, call);
    }
    return true;
}

struct bytes_view stub_link_output(struct stub_link *l, uint64_t now_us)
{
    if (l->output_first == l->output_end) {
        l->output_first = 0;
        l->output_end = 0;
    }
    while (sizeof(l->output) - l->output_end >= OUR_FRAME_BYTES_MAX) {
        struct backend_frame frame;
        if (take_of_connection(l, &frame)) {
            write_frame(l, &frame, &l->sequence_out);
        } else if (l->state != LINK_OPEN || !write_of_a_call(l)) {
            break;
        }
    }
    if (l->output_first == l->output_end) {
        l->deadline_us[TIMER_READING] = TIME_NEVER;
    } else if (l->deadline_us[TIMER_READING] == TIME_NEVER) {
        l->deadline_us[TIMER_READING] = now_us + NOT_READING_US;
    }
    return bytes_view_of(l->output + l->output_first, l->output_end - l->output_first);
}

void stub_link_sent(struct stub_link *l, size_t len, uint64_t now_us)
{
    assert(len <= l->output_end - l->output_first);
    l->output_first += len;
    if (len > 0 && l->state == LINK_OPEN) {
        l->deadline_us[TIMER_READING] = now_us + NOT_READING_US;
        l->deadline_us[TIMER_PING] = now_us + l->heartbeat_us;
    }
}

/* --- time ------------------------------------------------------------------------------------- */

static bool is_due(struct stub_link *l, enum link_timer timer, uint64_t now_us)
{
    if (now_us < l->deadline_us[timer]) {
        return false;
    }
    l->deadline_us[timer] = TIME_NEVER;
    return true;
}

void stub_link_tick(struct stub_link *l, uint64_t now_us)
{
    if (is_due(l, TIMER_PEER, now_us)) {
        const bool has_greeted = l->state == LINK_OPEN;
        fail(l, has_greeted ? STUB_CLOSE_HEARTBEAT : STUB_CLOSE_HELLO_TIMEOUT, "timeout",
             has_greeted ? "no frame for three heartbeats" : "no HELLO within 2 s", NULL, now_us);
    }
    if (is_due(l, TIMER_READING, now_us)) {
        l->state = LINK_OVER;
        l->reason = STUB_CLOSE_NOT_READING;
    }
    if (is_due(l, TIMER_PING, now_us)) {
        l->ping_waits = true;
        l->deadline_us[TIMER_PING] = now_us + l->heartbeat_us;
    }
    if (is_due(l, TIMER_SESSIONS, now_us)) {
        link_calls_tick(&l->calls, now_us);
        l->deadline_us[TIMER_SESSIONS] = now_us + SESSION_TICK_US;
    }
    if (is_due(l, TIMER_LINGER, now_us)) {
        l->state = LINK_OVER;
    }
}

void stub_link_wake(struct stub_link *l, uint64_t now_us)
{
    if (l->state == LINK_OPEN) {
        link_calls_tick(&l->calls, now_us);
    }
}

uint64_t stub_link_next_timeout(const struct stub_link *l)
{
    uint64_t first_us = TIME_NEVER;
    for (size_t i = 0; i < TIMER_COUNT; i++) {
        first_us = time_earlier(first_us, l->deadline_us[i]);
    }
    return first_us;
}

void stub_link_go_away(struct stub_link *l, uint64_t within_us)
{
    if (l->state == LINK_OPEN) {
        l->go_away_waits = true;
        l->go_away_us = within_us;
    }
}

size_t stub_link_session_count(const struct stub_link *l)
{
    return l->calls.count;
}

bool stub_link_is_finished(const struct stub_link *l)
{
    return l->state == LINK_CLOSING && !l->error_waits && l->output_first == l->output_end;
}

bool stub_link_is_over(const struct stub_link *l)
{
    return l->state == LINK_OVER;
}

enum stub_close_reason stub_link_reason(const struct stub_link *l)
{
    return l->reason;
}
