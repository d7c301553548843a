/*
 * voice_downlink.h - the backend's speech on its way to the client, on a 20 ms clock
 *
 * Takes:   AUDIO_OUT and FLUSH frames, and time.
 * Gives:   one RTP packet per slot of 20 ms (speech, or the silence packet, so that the client's
 *          buffer and the relay's flow stay warm); CREDIT, FLUSHED and PLAYBACK frames in the
 *          outbox.
 * Clock:   slot n leaves at anchor + n x 20 ms. Late by a slot or more: at most two packets back to
 *          back, then slots are skipped and counted; the timestamp runs on. Never a burst.
 * Fails:   a wrong frame of the backend is dropped, and answered with an ERROR once a second.
 * Owns:    playout queue, encoder, RTP numbers; no heap after accept.
 * Not here: SRTP (session.c), reports (voice_rtcp.h).
 */
#ifndef EARSHOT_VOICE_DOWNLINK_H
#define EARSHOT_VOICE_DOWNLINK_H

#include "common/backend_link/backend_payload.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/outbox.h"
#include "services/transceiver/core/rtp/rtp_sender.h"

#define VOICE_DOWNLINK_SLOT_US (20 * US_PER_MS)
/* Sessions are spread over the slot, so that their packets do not leave in one spike. */
#define VOICE_DOWNLINK_PHASES 10

/* The silence packets of a process, made once: one per rate. */
struct voice_silences {
    struct voice_silence at_16khz;
    struct voice_silence at_24khz;
};

/* False without memory. */
MUST_USE bool voice_silences_make(struct voice_silences *out);

struct voice_downlink_config {
    uint32_t session_id;
    uint8_t opus_payload_type;
    uint64_t start_us;                     /* when the session clock was 0 */
    uint64_t credit_us;                    /* speech the backend may send ahead */
    uint32_t bitrate_bps;                  /* of Opus; 0 = as voice_encoder.h has it */
    unsigned complexity;                   /* likewise, with bitrate_bps */
    const struct voice_silences *silences; /* borrowed */
    struct outbox *outbox;                 /* borrowed */
    struct rtp_sender_config sender;
};

struct voice_downlink_stats {
    uint64_t packets;
    uint64_t speech_packets; /* of those, with speech */
    uint64_t skipped_slots;
};

struct voice_downlink;

struct voice_downlink *voice_downlink_create(const struct voice_downlink_config *config);
void voice_downlink_destroy(struct voice_downlink *d);

/* False: a format that is not PCM16 at 16 or 24 kHz, or no memory. */
MUST_USE bool voice_downlink_accept(struct voice_downlink *d, const struct backend_accept *accept);
/* Media can flow: the clock starts. */
void voice_downlink_start(struct voice_downlink *d, uint64_t now_us);

/* AUDIO_OUT and FLUSH; ignored before accept. */
void voice_downlink_input(struct voice_downlink *d, const struct backend_frame *frame,
                          uint64_t now_us);
/* Every utterance that is not done is done: backend_lost, or session_end. */
void voice_downlink_end(struct voice_downlink *d, bool is_backend_lost, uint64_t now_us);

/* The packet of a slot that is due, written to out (OUTBOX_DATAGRAM_BYTES of room); 0 = none. Call
 * until 0. */
size_t voice_downlink_poll_packet(struct voice_downlink *d, uint8_t *out, uint64_t now_us);
uint64_t voice_downlink_next_timeout(const struct voice_downlink *d);
/* True when the queue is empty: nothing of the backend waits to be spoken. */
bool voice_downlink_is_drained(const struct voice_downlink *d);

/* Borrowed: the numbers that reports are made of. */
struct rtp_sender *voice_downlink_sender(struct voice_downlink *d);
const struct voice_downlink_stats *voice_downlink_stats(const struct voice_downlink *d);

#endif
