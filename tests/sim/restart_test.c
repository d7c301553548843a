/* restart_test.c - restarts of ICE in whole calls: clients that roam, answers that get lost */
#include "tests/sim/fleet_world.h"

static struct net_addr address_of(const char *text)
{
    struct net_addr address;
    assert_true(net_addr_parse(text, &address));
    return address;
}

static double tone(struct sim_fleet *f)
{
    return sim_client_tone_share(sim_fleet_client(f), SIM_CLIENT_TONE_HZ);
}

static void restart(struct sim_fleet *f)
{
    assert_int_equal(sim_fleet_restart_ice(f, true), CONTROL_REFUSAL_NONE);
}

static void a_restart_in_a_good_call_costs_no_packet(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(301);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    for (int i = 1; i <= 3; i++) {
        restart(f);
        run_for(f, 2 * SECOND);
        assert_int_equal(session_ice(sim_fleet_session(f))->generation, i);
    }
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    assert_int_equal(heard->missing, 0);
    assert_true(heard->gap_us_max <= 20000);
    assert_int_equal(session_path(sim_fleet_session(f)).moves, 0);
    assert_int_equal(sim_fleet_strays(f), 0);
    assert_true(tone(f) > 0.95);
    sim_fleet_destroy(f);
}

/* Its first nominated check moves the path: one way there, one back. */
static void a_client_that_roams_and_restarts_hears_on_at_once(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(302);
    struct sim_fleet *f = sim_fleet_create(&config);
    const struct net_addr other = address_of("192.0.2.9:40000");
    run_for(f, 3 * SECOND);
    sim_client_move(sim_fleet_client(f), &other, sim_fleet_now(f));
    restart(f);
    run_for(f, 40 * US_PER_MS);
    assert_true(sim_fleet_now(f) - sim_client_heard(sim_fleet_client(f))->latest_us <= 20000);
    assert_int_equal(session_path(sim_fleet_session(f)).moves, 1);
    run_for(f, 3 * SECOND);
    assert_true(tone(f) > 0.95);
    sim_fleet_destroy(f);
}

/* The NAT changes between the PATCH and the first check, and again behind it. */
static void a_nat_that_rebinds_around_a_restart_loses_no_call(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(303);
    struct sim_fleet *f = sim_fleet_create(&config);
    const struct net_addr second = address_of("192.0.2.9:40000");
    const struct net_addr third = address_of("192.0.2.9:40001");
    run_for(f, 3 * SECOND);
    restart(f);
    sim_client_rebind(sim_fleet_client(f), &second);
    run_for(f, 3 * SECOND);
    sim_client_rebind(sim_fleet_client(f), &third);
    run_for(f, 6 * SECOND);
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    assert_true(sim_fleet_now(f) - heard->latest_us <= 20000);
    assert_true(tone(f) > 0.95);
    assert_non_null(sim_fleet_session(f));
    sim_fleet_destroy(f);
}

static void a_path_that_was_gone_for_long_comes_back_in_the_same_call(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(304);
    struct sim_fleet *f = sim_fleet_create(&config);
    const struct net_addr other = address_of("198.51.100.7:1024");
    run_for(f, 3 * SECOND);
    const uint32_t id = session_id(sim_fleet_session(f));
    sim_fleet_set_loss(f, 1000);
    run_for(f, 28 * SECOND);
    sim_fleet_set_loss(f, 0);
    sim_client_move(sim_fleet_client(f), &other, sim_fleet_now(f));
    restart(f);
    run_for(f, 4 * SECOND);
    assert_int_equal(session_id(sim_fleet_session(f)), id);
    assert_true(tone(f) > 0.9);
    sim_fleet_destroy(f);
}

/* Liveness is of authentic packets: a restart by HTTP is none. */
static void asking_for_restarts_keeps_no_dead_call_alive(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(305);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    sim_fleet_set_loss(f, 1000);
    for (int i = 0; i < 29; i++) {
        run_for(f, SECOND);
        restart(f);
    }
    run_for(f, 2 * SECOND);
    assert_null(sim_fleet_session(f));
    assert_int_equal(sim_fleet_restart_ice(f, true), CONTROL_NOT_FOUND);
    assert_int_equal(metric_get(&sim_fleet_counters(f)->sessions_ended[SESSION_END_CLIENT_LOST]),
                     1);
    sim_fleet_destroy(f);
}

/* It goes on with the old credentials, which are good for 30 s; its voice keeps the call alive
 * then, and a restart that it does hear of makes it whole again. */
static void an_answer_that_gets_lost_harms_no_call(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(306);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    assert_int_equal(sim_fleet_restart_ice(f, false), CONTROL_REFUSAL_NONE);
    run_for(f, 29 * SECOND);
    assert_int_equal(sim_fleet_verdicts(f, CLIENT_LEG_STUN_REFUSED), 0);
    run_for(f, 40 * SECOND);
    assert_true(sim_fleet_verdicts(f, CLIENT_LEG_STUN_REFUSED) > 10);
    assert_int_equal(sim_client_heard(sim_fleet_client(f))->missing, 0);
    assert_true(tone(f) > 0.95);
    const uint64_t refused = sim_fleet_verdicts(f, CLIENT_LEG_STUN_REFUSED);
    restart(f);
    run_for(f, 10 * SECOND);
    assert_int_equal(sim_fleet_verdicts(f, CLIENT_LEG_STUN_REFUSED), refused);
    assert_int_equal(session_ice(sim_fleet_session(f))->generation, 2);
    sim_fleet_destroy(f);
}

static void restarts_on_bad_networks_keep_their_calls(void **state)
{
    (void)state;
    for (uint64_t seed = 310; seed < 320; seed++) {
        struct sim_fleet_config config = quiet_network(seed);
        config.link.loss_per_mille = 200;
        config.link.repeat_per_mille = 20;
        config.link.jitter_us = 30000;
        struct sim_fleet *f = sim_fleet_create(&config);
        for (uint16_t move = 0; move < 4; move++) {
            struct net_addr address = address_of("192.0.2.9:40000");
            run_for(f, 3 * SECOND);
            address.port = (uint16_t)(address.port + move);
            sim_client_move(sim_fleet_client(f), &address, sim_fleet_now(f));
            restart(f);
        }
        run_for(f, 5 * SECOND);
        assert_non_null(sim_fleet_session(f));
        assert_true(sim_client_is_connected(sim_fleet_client(f)));
        assert_true(sim_fleet_now(f) - sim_client_heard(sim_fleet_client(f))->latest_us < 500000);
        sim_fleet_destroy(f);
    }
}

/* What an eavesdropper heard before a restart moves nothing after it, from wherever he sends it. */
static void checks_of_before_a_restart_move_no_path(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(307);
    struct sim_fleet *f = sim_fleet_create(&config);
    const struct net_addr eavesdropper = address_of("198.51.100.99:9999");
    uint8_t check[SIM_CLIENT_PACKET_CAP];
    run_for(f, 3 * SECOND);
    const struct bytes_view heard = sim_fleet_overheard(f, DATAGRAM_STUN);
    const size_t len = heard.len;
    memcpy(check, heard.data, len);
    restart(f);
    for (int i = 0; i < 100; i++) {
        sim_fleet_inject(f, &eavesdropper, bytes_view_of(check, len));
        run_for(f, 20 * US_PER_MS);
    }
    assert_int_equal(sim_fleet_verdicts(f, CLIENT_LEG_STUN_REFUSED), 100);
    assert_int_equal(sim_fleet_strays(f), 0);
    assert_int_equal(session_path(sim_fleet_session(f)).moves, 0);
    sim_fleet_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_in_a_good_call_costs_no_packet),
        cmocka_unit_test(a_client_that_roams_and_restarts_hears_on_at_once),
        cmocka_unit_test(a_nat_that_rebinds_around_a_restart_loses_no_call),
        cmocka_unit_test(a_path_that_was_gone_for_long_comes_back_in_the_same_call),
        cmocka_unit_test(asking_for_restarts_keeps_no_dead_call_alive),
        cmocka_unit_test(an_answer_that_gets_lost_harms_no_call),
        cmocka_unit_test(restarts_on_bad_networks_keep_their_calls),
        cmocka_unit_test(checks_of_before_a_restart_move_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
