/*
 * sim_scenario.h - a call drawn from a seed: its network, its two ends, and what befalls it
 *
 * Each kind of trouble is in some seeds and not in others, else the rare ones drown. One call of
 * ten is real Opus both ways and is listened to; the others speak packets that were encoded before,
 * and are encoded at complexity 0.
 */
#ifndef EARSHOT_SIM_SCENARIO_H
#define EARSHOT_SIM_SCENARIO_H

#include "tests/support/sim_fleet.h"

#define SIM_SCENARIO_CALL_US   (20 * US_PER_S)
#define SIM_SCENARIO_DEEDS_MAX 96

enum sim_deed {
    SIM_DEED_SPEAK,
    SIM_DEED_SPEAK_SLOWLY,
    SIM_DEED_SPEAK_OPEN,
    SIM_DEED_FLUSH,
    SIM_DEED_FLUSH_ALL,
    SIM_DEED_FLUSH_OLD,
    SIM_DEED_PAUSE,
    SIM_DEED_PAUSE_NEXT,
    SIM_DEED_GO_ON,
    SIM_DEED_NONSENSE,
    SIM_DEED_STALL_AGENT,
    SIM_DEED_STALL_TRANSCEIVER,
    SIM_DEED_HOLD_LINK,
    SIM_DEED_REBIND,
    SIM_DEED_MOVE,
    SIM_DEED_RESTART_ICE,
    SIM_DEED_RESTART_ICE_UNHEARD,
    SIM_DEED_RESTART_RELAY,
    SIM_DEED_LOSE_BACKEND,
    SIM_DEED_GO_AWAY,
    SIM_DEED_FALL_SILENT,
    SIM_DEED_SPEAK_UP,
    SIM_DEED_MUTE,
    SIM_DEED_UNMUTE,
    SIM_DEED_CHANGE_SSRC,
    SIM_DEED_GARBAGE,
    SIM_DEED_AGENT_SAYS, /* an event */
    SIM_DEED_CLIENT_SAYS,
    SIM_DEED_HANG_UP,
    SIM_DEED_CLIENT_CLOSES,
    SIM_DEED_AGENT_ENDS,
    SIM_DEED_AGENT_ENDS_DRAINED,
    SIM_DEED_COUNT
};

const char *sim_deed_name(enum sim_deed deed);

struct sim_plan {
    uint64_t at_us; /* since the call was placed */
    enum sim_deed deed;
    uint64_t amount_us;
};

struct sim_scenario {
    struct random_generator random;
    struct sim_fleet_config fleet;
    struct sim_backend_config agent;
    struct sim_plan plan[SIM_SCENARIO_DEEDS_MAX]; /* in order of time; the last ends the call */
    size_t plan_count;
    bool is_real;
};

void sim_scenario_draw(struct sim_scenario *s, uint64_t seed);
/* In words. */
void sim_scenario_tell(const struct sim_scenario *s, struct sim_journal *j, uint64_t now_us);

#endif
