/*
 * shard_inbox.h - datagrams that came to another shard, on their way to the one they name
 *
 * A relay sends to the port of the shard that owns the session. Should one not, as with a table
 * that is out of step, the datagram goes on through the owner's inbox: it is not lost, and counted.
 * Takes:   datagrams of any number of shards, whose shim was checked.
 * Gives:   them to the owner, in the order they came.
 * Owns:    two ends of a socket, whose buffer bounds what waits: some hundred datagrams.
 * Full:    put says false, and the datagram is dropped: the network loses packets too.
 * Threads: put by any, take by the owner.
 */
#ifndef EARSHOT_SHARD_INBOX_H
#define EARSHOT_SHARD_INBOX_H

#include "common/base/status.h"
#include "services/transceiver/port/relay_leg.h"

struct shard_inbox {
    int put_fd;
    int take_fd; /* readable when something waits */
};

/* What a take is written to. */
struct shard_inbox_datagram {
    struct relay_leg_uplink uplink;
    uint8_t data[RELAY_LEG_DATAGRAM_BYTES_MAX];
};

MUST_USE bool shard_inbox_open(struct shard_inbox *inbox, struct fault *fault);
void shard_inbox_close(struct shard_inbox *inbox);

MUST_USE bool shard_inbox_put(const struct shard_inbox *inbox,
                              const struct relay_leg_uplink *uplink);
/* False when nothing waits; never blocks. */
MUST_USE bool shard_inbox_take(const struct shard_inbox *inbox, struct shard_inbox_datagram *out);

#endif
