/*
 * session_json.h - the session of a call as JSON: how parts of it are laid over each other
 *
 * Takes:   JSON objects as text, from strangers.
 * Rule:    a field of the upper one counts; objects are merged field by field, at any depth; null,
 *          lists and all else replace what was there.
 * Bounds:  SESSION_JSON_BYTES_MAX, SESSION_JSON_DEPTH_MAX, SESSION_JSON_MEMBERS_MAX.
 * Not here: what a field means: that is the backend's business.
 */
#ifndef EARSHOT_SESSION_JSON_H
#define EARSHOT_SESSION_JSON_H

#include "common/base/bytes.h"

#define SESSION_JSON_BYTES_MAX   196608
#define SESSION_JSON_DEPTH_MAX   32
#define SESSION_JSON_MEMBERS_MAX 4096

enum session_json_result {
    SESSION_JSON_GOOD,
    SESSION_JSON_INVALID,    /* no JSON object, or one too deep or with too many members */
    SESSION_JSON_WRONG_TYPE, /* "type" is not "realtime" */
    SESSION_JSON_TOO_LARGE,
    SESSION_JSON_NO_MEMORY
};

/* Lays `upper` over `lower`; either may be empty. GOOD: *out is the text, which the caller frees;
 * NULL when nothing is said. */
enum session_json_result session_json_merge(struct bytes_view lower, struct bytes_view upper,
                                            char **out);

/* The session as clients are told it: with the defaults of the Realtime API for what it does not
 * say, with this id and, unless 0, the time at which it expires. NULL without memory; the caller
 * frees it. `session` is a text of session_json_merge, or NULL. */
char *session_json_effective(const char *session, const char *id, uint64_t expires_unix_s);

#endif
