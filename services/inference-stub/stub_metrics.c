/* stub_metrics.c - see stub_metrics.h */
#include "services/inference-stub/stub_metrics.h"

#include <stdio.h>

static const char *const close_reason[STUB_CLOSE_REASONS] = {
    [STUB_CLOSE_PEER] = "peer",
    [STUB_CLOSE_BAD_FRAME] = "bad_frame",
    [STUB_CLOSE_VERSION] = "version",
    [STUB_CLOSE_SEQUENCE] = "sequence",
    [STUB_CLOSE_HELLO_TIMEOUT] = "hello_timeout",
    [STUB_CLOSE_HEARTBEAT] = "heartbeat",
    [STUB_CLOSE_NOT_READING] = "not_reading",
    [STUB_CLOSE_OVERLOAD] = "overload",
    [STUB_CLOSE_DRAINED] = "drained",
};

static const char *const session_outcome[STUB_SESSION_OUTCOMES] = {
    [STUB_SESSION_ACCEPTED] = "accepted",   [STUB_SESSION_RESUMED] = "resumed",
    [STUB_SESSION_NO_FORMAT] = "no_format", [STUB_SESSION_FULL] = "full",
    [STUB_SESSION_DRAINING] = "draining",   [STUB_SESSION_TIMEOUT] = "timeout",
    [STUB_SESSION_NO_RESUME] = "no_resume",
};

const char *stub_metrics_close_reason(enum stub_close_reason reason)
{
    return close_reason[reason];
}

static void print_labelled(struct metrics_text *t, const char *label, const char *const *names,
                           const metric_value *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char labels[64];
        (void)snprintf(labels, sizeof(labels), "%s=\"%s\"", label, names[i]);
        metrics_sample_u64(t, labels, metric_get(&values[i]));
    }
}

static void print_connections(struct metrics_text *t, const struct stub_counters *c)
{
    metrics_family(t, "earshot_stub_connections", METRIC_GAUGE, "Connections of transceivers.");
    metrics_sample_u64(t, NULL, metric_get(&c->connections_open));
    metrics_family(t, "earshot_stub_connections_accepted_total", METRIC_COUNTER,
                   "Connections taken.");
    metrics_sample_u64(t, NULL, metric_get(&c->connections_accepted));
    metrics_family(t, "earshot_stub_connections_refused_total", METRIC_COUNTER,
                   "Connections beyond connections_max, closed at once.");
    metrics_sample_u64(t, NULL, metric_get(&c->connections_refused));
    metrics_family(t, "earshot_stub_connections_closed_total", METRIC_COUNTER,
                   "Connections closed, by reason.");
    print_labelled(t, "reason", close_reason, c->closed, STUB_CLOSE_REASONS);
}

static void print_sessions(struct metrics_text *t, const struct stub_counters *c)
{
    metrics_family(t, "earshot_stub_sessions_active", METRIC_GAUGE, "Calls.");
    metrics_sample_u64(t, NULL, metric_get(&c->sessions_open));
    metrics_family(t, "earshot_stub_sessions_total", METRIC_COUNTER,
                   "Calls offered, by what became of them.");
    print_labelled(t, "outcome", session_outcome, c->sessions, STUB_SESSION_OUTCOMES);
}

static void print_frames(struct metrics_text *t, const struct stub_counters *c)
{
    metrics_family(t, "earshot_stub_frames_total", METRIC_COUNTER, "Backend frames.");
    metrics_sample_u64(t, "direction=\"in\"", metric_get(&c->frames_in));
    metrics_sample_u64(t, "direction=\"out\"", metric_get(&c->frames_out));
    metrics_family(t, "earshot_stub_errors_total", METRIC_COUNTER, "ERROR frames.");
    metrics_sample_u64(t, "direction=\"in\"", metric_get(&c->errors_heard));
    metrics_sample_u64(t, "direction=\"out\"", metric_get(&c->errors_sent));
}

static void print_dialogue(struct metrics_text *t, const struct stub_counters *c)
{
    metrics_family(t, "earshot_stub_turns_total", METRIC_COUNTER,
                   "Turns of users: said back, or too short to be speech.");
    metrics_sample_u64(t, "outcome=\"said\"", metric_get(&c->turns_said));
    metrics_sample_u64(t, "outcome=\"dismissed\"", metric_get(&c->turns_dismissed));
    metrics_family(t, "earshot_stub_barge_ins_total", METRIC_COUNTER,
                   "Times a user spoke while the parrot did, and it fell silent.");
    metrics_sample_u64(t, NULL, metric_get(&c->barge_ins));
    metrics_family(t, "earshot_stub_echo_dropped_samples_total", METRIC_COUNTER,
                   "Samples that were not echoed: no credit, or too late.");
    metrics_sample_u64(t, NULL, metric_get(&c->echo_dropped_samples));
    metrics_family(t, "earshot_stub_events_total", METRIC_COUNTER,
                   "Events of clients: answered, or dropped because answers piled up.");
    metrics_sample_u64(t, "outcome=\"answered\"", metric_get(&c->events_answered));
    metrics_sample_u64(t, "outcome=\"dropped\"", metric_get(&c->events_dropped));
}

static void print_agent(struct metrics_text *t, const struct agent_counters *c)
{
    metrics_family(t, "earshot_stub_agent_turns_total", METRIC_COUNTER,
                   "Turns that users spoke to the agent.");
    metrics_sample_u64(t, NULL, metric_get(&c->turns));
    metrics_family(t, "earshot_stub_agent_answers_total", METRIC_COUNTER,
                   "What the agent answered: words, or a call of a tool.");
    metrics_sample_u64(t, "kind=\"words\"", metric_get(&c->answers));
    metrics_sample_u64(t, "kind=\"tool\"", metric_get(&c->calls));
    metrics_family(t, "earshot_stub_agent_barge_ins_total", METRIC_COUNTER,
                   "Times a user spoke while the agent did, and it fell silent.");
    metrics_sample_u64(t, NULL, metric_get(&c->barge_ins));
}

static void print_voice(struct metrics_text *t, const struct stub_counters *c)
{
    metrics_family(t, "earshot_stub_sentences_total", METRIC_COUNTER,
                   "Sentences that became speech, or could not.");
    metrics_sample_u64(t, "outcome=\"made\"", metric_get(&c->sentences_made));
    metrics_sample_u64(t, "outcome=\"failed\"", metric_get(&c->sentences_failed));
    metrics_family(t, "earshot_stub_sentences_waiting", METRIC_GAUGE,
                   "Sentences that are to become speech.");
    metrics_sample_u64(t, NULL, metric_get(&c->sentences_waiting));
}

void stub_metrics_print(struct metrics_text *t, void *context)
{
    const struct stub_counters *c = context;
    print_connections(t, c);
    print_sessions(t, c);
    print_frames(t, c);
    print_dialogue(t, c);
    print_agent(t, &c->agent);
    print_voice(t, c);
}
