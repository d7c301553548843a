/* fleet_world.h - whole calls for the tests of this folder, and the seconds that pass in them */
#ifndef EARSHOT_TESTS_FLEET_WORLD_H
#define EARSHOT_TESTS_FLEET_WORLD_H

#include "tests/testing.h"

#include "tests/support/sim_fleet.h"
#include "tests/virtual_time.h"

#define SECOND   US_PER_S
#define DELAY_US 15000

void sim_fleet_set_time(uint64_t now_us)
{
    virtual_time_us = now_us;
}

static inline struct sim_fleet_config quiet_network(uint64_t seed)
{
    print_message("seed %llu\n", (unsigned long long)seed);
    return (struct sim_fleet_config){
        .seed = seed, .link.delay_us = DELAY_US, .cluster.mode = DIALOGUE_ECHO};
}

static inline void run_for(struct sim_fleet *f, uint64_t us)
{
    sim_fleet_run(f, sim_fleet_now(f) + us);
}

static inline uint64_t ended(const struct sim_fleet *f, enum session_end_reason reason)
{
    return metric_get(&sim_fleet_counters(f)->sessions_ended[reason]);
}

#endif
