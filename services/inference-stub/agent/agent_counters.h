/* agent_counters.h - what the agents of a process count; one thread writes, others may read */
#ifndef EARSHOT_AGENT_COUNTERS_H
#define EARSHOT_AGENT_COUNTERS_H

#include "common/runtime/metrics.h"

struct agent_counters {
    metric_value answers[2]; /* said, and tools called */
    metric_value barge_ins;  /* speech that was flushed because the user spoke */
    metric_value turns;      /* of users, spoken */
};

#endif
