/* voice_downlink.c - see voice_downlink.h */
#include "services/transceiver/core/session/voice_downlink.h"

#include "common/backend_link/backend_report.h"

#include <stdlib.h>

#define JSON_CAP 256

/* A backend in disorder is told so, but not once a frame. */
#define ERROR_INTERVAL_US US_PER_S

struct voice_downlink {
    struct voice_downlink_config config;
    struct backend_format format;
    struct playout_queue *queue; /* NULL until the backend accepted */
    struct voice_sender *sender;
    bool is_attached;
    bool is_restarted; /* the next backend may choose another format */
    bool is_draining;  /* the backend said its last word */
    bool pauses_on_speech;
    uint64_t next_error_us;            /* no ERROR before */
    struct voice_downlink_stats stats; /* underruns: of queues that were before */
};

const char *voice_downlink_result_name(enum voice_downlink_result result)
{
    static const char *const name[VOICE_DOWNLINK_RESULT_COUNT] = {
        [VOICE_DOWNLINK_TAKEN] = "taken",       [VOICE_DOWNLINK_STALE] = "stale",
        [VOICE_DOWNLINK_IGNORED] = "ignored",   [VOICE_DOWNLINK_CREDIT] = "credit",
        [VOICE_DOWNLINK_CODEC] = "codec",       [VOICE_DOWNLINK_BAD_FRAME] = "bad_frame",
        [VOICE_DOWNLINK_SEQUENCE] = "sequence", [VOICE_DOWNLINK_OVERLOAD] = "overload",
    };
    return name[result];
}

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

static uint64_t heard_us(const struct voice_downlink *d, uint64_t sent_us)
{
    return playout_queue_heard_us(sent_us, rtp_sender_stats(voice_sender_rtp(d->sender)).rtt_us);
}

static void emit_playback(struct voice_downlink *d, const struct utterance_event *event,
                          uint64_t now_us)
{
    static const char *const state[] = {
        [UTTERANCE_EVENT_STARTED] = "started",   [UTTERANCE_EVENT_PROGRESS] = "progress",
        [UTTERANCE_EVENT_UNDERRUN] = "underrun", [UTTERANCE_EVENT_PAUSED] = "paused",
        [UTTERANCE_EVENT_RESUMED] = "resumed",   [UTTERANCE_EVENT_DONE] = "done",
    };
    static const char *const reason[] = {
        [UTTERANCE_PLAYED] = "played",
        [UTTERANCE_FLUSHED] = "flushed",
        [UTTERANCE_STARVED] = "starved",
        [UTTERANCE_SESSION_END] = "session_end",
        [UTTERANCE_BACKEND_LOST] = "backend_lost",
    };
    char text[JSON_CAP];
    const uint64_t sent_us = utterance_us_of_ticks(event->sent_ticks);
    const struct backend_playback playback = {
        .utterance = event->utterance,
        .state = state[event->type],
        .reason = event->type == UTTERANCE_EVENT_DONE ? reason[event->reason] : NULL,
        .sent_us = sent_us,
        .heard_us = heard_us(d, sent_us),
        .queued_us = utterance_us_of_ticks(event->queued_ticks),
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

/* What there is to tell, while there is somebody to be told. */
static void emit_news(struct voice_downlink *d, uint64_t now_us)
{
    if (!d->is_attached) {
        return;
    }
    struct utterance_event event;
    while (playout_queue_poll_event(d->queue, &event)) {
        emit_playback(d, &event, now_us);
    }
    uint64_t limit_us = 0;
    if (playout_queue_poll_credit(d->queue, &limit_us)) {
        emit_credit(d, limit_us, now_us);
    }
}

static void emit_error(struct voice_downlink *d, const struct backend_frame *frame,
                       enum voice_downlink_result result, uint64_t now_us)
{
    static const char *const message[VOICE_DOWNLINK_RESULT_COUNT] = {
        [VOICE_DOWNLINK_CREDIT] = "more than the credit: the excess is dropped",
        [VOICE_DOWNLINK_CODEC] = "not the format of SESSION_ACCEPT",
        [VOICE_DOWNLINK_BAD_FRAME] = "utterance 0, half a sample, or no packet of 10 to 60 ms",
        [VOICE_DOWNLINK_SEQUENCE] = "something is missing before time_us",
        [VOICE_DOWNLINK_OVERLOAD] = "more utterances, or bytes, than are held",
    };
    struct backend_error error = {.type = frame->type, .sequence = frame->sequence};
    char text[JSON_CAP];
    if (now_us < d->next_error_us) {
        return;
    }
    d->next_error_us = now_us + ERROR_INTERVAL_US;
    const char *code = voice_downlink_result_name(result);
    memcpy(error.code, code, strlen(code));
    memcpy(error.message, message[result], strlen(message[result]));
    const size_t len = backend_error_encode(&error, text, sizeof(text));
    emit(d, BACKEND_ERROR, 0, bytes_view_of(text, len), now_us);
}

/* --- backends come and go --------------------------------------------------------------------- */

static bool is_playable(const struct voice_downlink *d, struct backend_format out)
{
    switch (out.codec) {
    case BACKEND_CODEC_PCM16:
        return out.rate_khz == 8 || out.rate_khz == 16 || out.rate_khz == 24 || out.rate_khz == 48;
    case BACKEND_CODEC_OPUS:
        return d->config.voice.codec == VOICE_CODEC_OPUS;
    default:
        return false;
    }
}

/* A queue for this format; what the one before still had to tell is told. */
static bool renew_queue(struct voice_downlink *d, struct backend_format out, uint64_t now_us)
{
    const struct playout_queue_config config = {
        .rate_hz = out.codec == BACKEND_CODEC_OPUS ? 0 : out.rate_khz * 1000u,
        .window_us = d->config.credit_us,
    };
    struct playout_queue *queue = playout_queue_create(&config);
    if (queue == NULL) {
        return false;
    }
    if (d->queue != NULL) {
        emit_news(d, now_us);
        d->stats.underruns += playout_queue_underruns(d->queue);
        playout_queue_destroy(d->queue);
    }
    d->format = out;
    d->queue = queue;
    voice_sender_attach(d->sender, d->queue, config.rate_hz);
    return true;
}

bool voice_downlink_attach(struct voice_downlink *d, const struct backend_accept *accept,
                           uint64_t now_us)
{
    const bool is_same = d->queue != NULL && backend_format_equal(d->format, accept->out);
    if (!is_playable(d, accept->out) || (d->queue != NULL && !is_same && !d->is_restarted)) {
        return false;
    }
    d->is_attached = true;
    if (!is_same && !renew_queue(d, accept->out, now_us)) {
        d->is_attached = false;
        return false;
    }
    d->is_restarted = false;
    d->pauses_on_speech = accept->pauses_on_speech;
    playout_queue_attach(d->queue, accept->prebuffer_ms * US_PER_MS,
                         accept->progress_ms * US_PER_MS, now_us);
    voice_sender_wake(d->sender, now_us); /* less prebuffer than before may be asked for */
    emit_news(d, now_us);
    return true;
}

void voice_downlink_detach(struct voice_downlink *d)
{
    d->is_attached = false;
    if (d->queue != NULL) {
        playout_queue_detach(d->queue);
    }
}

struct backend_position voice_downlink_position(const struct voice_downlink *d)
{
    if (d->queue == NULL) {
        return (struct backend_position){.credit_us = d->config.credit_us};
    }
    const struct playout_position position = playout_queue_position(d->queue);
    return (struct backend_position){
        .utterance = position.utterance,
        .received_us = position.received_us,
        .received_total_us = position.received_total_us,
        .sent_us = position.sent_us,
        .credit_us = position.limit_us,
    };
}

void voice_downlink_restart(struct voice_downlink *d, uint64_t now_us)
{
    d->is_attached = true; /* to be told now: it has said nothing yet that this could be about */
    voice_downlink_end(d, true, now_us);
    voice_downlink_detach(d);
    d->is_restarted = true;
}

void voice_downlink_start(struct voice_downlink *d, uint64_t now_us)
{
    voice_sender_start(d->sender, now_us);
}

/* --- frames from the backend ------------------------------------------------------------------ */

static enum voice_downlink_result result_of(enum playout_put_result result)
{
    switch (result) {
    case PLAYOUT_PUT_STALE:
        return VOICE_DOWNLINK_STALE;
    case PLAYOUT_PUT_CREDIT:
        return VOICE_DOWNLINK_CREDIT;
    case PLAYOUT_PUT_FULL:
        return VOICE_DOWNLINK_OVERLOAD;
    case PLAYOUT_PUT_GAP:
        return VOICE_DOWNLINK_SEQUENCE;
    case PLAYOUT_PUT_BAD:
        return VOICE_DOWNLINK_BAD_FRAME;
    default:
        return VOICE_DOWNLINK_TAKEN;
    }
}

static enum voice_downlink_result take_audio(struct voice_downlink *d,
                                             const struct backend_frame *frame)
{
    const struct backend_format format = {frame->codec, frame->rate_khz};
    if (frame->utterance == 0) {
        return VOICE_DOWNLINK_BAD_FRAME;
    }
    if (frame->payload.len > 0 &&
        (!backend_format_equal(format, d->format) || frame->channels != 1)) {
        return VOICE_DOWNLINK_CODEC;
    }
    const struct playout_piece piece = {
        .utterance = frame->utterance,
        .media = frame->payload,
        .is_last = (frame->flags & BACKEND_FLAG_LAST) != 0,
        .offset_us = frame->time_us,
    };
    return result_of(playout_queue_put(d->queue, &piece));
}

/* The queue is cut first; FLUSHED tells how much of the utterance left before; then it is done. All
 * events of before are told: they are after each change. */
static enum voice_downlink_result take_flush(struct voice_downlink *d,
                                             const struct backend_frame *frame, uint64_t now_us)
{
    const struct playout_flushed flushed = playout_queue_flush(d->queue, frame->utterance, now_us);
    char text[JSON_CAP];
    if (flushed.is_cut) {
        voice_sender_cut(d->sender);
    }
    const struct backend_flushed payload = {
        .utterance = flushed.utterance,
        .sent_us = flushed.sent_us,
        .heard_us = heard_us(d, flushed.sent_us),
        .dropped_us = flushed.dropped_us,
    };
    const size_t len = backend_flushed_encode(&payload, text, sizeof(text));
    emit(d, BACKEND_FLUSHED, flushed.flush, bytes_view_of(text, len), now_us);
    return VOICE_DOWNLINK_TAKEN;
}

static enum voice_downlink_result take_pause(struct voice_downlink *d,
                                             const struct backend_frame *frame)
{
    if (frame->utterance == 0) {
        return VOICE_DOWNLINK_BAD_FRAME;
    }
    return playout_queue_pause(d->queue, frame->utterance) ? VOICE_DOWNLINK_TAKEN
                                                           : VOICE_DOWNLINK_OVERLOAD;
}

static enum voice_downlink_result take_resume(struct voice_downlink *d,
                                              const struct backend_frame *frame)
{
    if (frame->utterance == 0) {
        return VOICE_DOWNLINK_BAD_FRAME;
    }
    playout_queue_resume(d->queue, frame->utterance);
    return VOICE_DOWNLINK_TAKEN;
}

static enum voice_downlink_result take(struct voice_downlink *d, const struct backend_frame *frame,
                                       uint64_t now_us)
{
    if (!d->is_attached || (d->is_draining && frame->type != BACKEND_FLUSH)) {
        return VOICE_DOWNLINK_IGNORED;
    }
    switch (frame->type) {
    case BACKEND_AUDIO_OUT:
        return take_audio(d, frame);
    case BACKEND_FLUSH:
        return take_flush(d, frame, now_us);
    case BACKEND_PAUSE:
        return take_pause(d, frame);
    case BACKEND_RESUME:
        return take_resume(d, frame);
    default:
        return VOICE_DOWNLINK_IGNORED;
    }
}

enum voice_downlink_result voice_downlink_input(struct voice_downlink *d,
                                                const struct backend_frame *frame, uint64_t now_us)
{
    const enum voice_downlink_result result = take(d, frame, now_us);
    d->stats.frames[result]++;
    if (result >= VOICE_DOWNLINK_CREDIT) {
        emit_error(d, frame, result, now_us);
    }
    voice_sender_wake(d->sender, now_us);
    emit_news(d, now_us);
    return result;
}

void voice_downlink_speech_started(struct voice_downlink *d, uint64_t now_us)
{
    if (d->queue != NULL && d->pauses_on_speech) {
        playout_queue_pause_speaker(d->queue);
        emit_news(d, now_us);
    }
}

void voice_downlink_drain(struct voice_downlink *d, uint64_t now_us)
{
    d->is_draining = true;
    d->pauses_on_speech = false; /* nobody would let it go on */
    if (d->queue != NULL) {
        playout_queue_drain(d->queue);
        voice_sender_wake(d->sender, now_us);
        emit_news(d, now_us);
    }
}

bool voice_downlink_is_drained(const struct voice_downlink *d)
{
    return d->queue == NULL || playout_queue_position(d->queue).queued_us == 0;
}

void voice_downlink_end(struct voice_downlink *d, bool is_backend_lost, uint64_t now_us)
{
    if (d->queue != NULL) {
        playout_queue_end(d->queue,
                          is_backend_lost ? UTTERANCE_BACKEND_LOST : UTTERANCE_SESSION_END, now_us);
        emit_news(d, now_us);
    }
}

/* --- packets to the client -------------------------------------------------------------------- */

size_t voice_downlink_poll_packet(struct voice_downlink *d, uint8_t *out, uint64_t now_us)
{
    const size_t len = voice_sender_poll_packet(d->sender, out, now_us);
    emit_news(d, now_us); /* an utterance ends in a slot that sends nothing, too */
    return len;
}

uint64_t voice_downlink_next_timeout(const struct voice_downlink *d)
{
    return voice_sender_next_timeout(d->sender);
}

struct voice_sender *voice_downlink_sender(struct voice_downlink *d)
{
    return d->sender;
}

struct voice_downlink_stats voice_downlink_stats(const struct voice_downlink *d)
{
    struct voice_downlink_stats stats = d->stats;
    if (d->queue != NULL) {
        stats.underruns += playout_queue_underruns(d->queue);
    }
    return stats;
}
