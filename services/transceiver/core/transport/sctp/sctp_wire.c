/* sctp_wire.c - see sctp_wire.h */
#include "services/transceiver/core/transport/sctp/sctp_wire.h"

#include "services/transceiver/core/transport/sctp/crc32c.h"

#include <assert.h>

#define CHECKSUM_OFFSET 8
#define CHECKSUM_BYTES  4

#define DATA_FLAG_END       0x01
#define DATA_FLAG_BEGIN     0x02
#define DATA_FLAG_UNORDERED 0x04
#define DATA_FLAG_IMMEDIATE 0x08

/* --- checksum --------------------------------------------------------------------------------- */

/* RFC 9260 s.6.8: computed as if the field were 0. */
static uint32_t checksum_of(struct bytes_view packet)
{
    static const uint8_t zeros[CHECKSUM_BYTES];
    const size_t behind = CHECKSUM_OFFSET + CHECKSUM_BYTES;
    uint32_t crc = crc32c_update(CRC32C_BEGIN, bytes_view_of(packet.data, CHECKSUM_OFFSET));
    crc = crc32c_update(crc, bytes_view_of(zeros, sizeof(zeros)));
    return crc32c_update(crc, bytes_view_of(packet.data + behind, packet.len - behind));
}

enum sctp_checksum sctp_wire_checksum(struct bytes_view packet)
{
    struct byte_reader r;
    byte_reader_init(&r, packet);
    byte_reader_skip(&r, CHECKSUM_OFFSET);
    /* RFC 9260 appendix A: the bytes of the CRC in little-endian order. */
    const uint32_t written = byte_reader_u32_le(&r);
    if (r.failed) {
        return SCTP_CHECKSUM_WRONG;
    }
    if (written == checksum_of(packet)) {
        return SCTP_CHECKSUM_RIGHT;
    }
    return written == 0 ? SCTP_CHECKSUM_ZERO : SCTP_CHECKSUM_WRONG;
}

/* --- reading ---------------------------------------------------------------------------------- */

bool sctp_wire_read_header(struct byte_reader *r, struct sctp_header *out)
{
    out->source_port = byte_reader_u16(r);
    out->destination_port = byte_reader_u16(r);
    out->verification_tag = byte_reader_u32(r);
    byte_reader_skip(r, CHECKSUM_BYTES);
    return !r->failed;
}

/* The padding behind the last one may be missing: it says nothing. */
static void skip_padding(struct byte_reader *r, size_t len)
{
    const size_t padding = (4 - len % 4) % 4;
    const size_t left = byte_reader_left(r);
    byte_reader_skip(r, padding < left ? padding : left);
}

/* What chunks and parameters have in common: two bytes, the length, and so many bytes. */
static bool next_element(struct byte_reader *r, uint8_t head[2], struct bytes_view *body,
                         struct bytes_view *whole)
{
    const size_t begin = r->offset;
    if (r->failed || byte_reader_left(r) == 0) {
        return false;
    }
    head[0] = byte_reader_u8(r);
    head[1] = byte_reader_u8(r);
    const size_t len = byte_reader_u16(r);
    if (len < SCTP_CHUNK_HEADER_BYTES) {
        r->failed = true;
        return false;
    }
    *body = byte_reader_bytes(r, len - SCTP_CHUNK_HEADER_BYTES);
    if (r->failed) {
        return false;
    }
    *whole = bytes_view_of(r->data + begin, len);
    skip_padding(r, len);
    return true;
}

bool sctp_wire_next_chunk(struct byte_reader *r, struct sctp_chunk *out)
{
    uint8_t head[2];
    if (!next_element(r, head, &out->body, &out->whole)) {
        return false;
    }
    out->type = head[0];
    out->flags = head[1];
    return true;
}

bool sctp_wire_next_parameter(struct byte_reader *r, struct sctp_parameter *out)
{
    uint8_t head[2];
    if (!next_element(r, head, &out->value, &out->whole)) {
        return false;
    }
    out->type = (uint16_t)(head[0] << 8 | head[1]);
    return true;
}

bool sctp_wire_read_data(const struct sctp_chunk *chunk, struct sctp_data *out)
{
    struct byte_reader r;
    byte_reader_init(&r, chunk->body);
    out->is_immediate = (chunk->flags & DATA_FLAG_IMMEDIATE) != 0;
    out->is_unordered = (chunk->flags & DATA_FLAG_UNORDERED) != 0;
    out->is_begin = (chunk->flags & DATA_FLAG_BEGIN) != 0;
    out->is_end = (chunk->flags & DATA_FLAG_END) != 0;
    out->tsn = byte_reader_u32(&r);
    out->stream = byte_reader_u16(&r);
    out->ssn = byte_reader_u16(&r);
    out->ppid = byte_reader_u32(&r);
    out->payload = byte_reader_bytes(&r, byte_reader_left(&r));
    return !r.failed;
}

bool sctp_wire_read_sack(const struct sctp_chunk *chunk, struct sctp_sack *out)
{
    struct byte_reader r;
    byte_reader_init(&r, chunk->body);
    out->cumulative_tsn = byte_reader_u32(&r);
    out->a_rwnd = byte_reader_u32(&r);
    const size_t gaps = byte_reader_u16(&r);
    const size_t duplicates = byte_reader_u16(&r);
    if (r.failed || byte_reader_left(&r) < 4 * (gaps + duplicates)) {
        return false;
    }
    out->gap_count = 0;
    uint32_t above = 1; /* cumulative_tsn + 1 is missing, else it would be the cumulative one */
    while (out->gap_count < gaps && out->gap_count < SCTP_GAPS_MAX) {
        const struct sctp_gap gap = {.first = byte_reader_u16(&r), .last = byte_reader_u16(&r)};
        if (gap.first <= above || gap.last < gap.first) {
            break;
        }
        above = gap.last + UINT32_C(1);
        out->gap[out->gap_count++] = gap;
    }
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void pad(struct byte_writer *w)
{
    byte_writer_zeros(w, (4 - w->len % 4) % 4);
}

void sctp_wire_begin_packet(struct byte_writer *w, const struct sctp_header *header)
{
    assert(w->len == 0);
    byte_writer_u16(w, header->source_port);
    byte_writer_u16(w, header->destination_port);
    byte_writer_u32(w, header->verification_tag);
    byte_writer_u32(w, 0);
}

void sctp_wire_end_packet(struct byte_writer *w, bool zero_checksum)
{
    pad(w);
    if (w->failed || zero_checksum) {
        return;
    }
    struct byte_writer field;
    byte_writer_init(&field, w->data + CHECKSUM_OFFSET, CHECKSUM_BYTES);
    byte_writer_u32_le(&field, checksum_of(bytes_view_of(w->data, w->len)));
}

size_t sctp_wire_begin_chunk(struct byte_writer *w, enum sctp_chunk_type type, uint8_t flags)
{
    pad(w);
    const size_t begin = w->len;
    byte_writer_u8(w, (uint8_t)type);
    byte_writer_u8(w, flags);
    byte_writer_u16(w, 0);
    return begin;
}

size_t sctp_wire_begin_parameter(struct byte_writer *w, uint16_t type)
{
    pad(w);
    const size_t begin = w->len;
    byte_writer_u16(w, type);
    byte_writer_u16(w, 0);
    return begin;
}

void sctp_wire_end(struct byte_writer *w, size_t begin)
{
    if (w->failed) {
        return;
    }
    struct byte_writer field;
    byte_writer_init(&field, w->data + begin + 2, 2);
    byte_writer_u16(&field, (uint16_t)(w->len - begin));
}

void sctp_wire_write_bare(struct byte_writer *w, enum sctp_chunk_type type, uint8_t flags)
{
    sctp_wire_end(w, sctp_wire_begin_chunk(w, type, flags));
}

void sctp_wire_write_data(struct byte_writer *w, const struct sctp_data *data)
{
    const unsigned flags = (data->is_immediate ? DATA_FLAG_IMMEDIATE : 0U) |
                           (data->is_unordered ? DATA_FLAG_UNORDERED : 0U) |
                           (data->is_begin ? DATA_FLAG_BEGIN : 0U) |
                           (data->is_end ? DATA_FLAG_END : 0U);
    const size_t begin = sctp_wire_begin_chunk(w, SCTP_CHUNK_DATA, (uint8_t)flags);
    byte_writer_u32(w, data->tsn);
    byte_writer_u16(w, data->stream);
    byte_writer_u16(w, data->ssn);
    byte_writer_u32(w, data->ppid);
    byte_writer_bytes(w, data->payload);
    sctp_wire_end(w, begin);
}

void sctp_wire_write_cause(struct byte_writer *w, enum sctp_chunk_type type, enum sctp_cause cause,
                           struct bytes_view about)
{
    const size_t begin = sctp_wire_begin_chunk(w, type, 0);
    const size_t inner = sctp_wire_begin_parameter(w, (uint16_t)cause);
    byte_writer_bytes(w, about);
    sctp_wire_end(w, inner);
    sctp_wire_end(w, begin);
}

size_t sctp_wire_room(const struct byte_writer *w)
{
    const size_t padded = (w->len + 3) / 4 * 4;
    return w->failed || padded > w->cap ? 0 : (w->cap - padded) / 4 * 4;
}
