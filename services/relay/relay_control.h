/*
 * relay_control.h - what the main thread does while the workers forward
 *
 * Takes:   announcements of transceivers (one NNG SUB socket), signals, a change of the key
 *          directory.
 * Gives:   judged announcements and new key rings to every worker's inbox; readiness; the end.
 * Keys:    read again on SIGHUP and when the directory changed and has been quiet for a second. A
 *          directory that can not be used keeps the ring that is there.
 * Restart: SIGUSR2 ends it at once, for a successor that is about to take up what was kept.
 * Drain:   after SIGTERM not ready, but forwarding goes on, for new clients too, until no client
 *          was heard for RELAY_DRAIN_IDLE_US or a second SIGTERM comes.
 */
#ifndef EARSHOT_RELAY_CONTROL_H
#define EARSHOT_RELAY_CONTROL_H

#include "services/relay/relay_config.h"
#include "services/relay/relay_metrics.h"

#define RELAY_DRAIN_IDLE_US (15 * US_PER_S)
/* Ready without a transceiver after this long: it may be the fleet that is late. */
#define RELAY_READY_ANYWAY_US (15 * US_PER_S)

struct relay_control;

/* Listens for announcements and adds the conditions of readiness. config and metrics, with its
 * workers, must outlive it, and so must the notes, where the routes are kept for the next process
 * (NULL: nowhere). NULL and a fault. */
struct relay_control *relay_control_open(const struct relay_config *config,
                                         const struct key_ring *ring, struct relay_metrics *metrics,
                                         struct route_notes *notes, struct fault *fault);
void relay_control_close(struct relay_control *c);

/* Until the process is to end. True: a successor waits for that. */
bool relay_control_run(struct relay_control *c, int signal_fd);

#endif
