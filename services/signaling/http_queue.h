/*
 * http_queue.h - connections that have something to say, each once, in the order in which it came
 *
 * Gives:   the events of requests and sockets, each taken once. The number of an exchange or a
 *          socket names its connection in the low half, and is used once.
 * Private to http_server.c.
 */
#ifndef EARSHOT_HTTP_QUEUE_H
#define EARSHOT_HTTP_QUEUE_H

#include "services/signaling/http_connection.h"

struct http_queue {
    struct http_connection *connection; /* connections_max of them, borrowed */
    unsigned connections_max;
    struct http_server_counts *counts;
    uint32_t *place; /* a ring of indexes of connections */
    size_t first;
    size_t count;
    uint64_t number_next;
    struct http_connection *lender; /* of the message that was taken last */
};

/* False without memory. */
MUST_USE bool http_queue_init(struct http_queue *q, struct http_connection *connection,
                              unsigned connections_max, struct http_server_counts *counts);
void http_queue_deinit(struct http_queue *q);
bool http_queue_is_empty(const struct http_queue *q);

/* Something has happened to the connection: perhaps it has an event. */
void http_queue_note(struct http_queue *q, struct http_connection *c);
/* What the last event lent ends here. */
MUST_USE bool http_queue_take(struct http_queue *q, struct http_event *out);

#endif
