/*
 * message_port.h - NNG sockets, polled through their receive descriptor
 *
 * Takes:   URLs tcp://host:port. Opened at start; one thread uses a port.
 * Gives:   whole messages, borrowed until the next receive on the port.
 * Owns:    the NNG socket and the last message. NNG makes its own threads at the first socket:
 *          open ports after privileges are dropped, never fork afterwards.
 * Bounds:  MESSAGE_PORT_BYTES_MAX a message, buffers as named below, 1 s time-outs.
 * Fails:   open with a fault that names the URL; send returns false when the message can not be
 *          queued (counted by the caller). A dead peer is not noticed here: announcements are.
 */
#ifndef EARSHOT_MESSAGE_PORT_H
#define EARSHOT_MESSAGE_PORT_H

#include "common/base/status.h"

#define MESSAGE_PORT_BYTES_MAX 393216

enum message_port_kind {
    MESSAGE_PORT_PUB, /* dials or listens; sends to whoever subscribed; buffer of each peer 512 */
    MESSAGE_PORT_SUB, /* receive buffer 2,048; subscribe, or it hears nothing */
    MESSAGE_PORT_REQ, /* one request in flight; resent each 500 ms until answered */
    MESSAGE_PORT_REP  /* one request at a time: answer before the next receive */
};

struct message_port;

struct message_port *message_port_open(enum message_port_kind kind, struct fault *fault);
/* Returns within a second, whatever NNG does. */
void message_port_close(struct message_port *p);

MUST_USE bool message_port_listen(struct message_port *p, const char *url, struct fault *fault);
/* Returns at once; NNG connects and reconnects by itself (100 ms to 2 s). */
MUST_USE bool message_port_dial(struct message_port *p, const char *url, struct fault *fault);

/* SUB: messages that begin with the topic are heard; the empty one stands for all. */
MUST_USE bool message_port_subscribe(struct message_port *p, struct bytes_view topic);
void message_port_unsubscribe(struct message_port *p, struct bytes_view topic);
/* How many connections it has now. */
int message_port_connections(const struct message_port *p);

/* For poll or epoll, level triggered. Never read, write or close it. */
int message_port_receive_fd(const struct message_port *p);

/* Never blocks. False when nothing waits. Call until false. */
MUST_USE bool message_port_receive(struct message_port *p, struct bytes_view *out);
/* False when NNG takes no message now (no peer, full buffer). Never blocks, but for a reply: it may
 * wait until the one before it was written, 1 s at most. */
MUST_USE bool message_port_send(struct message_port *p, struct bytes_view message);

#endif
