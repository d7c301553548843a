/*
 * sctp_dispatch.h - a packet of the peer: is it right, and which machine does each chunk concern
 *
 * Takes:   packets of any content. What is not intact, or has another tag, changes nothing.
 */
#ifndef EARSHOT_SCTP_DISPATCH_H
#define EARSHOT_SCTP_DISPATCH_H

#include "common/base/bytes.h"

struct sctp_association;

void sctp_dispatch_packet(struct sctp_association *a, struct bytes_view packet, uint64_t now_us);

#endif
