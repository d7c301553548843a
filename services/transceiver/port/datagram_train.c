/* datagram_train.c - see datagram_train.h */
#include "services/transceiver/port/datagram_train.h"

/* More than the outbox holds when it is emptied: what leaves for one relay worker is one train. */
#define BATCH 256

void datagram_train_send(struct udp_port *udp, struct key_ring *ring, uint32_t instance_id,
                         struct outbox *outbox)
{
    struct udp_packet packet[BATCH];
    const size_t count = outbox_datagram_count(outbox);
    size_t batched = 0;
    for (size_t i = 0; i < count; i++) {
        packet[batched++] = relay_leg_wrap(ring, instance_id, outbox_datagram_at(outbox, i));
        if (batched == BATCH || i + 1 == count) {
            udp_port_send(udp, packet, batched);
            batched = 0;
        }
    }
}
