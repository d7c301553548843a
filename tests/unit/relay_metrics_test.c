/* relay_metrics_test.c - every counter of the workers is told once, summed, by its own name */
#include "tests/testing.h"

#include "services/relay/relay_metrics.h"
#include "tests/loopback_relay.h"
#include "tests/metrics_check.h"

static struct loopback_relay world;
static struct relay_metrics metrics;
static char *text;

static void number(const metric_value *value, size_t count, uint64_t first)
{
    for (size_t i = 0; i < count; i++) {
        metric_set((metric_value *)&value[i], first + i);
    }
}

/* The workers do not run: the test counts in their stead. No two values of one are the same. */
static int set_up(void **state)
{
    (void)state;
    loopback_relay_open(&world);
    for (size_t i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        const struct relay_counters *counters = relay_worker_counters(world.worker[i]);
        number(counters->datagrams,
               offsetof(struct relay_counters, residence) / sizeof(metric_value), 1000);
        number(&relay_worker_trains(world.worker[i])->trains,
               offsetof(struct udp_sender_counters, mode) / sizeof(metric_value), 3000);
        metric_observe((struct metric_histogram *)&counters->residence[RELAY_DOWN], 101);
        metrics.worker[i] = world.worker[i];
    }
    metrics.worker_count = LOOPBACK_RELAY_WORKERS;
    number(metrics.control.announcements, sizeof(metrics.control) / sizeof(metric_value), 2000);
    metric_set(&metrics.control.key_ids, UINT64_C(1) << 63 | 1);
    metric_set(&metrics.control.key_active_id, 63);
    relay_metrics_register(&metrics);
    text = metrics_check_render();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(text);
    loopback_relay_close(&world);
    return 0;
}

static void the_text_is_valid(void **state)
{
    (void)state;
    metrics_check_valid(text);
}

static void every_verdict_has_its_sample_with_its_direction(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORWARD_REASON_COUNT; i++) {
        char series[METRICS_CHECK_NAME_CAP];
        (void)snprintf(series, sizeof(series),
                       "earshot_relay_datagrams_total{direction=\"%s\",verdict=\"%s\"}",
                       i < FORWARD_DOWN_SHIM ? "up" : "down",
                       forward_reason_name((enum forward_reason)i));
        metrics_check_sample(text, series, LOOPBACK_RELAY_WORKERS * (1000 + i));
    }
}

static void every_result_of_an_announcement_has_its_sample(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROUTE_RESULT_COUNT; i++) {
        metrics_check_label(text, "earshot_relay_announcements_total", "result",
                            route_result_name((enum route_result)i), 2000 + i);
    }
    metrics_check_label(text, "earshot_relay_announcements_total", "result", "malformed",
                        metric_get(&metrics.control.announcements_malformed));
}

static void every_other_counter_is_the_sum_of_the_workers(void **state)
{
    (void)state;
    const struct relay_counters *c = relay_worker_counters(world.worker[0]);
    const struct udp_sender_counters *trains = relay_worker_trains(world.worker[0]);
    const struct {
        const char *series;
        const metric_value *value;
    } row[] = {
        {"earshot_relay_bytes_total{direction=\"up\"}", &c->bytes[RELAY_UP]},
        {"earshot_relay_bytes_total{direction=\"down\"}", &c->bytes[RELAY_DOWN]},
        {"earshot_socket_dropped_messages_total{direction=\"up\"}", &c->kernel_dropped[RELAY_UP]},
        {"earshot_socket_dropped_messages_total{direction=\"down\"}",
         &c->kernel_dropped[RELAY_DOWN]},
        {"earshot_relay_disputed_datagrams_total", &c->disputed},
        {"earshot_relay_disputed_unsent_total", &c->disputed_unsent},
        {"earshot_relay_flows{state=\"half_open\"}", &c->flows[FLOW_HALF_OPEN]},
        {"earshot_relay_flows{state=\"confirmed\"}", &c->flows[FLOW_CONFIRMED]},
        {"earshot_relay_flows_evicted_total{state=\"half_open\"}",
         &c->flows_evicted[FLOW_HALF_OPEN]},
        {"earshot_relay_flows_evicted_total{state=\"confirmed\"}",
         &c->flows_evicted[FLOW_CONFIRMED]},
        {"earshot_relay_trains_total", &trains->trains},
        {"earshot_relay_train_datagrams_total", &trains->train_datagrams},
        {"earshot_relay_trains_refused_total", &trains->refused_trains},
        {"earshot_relay_trains_given_up_total", &trains->given_up},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        metrics_check_sample(text, row[i].series,
                             LOOPBACK_RELAY_WORKERS * metric_get(row[i].value));
    }
    metrics_check_sample(text, "earshot_relay_inbox_lost_total",
                         LOOPBACK_RELAY_WORKERS * metric_get(&c->lessons_lost) +
                             metric_get(&metrics.control.messages_lost));
    metrics_check_sample(text, "earshot_relay_instances_known",
                         metric_get(&metrics.control.instances_known));
    metrics_check_sample(text, "earshot_key_ring_reloads_failed_total{ring=\"media\"}",
                         metric_get(&metrics.control.key_reloads_failed));
}

static void workers_are_counted_by_how_they_send(void **state)
{
    (void)state;
    metrics_check_sample(text, "earshot_relay_senders{mode=\"trains\"}", LOOPBACK_RELAY_WORKERS);
    metrics_check_sample(text, "earshot_relay_senders{mode=\"singly\"}", 0);
    const metric_value *mode = &relay_worker_trains(world.worker[1])->mode;
    metric_set((metric_value *)mode, UDP_SEND_SINGLY);
    char *again = metrics_check_render();
    metric_set((metric_value *)mode, UDP_SEND_TRAINS);
    metrics_check_sample(again, "earshot_relay_senders{mode=\"trains\"}",
                         LOOPBACK_RELAY_WORKERS - 1);
    metrics_check_sample(again, "earshot_relay_senders{mode=\"singly\"}", 1);
    free(again);
}

#define RESIDENCE "earshot_relay_residence_seconds"

static void residence_is_one_histogram_over_the_workers(void **state)
{
    (void)state;
    metrics_check_sample(text, RESIDENCE "_bucket{direction=\"down\",le=\"0.0001\"}", 0);
    metrics_check_sample(text, RESIDENCE "_bucket{direction=\"down\",le=\"0.0002\"}", 2);
    metrics_check_sample(text, RESIDENCE "_count{direction=\"down\"}", 2);
    metrics_check_sample(text, RESIDENCE "_count{direction=\"up\"}", 0);
    assert_int_equal(metrics_check_lines(text, RESIDENCE "_count{"), RELAY_DIRECTION_COUNT);
}

static void every_worker_tells_the_lag_of_its_loop(void **state)
{
    (void)state;
    metrics_check_sample(text, "earshot_loop_lag_seconds_count{worker=\"worker0\"}", 0);
    metrics_check_sample(text, "earshot_loop_lag_seconds_count{worker=\"worker1\"}", 0);
    assert_int_equal(metrics_check_lines(text, "earshot_loop_lag_seconds_count{"),
                     LOOPBACK_RELAY_WORKERS);
}

static void only_keys_that_are_held_are_told_and_one_is_active(void **state)
{
    (void)state;
    assert_int_equal(metrics_check_lines(text, "earshot_key_ring_key_info{"), 2);
    metrics_check_sample(
        text, "earshot_key_ring_key_info{ring=\"media\",key_id=\"00\",active=\"false\"}", 1);
    metrics_check_sample(
        text, "earshot_key_ring_key_info{ring=\"media\",key_id=\"63\",active=\"true\"}", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_valid),
        cmocka_unit_test(every_verdict_has_its_sample_with_its_direction),
        cmocka_unit_test(every_result_of_an_announcement_has_its_sample),
        cmocka_unit_test(every_other_counter_is_the_sum_of_the_workers),
        cmocka_unit_test(workers_are_counted_by_how_they_send),
        cmocka_unit_test(residence_is_one_histogram_over_the_workers),
        cmocka_unit_test(every_worker_tells_the_lag_of_its_loop),
        cmocka_unit_test(only_keys_that_are_held_are_told_and_one_is_active),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
