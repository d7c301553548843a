/*
 * playout_queue.h - the model's speech, waiting to be spoken
 *
 * Takes:   pieces of utterances as fast as the backend pushes: PCM16 in any length, or Opus packets
 *          that go to the client as they are.
 * Gives:   what each slot is made of: 20 ms of samples, or one packet; what is to be told of each
 *          utterance; the credit limit.
 * Owns:    a ring of window_us and the table of utterances, taken by the first piece that is
 *          queued and given back after PLAYOUT_QUEUE_REST_US in which nothing was; no other heap
 *          after create. The ring is touched only as deep as is queued. At rest: half a KB.
 * Units:   *_us of media time, rounded down.
 * Rule:    sound never ends in a step: after the last sample of the model the level falls to zero
 *          in 5 ms, and one frame more carries what the encoder still holds. Packets end where they
 *          end.
 * Credit:  a piece counts when it comes, whatever becomes of it. What passes the window is dropped
 *          and not counted: samples in part, a packet as a whole.
 * Full:    64 utterances that wait, PLAYOUT_QUEUE_BYTES_PER_S of packets, or no memory:
 *          PLAYOUT_PUT_FULL.
 * Source:  docs/backend-protocol.md, "Speech toward the client".
 * Not here: the life of utterances (utterance_table.h), encoding and the 20 ms clock
 *          (voice_sender.h).
 */
#ifndef EARSHOT_PLAYOUT_QUEUE_H
#define EARSHOT_PLAYOUT_QUEUE_H

#include "common/base/bytes.h"
#include "services/transceiver/core/media/utterance_table.h"

#define PLAYOUT_QUEUE_FRAME_SAMPLES_MAX 960 /* 20 ms at 48 kHz */
#define PLAYOUT_QUEUE_PACKET_BYTES_MAX  1275
#define PLAYOUT_QUEUE_FADE_MS           5
/* 128 kb/s: four times what we send ourselves. */
#define PLAYOUT_QUEUE_BYTES_PER_S 16000
/* What a browser holds between the packet and the ear, unless known better. */
#define PLAYOUT_QUEUE_CLIENT_BUFFER_US (60 * US_PER_MS)
/* Longer than turns of a conversation are apart, and than a done may be told again. */
#define PLAYOUT_QUEUE_REST_US (10 * US_PER_S)

struct playout_queue_config {
    uint32_t rate_hz;   /* 8000, 16000, 24000 or 48000; 0 = packets */
    uint64_t window_us; /* credit: how much may wait; at least 60 ms */
};

struct playout_queue;

/* NULL without memory. */
struct playout_queue *playout_queue_create(const struct playout_queue_config *config);
void playout_queue_destroy(struct playout_queue *q);

/* A backend is there, the first or one that comes back: utterance_table_attach. A prebuffer beyond
 * the window is the window. */
void playout_queue_attach(struct playout_queue *q, uint64_t prebuffer_us, uint64_t progress_us,
                          uint64_t now_us);
void playout_queue_detach(struct playout_queue *q);

struct playout_piece {
    uint32_t utterance;
    struct bytes_view media; /* PCM16 little-endian, or one packet; may be empty */
    bool is_last;            /* completes the utterance */
    /* Where in the utterance it begins, after a resume: what was received before is dropped and not
     * counted again. 0 = behind what was received. */
    uint64_t offset_us;
};

enum playout_put_result {
    PLAYOUT_PUT_OK,
    PLAYOUT_PUT_STALE,  /* dropped: the utterance is done, flushed, complete, or not the newest */
    PLAYOUT_PUT_CREDIT, /* what passed the credit was dropped, and only that */
    PLAYOUT_PUT_FULL,   /* dropped: too many utterances or bytes, or no memory */
    PLAYOUT_PUT_GAP,    /* dropped: its offset lies beyond what was received */
    PLAYOUT_PUT_BAD     /* refused, not counted: half a sample; no packet of 10, 20, 40 or 60 ms */
};

/* A higher id than any before begins an utterance, and completes the one before it. */
enum playout_put_result playout_queue_put(struct playout_queue *q,
                                          const struct playout_piece *piece);
/* The backend sends nothing more: utterance_table_drain. */
void playout_queue_drain(struct playout_queue *q);

enum playout_slot {
    PLAYOUT_SLOT_SILENCE, /* nothing to encode: send the silence packet */
    PLAYOUT_SLOT_FIRST,   /* speech: reset the encoder before, the slot before was SILENCE */
    PLAYOUT_SLOT_SPEECH,
    PLAYOUT_SLOT_TAIL /* encode: the fall to zero, and what the encoder still holds */
};

/* The slot that leaves at now_us. frame: room for rate_hz / 50 samples; whole unless SILENCE. */
enum playout_slot playout_queue_take(struct playout_queue *q, int16_t *frame, uint64_t now_us);

struct playout_packet {
    size_t len;
    uint64_t duration_us; /* how long the slot is: 10, 20, 40 or 60 ms */
    uint8_t data[PLAYOUT_QUEUE_PACKET_BYTES_MAX];
};

/* The same with rate_hz 0: SILENCE (out untouched), FIRST or SPEECH. */
enum playout_slot playout_queue_take_packet(struct playout_queue *q, struct playout_packet *out,
                                            uint64_t now_us);
/* Speech waits that the next take would begin, and the slot before was SILENCE: nothing sounds, so
 * the next slot may come earlier. */
bool playout_queue_may_start(const struct playout_queue *q);

/* Holds an utterance: utterance_table_pause. */
MUST_USE bool playout_queue_pause(struct playout_queue *q, uint32_t utterance);
void playout_queue_pause_speaker(struct playout_queue *q);
void playout_queue_resume(struct playout_queue *q, uint32_t utterance);

struct playout_flushed {
    uint32_t flush;      /* the id of the flush, the wildcard resolved */
    uint32_t utterance;  /* of those flushed, the one that was playing; 0 = none */
    uint64_t sent_us;    /* of it */
    uint64_t dropped_us; /* of all flushed */
    bool is_cut; /* speech was taken of an utterance up to `flush`: no copy of it may leave */
};

/* Every utterance up to this id is dead, also those that did not come yet. What happened before was
 * polled by then; after the answer FLUSHED the dones are. */
struct playout_flushed playout_queue_flush(struct playout_queue *q, uint32_t utterance,
                                           uint64_t now_us);

/* Everything not done is done, for this reason; ids and credit begin anew, as for a new backend. */
void playout_queue_end(struct playout_queue *q, enum utterance_reason reason, uint64_t now_us);

MUST_USE bool playout_queue_poll_event(struct playout_queue *q, struct utterance_event *out);
/* A quarter of the window was freed since the limit was told: how much is accepted in all. */
MUST_USE bool playout_queue_poll_credit(struct playout_queue *q, uint64_t *limit_us);

/* How much of an utterance was heard: what left, less its way and the client's buffer. */
uint64_t playout_queue_heard_us(uint64_t sent_us, uint64_t rtt_us);

struct playout_position {
    uint32_t utterance;   /* the newest; 0 = none */
    uint64_t received_us; /* of it */
    uint64_t sent_us;     /* likewise */
    uint64_t received_total_us;
    uint64_t queued_us;
    uint64_t limit_us; /* the credit */
};

struct playout_position playout_queue_position(const struct playout_queue *q);
/* Since create: how often an utterance had its turn and too little to say. */
uint64_t playout_queue_underruns(const struct playout_queue *q);

#endif
