/* stub_session.c - see stub_session.h */
#include "services/inference-stub/stub_session.h"

#include "common/runtime/log.h"
#include "services/inference-stub/audio_frames.h"
#include "services/inference-stub/chunked_message.h"
#include "services/inference-stub/rate_choice.h"
#include "services/inference-stub/realtime/realtime_events.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define START_TIMEOUT_US (5 * US_PER_S)
#define ERROR_PAUSE_US   US_PER_S
#define AUDIO_BYTES_MAX  (PCM_RATE_HZ_MAX / 1000 * DIALOGUE_CHUNK_MS * 2)
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
    struct chunked_message message;
    char token[BACKEND_TOKEN_CAP];     /* empty: can not be resumed */
    char old_token[BACKEND_TOKEN_CAP]; /* likewise good, until the ACCEPT was heard; or empty */
    struct audio_frames audio;
    bool has_events;
    struct dialogue *dialogue; /* while RUNNING */
    bool accept_waits;
    struct backend_reject reject;
    struct backend_error error;
    bool error_waits;
    uint64_t error_allowed_us;
    struct bytes_view reply[SESSION_REPLIES_MAX]; /* malloc'ed */
    size_t reply_first;
    size_t reply_count;
    uint64_t events_answered;
    uint8_t payload[AUDIO_BYTES_MAX]; /* of the frame taken last */
};

static_assert(TEXT_BYTES_MAX <= AUDIO_BYTES_MAX && REALTIME_EVENT_BYTES_MAX <= AUDIO_BYTES_MAX,
              "every payload of a session fits its buffer");

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
    if (s->dialogue != NULL) {
        struct stub_counters *c = s->behaviour->counters;
        metric_set(&c->sessions_open, metric_get(&c->sessions_open) - 1);
    }
    dialogue_destroy(s->dialogue);
    s->dialogue = NULL;
    s->accept_waits = false;
    s->error_waits = false;
    for (; s->reply_count > 0; s->reply_count--) {
        free((void *)s->reply[s->reply_first].data);
        s->reply_first = (s->reply_first + 1) % SESSION_REPLIES_MAX;
    }
    chunked_message_drop(&s->message);
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

static void run(struct stub_session *s, const struct backend_start_request *r, uint64_t now_us)
{
    const struct stub_behaviour *b = s->behaviour;
    const struct dialogue_config config = {
        .mode = b->mode,
        .rate_hz = s->audio.rate_khz * 1000u,
        .echo_delay_us = b->echo_delay_us,
        .tone_hz = b->tone_hz,
        .greeting = s->audio.rate_khz == 16 ? b->greeting_16k : b->greeting_24k,
        .credit_us = r->credit_us,
        .is_restarted = r->is_restarted,
        .counters = b->counters,
    };
    s->dialogue = dialogue_create(&config);
    if (s->dialogue == NULL) {
        reject(s, STUB_SESSION_FULL, "overload", "out of memory", now_us);
        return;
    }
    s->state = SESSION_RUNNING;
    s->has_events = r->has_events;
    memcpy(s->token, r->resume_token, sizeof(s->token));
    s->accept_waits = true;
    metric_add(&b->counters->sessions_open, 1);
    metric_add(&b->counters->sessions[STUB_SESSION_ACCEPTED], 1);
    char call[LOG_ESCAPED_CAP];
    if (may_log(s, now_us)) {
        log_info("session.started session=%u call=%s mode=%s rate_khz=%u restarted=%s "
                 "held_back=%llu",
                 s->handle, log_escape(bytes_view_of_text(r->call_id), call, sizeof(call)),
                 b->mode_name, s->audio.rate_khz, r->is_restarted ? "true" : "false", held_back(s));
    }
}

static bool session_start(struct stub_session *s, const struct backend_frame *frame,
                          uint64_t now_us)
{
    if (!chunked_message_append(&s->message, frame->payload)) {
        return false;
    }
    if ((frame->flags & BACKEND_FLAG_LAST) == 0) {
        return true;
    }
    struct backend_start_request request;
    const bool is_good = backend_start_decode(chunked_message_view(&s->message), &request);
    chunked_message_drop(&s->message);
    if (!is_good) {
        return false;
    }
    s->start_deadline_us = TIME_NEVER;
    /* A parrot speaks at the rate of its own voice where it can. */
    s->audio.rate_khz = rate_choice_khz(&request, s->behaviour->mode == DIALOGUE_PARROT);
    if (s->behaviour->is_draining) {
        reject(s, STUB_SESSION_DRAINING, "overload", "this backend is going away", now_us);
    } else if (metric_get(&s->behaviour->counters->sessions_open) >= s->behaviour->sessions_max) {
        reject(s, STUB_SESSION_FULL, "overload", "sessions_max is reached", now_us);
    } else if (s->audio.rate_khz == 0) {
        reject(s, STUB_SESSION_NO_FORMAT, "codec",
               "neither pcm16/16000 nor pcm16/24000 is offered both ways", now_us);
    } else {
        run(s, &request, now_us);
    }
    return true;
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
    chunked_message_drop(&s->message);
    dialogue_resume(s->dialogue, &resume->position);
    metric_add(&s->behaviour->counters->sessions[STUB_SESSION_RESUMED], 1);
    if (may_log(s, now_us)) {
        log_info("session.resumed session=%u call=%s held_back=%llu", handle,
                 log_escape(bytes_view_of_text(resume->call_id), call, sizeof(call)), held_back(s));
    }
}

/* --- a running session ------------------------------------------------------------------------ */

static bool audio_in(struct stub_session *s, const struct backend_frame *frame, uint64_t now_us)
{
    switch (audio_frames_input(&s->audio, frame, s->dialogue, now_us)) {
    case AUDIO_FRAMES_CODEC:
        report(s, frame, "codec", "audio in another format than was accepted", now_us);
        return true;
    case AUDIO_FRAMES_BROKEN:
        return false;
    case AUDIO_FRAMES_OK:
        break;
    }
    return true;
}

static bool credit(struct stub_session *s, const struct backend_frame *frame)
{
    struct byte_reader r;
    byte_reader_init(&r, frame->payload);
    const uint64_t limit_us = byte_reader_u64_le(&r);
    if (r.failed || byte_reader_left(&r) > 0) {
        return false;
    }
    dialogue_credit(s->dialogue, limit_us);
    return true;
}

static bool playback(struct stub_session *s, const struct backend_frame *frame)
{
    struct backend_playback p;
    if (!backend_playback_decode(frame->payload, &p)) {
        return false;
    }
    dialogue_playback(s->dialogue, &p);
    return true;
}

static void answer_event(struct stub_session *s)
{
    struct stub_counters *counters = s->behaviour->counters;
    char text[REALTIME_EVENT_BYTES_MAX];
    const size_t len =
        s->reply_count == SESSION_REPLIES_MAX
            ? 0
            : realtime_events_refuse(chunked_message_view(&s->message), s->behaviour->mode_name,
                                     s->events_answered + 1, text);
    uint8_t *reply = len == 0 ? NULL : malloc(len);
    if (reply == NULL) {
        metric_add(&counters->events_dropped, 1);
        return;
    }
    memcpy(reply, text, len);
    s->reply[(s->reply_first + s->reply_count++) % SESSION_REPLIES_MAX] = bytes_view_of(reply, len);
    s->events_answered++;
    metric_add(&counters->events_answered, 1);
}

static bool event(struct stub_session *s, const struct backend_frame *frame)
{
    if (!chunked_message_append(&s->message, frame->payload)) {
        return false;
    }
    if ((frame->flags & BACKEND_FLAG_LAST) != 0) {
        if (s->has_events) {
            answer_event(s);
        }
        chunked_message_drop(&s->message);
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
    case BACKEND_CONNECTED:
        dialogue_connected(s->dialogue);
        return true;
    case BACKEND_AUDIO_IN:
        return audio_in(s, frame, now_us);
    case BACKEND_CREDIT:
        return credit(s, frame);
    case BACKEND_PLAYBACK:
        return playback(s, frame);
    case BACKEND_EVENT:
        return event(s, frame);
    case BACKEND_FLUSHED:
    case BACKEND_SPEECH:
    case BACKEND_DTMF:
    case BACKEND_CHANNEL_DATA:
    case BACKEND_SIDEBAND:
    case BACKEND_NET_STATS:
        return true; /* of no use to a dialogue in these modes */
    case BACKEND_ERROR:
        metric_add(&s->behaviour->counters->errors_heard, 1);
        return true;
    default:
        if (frame->type < BACKEND_FRAME_TYPE_OPTIONAL_FROM) {
            report(s, frame, "unsupported", "a type that this backend does not take", now_us);
        }
        return true;
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
    if (s->dialogue != NULL) {
        dialogue_tick(s->dialogue, now_us);
    }
}

bool stub_session_is_over(const struct stub_session *s)
{
    return s->state == SESSION_OVER;
}

/* --- output ----------------------------------------------------------------------------------- */

static bool take_urgent(struct stub_session *s, struct backend_frame *out)
{
    if (s->dialogue != NULL && dialogue_take_flush(s->dialogue, &out->utterance)) {
        out->type = BACKEND_FLUSH;
        return true;
    }
    if (!s->error_waits) {
        return false;
    }
    s->error_waits = false;
    metric_add(&s->behaviour->counters->errors_sent, 1);
    out->type = BACKEND_ERROR;
    out->payload.len = backend_error_encode(&s->error, (char *)s->payload, TEXT_BYTES_MAX);
    return true;
}

static bool take_control(struct stub_session *s, struct backend_frame *out)
{
    char *text = (char *)s->payload;
    if (s->accept_waits) {
        const struct backend_format format = {BACKEND_CODEC_PCM16, s->audio.rate_khz};
        const struct backend_accept accept = {format, format, .prebuffer_ms = 20,
                                              .progress_ms = 200};
        s->accept_waits = false;
        out->type = BACKEND_SESSION_ACCEPT;
        out->payload.len = backend_accept_encode(&accept, text, TEXT_BYTES_MAX);
        return true;
    }
    if (s->state == SESSION_REJECTED) {
        out->type = BACKEND_SESSION_REJECT;
        out->payload.len = backend_reject_encode(&s->reject, text, TEXT_BYTES_MAX);
        s->state = SESSION_OVER;
        return true;
    }
    if (s->state == SESSION_ENDING) {
        out->type = BACKEND_SESSION_ENDED;
        out->payload.len =
            backend_ended_encode(&(struct backend_ended){.reason = "asked"}, text, TEXT_BYTES_MAX);
        s->state = SESSION_OVER;
        return true;
    }
    return false;
}

static bool take_audio(struct stub_session *s, struct backend_frame *out)
{
    struct dialogue_audio audio;
    if (s->dialogue == NULL || !dialogue_take_audio(s->dialogue, &audio)) {
        return false;
    }
    audio_frames_write(&s->audio, &audio, s->payload, sizeof(s->payload), out);
    return true;
}

static bool take_event(struct stub_session *s, struct backend_frame *out)
{
    if (s->reply_count == 0) {
        return false;
    }
    const struct bytes_view reply = s->reply[s->reply_first];
    memcpy(s->payload, reply.data, reply.len);
    free((void *)reply.data);
    s->reply_first = (s->reply_first + 1) % SESSION_REPLIES_MAX;
    s->reply_count--;
    out->type = BACKEND_EVENT;
    out->flags = BACKEND_FLAG_LAST;
    out->payload.len = reply.len;
    return true;
}

bool stub_session_take(struct stub_session *s, enum frame_class wanted, struct backend_frame *out)
{
    *out = (struct backend_frame){.session = s->handle, .payload.data = s->payload};
    switch (wanted) {
    case FRAME_URGENT:
        return take_urgent(s, out);
    case FRAME_CONTROL:
        return take_control(s, out);
    case FRAME_AUDIO:
        return take_audio(s, out);
    case FRAME_EVENT:
        return take_event(s, out);
    case FRAME_CLASSES:
        break;
    }
    return false;
}
