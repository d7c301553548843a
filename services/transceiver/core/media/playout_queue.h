/*
 * playout_queue.h - the model's speech, waiting to be spoken
 *
 * Takes:   PCM16 of utterances in any pieces, as fast as the backend pushes; ids that rise.
 * Gives:   one frame of 20 ms per take, to the sample; started, underrun and done of each
 *          utterance; the credit limit. done comes exactly once for each utterance that had an
 *          accepted piece, in the order of ids, whatever happens.
 * Owns:    a ring of window_us of samples, touched only as deep as was ever queued, and a table of
 *          PLAYOUT_QUEUE_UTTERANCES_MAX; no heap after create.
 * Units:   *_us of media time, from samples, rounded down.
 * Rule:    sound never ends in a step: after the last sample of the model the level falls to zero
 *          in 5 ms, and one frame more carries what the encoder still holds.
 * Full:    what passes the credit is dropped and not counted. An utterance beyond the table is
 *          dropped: poll events after each change, and only a backend that queues 64 gets there.
 * Source:  docs/backend-protocol.md, "Speech toward the client".
 * Not here: encoding (voice_encoder.h), the 20 ms clock (session.c), PAUSE and RESUME.
 */
#ifndef EARSHOT_PLAYOUT_QUEUE_H
#define EARSHOT_PLAYOUT_QUEUE_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

#define PLAYOUT_QUEUE_UTTERANCES_MAX    64
#define PLAYOUT_QUEUE_FRAME_SAMPLES_MAX 960 /* 20 ms at 48 kHz */
#define PLAYOUT_QUEUE_FADE_MS           5
/* An open utterance with too little to play ends after this. */
#define PLAYOUT_QUEUE_STARVE_US (2 * US_PER_S)
/* What a browser holds between the packet and the ear, unless known better. */
#define PLAYOUT_QUEUE_CLIENT_BUFFER_US (60 * US_PER_MS)

/* Utterance 0 and this one mean "all that were seen" in a flush. */
#define PLAYOUT_QUEUE_ALL UINT32_MAX

struct playout_queue_config {
    uint32_t rate_hz;      /* 8000..48000 */
    uint64_t window_us;    /* credit: how much may wait */
    uint64_t prebuffer_us; /* an utterance begins with this much, or complete; at most the window */
    uint64_t progress_us;  /* a playing utterance tells how far it is each time; 0 = never */
};

struct playout_queue;

struct playout_queue *playout_queue_create(const struct playout_queue_config *config);
void playout_queue_destroy(struct playout_queue *q);

enum playout_put_result {
    PLAYOUT_PUT_OK,
    PLAYOUT_PUT_STALE,    /* dropped: the utterance is done, flushed, complete, or not the newest */
    PLAYOUT_PUT_CREDIT,   /* what passed the credit was dropped, and only that */
    PLAYOUT_PUT_FULL,     /* dropped: too many utterances */
    PLAYOUT_PUT_ODD_BYTES /* refused: half a sample */
};

/* pcm: 16-bit little-endian, may be empty. is_last completes the utterance. A higher id than any
 * before begins an utterance, and completes the one before it. What is dropped for its id counts
 * against the credit as what is kept. */
enum playout_put_result playout_queue_put(struct playout_queue *q, uint32_t utterance,
                                          struct bytes_view pcm, bool is_last);

enum playout_slot {
    PLAYOUT_SLOT_SILENCE, /* nothing to encode: send the silence packet */
    PLAYOUT_SLOT_FIRST,   /* speech: reset the encoder before, the slot before was SILENCE */
    PLAYOUT_SLOT_SPEECH,
    PLAYOUT_SLOT_TAIL /* encode: the fall to zero, and what the encoder still holds */
};

/* The slot that leaves at now_us. frame: room for rate_hz / 50 samples; whole unless SILENCE. */
enum playout_slot playout_queue_take(struct playout_queue *q, int16_t *frame, uint64_t now_us);

/* Speech waits that the next take would begin, and the slot before was SILENCE: nothing sounds, so
 * the next slot may come earlier. */
bool playout_queue_may_start(const struct playout_queue *q);

struct playout_flushed {
    uint32_t flush;      /* the id of the flush, the wildcard resolved */
    uint32_t utterance;  /* of those flushed, the one that was playing; 0 = none */
    uint64_t sent_us;    /* of it */
    uint64_t dropped_us; /* of all flushed */
    bool is_cut;         /* the last speech taken is of an utterance up to `flush` */
};

/* Every utterance up to this id is dead, also those that did not come yet. Poll the events of
 * before first, answer FLUSHED, then poll again for the dones. */
struct playout_flushed playout_queue_flush(struct playout_queue *q, uint32_t utterance);

enum playout_done_reason {
    PLAYOUT_DONE_PLAYED,
    PLAYOUT_DONE_FLUSHED,
    PLAYOUT_DONE_STARVED,
    PLAYOUT_DONE_SESSION_END,
    PLAYOUT_DONE_BACKEND_LOST
};

/* Everything not done is done, for this reason; ids and credit begin anew, as for a new backend. */
void playout_queue_end(struct playout_queue *q, enum playout_done_reason reason);

enum playout_event_type {
    PLAYOUT_EVENT_STARTED,  /* its first sample was taken */
    PLAYOUT_EVENT_PROGRESS, /* progress_us of it were taken since the event before */
    PLAYOUT_EVENT_UNDERRUN, /* nothing left to take of an utterance that is not complete */
    PLAYOUT_EVENT_DONE,
    PLAYOUT_EVENT_CREDIT /* a quarter of the window was freed: tell the backend */
};

struct playout_event {
    enum playout_event_type type;
    uint32_t utterance;
    enum playout_done_reason reason; /* DONE */
    uint64_t sent_us;                /* of the utterance */
    uint64_t queued_us;              /* of the utterance */
    uint64_t limit_us;               /* CREDIT: what is accepted in all */
};

MUST_USE bool playout_queue_poll_event(struct playout_queue *q, struct playout_event *out);

/* How much of an utterance was heard: what left, less its way and the client's buffer. */
uint64_t playout_queue_heard_us(uint64_t sent_us, uint64_t rtt_us);

struct playout_stats {
    uint64_t received_us; /* accepted in all, stale pieces included */
    uint64_t queued_us;
    uint64_t stale_pieces;
    uint64_t credit_errors;
    uint64_t underruns;
};

struct playout_stats playout_queue_stats(const struct playout_queue *q);

#endif
