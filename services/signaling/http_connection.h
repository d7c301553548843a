/*
 * http_connection.h - one client of http_server, from its first byte to its last
 *
 * Private to http_server.c and the http_*.c behind it. With http_gate.c and http_socket.c the
 * three (http_connection_socket.c is this header's part of WebSockets) alone see libwebsockets.
 * Each function below that returns an int is one callback of libwebsockets, and gives it that.
 *
 *      SCREENING -> READING -> BODY -> READY -> TAKEN -> ANSWERING -> SCREENING ... or LINGERING
 *
 * A head that libwebsockets must not see goes from SCREENING to LINGERING, a request that is
 * refused later straight to ANSWERING. One that asks for a WebSocket and may have it goes over
 * UPGRADING to SOCKET, and stays there. Whenever the client leaves, the connection is GONE until
 * its last event was taken, then FREE.
 */
#ifndef EARSHOT_HTTP_CONNECTION_H
#define EARSHOT_HTTP_CONNECTION_H

#include "common/base/time_us.h"
#include "services/signaling/http_server.h"

struct lws;
struct http_socket;

enum http_connection_state {
    HTTP_CONNECTION_FREE,
    HTTP_CONNECTION_SCREENING, /* nothing, or a part of a head, which stays with the kernel */
    HTTP_CONNECTION_READING,   /* a head that passed */
    HTTP_CONNECTION_BODY,      /* the rest of a request */
    HTTP_CONNECTION_READY,     /* a whole request waits to be taken */
    HTTP_CONNECTION_TAKEN,     /* somebody works on the answer */
    HTTP_CONNECTION_ANSWERING, /* the answer is being written */
    HTTP_CONNECTION_UPGRADING, /* libwebsockets reads a head that was let in */
    HTTP_CONNECTION_SOCKET,    /* a WebSocket is open */
    HTTP_CONNECTION_LINGERING, /* answered and shut, while the client may still be writing */
    HTTP_CONNECTION_GONE
};

#define HTTP_PATH_CHARS_MAX  255
#define HTTP_QUERY_CHARS_MAX 255
/* "Bearer " and a client secret of 6 KB. */
#define HTTP_AUTHORIZATION_CHARS_MAX 6199
#define HTTP_TYPE_CHARS_MAX          127
/* After an answer to a client that still sends: closing at once would reset the connection, and
 * the answer could be lost with it. */
#define HTTP_LINGER_US US_PER_S
/* libwebsockets 4.1 can not stop a timer: one that is far away. */
#define HTTP_SOCKET_LIFE_US (24 * 3600 * US_PER_S)

struct http_connection {
    enum http_connection_state state;
    struct lws *wsi; /* NULL when FREE or GONE */
    const struct http_server_config *config;
    struct http_server_counts *counts;
    struct net_addr peer;
    struct net_addr client; /* of the request: the peer, or whom it passes on */
    unsigned request_count;
    bool has_begun;     /* SCREENING: the first byte of a head is there */
    bool is_last;       /* close after this answer */
    bool may_send_more; /* of a body that nobody will read */
    bool is_unframed;   /* and nobody can tell where it ends */
    bool is_http_1_1;
    bool is_throttled; /* nothing is read while the answer is not known */
    bool is_queued;    /* http_server has it in its queue of events */
    unsigned early_pieces;

    struct http_request request;
    char path[HTTP_PATH_CHARS_MAX + 1];
    char query[HTTP_QUERY_CHARS_MAX + 1];
    char host[HTTP_PATH_CHARS_MAX + 1];
    char authorization[HTTP_AUTHORIZATION_CHARS_MAX + 1];
    char content_type[HTTP_TYPE_CHARS_MAX + 1];
    char user_agent[HTTP_TYPE_CHARS_MAX + 1];
    char language[HTTP_TYPE_CHARS_MAX + 1];
    char origin[HTTP_ORIGIN_CHARS_MAX + 1];
    char if_match[HTTP_TYPE_CHARS_MAX + 1];
    char asked_request_headers[HTTP_ASKED_CHARS_MAX + 1];
    uint8_t *body;
    size_t body_len;
    size_t body_expected;

    struct http_socket *socket; /* from UPGRADING until the last event of it was taken */

    uint64_t exchange; /* of the request that was taken; 0 = none */
    struct http_response response;
    char head[HTTP_HEAD_BYTES_MAX];
    size_t head_len;
    size_t sent; /* of head and body together */

    bool has_end; /* an HTTP_EVENT_END that was not taken yet */
    bool end_is_delivered;
    uint64_t end_exchange;
};

/* The connection is FREE and its slot now belongs to wsi. */
void http_connection_open(struct http_connection *c, struct lws *wsi, const struct net_addr *peer);
/* The header is complete. */
int http_connection_on_header(struct http_connection *c, uint64_t now_us);
int http_connection_on_body(struct http_connection *c, struct bytes_view piece);
int http_connection_on_body_end(struct http_connection *c, uint64_t now_us);
int http_connection_on_writeable(struct http_connection *c);
int http_connection_on_timer(struct http_connection *c);
/* libwebsockets has read an Upgrade, and would follow it: it can not be told to ignore one, but the
 * word lies in memory of its own. */
int http_connection_on_upgrade(struct http_connection *c, char *wanted);
int http_connection_on_socket(struct http_connection *c);
int http_connection_write_socket(struct http_connection *c);
int http_connection_on_piece(struct http_connection *c, struct bytes_view piece);
/* libwebsockets is done with it, for whatever reason. */
void http_connection_on_gone(struct http_connection *c);

/* While throttled nothing is read (and nothing written: libwebsockets does neither). */
void http_connection_throttle(struct http_connection *c, bool is_throttled);
/* Begins to write. */
void http_connection_answer(struct http_connection *c, const struct http_response *r);
/* What its socket was told needs the loop: to write, to read on, or to end in time. */
void http_connection_socket_changed(struct http_connection *c);
/* An event was taken: a GONE connection without another becomes FREE. */
void http_connection_settle(struct http_connection *c);

#endif
