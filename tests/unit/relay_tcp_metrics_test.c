/* relay_tcp_metrics_test.c - what the TCP thread counts is told, and is part of the relay's sums */
#include "tests/testing.h"

#include "services/relay/relay_metrics.h"
#include "tests/loopback_relay.h"
#include "tests/metrics_check.h"

static struct loopback_relay world;
static struct relay_metrics metrics;
static metric_value beat;
static char *text;

/* Somebody may have the port above the workers': then another relay is tried. */
static struct tcp_ingress *open_ingress(void)
{
    for (unsigned i = 0; i < 20; i++) {
        loopback_relay_open(&world);
        struct relay_tcp_config *tcp = &world.config.tcp;
        *tcp = (struct relay_tcp_config){
            .listen_count = 1, .connections_max = 8, .connections_per_address_max = 2};
        assert_true(net_addr_parse("127.0.0.1:0", &tcp->listen[0]));
        struct fault fault = {0};
        const struct tcp_ingress_config config = {.relay = &world.config, .beat = &beat};
        struct tcp_ingress *ingress = tcp_ingress_open(
            &config, key_ring_from_secret(LOOPBACK_RELAY_KEY_ID, loopback_relay_secret), &fault);
        if (ingress != NULL) {
            return ingress;
        }
        loopback_relay_close(&world);
    }
    fail_msg("no free port");
    return NULL;
}

static void set(const metric_value *value, uint64_t number)
{
    metric_set((metric_value *)value, number);
}

/* No thread runs: the test counts in its stead. */
static int set_up(void **state)
{
    (void)state;
    metrics.tcp = open_ingress();
    const struct tcp_counters *tcp = tcp_ingress_tcp_counters(metrics.tcp);
    set(&tcp->connections[TCP_PLACE_CONFIRMED], 1);
    set(&tcp->connections[TCP_PLACE_NEW], 2);
    set(&tcp->connections[TCP_PLACE_HALF_OPEN], 5);
    set(&tcp->opened, 3);
    set(&tcp->without_descriptors, 4);
    set(&tcp->paused, 6);
    for (unsigned i = TCP_END_NONE + 1; i < TCP_END_COUNT; i++) {
        set(&tcp->ended[i], 100 + i);
    }
    set(&tcp_ingress_counters(metrics.tcp)->datagrams[FORWARD_UP_TOKEN], 30);
    set(&relay_worker_counters(world.worker[0])->datagrams[FORWARD_UP_TOKEN], 5);
    metrics.worker[0] = world.worker[0];
    metrics.worker_count = 1;
    relay_metrics_register(&metrics);
    text = metrics_check_render();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(text);
    tcp_ingress_close(metrics.tcp);
    loopback_relay_close(&world);
    return 0;
}

static void the_text_is_valid(void **state)
{
    (void)state;
    metrics_check_valid(text);
}

static void each_counter_of_connections_has_its_sample(void **state)
{
    (void)state;
    metrics_check_sample(text, "earshot_relay_tcp_connections{state=\"confirmed\"}", 1);
    metrics_check_sample(text, "earshot_relay_tcp_connections{state=\"new\"}", 2);
    metrics_check_sample(text, "earshot_relay_tcp_connections{state=\"half_open\"}", 5);
    metrics_check_sample(text, "earshot_relay_tcp_connections_opened_total", 3);
    metrics_check_sample(text, "earshot_relay_tcp_without_descriptors_total", 4);
    metrics_check_sample(text, "earshot_relay_tcp_paused_total", 6);
    for (unsigned i = TCP_END_NONE + 1; i < TCP_END_COUNT; i++) {
        metrics_check_label(text, "earshot_relay_tcp_connections_ended_total", "reason",
                            tcp_end_name((enum tcp_end)i), 100 + i);
    }
}

static void datagrams_of_tcp_are_part_of_the_sum(void **state)
{
    (void)state;
    metrics_check_sample(text, "earshot_relay_datagrams_total{direction=\"up\",verdict=\"token\"}",
                         35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_valid),
        cmocka_unit_test(each_counter_of_connections_has_its_sample),
        cmocka_unit_test(datagrams_of_tcp_are_part_of_the_sum),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
