/*
 * control_plane.h - the transceivers of the cluster, heard and asked over NNG
 *
 * Takes:   announcements and news of calls on one SUB socket; requests to an instance by its id.
 * Gives:   the fleet as it is now; one outcome for each request that was taken.
 * Owns:    the fleet, who watches its calls, and one session_client for each instance, from its
 *          first announcement until 60 s after its last one.
 * Bounds:  FLEET_INSTANCES_MAX instances, SESSION_CLIENT_QUEUE_MAX requests to each.
 * Fails:   create names the address that it could not listen on; submit returns false for an
 *          instance that is not known, or that has a full queue.
 * Loop:    control_plane_readable for each HTTP_EVENT_READABLE, then control_plane_next until
 *          false; sleep until control_plane_next_timeout.
 */
#ifndef EARSHOT_CONTROL_PLANE_H
#define EARSHOT_CONTROL_PLANE_H

#include "services/signaling/call_watch.h"
#include "services/signaling/http_server.h"
#include "services/signaling/session_client.h"

/* Tags of its watches: below CONTROL_PLANE_TAG_END; others may use those above. */
#define CONTROL_PLANE_TAG_END (FLEET_INSTANCES_MAX + 1)

/* How many transceivers are in a state; SILENT: not heard for the lease, not yet forgotten. */
#define CONTROL_PLANE_SILENT      (CONTROL_STATE_STOPPING + 1)
#define CONTROL_PLANE_STATE_COUNT (CONTROL_PLANE_SILENT + 1)

/* Written by the loop's thread, read by any. */
struct control_plane_counts {
    metric_value announcements_total[FLEET_NEWS_COUNT];
    metric_value malformed_total;
    metric_value session_events_total; /* news of calls */
    metric_value unreachable_total;    /* an announced control URL that can not be dialled */
    metric_value transceivers[CONTROL_PLANE_STATE_COUNT];
};

struct control_plane;

struct control_plane *control_plane_create(struct http_server *loop, const struct net_addr *listen,
                                           uint16_t cluster_id, struct fault *fault);
/* At the end of the process: a client with a request under way is left as it is. */
void control_plane_destroy(struct control_plane *p);
const struct control_plane_counts *control_plane_counts(const struct control_plane *p);

struct fleet *control_plane_fleet(struct control_plane *p);
struct call_watch *control_plane_watch(struct control_plane *p);
MUST_USE bool control_plane_submit(struct control_plane *p, uint32_t instance_id, uint64_t ticket,
                                   const struct control_request *request, uint64_t deadline_us);
/* For what clients do with calls: it leaves room for offers (session_client.h). */
MUST_USE bool control_plane_submit_operation(struct control_plane *p, uint32_t instance_id,
                                             uint64_t ticket, const struct control_request *request,
                                             uint64_t deadline_us);

void control_plane_readable(struct control_plane *p, size_t tag, uint64_t now_us);
MUST_USE bool control_plane_next(struct control_plane *p, struct session_outcome *out,
                                 uint64_t now_us);
uint64_t control_plane_next_timeout(const struct control_plane *p);
/* Counts states and forgets instances; about each second. */
void control_plane_tick(struct control_plane *p, uint64_t now_us);

#endif
