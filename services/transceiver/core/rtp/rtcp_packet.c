/* rtcp_packet.c - see rtcp_packet.h */
#include "services/transceiver/core/rtp/rtcp_packet.h"

#include <assert.h>

#define VERSION      2
#define FLAG_PADDING 0x20
#define MASK_COUNT   0x1f
#define BLOCK_BYTES  24

/* RFC 3550 s.6.5: item types of a source description. */
#define SDES_END   0
#define SDES_CNAME 1

static bool has_reports(const struct rtcp_packet *p)
{
    return p->type == RTCP_SENDER_REPORT || p->type == RTCP_RECEIVER_REPORT;
}

const char *rtcp_packet_result_name(enum rtcp_packet_result result)
{
    static const char *const name[RTCP_PACKET_RESULT_COUNT] = {
        [RTCP_PACKET_OK] = "ok",           [RTCP_PACKET_END] = "end",
        [RTCP_PACKET_VERSION] = "version", [RTCP_PACKET_TRUNCATED] = "truncated",
        [RTCP_PACKET_PADDING] = "padding", [RTCP_PACKET_COUNT] = "count",
    };
    return name[result];
}

/* The fields before the list, and that the list of `count` fits. */
static enum rtcp_packet_result read_fields(struct byte_reader *r, struct rtcp_packet *out)
{
    if (has_reports(out) || out->type == RTCP_TRANSPORT_FEEDBACK) {
        out->ssrc = byte_reader_u32(r);
    }
    if (out->type == RTCP_TRANSPORT_FEEDBACK) {
        out->media_ssrc = byte_reader_u32(r);
    }
    if (out->type == RTCP_SENDER_REPORT) {
        out->sender_info.ntp_time = byte_reader_u64(r);
        out->sender_info.timestamp = byte_reader_u32(r);
        out->sender_info.packet_count = byte_reader_u32(r);
        out->sender_info.octet_count = byte_reader_u32(r);
    }
    size_t list_bytes = 0;
    if (has_reports(out)) {
        list_bytes = out->count * (size_t)BLOCK_BYTES;
    } else if (out->type == RTCP_BYE) {
        list_bytes = out->count * sizeof(uint32_t);
    }
    out->body = byte_reader_bytes(r, byte_reader_left(r));
    if (r->failed) {
        return RTCP_PACKET_TRUNCATED;
    }
    return list_bytes <= out->body.len ? RTCP_PACKET_OK : RTCP_PACKET_COUNT;
}

/* Takes the padding off. RFC 3550 s.6.4.1: whole words, and only the last packet has it. */
static bool trim_padding(struct bytes_view *packet, bool is_last)
{
    const size_t padding = packet->len > 0 ? packet->data[packet->len - 1] : 0;
    if (padding == 0 || padding % 4 != 0 || padding > packet->len || !is_last) {
        return false;
    }
    packet->len -= padding;
    return true;
}

static enum rtcp_packet_result read_packet(struct byte_reader *compound, struct rtcp_packet *out)
{
    const uint8_t flags = byte_reader_u8(compound);
    *out = (struct rtcp_packet){.count = flags & MASK_COUNT, .type = byte_reader_u8(compound)};
    const size_t words = byte_reader_u16(compound);
    struct bytes_view rest = byte_reader_bytes(compound, words * sizeof(uint32_t));
    if (flags >> 6 != VERSION) {
        return RTCP_PACKET_VERSION;
    }
    if (compound->failed) {
        return RTCP_PACKET_TRUNCATED;
    }
    const bool is_last = byte_reader_left(compound) == 0;
    if ((flags & FLAG_PADDING) != 0 && !trim_padding(&rest, is_last)) {
        return RTCP_PACKET_PADDING;
    }
    struct byte_reader r;
    byte_reader_init(&r, rest);
    return read_fields(&r, out);
}

enum rtcp_packet_result rtcp_packet_next(struct byte_reader *compound, struct rtcp_packet *out)
{
    if (compound->failed) {
        return RTCP_PACKET_TRUNCATED;
    }
    if (byte_reader_left(compound) == 0) {
        return RTCP_PACKET_END;
    }
    const enum rtcp_packet_result result = read_packet(compound, out);
    if (result != RTCP_PACKET_OK) {
        compound->failed = true; /* where the next one begins is not known */
    }
    return result;
}

static struct rtcp_report_block read_block(struct byte_reader *r)
{
    struct rtcp_report_block b = {.ssrc = byte_reader_u32(r)};
    b.fraction_lost = byte_reader_u8(r);
    const uint32_t lost = byte_reader_u24(r);
    b.cumulative_lost = (int32_t)lost - ((lost & 0x800000) != 0 ? 0x1000000 : 0);
    b.highest_sequence = byte_reader_u32(r);
    b.jitter = byte_reader_u32(r);
    b.last_sr = byte_reader_u32(r);
    b.delay_since_last_sr = byte_reader_u32(r);
    return b;
}

bool rtcp_packet_find_block(const struct rtcp_packet *p, uint32_t ssrc,
                            struct rtcp_report_block *out)
{
    if (!has_reports(p)) {
        return false;
    }
    struct byte_reader r;
    byte_reader_init(&r, p->body);
    for (size_t i = 0; i < p->count; i++) {
        *out = read_block(&r);
        if (!r.failed && out->ssrc == ssrc) {
            return true;
        }
    }
    return false;
}

bool rtcp_packet_is_bye_of(const struct rtcp_packet *p, uint32_t ssrc)
{
    if (p->type != RTCP_BYE) {
        return false;
    }
    struct byte_reader r;
    byte_reader_init(&r, p->body);
    for (size_t i = 0; i < p->count; i++) {
        const uint32_t named = byte_reader_u32(&r);
        if (!r.failed && named == ssrc) {
            return true;
        }
    }
    return false;
}

/* One chunk: items until an END, then zeros up to a word. False when it does not fit. */
static bool read_chunk(struct byte_reader *r, uint32_t *out_ssrc, struct bytes_view *out_cname)
{
    *out_ssrc = byte_reader_u32(r);
    *out_cname = (struct bytes_view){0};
    while (!r->failed) {
        const uint8_t item = byte_reader_u8(r);
        if (r->failed) {
            return false;
        }
        if (item == SDES_END) {
            byte_reader_skip(r, (4 - r->offset % 4) % 4);
            return !r->failed;
        }
        const size_t len = byte_reader_u8(r);
        const struct bytes_view value = byte_reader_bytes(r, len);
        if (item == SDES_CNAME && !r->failed) {
            *out_cname = value;
        }
    }
    return false;
}

bool rtcp_packet_find_cname(const struct rtcp_packet *p, uint32_t ssrc, struct bytes_view *out)
{
    if (p->type != RTCP_SOURCE_DESCRIPTION) {
        return false;
    }
    struct byte_reader r;
    byte_reader_init(&r, p->body);
    for (size_t i = 0; i < p->count; i++) {
        uint32_t named = 0;
        if (!read_chunk(&r, &named, out)) {
            return false;
        }
        if (named == ssrc && out->len > 0) {
            return true;
        }
    }
    return false;
}

bool rtcp_packet_find_nacks(const struct rtcp_packet *p, uint32_t ssrc, struct byte_reader *out)
{
    if (p->type != RTCP_TRANSPORT_FEEDBACK || p->count != RTCP_FORMAT_NACK ||
        p->media_ssrc != ssrc) {
        return false;
    }
    byte_reader_init(out, p->body);
    return true;
}

bool rtcp_packet_next_nack(struct byte_reader *list, struct rtcp_nack *out)
{
    out->sequence_number = byte_reader_u16(list);
    out->following = byte_reader_u16(list);
    return !list->failed;
}

/* body_bytes: what follows the header's four bytes; a multiple of 4. */
static void write_header(struct byte_writer *w, enum rtcp_packet_type type, size_t count,
                         size_t body_bytes)
{
    assert(count <= MASK_COUNT);
    assert(body_bytes % 4 == 0);
    byte_writer_u8(w, (uint8_t)(VERSION << 6 | count));
    byte_writer_u8(w, (uint8_t)type);
    byte_writer_u16(w, (uint16_t)(body_bytes / 4));
}

static void write_block(struct byte_writer *w, const struct rtcp_report_block *b)
{
    byte_writer_u32(w, b->ssrc);
    byte_writer_u8(w, b->fraction_lost);
    byte_writer_u24(w, (uint32_t)b->cumulative_lost & 0xffffff);
    byte_writer_u32(w, b->highest_sequence);
    byte_writer_u32(w, b->jitter);
    byte_writer_u32(w, b->last_sr);
    byte_writer_u32(w, b->delay_since_last_sr);
}

static void write_reports(struct byte_writer *w, const struct rtcp_report *report)
{
    const size_t blocks_bytes = report->block_count * BLOCK_BYTES;
    if (report->has_sender_info) {
        write_header(w, RTCP_SENDER_REPORT, report->block_count, 4 + 20 + blocks_bytes);
        byte_writer_u32(w, report->ssrc);
        byte_writer_u64(w, report->sender_info.ntp_time);
        byte_writer_u32(w, report->sender_info.timestamp);
        byte_writer_u32(w, report->sender_info.packet_count);
        byte_writer_u32(w, report->sender_info.octet_count);
    } else {
        write_header(w, RTCP_RECEIVER_REPORT, report->block_count, 4 + blocks_bytes);
        byte_writer_u32(w, report->ssrc);
    }
    for (size_t i = 0; i < report->block_count; i++) {
        write_block(w, &report->block[i]);
    }
}

static void write_cname(struct byte_writer *w, uint32_t ssrc, struct bytes_view cname)
{
    const size_t chunk_bytes = 4 + 2 + cname.len;
    /* RFC 3550 s.6.5: at least one zero ends the items, more fill up the word. */
    const size_t end_bytes = 4 - chunk_bytes % 4;
    write_header(w, RTCP_SOURCE_DESCRIPTION, 1, chunk_bytes + end_bytes);
    byte_writer_u32(w, ssrc);
    byte_writer_u8(w, SDES_CNAME);
    byte_writer_u8(w, (uint8_t)cname.len);
    byte_writer_bytes(w, cname);
    byte_writer_zeros(w, end_bytes);
}

size_t rtcp_packet_write(const struct rtcp_report *report, uint8_t *out, size_t cap)
{
    const struct bytes_view cname = bytes_view_of_text(report->cname);
    assert(cname.len > 0);
    assert(cname.len <= RTCP_PACKET_CNAME_CHARS_MAX);
    assert(report->block_count <= RTCP_PACKET_BLOCKS_MAX);
    struct byte_writer w;
    byte_writer_init(&w, out, cap);
    write_reports(&w, report);
    write_cname(&w, report->ssrc, cname);
    if (report->is_bye) {
        write_header(&w, RTCP_BYE, 1, sizeof(uint32_t));
        byte_writer_u32(&w, report->ssrc);
    }
    return w.failed ? 0 : w.len;
}
