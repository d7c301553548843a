/* voice_history.c - see voice_history.h */
#include "services/transceiver/core/media/voice_history.h"

#include <stdlib.h>

/* Offsets count all bytes ever written. A slot and its payload lie in one piece: what would pass
 * the end of the ring begins at its start, and the tail is left unused. */
struct voice_history {
    uint64_t begin; /* the oldest slot held */
    uint64_t read;
    uint64_t end;
    uint64_t next_number;
    bool has_missed; /* the reader, since the last slot it was given */
    uint8_t ring[VOICE_HISTORY_BYTES];
};

#define SLOT_BYTES  sizeof(struct voice_history_slot)
#define UNUSED_TAIL UINT64_MAX /* as the number of a slot */

_Static_assert(4 * (SLOT_BYTES + VOICE_PACKET_BYTES_MAX) < VOICE_HISTORY_BYTES, "slots fit");

struct voice_history *voice_history_create(void)
{
    return calloc(1, sizeof(struct voice_history));
}

void voice_history_destroy(struct voice_history *h)
{
    free(h);
}

static size_t tail_bytes(uint64_t offset)
{
    return VOICE_HISTORY_BYTES - (size_t)(offset % VOICE_HISTORY_BYTES);
}

/* The slot at `offset`, or behind the unused tail there. Gives the offset behind the slot. */
static uint64_t load(const struct voice_history *h, uint64_t offset, struct voice_history_slot *out)
{
    const size_t tail = tail_bytes(offset);
    out->number = UNUSED_TAIL;
    if (tail >= SLOT_BYTES) {
        memcpy(out, h->ring + offset % VOICE_HISTORY_BYTES, SLOT_BYTES);
    }
    if (out->number == UNUSED_TAIL) {
        offset += tail;
        memcpy(out, h->ring, SLOT_BYTES);
    }
    out->payload.data = h->ring + offset % VOICE_HISTORY_BYTES + SLOT_BYTES;
    return offset + SLOT_BYTES + out->payload.len;
}

static void drop_oldest(struct voice_history *h)
{
    struct voice_history_slot slot;
    h->begin = load(h, h->begin, &slot);
    if (h->read < h->begin) {
        h->read = h->begin;
        h->has_missed = true;
    }
}

/* Leaves the tail of the ring unused, when the slot that comes does not fit there. */
static void leave_tail(struct voice_history *h, size_t tail)
{
    const struct voice_history_slot mark = {.number = UNUSED_TAIL};
    if (tail >= SLOT_BYTES) {
        memcpy(h->ring + h->end % VOICE_HISTORY_BYTES, &mark, SLOT_BYTES);
    }
    h->begin += h->begin == h->end ? tail : 0;
    h->read += h->read == h->end ? tail : 0;
    h->end += tail;
}

void voice_history_add(struct voice_history *h, const struct voice_history_slot *slot)
{
    const size_t need = SLOT_BYTES + slot->payload.len;
    const size_t tail = tail_bytes(h->end);
    const size_t unused = tail < need ? tail : 0;
    uint64_t begin_us = 0;
    while (voice_history_begin_us(h, &begin_us) &&
           (h->end - h->begin + unused + need > VOICE_HISTORY_BYTES ||
            begin_us + VOICE_HISTORY_US < slot->end_us)) {
        drop_oldest(h);
    }
    if (unused > 0) {
        leave_tail(h, unused);
    }
    struct voice_history_slot stored = *slot;
    stored.number = h->next_number++;
    uint8_t *place = h->ring + h->end % VOICE_HISTORY_BYTES;
    memcpy(place, &stored, SLOT_BYTES);
    if (slot->payload.len > 0) {
        memcpy(place + SLOT_BYTES, slot->payload.data, slot->payload.len);
    }
    h->end += need;
}

uint64_t voice_history_next_number(const struct voice_history *h)
{
    return h->next_number;
}

bool voice_history_begin_us(const struct voice_history *h, uint64_t *out)
{
    struct voice_history_slot slot = {0};
    if (h->begin != h->end) {
        (void)load(h, h->begin, &slot);
    }
    *out = slot.time_us;
    return h->begin != h->end;
}

void voice_history_seek(struct voice_history *h, uint64_t from_us)
{
    struct voice_history_slot slot;
    h->has_missed = false;
    h->read = h->begin;
    while (h->read != h->end) {
        const uint64_t next = load(h, h->read, &slot);
        if (slot.end_us > from_us) {
            return;
        }
        h->read = next;
    }
}

bool voice_history_read(struct voice_history *h, struct voice_history_slot *out)
{
    if (h->read == h->end) {
        return false;
    }
    h->read = load(h, h->read, out);
    out->is_discontinuity = out->is_discontinuity || h->has_missed;
    h->has_missed = false;
    return true;
}
