/*
 * voice_sender.h - the model's speech on the wire, on a 20 ms clock
 *
 * Takes:   slots of the playout queue, and time.
 * Gives:   one RTP packet per slot of 20 ms (speech, or the silence packet, so that the client's
 *          buffer and the relay's flow stay warm).
 * Clock:   slot n leaves at anchor + n x 20 ms. Late by a slot or more: at most two packets back to
 *          back, then slots are skipped and counted; the timestamp runs on. Never a burst.
 * Owns:    encoder, RTP numbers; no heap after attach.
 * Not here: what is to be said (playout_queue.h), frames of the backend (voice_downlink.h), SRTP
 *          (session.c), reports (voice_rtcp.h).
 */
#ifndef EARSHOT_VOICE_SENDER_H
#define EARSHOT_VOICE_SENDER_H

#include "services/transceiver/core/media/playout_queue.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/media/voice_silence.h"
#include "services/transceiver/core/rtp/rtp_sender.h"

#define VOICE_SENDER_SLOT_US (20 * US_PER_MS)
/* Sessions are spread over the slot, so that their packets do not leave in one spike. */
#define VOICE_SENDER_PHASES 10

struct voice_sender_config {
    uint32_t session_id;
    enum voice_codec codec;
    uint8_t payload_type;
    uint32_t bitrate_bps;                  /* of Opus; 0 = as voice_encoder.h has it */
    unsigned complexity;                   /* likewise, with bitrate_bps */
    const struct voice_silences *silences; /* borrowed */
    struct rtp_sender_config rtp;          /* clock_hz is the codec's and need not be set */
};

struct voice_sender_stats {
    uint64_t packets;
    uint64_t speech_packets; /* of those, with speech */
    uint64_t skipped_slots;
};

struct voice_sender;

struct voice_sender *voice_sender_create(const struct voice_sender_config *config);
void voice_sender_destroy(struct voice_sender *s);

/* From now on the slots come from this queue (borrowed), at rate_hz; before, all is silence. False
 * without memory. */
MUST_USE bool voice_sender_attach(struct voice_sender *s, struct playout_queue *queue,
                                  uint32_t rate_hz);
/* Media can flow: the clock starts. */
void voice_sender_start(struct voice_sender *s, uint64_t now_us);

/* A FLUSH took what was spoken last: nothing that was sent before comes again in any copy (in-band
 * FEC, RED, NACK). */
void voice_sender_cut(struct voice_sender *s);

/* The packet of a slot that is due, written to out (OUTBOX_DATAGRAM_BYTES of room); 0 = none. Call
 * until 0. */
size_t voice_sender_poll_packet(struct voice_sender *s, uint8_t *out, uint64_t now_us);
uint64_t voice_sender_next_timeout(const struct voice_sender *s);

/* Borrowed: the numbers that reports are made of. */
struct rtp_sender *voice_sender_rtp(struct voice_sender *s);
const struct voice_sender_stats *voice_sender_stats(const struct voice_sender *s);

#endif
