/*
 * reorder_buffer.h - packets into their order, for a machine that listens
 *
 * Takes:   packets in the order of arrival, numbered without wraps, and the copies of older ones
 *          that came in them.
 * Gives:   slots in the order of the sequence, each number once: the packet, or what stands for it.
 *          What is in order leaves at once, there is no playout delay. A gap waits as
 *          reorder_window.h says, unless a copy fills it: that leaves at once as well.
 * Owns:    copies of the held payloads: REORDER_BUFFER_HELD_MAX of VOICE_PACKET_BYTES_MAX; no heap
 *          after create. Poll until false after every insert, and hardly one is ever held.
 * Units:   timestamp, duration: 48 kHz.
 * Rule:    a gap in the sequence is loss: as many packets as numbers, as many samples as the
 *          timestamps say, and what they have more than the packets is silence. A jump of the
 *          timestamp in an unbroken sequence is silence. Silence is never concealed, nothing is
 *          closed up: each slot says where it belongs.
 * Repair:  a copy; else FEC out of the packet behind, or out of its copy; else concealment, up to
 *          100 ms in a row; else nothing, and the next slot is a discontinuity.
 * Full:    the newest is refused and counted. A hole of REORDER_BUFFER_SPAN is passed in one step,
 *          without concealment.
 * Not here: decoding (voice_decoder.h), wraps and jumps (core/rtp/rtp_receiver.h).
 */
#ifndef EARSHOT_REORDER_BUFFER_H
#define EARSHOT_REORDER_BUFFER_H

#include "services/transceiver/core/media/reorder_window.h"
#include "services/transceiver/core/media/voice_packet.h"

#define REORDER_BUFFER_SPAN     REORDER_WINDOW_SPAN
#define REORDER_BUFFER_HELD_MAX 8

/* After this much concealment in a row nothing can be known any more: no samples. */
#define REORDER_BUFFER_CONCEAL_MAX 4800
/* One slot of silence is at most this long; a longer silence is several. */
#define REORDER_BUFFER_SILENCE_SLOT_MAX 4800
/* A longer silence is not spelled out: the next slot is a discontinuity. */
#define REORDER_BUFFER_SILENCE_MAX 480000
/* Nothing came for this long, and the sender had not said that it falls silent. */
#define REORDER_BUFFER_STALL_US (500 * US_PER_MS)

struct reorder_buffer;

struct reorder_buffer *reorder_buffer_create(void);
void reorder_buffer_destroy(struct reorder_buffer *b);

/* A new numbering begins with the next insert, and a discontinuity. What is held is dropped. */
void reorder_buffer_restart(struct reorder_buffer *b);

struct reorder_packet {
    uint64_t sequence; /* >= 64 */
    uint64_t timestamp;
    uint32_t duration;         /* 0 = no audio: neither loss nor concealment */
    bool is_dtx;               /* the sender falls silent here: its payload is not to be decoded */
    bool has_fec;              /* it carries a copy of the frame before it */
    struct bytes_view payload; /* copied */
};

enum reorder_result {
    REORDER_STORED,
    REORDER_DUPLICATE, /* it is held, was delivered, or is too old to tell */
    REORDER_LATE,      /* it was given up before it came */
    REORDER_TOO_LARGE, /* payload > VOICE_PACKET_BYTES_MAX */
    REORDER_FULL,
    REORDER_MISPLACED /* an overtaken packet, or a copy, that does not lie between its neighbours */
};

enum reorder_result reorder_buffer_insert(struct reorder_buffer *b, const struct reorder_packet *p,
                                          uint64_t now_us);
/* p came within a newer packet, which was inserted before. It fills an empty place only, and a
 * packet replaces it. */
enum reorder_result reorder_buffer_insert_copy(struct reorder_buffer *b,
                                               const struct reorder_packet *p, uint64_t now_us);

enum reorder_slot_kind {
    REORDER_SLOT_PACKET,  /* decode payload */
    REORDER_SLOT_COPY,    /* likewise; it was lost, this is the copy */
    REORDER_SLOT_FEC,     /* it was lost; payload is the packet behind it, which is the next slot */
    REORDER_SLOT_CONCEAL, /* it was lost: conceal `duration` */
    REORDER_SLOT_SILENCE  /* the sender was silent for `duration` */
};

struct reorder_slot {
    enum reorder_slot_kind kind;
    bool is_discontinuity; /* audio before this slot is missing, or the numbering is new */
    uint64_t timestamp;
    uint32_t duration;
    uint64_t arrived_us;       /* a packet's own; else that of the packet behind the gap */
    struct bytes_view payload; /* borrowed until the next insert */
};

/* The next slot that can be given now; false = wait for a packet or next_timeout. When nothing has
 * come for REORDER_BUFFER_STALL_US one slot of silence with a discontinuity says so; it takes no
 * time from what may still come. */
MUST_USE bool reorder_buffer_poll(struct reorder_buffer *b, struct reorder_slot *out,
                                  uint64_t now_us);
/* When the wait at a gap ends, or a stall is to be told; else TIME_NEVER. */
uint64_t reorder_buffer_next_timeout(const struct reorder_buffer *b);

/* After DTX the sender is silent until the next packet, and time goes on meanwhile. True when so:
 * *out is where the next REORDER_BUFFER_SILENCE_SLOT_MAX of silence end. */
MUST_USE bool reorder_buffer_is_silent(const struct reorder_buffer *b, uint64_t *out_end);
/* That slot of silence: reorder_buffer_is_silent, and its end has passed. A packet that overlaps it
 * keeps its place. */
void reorder_buffer_take_silence(struct reorder_buffer *b, struct reorder_slot *out);

struct reorder_stats {
    uint64_t delivered; /* packets, those without audio included */
    uint64_t copies;    /* that stood for a packet */
    uint64_t missing;   /* numbers that were given up; with `copies`, all that was lost or late */
    uint64_t copied;    /* in timestamp units: out of copies */
    uint64_t from_fec;  /* likewise: out of FEC */
    uint64_t concealed; /* likewise */
    uint64_t late;      /* came after they were given up: also in `missing` */
    uint64_t duplicates;
    uint64_t reordered; /* came after a newer one, in time */
    uint64_t refused;   /* too large, or full */
    uint64_t misplaced; /* packets and copies */
};

const struct reorder_stats *reorder_buffer_stats(const struct reorder_buffer *b);

#endif
