/*
 * http_tls.h - TLS in front of http_server: what a client enciphers, a socket pair gives in clear
 *
 * libwebsockets could do it, but would then read heads that nobody has looked at (http_gate.h). So
 * it gets one end of a socket pair that behaves as the client's socket does: bytes, an end of
 * either direction, a hang-up.
 * Takes:   connected sockets; a certificate chain and its key from two PEM files.
 * Owns:    for each client his socket, his TLS state and the other end of the pair. Nothing is
 *          kept in between: what one side can not take stays with the other, so a slow reader
 *          slows his writer.
 * Bounds:  pipes_max, and of one address pipes_per_address_max; a handshake is bounded by whoever
 *          waits for a head, and ends with it. What its server has closed is gone
 *          HTTP_TLS_FLUSH_US later, whatever its client reads. One client costs a turn
 *          HTTP_TLS_READS_MAX reads at most.
 * Fails:   a client that speaks HTTP in clear is told 400 and logged, within a bound; one that
 *          breaks the rules of TLS, or changes his keys for ever, is hung up. A certificate that
 *          can not be used is a fault that names the file; a reload then keeps the old one.
 * Rule:    TLS 1.2 or newer, forward secrecy, ALPN http/1.1, no tickets, no renegotiation.
 * Loop:    http_tls_turn when http_tls_fd is readable, and at http_tls_next_timeout.
 * Private to http_server.c.
 */
#ifndef EARSHOT_HTTP_TLS_H
#define EARSHOT_HTTP_TLS_H

#include "common/base/net_addr.h"
#include "common/base/status.h"
#include "common/base/time_us.h"
#include "common/runtime/metrics.h"

/* From the server's close until the client must have read all. */
#define HTTP_TLS_FLUSH_US (10 * US_PER_S)
/* From the end of the answer until a client that says nothing more is gone. */
#define HTTP_TLS_LINGER_US (2 * US_PER_S)

/* KeyUpdates of one client (RFC 8446 s.4.6.3) without any text between them: more are an attack. */
#define HTTP_TLS_KEY_UPDATES_MAX 32
/* Reads of one client's socket before the next one has his turn; a record takes two. OpenSSL alone
 * would go on as long as what comes is no text. */
#define HTTP_TLS_READS_MAX 64

/* Written by the loop's thread, read by any. */
struct http_tls_counts {
    metric_value handshakes_total;
    metric_value failed_total;         /* clients that were hung up before their handshake's end */
    metric_value certificate_expiry_s; /* unix time */
};

struct http_tls;

/* The names of the files are borrowed. */
struct http_tls *http_tls_create(unsigned pipes_max, unsigned pipes_per_address_max,
                                 const char *certificate, const char *key, struct fault *fault);
void http_tls_destroy(struct http_tls *t);
const struct http_tls_counts *http_tls_counts(const struct http_tls *t);

/* Reads the files again: for clients that come from now on. */
MUST_USE bool http_tls_reload(struct http_tls *t, struct fault *fault);

/* Whether this address has a pipe left. One may outlive its connection, while it says good-bye. */
bool http_tls_admits(const struct http_tls *t, const struct net_addr *peer);
/* The end in clear, or -1 without room; socket_fd is ours in any case, and does not block. */
int http_tls_open(struct http_tls *t, int socket_fd, const struct net_addr *peer);

int http_tls_fd(const struct http_tls *t);
void http_tls_turn(struct http_tls *t, uint64_t now_us);
uint64_t http_tls_next_timeout(const struct http_tls *t);

#endif
