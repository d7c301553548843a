/*
 * frame_scheduler.h - frames that wait to be written to one backend, and whose turn it is
 *
 * Takes:   frames of sessions and of the connection, each for one queue.
 * Gives:   pieces to write, as many as one writev takes. The higher class goes first; within a
 *          class the queues take turns, a frame each; within a class of one queue, in order.
 *          SESSION_START leaves first of its queue, SESSION_END and SESSION_ENDED last; FLUSHED
 *          takes what waits in the control class of its queue along, so it overtakes no PLAYBACK.
 * Numbers: a frame gets its sequence number when it is gathered. What the socket did not take goes
 *          back to its place, number and all, so that it can still be overtaken or dropped.
 * Late:    AUDIO_IN that has waited FRAME_AUDIO_WAIT_US goes, unless it is a replay; the next one
 *          of its queue says DISCONTINUITY.
 * Owns:    block_count blocks of 1 KB, touched only as many as ever waited at once.
 * Full:    a quarter is kept for the two upper classes, and as much again is not promised to
 *          messages: who asks for room before loses none. AUDIO_IN takes the place of the oldest of
 *          its own queue, or is dropped; a message is dropped; SESSION_START is refused; when
 *          nothing else fits, FRAME_PUT_FULL: the backend has stopped reading.
 * Source:  docs/backend-protocol.md, "What is written first".
 * Not here: handles, heartbeat, sockets (backend_stream.h, backend_port.h).
 */
#ifndef EARSHOT_FRAME_SCHEDULER_H
#define EARSHOT_FRAME_SCHEDULER_H

#include "common/backend_link/backend_frame.h"
#include "common/base/time_us.h"
#include "services/transceiver/port/frame_class.h"

#define FRAME_AUDIO_WAIT_US (500 * US_PER_MS)
/* One block holds the header and 20 ms of PCM16 at 24 kHz, the commonest frame. */
#define FRAME_BLOCK_BYTES (BACKEND_FRAME_HEADER_BYTES + 960)
/* What one gather gives at most. */
#define FRAME_GATHER_BYTES_MAX  (256 * 1024)
#define FRAME_GATHER_PIECES_MAX 512

struct frame_scheduler;

struct frame_scheduler *frame_scheduler_create(size_t queue_count, size_t block_count);
void frame_scheduler_destroy(struct frame_scheduler *f);

/* The queue is a new session's: its numbers begin at 0. It must be idle. */
void frame_scheduler_begin(struct frame_scheduler *f, size_t queue);
/* Nothing of this queue waits, not even the rest of a frame. */
bool frame_scheduler_is_idle(const struct frame_scheduler *f, size_t queue);
/* Nothing of any queue waits. */
bool frame_scheduler_is_empty(const struct frame_scheduler *f);

enum frame_put_result {
    FRAME_PUT_OK,
    FRAME_PUT_REFUSED, /* it was not put: audio, a message, a SESSION_START */
    FRAME_PUT_FULL
};

/* Copies the payload. is_replay: late audio on purpose, not dropped for its waiting. */
enum frame_put_result frame_scheduler_put(struct frame_scheduler *f, size_t queue,
                                          const struct backend_frame *frame, bool is_replay,
                                          uint64_t now_us);

/* The pieces to write next, piece[FRAME_GATHER_PIECES_MAX]; returns how many. Then
 * frame_scheduler_wrote before anything else. */
size_t frame_scheduler_gather(struct frame_scheduler *f, struct bytes_view *piece, uint64_t now_us);
/* How many of those bytes were written, perhaps none. Returns how many frames left whole. */
size_t frame_scheduler_wrote(struct frame_scheduler *f, size_t bytes);

/* Forgets what waits, but for the rest of a frame that was begun. Its messages count as dropped. */
void frame_scheduler_clear(struct frame_scheduler *f);

/* Forgets all, also the rest of what was begun: its other half will never be read. */
void frame_scheduler_abandon(struct frame_scheduler *f);

/* How many blocks of messages can be put and will not be dropped; each frame takes whole ones. */
size_t frame_scheduler_message_room(const struct frame_scheduler *f);

/* AUDIO_IN and messages that were dropped so far. */
uint64_t frame_scheduler_audio_dropped(const struct frame_scheduler *f);
uint64_t frame_scheduler_messages_dropped(const struct frame_scheduler *f);

#endif
