/*
 * flow_rivals.h - the second session that claims a client's address
 *
 * A transceiver may answer toward an address that a spoofer lent it, so two sessions can send to
 * one client. The flow's owner keeps it while it sends; but a relay that has just started takes the
 * first that it hears for the owner, and that may be the spoofer's. So the other one is remembered
 * while it claims the client, and the client's datagrams go to both.
 * Takes:   confirmed flows and who else sent to their clients.
 * Owns:    FLOW_RIVALS_MAX places, made at create. A flow's `rival` is its place here; a place that
 *          names another client, as after the table outlived the process, is no claim.
 * Full:    one claim more is not remembered; the flow stays its owner's.
 * Time:    a claim is over FLOW_RIVAL_LIFE_US after its last downlink.
 */
#ifndef EARSHOT_FLOW_RIVALS_H
#define EARSHOT_FLOW_RIVALS_H

#include "services/relay/core/flow_table.h"

#define FLOW_RIVALS_MAX    255 /* what a byte can name, but FLOW_RIVAL_NONE */
#define FLOW_RIVAL_LIFE_US (3 * US_PER_S)

struct flow_rivals;

/* NULL without memory. */
struct flow_rivals *flow_rivals_create(void);
void flow_rivals_destroy(struct flow_rivals *r);

/* A session that is not the flow's owner sent to its client. True when that is a new claim. The
 * first claim is kept while it lasts: two sessions at most. */
bool flow_rivals_claim(struct flow_rivals *r, struct flow *flow, struct flow_owner rival,
                       uint64_t now_us);
/* The session that claims the flow; false, and the flow forgets it, when there is none any more. */
MUST_USE bool flow_rivals_find(const struct flow_rivals *r, struct flow *flow,
                               struct flow_owner *out, uint64_t now_us);

#endif
