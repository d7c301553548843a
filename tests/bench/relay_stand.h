/*
 * relay_stand.h - what may stand between clients and a transceiver, and a burst through it
 *
 * All stands of a benchmark live at once and only the one that is measured runs: the others are
 * stopped (SIGSTOP). A stand has one CPU, the load has the next one.
 * Fails:   start with a fault; a burst asserts.
 */
#ifndef EARSHOT_BENCH_RELAY_STAND_H
#define EARSHOT_BENCH_RELAY_STAND_H

#include "tests/bench/relay_load.h"
#include "tests/bench/relay_process.h"

#define RELAY_STAND_MEDIA "127.0.0.1:6000"

enum relay_stand_kind { RELAY_STAND_NOTHING, RELAY_STAND_COPY_LOOP, RELAY_STAND_RELAY };

struct relay_stand_config {
    enum relay_stand_kind kind;
    uint32_t clients;
    bool has_no_trains;
    bool is_polling;
    unsigned gather_us;
};

struct relay_stand {
    struct relay_stand_config config;
    struct load_target target;
    struct relay_process_config relay;
    pid_t pid; /* 0: nothing */
    uint64_t connected_ns;
};

struct relay_burst {
    struct load_figures figures;
    double ns;   /* CPU of a packet; a round trip is two */
    double busy; /* share of the CPU */
};

/* number: of this stand among all, for its ports and its folder inside of `folder`. */
MUST_USE bool relay_stand_start(struct relay_stand *s, const struct relay_stand_config *config,
                                const char *folder, unsigned number, struct fault *fault);
void relay_stand_stop(struct relay_stand *s);
/* Stops it for now, or lets it run. */
void relay_stand_hold(const struct relay_stand *s, bool is_held);
/* It runs, and all clients are connected. */
void relay_stand_prepare(struct relay_stand *s, struct relay_load *load);
/* The thread is pinned and, during the burst, before all others. One way up, clients send a backlog
 * while the stand is stopped, and again when it has forwarded that: to send costs more than to
 * forward in trains, so that the stand would wait otherwise. */
void relay_stand_burst(struct relay_stand *s, struct relay_load *load,
                       const struct load_burst *burst, struct relay_burst *out);

#endif
