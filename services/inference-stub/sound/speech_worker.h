/*
 * speech_worker.h - a thread that makes speech of what is ordered at a desk
 *
 * Takes:   one sentence at a time from the desk; flite needs some 100 ms for it.
 * Gives:   its sound, and a descriptor that is readable when one waits.
 * Threads: the caller's thread owns the desk; a sentence and its sound change hands through two
 *          pipes, and no two threads ever see the same one.
 */
#ifndef EARSHOT_SPEECH_WORKER_H
#define EARSHOT_SPEECH_WORKER_H

#include "services/inference-stub/sound/speech_desk.h"

struct speech_worker;

/* The desk outlives the worker. NULL and a fault when the system has no thread or pipe for it.
 * Signals must be blocked before. */
struct speech_worker *speech_worker_open(struct speech_desk *desk, struct fault *fault);
/* Waits until the sentence under way is made. */
void speech_worker_close(struct speech_worker *w);

int speech_worker_fd(const struct speech_worker *w);
/* Call when the descriptor is readable and after each order: takes what was made to the desk, gives
 * the thread what is next. Never blocks. True: something was made. */
bool speech_worker_serve(struct speech_worker *w);

#endif
