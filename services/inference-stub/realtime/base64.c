/* base64.c - see base64.h */
#include "services/inference-stub/realtime/base64.h"

/* 64 for what is no digit. */
static uint32_t digit(uint8_t c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - (uint32_t)'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - (uint32_t)'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - (uint32_t)'0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

static size_t padding_of(struct bytes_view text)
{
    size_t padding = 0;
    while (padding < 2 && padding < text.len && text.data[text.len - 1 - padding] == '=') {
        padding++;
    }
    return padding;
}

bool base64_decode(struct bytes_view text, uint8_t *out, size_t *out_len)
{
    if (text.len % 4 != 0) {
        return false;
    }
    const size_t digits = text.len - padding_of(text);
    *out_len = digits * 6 / 8;
    uint32_t bits = 0;
    size_t written = 0;
    for (size_t i = 0; i < text.len; i++) {
        const uint32_t value = i < digits ? digit(text.data[i]) : 0;
        if (value == 64) {
            return false;
        }
        bits = bits << 6 | value;
        if (i % 4 == 3) {
            for (int shift = 16; shift >= 0 && written < *out_len; shift -= 8) {
                out[written++] = (uint8_t)(bits >> shift);
            }
        }
    }
    return true;
}
