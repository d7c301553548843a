/*
 * agent_voice.h - the agent's speech on its way: utterances, credit, flushes
 *
 * Takes:   sounds, one behind the other, and what the transceiver tells.
 * Gives:   audio of at most AGENT_VOICE_CHUNK_MS a take while there is credit, and flushes.
 *          Utterance ids rise strictly and never repeat.
 * Owns:    the sounds of the newest utterance until it is over, so that a connection that broke can
 *          be sent again what it lost; no heap after create.
 * Full:    what goes beyond AGENT_VOICE_SOUNDS or AGENT_VOICE_MS of one utterance is not said.
 */
#ifndef EARSHOT_AGENT_VOICE_H
#define EARSHOT_AGENT_VOICE_H

#include "common/backend_link/backend_payload.h"
#include "services/inference-stub/sound/sound.h"
#include "services/inference-stub/sound/utterance_audio.h"

#define AGENT_VOICE_CHUNK_MS 100
#define AGENT_VOICE_SOUNDS   64
#define AGENT_VOICE_MS       90000

struct agent_voice;

/* NULL when there is no memory. */
struct agent_voice *agent_voice_create(uint32_t rate_hz, uint64_t credit_us);
void agent_voice_destroy(struct agent_voice *v);

/* The next utterance begins; what is unsent of the one before is dropped. Returns its id. */
uint32_t agent_voice_open(struct agent_voice *v);
/* The sound is the voice's from here on. At most samples_max of it are said. */
void agent_voice_add(struct agent_voice *v, struct sound *sound, uint64_t samples_max);
/* Nothing comes behind what was added. */
void agent_voice_close(struct agent_voice *v);
uint64_t agent_voice_added_samples(const struct agent_voice *v);
/* Every utterance up to this one is to be flushed. True: the newest is among them. */
bool agent_voice_flush(struct agent_voice *v, uint32_t utterance);

/* Media time that may be sent in all; a lower limit than before changes nothing. */
void agent_voice_credit(struct agent_voice *v, uint64_t limit_us);
/* PLAYBACK done. */
void agent_voice_done(struct agent_voice *v, uint32_t utterance);
/* Another connection: the transceiver has this much, and goes on there. */
void agent_voice_resume(struct agent_voice *v, const struct backend_position *position);

/* Drain both after each call above, flushes first. Audio is borrowed until the next call. */
bool agent_voice_take_flush(struct agent_voice *v, uint32_t *utterance);
bool agent_voice_take_audio(struct agent_voice *v, struct utterance_audio *out);

#endif
