/*
 * held_ids.h - utterances that are held before their first piece came
 *
 * Owns:    room for HELD_IDS_MAX ids; nothing to free.
 * Full:    another id is refused.
 * Not here: utterances that are there (utterance_table.h).
 */
#ifndef EARSHOT_HELD_IDS_H
#define EARSHOT_HELD_IDS_H

#include "common/base/bytes.h"

#define HELD_IDS_MAX 8

struct held_ids {
    uint32_t id[HELD_IDS_MAX];
    size_t count;
};

/* False when it is full; an id that is there already stays. */
MUST_USE bool held_ids_put(struct held_ids *h, uint32_t id);
/* Takes every id from..to off the list; true when `to` was on it. */
bool held_ids_release(struct held_ids *h, uint32_t from, uint32_t to);

#endif
