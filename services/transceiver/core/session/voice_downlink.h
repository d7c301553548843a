/*
 * voice_downlink.h - the backend's speech on its way to the client
 *
 * Takes:   AUDIO_OUT and FLUSH frames, and time.
 * Gives:   RTP packets, as voice_sender.h makes them; CREDIT, FLUSHED and PLAYBACK frames in the
 *          outbox.
 * Fails:   a wrong frame of the backend is dropped, and answered with an ERROR once a second.
 * Owns:    playout queue and sender; no heap after attach.
 * Not here: the 20 ms clock (voice_sender.h), SRTP (session.c), reports (voice_rtcp.h).
 */
#ifndef EARSHOT_VOICE_DOWNLINK_H
#define EARSHOT_VOICE_DOWNLINK_H

#include "common/backend_link/backend_payload.h"
#include "services/transceiver/core/outbox.h"
#include "services/transceiver/core/session/voice_sender.h"

struct voice_downlink_config {
    uint32_t session_id;
    uint64_t start_us;     /* when the session clock was 0 */
    uint64_t credit_us;    /* speech the backend may send ahead */
    struct outbox *outbox; /* borrowed */
    struct voice_sender_config voice;
};

struct voice_downlink;

struct voice_downlink *voice_downlink_create(const struct voice_downlink_config *config);
void voice_downlink_destroy(struct voice_downlink *d);

/* False: a format that is not PCM16 at 16 or 24 kHz, or no memory. */
MUST_USE bool voice_downlink_attach(struct voice_downlink *d, const struct backend_accept *accept,
                                    uint64_t now_us);
/* Media can flow: the clock starts. */
void voice_downlink_start(struct voice_downlink *d, uint64_t now_us);

/* AUDIO_OUT and FLUSH; ignored before attach. */
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

/* Borrowed. */
struct voice_sender *voice_downlink_sender(struct voice_downlink *d);

#endif
