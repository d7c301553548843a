/*
 * http_socket.h - one WebSocket (RFC 6455): its whole messages in, its bounded queue out
 *
 * Takes:   pieces of messages from libwebsockets, which speaks the frames: masks, lengths, UTF-8,
 *          pings, the handshake of a close.
 * Gives:   whole text messages, one at a time: the next is not read before it was taken.
 * Bounds:  a message of message_bytes_max, a queue of HTTP_SOCKET_QUEUE_BYTES_MAX.
 * Private to http_server.c and the http_*.c behind it.
 */
#ifndef EARSHOT_HTTP_SOCKET_H
#define EARSHOT_HTTP_SOCKET_H

#include "common/base/time_us.h"
#include "services/signaling/http_server.h"

struct lws;
struct http_frame;

/* A close that its client does not answer ends by itself. */
#define HTTP_SOCKET_CLOSE_US (5 * US_PER_S)

struct http_socket {
    uint64_t number; /* 0: no event of it was taken yet */
    size_t tag;
    size_t message_bytes_max;
    bool is_open;
    bool has_open_event;
    bool is_held;
    bool is_ending;                  /* the time of its close runs */
    enum http_close_code close_code; /* 0: not closing */

    uint8_t *message; /* grows with what really comes */
    size_t message_len;
    size_t message_cap;
    bool has_message; /* it is whole, and was not released */
    bool is_lent;     /* it was taken */

    struct http_frame *first;
    struct http_frame *last;
    size_t queued_bytes;
};

/* NULL without memory. */
struct http_socket *http_socket_create(void);
/* It was let in. */
void http_socket_begin(struct http_socket *k, const struct http_judgement *judgement);
void http_socket_destroy(struct http_socket *k);

/* The int of each is for libwebsockets: -1 ends the connection. */
int http_socket_on_piece(struct http_socket *k, struct lws *wsi, struct bytes_view piece);
int http_socket_on_writeable(struct http_socket *k, struct lws *wsi);

/* Whether the client may send on. */
bool http_socket_is_reading(const struct http_socket *k);
/* It was opened, or has a message. */
bool http_socket_has_event(const struct http_socket *k);
MUST_USE bool http_socket_take(struct http_socket *k, struct bytes_view *text);
/* Of the message that was taken. */
void http_socket_release(struct http_socket *k);

/* False: it is closing, or its queue is full and it will be closed. */
MUST_USE bool http_socket_send(struct http_socket *k, struct bytes_view text);
/* Nothing more goes in or out, but what is queued. A second code changes nothing. */
void http_socket_close(struct http_socket *k, enum http_close_code code);

#endif
