/* auth.c - see auth.h */
#include "services/signaling/access/auth.h"

#include <assert.h>
#include <stdlib.h>
#include <strings.h>

#define SCHEME "Bearer"
/* Replicas whose clocks differ by no more take each other's newest secrets. */
#define CLOCK_SKEW_S 5

struct auth {
    enum auth_mode mode;
    struct api_keys *keys;
    struct key_ring *ring;
    struct client_secret secret; /* the last one whose session was taken: it is borrowed */
};

/* --- life ------------------------------------------------------------------------------------- */

struct auth *auth_create(enum auth_mode mode, struct api_keys *keys)
{
    assert(mode == AUTH_OFF || keys != NULL);
    struct auth *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        api_keys_destroy(keys);
        return NULL;
    }
    a->mode = mode;
    a->keys = keys;
    return a;
}

void auth_destroy(struct auth *a)
{
    if (a == NULL) {
        return;
    }
    api_keys_destroy(a->keys);
    key_ring_destroy(a->ring);
    client_secret_clear(&a->secret);
    free(a);
}

void auth_set_keys(struct auth *a, struct api_keys *keys)
{
    api_keys_destroy(a->keys);
    a->keys = keys;
}

bool auth_set_ring(struct auth *a, const struct key_ring *ring)
{
    struct key_ring *copy = key_ring_copy(ring);
    if (copy == NULL) {
        return false;
    }
    key_ring_destroy(a->ring);
    a->ring = copy;
    return true;
}

/* --- checks ----------------------------------------------------------------------------------- */

static enum auth_verdict check_api_key(const struct auth *a, struct bytes_view key,
                                       struct auth_identity *out)
{
    const struct api_key *found = key.len <= API_KEY_CHARS_MAX ? api_keys_find(a->keys, key) : NULL;
    if (found == NULL) {
        return AUTH_UNKNOWN_KEY;
    }
    if (found->role != API_KEY_APP) {
        return AUTH_WRONG_ROLE;
    }
    memcpy(out->tenant, found->tenant, sizeof(out->tenant));
    out->role = found->role;
    out->offers_per_s = found->offers_per_s;
    return AUTH_PASS;
}

static enum auth_verdict check_secret(const struct auth *a, struct bytes_view key, uint64_t unix_s,
                                      struct auth_identity *out)
{
    struct client_secret secret;
    if (a->ring == NULL || !client_secret_peek(a->ring, key, &secret)) {
        return AUTH_BAD_SECRET;
    }
    if (unix_s + CLOCK_SKEW_S < secret.not_before_unix_s || unix_s >= secret.expires_unix_s) {
        return AUTH_EXPIRED;
    }
    memcpy(out->tenant, secret.tenant, sizeof(out->tenant));
    memcpy(out->secret_id, secret.id, sizeof(out->secret_id));
    out->role = API_KEY_APP;
    out->offers_per_s = secret.offers_per_s;
    return AUTH_PASS;
}

enum auth_verdict auth_check(const struct auth *a, struct bytes_view key, uint64_t unix_s,
                             struct auth_identity *out)
{
    enum auth_verdict verdict = AUTH_MISSING;
    *out = (struct auth_identity){.role = API_KEY_APP};
    if (client_secret_is_one(key)) {
        verdict = check_secret(a, key, unix_s, out);
    } else if (key.len > 0 && a->mode == AUTH_KEYS) {
        verdict = check_api_key(a, key, out);
    }
    if (a->mode == AUTH_OFF) {
        memset(out->tenant, 0, sizeof(out->tenant));
        return AUTH_PASS;
    }
    return verdict;
}

/* RFC 6750 s.2.1, RFC 9110 s.11.1: the scheme in any case, blanks, then the key. */
struct bytes_view auth_bearer(struct bytes_view authorization)
{
    const size_t scheme_len = sizeof(SCHEME) - 1;
    if (authorization.len <= scheme_len ||
        strncasecmp((const char *)authorization.data, SCHEME, scheme_len) != 0 ||
        authorization.data[scheme_len] != ' ') {
        return (struct bytes_view){0};
    }
    size_t begin = scheme_len;
    while (begin < authorization.len && authorization.data[begin] == ' ') {
        begin++;
    }
    return bytes_view_of(authorization.data + begin, authorization.len - begin);
}

bool auth_take_session(struct auth *a, struct bytes_view key, struct auth_identity *who)
{
    client_secret_clear(&a->secret);
    if (who->secret_id[0] == '\0') {
        return true;
    }
    if (!client_secret_open(a->ring, key, &a->secret)) {
        return false;
    }
    who->session = bytes_view_of_text(a->secret.session);
    return true;
}

enum client_secret_result auth_make_secret(struct auth *a, const struct auth_wish *wish,
                                           struct random_source random, char *text,
                                           struct client_secret *out)
{
    assert(a->ring != NULL);
    *out = (struct client_secret){.not_before_unix_s = wish->unix_s,
                                  .expires_unix_s = wish->unix_s + wish->life_s,
                                  .offers_per_s = wish->who->offers_per_s,
                                  .session = wish->session};
    memcpy(out->tenant, wish->who->tenant, sizeof(out->tenant));
    client_secret_make_id(random, out->id);
    return client_secret_seal(a->ring, out, random, text);
}

const char *auth_verdict_name(enum auth_verdict verdict)
{
    static const char *const name[AUTH_VERDICT_COUNT] = {
        [AUTH_PASS] = "pass",
        [AUTH_MISSING] = "missing",
        [AUTH_UNKNOWN_KEY] = "unknown_key",
        [AUTH_BAD_SECRET] = "bad_secret",
        [AUTH_EXPIRED] = "expired",
        [AUTH_WRONG_ROLE] = "wrong_role",
        [AUTH_API_KEY_WANTED] = "api_key_wanted",
    };
    return name[verdict];
}
