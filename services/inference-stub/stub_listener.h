/*
 * stub_listener.h - the one socket transceivers dial: TCP or UNIX
 *
 * A path that a dead process left behind is taken over; one that is answered is not. TCP port 0
 * lets the system choose; the log says which.
 */
#ifndef EARSHOT_STUB_LISTENER_H
#define EARSHOT_STUB_LISTENER_H

#include "services/inference-stub/stub_config.h"

/* A non-blocking descriptor, or -1 and a fault. */
int stub_listener_open(const struct stub_config *config, struct fault *fault);
void stub_listener_close(const struct stub_config *config, int fd);

#endif
