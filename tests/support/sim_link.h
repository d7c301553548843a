/*
 * sim_link.h - a network of two ends in virtual time: it loses, delays, repeats and reorders
 *
 * Takes:   datagrams of up to SIM_LINK_BYTES for end 0 or 1.
 * Gives:   what arrives, in the order of arrival. Same seed, same network.
 * Full:    the newest datagram is lost, as in a router.
 */
#ifndef EARSHOT_SIM_LINK_H
#define EARSHOT_SIM_LINK_H

#include "common/base/bytes.h"
#include "common/base/random.h"
#include "common/base/time_us.h"

#define SIM_LINK_DATAGRAMS 256
#define SIM_LINK_BYTES     1500
#define SIM_LINK_PER_MILLE 1000

struct sim_link_config {
    uint64_t seed;
    uint64_t delay_us;         /* one way */
    uint64_t jitter_us;        /* 0..jitter_us more, drawn for each: what overtakes, overtakes */
    bool keeps_order;          /* nothing overtakes: it queues */
    unsigned loss_per_mille;   /* in the long run */
    unsigned burst_mean;       /* losses in a row (Gilbert); 0 or 1: each by itself */
    unsigned repeat_per_mille; /* arrive twice, the second with a delay and a fate of its own */
    unsigned stray_per_mille;  /* arrive stray_us later */
    uint64_t stray_us;
};

struct sim_datagram {
    uint64_t arrives_us;
    uint64_t number; /* in the order in which they were sent */
    int to;
    size_t len;
    size_t slot;
};

struct sim_link {
    struct sim_link_config config;
    struct random_generator random;
    bool is_bad[2]; /* Gilbert's state of each direction */
    uint64_t held_until_us;
    uint64_t latest_us[2]; /* the last arrival planned */
    uint64_t sent;
    size_t count;
    struct sim_datagram flying[SIM_LINK_DATAGRAMS];
    uint16_t free_slot[SIM_LINK_DATAGRAMS];
    uint8_t data[SIM_LINK_DATAGRAMS][SIM_LINK_BYTES];
};

void sim_link_init(struct sim_link *l, const struct sim_link_config *config);
/* What is sent before until_us arrives after it, all at once: a radio that holds its queue. */
void sim_link_hold(struct sim_link *l, uint64_t until_us);

void sim_link_send(struct sim_link *l, int to, struct bytes_view datagram, uint64_t now_us);
/* TIME_NEVER when nothing is under way. */
uint64_t sim_link_next_us(const struct sim_link *l);
/* False when nothing has arrived by now_us. out: SIM_LINK_BYTES. */
MUST_USE bool sim_link_take(struct sim_link *l, uint8_t *out, struct sim_datagram *about,
                            uint64_t now_us);

#endif
