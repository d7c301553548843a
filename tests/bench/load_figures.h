/*
 * load_figures.h - what a burst of load showed
 */
#ifndef EARSHOT_BENCH_LOAD_FIGURES_H
#define EARSHOT_BENCH_LOAD_FIGURES_H

#include "tests/bench/load_latency.h"

struct load_figures {
    uint64_t up_sent; /* by clients */
    uint64_t up_received;
    uint64_t down_sent; /* by the transceiver */
    uint64_t down_received;
    uint64_t wrong;              /* shim, address, session or length is not that of the packet */
    uint64_t taken_ns;           /* with the time until the last was there */
    uint64_t given_up;           /* did not arrive for so long that others went in their place */
    uint64_t left_out;           /* were due, but the load was too late */
    struct load_latency latency; /* from a client and back to it, or one way */
};

#endif
