/*
 * base64.h - audio in an event: RFC 4648 section 4, with padding
 */
#ifndef EARSHOT_BASE64_H
#define EARSHOT_BASE64_H

#include "common/base/bytes.h"

/* Room that is enough for a text of this length. */
static inline size_t base64_decoded_cap(size_t text_len)
{
    return text_len / 4 * 3;
}

/* False when the text is no base64: a wrong length, character or padding. */
MUST_USE bool base64_decode(struct bytes_view text, uint8_t *out, size_t *out_len);

#endif
