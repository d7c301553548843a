/*
 * control_port.h - the transceiver's side of the control plane: requests, announcements, events
 *
 * Takes:   requests of signaling (NNG REP), which the shards answer; addresses of those who want to
 *          know that we live.
 * Gives:   an announcement to each of them every 500 ms and on change (NNG PUB), and what the
 *          shards have mailed: news of calls on the same socket, events for side-bands on one of
 *          their own, for whoever dials it.
 * Owns:    its three NNG sockets, the decoder, the resolver, and the replies of the last 30 s: the
 *          same request id gets the same reply, because NNG sends a request again when the answer
 *          is late. Questions, and AttachSideband, are answered anew.
 * Bounds:  REPLY_STORE_MAX stored replies, and as many of InjectEvent; the oldest is forgotten. At
 *          most CONTROL_PORT_DIALS_MAX addresses are ever dialled.
 * Threads: the main thread only.
 */
#ifndef EARSHOT_CONTROL_PORT_H
#define EARSHOT_CONTROL_PORT_H

#include "services/transceiver/port/event_loop.h"

#define CONTROL_PORT_DIALS_MAX 256

struct control_port_config {
    const struct transceiver_config *config;
    struct net_addr address; /* of this host, port 0 */
    uint32_t instance_id;
    struct event_loop *const *loops;
    size_t loop_count;
    const struct key_ring *key_ring; /* its ids are announced; see control_port_set_key_ring */
    uint64_t unix_offset_us;         /* Unix time less now_us */
};

struct control_port;

struct control_port *control_port_open(const struct control_port_config *config,
                                       struct fault *fault);
void control_port_close(struct control_port *p);

void control_port_set_key_ring(struct control_port *p, const struct key_ring *ring);
/* Announced from now on; deadline in Unix time. */
void control_port_drain(struct control_port *p, uint64_t deadline_us, uint64_t now_us);

#define CONTROL_PORT_FDS (2 + SESSION_REGISTRY_SHARDS_MAX)
/* For poll, each POLLIN: how many. */
size_t control_port_want(const struct control_port *p, int fds[CONTROL_PORT_FDS]);
/* After a poll and after next_timeout. */
void control_port_service(struct control_port *p, uint64_t now_us);
uint64_t control_port_next_timeout(const struct control_port *p);

#endif
