/* forwarder_restart_test.c - a forwarder that goes on where another one ended */
#include "tests/flow_settling.h"
#include "tests/unit/forwarder_world.h"

#include <stdlib.h>

static struct route_notes notes;
static void *lines;

static struct world begin_life(bool is_used, uint64_t now_us, size_t expected)
{
    const struct forwarder_config config = world_config();
    struct world w = world_open_silent(&config);
    w.now_us = now_us;
    if (is_used) {
        forwarder_recall(w.forwarder, &notes, now_us);
    }
    struct flow_remains *remains =
        collect_lines(lines, config.flow_cap, config.listen_count, now_us);
    assert_int_equal(forwarder_settle(w.forwarder, lines, remains), expected);
    flow_remains_destroy(remains);
    return w;
}

/* A confirmed flow of session A; its routes noted, as main does; and the process ends. */
static int leave_a_call(void **state)
{
    (void)state;
    const struct forwarder_config config = world_config();
    const size_t bytes = flow_table_bytes(config.flow_cap);
    lines = aligned_alloc(sizeof(struct flow), bytes);
    memset(lines, 0, bytes);
    struct world w = begin_life(false, WORLD_START_US, 0);
    world_announce(&w, owner_a, "10.0.0.5:4000");
    world_announce(&w, owner_b, "10.0.0.6:4000");
    assert_int_equal(from_client(&w, CLIENT, request(&w, owner_a)).reason, FORWARD_UP_TOKEN);
    assert_int_equal(downlink(&w, owner_a, CLIENT).reason, FORWARD_DOWN_SHIM);
    route_table_note(forwarder_routes(w.forwarder), &notes, WORLD_START_US);
    world_close(&w);
    return 0;
}

static int free_lines(void **state)
{
    (void)state;
    free(lines);
    return 0;
}

static void a_datagram_follows_its_flow_before_any_transceiver_is_heard(void **state)
{
    (void)state;
    struct world w = begin_life(true, WORLD_START_US + US_PER_S, 1);
    const struct verdict v = from_client(&w, CLIENT, rtp(&w));
    assert_to(&v, FORWARD_UP_FLOW, "10.0.0.5:4001");
    assert_true(flow_owner_equal(v.owner, owner_a));
    world_close(&w);
}

/* After a restart the first downlink would decide whose the client is; the flow remembers. */
static void the_owner_keeps_its_flow_across_the_restart(void **state)
{
    (void)state;
    struct world w = begin_life(true, WORLD_START_US + FORWARDER_OWNER_KEEPS_US - 1, 1);
    assert_int_equal(downlink(&w, owner_b, CLIENT).reason, FORWARD_DOWN_SHIM);
    assert_true(flow_owner_equal(from_client(&w, CLIENT, rtp(&w)).owner, owner_a));
    world_close(&w);

    w = begin_life(true, WORLD_START_US + FORWARDER_OWNER_KEEPS_US, 1);
    assert_int_equal(downlink(&w, owner_b, CLIENT).reason, FORWARD_DOWN_SHIM);
    assert_true(flow_owner_equal(from_client(&w, CLIENT, rtp(&w)).owner, owner_b));
    world_close(&w);
}

static void an_old_life_is_over(void **state)
{
    (void)state;
    struct world w = begin_life(true, WORLD_START_US + FLOW_CONFIRMED_LIFE_US, 0);
    assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason, FORWARD_UP_NO_FLOW);
    assert_int_equal(route_table_count(forwarder_routes(w.forwarder)), 0);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_datagram_follows_its_flow_before_any_transceiver_is_heard,
                                        leave_a_call, free_lines),
        cmocka_unit_test_setup_teardown(the_owner_keeps_its_flow_across_the_restart, leave_a_call,
                                        free_lines),
        cmocka_unit_test_setup_teardown(an_old_life_is_over, leave_a_call, free_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
