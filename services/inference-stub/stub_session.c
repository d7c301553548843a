/* stub_session.c - see stub_session.h */
#include "services/inference-stub/stub_session.h"

#include "common/runtime/log.h"
#include "services/inference-stub/chunked_message.h"
#include "services/inference-stub/rate_choice.h"
#include "services/inference-stub/session_talk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define START_TIMEOUT_US (5 * US_PER_S)
#define ERROR_PAUSE_US   US_PER_S
#define TEXT_BYTES_MAX   1024

enum session_state {
    SESSION_STARTING, /* SESSION_START is not complete */
    SESSION_RUNNING,
    SESSION_REJECTED, /* SESSION_REJECT waits to be taken */
    SESSION_ENDING,   /* SESSION_ENDED waits to be taken */
    SESSION_OVER
};

struct stub_session {
    const struct stub_behaviour *behaviour;
    uint32_t handle;
    enum session_state state;
    uint64_t start_deadline_us;
    struct chunked_message start;
    char token[BACKEND_TOKEN_CAP];     /* empty: can not be resumed */
    char old_token[BACKEND_TOKEN_CAP]; /* likewise good, until the ACCEPT was heard; or empty */
    uint8_t rate_khz;                  /* of both directions */
    struct session_talk *talk;         /* while RUNNING */
    bool accept_waits;
    struct backend_reject reject;
    struct backend_error error;
    bool error_waits;
    uint64_t error_allowed_us;
    char text[TEXT_BYTES_MAX]; /* the payload of the frame taken last, unless it is talk's */
};

struct stub_session *stub_session_create(const struct stub_behaviour *behaviour, uint32_t handle,
                                         uint64_t now_us)
{
    struct stub_session *s = calloc(1, sizeof(*s));
    if (s != NULL) {
        s->behaviour = behaviour;
        s->handle = handle;
        s->start_deadline_us = now_us + START_TIMEOUT_US;
    }
    return s;
}

/* Nothing of a session that no longer runs is sent but its last word. */
static void stop_running(struct stub_session *s)
{
    if (s->talk != NULL) {
        struct stub_counters *c = s->behaviour->counters;
        metric_set(&c->sessions_open, metric_get(&c->sessions_open) - 1);
    }
    session_talk_destroy(s->talk);
    s->talk = NULL;
    s->accept_waits = false;
    s->error_waits = false;
    chunked_message_drop(&s->start);
}

void stub_session_destroy(struct stub_session *s)
{
    if (s != NULL) {
        stop_running(s);
        explicit_bzero(s->token, sizeof(s->token));
        explicit_bzero(s->old_token, sizeof(s->old_token));
        free(s);
    }
}

/* Without a limit every line is written. */
static bool may_log(const struct stub_session *s, uint64_t now_us)
{
    struct log_limit *limit = s->behaviour->session_lines;
    return limit == NULL || log_limit_pass(limit, now_us);
}

static unsigned long long held_back(const struct stub_session *s)
{
    const struct log_limit *limit = s->behaviour->session_lines;
    return limit == NULL ? 0 : limit->held_back;
}

/* --- errors and ends -------------------------------------------------------------------------- */

static void report(struct stub_session *s, const struct backend_frame *frame, const char *code,
                   const char *message, uint64_t now_us)
{
    if (s->error_waits || now_us < s->error_allowed_us) {
        return;
    }
    s->error_allowed_us = now_us + ERROR_PAUSE_US;
    s->error_waits = true;
    s->error = (struct backend_error){.type = frame->type, .sequence = frame->sequence};
    (void)snprintf(s->error.code, sizeof(s->error.code), "%s", code);
    (void)snprintf(s->error.message, sizeof(s->error.message), "%s", message);
}

static void reject(struct stub_session *s, enum stub_session_outcome outcome, const char *code,
                   const char *message, uint64_t now_us)
{
    metric_add(&s->behaviour->counters->sessions[outcome], 1);
    stop_running(s);
    s->state = SESSION_REJECTED;
    s->reject.retry_elsewhere = outcome == STUB_SESSION_FULL || outcome == STUB_SESSION_DRAINING;
    (void)snprintf(s->reject.code, sizeof(s->reject.code), "%s", code);
    (void)snprintf(s->reject.message, sizeof(s->reject.message), "%s", message);
    if (may_log(s, now_us)) {
        log_info("session.rejected session=%u code=%s held_back=%llu", s->handle, code,
                 held_back(s));
    }
}

static bool session_end(struct stub_session *s, const struct backend_frame *frame, uint64_t now_us)
{
    struct backend_end end;
    char reason[LOG_ESCAPED_CAP];
    if (!backend_end_decode(frame->payload, &end)) {
        return false;
    }
    stop_running(s);
    s->state = SESSION_ENDING;
    if (may_log(s, now_us)) {
        log_info("session.ended session=%u reason=%s held_back=%llu", s->handle,
                 log_escape(bytes_view_of_text(end.reason), reason, sizeof(reason)), held_back(s));
    }
    return true;
}

/* --- start ------------------------------------------------------------------------------------ */

static void run(struct stub_session *s, const struct backend_start_request *r,
                struct bytes_view text, uint64_t now_us)
{
    const struct stub_behaviour *b = s->behaviour;
    s->talk = session_talk_create(b, r, text, s->rate_khz);
    if (s->talk == NULL) {
        reject(s, STUB_SESSION_FULL, "overload", "out of memory", now_us);
        return;
    }
    s->state = SESSION_RUNNING;
    memcpy(s->token, r->resume_token, sizeof(s->token));
    s->accept_waits = true;
    metric_add(&b->counters->sessions_open, 1);
    metric_add(&b->counters->sessions[STUB_SESSION_ACCEPTED], 1);
    char call[LOG_ESCAPED_CAP];
    if (may_log(s, now_us)) {
        log_info("session.started session=%u call=%s mode=%s rate_khz=%u restarted=%s "
                 "held_back=%llu",
                 s->handle, log_escape(bytes_view_of_text(r->call_id), call, sizeof(call)),
                 b->mode_name, s->rate_khz, r->is_restarted ? "true" : "false", held_back(s));
    }
}

/* It speaks at the rate of its own voice where it can. */
static bool prefers_16k(const struct stub_behaviour *b)
{
    return b->script != NULL || b->mode == DIALOGUE_PARROT;
}

static bool whole_start(struct stub_session *s, struct bytes_view text, uint64_t now_us)
{
    struct backend_start_request request;
    if (!backend_start_decode(text, &request)) {
        return false;
    }
    s->start_deadline_us = TIME_NEVER;
    s->rate_khz = rate_choice_khz(&request, prefers_16k(s->behaviour));
    if (s->behaviour->is_draining) {
        reject(s, STUB_SESSION_DRAINING, "overload", "this backend is going away", now_us);
    } else if (metric_get(&s->behaviour->counters->sessions_open) >= s->behaviour->sessions_max) {
        reject(s, STUB_SESSION_FULL, "overload", "sessions_max is reached", now_us);
    } else if (s->rate_khz == 0) {
        reject(s, STUB_SESSION_NO_FORMAT, "codec",
               "neither pcm16/16000 nor pcm16/24000 is offered both ways", now_us);
    } else {
        run(s, &request, text, now_us);
    }
    return true;
}

static bool session_start(struct stub_session *s, const struct backend_frame *frame,
                          uint64_t now_us)
{
    if (!chunked_message_append(&s->start, frame->payload)) {
        return false;
    }
    if ((frame->flags & BACKEND_FLAG_LAST) == 0) {
        return true;
    }
    /* Taken out of the session: whoever rejects it drops what it holds. */
    struct chunked_message start = s->start;
    s->start = (struct chunked_message){0};
    const bool is_good = whole_start(s, chunked_message_view(&start), now_us);
    chunked_message_drop(&start);
    return is_good;
}

/* --- another connection ----------------------------------------------------------------------- */

bool stub_session_can_resume(const struct stub_session *s)
{
    return s->state == SESSION_RUNNING && s->token[0] != '\0';
}

bool stub_session_has_token(const struct stub_session *s, const char *token)
{
    return strcmp(s->token, token) == 0 ||
           (s->old_token[0] != '\0' && strcmp(s->old_token, token) == 0);
}

void stub_session_resume(struct stub_session *s, uint32_t handle,
                         const struct backend_resume *resume, uint64_t now_us)
{
    char call[LOG_ESCAPED_CAP];
    assert(s->state == SESSION_RUNNING);
    s->handle = handle;
    memcpy(s->old_token, resume->token, sizeof(s->old_token));
    memcpy(s->token, resume->next_token, sizeof(s->token));
    s->accept_waits = true;
    s->error_waits = false;
    session_talk_resume(s->talk, &resume->position, now_us);
    metric_add(&s->behaviour->counters->sessions[STUB_SESSION_RESUMED], 1);
    if (may_log(s, now_us)) {
        log_info("session.resumed session=%u call=%s held_back=%llu", handle,
                 log_escape(bytes_view_of_text(resume->call_id), call, sizeof(call)), held_back(s));
    }
}

/* --- a running session ------------------------------------------------------------------------ */

static bool talk_input(struct stub_session *s, const struct backend_frame *frame, uint64_t now_us)
{
    switch (session_talk_input(s->talk, frame, now_us)) {
    case TALK_OK:
        break;
    case TALK_BROKEN:
        return false;
    case TALK_CODEC:
        report(s, frame, "codec", "audio in another format than was accepted", now_us);
        break;
    case TALK_UNSUPPORTED:
        report(s, frame, "unsupported", "a type that this backend does not take", now_us);
        break;
    }
    return true;
}

static bool running_input(struct stub_session *s, const struct backend_frame *frame,
                          uint64_t now_us)
{
    explicit_bzero(s->old_token, sizeof(s->old_token)); /* it heard the ACCEPT */
    switch (frame->type) {
    case BACKEND_SESSION_START:
    case BACKEND_SESSION_RESUME:
        return false; /* a handle that is in use */
    case BACKEND_SESSION_END:
        return session_end(s, frame, now_us);
    case BACKEND_ERROR:
        metric_add(&s->behaviour->counters->errors_heard, 1);
        return true;
    default:
        return talk_input(s, frame, now_us);
    }
}

static bool starting_input(struct stub_session *s, const struct backend_frame *frame,
                           uint64_t now_us)
{
    switch (frame->type) {
    case BACKEND_SESSION_START:
        return session_start(s, frame, now_us);
    case BACKEND_SESSION_RESUME:
        reject(s, STUB_SESSION_NO_RESUME, "no_session", "no call is kept under this token", now_us);
        return true;
    case BACKEND_SESSION_END:
        return session_end(s, frame, now_us);
    default:
        return frame->type >= BACKEND_FRAME_TYPE_OPTIONAL_FROM;
    }
}

bool stub_session_input(struct stub_session *s, const struct backend_frame *frame, uint64_t now_us)
{
    switch (s->state) {
    case SESSION_STARTING:
        return starting_input(s, frame, now_us);
    case SESSION_RUNNING:
        return running_input(s, frame, now_us);
    case SESSION_REJECTED:
    case SESSION_ENDING:
    case SESSION_OVER:
        break;
    }
    return true; /* sent before the other end knew */
}

void stub_session_tick(struct stub_session *s, uint64_t now_us)
{
    if (s->state == SESSION_STARTING && now_us >= s->start_deadline_us) {
        reject(s, STUB_SESSION_TIMEOUT, "timeout", "SESSION_START was not completed", now_us);
    }
    if (s->talk != NULL) {
        session_talk_tick(s->talk, now_us);
    }
}

bool stub_session_is_over(const struct stub_session *s)
{
    return s->state == SESSION_OVER;
}

/* --- output ----------------------------------------------------------------------------------- */

static void begin_text(const struct stub_session *s, struct backend_frame *out)
{
    *out = (struct backend_frame){.payload.data = (const uint8_t *)s->text};
}

static bool take_urgent(struct stub_session *s, struct backend_frame *out)
{
    if (s->talk != NULL && session_talk_take_flush(s->talk, out)) {
        return true;
    }
    if (!s->error_waits) {
        return false;
    }
    begin_text(s, out);
    s->error_waits = false;
    metric_add(&s->behaviour->counters->errors_sent, 1);
    out->type = BACKEND_ERROR;
    out->payload.len = backend_error_encode(&s->error, s->text, TEXT_BYTES_MAX);
    return true;
}

static bool take_control(struct stub_session *s, struct backend_frame *out)
{
    begin_text(s, out);
    if (s->accept_waits) {
        const struct backend_format format = {BACKEND_CODEC_PCM16, s->rate_khz};
        const struct backend_accept accept = {format, format, .prebuffer_ms = 20,
                                              .progress_ms = 200};
        s->accept_waits = false;
        out->type = BACKEND_SESSION_ACCEPT;
        out->payload.len = backend_accept_encode(&accept, s->text, TEXT_BYTES_MAX);
        return true;
    }
    if (s->state == SESSION_REJECTED) {
        out->type = BACKEND_SESSION_REJECT;
        out->payload.len = backend_reject_encode(&s->reject, s->text, TEXT_BYTES_MAX);
        s->state = SESSION_OVER;
        return true;
    }
    if (s->state == SESSION_ENDING) {
        out->type = BACKEND_SESSION_ENDED;
        out->payload.len = backend_ended_encode(&(struct backend_ended){.reason = "asked"}, s->text,
                                                TEXT_BYTES_MAX);
        s->state = SESSION_OVER;
        return true;
    }
    return false;
}

static bool take(struct stub_session *s, enum frame_class wanted, struct backend_frame *out)
{
    switch (wanted) {
    case FRAME_URGENT:
        return take_urgent(s, out);
    case FRAME_CONTROL:
        return take_control(s, out);
    case FRAME_AUDIO:
        return s->talk != NULL && session_talk_take_audio(s->talk, out);
    case FRAME_EVENT:
        return s->talk != NULL && session_talk_take_message(s->talk, out);
    case FRAME_CLASSES:
        break;
    }
    return false;
}

bool stub_session_take(struct stub_session *s, enum frame_class wanted, struct backend_frame *out)
{
    const bool is_taken = take(s, wanted, out);
    out->session = s->handle;
    return is_taken;
}
