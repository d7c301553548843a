/*
 * packet_ring.h - coded packets in the order they came
 *
 * Takes:   packets of 1..PACKET_RING_PACKET_BYTES_MAX bytes, each with its media time.
 * Owns:    room for `cap` bytes, of which a packet takes PACKET_RING_HEADER_BYTES more than it has.
 *          Memory is touched only as deep as was ever waiting at once.
 * Units:   ticks of 1/48000 s, at most 65,535 a packet.
 * Full:    append says false, and nothing has changed.
 * Not here: whose packets they are (utterance_table.h).
 */
#ifndef EARSHOT_PACKET_RING_H
#define EARSHOT_PACKET_RING_H

#include "common/base/bytes.h"

#define PACKET_RING_HEADER_BYTES     4
#define PACKET_RING_PACKET_BYTES_MAX 1275

struct packet_ring;

/* NULL without memory. */
struct packet_ring *packet_ring_create(size_t cap);
void packet_ring_destroy(struct packet_ring *r);

/* Of all packets. */
uint64_t packet_ring_ticks(const struct packet_ring *r);
MUST_USE bool packet_ring_append(struct packet_ring *r, struct bytes_view packet, uint32_t ticks);
/* The oldest: its length. out NULL: it is dropped. There must be one. */
size_t packet_ring_take(struct packet_ring *r, uint8_t out[PACKET_RING_PACKET_BYTES_MAX],
                        uint32_t *ticks);

#endif
