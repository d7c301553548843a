/*
 * auth.h - whose request is this, and may it be made
 *
 * Takes:   the value of an Authorization field ("Bearer KEY"), or a key that came another way (a
 *          WebSocket's subprotocol or first message); the wall clock in seconds.
 * Gives:   the tenant and what the key brings with it, or the reason of a refusal.
 *          AUTH_OFF: everybody is the tenant of sixteen zeros; a client secret still brings its
 *          session.
 * Owns:    the table of API keys, and a copy of the ring that opens client secrets.
 * Fails:   a verdict is told to strangers as one answer for all (docs/client-contract.md); which
 *          it was is for counters.
 * Not here: limits (rate_limit.h), answers (access_gate.h).
 */
#ifndef EARSHOT_AUTH_H
#define EARSHOT_AUTH_H

#include "services/signaling/access/api_keys.h"
#include "services/signaling/access/client_secret.h"

enum auth_mode { AUTH_KEYS, AUTH_OFF };

enum auth_verdict {
    AUTH_PASS,
    AUTH_MISSING,        /* no Authorization, or one that is no Bearer */
    AUTH_UNKNOWN_KEY,    /* no such API key, and no client secret */
    AUTH_BAD_SECRET,     /* a client secret that does not open */
    AUTH_EXPIRED,        /* one that did, too late or too early */
    AUTH_WRONG_ROLE,     /* an API key for something else */
    AUTH_API_KEY_WANTED, /* a client secret where only an API key will do */
    AUTH_VERDICT_COUNT
};

struct auth_identity {
    uint8_t tenant[API_KEY_TENANT_BYTES];
    enum api_key_role role;
    uint32_t offers_per_s;                      /* of the tenant; 0 = as configured for all */
    char secret_id[CLIENT_SECRET_ID_CHARS + 1]; /* empty: no client secret */
    struct bytes_view session;                  /* of auth_take_session; else empty */
};

struct auth;

/* keys becomes ours; NULL with AUTH_OFF alone. NULL without memory, and keys is freed. */
struct auth *auth_create(enum auth_mode mode, struct api_keys *keys);
void auth_destroy(struct auth *a);

/* From now on these count; they become ours. */
void auth_set_keys(struct auth *a, struct api_keys *keys);
/* Copies the ring. False without memory: the old one stays. */
MUST_USE bool auth_set_ring(struct auth *a, const struct key_ring *ring);

/* The key in the value of Authorization; empty when there is none. */
struct bytes_view auth_bearer(struct bytes_view authorization);

/* Of requests that make calls or operate on them: an API key of role app, or a client secret.
 * AUTH_PASS fills *out, but for the session. */
enum auth_verdict auth_check(const struct auth *a, struct bytes_view key, uint64_t unix_s,
                             struct auth_identity *out);

/* The session that this key, which passed as `who`, brings with it: a text until the next take, or
 * empty. It costs far more than the check: for offers, after all limits. False: it does not
 * inflate. */
MUST_USE bool auth_take_session(struct auth *a, struct bytes_view key, struct auth_identity *who);

/* A client secret of `who`, good from now on for so many seconds. text has room for
 * CLIENT_SECRET_CHARS_MAX and a NUL; *out gets the id and the times. A ring must be set. */
struct auth_wish {
    const struct auth_identity *who;
    char *session; /* a text of session_json_merge, or NULL */
    uint64_t unix_s;
    uint64_t life_s;
};
enum client_secret_result auth_make_secret(struct auth *a, const struct auth_wish *wish,
                                           struct random_source random, char *text,
                                           struct client_secret *out);

/* "unknown_key": the label of a counter. */
const char *auth_verdict_name(enum auth_verdict verdict);

#endif
