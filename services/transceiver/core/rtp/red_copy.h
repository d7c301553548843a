/*
 * red_copy.h - the payload of the packet before, to go once more in the next one (RFC 2198)
 *
 * Takes:   each payload that leaves.
 * Gives:   a payload with the one before it in front.
 * Owns:    the one before; all zero is the beginning.
 * Full:    a payload longer than RED_COPY_BYTES_MAX is not repeated.
 * Not here: when copies are wanted (loss_response.h).
 */
#ifndef EARSHOT_RED_COPY_H
#define EARSHOT_RED_COPY_H

#include "services/transceiver/core/rtp/red.h"

/* At our bit rates no packet of 20 ms is longer. */
#define RED_COPY_BYTES_MAX 480

struct red_copy {
    uint8_t payload_type;
    uint32_t timestamp;
    size_t len; /* 0 = none */
    uint8_t data[RED_COPY_BYTES_MAX];
};

/* `payload` left alone or as the primary, at this timestamp. */
void red_copy_keep(struct red_copy *c, uint8_t payload_type, uint32_t timestamp,
                   struct bytes_view payload);
void red_copy_forget(struct red_copy *c);
/* The payload of an RED packet at `timestamp`. 0: there is no copy, or the format can not say it,
 * or more than `cap` bytes. */
MUST_USE size_t red_copy_add(const struct red_copy *c, uint8_t payload_type, uint32_t timestamp,
                             struct bytes_view payload, uint8_t *out, size_t cap);

#endif
