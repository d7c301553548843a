/* udp_drops.h - datagrams that found the buffers of this network's IPv4 sockets full, by port */
#ifndef EARSHOT_BENCH_UDP_DROPS_H
#define EARSHOT_BENCH_UDP_DROPS_H

#include <stdint.h>

/* Of all sockets bound to ports from `first` to `last`, since they were opened. */
uint64_t udp_drops(uint16_t first, uint16_t last);

#endif
