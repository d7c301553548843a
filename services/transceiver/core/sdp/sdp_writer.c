/* sdp_writer.c - see sdp_writer.h */
#include "services/transceiver/core/sdp/sdp_writer.h"

void sdp_writer_text(struct byte_writer *w, const char *text)
{
    byte_writer_bytes(w, bytes_view_of_text(text));
}

void sdp_writer_number(struct byte_writer *w, uint64_t value)
{
    char digit[20]; /* UINT64_MAX has 20 */
    size_t first = sizeof(digit);
    do {
        digit[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    byte_writer_bytes(w, bytes_view_of(digit + first, sizeof(digit) - first));
}

void sdp_writer_digest(struct byte_writer *w, struct bytes_view digest)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < digest.len; i++) {
        if (i > 0) {
            byte_writer_u8(w, ':');
        }
        byte_writer_u8(w, (uint8_t)hex[digest.data[i] >> 4]);
        byte_writer_u8(w, (uint8_t)hex[digest.data[i] & 15]);
    }
}

void sdp_writer_line(struct byte_writer *w, const char *name, const char *value)
{
    sdp_writer_text(w, name);
    sdp_writer_text(w, value);
    sdp_writer_text(w, "\r\n");
}

void sdp_writer_number_line(struct byte_writer *w, const char *name, uint64_t number,
                            const char *rest)
{
    sdp_writer_text(w, name);
    sdp_writer_number(w, number);
    sdp_writer_text(w, rest);
    sdp_writer_text(w, "\r\n");
}
