/* stub_metrics_test.c - every counter of the stub is told once, under its own name */
#include "tests/testing.h"

#include "services/inference-stub/stub_metrics.h"
#include "tests/metrics_check.h"

static struct stub_counters counters;

/* No two of them the same: a value in a wrong place is seen. */
static int set_up(void **state)
{
    (void)state;
    metric_value *value = &counters.connections_open;
    for (size_t i = 0; i < sizeof(counters) / sizeof(*value); i++) {
        metric_set(&value[i], 1000 + i);
    }
    metrics_add_source(stub_metrics_print, &counters);
    return 0;
}

static void the_text_is_valid(void **state)
{
    (void)state;
    char *text = metrics_check_render();
    metrics_check_valid(text);
    free(text);
}

static void every_reason_and_outcome_has_its_sample(void **state)
{
    (void)state;
    static const char *const outcome[] = {"accepted", "resumed", "no_format", "full",
                                          "draining", "timeout", "no_resume"};
    static_assert(COUNT_OF(outcome) == STUB_SESSION_OUTCOMES, "each has a row");
    char *text = metrics_check_render();
    for (size_t i = 0; i < STUB_CLOSE_REASONS; i++) {
        metrics_check_label(text, "earshot_stub_connections_closed_total", "reason",
                            stub_metrics_close_reason((enum stub_close_reason)i),
                            metric_get(&counters.closed[i]));
    }
    for (size_t i = 0; i < STUB_SESSION_OUTCOMES; i++) {
        metrics_check_label(text, "earshot_stub_sessions_total", "outcome", outcome[i],
                            metric_get(&counters.sessions[i]));
    }
    free(text);
}

static void every_other_counter_has_its_sample(void **state)
{
    (void)state;
    static const struct {
        const char *series;
        const metric_value *value;
    } row[] = {
        {"earshot_stub_connections", &counters.connections_open},
        {"earshot_stub_connections_accepted_total", &counters.connections_accepted},
        {"earshot_stub_connections_refused_total", &counters.connections_refused},
        {"earshot_stub_sessions_active", &counters.sessions_open},
        {"earshot_stub_frames_total{direction=\"in\"}", &counters.frames_in},
        {"earshot_stub_frames_total{direction=\"out\"}", &counters.frames_out},
        {"earshot_stub_errors_total{direction=\"in\"}", &counters.errors_heard},
        {"earshot_stub_errors_total{direction=\"out\"}", &counters.errors_sent},
        {"earshot_stub_turns_total{outcome=\"said\"}", &counters.turns_said},
        {"earshot_stub_turns_total{outcome=\"dismissed\"}", &counters.turns_dismissed},
        {"earshot_stub_barge_ins_total", &counters.barge_ins},
        {"earshot_stub_echo_dropped_samples_total", &counters.echo_dropped_samples},
        {"earshot_stub_events_total{outcome=\"answered\"}", &counters.events_answered},
        {"earshot_stub_events_total{outcome=\"dropped\"}", &counters.events_dropped},
        {"earshot_stub_agent_turns_total", &counters.agent.turns},
        {"earshot_stub_agent_answers_total{kind=\"words\"}", &counters.agent.answers},
        {"earshot_stub_agent_answers_total{kind=\"tool\"}", &counters.agent.calls},
        {"earshot_stub_agent_barge_ins_total", &counters.agent.barge_ins},
        {"earshot_stub_sentences_total{outcome=\"made\"}", &counters.sentences_made},
        {"earshot_stub_sentences_total{outcome=\"failed\"}", &counters.sentences_failed},
        {"earshot_stub_sentences_waiting", &counters.sentences_waiting},
    };
    static_assert(COUNT_OF(row) + STUB_CLOSE_REASONS + STUB_SESSION_OUTCOMES ==
                      sizeof(counters) / sizeof(metric_value),
                  "each counter is in one of these tests");
    char *text = metrics_check_render();
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        metrics_check_sample(text, row[i].series, metric_get(row[i].value));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_valid),
        cmocka_unit_test(every_reason_and_outcome_has_its_sample),
        cmocka_unit_test(every_other_counter_has_its_sample),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
