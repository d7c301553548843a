/* dcep.c - see dcep.h */
#include "services/transceiver/core/transport/dcep.h"

/* RFC 8832 s.8.2.1 */
#define MESSAGE_ACK  0x02
#define MESSAGE_OPEN 0x03
/* RFC 8832 s.8.2.2: the rest of the channel's type is its reliability */
#define TYPE_UNORDERED 0x80

static size_t utf8_length(uint8_t first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return 2;
    }
    if (first >= 0xe0 && first <= 0xef) {
        return 3;
    }
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* RFC 3629 s.4: neither overlong forms, nor surrogates, nor anything above U+10FFFF. */
static bool is_second_byte(uint8_t first, uint8_t second)
{
    const uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= low && second <= high;
}

static bool is_name(struct bytes_view name)
{
    size_t i = 0;
    while (i < name.len) {
        const size_t len = utf8_length(name.data[i]);
        if (name.data[i] == 0 || len == 0 || len > name.len - i ||
            (len > 1 && !is_second_byte(name.data[i], name.data[i + 1]))) {
            return false;
        }
        for (size_t k = 2; k < len; k++) {
            if ((name.data[i + k] & 0xc0) != 0x80) {
                return false;
            }
        }
        i += len;
    }
    return name.len <= DCEP_NAME_BYTES_MAX;
}

static bool take_type(uint8_t type, struct dcep_open *out)
{
    out->is_unordered = (type & TYPE_UNORDERED) != 0;
    switch (type & ~TYPE_UNORDERED) {
    case DCEP_RELIABLE:
        out->reliability = DCEP_RELIABLE;
        return true;
    case DCEP_RETRANSMITS:
        out->reliability = DCEP_RETRANSMITS;
        return true;
    case DCEP_LIFETIME:
        out->reliability = DCEP_LIFETIME;
        return true;
    default:
        return false;
    }
}

static enum dcep_result parse_open(struct byte_reader *r, struct dcep_open *out)
{
    const bool is_known = take_type(byte_reader_u8(r), out);
    out->priority = byte_reader_u16(r);
    out->reliability_parameter = byte_reader_u32(r);
    const uint16_t label_len = byte_reader_u16(r);
    const uint16_t protocol_len = byte_reader_u16(r);
    out->label = byte_reader_bytes(r, label_len);
    out->protocol = byte_reader_bytes(r, protocol_len);
    if (out->reliability == DCEP_RELIABLE) {
        out->reliability_parameter = 0; /* RFC 8832 s.5.1: ignored */
    }
    const bool is_good = is_known && !r->failed && byte_reader_left(r) == 0;
    return is_good && is_name(out->label) && is_name(out->protocol) ? DCEP_OPEN : DCEP_BAD;
}

enum dcep_result dcep_parse(struct bytes_view message, struct dcep_open *out)
{
    struct byte_reader r;
    byte_reader_init(&r, message);
    *out = (struct dcep_open){0};
    switch (byte_reader_u8(&r)) {
    case MESSAGE_OPEN:
        return parse_open(&r, out);
    case MESSAGE_ACK: /* what follows is for later versions (RFC 8832 s.5.2) */
        return DCEP_ACK;
    default:
        return DCEP_BAD;
    }
}

size_t dcep_write_open(const struct dcep_open *open, uint8_t *out, size_t cap)
{
    struct byte_writer w;
    byte_writer_init(&w, out, cap);
    byte_writer_u8(&w, MESSAGE_OPEN);
    byte_writer_u8(&w, (uint8_t)((open->is_unordered ? TYPE_UNORDERED : 0) | open->reliability));
    byte_writer_u16(&w, open->priority);
    byte_writer_u32(&w, open->reliability_parameter);
    byte_writer_u16(&w, (uint16_t)open->label.len);
    byte_writer_u16(&w, (uint16_t)open->protocol.len);
    byte_writer_bytes(&w, open->label);
    byte_writer_bytes(&w, open->protocol);
    return w.failed ? 0 : w.len;
}

size_t dcep_write_ack(uint8_t out[DCEP_ACK_BYTES])
{
    out[0] = MESSAGE_ACK;
    return DCEP_ACK_BYTES;
}

enum dcep_content dcep_content_of(uint32_t ppid, bool *is_empty)
{
    *is_empty = ppid == DCEP_PPID_TEXT_EMPTY || ppid == DCEP_PPID_BINARY_EMPTY;
    switch (ppid) {
    case DCEP_PPID:
        return DCEP_CONTENT_CONTROL;
    case DCEP_PPID_TEXT:
    case DCEP_PPID_TEXT_EMPTY:
        return DCEP_CONTENT_TEXT;
    case DCEP_PPID_BINARY:
    case DCEP_PPID_BINARY_EMPTY:
        return DCEP_CONTENT_BINARY;
    default:
        return DCEP_CONTENT_UNKNOWN;
    }
}

uint32_t dcep_ppid_of(bool is_text, bool is_empty)
{
    if (is_empty) {
        return is_text ? DCEP_PPID_TEXT_EMPTY : DCEP_PPID_BINARY_EMPTY;
    }
    return is_text ? DCEP_PPID_TEXT : DCEP_PPID_BINARY;
}
