/* ice_agent_path_test.c - which paths are believed, when the path moves, how long consent lasts */
#include "tests/unit/ice_agent_world.h"

static void the_first_good_check_is_selected_nominated_or_not(void **state)
{
    (void)state;
    for (int nominated = 0; nominated < 2; nominated++) {
        struct ice_agent *agent = make_agent();
        const struct net_path path = client_path(0);
        const struct wanted_check wanted = {.is_nominated = nominated == 1};
        assert_int_equal(check_from(agent, &path, wanted, T0), ICE_INPUT_ANSWER);
        assert_true(is_selected(agent, &path));
        expect_events(agent, true, false, false);
        expect_events(agent, false, false, false);
        ice_agent_destroy(agent);
    }
}

static void a_check_alone_never_moves_the_path(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    for (uint64_t age_us = 0; age_us < 20 * US_PER_S; age_us += US_PER_S) {
        assert_int_equal(check_from(agent, &new, (struct wanted_check){0}, T0 + age_us),
                         ICE_INPUT_ANSWER);
        assert_true(is_selected(agent, &old));
    }
    assert_true(ice_agent_is_validated(agent, &new));
    expect_events(agent, false, false, false);
    ice_agent_destroy(agent);
}

static const struct {
    uint64_t silence_us;
    bool moves;
} silence_case[] = {
    {0, false},
    {ICE_SILENCE_US - 1, false},
    {ICE_SILENCE_US, true},
};

static void a_nominated_check_moves_the_path_after_500_ms_of_silence(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(silence_case); i++) {
        struct ice_agent *agent = make_connected();
        const struct net_path old = client_path(0);
        const struct net_path new = client_path(1);
        const struct wanted_check nominated = {.is_nominated = true};
        ice_agent_note_authenticated(agent, &old, false, T0 + 7);
        const uint64_t now_us = T0 + 7 + silence_case[i].silence_us;
        assert_int_equal(check_from(agent, &new, nominated, now_us), ICE_INPUT_ANSWER);
        assert_int_equal(is_selected(agent, &new), silence_case[i].moves);
        assert_int_equal(is_selected(agent, &old), !silence_case[i].moves);
        expect_events(agent, false, silence_case[i].moves, false);
        ice_agent_destroy(agent);
    }
}

static void a_check_on_the_old_path_breaks_its_silence(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    const struct wanted_check nominated = {.is_nominated = true};
    assert_int_equal(check_from(agent, &old, (struct wanted_check){0}, T0 + US_PER_S),
                     ICE_INPUT_ANSWER);
    (void)check_from(agent, &new, nominated, T0 + US_PER_S + ICE_SILENCE_US - 1);
    assert_true(is_selected(agent, &old));
    (void)check_from(agent, &new, nominated, T0 + US_PER_S + ICE_SILENCE_US);
    assert_true(is_selected(agent, &new));
    ice_agent_destroy(agent);
}

static void traffic_elsewhere_does_not_break_the_silence(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path new = client_path(1);
    (void)check_from(agent, &new, (struct wanted_check){0}, T0 + 1);
    ice_agent_note_authenticated(agent, &new, false, T0 + ICE_SILENCE_US - 1);
    (void)check_from(agent, &new, (struct wanted_check){.is_nominated = true}, T0 + ICE_SILENCE_US);
    assert_true(is_selected(agent, &new));
    ice_agent_destroy(agent);
}

static void the_newest_packet_moves_the_path_at_once(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    (void)check_from(agent, &new, (struct wanted_check){0}, T0);
    ice_agent_note_authenticated(agent, &new, false, T0 + 1);
    assert_true(is_selected(agent, &old)); /* an older one that came late */
    ice_agent_note_authenticated(agent, &new, true, T0 + 2);
    assert_true(is_selected(agent, &new));
    expect_events(agent, false, true, false);
    ice_agent_note_authenticated(agent, &old, true, T0 + 3);
    assert_true(is_selected(agent, &old));
    expect_events(agent, false, true, false);
    ice_agent_note_authenticated(agent, &old, true, T0 + 4);
    expect_events(agent, false, false, false);
    ice_agent_destroy(agent);
}

/* A NAT gave the client another port: its media comes before its next check. */
static void the_newest_packet_from_an_unknown_path_is_believed_a_late_one_is_not(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    ice_agent_note_authenticated(agent, &new, false, T0 + 1);
    assert_false(ice_agent_is_validated(agent, &new));
    assert_true(is_selected(agent, &old));
    ice_agent_note_authenticated(agent, &new, true, T0 + 2);
    assert_true(ice_agent_is_validated(agent, &new));
    assert_true(is_selected(agent, &new));
    ice_agent_destroy(agent);
}

static void the_relay_of_the_return_path_follows_the_same_rules(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    struct net_path new = old;
    assert_true(net_addr_parse("10.0.0.2:3501", &new.relay));
    (void)check_from(agent, &new, (struct wanted_check){.is_nominated = true}, T0 + 1);
    assert_true(is_selected(agent, &old));
    ice_agent_note_authenticated(agent, &new, true, T0 + 2);
    assert_true(is_selected(agent, &new));
    ice_agent_destroy(agent);
}

static void a_client_is_validated_whatever_relay_it_comes_by(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    struct net_path path = client_path(0);
    path.relay.port++;
    assert_true(ice_agent_is_validated(agent, &path));
    path.is_tcp = true;
    assert_false(ice_agent_is_validated(agent, &path));
    path.is_tcp = false;
    path.client.port++;
    assert_false(ice_agent_is_validated(agent, &path));
    ice_agent_destroy(agent);
}

static void the_ninth_path_replaces_the_one_that_authenticated_longest_ago(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    for (unsigned i = 1; i < ICE_PATHS_MAX; i++) {
        const struct net_path path = client_path(i);
        (void)check_from(agent, &path, (struct wanted_check){0}, T0 + i);
    }
    /* 0 is the oldest, but selected; 1 is refreshed, so 2 is next. */
    const struct net_path first = client_path(1);
    (void)check_from(agent, &first, (struct wanted_check){0}, T0 + 100);
    const struct net_path ninth = client_path(8);
    (void)check_from(agent, &ninth, (struct wanted_check){0}, T0 + 101);
    for (unsigned i = 0; i <= ICE_PATHS_MAX; i++) {
        const struct net_path path = client_path(i);
        assert_int_equal(ice_agent_is_validated(agent, &path), i != 2);
    }
    const struct net_path selected = client_path(0);
    assert_true(is_selected(agent, &selected));
    ice_agent_destroy(agent);
}

static void the_selected_path_survives_any_number_of_others(void **state)
{
    (void)state;
    for (unsigned selected_index = 0; selected_index < ICE_PATHS_MAX; selected_index++) {
        struct ice_agent *agent = make_agent();
        for (unsigned i = 0; i <= selected_index; i++) {
            const struct net_path path = client_path(i);
            (void)check_from(agent, &path, (struct wanted_check){0}, T0);
        }
        const struct net_path selected = client_path(selected_index);
        ice_agent_note_authenticated(agent, &selected, true, T0);
        for (unsigned i = 100; i < 190; i++) {
            const struct net_path path = client_path(i);
            (void)check_from(agent, &path, (struct wanted_check){0}, T0 + i);
            assert_true(ice_agent_is_validated(agent, &path));
        }
        assert_true(is_selected(agent, &selected));
        assert_true(ice_agent_is_validated(agent, &selected));
        ice_agent_destroy(agent);
    }
}

static void consent_lasts_30_s_from_the_last_authentic_datagram(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    struct net_path selected;
    const uint64_t alive_us = T0 + 3 * US_PER_S;
    ice_agent_note_authenticated(agent, &path, false, alive_us);
    assert_true(ice_agent_last_alive_us(agent) == alive_us);
    assert_true(ice_agent_next_timeout(agent) == alive_us + ICE_CONSENT_US);
    ice_agent_tick(agent, alive_us + ICE_CONSENT_US - 1);
    assert_true(ice_agent_selected(agent, &selected));
    expect_events(agent, false, false, false);
    ice_agent_tick(agent, alive_us + ICE_CONSENT_US);
    assert_false(ice_agent_selected(agent, &selected));
    expect_events(agent, false, false, true);
    assert_true(ice_agent_next_timeout(agent) == TIME_NEVER);
    ice_agent_destroy(agent);
}

static void an_agent_that_never_sees_a_check_expires_after_30_s(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    (void)check_from(agent, &path, (struct wanted_check){.credentials = &wrong_pwd}, T0 + US_PER_S);
    ice_agent_tick(agent, T0 + ICE_CONSENT_US - 1);
    expect_events(agent, false, false, false);
    ice_agent_tick(agent, T0 + ICE_CONSENT_US);
    expect_events(agent, false, false, true);
    ice_agent_destroy(agent);
}

static void each_kind_of_authentic_datagram_keeps_alive(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    const struct net_path unknown = client_path(9);
    (void)check_from(agent, &path, (struct wanted_check){0}, T0 + 1);
    assert_true(ice_agent_last_alive_us(agent) == T0 + 1);
    (void)check_from(agent, &path, (struct wanted_check){.is_controlled = true}, T0 + 2);
    assert_true(ice_agent_last_alive_us(agent) == T0 + 2);
    ice_agent_note_authenticated(agent, &path, true, T0 + 3);
    assert_true(ice_agent_last_alive_us(agent) == T0 + 3);
    ice_agent_note_authenticated(agent, &unknown, false, T0 + 4);
    assert_true(ice_agent_last_alive_us(agent) == T0 + 4);
    ice_agent_destroy(agent);
}

static void after_consent_is_gone_nothing_is_answered(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    struct net_path selected;
    uint64_t now_us = T0 + ICE_CONSENT_US;
    ice_agent_tick(agent, now_us);
    assert_int_equal(check_from(agent, &path, (struct wanted_check){.is_nominated = true}, now_us),
                     ICE_INPUT_EXPIRED);
    ice_agent_note_authenticated(agent, &path, true, now_us);
    ice_agent_restart(agent, &second_credentials, now_us);
    assert_int_equal(
        check_from(agent, &path, (struct wanted_check){.credentials = &second_credentials}, now_us),
        ICE_INPUT_EXPIRED);
    assert_false(ice_agent_selected(agent, &selected));
    assert_true(ice_agent_next_timeout(agent) == TIME_NEVER);
    expect_events(agent, false, false, true);
    ice_agent_destroy(agent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_good_check_is_selected_nominated_or_not),
        cmocka_unit_test(a_check_alone_never_moves_the_path),
        cmocka_unit_test(a_nominated_check_moves_the_path_after_500_ms_of_silence),
        cmocka_unit_test(a_check_on_the_old_path_breaks_its_silence),
        cmocka_unit_test(traffic_elsewhere_does_not_break_the_silence),
        cmocka_unit_test(the_newest_packet_moves_the_path_at_once),
        cmocka_unit_test(the_newest_packet_from_an_unknown_path_is_believed_a_late_one_is_not),
        cmocka_unit_test(the_relay_of_the_return_path_follows_the_same_rules),
        cmocka_unit_test(a_client_is_validated_whatever_relay_it_comes_by),
        cmocka_unit_test(the_ninth_path_replaces_the_one_that_authenticated_longest_ago),
        cmocka_unit_test(the_selected_path_survives_any_number_of_others),
        cmocka_unit_test(consent_lasts_30_s_from_the_last_authentic_datagram),
        cmocka_unit_test(an_agent_that_never_sees_a_check_expires_after_30_s),
        cmocka_unit_test(each_kind_of_authentic_datagram_keeps_alive),
        cmocka_unit_test(after_consent_is_gone_nothing_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
