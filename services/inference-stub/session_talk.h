/*
 * session_talk.h - what is talked in a session that runs: by a dialogue, or by the agent
 *
 * Takes:   the frames of a running session but SESSION_*.
 * Gives:   flushes, audio and messages as frames, but for session and sequence.
 * Owns:    the dialogue or the agent; one EVENT and one CHANNEL_DATA that come in chunks, each of
 *          at most BACKEND_MESSAGE_BYTES_MAX; what waits to leave (message_outbox.h).
 * Rule:    a message on a channel with the label `echo` goes back as it came; other channels are
 *          ignored. A dialogue answers each event with an `error`.
 * Full:    an answer for which there is no room is not sent, and counted.
 */
#ifndef EARSHOT_SESSION_TALK_H
#define EARSHOT_SESSION_TALK_H

#include "common/backend_link/backend_payload.h"
#include "services/inference-stub/stub_behaviour.h"

struct session_talk;

/* start_text: SESSION_START as it came, of which `start` was read. NULL when there is no memory. */
struct session_talk *session_talk_create(const struct stub_behaviour *behaviour,
                                         const struct backend_start_request *start,
                                         struct bytes_view start_text, uint8_t rate_khz);
void session_talk_destroy(struct session_talk *t);

enum session_talk_result {
    TALK_OK,
    TALK_BROKEN,     /* no frame of this protocol: the connection ends */
    TALK_CODEC,      /* audio in another format than was accepted */
    TALK_UNSUPPORTED /* a type that this backend does not take */
};

enum session_talk_result session_talk_input(struct session_talk *t,
                                            const struct backend_frame *frame, uint64_t now_us);
void session_talk_resume(struct session_talk *t, const struct backend_position *position,
                         uint64_t now_us);
/* Each 100 ms, and when a sound was made. */
void session_talk_tick(struct session_talk *t, uint64_t now_us);

/* Payloads are borrowed until the next call. */
MUST_USE bool session_talk_take_flush(struct session_talk *t, struct backend_frame *out);
MUST_USE bool session_talk_take_audio(struct session_talk *t, struct backend_frame *out);
MUST_USE bool session_talk_take_message(struct session_talk *t, struct backend_frame *out);

#endif
