/*
 * api_keys.h - who holds an API key: one file, with the hashes of the keys alone
 *
 *      # tenant  role  SHA-256 of the key in hex    options
 *      acme      app   9f86d081884c7d65...b0f00a08  offers_per_s=50
 *
 * Takes:   lines of words between blanks; empty lines and those that begin with # say nothing. A
 *          tenant may have several keys: that is how one is replaced.
 * Bounds:  API_KEYS_MAX keys, API_KEYS_FILE_BYTES_MAX.
 * Fails:   a load gives NULL and a fault with file and line, and leaves an old table untouched. A
 *          file that others may read or write is refused (the group may: Kubernetes shows 0440).
 * Not here: watching the file (main.c), client secrets (client_secret.h).
 */
#ifndef EARSHOT_API_KEYS_H
#define EARSHOT_API_KEYS_H

#include "common/base/status.h"

#define API_KEYS_MAX             1024
#define API_KEYS_FILE_BYTES_MAX  262144
#define API_KEY_CHARS_MAX        255
#define API_KEY_HASH_BYTES       32
#define API_KEY_TENANT_BYTES     16
#define API_KEY_TENANT_CHARS_MAX 64
#define API_KEY_OFFERS_PER_S_MAX 100000

enum api_key_role {
    API_KEY_APP,      /* makes calls and client secrets */
    API_KEY_PEER,     /* the signaling of another cluster */
    API_KEY_OPERATOR, /* sees every tenant */
    API_KEY_ROLE_COUNT
};

struct api_key {
    uint8_t hash[API_KEY_HASH_BYTES];
    uint8_t tenant[API_KEY_TENANT_BYTES];
    enum api_key_role role;
    uint32_t offers_per_s; /* of the tenant; 0 = as configured for all */
};

struct api_keys;

struct api_keys *api_keys_load(const char *path, struct fault *fault);
/* The same from memory. */
struct api_keys *api_keys_parse(struct bytes_view text, const char *name, struct fault *fault);
void api_keys_destroy(struct api_keys *keys);
size_t api_keys_count(const struct api_keys *keys);

/* Borrowed; NULL for a key that is not there. Takes as long for every key of one length. */
const struct api_key *api_keys_find(const struct api_keys *keys, struct bytes_view key);

/* What transceivers know a tenant by: the first 16 bytes of SHA-256 of its name. */
void api_keys_tenant(struct bytes_view name, uint8_t tenant[API_KEY_TENANT_BYTES]);

#endif
