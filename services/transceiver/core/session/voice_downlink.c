/* voice_downlink.c - see voice_downlink.h */
#include "services/transceiver/core/session/voice_downlink.h"

#include <assert.h>
#include <stdlib.h>

#define JSON_CAP 256

/* A backend in disorder is told so, but not once a frame. */
#define ERROR_INTERVAL_US US_PER_S

struct voice_downlink {
    struct voice_downlink_config config;
    uint8_t rate_khz;
    struct playout_queue *queue; /* NULL until the backend accepted */
    struct voice_sender *sender;
    uint64_t next_error_us; /* no ERROR before */
};

struct voice_downlink *voice_downlink_create(const struct voice_downlink_config *config)
{
    struct voice_downlink *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        return NULL;
    }
    d->config = *config;
    d->sender = voice_sender_create(&config->voice);
    if (d->sender == NULL) {
        voice_downlink_destroy(d);
        return NULL;
    }
    return d;
}

void voice_downlink_destroy(struct voice_downlink *d)
{
    if (d == NULL) {
        return;
    }
    voice_sender_destroy(d->sender);
    playout_queue_destroy(d->queue);
    free(d);
}

bool voice_downlink_attach(struct voice_downlink *d, const struct backend_accept *accept,
                           uint64_t now_us)
{
    assert(d->queue == NULL);
    (void)now_us;
    const struct backend_format out = accept->out;
    if (out.codec != BACKEND_CODEC_PCM16 || (out.rate_khz != 16 && out.rate_khz != 24)) {
        return false;
    }
    d->rate_khz = out.rate_khz;
    const struct playout_queue_config config = {
        .rate_hz = out.rate_khz * 1000u,
        .window_us = d->config.credit_us,
        .prebuffer_us = time_earlier(accept->prebuffer_ms * US_PER_MS, d->config.credit_us),
        .progress_us = accept->progress_ms * US_PER_MS,
    };
    d->queue = playout_queue_create(&config);
    if (d->queue != NULL) {
        voice_sender_attach(d->sender, d->queue, config.rate_hz);
    }
    return d->queue != NULL;
}

void voice_downlink_start(struct voice_downlink *d, uint64_t now_us)
{
    voice_sender_start(d->sender, now_us);
}

/* --- frames to the backend -------------------------------------------------------------------- */

static void emit(struct voice_downlink *d, enum backend_frame_type type, uint32_t utterance,
                 struct bytes_view payload, uint64_t now_us)
{
    const struct backend_frame frame = {
        .type = (uint8_t)type,
        .session = d->config.session_id,
        .time_us = time_since(d->config.start_us, now_us),
        .utterance = utterance,
        .payload = payload,
    };
    outbox_add_frame(d->config.outbox, d->config.session_id, &frame);
}

static uint64_t rtt_us(const struct voice_downlink *d)
{
    return rtp_sender_stats(voice_sender_rtp(d->sender)).rtt_us;
}

static void emit_playback(struct voice_downlink *d, const struct playout_event *event,
                          const char *state, const char *reason, uint64_t now_us)
{
    char text[JSON_CAP];
    const struct backend_playback playback = {
        .utterance = event->utterance,
        .state = state,
        .reason = reason,
        .sent_us = event->sent_us,
        .heard_us = playout_queue_heard_us(event->sent_us, rtt_us(d)),
        .queued_us = event->queued_us,
    };
    const size_t len = backend_playback_encode(&playback, text, sizeof(text));
    emit(d, BACKEND_PLAYBACK, event->utterance, bytes_view_of(text, len), now_us);
}

static void emit_credit(struct voice_downlink *d, uint64_t limit_us, uint64_t now_us)
{
    uint8_t payload[8];
    struct byte_writer w;
    byte_writer_init(&w, payload, sizeof(payload));
    byte_writer_u64_le(&w, limit_us);
    emit(d, BACKEND_CREDIT, 0, bytes_view_of(payload, sizeof(payload)), now_us);
}

static const char *done_reason_name(enum playout_done_reason reason)
{
    static const char *const name[] = {
        [PLAYOUT_DONE_PLAYED] = "played",
        [PLAYOUT_DONE_FLUSHED] = "flushed",
        [PLAYOUT_DONE_STARVED] = "starved",
        [PLAYOUT_DONE_SESSION_END] = "session_end",
        [PLAYOUT_DONE_BACKEND_LOST] = "backend_lost",
    };
    return name[reason];
}

static void emit_events(struct voice_downlink *d, uint64_t now_us)
{
    struct playout_event event;
    while (playout_queue_poll_event(d->queue, &event)) {
        switch (event.type) {
        case PLAYOUT_EVENT_STARTED:
            emit_playback(d, &event, "started", NULL, now_us);
            break;
        case PLAYOUT_EVENT_PROGRESS:
            emit_playback(d, &event, "progress", NULL, now_us);
            break;
        case PLAYOUT_EVENT_UNDERRUN:
            emit_playback(d, &event, "underrun", NULL, now_us);
            break;
        case PLAYOUT_EVENT_DONE:
            emit_playback(d, &event, "done", done_reason_name(event.reason), now_us);
            break;
        case PLAYOUT_EVENT_CREDIT:
            emit_credit(d, event.limit_us, now_us);
            break;
        }
    }
}

static void emit_error(struct voice_downlink *d, const struct backend_frame *frame,
                       const char *code, uint64_t now_us)
{
    struct backend_error error = {.type = frame->type, .sequence = frame->sequence};
    char text[JSON_CAP];
    if (now_us < d->next_error_us) {
        return;
    }
    d->next_error_us = now_us + ERROR_INTERVAL_US;
    memcpy(error.code, code, strlen(code));
    const size_t len = backend_error_encode(&error, text, sizeof(text));
    emit(d, BACKEND_ERROR, 0, bytes_view_of(text, len), now_us);
}

/* --- frames from the backend ------------------------------------------------------------------ */

static void take_audio(struct voice_downlink *d, const struct backend_frame *frame, uint64_t now_us)
{
    const bool is_last = (frame->flags & BACKEND_FLAG_LAST) != 0;
    const bool has_audio = frame->payload.len > 0;
    if (frame->utterance == 0 ||
        (has_audio && (frame->codec != BACKEND_CODEC_PCM16 || frame->rate_khz != d->rate_khz))) {
        emit_error(d, frame, "codec", now_us);
        return;
    }
    switch (playout_queue_put(d->queue, frame->utterance, frame->payload, is_last)) {
    case PLAYOUT_PUT_CREDIT:
        emit_error(d, frame, "credit", now_us);
        break;
    case PLAYOUT_PUT_ODD_BYTES:
        emit_error(d, frame, "bad_frame", now_us);
        break;
    case PLAYOUT_PUT_FULL:
        emit_error(d, frame, "overload", now_us);
        break;
    default:
        break;
    }
}

/* The queue is cut first; FLUSHED tells how much of the utterance left before; then it is done. All
 * events of before are told: they are after each change. */
static void take_flush(struct voice_downlink *d, const struct backend_frame *frame, uint64_t now_us)
{
    const struct playout_flushed flushed = playout_queue_flush(d->queue, frame->utterance);
    char text[JSON_CAP];
    if (flushed.is_cut) {
        voice_sender_cut(d->sender);
    }
    const struct backend_flushed payload = {
        .utterance = flushed.utterance,
        .sent_us = flushed.sent_us,
        .heard_us = playout_queue_heard_us(flushed.sent_us, rtt_us(d)),
        .dropped_us = flushed.dropped_us,
    };
    const size_t len = backend_flushed_encode(&payload, text, sizeof(text));
    emit(d, BACKEND_FLUSHED, flushed.flush, bytes_view_of(text, len), now_us);
}

void voice_downlink_input(struct voice_downlink *d, const struct backend_frame *frame,
                          uint64_t now_us)
{
    if (d->queue == NULL) {
        return;
    }
    if (frame->type == BACKEND_AUDIO_OUT) {
        take_audio(d, frame, now_us);
    } else if (frame->type == BACKEND_FLUSH) {
        take_flush(d, frame, now_us);
    }
    voice_sender_wake(d->sender, now_us);
    emit_events(d, now_us);
}

void voice_downlink_end(struct voice_downlink *d, bool is_backend_lost, uint64_t now_us)
{
    if (d->queue != NULL) {
        playout_queue_end(d->queue,
                          is_backend_lost ? PLAYOUT_DONE_BACKEND_LOST : PLAYOUT_DONE_SESSION_END);
        emit_events(d, now_us);
    }
}

/* --- packets to the client -------------------------------------------------------------------- */

size_t voice_downlink_poll_packet(struct voice_downlink *d, uint8_t *out, uint64_t now_us)
{
    const size_t len = voice_sender_poll_packet(d->sender, out, now_us);
    if (len > 0 && d->queue != NULL) {
        emit_events(d, now_us);
    }
    return len;
}

uint64_t voice_downlink_next_timeout(const struct voice_downlink *d)
{
    return voice_sender_next_timeout(d->sender);
}

bool voice_downlink_is_drained(const struct voice_downlink *d)
{
    return d->queue == NULL || playout_queue_stats(d->queue).queued_us == 0;
}

struct voice_sender *voice_downlink_sender(struct voice_downlink *d)
{
    return d->sender;
}
