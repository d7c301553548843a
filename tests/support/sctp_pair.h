/*
 * sctp_pair.h - two associations and a network between them, in virtual time
 *
 * Takes:   how the network is, what is told of, where the TSNs begin.
 * Gives:   messages and events of both ends, in the order in which they come.
 * Checks:  by assertion, that a tick at a deadline puts the deadline off, and that packets are no
 *          longer than was agreed.
 */
#ifndef EARSHOT_SCTP_PAIR_H
#define EARSHOT_SCTP_PAIR_H

#include "services/transceiver/core/transport/sctp/sctp_association.h"
#include "tests/support/sim_link.h"

#define SCTP_PAIR_PACKET_BYTES  1163
#define SCTP_PAIR_MESSAGE_BYTES (256 * 1024)

struct sctp_pair_hooks {
    void *context;
    void (*message)(void *context, int end, const struct sctp_message *message);
    void (*event)(void *context, int end, const struct sctp_event *event);
    /* A packet leaves `end`. False: it is lost. */
    bool (*packet)(void *context, int end, struct bytes_view packet);
};

/* The random numbers of one end: the first TSN is chosen, all others are drawn. */
struct sctp_pair_random {
    struct random_generator generator;
    unsigned draws;
    uint32_t first_tsn;
};

struct sctp_pair {
    struct sctp_association *end[2];
    struct sctp_pair_hooks hooks; /* each may be NULL */
    struct sim_link link;
    struct sctp_pair_random random[2];
    bool is_deaf[2]; /* does not poll messages */
    uint64_t now_us;
    uint64_t packets[2]; /* sent by each */
};

struct sctp_pair_config {
    struct sim_link_config link;
    struct sctp_pair_hooks hooks;
    uint32_t first_tsn[2];
    bool zero_checksum[2];
    uint64_t begin_us;
};

struct sctp_pair *sctp_pair_create(const struct sctp_pair_config *config);
void sctp_pair_destroy(struct sctp_pair *p);

/* After a command to an end: what follows from it at once. */
void sctp_pair_drain(struct sctp_pair *p);
/* All that happens up to then. */
void sctp_pair_run_until(struct sctp_pair *p, uint64_t until_us);
/* Who is told to begins; then a second goes by. */
void sctp_pair_connect(struct sctp_pair *p, bool first_begins, bool second_begins);

#endif
