/* shard_uplink.c - see shard_uplink.h */
#include "services/transceiver/port/shard_uplink.h"

#include "common/routing/routing_token.h"

void shard_uplink_receive(struct shard_uplink *u, bool has_inbox)
{
    u->left = udp_port_receive(u->udp, &u->received);
    u->inbox_left = has_inbox ? UDP_PORT_BATCH : 0;
}

static void hand_over(struct shard_uplink *u, unsigned shard, const struct relay_leg_uplink *uplink)
{
    metric_add(&u->counters.misdirected, 1);
    if (!shard_inbox_put(&u->inboxes[shard], uplink)) {
        metric_add(&u->counters.misdirected_dropped, 1);
    }
}

/* The next datagram for this shard; false after the last. */
static bool take(struct shard_uplink *u, struct key_ring *ring, struct relay_leg_uplink *out)
{
    while (u->left > 0) {
        const struct udp_arrival *received = u->received++;
        u->left--;
        const enum relay_leg_result result = relay_leg_unwrap(ring, u->instance_id, received, out);
        metric_add(&u->counters.relay_leg[result], 1);
        if (result != RELAY_LEG_OK) {
            continue;
        }
        const unsigned shard = SESSION_ID_SHARD(out->session_id);
        if (shard == u->shard || shard >= u->shard_count) {
            return true;
        }
        hand_over(u, shard, out);
    }
    if (u->inbox_left == 0 || !shard_inbox_take(&u->inboxes[u->shard], &u->handed_over)) {
        return false;
    }
    u->inbox_left--;
    *out = u->handed_over.uplink;
    return true;
}

struct session *shard_uplink_next(struct shard_uplink *u, struct key_ring *ring,
                                  struct relay_leg_uplink *out)
{
    while (take(u, ring, out)) {
        struct session *s = session_registry_find(u->registry, out->session_id);
        if (s != NULL) {
            return s;
        }
        metric_add(&u->counters.no_session, 1);
    }
    return NULL;
}
