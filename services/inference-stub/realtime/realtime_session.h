/*
 * realtime_session.h - what the session is configured to be: defaults, merged field by field
 *
 * Takes:   the session of SESSION_START or of session.update. Fields that are not known are kept
 *          and shown. null brings a default back; turn_detection may be null itself.
 * Owns:    one JSON object of at most bytes_max as text and CLIENT_EVENT_MEMBERS_MAX members.
 * Fails:   a merge changes all or nothing.
 */
#ifndef EARSHOT_REALTIME_SESSION_H
#define EARSHOT_REALTIME_SESSION_H

#include "services/inference-stub/realtime/client_event.h"
#include "services/inference-stub/realtime/realtime.h"

struct realtime_session {
    json_t *json;
    size_t bytes_max;
};

/* All defaults. False without memory. */
MUST_USE bool realtime_session_init(struct realtime_session *s, size_t bytes_max,
                                    uint64_t expires_at_s, struct random_source random);
void realtime_session_clear(struct realtime_session *s);

MUST_USE bool realtime_session_merge(struct realtime_session *s, const json_t *update,
                                     struct client_error *error);

/* The body of session.created and session.updated. */
json_t *realtime_session_fields(const struct realtime_session *s);

struct realtime_turn_detection realtime_session_turn_detection(const struct realtime_session *s);
/* The end of a turn asks for a response. */
bool realtime_session_creates_response(const struct realtime_session *s);
/* The begin of a turn ends the response that is there. */
bool realtime_session_interrupts_response(const struct realtime_session *s);
bool realtime_session_has_transcription(const struct realtime_session *s);
/* The format in which input_audio_buffer.append is understood. */
bool realtime_session_takes_pcm(const struct realtime_session *s);

#endif
