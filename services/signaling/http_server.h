/*
 * http_server.h - HTTP/1.1 for strangers, and the loop that the whole service waits in
 *
 * It hides libwebsockets, with http_connection.c, http_gate.c and http_socket.c. One thread: wait,
 * then take events until there are none.
 * Takes:   connections to one TCP address; descriptors of others (NNG, signals) to wake up for.
 * Gives:   whole requests with their bodies; an exchange is answered once, at once or later, and
 *          ends with exactly one HTTP_EVENT_END. WebSockets (RFC 6455) where the judge lets them
 *          in: whole text messages, until exactly one HTTP_EVENT_SOCKET_END.
 * Owns:    connections, requests and answers. A request is borrowed until its exchange ends.
 * Bounds:  struct http_server_config; each has its counter when it bites. A header takes at most
 *          header_timeout, a request from its header to the last byte of its answer at most
 *          request_timeout: libwebsockets itself never times out a body that trickles.
 * Fails:   a request that is malformed, has no length or is too large is answered here, with the
 *          error body of the API and CORS fields.
 *          So is a WebSocket: bytes that are not text, a message that is too long, a queue that is
 *          full close it with a code of RFC 6455 s.7.4, and without another word here.
 * Not here: what a path means (http_route.h), the bytes of TLS (http_tls.h), HTTP/2.
 */
#ifndef EARSHOT_HTTP_SERVER_H
#define EARSHOT_HTTP_SERVER_H

#include "common/base/net_addr.h"
#include "common/base/status.h"
#include "common/runtime/metrics.h"
#include "services/signaling/http_proxies.h"
#include "services/signaling/http_response.h"

/* A head that asks for a WebSocket, as it was sent: nothing is decoded. */
struct http_upgrade {
    struct net_addr client; /* as far as our proxies know it */
    struct bytes_view path;
    struct bytes_view query; /* behind the question mark */
    struct bytes_view authorization;
    struct bytes_view origin;
    struct bytes_view subprotocols; /* the offered list; it may hold a key */
};

/* What the client of an upgrade gets: a socket, or a response. */
struct http_judgement {
    bool is_accepted;
    const char *subprotocol; /* NULL: none is answered; else one of the offered, of HTTP_SOCKET_* */
    size_t message_bytes_max; /* 1..HTTP_MESSAGE_BYTES_MAX */
    size_t tag;               /* of the judge's choice; comes with OPEN and END */
    struct http_response refusal;
};

/* Called within http_server_wait. Each upgrade that it accepts ends with HTTP_EVENT_SOCKET_END,
 * also when it never opened. */
typedef void (*http_judge)(void *context, const struct http_upgrade *upgrade,
                           struct http_judgement *out);

/* The subprotocols that are spoken here. */
#define HTTP_SOCKET_REALTIME "realtime"
#define HTTP_SOCKET_SIGNAL   "earshot.signal.v1"

#define HTTP_MESSAGE_BYTES_MAX ((size_t)320 * 1024)
/* Of one socket, not yet with the kernel: a reader who is slower is closed with 1013. */
#define HTTP_SOCKET_QUEUE_BYTES_MAX ((size_t)1024 * 1024)

enum http_close_code {
    HTTP_CLOSE_NORMAL = 1000,
    HTTP_CLOSE_GOING_AWAY = 1001,
    HTTP_CLOSE_NOT_TEXT = 1003, /* a binary message */
    HTTP_CLOSE_NOT_UTF8 = 1007,
    HTTP_CLOSE_POLICY = 1008,
    HTTP_CLOSE_TOO_LARGE = 1009,
    HTTP_CLOSE_SERVER_ERROR = 1011,
    HTTP_CLOSE_TRY_LATER = 1013
};

#define HTTP_FILE_CAP 272

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
    struct http_proxies proxies;         /* any number of connections each */
    char tls_certificate[HTTP_FILE_CAP]; /* PEM files; empty: in clear */
    char tls_key[HTTP_FILE_CAP];
    uint64_t socket_ping_us;    /* of a socket that is quiet; whole seconds, as the next */
    uint64_t socket_hang_up_us; /* of one that answers no ping */
    http_judge judge;           /* NULL: no upgrade is let in */
    void *judge_context;
};

struct http_request {
    enum http_method method;
    struct bytes_view path;  /* without the query, percent-decoded */
    struct bytes_view query; /* behind the question mark, percent-decoded */
    struct bytes_view host;
    struct bytes_view authorization; /* cleansed when the exchange ends */
    struct bytes_view content_type;
    struct bytes_view user_agent;
    struct bytes_view language; /* Accept-Language */
    struct bytes_view origin;
    struct bytes_view if_match;
    struct bytes_view asked_request_headers; /* Access-Control-Request-Headers */
    bool has_length;                         /* Content-Length was there */
    struct bytes_view body;
    struct net_addr client;             /* as far as our proxies know it */
    char id[HTTP_REQUEST_ID_CHARS + 1]; /* that its answer carries: x-request-id */
    uint64_t received_us;               /* when it was whole */
};

enum http_event_kind {
    HTTP_EVENT_REQUEST,
    HTTP_EVENT_END, /* of an exchange: answered, or its client is gone */
    HTTP_EVENT_READABLE,
    HTTP_EVENT_SOCKET_OPEN,
    HTTP_EVENT_SOCKET_MESSAGE,
    HTTP_EVENT_SOCKET_END /* of an upgrade that was accepted, whoever ended it */
};

struct http_event {
    enum http_event_kind kind;
    uint64_t exchange;                  /* REQUEST and END; never 0 */
    const struct http_request *request; /* REQUEST */
    bool is_delivered;                  /* END: the whole answer went to the kernel */
    size_t tag;             /* READABLE: as given to http_server_watch; SOCKET_*: the judge's */
    uint64_t socket;        /* SOCKET_*; never 0, and an exchange's number is never a socket's */
    struct bytes_view text; /* SOCKET_MESSAGE; borrowed until the next take */
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
    metric_value sockets; /* open now */
    metric_value sockets_opened_total;
    metric_value sockets_refused_total; /* upgrades that were answered with an error */
    metric_value socket_messages_total; /* taken from clients */
};

struct http_server;
struct http_tls_counts;

/* Listens at once. NULL and a fault when the address is taken, or descriptors are too few. */
struct http_server *http_server_create(const struct http_server_config *config,
                                       struct fault *fault);
/* Connections are closed, without events. Watches must be gone. */
void http_server_destroy(struct http_server *s);
const struct http_server_counts *http_server_counts(const struct http_server *s);
/* NULL without TLS. */
const struct http_tls_counts *http_server_tls_counts(const struct http_server *s);
/* Reads certificate and key again, for clients that come from now on; those that are here keep
 * theirs. False and a fault: the old ones stay. */
MUST_USE bool http_server_reload_tls(struct http_server *s, struct fault *fault);

/* Sleeps until there is an event, or until_us of clock_now_us has come. */
void http_server_wait(struct http_server *s, uint64_t until_us);
MUST_USE bool http_server_take(struct http_server *s, struct http_event *out);
/* Copies the response and takes over its owned_body; any other body is borrowed until the exchange
 * ends. An exchange whose client is gone is answered in vain. */
void http_server_answer(struct http_server *s, uint64_t exchange, const struct http_response *r);

/* Copies the text into the socket's queue. False when the socket is gone or closing, or too slow:
 * then it is closed with 1013. */
MUST_USE bool http_server_send(struct http_server *s, uint64_t socket, struct bytes_view text);
/* Its client is there, perhaps at the end of a close. */
bool http_server_has_socket(struct http_server *s, uint64_t socket);
/* What was sent before goes out first; what comes in from now on is dropped. */
void http_server_close(struct http_server *s, uint64_t socket, enum http_close_code code);
/* While held nothing is read from the socket: its client waits. One who leaves meanwhile is gone at
 * once, with what was not read. */
void http_server_hold(struct http_server *s, uint64_t socket, bool is_held);

/* No request waits for an answer, and no answer is being written. Sockets do not count. */
bool http_server_is_idle(const struct http_server *s);

/* Level triggered: an event a wait as long as the descriptor is readable. The descriptor is
 * duplicated. NULL without room; unwatch before its owner closes it. */
struct http_watch;
struct http_watch *http_server_watch(struct http_server *s, int fd, size_t tag);
void http_server_unwatch(struct http_watch *watch);

#endif
