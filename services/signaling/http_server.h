/*
 * http_server.h - HTTP/1.1 for strangers, and the loop that the whole service waits in
 *
 * It hides libwebsockets, with http_connection.c and http_gate.c. One thread: wait, then take
 * events until there are none.
 * Takes:   connections to one TCP address; descriptors of others (NNG, signals) to wake up for.
 * Gives:   whole requests with their bodies; an exchange is answered once, at once or later, and
 *          ends with exactly one HTTP_EVENT_END.
 * Owns:    connections, requests and answers. A request is borrowed until its exchange ends.
 * Bounds:  struct http_server_config; each has its counter when it bites. A header takes at most
 *          header_timeout, a request from its header to the last byte of its answer at most
 *          request_timeout: libwebsockets itself never times out a body that trickles.
 * Fails:   a request that is malformed, has no length or is too large is answered here, with the
 *          error body of the API and CORS fields.
 * Not here: what a path means (http_route.h), TLS, HTTP/2, WebSocket.
 */
#ifndef EARSHOT_HTTP_SERVER_H
#define EARSHOT_HTTP_SERVER_H

#include "common/base/net_addr.h"
#include "common/base/status.h"
#include "common/runtime/metrics.h"
#include "services/signaling/http_response.h"

struct http_server_config {
    struct net_addr listen;
    unsigned connections_max;
    unsigned connections_per_address_max; /* an IPv6 client counts by its /64 */
    unsigned requests_per_connection_max; /* the last one is answered with Connection: close */
    unsigned watches_max;
    size_t body_bytes_max;
    uint64_t header_timeout_us; /* whole seconds, as the two below: libwebsockets has its own too */
    uint64_t request_timeout_us;
    uint64_t idle_timeout_us; /* between two requests */
    struct http_origins origins;
};

struct http_request {
    enum http_method method;
    struct bytes_view path; /* without the query, percent-decoded */
    struct bytes_view content_type;
    struct bytes_view user_agent;
    struct bytes_view language; /* Accept-Language */
    struct bytes_view origin;
    struct bytes_view if_match;
    struct bytes_view asked_request_headers; /* Access-Control-Request-Headers */
    bool has_length;                         /* Content-Length was there */
    struct bytes_view body;
    uint64_t received_us; /* when it was whole */
};

enum http_event_kind {
    HTTP_EVENT_REQUEST,
    HTTP_EVENT_END, /* of an exchange: answered, or its client is gone */
    HTTP_EVENT_READABLE
};

struct http_event {
    enum http_event_kind kind;
    uint64_t exchange;                  /* REQUEST and END; never 0 */
    const struct http_request *request; /* REQUEST */
    bool is_delivered;                  /* END: the whole answer went to the kernel */
    size_t tag;                         /* READABLE: as given to http_server_watch */
};

/* Written by the loop's thread, read by any. */
struct http_server_counts {
    metric_value connections; /* now */
    metric_value accepted_total;
    metric_value refused_full_total;    /* connections_max */
    metric_value refused_address_total; /* connections_per_address_max */
    metric_value timed_out_total;       /* header_timeout or request_timeout */
    metric_value
        malformed_total; /* answered here: its head, its length, its host or its size is wrong */
    metric_value requests_total;
};

struct http_server;

/* Listens at once. NULL and a fault when the address is taken, or descriptors are too few. */
struct http_server *http_server_create(const struct http_server_config *config,
                                       struct fault *fault);
/* Connections are closed, without events. Watches must be gone. */
void http_server_destroy(struct http_server *s);
const struct http_server_counts *http_server_counts(const struct http_server *s);

/* Sleeps until there is an event, or until_us of clock_now_us has come. */
void http_server_wait(struct http_server *s, uint64_t until_us);
MUST_USE bool http_server_take(struct http_server *s, struct http_event *out);
/* Copies the response but not its body, which is borrowed until the exchange ends. An exchange
 * whose client is gone is answered in vain. */
void http_server_answer(struct http_server *s, uint64_t exchange, const struct http_response *r);

/* No request waits for an answer, and no answer is being written. */
bool http_server_is_idle(const struct http_server *s);

/* Level triggered: an event a wait as long as the descriptor is readable. The descriptor is
 * duplicated. NULL without room; unwatch before its owner closes it. */
struct http_watch;
struct http_watch *http_server_watch(struct http_server *s, int fd, size_t tag);
void http_server_unwatch(struct http_watch *watch);

#endif
