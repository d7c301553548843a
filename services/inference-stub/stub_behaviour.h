/* stub_behaviour.h - what is the same for all sessions of a process; outlives them, one thread */
#ifndef EARSHOT_STUB_BEHAVIOUR_H
#define EARSHOT_STUB_BEHAVIOUR_H

#include "common/base/random.h"
#include "common/runtime/log.h"
#include "services/inference-stub/agent/agent_script.h"
#include "services/inference-stub/dialogue.h"
#include "services/inference-stub/sound/speech_desk.h"

struct session_shelf;

struct stub_behaviour {
    enum dialogue_mode mode; /* where there is no script */
    const char *mode_name;
    uint64_t echo_delay_us;
    uint32_t tone_hz;
    struct pcm_view greeting_16k; /* of a parrot: the same words at the two rates */
    struct pcm_view greeting_24k;
    const struct agent_script *script; /* of the agent, with its desk; NULL: a dialogue */
    struct speech_desk *desk;
    struct random_source random;     /* of the agent's ids */
    uint64_t wall_clock_us;          /* Unix time when the sessions' clock was 0 */
    uint32_t sessions_max;           /* of the process */
    bool is_draining;                /* no new session */
    struct session_shelf *shelf;     /* of calls whose connection broke; NULL: nothing is kept */
    struct log_limit *session_lines; /* who makes calls by the thousand fills no log */
    struct stub_counters *counters;
};

#endif
