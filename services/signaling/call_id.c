/* call_id.c - see call_id.h */
#include "services/signaling/call_id.h"

#include "common/crypto/aes_block.h"
#include "services/signaling/access/base64url.h"

#include <assert.h>

static const char prefix[] = "rtc_";

#define PREFIX_CHARS (sizeof(prefix) - 1)
#define BLOCK_CHARS  BASE64URL_CHARS(CALL_ID_BLOCK_BYTES)

static_assert(PREFIX_CHARS + 1 + BLOCK_CHARS == CALL_ID_CHARS, "prefix, key id, block");

void call_id_seal(struct key_ring *ring, const struct call_id *id, struct random_source random,
                  struct call_id_sealed *out)
{
    uint8_t plain[CALL_ID_BLOCK_BYTES];
    random_fill(random, plain, sizeof(plain));
    struct byte_writer w;
    byte_writer_init(&w, plain, sizeof(plain));
    byte_writer_u16(&w, id->cluster_id);
    byte_writer_u32(&w, id->instance_id);

    const uint8_t key_id = key_ring_active_id(ring);
    aes_block_encrypt(key_ring_call_id_cipher(ring, key_id), plain, out->block);
    memcpy(out->text, prefix, PREFIX_CHARS);
    out->text[PREFIX_CHARS] = base64url_digit(key_id);
    base64url_encode(bytes_view_of(out->block, CALL_ID_BLOCK_BYTES), out->text + PREFIX_CHARS + 1);
    out->text[CALL_ID_CHARS] = '\0';
}

bool call_id_open(struct key_ring *ring, struct bytes_view text, struct call_id *out)
{
    uint8_t block[CALL_ID_BLOCK_BYTES];
    if (text.len != CALL_ID_CHARS || memcmp(text.data, prefix, PREFIX_CHARS) != 0 ||
        !base64url_decode(bytes_view_of(text.data + PREFIX_CHARS + 1, BLOCK_CHARS), block)) {
        return false;
    }
    const int key_id = base64url_value(text.data[PREFIX_CHARS]);
    struct aes_block *cipher = key_id < 0 ? NULL : key_ring_call_id_cipher(ring, (uint8_t)key_id);
    if (cipher == NULL) {
        return false;
    }
    aes_block_decrypt(cipher, block, block);
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(block, sizeof(block)));
    out->cluster_id = byte_reader_u16(&r);
    out->instance_id = byte_reader_u32(&r);
    return true;
}
