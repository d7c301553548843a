/* base64url.c - see base64url.h */
#include "services/signaling/access/base64url.h"

#include <assert.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char base64url_digit(uint8_t value)
{
    assert(value < 64);
    return alphabet[value];
}

int base64url_value(uint8_t character)
{
    const char *found = character == '\0' ? NULL : strchr(alphabet, character);
    return found == NULL ? -1 : (int)(found - alphabet);
}

void base64url_encode(struct bytes_view bytes, char *text)
{
    unsigned bits = 0;
    unsigned bit_count = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        bits = bits << 8 | bytes.data[i];
        bit_count += 8;
        while (bit_count >= 6) {
            bit_count -= 6;
            *text++ = alphabet[bits >> bit_count & 63];
        }
    }
    if (bit_count > 0) {
        *text = alphabet[bits << (6 - bit_count) & 63];
    }
}

bool base64url_decode(struct bytes_view text, uint8_t *out)
{
    unsigned bits = 0;
    unsigned bit_count = 0;
    for (size_t i = 0; i < text.len; i++) {
        const int value = base64url_value(text.data[i]);
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (unsigned)value;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            *out++ = (uint8_t)(bits >> bit_count);
        }
    }
    /* A whole character too many, or spare bits that say something, would be a second spelling. */
    return bit_count < 6 && (bits & ((1u << bit_count) - 1)) == 0;
}
