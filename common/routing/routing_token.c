/* routing_token.c - see routing_token.h */
#include "common/routing/routing_token.h"

#include "common/crypto/aes_block.h"

#include <assert.h>

#define CHECK_BYTES 5 /* zero behind the fields: the 40 bits that a forger must guess */
#define SPARE_BITS  4 /* 22 characters hold 132 bits, the block has 128 */

static const char ice_char[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The inverse of ice_char, plus 1: 0 is any other character. A table, because the letters of a
 * token are random and a wrongly guessed branch or two cost as much as the cipher. */
/* clang-format off */
static const uint8_t sextet_plus_1[UINT8_MAX + 1] = {
    ['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
            14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    ['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
            40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
    ['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62,
    ['+'] = 63,
    ['/'] = 64,
};
/* clang-format on */

/* Negative for a character that is no ice-char. */
static int sextet_of(uint8_t character)
{
    return sextet_plus_1[character] - 1;
}

static void encode_block(const uint8_t block[AES_BLOCK_BYTES], char text[ROUTING_TOKEN_CHARS - 1])
{
    uint32_t bits = 0;
    unsigned bit_count = 0;
    size_t chars = 0;
    for (size_t i = 0; i < AES_BLOCK_BYTES; i++) {
        bits = bits << 8 | block[i];
        bit_count += 8;
        while (bit_count >= 6) {
            bit_count -= 6;
            text[chars++] = ice_char[bits >> bit_count & 63];
        }
    }
    text[chars] = ice_char[bits << SPARE_BITS & 63];
}

/* False for a character that is no ice-char, or when the spare bits are set: without that check a
 * token would have 16 spellings. */
static bool decode_block(const uint8_t *text, uint8_t block[AES_BLOCK_BYTES])
{
    uint32_t bits = 0;
    unsigned bit_count = 0;
    size_t len = 0;
    for (size_t i = 0; i < ROUTING_TOKEN_CHARS - 1; i++) {
        const int sextet = sextet_of(text[i]);
        if (sextet < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)sextet;
        bit_count += 6;
        if (bit_count >= 8 && len < AES_BLOCK_BYTES) {
            bit_count -= 8;
            block[len++] = (uint8_t)(bits >> bit_count);
        }
    }
    return (bits & ((1u << SPARE_BITS) - 1)) == 0;
}

void routing_token_seal(struct key_ring *ring, const struct routing_token *token,
                        char text[ROUTING_TOKEN_CHARS])
{
    const uint8_t key_id = key_ring_active_id(ring);
    uint8_t block[AES_BLOCK_BYTES];
    struct byte_writer w;
    byte_writer_init(&w, block, sizeof(block));
    byte_writer_u16(&w, token->cluster_id);
    byte_writer_u32(&w, token->instance_id);
    byte_writer_u32(&w, token->session_id);
    byte_writer_u8(&w, token->restart);
    byte_writer_zeros(&w, CHECK_BYTES);
    assert(!w.failed);
    assert(w.len == sizeof(block));
    aes_block_encrypt(key_ring_token_cipher(ring, key_id), block, block);
    text[0] = ice_char[key_id];
    encode_block(block, text + 1);
}

/* The block, still encrypted, and whose it is. */
static enum routing_token_result read_text(struct key_ring *ring, struct bytes_view text,
                                           uint8_t block[AES_BLOCK_BYTES], uint8_t *out_key_id)
{
    if (text.len != ROUTING_TOKEN_CHARS) {
        return ROUTING_TOKEN_FORM;
    }
    const int key_id = sextet_of(text.data[0]);
    if (key_id < 0 || !decode_block(text.data + 1, block)) {
        return ROUTING_TOKEN_FORM;
    }
    *out_key_id = (uint8_t)key_id;
    return key_ring_token_cipher(ring, *out_key_id) != NULL ? ROUTING_TOKEN_OK
                                                            : ROUTING_TOKEN_UNKNOWN_KEY;
}

enum routing_token_result routing_token_peek(struct key_ring *ring, struct bytes_view text)
{
    uint8_t block[AES_BLOCK_BYTES];
    uint8_t key_id = 0;
    return read_text(ring, text, block, &key_id);
}

enum routing_token_result routing_token_open(struct key_ring *ring, struct bytes_view text,
                                             struct routing_token *out, uint8_t *out_key_id)
{
    uint8_t block[AES_BLOCK_BYTES];
    uint8_t key_id = 0;
    const enum routing_token_result result = read_text(ring, text, block, &key_id);
    if (result != ROUTING_TOKEN_OK) {
        return result;
    }
    aes_block_decrypt(key_ring_token_cipher(ring, key_id), block, block);
    static const uint8_t zeros[CHECK_BYTES];
    if (memcmp(block + AES_BLOCK_BYTES - CHECK_BYTES, zeros, CHECK_BYTES) != 0) {
        return ROUTING_TOKEN_FORGED;
    }
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(block, sizeof(block)));
    out->cluster_id = byte_reader_u16(&r);
    out->instance_id = byte_reader_u32(&r);
    out->session_id = byte_reader_u32(&r);
    out->restart = byte_reader_u8(&r);
    *out_key_id = key_id;
    return ROUTING_TOKEN_OK;
}
