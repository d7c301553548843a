/*
 * voice_sender.h - the model's speech on the wire: one RTP packet for each slot
 *
 * Takes:   slots of the playout queue, what the client reports, and time.
 * Gives:   speech as Opus or G.711; after it one slot of the running encoder, which carries what it
 *          still holds; then the silence packet of the process, so that the client's buffer and the
 *          relay's flow stay warm (idle_sparse: each 400 ms). Slots are of 20 ms; Opus of the
 *          backend goes as it is, and its packet is the slot.
 * Clock:   slot_clock.h. What begins to speak leaves at once; silence gives the time back.
 * Repair:  loss_response.h. In-band FEC and RED follow the client's reports; a packet that it asks
 *          for again is in the history. None of them repeats what a flush took back.
 * Owns:    RTP numbers, history; encoder and copies from the first words on, taken when those are
 *          queued. No heap when a packet is sent.
 * Not here: what is to be said (playout_queue.h), frames of the backend (voice_downlink.h), SRTP
 *          (session.c), reports (voice_rtcp.h).
 */
#ifndef EARSHOT_VOICE_SENDER_H
#define EARSHOT_VOICE_SENDER_H

#include "services/transceiver/core/media/encoder_effort.h"
#include "services/transceiver/core/media/playout_queue.h"
#include "services/transceiver/core/media/slot_clock.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/media/voice_silence.h"
#include "services/transceiver/core/rtp/rtp_history.h"
#include "services/transceiver/core/rtp/rtp_sender.h"

/* With idle_sparse one silent slot of these sends. */
#define VOICE_SENDER_SPARSE_SLOTS 20

struct voice_sender_config {
    uint32_t session_id;
    enum voice_codec codec; /* what the client hears */
    uint8_t payload_type;
    uint8_t red_payload_type; /* 0 = RED was not agreed */
    bool has_nack;            /* was agreed: keep what leaves */
    bool idle_sparse;
    uint32_t bitrate_bps;                  /* of Opus; 0 = as voice_encoder.h has it */
    const struct encoder_effort *effort;   /* borrowed; NULL: likewise */
    const struct voice_silences *silences; /* borrowed */
    struct rtp_sender_config rtp;          /* clock_hz is the codec's and need not be set */
};

struct voice_sender_stats {
    uint64_t packets;
    uint64_t speech_packets; /* of those, with speech */
    uint64_t red_packets;    /* of those, with a copy of the one before */
    uint64_t skipped_slots;
};

struct voice_sender;

struct voice_sender *voice_sender_create(const struct voice_sender_config *config);
void voice_sender_destroy(struct voice_sender *s);

/* From now on the slots come from this queue (borrowed), at its rate_hz (0: packets go as they
 * are). Before, all is silence. */
void voice_sender_attach(struct voice_sender *s, struct playout_queue *queue, uint32_t rate_hz);
/* Media can flow: the clock starts. */
void voice_sender_start(struct voice_sender *s, uint64_t now_us);

/* The queue changed: what can begin to speak is due now. */
void voice_sender_wake(struct voice_sender *s, uint64_t now_us);
/* A FLUSH took back what was spoken: nothing that was sent before comes again in any copy (in-band
 * FEC, RED, NACK). */
void voice_sender_cut(struct voice_sender *s);

/* The packet of a slot that is due, written to out (OUTBOX_DATAGRAM_BYTES of room); 0 = none. Call
 * until 0. */
size_t voice_sender_poll_packet(struct voice_sender *s, uint8_t *out, uint64_t now_us);
/* That packet left so, with SRTP. */
void voice_sender_keep(struct voice_sender *s, struct bytes_view packet);
uint64_t voice_sender_next_timeout(const struct voice_sender *s);

/* The client reported: see rtp_sender_report_block. */
void voice_sender_follow_report(struct voice_sender *s, uint64_t now_us);

/* Borrowed: the numbers that reports are made of. */
struct rtp_sender *voice_sender_rtp(struct voice_sender *s);
/* Borrowed: what may be sent again; NULL unless NACK was agreed. */
struct rtp_history *voice_sender_history(struct voice_sender *s);
const struct voice_sender_stats *voice_sender_stats(const struct voice_sender *s);

#endif
