/* sample_ring.c - see sample_ring.h */
#include "services/transceiver/core/media/sample_ring.h"

#include <assert.h>
#include <stdlib.h>

struct sample_ring {
    size_t cap;
    size_t first;
    size_t count;
    int16_t sample[];
};

struct sample_ring *sample_ring_create(size_t cap)
{
    assert(cap > 0);
    struct sample_ring *r = malloc(sizeof(*r) + cap * sizeof(r->sample[0]));
    if (r != NULL) {
        r->cap = cap;
        r->first = 0;
        r->count = 0;
    }
    return r;
}

void sample_ring_destroy(struct sample_ring *r)
{
    free(r);
}

size_t sample_ring_count(const struct sample_ring *r)
{
    return r->count;
}

/* index and count are at most cap. */
static size_t after(const struct sample_ring *r, size_t index, size_t count)
{
    return index + count < r->cap ? index + count : index + count - r->cap;
}

void sample_ring_append(struct sample_ring *r, struct bytes_view pcm)
{
    const size_t count = pcm.len / 2;
    assert(pcm.len % 2 == 0);
    assert(count <= r->cap - r->count);
    if (r->count == 0) {
        r->first = 0; /* an empty ring begins where its memory is warm */
    }
    size_t end = after(r, r->first, r->count);
    for (size_t i = 0; i < pcm.len; i += 2) {
        const uint16_t bits = (uint16_t)(pcm.data[i] | pcm.data[i + 1] << 8);
        r->sample[end] = (int16_t)bits;
        end = after(r, end, 1);
    }
    r->count += count;
}

void sample_ring_take(struct sample_ring *r, int16_t *out, size_t count)
{
    assert(count <= r->count);
    for (size_t i = 0; i < count; i++) {
        out[i] = r->sample[after(r, r->first, i)];
    }
    sample_ring_drop(r, count);
}

void sample_ring_drop(struct sample_ring *r, size_t count)
{
    assert(count <= r->count);
    r->first = after(r, r->first, count);
    r->count -= count;
}
