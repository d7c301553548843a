/*
 * sim_ice.h - the ICE of a simulated client: full, controlling, its one pair is nominated at once
 *
 * Takes:   the credentials of the other side, its answers to checks, time.
 * Gives:   its own credentials, checks, and when the next one is due.
 */
#ifndef EARSHOT_SIM_ICE_H
#define EARSHOT_SIM_ICE_H

#include "common/base/random.h"
#include "common/crypto/hmac_sha1.h"
#include "tests/support/sim_sdp.h"

struct sim_ice {
    struct random_source random;
    char ufrag[9];
    char pwd[25];
    char next_ufrag[9];
    char next_pwd[25];
    char fragment[100];
    struct hmac_sha1_key remote_password;
    uint64_t check_us; /* when one is due; TIME_NEVER: none */
    bool has_path;     /* a check was answered */
    bool is_over;      /* the call: no check follows, whatever is answered */
};

void sim_ice_init(struct sim_ice *i, struct random_source random);

/* The other side's credentials are known: the checks begin. */
void sim_ice_start(struct sim_ice *i, const struct sim_sdp_answer *answer, uint64_t now_us);

/* New credentials, in a fragment with a NUL that is good until the next one. */
const char *sim_ice_restart(struct sim_ice *i);
/* They are used from now on, with the new ones of the other side. */
void sim_ice_restarted(struct sim_ice *i, const struct sim_sdp_answer *answer, uint64_t now_us);

/* A check, and the next one soon. Its length. */
size_t sim_ice_write_check(struct sim_ice *i, const struct sim_sdp_answer *answer, uint8_t *out,
                           size_t cap, uint64_t now_us);

/* The call is over: no more checks, although answers may still be on their way. */
void sim_ice_end(struct sim_ice *i);

/* False: it is no answer of the other side to a check. */
bool sim_ice_take_answer(struct sim_ice *i, struct bytes_view datagram, uint64_t now_us);

#endif
