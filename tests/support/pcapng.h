/*
 * pcapng.h - the UDP datagrams of a capture file, in order
 *
 * Takes:   pcapng as tests/corpus/captures holds it: little-endian, one Ethernet interface, times
 *          in nanoseconds, packets whole, IPv4 or IPv6 with UDP.
 * Fails:   a file that is not like that ends the test.
 */
#ifndef EARSHOT_PCAPNG_H
#define EARSHOT_PCAPNG_H

#include "common/base/net_addr.h"

struct pcapng;

struct pcapng_datagram {
    uint64_t time_ns;
    struct net_addr from;
    struct net_addr to;
    struct bytes_view payload; /* borrowed until pcapng_close */
};

struct pcapng *pcapng_open(const char *path);
/* False after the last. */
bool pcapng_next(struct pcapng *capture, struct pcapng_datagram *out);
void pcapng_close(struct pcapng *capture);

#endif
