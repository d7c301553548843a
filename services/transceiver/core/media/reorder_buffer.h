/*
 * reorder_buffer.h - packets into their order, for a machine that listens
 *
 * Takes:   packets in the order of arrival, numbered without wraps.
 * Gives:   slots in the order of the sequence, each number once: the packet, or what stands for it.
 *          What is in order leaves at once, there is no playout delay. A gap waits until K newer
 *          packets are here or window_us is over: K is 1, and 2 for 10 s after the network was seen
 *          to reorder; the window follows how late packets come.
 * Owns:    copies of the held payloads: REORDER_BUFFER_HELD_MAX of VOICE_PACKET_BYTES_MAX; no heap
 *          after create. Poll until false after every insert, and hardly one is ever held.
 * Units:   timestamp, duration: 48 kHz.
 * Rule:    a gap in the sequence is loss; a jump of the timestamp in an unbroken sequence is
 *          silence, and never concealed. Nothing is closed up: each slot says where it belongs.
 * Full:    the newest is refused and counted. A hole of REORDER_BUFFER_SPAN is passed in one step,
 *          without concealment.
 * Not here: decoding (voice_decoder.h), wraps and jumps (core/rtp/rtp_receiver.h).
 */
#ifndef EARSHOT_REORDER_BUFFER_H
#define EARSHOT_REORDER_BUFFER_H

#include "common/base/time_us.h"
#include "services/transceiver/core/media/voice_packet.h"

#define REORDER_BUFFER_SPAN     64
#define REORDER_BUFFER_HELD_MAX 8

#define REORDER_BUFFER_WINDOW_US_MIN (2 * US_PER_MS)
#define REORDER_BUFFER_WINDOW_US_MAX (60 * US_PER_MS)
/* Reordering is expected for this long after it was seen. */
#define REORDER_BUFFER_MEMORY_US (10 * US_PER_S)

/* After this much concealment in a row nothing can be known any more: no samples. */
#define REORDER_BUFFER_CONCEAL_MAX 4800
/* One slot of silence is at most this long; a longer silence is several. */
#define REORDER_BUFFER_SILENCE_SLOT_MAX 4800
/* A longer silence is not spelled out: the next slot is a discontinuity. */
#define REORDER_BUFFER_SILENCE_MAX 480000

struct reorder_buffer;

struct reorder_buffer *reorder_buffer_create(void);
void reorder_buffer_destroy(struct reorder_buffer *b);

/* A new numbering begins with the next insert. What is held is dropped. */
void reorder_buffer_restart(struct reorder_buffer *b);

struct reorder_packet {
    uint64_t sequence; /* >= 64 */
    uint64_t timestamp;
    uint32_t duration; /* voice_packet_duration; 0 = no audio: neither loss nor concealment */
    struct bytes_view payload; /* copied */
};

enum reorder_result {
    REORDER_STORED,
    REORDER_DUPLICATE, /* it is held, was delivered, or is too old to tell */
    REORDER_LATE,      /* it was given up before it came */
    REORDER_TOO_LARGE, /* payload > VOICE_PACKET_BYTES_MAX */
    REORDER_FULL
};

enum reorder_result reorder_buffer_insert(struct reorder_buffer *b, const struct reorder_packet *p,
                                          uint64_t now_us);

enum reorder_slot_kind {
    REORDER_SLOT_PACKET,  /* decode payload */
    REORDER_SLOT_CONCEAL, /* it was lost: conceal `duration` */
    REORDER_SLOT_SILENCE  /* the sender was silent for `duration` */
};

struct reorder_slot {
    enum reorder_slot_kind kind;
    bool is_discontinuity; /* audio before this slot is missing, or the numbering is new */
    uint64_t timestamp;
    uint32_t duration;
    uint64_t arrived_us;       /* a packet's own; else that of the packet behind the gap */
    struct bytes_view payload; /* a packet's; borrowed until the next insert */
};

/* The next slot that can be given now; false = wait for a packet or next_timeout. */
MUST_USE bool reorder_buffer_poll(struct reorder_buffer *b, struct reorder_slot *out,
                                  uint64_t now_us);
/* When the wait at a gap ends; TIME_NEVER without one. */
uint64_t reorder_buffer_next_timeout(const struct reorder_buffer *b);

struct reorder_stats {
    uint64_t delivered; /* packets, those without audio included */
    uint64_t missing;   /* numbers that were given up */
    uint64_t concealed; /* in timestamp units */
    uint64_t late;      /* came after they were given up: also in `missing` */
    uint64_t duplicates;
    uint64_t reordered; /* came after a newer one, in time */
    uint64_t refused;   /* too large, or full */
};

const struct reorder_stats *reorder_buffer_stats(const struct reorder_buffer *b);

#endif
