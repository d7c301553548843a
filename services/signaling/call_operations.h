/*
 * call_operations.h - what clients do with a call that is there: PATCH, hang up, ask for it
 *
 * Rule:    only the tenant who made a call reaches it: its transceiver compares. For all others
 *          there is no such call.
 * Gives:   one answer to each, when the transceiver has spoken or its patience is over.
 */
#ifndef EARSHOT_CALL_OPERATIONS_H
#define EARSHOT_CALL_OPERATIONS_H

#include "services/signaling/access/auth.h"
#include "services/signaling/calls_api.h"

struct call_operation {
    uint64_t exchange; /* or another asker of calls_api.h */
    struct bytes_view call_id;
    const struct auth_identity *who;
};

/* Which transceiver has the call; false when none of ours can. */
MUST_USE bool call_operations_find_owner(struct calls_api *a, struct bytes_view call_id,
                                         uint32_t *out_instance_id);

void call_operations_patch(struct calls_api *a, const struct call_operation *operation,
                           const struct http_request *request, uint64_t now_us);
void call_operations_hang_up(struct calls_api *a, const struct call_operation *operation,
                             uint64_t now_us);
/* GET and HEAD: 204 for a call that has not ended. */
void call_operations_look(struct calls_api *a, const struct call_operation *operation,
                          uint64_t now_us);

/* Asks for the calls that are due (call_watch.h): the end of one may have been told in vain. */
void call_operations_ask(struct calls_api *a, uint64_t now_us);

#endif
