/*
 * sideband_queue.h - events on their way to or from an application, oldest first
 *
 * Owns:    a copy of each.
 * Full:    SIDEBAND_QUEUE_BYTES_MAX of text, SIDEBAND_QUEUE_COUNT_MAX of them, or no memory: put is
 *          false.
 */
#ifndef EARSHOT_SIDEBAND_QUEUE_H
#define EARSHOT_SIDEBAND_QUEUE_H

#include "common/base/random.h"
#include "common/control/control_message.h"

#define SIDEBAND_QUEUE_BYTES_MAX (1024 * 1024)
#define SIDEBAND_QUEUE_COUNT_MAX 4096

struct sideband_queued {
    uint64_t sequence; /* of what comes */
    bool is_for_us;
    bool is_end;
    uint8_t request_id[CONTROL_REQUEST_ID_BYTES]; /* of what goes */
    struct bytes_view text;
};

struct sideband_queue_entry;

/* Starts as zeros. */
struct sideband_queue {
    struct sideband_queue_entry *first;
    struct sideband_queue_entry *last;
    size_t bytes;
    size_t count;
};

MUST_USE bool sideband_queue_put(struct sideband_queue *q, const struct sideband_queued *in);
/* The oldest, until it is dropped; NULL when there is none. */
const struct sideband_queued *sideband_queue_peek(const struct sideband_queue *q);
/* The oldest gets another request id. */
void sideband_queue_rename_first(struct sideband_queue *q, struct random_source random);
void sideband_queue_drop(struct sideband_queue *q);
void sideband_queue_clear(struct sideband_queue *q);

#endif
