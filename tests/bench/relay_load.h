/*
 * relay_load.h - clients, and the transceiver they talk to, in one thread: what stands between them
 * is measured
 *
 * Closed loop: no more than a window of packets are on their way, so whatever is slowest sets the
 * pace and nothing is lost. Or so many packets a second, to see how long one takes.
 * Not here: processes (relay_process.h, copy_loop.h), what CPU they use (process_cpu.h).
 */
#ifndef EARSHOT_BENCH_RELAY_LOAD_H
#define EARSHOT_BENCH_RELAY_LOAD_H

#include "tests/bench/load_figures.h"
#include "tests/bench/load_junk.h"
#include "tests/bench/load_shard.h"

enum load_way { LOAD_BOTH_WAYS, LOAD_UP, LOAD_DOWN };

struct load_burst {
    enum load_way way;
    uint64_t duration_ns;
    uint32_t rate_hz; /* round trips; 0: closed loop */
    bool rests;       /* whole batches, and sleep when there is nothing to do: what lasts for more
                       * than half a second must, or the kernel takes it off its CPU */
    struct load_junk *junk; /* strangers beside it; NULL: none */
};

struct relay_load;

/* The ring is taken. */
struct relay_load *relay_load_open(const struct net_addr *media, struct key_ring *ring);
void relay_load_close(struct relay_load *l);

/* What stands between: where clients and the transceiver send, and how many clients there are. */
struct load_target {
    struct net_addr listen;
    struct net_addr internal;
    uint32_t clients;
    enum load_manner manner;
};

void relay_load_aim(struct relay_load *l, const struct load_target *target);
/* Each client sends requests until it is answered. False when some never are. */
MUST_USE bool relay_load_connect(struct relay_load *l);
/* Returns when the last packet is there, or given up. The figures are added to. */
void relay_load_run(struct relay_load *l, const struct load_burst *burst, struct load_figures *out);
/* In its place, one way up: clients send so many packets and nothing is taken; then all that are on
 * their way are. */
void relay_load_send(struct relay_load *l, size_t count, struct load_figures *out);
void relay_load_await(struct relay_load *l, const struct load_burst *burst,
                      struct load_figures *out);

#endif
