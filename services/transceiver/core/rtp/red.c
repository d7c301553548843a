/* red.c - see red.h */
#include "services/transceiver/core/rtp/red.h"

#include <assert.h>

/* RFC 2198 s.3: F, block PT, timestamp offset, block length; the last header is F and PT alone. */
#define FLAG_MORE         0x80
#define MASK_PAYLOAD_TYPE 0x7f
#define LENGTH_BITS       10

static enum red_result read_headers(struct byte_reader *r, struct red_packet *out)
{
    for (size_t i = 0; i < RED_BLOCKS_MAX; i++) {
        const uint8_t head = byte_reader_u8(r);
        const bool is_primary = (head & FLAG_MORE) == 0;
        const uint32_t rest = is_primary ? 0 : byte_reader_u24(r);
        if (r->failed) {
            return RED_TRUNCATED;
        }
        out->block[i] = (struct red_block){
            .payload_type = head & MASK_PAYLOAD_TYPE,
            .timestamp_offset = (uint16_t)(rest >> LENGTH_BITS),
            .data.len = rest & RED_BLOCK_BYTES_MAX,
        };
        if (is_primary) {
            out->block_count = i + 1;
            return RED_OK;
        }
    }
    return RED_BLOCKS;
}

enum red_result red_parse(struct bytes_view payload, uint8_t red_payload_type,
                          struct red_packet *out)
{
    struct byte_reader r;
    byte_reader_init(&r, payload);
    const enum red_result result = read_headers(&r, out);
    if (result != RED_OK) {
        return result;
    }
    for (size_t i = 0; i < out->block_count; i++) {
        struct red_block *b = &out->block[i];
        const bool is_primary = i == out->block_count - 1;
        b->data = byte_reader_bytes(&r, is_primary ? byte_reader_left(&r) : b->data.len);
        if (b->payload_type == red_payload_type) {
            return RED_NESTED;
        }
    }
    return r.failed ? RED_LENGTH : RED_OK;
}

size_t red_write(const struct red_block *redundant, const struct red_block *primary, uint8_t *out,
                 size_t cap)
{
    assert(redundant->payload_type <= MASK_PAYLOAD_TYPE);
    assert(primary->payload_type <= MASK_PAYLOAD_TYPE);
    if (redundant->timestamp_offset > RED_TIMESTAMP_OFFSET_MAX ||
        redundant->data.len > RED_BLOCK_BYTES_MAX) {
        return 0;
    }
    struct byte_writer w;
    byte_writer_init(&w, out, cap);
    if (redundant->data.len > 0) {
        byte_writer_u8(&w, FLAG_MORE | redundant->payload_type);
        byte_writer_u24(&w, (uint32_t)redundant->timestamp_offset << LENGTH_BITS |
                                (uint32_t)redundant->data.len);
    }
    byte_writer_u8(&w, primary->payload_type);
    byte_writer_bytes(&w, redundant->data);
    byte_writer_bytes(&w, primary->data);
    return w.failed ? 0 : w.len;
}
