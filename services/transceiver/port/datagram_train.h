/*
 * datagram_train.h - the datagrams of an outbox leave for the relays, each behind its shim
 *
 * Takes:   an outbox; its datagrams are sent and stay there until it is cleared. Those for one
 *          relay worker travel together (udp_sender.h).
 * Fails:   never; what the kernel does not take is counted by udp_port.
 */
#ifndef EARSHOT_DATAGRAM_TRAIN_H
#define EARSHOT_DATAGRAM_TRAIN_H

#include "services/transceiver/port/relay_leg.h"
#include "services/transceiver/port/udp_port.h"

void datagram_train_send(struct udp_port *udp, struct key_ring *ring, uint32_t instance_id,
                         struct outbox *outbox);

#endif
