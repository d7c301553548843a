/*
 * stub_counters.h - everything the stub counts
 *
 * One thread writes, the admin thread reads (stub_metrics.h).
 */
#ifndef EARSHOT_STUB_COUNTERS_H
#define EARSHOT_STUB_COUNTERS_H

#include "common/runtime/metrics.h"
#include "services/inference-stub/agent/agent_counters.h"

enum stub_close_reason {
    STUB_CLOSE_PEER, /* the other end closed */
    STUB_CLOSE_BAD_FRAME,
    STUB_CLOSE_VERSION,
    STUB_CLOSE_SEQUENCE,
    STUB_CLOSE_HELLO_TIMEOUT,
    STUB_CLOSE_HEARTBEAT,
    STUB_CLOSE_NOT_READING,
    STUB_CLOSE_OVERLOAD, /* a bound of ours was reached */
    STUB_CLOSE_DRAINED,  /* we are going */
    STUB_CLOSE_REASONS
};

enum stub_session_outcome {
    STUB_SESSION_ACCEPTED,
    STUB_SESSION_RESUMED,
    STUB_SESSION_NO_FORMAT, /* the rest is rejected */
    STUB_SESSION_FULL,
    STUB_SESSION_DRAINING,
    STUB_SESSION_TIMEOUT, /* SESSION_START began and did not end */
    STUB_SESSION_NO_RESUME,
    STUB_SESSION_OUTCOMES
};

struct stub_counters {
    metric_value connections_open;
    metric_value connections_accepted;
    metric_value connections_refused; /* more than connections_max */
    metric_value closed[STUB_CLOSE_REASONS];
    metric_value sessions_open;
    metric_value sessions[STUB_SESSION_OUTCOMES];
    metric_value frames_in;
    metric_value frames_out;
    metric_value errors_sent;
    metric_value errors_heard;
    metric_value turns_said;
    metric_value turns_dismissed;
    metric_value barge_ins;
    metric_value echo_dropped_samples; /* no credit, too late, or too far behind */
    metric_value events_answered;
    metric_value events_dropped; /* more than the answers one session may have waiting */
    struct agent_counters agent;
    metric_value sentences_made; /* of the agents' speech */
    metric_value sentences_failed;
    metric_value sentences_waiting;
};

#endif
