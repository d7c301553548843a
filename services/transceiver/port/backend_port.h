/*
 * backend_port.h - a shard's socket to the inference backend: dialled, and dialled again
 *
 * Takes:   the addresses to dial, one after the other; frames of sessions.
 * Gives:   frames of sessions; word of a link that broke.
 * Owns:    the socket and its backend_stream. A link that breaks is dialled again after 100 ms,
 *          200 ms ... 2 s, each at random between half and whole.
 * Bounds:  BACKEND_PORT_ADDRESSES_MAX addresses, more are left out; 2 s to connect.
 * Not here: what the bytes mean (backend_stream.h).
 */
#ifndef EARSHOT_BACKEND_PORT_H
#define EARSHOT_BACKEND_PORT_H

#include "common/base/net_addr.h"
#include "common/base/random.h"
#include "services/transceiver/port/backend_stream.h"

#define BACKEND_PORT_ADDRESSES_MAX 16
#define BACKEND_PORT_UNIX_PATH_MAX 107 /* sun_path less its NUL */

struct backend_port_config {
    const char *unix_path; /* NULL: TCP, see backend_port_set_addresses */
    struct backend_stream_config stream;
    struct random_source random; /* spreads the redials */
};

struct backend_port_counters {
    metric_value is_up;
    metric_value connects;
    metric_value losses;
    struct backend_stream_counters stream;
};

struct backend_port;

struct backend_port *backend_port_create(const struct backend_port_config *config);
void backend_port_destroy(struct backend_port *p);
const struct backend_port_counters *backend_port_counters(const struct backend_port *p);

/* Where to dial from now on, count >= 1; a running connection goes on. */
void backend_port_set_addresses(struct backend_port *p, const struct net_addr *address,
                                size_t count);
/* Connected, greeted, and not going away: new sessions are welcome. */
bool backend_port_is_up(const struct backend_port *p);

/* For poll: fd is -1 while there is no socket. */
void backend_port_want(const struct backend_port *p, int *fd, short *events);
void backend_port_service(struct backend_port *p, short revents, uint64_t now_us);
void backend_port_tick(struct backend_port *p, uint64_t now_us);
uint64_t backend_port_next_timeout(const struct backend_port *p);

/* A frame for the session named in it; its payload is borrowed until the next service. */
MUST_USE bool backend_port_poll_frame(struct backend_port *p, struct backend_frame *out,
                                      uint64_t now_us);
/* True once after each loss of a link that had greeted. */
MUST_USE bool backend_port_poll_lost(struct backend_port *p);

/* Appends; dropped while there is no link. */
void backend_port_send(struct backend_port *p, const struct backend_frame *frame);
/* Writes what the socket takes. Once per loop turn. */
void backend_port_flush(struct backend_port *p, uint64_t now_us);

#endif
