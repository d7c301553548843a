/*
 * audio_in.h - slots of the client's voice, decoded, as AUDIO_IN frames for one backend
 *
 * Takes:   slots in their order, still coded.
 * Gives:   AUDIO_IN frames in the outbox: samples at the backend's rate, or the payloads as they
 *          are (opus/48000); silence and time without sound as frames without payload. SPEECH
 *          frames when the client begins and ends to speak, and a flag on each frame between.
 * Owns:    the decoder, from prepare on; no other heap after create.
 * Rule:    what is missing is never closed up: each frame has its time, and the first one behind a
 *          hole says discontinuity.
 * Not here: order, repair, history (voice_uplink.h).
 */
#ifndef EARSHOT_AUDIO_IN_H
#define EARSHOT_AUDIO_IN_H

#include "common/backend_link/backend_payload.h"
#include "services/transceiver/core/media/voice_history.h"
#include "services/transceiver/core/outbox.h"

struct audio_in_config {
    uint32_t session_id;
    enum voice_codec codec;       /* the client's */
    struct backend_format format; /* what the backend accepted */
    struct outbox *outbox;        /* borrowed */
    bool is_continued;            /* of a call that had a backend before: its first frame says so */
    const struct audio_in *before; /* of the same backend, read by create: its speech goes on */
};

struct audio_in;

/* NULL: a format that can not be made of the client's codec, or no memory. PCM16 at 8, 16, 24 and
 * 48 kHz; opus/48000 of Opus. */
struct audio_in *audio_in_create(const struct audio_in_config *config);
void audio_in_destroy(struct audio_in *a);

/* The client has spoken, or does now: before the first put. False: no memory. */
MUST_USE bool audio_in_prepare(struct audio_in *a);

enum audio_in_result {
    AUDIO_IN_SOUND,
    AUDIO_IN_SILENCE,
    AUDIO_IN_GAP,      /* nothing was sent: a loss that goes to the backend as a gap */
    AUDIO_IN_UNDECODED /* nothing was sent: malformed, over the decode budget, or unprepared */
};

/* is_replayed: it was heard before the backend came, and is flagged late. */
enum audio_in_result audio_in_put(struct audio_in *a, const struct voice_history_slot *slot,
                                  bool is_replayed, uint64_t now_us);

/* The client has begun to speak since the last call. Who was heard before interrupts nobody. */
MUST_USE bool audio_in_take_onset(struct audio_in *a);

#endif
