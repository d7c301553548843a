/*
 * backend_stream.h - one connection to a backend as bytes: greeting, handles, heartbeat
 *
 * Takes:   bytes of the backend in any split, frames of sessions, time.
 * Gives:   frames of sessions in order, pieces to write. A session's handle is its session id.
 * Owns:    one reader, the handles, and what waits to be written (frame_scheduler.h).
 * Bounds:  when the backend does not read, old AUDIO_IN goes and new sessions are refused (they get
 *          no ACCEPT); 5 s of that, or no room for what must not be lost, and the stream fails.
 *          Media never waits. At most one ERROR a session and second.
 * Fails:   a broken frame, a gap, a wrong version, silence: backend_stream_failure says why, once
 *          and for good; the last words can still be gathered.
 * Not here: sockets and dialling again (backend_port.h).
 */
#ifndef EARSHOT_BACKEND_STREAM_H
#define EARSHOT_BACKEND_STREAM_H

#include "common/backend_link/backend_payload.h"
#include "common/base/time_us.h"
#include "common/runtime/metrics.h"

#define BACKEND_STREAM_PIECES_MAX 512

struct backend_stream_config {
    const char *name; /* of this transceiver, for HELLO */
    uint32_t instance_id;
    size_t session_capacity;
};

/* The codes of ERROR. */
enum backend_stream_error {
    BACKEND_STREAM_BAD_FRAME,
    BACKEND_STREAM_VERSION,
    BACKEND_STREAM_SEQUENCE,
    BACKEND_STREAM_TIMEOUT,
    BACKEND_STREAM_UNSUPPORTED,
    BACKEND_STREAM_NO_SESSION,
    BACKEND_STREAM_CODEC,
    BACKEND_STREAM_CREDIT,
    BACKEND_STREAM_OVERLOAD,
    BACKEND_STREAM_INTERNAL,
    BACKEND_STREAM_ERRORS
};

/* "bad_frame": as it stands in the frame, and the label of the counter. */
const char *backend_stream_error_name(enum backend_stream_error error);

struct backend_stream_counters {
    metric_value frames_received;
    metric_value frames_sent;
    metric_value audio_dropped;    /* AUDIO_IN: waited too long, the backend does not read */
    metric_value messages_dropped; /* EVENT, NET_STATS: likewise */
    metric_value errors_sent[BACKEND_STREAM_ERRORS];
    metric_value errors_received;
};

struct backend_stream;

/* Says HELLO: a stream begins with its connection. NULL without memory. */
struct backend_stream *backend_stream_create(const struct backend_stream_config *config,
                                             struct backend_stream_counters *counters,
                                             uint64_t now_us);
void backend_stream_destroy(struct backend_stream *s);

/* Greeted, not going away, and not full: a new session is welcome. */
bool backend_stream_is_up(const struct backend_stream *s);
/* How many of them. */
size_t backend_stream_room(const struct backend_stream *s);
bool backend_stream_is_greeted(const struct backend_stream *s);
/* The backend has said GOAWAY. */
bool backend_stream_is_leaving(const struct backend_stream *s);
/* It knows SESSION_RESUME, as we do. */
bool backend_stream_can_resume(const struct backend_stream *s);
/* The backend's own name, escaped by nobody; empty before the greeting. */
const char *backend_stream_peer_name(const struct backend_stream *s);
/* NULL while it is well; else an error code of the protocol, the code that the backend sent, or
 * "goaway": what it had announced has come. */
const char *backend_stream_failure(const struct backend_stream *s);

/* Room to read into, then how much came. No room: poll frames first. */
struct bytes_span backend_stream_reserve(struct backend_stream *s);
void backend_stream_commit(struct backend_stream *s, size_t len);
/* A frame for the session named in it; its payload is borrowed until the next reserve. */
MUST_USE bool backend_stream_poll_frame(struct backend_stream *s, struct backend_frame *out,
                                        uint64_t now_us);
/* The payload of the frame just polled was wrong: bad_frame, the stream fails. */
void backend_stream_refuse(struct backend_stream *s, const struct backend_frame *frame,
                           uint64_t now_us);

/* SESSION_START and SESSION_RESUME open the handle. False, and dropped: before the greeting, for a
 * session that has no handle on this stream, and when there is no room for it to begin. */
bool backend_stream_send(struct backend_stream *s, const struct backend_frame *frame,
                         uint64_t now_us);
/* How many blocks of EVENT and CHANNEL_DATA will not be dropped: frame_scheduler.h. */
size_t backend_stream_message_room(const struct backend_stream *s);
bool backend_stream_has_session(const struct backend_stream *s, uint32_t session_id);
bool backend_stream_has_sessions(const struct backend_stream *s);
/* The sessions that have a handle; false after the last. `cursor` starts at 0. */
MUST_USE bool backend_stream_next_session(const struct backend_stream *s, size_t *cursor,
                                          uint32_t *session_id);
/* This transceiver goes away: GOAWAY. */
void backend_stream_go_away(struct backend_stream *s, uint64_t deadline_us, uint64_t now_us);

/* What is to be written next, piece[BACKEND_STREAM_PIECES_MAX]; returns how many pieces. Then tell
 * how many bytes were taken, perhaps 0, before anything else. */
size_t backend_stream_gather(struct backend_stream *s, struct bytes_view *piece, uint64_t now_us);
void backend_stream_sent(struct backend_stream *s, size_t len, uint64_t now_us);
bool backend_stream_has_output(const struct backend_stream *s);

void backend_stream_tick(struct backend_stream *s, uint64_t now_us);
uint64_t backend_stream_next_timeout(const struct backend_stream *s);

#endif
