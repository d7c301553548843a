/*
 * sample_ring.h - samples in the order they came
 *
 * Takes:   16-bit little-endian PCM.
 * Owns:    room for `cap` samples. Memory is touched only as deep as was ever waiting at once.
 * Full:    append more than there is room for is the caller's mistake.
 * Not here: whose samples they are (utterance_table.h).
 */
#ifndef EARSHOT_SAMPLE_RING_H
#define EARSHOT_SAMPLE_RING_H

#include "common/base/bytes.h"

struct sample_ring;

/* NULL without memory. */
struct sample_ring *sample_ring_create(size_t cap);
void sample_ring_destroy(struct sample_ring *r);

size_t sample_ring_count(const struct sample_ring *r);
/* pcm: an even number of bytes. */
void sample_ring_append(struct sample_ring *r, struct bytes_view pcm);
/* The oldest `count`, at most sample_ring_count. */
void sample_ring_take(struct sample_ring *r, int16_t *out, size_t count);
void sample_ring_drop(struct sample_ring *r, size_t count);

#endif
