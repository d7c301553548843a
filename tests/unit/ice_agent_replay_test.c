/* ice_agent_replay_test.c - a transaction id is good once, and checks have a budget */
#include "tests/unit/ice_agent_world.h"

static void a_transaction_id_is_answered_three_times(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path other = client_path(1);
    const struct sent sent = build((struct wanted_check){0});
    assert_int_equal(input(agent, &sent, &other, T0 + 1), ICE_INPUT_ANSWER);
    for (int i = 0; i < ICE_REPEATS_MAX; i++) {
        assert_int_equal(input(agent, &sent, &other, T0 + 2), ICE_INPUT_ANSWER_AGAIN);
    }
    assert_int_equal(input(agent, &sent, &other, T0 + 2), ICE_INPUT_REPEATED);
    ice_agent_destroy(agent);
}

static void a_repeat_gets_the_same_answer(void **state)
{
    (void)state;
    static const struct wanted_check wanted[] = {{0}, {.is_controlled = true}};
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        struct ice_agent *agent = make_agent();
        const struct net_path path = client_path(0);
        const struct sent sent = build(wanted[i]);
        const struct sent first = answer_to(agent, &sent, &path);
        struct ice_check check;
        struct sent again = {0};
        struct byte_writer w;
        assert_int_equal(
            ice_agent_input(agent, bytes_view_of(sent.bytes, sent.len), &path, &check, T0 + 1),
            ICE_INPUT_ANSWER_AGAIN);
        byte_writer_init(&w, again.bytes, sizeof(again.bytes));
        ice_agent_begin_answer(&check, &w);
        ice_agent_finish_answer(&check, &w);
        assert_int_equal(w.len, first.len);
        assert_memory_equal(again.bytes, first.bytes, first.len);
        ice_agent_destroy(agent);
    }
}

static void a_known_transaction_id_from_elsewhere_is_a_replay(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path from = client_path(1);
    struct net_path other_port = client_path(2);
    struct net_path other_transport = from;
    struct net_path other_relay = from;
    const struct sent sent = build((struct wanted_check){0});
    other_transport.is_tcp = true;
    other_relay.relay.port++;
    assert_int_equal(input(agent, &sent, &from, T0), ICE_INPUT_ANSWER);
    assert_int_equal(input(agent, &sent, &other_port, T0), ICE_INPUT_REPLAY);
    assert_int_equal(input(agent, &sent, &other_transport, T0), ICE_INPUT_REPLAY);
    assert_false(ice_agent_is_validated(agent, &other_port));
    assert_false(ice_agent_is_validated(agent, &other_transport));
    assert_int_equal(input(agent, &sent, &other_relay, T0), ICE_INPUT_ANSWER_AGAIN);
    ice_agent_destroy(agent);
}

static void a_repeat_neither_moves_the_path_nor_keeps_alive(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    const struct sent sent = build((struct wanted_check){.is_nominated = true});
    assert_int_equal(input(agent, &sent, &new, T0 + 1), ICE_INPUT_ANSWER);
    assert_true(is_selected(agent, &old)); /* it is not silent yet */
    assert_int_equal(input(agent, &sent, &new, T0 + US_PER_S), ICE_INPUT_ANSWER_AGAIN);
    assert_true(is_selected(agent, &old));
    assert_true(ice_agent_last_alive_us(agent) == T0 + 1);
    ice_agent_destroy(agent);
}

static void the_last_64_transaction_ids_are_known(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    const struct net_path elsewhere = client_path(1);
    const uint32_t base = UINT32_C(0xaa000000);
    for (uint32_t i = 0; i < ICE_TRANSACTIONS_MAX + 1; i++) {
        assert_int_equal(check_from(agent, &path, (struct wanted_check){.id = base + i}, T0),
                         ICE_INPUT_ANSWER);
    }
    for (uint32_t i = 1; i < ICE_TRANSACTIONS_MAX + 1; i++) {
        assert_int_equal(check_from(agent, &elsewhere, (struct wanted_check){.id = base + i}, T0),
                         ICE_INPUT_REPLAY);
    }
    assert_int_equal(check_from(agent, &elsewhere, (struct wanted_check){.id = base}, T0),
                     ICE_INPUT_ANSWER);
    ice_agent_destroy(agent);
}

static void checks_are_budgeted_to_200_at_once_and_100_a_second(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    for (int i = 0; i < ICE_CHECK_BURST; i++) {
        assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, T0), ICE_INPUT_ANSWER);
    }
    assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, T0), ICE_INPUT_BUDGET);
    uint64_t now_us = T0 + ICE_CHECK_INTERVAL_US - 1;
    assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, now_us), ICE_INPUT_BUDGET);
    for (int i = 1; i <= 300; i++) {
        now_us = T0 + (uint64_t)i * ICE_CHECK_INTERVAL_US;
        assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, now_us),
                         ICE_INPUT_ANSWER);
        assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, now_us),
                         ICE_INPUT_BUDGET);
    }
    /* Idle for long, the burst is whole again, and not larger. */
    now_us += 3600 * US_PER_S;
    for (int i = 0; i < ICE_CHECK_BURST; i++) {
        assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, now_us),
                         ICE_INPUT_ANSWER);
    }
    assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, now_us), ICE_INPUT_BUDGET);
    ice_agent_destroy(agent);
}

static void forged_and_repeated_checks_do_not_use_the_budget(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    const struct sent first = build((struct wanted_check){0});
    const struct wanted_check forged = {.credentials = &wrong_pwd};
    assert_int_equal(input(agent, &first, &path, T0), ICE_INPUT_ANSWER);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(check_from(agent, &path, forged, T0), ICE_INPUT_INTEGRITY);
        (void)input(agent, &first, &path, T0);
    }
    for (int i = 0; i < ICE_CHECK_BURST - 1; i++) {
        assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, T0), ICE_INPUT_ANSWER);
    }
    assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, T0), ICE_INPUT_BUDGET);
    ice_agent_destroy(agent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transaction_id_is_answered_three_times),
        cmocka_unit_test(a_repeat_gets_the_same_answer),
        cmocka_unit_test(a_known_transaction_id_from_elsewhere_is_a_replay),
        cmocka_unit_test(a_repeat_neither_moves_the_path_nor_keeps_alive),
        cmocka_unit_test(the_last_64_transaction_ids_are_known),
        cmocka_unit_test(checks_are_budgeted_to_200_at_once_and_100_a_second),
        cmocka_unit_test(forged_and_repeated_checks_do_not_use_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
