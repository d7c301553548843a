/*
 * speech.h - text becomes speech, once, at start
 *
 * The only room that sees flite. Its library is not thread safe and takes some 100 ms for a
 * sentence: call from one thread, before any loop runs.
 */
#ifndef EARSHOT_SPEECH_H
#define EARSHOT_SPEECH_H

#include "common/base/status.h"
#include "services/inference-stub/sound/pcm.h"

#define SPEECH_TEXT_CAP 512

/* The same sound at both rates, to be freed with speech_free. False and a fault, and nothing to
 * free, when flite makes no sound of the text. */
MUST_USE bool speech_synthesize(const char *text, struct pcm_view *at_16k, struct pcm_view *at_24k,
                                struct fault *fault);
void speech_free(struct pcm_view *pcm);

#endif
