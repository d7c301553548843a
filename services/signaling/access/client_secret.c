/* client_secret.c - see client_secret.h */
#include "services/signaling/access/client_secret.h"

#include "common/crypto/aes_gcm.h"
#include "services/signaling/access/base64url.h"

#include <assert.h>
#include <stdlib.h>
#include <zlib.h>

#define PREFIX_CHARS (sizeof(CLIENT_SECRET_PREFIX) - 1)
#define HEAD_CHARS   (PREFIX_CHARS + 1)
#define SEALED_MAX   BASE64URL_BYTES(CLIENT_SECRET_CHARS_MAX - HEAD_CHARS)
#define FRAME_BYTES  (AES_GCM_NONCE_BYTES + AES_GCM_TAG_BYTES)
#define PLAIN_MAX    (SEALED_MAX - FRAME_BYTES)
#define VERSION      1
#define FIXED_BYTES  (1 + CLIENT_SECRET_TENANT_BYTES + 8 + 8 + 4 + ID_BYTES)
#define NO_SESSION   "{}"

#define ID_PREFIX       "sess_"
#define ID_PREFIX_CHARS (sizeof(ID_PREFIX) - 1)
#define ID_BYTES        16

static_assert(ID_PREFIX_CHARS + BASE64URL_CHARS(ID_BYTES) == CLIENT_SECRET_ID_CHARS, "an id fits");

static void write_id(struct bytes_view bytes, char id[CLIENT_SECRET_ID_CHARS + 1])
{
    memcpy(id, ID_PREFIX, ID_PREFIX_CHARS);
    base64url_encode(bytes, id + ID_PREFIX_CHARS);
    id[CLIENT_SECRET_ID_CHARS] = '\0';
}

void client_secret_make_id(struct random_source random, char id[CLIENT_SECRET_ID_CHARS + 1])
{
    uint8_t bytes[ID_BYTES];
    random_fill(random, bytes, sizeof(bytes));
    write_id(bytes_view_of(bytes, sizeof(bytes)), id);
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

static void write_fixed(const struct client_secret *in, uint8_t plain[FIXED_BYTES])
{
    struct byte_writer w;
    uint8_t id[ID_BYTES];
    const bool is_id =
        base64url_decode(bytes_view_of(in->id + ID_PREFIX_CHARS, BASE64URL_CHARS(ID_BYTES)), id);
    assert(is_id);
    (void)is_id;
    byte_writer_init(&w, plain, FIXED_BYTES);
    byte_writer_u8(&w, VERSION);
    byte_writer_bytes(&w, bytes_view_of(in->tenant, sizeof(in->tenant)));
    byte_writer_u64(&w, in->not_before_unix_s);
    byte_writer_u64(&w, in->expires_unix_s);
    byte_writer_u32(&w, in->offers_per_s);
    byte_writer_bytes(&w, bytes_view_of(id, sizeof(id)));
    assert(!w.failed && w.len == FIXED_BYTES);
}

/* nonce | cipher text | tag of what stands behind the room for the nonce. */
static void seal(struct key_ring *ring, uint8_t key_id, struct random_source random,
                 uint8_t sealed[SEALED_MAX], size_t plain_len)
{
    uint8_t *plain = sealed + AES_GCM_NONCE_BYTES;
    random_fill(random, sealed, AES_GCM_NONCE_BYTES);
    aes_gcm_seal(key_ring_client_secret_cipher(ring, key_id), sealed, (struct bytes_view){0},
                 bytes_view_of(plain, plain_len), plain);
}

enum client_secret_result client_secret_seal(struct key_ring *ring, const struct client_secret *in,
                                             struct random_source random,
                                             char text[CLIENT_SECRET_CHARS_MAX + 1])
{
    uint8_t sealed[SEALED_MAX];
    uint8_t *plain = sealed + AES_GCM_NONCE_BYTES;
    uLongf deflated_len = PLAIN_MAX - FIXED_BYTES;
    const char *session = in->session != NULL ? in->session : NO_SESSION;
    write_fixed(in, plain);
    const int status = compress2(plain + FIXED_BYTES, &deflated_len, (const Bytef *)session,
                                 strlen(session), Z_BEST_COMPRESSION);
    if (status != Z_OK) {
        return status == Z_BUF_ERROR ? CLIENT_SECRET_TOO_LARGE : CLIENT_SECRET_NO_MEMORY;
    }
    const uint8_t key_id = key_ring_active_id(ring);
    const size_t sealed_len = FRAME_BYTES + FIXED_BYTES + deflated_len;
    seal(ring, key_id, random, sealed, FIXED_BYTES + deflated_len);
    memcpy(text, CLIENT_SECRET_PREFIX, PREFIX_CHARS);
    text[PREFIX_CHARS] = base64url_digit(key_id);
    base64url_encode(bytes_view_of(sealed, sealed_len), text + HEAD_CHARS);
    text[HEAD_CHARS + BASE64URL_CHARS(sealed_len)] = '\0';
    return CLIENT_SECRET_SEALED;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* What was sealed; empty when this text was not, with a key of the ring. */
static struct bytes_view unseal(struct key_ring *ring, struct bytes_view text,
                                uint8_t plain[PLAIN_MAX])
{
    uint8_t sealed[SEALED_MAX];
    const struct bytes_view nothing = {0};
    if (!client_secret_is_one(text) || text.len <= HEAD_CHARS ||
        text.len > CLIENT_SECRET_CHARS_MAX) {
        return nothing;
    }
    const int key_id = base64url_value(text.data[PREFIX_CHARS]);
    const struct bytes_view body = bytes_view_of(text.data + HEAD_CHARS, text.len - HEAD_CHARS);
    const size_t sealed_len = BASE64URL_BYTES(body.len);
    struct aes_gcm *cipher =
        key_id < 0 ? NULL : key_ring_client_secret_cipher(ring, (uint8_t)key_id);
    if (cipher == NULL || sealed_len <= FRAME_BYTES || !base64url_decode(body, sealed) ||
        !aes_gcm_open(cipher, sealed, nothing,
                      bytes_view_of(sealed + AES_GCM_NONCE_BYTES, sealed_len - AES_GCM_NONCE_BYTES),
                      plain)) {
        return nothing;
    }
    return bytes_view_of(plain, sealed_len - FRAME_BYTES);
}

/* *out_deflated: the rest of plain. */
static bool read_fixed(struct bytes_view plain, struct client_secret *out,
                       struct bytes_view *out_deflated)
{
    struct byte_reader r;
    byte_reader_init(&r, plain);
    const uint8_t version = byte_reader_u8(&r);
    const struct bytes_view tenant = byte_reader_bytes(&r, sizeof(out->tenant));
    out->not_before_unix_s = byte_reader_u64(&r);
    out->expires_unix_s = byte_reader_u64(&r);
    out->offers_per_s = byte_reader_u32(&r);
    const struct bytes_view id = byte_reader_bytes(&r, ID_BYTES);
    *out_deflated = byte_reader_bytes(&r, byte_reader_left(&r));
    if (r.failed || version != VERSION) {
        *out = (struct client_secret){0};
        return false;
    }
    memcpy(out->tenant, tenant.data, sizeof(out->tenant));
    write_id(id, out->id);
    return true;
}

/* A text, whose owner is the caller; NULL when it is none or too long. */
static char *inflate_session(struct bytes_view deflated)
{
    char *session = malloc(CLIENT_SECRET_SESSION_BYTES + 1);
    uLongf len = CLIENT_SECRET_SESSION_BYTES;
    if (session == NULL) {
        return NULL;
    }
    if (uncompress((Bytef *)session, &len, deflated.data, deflated.len) != Z_OK) {
        explicit_bzero(session, CLIENT_SECRET_SESSION_BYTES);
        free(session);
        return NULL;
    }
    session[len] = '\0';
    return session;
}

bool client_secret_peek(struct key_ring *ring, struct bytes_view text, struct client_secret *out)
{
    uint8_t plain[PLAIN_MAX];
    struct bytes_view deflated;
    *out = (struct client_secret){0};
    return read_fixed(unseal(ring, text, plain), out, &deflated);
}

bool client_secret_open(struct key_ring *ring, struct bytes_view text, struct client_secret *out)
{
    uint8_t plain[PLAIN_MAX];
    struct bytes_view deflated;
    *out = (struct client_secret){0};
    if (!read_fixed(unseal(ring, text, plain), out, &deflated)) {
        return false;
    }
    out->session = inflate_session(deflated);
    explicit_bzero(plain, sizeof(plain));
    if (out->session == NULL) {
        client_secret_clear(out);
    }
    return out->session != NULL;
}
