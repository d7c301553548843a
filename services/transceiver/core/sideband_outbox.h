/*
 * sideband_outbox.h - what a shard's sessions want their side-bands to hear
 *
 * One for all sessions of a shard, as outbox.h is: a session fills it, event_loop empties it in
 * each turn.
 * Takes:   messages of any length up to the memory that is left; they are copied.
 * Gives:   them, oldest first, borrowed until cleared.
 * Owns:    fixed memory made at create.
 * Fails:   full: the newest is dropped. Its sequence number is missing then, which tells whoever
 *          listens.
 */
#ifndef EARSHOT_SIDEBAND_OUTBOX_H
#define EARSHOT_SIDEBAND_OUTBOX_H

#include "common/base/bytes.h"

#define SIDEBANDS_MAX         4 /* of a call */
#define SIDEBAND_CALL_ID_CAP  65
#define SIDEBAND_OUTBOX_BYTES (1024 * 1024) /* of a shard: several of the longest messages */

struct sideband_message {
    char call_id[SIDEBAND_CALL_ID_CAP];
    uint32_t sideband_id; /* for this one only; 0 = for all but those that wait */
    uint32_t waiting[SIDEBANDS_MAX];
    size_t waiting_count;
    uint64_t sequence; /* of the call: one more than that of the message before */
    bool is_end;       /* the call is over: the text is the reason */
    struct bytes_view text;
};

struct sideband_outbox;

struct sideband_outbox *sideband_outbox_create(size_t bytes_cap);
void sideband_outbox_destroy(struct sideband_outbox *o);

/* False when it is full. */
MUST_USE bool sideband_outbox_add(struct sideband_outbox *o, const struct sideband_message *m);
/* False after the last. `cursor` starts at 0. */
bool sideband_outbox_next(const struct sideband_outbox *o, size_t *cursor,
                          struct sideband_message *out);
void sideband_outbox_clear(struct sideband_outbox *o);

#endif
