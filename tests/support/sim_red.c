/* sim_red.c - see sim_red.h */
#include "tests/support/sim_red.h"

#include <assert.h>

size_t sim_red_write(uint8_t payload_type, struct sim_red_block copy, struct bytes_view primary,
                     uint8_t *out, size_t cap)
{
    struct byte_writer w;
    byte_writer_init(&w, out, cap);
    if (copy.payload.len > 0) {
        byte_writer_u8(&w, (uint8_t)(0x80 | payload_type));
        byte_writer_u8(&w, (uint8_t)(copy.timestamp_offset >> 6));
        byte_writer_u8(&w, (uint8_t)(copy.timestamp_offset << 2 | copy.payload.len >> 8));
        byte_writer_u8(&w, (uint8_t)copy.payload.len);
    }
    byte_writer_u8(&w, payload_type);
    byte_writer_bytes(&w, copy.payload);
    byte_writer_bytes(&w, primary);
    assert(!w.failed);
    return w.len;
}

size_t sim_red_read(struct bytes_view payload, uint8_t payload_type,
                    struct sim_red_block out[SIM_RED_BLOCKS_MAX])
{
    size_t lengths[SIM_RED_BLOCKS_MAX];
    size_t count = 0;
    struct byte_reader r;
    byte_reader_init(&r, payload);
    for (bool is_last = false; !is_last; count++) {
        const uint8_t first = byte_reader_u8(&r);
        is_last = (first & 0x80) == 0;
        if (r.failed || count == SIM_RED_BLOCKS_MAX || (first & 0x7f) != payload_type) {
            return 0;
        }
        const uint32_t rest = is_last ? 0 : byte_reader_u24(&r);
        out[count].timestamp_offset = rest >> 10;
        lengths[count] = rest & SIM_RED_LENGTH_MAX;
    }
    lengths[count - 1] = r.failed ? 0 : byte_reader_left(&r);
    for (size_t i = 0; i + 1 < count; i++) {
        lengths[count - 1] -= lengths[i] < lengths[count - 1] ? lengths[i] : lengths[count - 1];
    }
    for (size_t i = 0; i < count; i++) {
        out[i].payload = byte_reader_bytes(&r, lengths[i]);
    }
    return r.failed ? 0 : count;
}
