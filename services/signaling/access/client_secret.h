/*
 * client_secret.h - "ek_...": a key for a page, which holds all that it stands for
 *
 * "ek_", the key id as one base64url character, then in base64url
 *
 *      0  u8[12]  nonce
 *     12          AES-256-GCM of
 *                   0  u8      version, 1
 *                   1  u8[16]  tenant
 *                  17  u64     not before, seconds of Unix time
 *                  25  u64     expires
 *                  33  u32     offers a second, 0 = as configured for all
 *                  37  u8[16]  id
 *                  53          zlib (RFC 1950) of the session, a JSON object
 *   -16  u8[16]   tag
 *
 * Gives:   any replica of signaling opens it: nothing is stored. The session inside is sealed,
 *          because instructions may be confidential.
 * Bounds:  CLIENT_SECRET_CHARS_MAX, so that it fits the header lines of common proxies.
 * Fails:   peek and open return false for any other form, an altered byte, or a key that the ring
 *          does not have; open also for a session that does not inflate within its bound. Times
 *          are the caller's to compare, and the session's form is session_json.h's to judge.
 * Source:  docs/wire-formats.md, section 7.
 */
#ifndef EARSHOT_CLIENT_SECRET_H
#define EARSHOT_CLIENT_SECRET_H

#include "common/base/random.h"
#include "common/routing/key_ring.h"

#define CLIENT_SECRET_PREFIX        "ek_"
#define CLIENT_SECRET_CHARS_MAX     6144
#define CLIENT_SECRET_ID_CHARS      27 /* "sess_" and 128 random bits */
#define CLIENT_SECRET_TENANT_BYTES  16
#define CLIENT_SECRET_SESSION_BYTES 196608 /* of an opened one, at most */

struct client_secret {
    uint8_t tenant[CLIENT_SECRET_TENANT_BYTES];
    uint64_t not_before_unix_s;
    uint64_t expires_unix_s;
    char id[CLIENT_SECRET_ID_CHARS + 1];
    uint32_t offers_per_s; /* policy: of the tenant; 0 = as configured for all */
    char *session;         /* a JSON object, or NULL; of an opened secret freed by clear */
};

/* A new id. */
void client_secret_make_id(struct random_source random, char id[CLIENT_SECRET_ID_CHARS + 1]);

enum client_secret_result {
    CLIENT_SECRET_SEALED,
    CLIENT_SECRET_TOO_LARGE, /* for CLIENT_SECRET_CHARS_MAX */
    CLIENT_SECRET_NO_MEMORY
};

/* With the ring's active key. session is an object that jansson wrote. */
enum client_secret_result client_secret_seal(struct key_ring *ring, const struct client_secret *in,
                                             struct random_source random,
                                             char text[CLIENT_SECRET_CHARS_MAX + 1]);

bool client_secret_is_one(struct bytes_view text);
/* All but the session, for little time: what an expired one or a stranger's costs. */
MUST_USE bool client_secret_peek(struct key_ring *ring, struct bytes_view text,
                                 struct client_secret *out);
/* With the session. True: call clear. */
MUST_USE bool client_secret_open(struct key_ring *ring, struct bytes_view text,
                                 struct client_secret *out);
void client_secret_clear(struct client_secret *secret);

#endif
