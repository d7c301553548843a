/*
 * sim_red.h - RED (RFC 2198) as a simulated client writes and reads it: at most one old block
 *
 * Apart from the transceiver's own, so that a mistake in one is not forgiven by the other.
 */
#ifndef EARSHOT_SIM_RED_H
#define EARSHOT_SIM_RED_H

#include "common/base/bytes.h"

#define SIM_RED_BLOCKS_MAX 4
/* Offsets have 14 bits, lengths 10 (RFC 2198 s.3). */
#define SIM_RED_OFFSET_MAX 16383
#define SIM_RED_LENGTH_MAX 1023

struct sim_red_block {
    uint32_t timestamp_offset; /* before the packet's own; the newest: 0 */
    struct bytes_view payload;
};

/* copy.payload empty: none. Bytes written. */
size_t sim_red_write(uint8_t payload_type, struct sim_red_block copy, struct bytes_view primary,
                     uint8_t *out, size_t cap);
/* The oldest block first, the primary last. How many; 0 for what is no RED of this payload type. */
size_t sim_red_read(struct bytes_view payload, uint8_t payload_type,
                    struct sim_red_block out[SIM_RED_BLOCKS_MAX]);

#endif
