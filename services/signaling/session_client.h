/*
 * session_client.h - requests to one transceiver, one after the other
 *
 * Takes:   requests with a ticket and a deadline; they are copied.
 * Gives:   for each request that was taken exactly one outcome, with its ticket.
 * Owns:    one NNG REQ socket. It carries one request at a time: a second send would silently
 *          cancel the first, so the others wait in a queue of SESSION_CLIENT_QUEUE_MAX. What
 *          clients do with calls that are there has SESSION_CLIENT_OPERATIONS_MAX of its places:
 *          however many of them come, offers find room.
 * Rule:    deadlines never go backwards: all of a client's requests have the same patience.
 * Fails:   submit returns false when the queue, or that part of it, is full. Silence is an outcome,
 *          at the deadline: whether the request arrived is then not known, and NNG goes on sending
 *          it until the next request takes its place.
 * Threads: one, with http_server: watch session_client_fd and call next when it is readable.
 */
#ifndef EARSHOT_SESSION_CLIENT_H
#define EARSHOT_SESSION_CLIENT_H

#include "common/base/status.h"
#include "common/base/time_us.h"
#include "common/control/control_message.h"

#define SESSION_CLIENT_QUEUE_MAX      64
#define SESSION_CLIENT_OPERATIONS_MAX (SESSION_CLIENT_QUEUE_MAX / 4)

enum session_outcome_kind {
    SESSION_REPLIED,
    SESSION_SILENT, /* sent, and no reply until the deadline */
    SESSION_UNSENT  /* the deadline came before its turn did */
};

struct session_outcome {
    uint64_t ticket;
    uint32_t instance_id;
    enum session_outcome_kind kind;
    struct control_reply reply; /* SESSION_REPLIED; its views end with the next call */
};

struct session_client;

/* Connects in the background. NULL and a fault for a URL that is no tcp://address:port. */
struct session_client *session_client_create(uint32_t instance_id, const char *control_url,
                                             struct fault *fault);
/* Without outcomes for what is under way: see session_client_is_idle. */
void session_client_destroy(struct session_client *c);
int session_client_fd(const struct session_client *c);

MUST_USE bool session_client_submit(struct session_client *c, uint64_t ticket,
                                    const struct control_request *request, uint64_t deadline_us);
/* The same for an operation that a client asks for. */
MUST_USE bool session_client_submit_operation(struct session_client *c, uint64_t ticket,
                                              const struct control_request *request,
                                              uint64_t deadline_us);
bool session_client_is_idle(const struct session_client *c);
uint64_t session_client_next_timeout(const struct session_client *c);

/* Does what is due and gives one outcome; call until false. decoder: shared by all clients. */
MUST_USE bool session_client_next(struct session_client *c, struct control_decoder *decoder,
                                  struct session_outcome *out, uint64_t now_us);

#endif
