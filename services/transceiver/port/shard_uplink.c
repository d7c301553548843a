/* shard_uplink.c - see shard_uplink.h */
#include "services/transceiver/port/shard_uplink.h"

void shard_uplink_receive(struct shard_uplink *u)
{
    u->left = udp_port_receive(u->udp, &u->received);
}

struct session *shard_uplink_next(struct shard_uplink *u, struct key_ring *ring,
                                  struct relay_leg_uplink *out)
{
    while (u->left > 0) {
        const struct udp_arrival *received = u->received++;
        u->left--;
        const enum relay_leg_result result = relay_leg_unwrap(ring, u->instance_id, received, out);
        metric_add(&u->counters.relay_leg[result], 1);
        if (result != RELAY_LEG_OK) {
            continue;
        }
        struct session *s = session_registry_find(u->registry, out->session_id);
        if (s != NULL) {
            return s;
        }
        metric_add(&u->counters.no_session, 1);
    }
    return NULL;
}
