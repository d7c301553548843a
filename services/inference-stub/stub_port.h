/*
 * stub_port.h - the sockets of the stub: one thread, one epoll, many connections
 *
 * Takes:   connections of transceivers on a TCP address or a UNIX socket.
 * Owns:    the listener, the connections, and the calls of connections that broke.
 * Bounds:  connections_max connections; more are closed at once and counted. A connection costs
 *          some 200 KB and whatever its sessions take.
 * Ends:    SIGTERM: no new connection and no new session; ends when the last session has, or after
 *          drain_timeout, or at a second SIGTERM.
 */
#ifndef EARSHOT_STUB_PORT_H
#define EARSHOT_STUB_PORT_H

#include "common/base/status.h"
#include "services/inference-stub/stub_config.h"
#include "services/inference-stub/stub_session.h"

struct stub_port;

/* config and behaviour outlive the port; signal_fd, of process_signal_fd, is borrowed. */
struct stub_port *stub_port_open(const struct stub_config *config, struct stub_behaviour *behaviour,
                                 int signal_fd, struct fault *fault);
void stub_port_close(struct stub_port *p);

/* Returns when the process is to end. beat: set to the time at least each 500 ms. */
void stub_port_run(struct stub_port *p, metric_value *beat);

#endif
