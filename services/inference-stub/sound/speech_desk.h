/*
 * speech_desk.h - which sentences are wanted as speech, and what was made of them
 *
 * Takes:   orders of calls, and sounds from whoever makes them (speech_worker.h), one at a time.
 * Gives:   the sentence that has waited longest, and to each order its sound. What was made is kept
 *          and said again without being made again.
 * Owns:    SPEECH_DESK_PLACES sentences and SPEECH_DESK_SAMPLES of sound that nobody waits for.
 * Full:    what was used longest ago goes; where every place is waited for, order says 0 and the
 *          caller asks again later.
 * Not here: threads; a desk belongs to one.
 */
#ifndef EARSHOT_SPEECH_DESK_H
#define EARSHOT_SPEECH_DESK_H

#include "common/base/status.h"
#include "services/inference-stub/sound/sound.h"
#include "services/inference-stub/sound/speech.h"

#define SPEECH_DESK_PLACES  512
#define SPEECH_DESK_SAMPLES (8 * 1024 * 1024) /* 16 MB: nine minutes at 16 kHz */

struct speech_desk;

/* NULL when there is no memory. */
struct speech_desk *speech_desk_create(void);
void speech_desk_destroy(struct speech_desk *d);

/* A number for fetch and cancel; 0 when full. text is copied, at most SPEECH_TEXT_CAP - 1 bytes. */
uint32_t speech_desk_order(struct speech_desk *d, const char *text, uint32_t rate_hz);

enum speech_progress { SPEECH_WAITING, SPEECH_READY, SPEECH_FAILED };

/* READY and FAILED end the order; READY makes the caller a holder of *out. */
enum speech_progress speech_desk_fetch(struct speech_desk *d, uint32_t order, struct sound **out);
void speech_desk_cancel(struct speech_desk *d, uint32_t order);

struct speech_desk_counts {
    uint64_t made;
    uint64_t failed;
    uint64_t waiting; /* sentences that are not made yet */
};

struct speech_desk_counts speech_desk_counts(const struct speech_desk *d);

struct speech_work {
    char text[SPEECH_TEXT_CAP];
    uint32_t rate_hz;
};

/* What is to be made next; finish it before the next one. False: nothing is. */
MUST_USE bool speech_desk_take_work(struct speech_desk *d, struct speech_work *out);
/* The sound is the desk's from here on; NULL: there is none of that sentence. */
void speech_desk_finish_work(struct speech_desk *d, struct sound *sound);

#endif
