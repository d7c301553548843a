/*
 * speech.h - text becomes speech
 *
 * The only file that sees flite. Its library is not thread safe and takes some 100 ms for a
 * sentence: one thread of a process calls this, and none that runs a loop.
 */
#ifndef EARSHOT_SPEECH_H
#define EARSHOT_SPEECH_H

#include "common/base/status.h"
#include "services/inference-stub/sound/pcm.h"

#define SPEECH_TEXT_CAP 512

/* The sound at 16000 or 24000 Hz, to be freed with speech_free. False and a fault, and nothing to
 * free, when flite makes no sound of the text. */
MUST_USE bool speech_synthesize(const char *text, uint32_t rate_hz, struct pcm_view *out,
                                struct fault *fault);
void speech_free(struct pcm_view *pcm);

#endif
