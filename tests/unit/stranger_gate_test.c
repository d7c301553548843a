/* stranger_gate_test.c - floods of strangers, and who still gets through them */
#include "tests/testing.h"

#include "services/relay/core/stranger_gate.h"

#include "common/base/time_us.h"

#define START_US (100 * US_PER_S)

static const struct flow_hash_seed seed = {11, 12};

static struct net_addr addr(const char *ip)
{
    struct net_addr a;
    assert_true(net_addr_parse_ip(ip, 4000, &a));
    return a;
}

static struct stranger_gate *open_gate(void)
{
    struct stranger_gate *g = stranger_gate_create(200, 400, seed);
    assert_non_null(g);
    return g;
}

/* How many of so many tokens are opened for this address at this moment. */
static unsigned opened(struct stranger_gate *g, const char *ip, unsigned tries, uint64_t now_us)
{
    const struct net_addr from = addr(ip);
    unsigned count = 0;
    for (unsigned i = 0; i < tries; i++) {
        count += stranger_gate_opens_token(g, &from, now_us);
    }
    return count;
}

static void tokens_are_opened_at_a_rate_for_all_strangers_together(void **state)
{
    (void)state;
    struct stranger_gate *g = open_gate();
    const unsigned both = 2 * STRANGER_CHECKS_BURST; /* and the reserve: nobody was refused */
    assert_int_equal(opened(g, "192.0.2.1", both / 2, START_US), both / 2);
    assert_int_equal(opened(g, "198.51.100.1", both, START_US), both / 2);
    assert_int_equal(opened(g, "203.0.113.1", 1, START_US), 0);
    assert_int_equal(opened(g, "203.0.113.1", 1000, START_US + 1000),
                     2 * STRANGER_CHECKS_PER_S / 1000);
    stranger_gate_destroy(g);
}

/* It spends what all may use; the reserve is for the others. */
static void a_block_that_is_refused_keeps_nobody_else_out(void **state)
{
    (void)state;
    struct stranger_gate *g = open_gate();
    const struct net_addr refused = addr("192.0.2.1");
    for (unsigned i = 0; i < STRANGER_REFUSALS_BURST; i++) {
        stranger_gate_note_refusal(g, &refused, START_US);
    }
    assert_int_equal(opened(g, "192.0.2.77", 2 * STRANGER_CHECKS_BURST, START_US),
                     STRANGER_CHECKS_BURST);
    assert_int_equal(opened(g, "192.0.3.1", 10, START_US), 10);
    /* It is forgiven with time. */
    const uint64_t later_us = START_US + US_PER_S / STRANGER_REFUSALS_PER_S;
    assert_true(opened(g, "192.0.2.77", 2 * STRANGER_CHECKS_BURST, later_us) >
                STRANGER_CHECKS_PER_S / STRANGER_REFUSALS_PER_S);
    stranger_gate_destroy(g);
}

/* Whoever can lie about his address would else lock a block out with a few refusals. */
static void a_block_that_is_refused_is_heard_while_there_is_room(void **state)
{
    (void)state;
    struct stranger_gate *g = open_gate();
    const struct net_addr refused = addr("192.0.2.1");
    for (unsigned i = 0; i < 10 * STRANGER_REFUSALS_BURST; i++) {
        stranger_gate_note_refusal(g, &refused, START_US);
    }
    assert_int_equal(opened(g, "192.0.2.1", 100, START_US), 100);
    stranger_gate_destroy(g);
}

static void a_session_gets_as_many_requests_as_its_transceiver_takes(void **state)
{
    (void)state;
    struct stranger_gate *g = open_gate();
    const struct flow_owner owner = {1, 2};
    const struct flow_owner other = {1, 3};
    for (unsigned i = 0; i < 2 * STRANGER_REQUESTS_BURST; i++) {
        assert_int_equal(stranger_gate_passes_request(g, owner, START_US),
                         i < STRANGER_REQUESTS_BURST);
    }
    assert_true(stranger_gate_passes_request(g, other, START_US));
    assert_true(
        stranger_gate_passes_request(g, owner, START_US + US_PER_S / STRANGER_REQUESTS_PER_S));
    stranger_gate_destroy(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_opened_at_a_rate_for_all_strangers_together),
        cmocka_unit_test(a_block_that_is_refused_keeps_nobody_else_out),
        cmocka_unit_test(a_block_that_is_refused_is_heard_while_there_is_room),
        cmocka_unit_test(a_session_gets_as_many_requests_as_its_transceiver_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
