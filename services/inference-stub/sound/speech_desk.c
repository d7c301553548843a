/* speech_desk.c - see speech_desk.h */
#include "services/inference-stub/sound/speech_desk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum place_state { PLACE_FREE, PLACE_WAITING, PLACE_MAKING, PLACE_READY, PLACE_FAILED };

struct place {
    enum place_state state;
    uint32_t generation; /* orders of another sentence that had this place are void */
    size_t orders;       /* not fetched yet */
    uint64_t used;       /* by the desk's own count */
    struct sound *sound;
    struct speech_work work;
};

struct speech_desk {
    uint64_t uses;
    size_t kept_samples;
    struct place *making;
    struct speech_desk_counts counts;
    struct place place[SPEECH_DESK_PLACES];
};

/* An order: the place in the low bits, its generation above; never 0. */
#define PLACE_BITS 9
static_assert(SPEECH_DESK_PLACES == 1 << PLACE_BITS, "an order names any place");

struct speech_desk *speech_desk_create(void)
{
    return calloc(1, sizeof(struct speech_desk));
}

void speech_desk_destroy(struct speech_desk *d)
{
    if (d == NULL) {
        return;
    }
    for (size_t i = 0; i < SPEECH_DESK_PLACES; i++) {
        sound_destroy(d->place[i].sound);
    }
    free(d);
}

static struct place *find_sentence(struct speech_desk *d, const struct speech_work *work)
{
    for (size_t i = 0; i < SPEECH_DESK_PLACES; i++) {
        struct place *p = &d->place[i];
        if (p->state != PLACE_FREE && p->state != PLACE_FAILED &&
            p->work.rate_hz == work->rate_hz && strcmp(p->work.text, work->text) == 0) {
            return p;
        }
    }
    return NULL;
}

static void vacate(struct speech_desk *d, struct place *p)
{
    d->counts.waiting -= p->state == PLACE_WAITING;
    if (p->sound != NULL) {
        d->kept_samples -= p->sound->pcm.count;
        sound_destroy(p->sound);
    }
    p->sound = NULL;
    p->state = PLACE_FREE;
}

/* The one used longest ago among those nobody waits for; NULL when there is none. */
static struct place *find_spare(struct speech_desk *d)
{
    struct place *oldest = NULL;
    for (size_t i = 0; i < SPEECH_DESK_PLACES; i++) {
        struct place *p = &d->place[i];
        if (p->state == PLACE_FREE) {
            return p;
        }
        if (p->orders == 0 && p->state != PLACE_MAKING &&
            (oldest == NULL || p->used < oldest->used)) {
            oldest = p;
        }
    }
    return oldest;
}

uint32_t speech_desk_order(struct speech_desk *d, const char *text, uint32_t rate_hz)
{
    struct speech_work work = {.rate_hz = rate_hz};
    (void)snprintf(work.text, sizeof(work.text), "%s", text);
    struct place *p = find_sentence(d, &work);
    if (p == NULL) {
        p = find_spare(d);
        if (p == NULL) {
            return 0;
        }
        vacate(d, p);
        p->state = PLACE_WAITING;
        d->counts.waiting++;
        p->generation = (p->generation + 1) % (UINT32_MAX >> PLACE_BITS);
        p->orders = 0;
        p->work = work;
    }
    p->used = ++d->uses;
    p->orders++;
    return (p->generation + 1) << PLACE_BITS | (uint32_t)(p - d->place);
}

/* NULL for a number that names no order. */
static struct place *place_of(struct speech_desk *d, uint32_t order)
{
    struct place *p = &d->place[order % SPEECH_DESK_PLACES];
    const bool is_current = order >> PLACE_BITS == p->generation + 1;
    return is_current && p->state != PLACE_FREE && p->orders > 0 ? p : NULL;
}

/* Sounds that nobody waits for give way to the bound. */
static void keep_within_bound(struct speech_desk *d)
{
    while (d->kept_samples > SPEECH_DESK_SAMPLES) {
        struct place *oldest = NULL;
        for (size_t i = 0; i < SPEECH_DESK_PLACES; i++) {
            struct place *p = &d->place[i];
            if (p->sound != NULL && p->orders == 0 && (oldest == NULL || p->used < oldest->used)) {
                oldest = p;
            }
        }
        if (oldest == NULL) {
            return;
        }
        vacate(d, oldest);
    }
}

enum speech_progress speech_desk_fetch(struct speech_desk *d, uint32_t order, struct sound **out)
{
    struct place *p = place_of(d, order);
    if (p == NULL) {
        return SPEECH_FAILED;
    }
    if (p->state == PLACE_WAITING || p->state == PLACE_MAKING) {
        return SPEECH_WAITING;
    }
    p->orders--;
    if (p->state == PLACE_FAILED) {
        return SPEECH_FAILED;
    }
    *out = sound_hold(p->sound);
    keep_within_bound(d);
    return SPEECH_READY;
}

void speech_desk_cancel(struct speech_desk *d, uint32_t order)
{
    struct place *p = place_of(d, order);
    if (p == NULL) {
        return;
    }
    p->orders--;
    if (p->orders == 0 && p->state == PLACE_WAITING) {
        vacate(d, p);
    }
    keep_within_bound(d);
}

bool speech_desk_take_work(struct speech_desk *d, struct speech_work *out)
{
    assert(d->making == NULL);
    for (size_t i = 0; i < SPEECH_DESK_PLACES; i++) {
        struct place *p = &d->place[i];
        if (p->state == PLACE_WAITING && (d->making == NULL || p->used < d->making->used)) {
            d->making = p;
        }
    }
    if (d->making == NULL) {
        return false;
    }
    d->making->state = PLACE_MAKING;
    *out = d->making->work;
    return true;
}

void speech_desk_finish_work(struct speech_desk *d, struct sound *sound)
{
    struct place *p = d->making;
    assert(p != NULL);
    d->making = NULL;
    p->sound = sound;
    p->state = sound == NULL ? PLACE_FAILED : PLACE_READY;
    d->counts.waiting--;
    d->counts.failed += sound == NULL;
    if (sound != NULL) {
        d->counts.made++;
        d->kept_samples += sound->pcm.count;
        keep_within_bound(d);
    }
}

struct speech_desk_counts speech_desk_counts(const struct speech_desk *d)
{
    return d->counts;
}
