/* held_ids.c - see held_ids.h */
#include "services/transceiver/core/media/held_ids.h"

bool held_ids_release(struct held_ids *h, uint32_t from, uint32_t to)
{
    bool was_held = false;
    size_t kept = 0;
    for (size_t i = 0; i < h->count; i++) {
        const uint32_t id = h->id[i];
        was_held = was_held || id == to;
        if (id < from || id > to) {
            h->id[kept++] = id;
        }
    }
    h->count = kept;
    return was_held;
}

bool held_ids_put(struct held_ids *h, uint32_t id)
{
    (void)held_ids_release(h, id, id);
    if (h->count == HELD_IDS_MAX) {
        return false;
    }
    h->id[h->count++] = id;
    return true;
}
