/* rtp_packet.c - see rtp_packet.h */
#include "services/transceiver/core/rtp/rtp_packet.h"

#include <assert.h>

#define VERSION 2

#define FLAG_PADDING    0x20
#define FLAG_EXTENSION  0x10
#define MASK_CSRC_COUNT 0x0f
#define FLAG_MARKER     0x80

/* RFC 8285 s.4.2 and s.4.3; the low 4 bits of the two-byte profile are the application's. */
#define PROFILE_ONE_BYTE      0xbede
#define PROFILE_TWO_BYTE      0x1000
#define PROFILE_TWO_BYTE_MASK 0xfff0
/* RFC 8285 s.4.2: reserved, ends the list. */
#define ONE_BYTE_ID_STOP 15

static enum rtp_packet_result read_header(struct byte_reader *r, struct rtp_packet *out,
                                          uint8_t *out_flags)
{
    const uint8_t flags = byte_reader_u8(r);
    const uint8_t second = byte_reader_u8(r);
    *out = (struct rtp_packet){
        .marker = (second & FLAG_MARKER) != 0,
        .payload_type = second & 0x7f,
        .sequence_number = byte_reader_u16(r),
    };
    out->timestamp = byte_reader_u32(r);
    out->ssrc = byte_reader_u32(r);
    byte_reader_skip(r, (flags & MASK_CSRC_COUNT) * sizeof(uint32_t));
    if ((flags & FLAG_EXTENSION) != 0) {
        out->extension_profile = byte_reader_u16(r);
        const size_t words = byte_reader_u16(r);
        out->extension = byte_reader_bytes(r, words * sizeof(uint32_t));
    }
    *out_flags = flags;
    if (r->failed) {
        return RTP_PACKET_TRUNCATED;
    }
    return flags >> 6 == VERSION ? RTP_PACKET_OK : RTP_PACKET_VERSION;
}

enum rtp_packet_result rtp_packet_parse(struct bytes_view datagram, struct rtp_packet *out)
{
    struct byte_reader r;
    byte_reader_init(&r, datagram);
    uint8_t flags = 0;
    const enum rtp_packet_result result = read_header(&r, out, &flags);
    if (result != RTP_PACKET_OK) {
        return result;
    }
    out->payload = byte_reader_bytes(&r, byte_reader_left(&r));
    if ((flags & FLAG_PADDING) == 0) {
        return RTP_PACKET_OK;
    }
    /* RFC 3550 s.5.1: the last byte counts the padding, itself included. */
    const size_t padding = out->payload.len > 0 ? out->payload.data[out->payload.len - 1] : 0;
    if (padding == 0 || padding > out->payload.len) {
        return RTP_PACKET_PADDING;
    }
    out->payload.len -= padding;
    return RTP_PACKET_OK;
}

size_t rtp_packet_header_bytes(struct bytes_view datagram)
{
    struct byte_reader r;
    byte_reader_init(&r, datagram);
    struct rtp_packet p;
    uint8_t flags = 0;
    return read_header(&r, &p, &flags) == RTP_PACKET_OK ? r.offset : 0;
}

struct element {
    uint8_t id; /* 0 = padding */
    struct bytes_view data;
};

/* False at the end of the list. */
static bool next_one_byte(struct byte_reader *r, struct element *out)
{
    const uint8_t head = byte_reader_u8(r);
    out->id = head >> 4;
    if (r->failed || out->id == ONE_BYTE_ID_STOP) {
        return false;
    }
    if (head == 0) {
        out->data = (struct bytes_view){0};
        return true;
    }
    /* RFC 8285 s.4.1.2: id 0 with a length ends the list as well. */
    out->data = byte_reader_bytes(r, (size_t)(head & 0x0f) + 1);
    return !r->failed && out->id != 0;
}

static bool next_two_byte(struct byte_reader *r, struct element *out)
{
    out->id = byte_reader_u8(r);
    out->data = (struct bytes_view){0};
    if (out->id != 0) {
        const size_t len = byte_reader_u8(r);
        out->data = byte_reader_bytes(r, len);
    }
    return !r->failed;
}

bool rtp_packet_find_extension(const struct rtp_packet *p, uint8_t id, struct bytes_view *out)
{
    assert(id != 0);
    bool (*next)(struct byte_reader *, struct element *) = NULL;
    if (p->extension_profile == PROFILE_ONE_BYTE) {
        next = next_one_byte;
    } else if ((p->extension_profile & PROFILE_TWO_BYTE_MASK) == PROFILE_TWO_BYTE) {
        next = next_two_byte;
    } else {
        return false;
    }
    struct byte_reader r;
    byte_reader_init(&r, p->extension);
    struct element e;
    while (next(&r, &e)) {
        if (e.id == id) {
            *out = e.data;
            return true;
        }
    }
    return false;
}

void rtp_packet_write_header(const struct rtp_packet *p, uint8_t out[RTP_PACKET_HEADER_BYTES])
{
    assert(p->payload_type < 128);
    struct byte_writer w;
    byte_writer_init(&w, out, RTP_PACKET_HEADER_BYTES);
    byte_writer_u8(&w, VERSION << 6);
    byte_writer_u8(&w, (uint8_t)((p->marker ? FLAG_MARKER : 0) | p->payload_type));
    byte_writer_u16(&w, p->sequence_number);
    byte_writer_u32(&w, p->timestamp);
    byte_writer_u32(&w, p->ssrc);
    assert(!w.failed);
}
