/* tcp_uplink.c - see tcp_uplink.h */
#include "services/relay/tcp_uplink.h"

void tcp_uplink_init(struct tcp_uplink *u, struct forwarder *forwarder, struct udp_sender *sender,
                     struct relay_counters *counters)
{
    u->forwarder = forwarder;
    u->sender = sender;
    u->counters = counters;
    u->count = 0;
}

void tcp_uplink_add(struct tcp_uplink *u, const struct verdict *v, const struct net_addr *from,
                    uint64_t now_us)
{
    if (u->count == TCP_UPLINK_MAX) {
        tcp_uplink_flush(u);
    }
    uint8_t *bytes = u->bytes[u->count];
    forwarder_write_shim(u->forwarder, v, from, bytes);
    memcpy(bytes + RELAY_SHIM_BYTES, v->datagram.data, v->datagram.len);
    u->packet[u->count++] = (struct udp_packet){
        .bytes = {bytes, RELAY_SHIM_BYTES + v->datagram.len, sizeof(u->bytes[0])},
        .to = v->destination,
        .tag = v->reason};
    metric_set(&u->counters->client_heard_us, now_us);
}

void tcp_uplink_flush(struct tcp_uplink *u)
{
    if (u->count > 0) {
        udp_sender_flush(u->sender, u->packet, u->count);
        relay_counters_add_sent(u->counters, RELAY_UP, u->packet, u->count, RELAY_SHIM_BYTES);
        u->count = 0;
    }
}
