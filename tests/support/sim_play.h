/*
 * sim_play.h - plays the call of a seed, under every rule
 *
 * Rules:   sim_agent_rules.h, sim_uplink_rules.h, sim_wire_rules.h; and: a tick makes progress, no
 *          allocation on the packet path, each call ends once.
 * Stops:   at the first rule that is broken.
 */
#ifndef EARSHOT_SIM_PLAY_H
#define EARSHOT_SIM_PLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PLAY_FAULT_CAP 256

struct sim_play_result {
    bool is_broken;
    char fault[SIM_PLAY_FAULT_CAP]; /* the rule that was broken */
    bool was_real;                  /* real Opus */
    bool was_connected;
    uint64_t packets; /* to the client, as far as they came */
    uint64_t copies;  /* RED to it */
    uint64_t repeats; /* for its NACKs */
};

/* is_loud: tells what happens as it happens; a broken call tells its last lines anyhow.
 * allocations: of the process so far; NULL: not counted. */
struct sim_play_result sim_play(uint64_t seed, bool is_loud, const size_t *allocations);

#endif
