/* backend_output.c - see backend_output.h */
#include "services/transceiver/port/backend_output.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define ENDED_TIMEOUT_US  (2 * US_PER_S)
#define ERROR_INTERVAL_US US_PER_S

/* Half a second of 20 ms frames for each session, 2 KB each at 48 kHz; and two long messages. */
#define BLOCKS_PER_SESSION 64
#define BLOCKS_BASE        (2 * BACKEND_MESSAGE_BYTES_MAX / FRAME_BLOCK_BYTES)

/* session id = [shard 6 | slot 18 | generation 8] */
#define SLOT_OF(session_id) ((session_id) >> 8 & 0x3ffffu)

static const char *const error_name[BACKEND_STREAM_ERRORS] = {
    [BACKEND_STREAM_BAD_FRAME] = "bad_frame",
    [BACKEND_STREAM_VERSION] = "version",
    [BACKEND_STREAM_SEQUENCE] = "sequence",
    [BACKEND_STREAM_TIMEOUT] = "timeout",
    [BACKEND_STREAM_UNSUPPORTED] = "unsupported",
    [BACKEND_STREAM_NO_SESSION] = "no_session",
    [BACKEND_STREAM_CODEC] = "codec",
    [BACKEND_STREAM_CREDIT] = "credit",
    [BACKEND_STREAM_OVERLOAD] = "overload",
    [BACKEND_STREAM_INTERNAL] = "internal",
};

const char *backend_stream_error_name(enum backend_stream_error error)
{
    return error_name[error];
}

bool backend_output_init(struct backend_output *o, size_t session_capacity,
                         struct backend_stream_counters *counters)
{
    *o = (struct backend_output){
        .handle_count = session_capacity, .free_ended_us = TIME_NEVER, .counters = counters};
    o->handle = calloc(session_capacity, sizeof(*o->handle));
    o->frames = frame_scheduler_create(session_capacity + 1,
                                       BLOCKS_BASE + BLOCKS_PER_SESSION * session_capacity);
    return o->handle != NULL && o->frames != NULL;
}

/* --- handles ---------------------------------------------------------------------------------- */

struct backend_handle *backend_output_find(const struct backend_output *o, uint32_t session_id)
{
    const uint32_t slot = SLOT_OF(session_id);
    if (slot >= o->handle_count || o->handle[slot].session_id != session_id ||
        o->handle[slot].state == HANDLE_FREE) {
        return NULL;
    }
    return &o->handle[slot];
}

static size_t queue_of(const struct backend_output *o, const struct backend_handle *handle)
{
    return handle == NULL ? o->handle_count : (size_t)(handle - o->handle);
}

void backend_output_free(struct backend_output *o, struct backend_handle *handle)
{
    o->used_count -= handle->state != HANDLE_FREE;
    handle->state = HANDLE_FREE;
}

void backend_output_open_again(struct backend_output *o, uint32_t session_id)
{
    struct backend_handle *handle = &o->handle[SLOT_OF(session_id)];
    assert(SLOT_OF(session_id) < o->handle_count);
    if (handle->session_id == session_id && handle->state == HANDLE_FREE) {
        handle->state = HANDLE_OPEN;
        o->used_count++;
    }
}

void backend_output_free_ended(struct backend_output *o, uint64_t now_us)
{
    if (now_us < o->free_ended_us) {
        return;
    }
    o->free_ended_us = TIME_NEVER;
    for (size_t i = 0; i < o->handle_count; i++) {
        struct backend_handle *handle = &o->handle[i];
        if (handle->state == HANDLE_ENDING && now_us >= handle->ended_by_us) {
            backend_output_free(o, handle);
        } else if (handle->state == HANDLE_ENDING) {
            o->free_ended_us = time_earlier(o->free_ended_us, handle->ended_by_us);
        }
    }
}

/* NULL: the old session of its slot still has something to say to a backend that is behind. */
static struct backend_handle *open_handle(struct backend_output *o, uint32_t session_id)
{
    struct backend_handle *handle = &o->handle[SLOT_OF(session_id)];
    assert(SLOT_OF(session_id) < o->handle_count);
    if (!frame_scheduler_is_idle(o->frames, queue_of(o, handle))) {
        return NULL;
    }
    backend_output_free(o, handle); /* its ENDED did not come: nobody would hear it */
    *handle = (struct backend_handle){.session_id = session_id, .state = HANDLE_OPEN};
    o->used_count++;
    frame_scheduler_begin(o->frames, queue_of(o, handle));
    return handle;
}

/* --- frames ----------------------------------------------------------------------------------- */

static void count_drops(struct backend_output *o)
{
    const uint64_t audio = frame_scheduler_audio_dropped(o->frames);
    const uint64_t messages = frame_scheduler_messages_dropped(o->frames);
    metric_add(&o->counters->audio_dropped, audio - o->audio_dropped);
    metric_add(&o->counters->messages_dropped, messages - o->messages_dropped);
    o->audio_dropped = audio;
    o->messages_dropped = messages;
}

/* What was not written by now is lost with the connection. */
void backend_output_deinit(struct backend_output *o)
{
    if (o->frames != NULL) {
        frame_scheduler_abandon(o->frames);
        count_drops(o);
    }
    frame_scheduler_destroy(o->frames);
    free(o->handle);
}

static enum frame_put_result put(struct backend_output *o, const struct backend_handle *handle,
                                 const struct backend_frame *frame, bool is_replay, uint64_t now_us)
{
    const enum frame_put_result result =
        frame_scheduler_put(o->frames, queue_of(o, handle), frame, is_replay, now_us);
    count_drops(o);
    o->is_overrun = o->is_overrun || result == FRAME_PUT_FULL;
    return result;
}

void backend_output_say(struct backend_output *o, const struct backend_handle *handle,
                        enum backend_frame_type type, struct bytes_view payload, uint64_t now_us)
{
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .session = handle == NULL ? 0 : handle->session_id,
                                        .time_us = handle == NULL ? now_us : 0,
                                        .payload = payload};
    (void)put(o, handle, &frame, false, now_us);
}

static bool may_say_error(struct backend_output *o, struct backend_handle *handle, uint64_t now_us)
{
    uint64_t *next_us = handle == NULL ? &o->next_error_us : &handle->next_error_us;
    if (now_us < *next_us) {
        return false;
    }
    *next_us = now_us + ERROR_INTERVAL_US;
    return true;
}

void backend_output_error(struct backend_output *o, struct backend_handle *handle,
                          enum backend_stream_error code, const struct backend_frame *about,
                          uint64_t now_us)
{
    struct backend_error error = {.is_fatal = handle == NULL && code != BACKEND_STREAM_UNSUPPORTED};
    char text[2 * BACKEND_TEXT_CAP];
    if (error.is_fatal) {
        frame_scheduler_clear(o->frames); /* counted with the next put */
    } else if (!may_say_error(o, handle, now_us)) {
        return;
    }
    (void)snprintf(error.code, sizeof(error.code), "%s", error_name[code]);
    error.type = about == NULL ? 0 : about->type;
    error.sequence = about == NULL ? 0 : about->sequence;
    metric_add(&o->counters->errors_sent[code], 1);
    const size_t len = backend_error_encode(&error, text, sizeof(text));
    backend_output_say(o, handle, BACKEND_ERROR, bytes_view_of(text, len), now_us);
}

static void count_error(struct backend_output *o, const struct backend_frame *frame)
{
    struct backend_error error;
    size_t code = BACKEND_STREAM_INTERNAL;
    if (backend_error_decode(frame->payload, &error)) {
        for (size_t i = 0; i < BACKEND_STREAM_ERRORS; i++) {
            code = strcmp(error.code, error_name[i]) == 0 ? i : code;
        }
    }
    metric_add(&o->counters->errors_sent[code], 1);
}

static bool begins_session(const struct backend_frame *frame)
{
    return frame->type == BACKEND_SESSION_START || frame->type == BACKEND_SESSION_RESUME;
}

static void begin_ending(struct backend_output *o, struct backend_handle *handle, uint64_t now_us)
{
    handle->state = HANDLE_ENDING;
    handle->ended_by_us = now_us + ENDED_TIMEOUT_US;
    o->free_ended_us = time_earlier(o->free_ended_us, handle->ended_by_us);
}

/* Half a START is none: there will be no ACCEPT. What is out of it is taken back. */
static void give_up_beginning(struct backend_output *o, struct backend_handle *handle,
                              bool is_first, uint64_t now_us)
{
    if (is_first) {
        backend_output_free(o, handle);
        return;
    }
    backend_output_say(o, handle, BACKEND_SESSION_END, bytes_view_of_text("{}"), now_us);
    begin_ending(o, handle, now_us);
}

/* is_first: of its handle. */
static bool put_of_session(struct backend_output *o, struct backend_handle *handle,
                           const struct backend_frame *frame, bool is_first, uint64_t now_us)
{
    bool is_replay = false;
    if (frame->type == BACKEND_AUDIO_IN) {
        handle->is_replaying = handle->is_replaying && (frame->flags & BACKEND_AUDIO_LATE) != 0;
        is_replay = handle->is_replaying;
    }
    const enum frame_put_result result = put(o, handle, frame, is_replay, now_us);
    if (begins_session(frame) && result == FRAME_PUT_REFUSED) {
        give_up_beginning(o, handle, is_first, now_us);
        return false;
    }
    if (frame->type == BACKEND_SESSION_ENDED) {
        backend_output_free(o, handle);
    } else if (frame->type == BACKEND_SESSION_END) {
        begin_ending(o, handle, now_us);
    }
    return true;
}

bool backend_output_send(struct backend_output *o, const struct backend_frame *frame, bool may_open,
                         uint64_t now_us)
{
    struct backend_handle *handle = backend_output_find(o, frame->session);
    const bool is_first = handle == NULL;
    if (is_first && may_open && begins_session(frame)) {
        handle = open_handle(o, frame->session);
    }
    if (handle == NULL || handle->state != HANDLE_OPEN) {
        return false;
    }
    if (frame->type == BACKEND_ERROR) {
        if (!may_say_error(o, handle, now_us)) {
            return true;
        }
        count_error(o, frame);
    }
    return put_of_session(o, handle, frame, is_first, now_us);
}

size_t backend_output_gather(struct backend_output *o, struct bytes_view *piece, uint64_t now_us)
{
    const size_t count = frame_scheduler_gather(o->frames, piece, now_us);
    count_drops(o);
    return count;
}
