/*
 * backend_output.h - what is said on one connection to a backend: by whom, and how often
 *
 * Owns:    the handles (a session's is its session id; the slot in it is its place here), and what
 *          waits to be written, a queue for each handle and one for the connection.
 * Rules:   SESSION_START and SESSION_RESUME open a handle; it is free after the backend's last word
 *          or ours, at the latest 2 s after our SESSION_END. At most one ERROR a session and
 *          second. Late audio is a replay from ACCEPT on, until the first frame that is not late.
 * Fails:   is_overrun: what must not be lost had no room.
 * Not here: whose turn it is (frame_scheduler.h), what the backend says (backend_stream.h).
 */
#ifndef EARSHOT_BACKEND_OUTPUT_H
#define EARSHOT_BACKEND_OUTPUT_H

#include "services/transceiver/port/backend_stream.h"
#include "services/transceiver/port/frame_scheduler.h"

enum handle_state { HANDLE_FREE, HANDLE_OPEN, HANDLE_ENDING /* its ENDED is missing */ };

/* One session on the stream; the id tells whether the slot still belongs to it. */
struct backend_handle {
    uint32_t session_id;
    enum handle_state state;
    uint32_t next_in;  /* number of the backend's next frame */
    bool is_replaying; /* from ACCEPT on, until a frame is not late */
    uint64_t next_error_us;
    uint64_t ended_by_us; /* ENDING: free then, whatever the backend says */
};

struct backend_output {
    struct backend_handle *handle;
    size_t handle_count;
    size_t used_count;
    uint64_t free_ended_us; /* when the first of those that are ENDING is due; TIME_NEVER: none */
    uint64_t next_error_us; /* of the connection */
    bool is_overrun;
    struct frame_scheduler *frames;
    uint64_t audio_dropped; /* of frames, as far as they are counted */
    uint64_t messages_dropped;
    struct backend_stream_counters *counters; /* borrowed */
};

MUST_USE bool backend_output_init(struct backend_output *o, size_t session_capacity,
                                  struct backend_stream_counters *counters);
void backend_output_deinit(struct backend_output *o);

/* NULL when the session has none. */
struct backend_handle *backend_output_find(const struct backend_output *o, uint32_t session_id);
void backend_output_free(struct backend_output *o, struct backend_handle *handle);
/* What freed it could not be read: the session is still one of those that have a handle. */
void backend_output_open_again(struct backend_output *o, uint32_t session_id);
/* Those whose 2 s are over: not before free_ended_us. */
void backend_output_free_ended(struct backend_output *o, uint64_t now_us);

/* A frame of a session. may_open: new handles are welcome. False: the session has no handle, or
 * could not begin. */
bool backend_output_send(struct backend_output *o, const struct backend_frame *frame, bool may_open,
                         uint64_t now_us);

/* handle NULL, here and below: of the connection. */
void backend_output_say(struct backend_output *o, const struct backend_handle *handle,
                        enum backend_frame_type type, struct bytes_view payload, uint64_t now_us);
/* about: the frame that was wrong, or NULL. Fatal if it is the connection's and not `unsupported`.
 * A fatal one is always said and clears what waits; others once a second. */
void backend_output_error(struct backend_output *o, struct backend_handle *handle,
                          enum backend_stream_error code, const struct backend_frame *about,
                          uint64_t now_us);

size_t backend_output_gather(struct backend_output *o, struct bytes_view *piece, uint64_t now_us);

#endif
