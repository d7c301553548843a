/*
 * calls_state.h - what the calls of HTTP have in common: those who make them and operate on them
 *
 * Private to calls_api.c and call_operations.c.
 */
#ifndef EARSHOT_CALLS_STATE_H
#define EARSHOT_CALLS_STATE_H

#include "common/runtime/log.h"
#include "services/signaling/call_works.h"
#include "services/signaling/calls_api.h"

struct calls_api {
    struct http_server *server;
    struct control_plane *plane;
    struct key_ring *ring;
    const struct signaling_config *config;
    struct calls_counts counts;
    struct random_source random;
    struct log_limit created_limit;
    struct log_limit refused_limit;
    struct log_limit hangup_limit;
    calls_teller teller; /* or NULL */
    void *teller_context;
    bool is_draining;
    struct secret_calls *live;
    struct call_works works;
};

/* Once for each request; takes over an owned body. 0 asks nothing any more. */
void calls_state_answer(struct calls_api *a, uint64_t asker, const struct http_response *r);

struct control_call call_operations_call_of(const struct call_work *w);
/* Asks the transceiver of w to end its call. False: its queue is full. */
MUST_USE bool call_operations_submit_end(struct calls_api *a, const struct call_work *w,
                                         uint64_t ticket, const char *reason, uint64_t now_us);
/* An outcome of CONTROL_END_SESSION that says that a call was there and is over. */
bool call_operations_is_ended(const struct session_outcome *outcome);
/* The outcome of a work that call_operations.h began. */
void call_operations_outcome(struct calls_api *a, struct call_work *w,
                             const struct session_outcome *outcome, uint64_t now_us);

#endif
