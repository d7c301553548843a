/*
 * stranger_gate.h - what an address that no transceiver has answered may cost
 *
 * A stranger is whoever has no confirmed flow. His requests carry a token, and a token costs a
 * cipher to open, a flow to remember and a check to answer: each has a limit here. Who has a
 * confirmed flow is never asked at this gate, so a flood of strangers does not touch a call.
 * Rules:   tokens are opened for all strangers together at STRANGER_CHECKS_PER_S. Beyond that, a
 *          reserve of as much again is for blocks of addresses whose requests were not refused
 *          lately: who sends what is good for nothing, and can not lie about his address, does not
 *          keep others out. (No limit for a block while there is room: whoever can lie could lock a
 *          block out with it.)
 *          New flows of a block, and strangers' requests to a session, have rates of their own: one
 *          leaked token must neither fill the table nor drown a transceiver, which takes 100
 *          checks a second of a session and no more.
 * Owns:    fixed memory, made at create (rate_buckets.h).
 */
#ifndef EARSHOT_STRANGER_GATE_H
#define EARSHOT_STRANGER_GATE_H

#include "services/relay/core/rate_buckets.h"
#include "services/relay/core/session_tally.h"

#define STRANGER_CHECKS_PER_S   100000 /* of one worker; and as many of the reserve */
#define STRANGER_CHECKS_BURST   10000
#define STRANGER_REFUSALS_PER_S 20 /* of one block of addresses */
#define STRANGER_REFUSALS_BURST 100
#define STRANGER_REQUESTS_PER_S 100 /* to one session */
#define STRANGER_REQUESTS_BURST 200

struct stranger_gate;

/* New flows of one block of addresses: bounds as in rate_buckets.h. NULL without memory. */
struct stranger_gate *stranger_gate_create(uint32_t flows_per_s, uint32_t flows_burst,
                                           struct flow_hash_seed seed);
void stranger_gate_destroy(struct stranger_gate *g);

/* A token may be opened for this address. Not to be asked about what no cipher need look at. */
MUST_USE bool stranger_gate_opens_token(struct stranger_gate *g, const struct net_addr *from,
                                        uint64_t now_us);
/* And the request was refused all the same, for whatever reason. */
void stranger_gate_note_refusal(struct stranger_gate *g, const struct net_addr *from,
                                uint64_t now_us);
/* A request may go to this session. */
MUST_USE bool stranger_gate_passes_request(struct stranger_gate *g, struct flow_owner owner,
                                           uint64_t now_us);
/* A flow may be opened for this address. */
MUST_USE bool stranger_gate_opens_flow(struct stranger_gate *g, const struct net_addr *from,
                                       uint64_t now_us);

#endif
