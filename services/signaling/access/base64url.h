/*
 * base64url.h - bytes as text that fits a URL, without padding (RFC 4648 s.5)
 *
 * Gives:   one spelling for each value: what has spare bits that are not zero does not decode.
 */
#ifndef EARSHOT_BASE64URL_H
#define EARSHOT_BASE64URL_H

#include "common/base/bytes.h"

#define BASE64URL_CHARS(bytes) (((bytes)*8 + 5) / 6)
#define BASE64URL_BYTES(chars) ((chars)*6 / 8)

char base64url_digit(uint8_t value);
/* -1 for a character that is none. */
int base64url_value(uint8_t character);

/* Writes BASE64URL_CHARS(bytes.len) characters, and no NUL. */
void base64url_encode(struct bytes_view bytes, char *text);
/* Writes BASE64URL_BYTES(text.len) bytes; false for what encode does not write. */
MUST_USE bool base64url_decode(struct bytes_view text, uint8_t *out);

#endif
