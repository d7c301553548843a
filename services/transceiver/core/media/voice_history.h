/*
 * voice_history.h - the last two seconds of what was heard, still coded
 *
 * Takes:   slots in the order they were given, with the time on the session clock.
 * Gives:   each slot to one reader, in that order; after a seek those still held once more.
 * Owns:    VOICE_HISTORY_BYTES; no heap after create. Payloads are copied.
 * Full:    the oldest goes when it is older than VOICE_HISTORY_US, or has no room any more: speech
 *          at 110 kb/s fills it in 2 s. What goes unread is a discontinuity of the next.
 * Why:     a backend that accepts late, or comes back, still gets the first words. Coded, they are
 *          a tenth of the samples, and their rate need not be known.
 */
#ifndef EARSHOT_VOICE_HISTORY_H
#define EARSHOT_VOICE_HISTORY_H

#include "services/transceiver/core/media/reorder_buffer.h"

#define VOICE_HISTORY_BYTES 32768
#define VOICE_HISTORY_US    (2 * US_PER_S)

struct voice_history_slot {
    enum reorder_slot_kind kind;
    bool is_discontinuity;
    bool is_new_stream;     /* what was decoded before says nothing about it */
    bool is_late;           /* it came long after the fastest of the last seconds */
    uint64_t time_us;       /* session clock, of the first sample */
    uint64_t end_us;        /* likewise, behind the last one */
    uint32_t rtp_timestamp; /* as in the packet */
    uint32_t duration;      /* 48 kHz */
    uint64_t number;        /* given by add: 0, 1, 2, ... */
    struct bytes_view payload;
};

struct voice_history;

struct voice_history *voice_history_create(void);
void voice_history_destroy(struct voice_history *h);

/* slot->number is not read. */
void voice_history_add(struct voice_history *h, const struct voice_history_slot *slot);
/* The number that the next slot will have. */
uint64_t voice_history_next_number(const struct voice_history *h);
/* The session time from which on slots are held; false when none is. */
MUST_USE bool voice_history_begin_us(const struct voice_history *h, uint64_t *out);

/* The next slot to read is the first one held that is not over by `from_us`. */
void voice_history_seek(struct voice_history *h, uint64_t from_us);
/* Borrowed until the next add. False: all was read. */
MUST_USE bool voice_history_read(struct voice_history *h, struct voice_history_slot *out);

#endif
