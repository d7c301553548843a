/*
 * backend_stream.h - one connection to a backend as bytes: greeting, numbering, heartbeat
 *
 * Takes:   bytes of the backend in any split, frames of sessions, time.
 * Gives:   frames of sessions in order, bytes to write. A session's handle is its session id.
 * Owns:    one reader, and an output buffer for half a second of every session's voice.
 * Bounds:  when the backend does not read, AUDIO_IN and SESSION_START beyond three quarters of the
 *          output are dropped (such a session gets no ACCEPT); when the output is full the stream
 *          fails. Media never waits.
 * Fails:   a broken frame, a gap, a wrong version, silence: backend_stream_failure says why, once
 *          and for good; the last words are still in the output.
 * Not here: sockets and dialling again (backend_port.h).
 */
#ifndef EARSHOT_BACKEND_STREAM_H
#define EARSHOT_BACKEND_STREAM_H

#include "common/backend_link/backend_payload.h"
#include "common/base/time_us.h"
#include "common/runtime/metrics.h"

struct backend_stream_config {
    const char *name; /* of this transceiver, for HELLO */
    uint32_t instance_id;
    size_t session_capacity;
};

struct backend_stream_counters {
    metric_value frames_received;
    metric_value frames_sent;
    metric_value audio_dropped; /* AUDIO_IN: the backend does not read */
};

struct backend_stream;

/* Says HELLO: a stream begins with its connection. NULL without memory. */
struct backend_stream *backend_stream_create(const struct backend_stream_config *config,
                                             struct backend_stream_counters *counters,
                                             uint64_t now_us);
void backend_stream_destroy(struct backend_stream *s);

/* Greeted and not going away: new sessions are welcome. */
bool backend_stream_is_up(const struct backend_stream *s);
bool backend_stream_is_greeted(const struct backend_stream *s);
/* The backend's own name, escaped by nobody; empty before the greeting. */
const char *backend_stream_peer_name(const struct backend_stream *s);
/* NULL while it is well; else an error code of the protocol: bad_frame, version, sequence, timeout,
 * overload, or the code that the backend sent. */
const char *backend_stream_failure(const struct backend_stream *s);

/* Room to read into, then how much came. */
struct bytes_span backend_stream_reserve(struct backend_stream *s);
void backend_stream_commit(struct backend_stream *s, size_t len, uint64_t now_us);
/* A frame for the session named in it; its payload is borrowed until the next reserve. */
MUST_USE bool backend_stream_poll_frame(struct backend_stream *s, struct backend_frame *out,
                                        uint64_t now_us);

/* Appends; SESSION_START opens its handle. Dropped before the greeting, and for a session that
 * began on an older stream. */
void backend_stream_send(struct backend_stream *s, const struct backend_frame *frame);
/* What is to be written, and how much of it was. */
struct bytes_view backend_stream_output(const struct backend_stream *s);
void backend_stream_sent(struct backend_stream *s, size_t len, uint64_t now_us);

void backend_stream_tick(struct backend_stream *s, uint64_t now_us);
uint64_t backend_stream_next_timeout(const struct backend_stream *s);

#endif
