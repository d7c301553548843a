/* stun_integrity.c - see stun_integrity.h */
#include "common/stun/stun_integrity.h"

#include "common/crypto/hmac_sha1.h"

#include <zlib.h>

#define ATTRIBUTE_HEADER_BYTES 4
#define INTEGRITY_BYTES        (ATTRIBUTE_HEADER_BYTES + HMAC_SHA1_BYTES)

/* RFC 8489 s.14.7: lets a CRC-32 of the application be told from ours. */
#define FINGERPRINT_XOR UINT32_C(0x5354554e)

/* The HMAC of the bytes before MESSAGE-INTEGRITY. The length field it covers ends with that
 * attribute, whatever follows in the datagram (RFC 8489 s.14.5). */
static void integrity_of(const uint8_t *message, size_t integrity_offset,
                         const struct hmac_sha1_key *password, uint8_t out[HMAC_SHA1_BYTES])
{
    uint8_t length_field[2];
    struct byte_writer w;
    byte_writer_init(&w, length_field, sizeof(length_field));
    byte_writer_u16(&w, (uint16_t)(integrity_offset + INTEGRITY_BYTES - STUN_HEADER_BYTES));
    const struct bytes_view parts[] = {
        bytes_view_of(message, 2),
        bytes_view_of(length_field, sizeof(length_field)),
        bytes_view_of(message + 4, integrity_offset - 4),
    };
    hmac_sha1(password, parts, COUNT_OF(parts), out);
}

static uint32_t fingerprint_of(const uint8_t *message, size_t len)
{
    return (uint32_t)crc32(0, message, (unsigned)len) ^ FINGERPRINT_XOR;
}

bool stun_integrity_verify(const struct stun_message *message, const struct hmac_sha1_key *password)
{
    if (message->integrity_offset == 0) {
        return false;
    }
    uint8_t expected[HMAC_SHA1_BYTES];
    integrity_of(message->datagram.data, message->integrity_offset, password, expected);
    const uint8_t *received =
        message->datagram.data + message->integrity_offset + ATTRIBUTE_HEADER_BYTES;
    return bytes_equal_constant_time(bytes_view_of(received, HMAC_SHA1_BYTES),
                                     bytes_view_of(expected, HMAC_SHA1_BYTES));
}

bool stun_fingerprint_verify(const struct stun_message *message)
{
    if (message->fingerprint_offset == 0) {
        return true;
    }
    struct byte_reader r;
    byte_reader_init(&r, message->datagram);
    byte_reader_skip(&r, message->fingerprint_offset + ATTRIBUTE_HEADER_BYTES);
    /* It is the last attribute, so the length field needs no correction. */
    return byte_reader_u32(&r) ==
           fingerprint_of(message->datagram.data, message->fingerprint_offset);
}

void stun_integrity_append(struct byte_writer *w, const struct hmac_sha1_key *password)
{
    static const uint8_t room[HMAC_SHA1_BYTES];
    const size_t offset = w->len;
    stun_message_add(w, STUN_MESSAGE_INTEGRITY, bytes_view_of(room, sizeof(room)));
    if (!w->failed) {
        integrity_of(w->data, offset, password, w->data + offset + ATTRIBUTE_HEADER_BYTES);
    }
}

void stun_fingerprint_append(struct byte_writer *w)
{
    const size_t offset = w->len;
    stun_message_add_u32(w, STUN_FINGERPRINT, 0);
    if (w->failed) {
        return;
    }
    struct byte_writer value;
    byte_writer_init(&value, w->data + offset + ATTRIBUTE_HEADER_BYTES, 4);
    byte_writer_u32(&value, fingerprint_of(w->data, offset));
}
