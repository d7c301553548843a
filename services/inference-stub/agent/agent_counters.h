/* agent_counters.h - what the agents of a process count; one thread writes, others may read */
#ifndef EARSHOT_AGENT_COUNTERS_H
#define EARSHOT_AGENT_COUNTERS_H

#include "common/runtime/metrics.h"

struct agent_counters {
    metric_value turns;     /* that users spoke */
    metric_value answers;   /* that it gave in words */
    metric_value calls;     /* of tools, instead */
    metric_value barge_ins; /* speech that was flushed while the user spoke */
};

#endif
