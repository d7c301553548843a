/*
 * flow_rivals.h - the other sessions that claim a client's address
 *
 * A transceiver may answer toward an address that a spoofer lent it, so several sessions can send
 * to one client. The flow's owner keeps it while it sends; but a relay that has just started takes
 * the first that it hears for the owner, and that may be the spoofer's. So the others are
 * remembered while they claim the client, and the client's datagrams go to all of them.
 * Takes:   confirmed flows and who else sent to their clients.
 * Owns:    FLOW_RIVALS_MAX places, made at create. A flow's `rival` is its place here; a place that
 *          names another client, as after the table outlived the process, is no claim.
 * Full:    FLOW_RIVALS_OF_CLIENT claims on one client: a further session takes the place of the one
 *          that was silent longest, so who sends more often than spoofed checks are answered is
 *          always among them. A client more than there are places: its flow stays its owner's.
 *          Copies of one client's datagrams have a rate, or a caller with sessions of his own could
 *          multiply his datagrams.
 * Time:    a claim is over FLOW_RIVAL_LIFE_US after its last downlink.
 */
#ifndef EARSHOT_FLOW_RIVALS_H
#define EARSHOT_FLOW_RIVALS_H

#include "services/relay/core/flow_table.h"

#define FLOW_RIVALS_MAX         255 /* clients: what a byte can name, but FLOW_RIVAL_NONE */
#define FLOW_RIVALS_OF_CLIENT   3
#define FLOW_RIVAL_LIFE_US      (3 * US_PER_S)
#define FLOW_RIVAL_COPIES_PER_S 4000 /* of one client, for all of its rivals */
#define FLOW_RIVAL_COPIES_BURST 2000

struct flow_rivals;

/* NULL without memory. */
struct flow_rivals *flow_rivals_create(void);
void flow_rivals_destroy(struct flow_rivals *r);

/* A session that is not the flow's owner sent to its client. True when that is a new claim. */
bool flow_rivals_claim(struct flow_rivals *r, struct flow *flow, struct flow_owner rival,
                       uint64_t now_us);
/* The sessions that claim the flow, how many; the flow forgets them when there is none any more. */
size_t flow_rivals_find(struct flow_rivals *r, struct flow *flow,
                        struct flow_owner out[FLOW_RIVALS_OF_CLIENT], uint64_t now_us);
/* One of them may get a copy of a datagram: one that flow_rivals_find has just found. */
MUST_USE bool flow_rivals_take_copy(struct flow_rivals *r, const struct flow *flow,
                                    uint64_t now_us);

#endif
