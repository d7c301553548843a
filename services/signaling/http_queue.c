/* http_queue.c - see http_queue.h */
#include "services/signaling/http_queue.h"

#include "services/signaling/http_socket.h"

#include <stdlib.h>

bool http_queue_init(struct http_queue *q, struct http_connection *connection,
                     unsigned connections_max, struct http_server_counts *counts)
{
    *q = (struct http_queue){.connection = connection,
                             .connections_max = connections_max,
                             .counts = counts,
                             .number_next = 1,
                             .place = calloc(connections_max, sizeof(*q->place))};
    return q->place != NULL;
}

void http_queue_deinit(struct http_queue *q)
{
    free(q->place);
}

bool http_queue_is_empty(const struct http_queue *q)
{
    return q->count == 0;
}

void http_queue_note(struct http_queue *q, struct http_connection *c)
{
    const bool has_event = c->state == HTTP_CONNECTION_READY || c->has_end ||
                           (c->socket != NULL && http_socket_has_event(c->socket)) ||
                           (c->socket != NULL && c->state == HTTP_CONNECTION_GONE);
    if (c->is_queued || !has_event) {
        return;
    }
    c->is_queued = true;
    q->place[(q->first + q->count) % q->connections_max] = (uint32_t)(c - q->connection);
    q->count++;
}

/* The low half finds the connection, the high half tells what it carries apart. */
static uint64_t next_number(struct http_queue *q, const struct http_connection *c)
{
    return q->number_next++ << 32 | (uint64_t)(c - q->connection);
}

static bool take_from_socket(struct http_queue *q, struct http_connection *c,
                             struct http_event *out)
{
    struct http_socket *k = c->socket;
    k->number = k->number != 0 ? k->number : next_number(q, c);
    *out = (struct http_event){.socket = k->number, .tag = k->tag};
    if (k->has_open_event) {
        k->has_open_event = false;
        out->kind = HTTP_EVENT_SOCKET_OPEN;
        return true;
    }
    if (http_socket_take(k, &out->text)) {
        q->lender = c;
        out->kind = HTTP_EVENT_SOCKET_MESSAGE;
        metric_add(&q->counts->socket_messages_total, 1);
        return true;
    }
    if (c->state == HTTP_CONNECTION_GONE) {
        http_socket_destroy(k);
        c->socket = NULL;
        http_connection_settle(c);
        out->kind = HTTP_EVENT_SOCKET_END;
        return true;
    }
    return false;
}

static bool take_from(struct http_queue *q, struct http_connection *c, struct http_event *out)
{
    if (c->has_end) {
        *out = (struct http_event){.kind = HTTP_EVENT_END,
                                   .exchange = c->end_exchange,
                                   .is_delivered = c->end_is_delivered};
        c->has_end = false;
        http_connection_settle(c);
        http_queue_note(q, c); /* perhaps the next request came behind it */
        return true;
    }
    if (c->state == HTTP_CONNECTION_READY) {
        c->state = HTTP_CONNECTION_TAKEN;
        c->exchange = next_number(q, c);
        *out = (struct http_event){
            .kind = HTTP_EVENT_REQUEST, .exchange = c->exchange, .request = &c->request};
        return true;
    }
    if (c->socket != NULL && take_from_socket(q, c, out)) {
        http_queue_note(q, c);
        return true;
    }
    return false; /* the client left before anybody took its request */
}

/* The message that was taken ends here, and its client may send the next one. */
static void release_message(struct http_queue *q)
{
    struct http_connection *c = q->lender;
    q->lender = NULL;
    if (c != NULL && c->socket != NULL) {
        http_socket_release(c->socket);
        http_connection_socket_changed(c);
        http_queue_note(q, c);
    }
}

bool http_queue_take(struct http_queue *q, struct http_event *out)
{
    release_message(q);
    while (q->count > 0) {
        struct http_connection *c = &q->connection[q->place[q->first]];
        q->first = (q->first + 1) % q->connections_max;
        q->count--;
        c->is_queued = false;
        if (take_from(q, c, out)) {
            return true;
        }
    }
    return false;
}
