/* packet_ring.c - see packet_ring.h */
#include "services/transceiver/core/media/packet_ring.h"

#include <assert.h>
#include <stdlib.h>

struct packet_ring {
    size_t cap;
    size_t first;
    size_t used;
    uint64_t ticks;
    uint8_t bytes[]; /* per packet: length, ticks, what it is; it may go on at the beginning */
};

struct packet_ring *packet_ring_create(size_t cap)
{
    assert(cap > 0);
    struct packet_ring *r = malloc(sizeof(*r) + cap);
    if (r != NULL) {
        r->cap = cap;
        r->first = 0;
        r->used = 0;
        r->ticks = 0;
    }
    return r;
}

void packet_ring_destroy(struct packet_ring *r)
{
    free(r);
}

uint64_t packet_ring_ticks(const struct packet_ring *r)
{
    return r->ticks;
}

static void put(struct packet_ring *r, const uint8_t *data, size_t len)
{
    const size_t end = (r->first + r->used) % r->cap;
    const size_t before_edge = len < r->cap - end ? len : r->cap - end;
    memcpy(r->bytes + end, data, before_edge);
    memcpy(r->bytes, data + before_edge, len - before_edge);
    r->used += len;
}

/* out NULL: dropped. */
static void get(struct packet_ring *r, uint8_t *out, size_t len)
{
    assert(len <= r->used);
    if (out != NULL) {
        const size_t before_edge = len < r->cap - r->first ? len : r->cap - r->first;
        memcpy(out, r->bytes + r->first, before_edge);
        memcpy(out + before_edge, r->bytes, len - before_edge);
    }
    r->first = (r->first + len) % r->cap;
    r->used -= len;
}

bool packet_ring_append(struct packet_ring *r, struct bytes_view packet, uint32_t ticks)
{
    assert(packet.len > 0);
    assert(packet.len <= PACKET_RING_PACKET_BYTES_MAX);
    assert(ticks <= UINT16_MAX);
    if (PACKET_RING_HEADER_BYTES + packet.len > r->cap - r->used) {
        return false;
    }
    if (r->used == 0) {
        r->first = 0; /* an empty ring begins where its memory is warm */
    }
    const uint16_t header[2] = {(uint16_t)packet.len, (uint16_t)ticks};
    _Static_assert(sizeof(header) == PACKET_RING_HEADER_BYTES, "length and ticks");
    put(r, (const uint8_t *)header, sizeof(header));
    put(r, packet.data, packet.len);
    r->ticks += ticks;
    return true;
}

size_t packet_ring_take(struct packet_ring *r, uint8_t out[PACKET_RING_PACKET_BYTES_MAX],
                        uint32_t *ticks)
{
    uint16_t header[2];
    get(r, (uint8_t *)header, sizeof(header));
    get(r, out, header[0]);
    r->ticks -= header[1];
    *ticks = header[1];
    return header[0];
}
