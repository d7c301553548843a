/*
 * voice_downlink.h - the backend's speech on its way to the client
 *
 * Takes:   AUDIO_OUT, FLUSH, PAUSE and RESUME frames, and time.
 * Gives:   RTP packets, as voice_sender.h makes them; CREDIT, FLUSHED and PLAYBACK frames in the
 *          outbox.
 * Order:   create; attach when a backend accepts; detach when it is lost: what is queued plays on,
 *          and what would be told is kept. Then attach again, when it resumed; or restart and
 *          attach, when the one that comes knows nothing.
 * Fails:   a wrong frame is dropped and counted, and answered with an ERROR, one a second at most.
 *          The session goes on.
 * Owns:    playout queue and sender; the heap is used at attach, and when speech begins after a
 *          rest (playout_queue.h).
 * Source:  docs/backend-protocol.md, "Speech toward the client".
 * Not here: the 20 ms clock (voice_sender.h), SRTP (session.c), reports (voice_rtcp.h), what comes
 *          of a lost backend (backend_leg.h).
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

/* What became of a frame. From CREDIT on the name is the code of an ERROR. */
enum voice_downlink_result {
    VOICE_DOWNLINK_TAKEN,
    VOICE_DOWNLINK_STALE,   /* dropped: of an utterance that is over */
    VOICE_DOWNLINK_IGNORED, /* not about speech, before the ACCEPT, or after the last word */
    VOICE_DOWNLINK_CREDIT,  /* what passed the credit was dropped */
    VOICE_DOWNLINK_CODEC,
    VOICE_DOWNLINK_BAD_FRAME,
    VOICE_DOWNLINK_SEQUENCE, /* something is missing before it */
    VOICE_DOWNLINK_OVERLOAD, /* more utterances, or bytes, than are held */
    VOICE_DOWNLINK_RESULT_COUNT
};

/* "taken": the label of the counter. */
const char *voice_downlink_result_name(enum voice_downlink_result result);

struct voice_downlink_stats {
    uint64_t frames[VOICE_DOWNLINK_RESULT_COUNT];
    uint64_t underruns; /* utterances that had their turn and too little to say */
};

struct voice_downlink;

/* NULL without memory. */
struct voice_downlink *voice_downlink_create(const struct voice_downlink_config *config);
void voice_downlink_destroy(struct voice_downlink *d);

/* A backend accepted, for the first time or again: then each done of the last 10 s is told once
 * more. False: no memory; a format that is neither PCM16 at 8, 16, 24 or 48 kHz, nor Opus for a
 * client that hears Opus; or after a resume not the format of before. */
MUST_USE bool voice_downlink_attach(struct voice_downlink *d, const struct backend_accept *accept,
                                    uint64_t now_us);
/* The backend is gone, for now. */
void voice_downlink_detach(struct voice_downlink *d);
/* How far a backend had come: what a resume tells it. */
struct backend_position voice_downlink_position(const struct voice_downlink *d);
/* The backend that comes knows nothing, and was sent a START: what is queued is done, backend_lost,
 * told at once, before it can say anything. Ids, credit and flushes begin anew. */
void voice_downlink_restart(struct voice_downlink *d, uint64_t now_us);
/* Media can flow: the clock starts. */
void voice_downlink_start(struct voice_downlink *d, uint64_t now_us);

enum voice_downlink_result voice_downlink_input(struct voice_downlink *d,
                                                const struct backend_frame *frame, uint64_t now_us);
/* The client began to speak: holds what is being said, if the backend wants it so. */
void voice_downlink_speech_started(struct voice_downlink *d, uint64_t now_us);
/* The backend sends nothing more but a FLUSH: what there is is said, held or short of its prebuffer
 * or not. */
void voice_downlink_drain(struct voice_downlink *d, uint64_t now_us);
/* Nothing of the backend waits to be spoken. */
bool voice_downlink_is_drained(const struct voice_downlink *d);
/* Every utterance that is not done is done: backend_lost, or session_end. */
void voice_downlink_end(struct voice_downlink *d, bool is_backend_lost, uint64_t now_us);

/* The packet of a slot that is due, written to out (OUTBOX_DATAGRAM_BYTES of room); 0 = none. Call
 * until 0. */
size_t voice_downlink_poll_packet(struct voice_downlink *d, uint8_t *out, uint64_t now_us);
uint64_t voice_downlink_next_timeout(const struct voice_downlink *d);

/* Borrowed. */
struct voice_sender *voice_downlink_sender(struct voice_downlink *d);
struct voice_downlink_stats voice_downlink_stats(const struct voice_downlink *d);

#endif
