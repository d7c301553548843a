/*
 * red.h - redundant audio (RFC 2198): one RTP payload that carries older ones as well
 *
 * Takes:   the payload of a packet of the RED payload type; nothing in it is believed.
 * Gives:   its blocks, oldest first, the primary last; borrowed from the payload.
 * Fails:   with a reason; then *out is not to be read. A payload within RED is not opened: no
 *          nesting.
 * Units:   timestamp_offset in the clock of the payload types inside.
 * Not here: which of the blocks are of use (core/media/reorder_buffer.h), when to send redundancy
 *          (voice_sender.h).
 */
#ifndef EARSHOT_RED_H
#define EARSHOT_RED_H

#include "common/base/bytes.h"

#define RED_BLOCKS_MAX           4 /* the primary included */
#define RED_TIMESTAMP_OFFSET_MAX 0x3fff
#define RED_BLOCK_BYTES_MAX      0x3ff /* of a redundant one; the primary takes what is left */

struct red_block {
    uint8_t payload_type;
    uint16_t timestamp_offset; /* how much older than the primary; its own is 0 */
    struct bytes_view data;    /* may be empty */
};

struct red_packet {
    struct red_block block[RED_BLOCKS_MAX];
    size_t block_count; /* >= 1 */
};

enum red_result {
    RED_OK,
    RED_TRUNCATED, /* it ends within the headers */
    RED_LENGTH,    /* a header promises more bytes than there are */
    RED_BLOCKS,    /* more than RED_BLOCKS_MAX */
    RED_NESTED     /* a block of the RED payload type itself */
};

enum red_result red_parse(struct bytes_view payload, uint8_t red_payload_type,
                          struct red_packet *out);

/* `redundant` and then `primary`. An empty redundant block is left out, with its header. 0: what
 * the format can not say (offset or length beyond its maximum), or more than `cap` bytes. */
MUST_USE size_t red_write(const struct red_block *redundant, const struct red_block *primary,
                          uint8_t *out, size_t cap);

#endif
