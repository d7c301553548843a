/*
 * stub_session.h - one call on a connection: frames in, frames out
 *
 * Takes:   the frames of one handle, in order (stub_link.h checks sequences).
 * Gives:   frames by class; stub_link.h numbers and writes them.
 * Owns:    what is talked in it (session_talk.h), and a SESSION_START that comes in chunks.
 * Fails:   input says false for a frame that breaks the protocol: the connection ends. Errors of
 *          the session itself become ERROR frames, at most one a second.
 */
#ifndef EARSHOT_STUB_SESSION_H
#define EARSHOT_STUB_SESSION_H

#include "common/backend_link/backend_payload.h"
#include "services/inference-stub/stub_behaviour.h"

/* The order in which a connection writes what waits. */
enum frame_class {
    FRAME_URGENT,  /* FLUSH, ERROR */
    FRAME_CONTROL, /* SESSION_ACCEPT, SESSION_REJECT, SESSION_ENDED */
    FRAME_AUDIO,
    FRAME_EVENT, /* EVENT, CHANNEL_DATA */
    FRAME_CLASSES
};

struct stub_session;

/* NULL when there is no memory. */
struct stub_session *stub_session_create(const struct stub_behaviour *behaviour, uint32_t handle,
                                         uint64_t now_us);
void stub_session_destroy(struct stub_session *s);

/* It runs, and can go on after its connection broke. */
bool stub_session_can_resume(const struct stub_session *s);
bool stub_session_has_token(const struct stub_session *s, const char *token);
/* Goes on under another handle, from where the transceiver says it is. */
void stub_session_resume(struct stub_session *s, uint32_t handle,
                         const struct backend_resume *resume, uint64_t now_us);

MUST_USE bool stub_session_input(struct stub_session *s, const struct backend_frame *frame,
                                 uint64_t now_us);
/* Each 100 ms, and when a sound was made. */
void stub_session_tick(struct stub_session *s, uint64_t now_us);
/* The next frame of that class, but for its sequence. payload is borrowed until the next call. */
MUST_USE bool stub_session_take(struct stub_session *s, enum frame_class wanted,
                                struct backend_frame *out);
/* Its last frame was taken; the handle is free. */
bool stub_session_is_over(const struct stub_session *s);

#endif
