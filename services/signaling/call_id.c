/* call_id.c - see call_id.h */
#include "services/signaling/call_id.h"

#include "common/crypto/aes_block.h"

#include <assert.h>

static const char prefix[] = "rtc_";
static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#define PREFIX_CHARS (sizeof(prefix) - 1)
#define BLOCK_CHARS  22

static_assert(PREFIX_CHARS + 1 + BLOCK_CHARS == CALL_ID_CHARS, "prefix, key id, block");
static_assert(BLOCK_CHARS * 6 >= CALL_ID_BLOCK_BYTES * 8, "six bits a character");

/* The value of a base64url character, or -1. */
static int alphabet_value(uint8_t character)
{
    const char *found = character == '\0' ? NULL : strchr(alphabet, character);
    return found == NULL ? -1 : (int)(found - alphabet);
}

/* base64url without padding (RFC 4648 s.5): the last character has two bits, then four zeros. */
static void write_block(const uint8_t block[CALL_ID_BLOCK_BYTES], char text[BLOCK_CHARS])
{
    unsigned bits = 0;
    unsigned bit_count = 0;
    size_t next = 0;
    for (size_t i = 0; i < BLOCK_CHARS; i++) {
        if (bit_count < 6) {
            bits = bits << 8 | (next < CALL_ID_BLOCK_BYTES ? block[next] : 0u);
            next++;
            bit_count += 8;
        }
        bit_count -= 6;
        text[i] = alphabet[bits >> bit_count & 63];
    }
}

static bool read_block(const uint8_t text[BLOCK_CHARS], uint8_t block[CALL_ID_BLOCK_BYTES])
{
    unsigned bits = 0;
    unsigned bit_count = 0;
    size_t next = 0;
    for (size_t i = 0; i < BLOCK_CHARS; i++) {
        const int value = alphabet_value(text[i]);
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (unsigned)value;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            block[next++] = (uint8_t)(bits >> bit_count);
        }
    }
    /* One id has one spelling: the four spare bits are zero. */
    return (bits & 15) == 0;
}

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
    out->text[PREFIX_CHARS] = alphabet[key_id];
    write_block(out->block, out->text + PREFIX_CHARS + 1);
    out->text[CALL_ID_CHARS] = '\0';
}

bool call_id_open(struct key_ring *ring, struct bytes_view text, struct call_id *out)
{
    uint8_t block[CALL_ID_BLOCK_BYTES];
    if (text.len != CALL_ID_CHARS || memcmp(text.data, prefix, PREFIX_CHARS) != 0 ||
        !read_block(text.data + PREFIX_CHARS + 1, block)) {
        return false;
    }
    const int key_id = alphabet_value(text.data[PREFIX_CHARS]);
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
