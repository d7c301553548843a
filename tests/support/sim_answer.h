/*
 * sim_answer.h - a client's offer as our end reads it, and the answer to it: SDP without signaling
 *
 * For tests that put a client right in front of a session or a leg.
 */
#ifndef EARSHOT_SIM_ANSWER_H
#define EARSHOT_SIM_ANSWER_H

#include "services/transceiver/core/sdp/sdp_answer.h"
#include "services/transceiver/core/transport/dtls_identity.h"
#include "tests/support/sim_client.h"

#define SIM_ANSWER_UFRAG_CHARS 23
#define SIM_ANSWER_PWD_CHARS   24

struct sim_answer {
    struct sdp_offer offer;
    char ufrag[SIM_ANSWER_UFRAG_CHARS + 1]; /* ours */
    char pwd[SIM_ANSWER_PWD_CHARS + 1];
};

/* Parses the client's offer and gives it the answer: it checks from now_us on. */
void sim_answer_client(struct sim_answer *a, struct sim_client *client,
                       const struct dtls_identity *identity, struct random_source random,
                       uint64_t now_us);

#endif
