/* client_secret.c - see client_secret.h */
#include "services/signaling/access/client_secret.h"

#include "common/base/json_bounds.h"
#include "common/crypto/aes_gcm.h"
#include "services/signaling/access/base64url.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <zlib.h>

#define PREFIX_CHARS (sizeof(CLIENT_SECRET_PREFIX) - 1)
#define HEAD_CHARS   (PREFIX_CHARS + 1)
#define SEALED_MAX   BASE64URL_BYTES(CLIENT_SECRET_CHARS_MAX - HEAD_CHARS)
#define FRAME_BYTES  (AES_GCM_NONCE_BYTES + AES_GCM_TAG_BYTES)
#define DEFLATED_MAX (SEALED_MAX - FRAME_BYTES)
/* The session and what stands around it. */
#define JSON_BYTES_MAX   (CLIENT_SECRET_SESSION_BYTES + 1024)
#define JSON_DEPTH_MAX   33 /* a session of 32, in an object */
#define JSON_MEMBERS_MAX 4200

#define ID_PREFIX       "sess_"
#define ID_PREFIX_CHARS (sizeof(ID_PREFIX) - 1)
#define ID_BYTES        16

static_assert(ID_PREFIX_CHARS + BASE64URL_CHARS(ID_BYTES) == CLIENT_SECRET_ID_CHARS, "an id fits");

void client_secret_make_id(struct random_source random, char id[CLIENT_SECRET_ID_CHARS + 1])
{
    uint8_t bytes[ID_BYTES];
    random_fill(random, bytes, sizeof(bytes));
    memcpy(id, ID_PREFIX, ID_PREFIX_CHARS);
    base64url_encode(bytes_view_of(bytes, sizeof(bytes)), id + ID_PREFIX_CHARS);
    id[CLIENT_SECRET_ID_CHARS] = '\0';
}

bool client_secret_is_one(struct bytes_view text)
{
    return text.len > PREFIX_CHARS && memcmp(text.data, CLIENT_SECRET_PREFIX, PREFIX_CHARS) == 0;
}

void client_secret_clear(struct client_secret *secret)
{
    if (secret->session != NULL) {
        explicit_bzero(secret->session, strlen(secret->session));
        free(secret->session);
    }
    *secret = (struct client_secret){0};
}

/* --- sealing ---------------------------------------------------------------------------------- */

/* NULL without memory. */
static char *content_of(const struct client_secret *in)
{
    char tenant[2 * CLIENT_SECRET_TENANT_BYTES + 1];
    const bool fits =
        bytes_to_hex(bytes_view_of(in->tenant, sizeof(in->tenant)), tenant, sizeof(tenant));
    assert(fits);
    (void)fits;
    json_t *session = in->session != NULL ? json_loads(in->session, 0, NULL) : json_object();
    json_t *root =
        json_pack("{s:s, s:I, s:I, s:s, s:{s:i}, s:o}", "tenant", tenant, "nbf",
                  (json_int_t)in->not_before_unix_s, "exp", (json_int_t)in->expires_unix_s, "id",
                  in->id, "policy", "offers_per_s", (int)in->offers_per_s, "session", session);
    char *text = root != NULL ? json_dumps(root, JSON_COMPACT) : NULL;
    json_decref(root);
    return text;
}

/* nonce | cipher text | tag of what is deflated behind the room for the nonce. */
static void seal(struct key_ring *ring, uint8_t key_id, struct random_source random,
                 uint8_t sealed[SEALED_MAX], size_t deflated_len)
{
    uint8_t *text = sealed + AES_GCM_NONCE_BYTES;
    random_fill(random, sealed, AES_GCM_NONCE_BYTES);
    aes_gcm_seal(key_ring_client_secret_cipher(ring, key_id), sealed, (struct bytes_view){0},
                 bytes_view_of(text, deflated_len), text);
}

enum client_secret_result client_secret_seal(struct key_ring *ring, const struct client_secret *in,
                                             struct random_source random,
                                             char text[CLIENT_SECRET_CHARS_MAX + 1])
{
    uint8_t sealed[SEALED_MAX];
    uLongf deflated_len = DEFLATED_MAX;
    char *content = content_of(in);
    if (content == NULL) {
        return CLIENT_SECRET_NO_MEMORY;
    }
    const int status = compress2(sealed + AES_GCM_NONCE_BYTES, &deflated_len,
                                 (const Bytef *)content, strlen(content), Z_BEST_COMPRESSION);
    explicit_bzero(content, strlen(content));
    free(content);
    if (status != Z_OK) {
        return status == Z_BUF_ERROR ? CLIENT_SECRET_TOO_LARGE : CLIENT_SECRET_NO_MEMORY;
    }
    const uint8_t key_id = key_ring_active_id(ring);
    const size_t sealed_len = FRAME_BYTES + deflated_len;
    seal(ring, key_id, random, sealed, deflated_len);
    memcpy(text, CLIENT_SECRET_PREFIX, PREFIX_CHARS);
    text[PREFIX_CHARS] = base64url_digit(key_id);
    base64url_encode(bytes_view_of(sealed, sealed_len), text + HEAD_CHARS);
    text[HEAD_CHARS + BASE64URL_CHARS(sealed_len)] = '\0';
    return CLIENT_SECRET_SEALED;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The deflated content; false when this text was not sealed with a key of the ring. */
static bool unseal(struct key_ring *ring, struct bytes_view text, uint8_t deflated[DEFLATED_MAX],
                   size_t *out_len)
{
    uint8_t sealed[SEALED_MAX];
    if (!client_secret_is_one(text) || text.len <= HEAD_CHARS ||
        text.len > CLIENT_SECRET_CHARS_MAX) {
        return false;
    }
    const int key_id = base64url_value(text.data[PREFIX_CHARS]);
    const struct bytes_view body = bytes_view_of(text.data + HEAD_CHARS, text.len - HEAD_CHARS);
    const size_t sealed_len = BASE64URL_BYTES(body.len);
    struct aes_gcm *cipher =
        key_id < 0 ? NULL : key_ring_client_secret_cipher(ring, (uint8_t)key_id);
    if (cipher == NULL || sealed_len <= FRAME_BYTES || !base64url_decode(body, sealed)) {
        return false;
    }
    *out_len = sealed_len - FRAME_BYTES;
    return aes_gcm_open(
        cipher, sealed, (struct bytes_view){0},
        bytes_view_of(sealed + AES_GCM_NONCE_BYTES, sealed_len - AES_GCM_NONCE_BYTES), deflated);
}

static bool take_time(const json_t *root, const char *name, uint64_t *out)
{
    const json_t *value = json_object_get(root, name);
    *out = json_is_integer(value) && json_integer_value(value) >= 0
               ? (uint64_t)json_integer_value(value)
               : 0;
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

/* Absent or absurd: as configured for all. */
static uint32_t offers_per_s_of(const json_t *root)
{
    const json_int_t value =
        json_integer_value(json_object_get(json_object_get(root, "policy"), "offers_per_s"));
    return value > 0 && value <= INT32_MAX ? (uint32_t)value : 0;
}

static bool take_content(const json_t *root, struct client_secret *out)
{
    const char *tenant = json_string_value(json_object_get(root, "tenant"));
    const char *id = json_string_value(json_object_get(root, "id"));
    const json_t *session = json_object_get(root, "session");
    if (tenant == NULL ||
        !bytes_from_hex(bytes_view_of_text(tenant), out->tenant, sizeof(out->tenant)) ||
        id == NULL || strlen(id) != CLIENT_SECRET_ID_CHARS ||
        !take_time(root, "nbf", &out->not_before_unix_s) ||
        !take_time(root, "exp", &out->expires_unix_s) || !json_is_object(session)) {
        return false;
    }
    memcpy(out->id, id, CLIENT_SECRET_ID_CHARS + 1);
    out->offers_per_s = offers_per_s_of(root);
    out->session = json_dumps(session, JSON_COMPACT);
    return out->session != NULL;
}

static bool read_content(struct bytes_view content, struct client_secret *out)
{
    if (!json_bounds_hold(content, JSON_DEPTH_MAX, JSON_MEMBERS_MAX)) {
        return false;
    }
    json_t *root = json_loadb((const char *)content.data, content.len, 0, NULL);
    const bool is_good = json_is_object(root) && take_content(root, out);
    json_decref(root);
    return is_good;
}

bool client_secret_open(struct key_ring *ring, struct bytes_view text, struct client_secret *out)
{
    uint8_t deflated[DEFLATED_MAX];
    size_t deflated_len = 0;
    *out = (struct client_secret){0};
    if (!unseal(ring, text, deflated, &deflated_len)) {
        return false;
    }
    uint8_t *content = malloc(JSON_BYTES_MAX);
    uLongf content_len = JSON_BYTES_MAX;
    if (content == NULL) {
        return false;
    }
    const bool is_good = uncompress(content, &content_len, deflated, deflated_len) == Z_OK &&
                         read_content(bytes_view_of(content, content_len), out);
    explicit_bzero(content, JSON_BYTES_MAX);
    free(content);
    if (!is_good) {
        client_secret_clear(out);
    }
    return is_good;
}
