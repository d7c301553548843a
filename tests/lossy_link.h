/*
 * lossy_link.h - a network of two ends in virtual time: it loses, repeats and reorders datagrams
 *
 * Same seed, same network. Ends are 0 and 1. Full: the newest datagram is lost, as in a router.
 */
#ifndef EARSHOT_LOSSY_LINK_H
#define EARSHOT_LOSSY_LINK_H

#include "common/base/bytes.h"
#include "common/base/random.h"
#include "common/base/time_us.h"

#define LOSSY_LINK_DATAGRAMS 256
#define LOSSY_LINK_BYTES     1500
#define LOSSY_LINK_PER_MILLE 1000

struct lossy_datagram {
    uint64_t arrives_us;
    int to;
    size_t len;
    uint8_t data[LOSSY_LINK_BYTES];
};

struct lossy_link {
    struct random_generator seed;
    unsigned loss_per_mille;
    unsigned repeat_per_mille;
    uint64_t delay_us;
    uint64_t jitter_us; /* added at random: what overtakes, overtakes */
    size_t count;
    struct lossy_datagram flying[LOSSY_LINK_DATAGRAMS];
};

static inline bool lossy_link_happens(struct lossy_link *l, unsigned per_mille)
{
    return random_generator_next(&l->seed) % LOSSY_LINK_PER_MILLE < per_mille;
}

static inline void lossy_link_send(struct lossy_link *l, int to, struct bytes_view datagram,
                                   uint64_t now_us)
{
    const int copies = lossy_link_happens(l, l->repeat_per_mille) ? 2 : 1;
    for (int i = 0; i < copies; i++) {
        const uint64_t jitter_us =
            l->jitter_us == 0 ? 0 : random_generator_next(&l->seed) % l->jitter_us;
        if (lossy_link_happens(l, l->loss_per_mille) || l->count == LOSSY_LINK_DATAGRAMS ||
            datagram.len > LOSSY_LINK_BYTES) {
            continue;
        }
        struct lossy_datagram *d = &l->flying[l->count];
        l->count++;
        d->arrives_us = now_us + l->delay_us + jitter_us;
        d->to = to;
        d->len = datagram.len;
        memcpy(d->data, datagram.data, datagram.len);
    }
}

/* The first datagram to arrive, NULL when none is under way. */
static inline struct lossy_datagram *lossy_link_first(struct lossy_link *l)
{
    struct lossy_datagram *first = NULL;
    for (size_t i = 0; i < l->count; i++) {
        if (first == NULL || l->flying[i].arrives_us < first->arrives_us) {
            first = &l->flying[i];
        }
    }
    return first;
}

static inline uint64_t lossy_link_next_us(struct lossy_link *l)
{
    const struct lossy_datagram *first = lossy_link_first(l);
    return first == NULL ? TIME_NEVER : first->arrives_us;
}

/* False when nothing has arrived by now_us. */
static inline bool lossy_link_take(struct lossy_link *l, uint64_t now_us,
                                   struct lossy_datagram *out)
{
    struct lossy_datagram *first = lossy_link_first(l);
    if (first == NULL || first->arrives_us > now_us) {
        return false;
    }
    *out = *first;
    l->count--;
    const size_t hole = (size_t)(first - l->flying);
    memmove(first, first + 1, (l->count - hole) * sizeof(*first)); /* keeps their order */
    return true;
}

#endif
