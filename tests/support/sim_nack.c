/* sim_nack.c - see sim_nack.h */
#include "tests/support/sim_nack.h"

#include <assert.h>

#define VERSION_AND_FORMAT 0x81
#define TRANSPORT_FEEDBACK 205

size_t sim_nack_write(uint32_t own_ssrc, uint32_t ssrc, uint16_t first, uint16_t count,
                      uint8_t out[SIM_NACK_BYTES_MAX])
{
    struct byte_writer w;
    const uint16_t named = count < SIM_NACK_PACKETS_MAX ? count : SIM_NACK_PACKETS_MAX;
    byte_writer_init(&w, out, SIM_NACK_BYTES_MAX);
    byte_writer_u8(&w, VERSION_AND_FORMAT);
    byte_writer_u8(&w, TRANSPORT_FEEDBACK);
    byte_writer_u16(&w, (uint16_t)(2 + named));
    byte_writer_u32(&w, own_ssrc);
    byte_writer_u32(&w, ssrc);
    for (uint16_t i = 0; i < named; i++) {
        byte_writer_u16(&w, (uint16_t)(first + i));
        byte_writer_u16(&w, 0);
    }
    assert(!w.failed);
    return w.len;
}
