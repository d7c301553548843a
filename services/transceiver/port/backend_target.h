/*
 * backend_target.h - where the backend is: a UNIX socket, or a name that is looked up for ever
 *
 * Takes:   "unix:/path", or "host:port".
 * Gives:   addresses for a backend_port, when a look-up found some.
 * Owns:    the resolver's thread; unix_path is borrowed from the configuration.
 */
#ifndef EARSHOT_BACKEND_TARGET_H
#define EARSHOT_BACKEND_TARGET_H

#include "common/runtime/name_resolver.h"
#include "services/transceiver/port/backend_port.h"

struct backend_target {
    const char *unix_path;          /* NULL: a name */
    struct name_resolver *resolver; /* NULL: a path */
};

MUST_USE bool backend_target_open(struct backend_target *t, const char *target,
                                  struct fault *fault);
/* Also of zeros. */
void backend_target_close(struct backend_target *t);
/* For poll; -1 for a path. */
int backend_target_fd(const struct backend_target *t);
void backend_target_take(struct backend_target *t, struct backend_port *port);

#endif
