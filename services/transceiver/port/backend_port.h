/*
 * backend_port.h - a shard's connection to the inference backend
 *
 * Dials, says HELLO, keeps the heartbeat, dials again after 100 ms to 2 s. Many sessions share the
 * connection; a session's handle on it is its session id.
 * Takes:   frames of sessions (sequence numbers are given here), and the address to dial.
 * Gives:   frames of sessions, in order, checked for gaps.
 * Owns:    the socket, one reader, one output buffer sized for half a second of every session's
 *          voice.
 * Bounds:  when the backend does not read, AUDIO_IN beyond three quarters of the output buffer is
 *          dropped and counted; when the buffer is full the link counts as dead. Media never waits.
 * Fails:   a broken frame, a gap, a wrong version or silence closes the link: poll_lost says so
 * once.
 */
#ifndef EARSHOT_BACKEND_PORT_H
#define EARSHOT_BACKEND_PORT_H

#include "common/backend_link/backend_frame.h"
#include "common/base/net_addr.h"
#include "common/base/random.h"
#include "common/runtime/metrics.h"

struct backend_port_config {
    const char *unix_path; /* NULL: TCP, see backend_port_set_address */
    const char *name;      /* of this transceiver, for HELLO */
    uint32_t instance_id;
    size_t session_capacity;
    struct random_source random; /* spreads the redials */
};

struct backend_port_counters {
    metric_value is_up;
    metric_value connects;
    metric_value losses;
    metric_value frames_received;
    metric_value frames_sent;
    metric_value audio_dropped; /* the backend does not read */
};

struct backend_port;

struct backend_port *backend_port_create(const struct backend_port_config *config);
void backend_port_destroy(struct backend_port *p);
const struct backend_port_counters *backend_port_counters(const struct backend_port *p);

/* Where to dial from now on; a running connection goes on. */
void backend_port_set_address(struct backend_port *p, const struct net_addr *address);
/* Connected, greeted, and not going away: new sessions are welcome. */
bool backend_port_is_up(const struct backend_port *p);

/* For poll: fd is -1 while there is no socket. */
void backend_port_want(const struct backend_port *p, int *fd, short *events);
void backend_port_service(struct backend_port *p, short revents, uint64_t now_us);
void backend_port_tick(struct backend_port *p, uint64_t now_us);
uint64_t backend_port_next_timeout(const struct backend_port *p);

/* A frame for the session named in it; its payload is borrowed until the next call. */
MUST_USE bool backend_port_poll_frame(struct backend_port *p, struct backend_frame *out,
                                      uint64_t now_us);
/* True once after each loss of a link that was up. */
MUST_USE bool backend_port_poll_lost(struct backend_port *p);

/* Appends a frame; SESSION_START opens its handle. Frames are dropped while the link is down. */
void backend_port_send(struct backend_port *p, const struct backend_frame *frame, uint64_t now_us);
/* Writes what the socket takes. Once per loop turn. */
void backend_port_flush(struct backend_port *p, uint64_t now_us);

#endif
