/* ice_agent_restart_test.c - old and new credentials of a restart, and any mix of changes */
#include "tests/unit/ice_agent_world.h"

#include "common/base/random.h"

static const struct wanted_check new_check = {.credentials = &second_credentials};
static const struct ice_credentials third_credentials = {"J5NdZDc2lJmCIcFu0G39oFA", PWD, "rem2"};
static const struct wanted_check newest_check = {.credentials = &third_credentials};
static const struct wanted_check old_check = {.credentials = &first_credentials};

static void both_generations_are_good_until_the_new_one_is_used(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    ice_agent_restart(agent, &second_credentials, T0);
    assert_int_equal(check_from(agent, &path, old_check, T0 + US_PER_S), ICE_INPUT_ANSWER);
    const struct sent sent = build(new_check);
    const struct sent answer = answer_to(agent, &sent, &path);
    struct stun_message m;
    parse_answer(&answer, &sent, second_credentials.local_pwd, &m);
    assert_int_equal(check_from(agent, &path, old_check, T0 + US_PER_S), ICE_INPUT_USERNAME);
    assert_int_equal(check_from(agent, &path, new_check, T0 + US_PER_S), ICE_INPUT_ANSWER);
    ice_agent_destroy(agent);
}

static void an_error_answer_does_not_end_the_old_generation(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    const struct wanted_check controlled = {.credentials = &second_credentials,
                                            .is_controlled = true};
    ice_agent_restart(agent, &second_credentials, T0);
    assert_int_equal(check_from(agent, &path, controlled, T0), ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, old_check, T0), ICE_INPUT_ANSWER);
    ice_agent_destroy(agent);
}

static void the_old_generation_is_good_for_30_s(void **state)
{
    (void)state;
    for (int ticks = 0; ticks < 2; ticks++) {
        struct ice_agent *agent = make_connected();
        const struct net_path path = client_path(0);
        const uint64_t end_us = T0 + 10 * US_PER_S + ICE_OLD_GENERATION_US;
        ice_agent_restart(agent, &second_credentials, T0 + 10 * US_PER_S);
        assert_int_equal(check_from(agent, &path, old_check, end_us - 1), ICE_INPUT_ANSWER);
        assert_true(ice_agent_next_timeout(agent) == end_us);
        if (ticks == 1) {
            ice_agent_tick(agent, end_us);
            assert_true(ice_agent_next_timeout(agent) == end_us - 1 + ICE_CONSENT_US);
        }
        assert_int_equal(check_from(agent, &path, old_check, end_us), ICE_INPUT_USERNAME);
        assert_int_equal(check_from(agent, &path, new_check, end_us), ICE_INPUT_ANSWER);
        ice_agent_destroy(agent);
    }
}

static void generations_do_not_mix(void **state)
{
    (void)state;
    static const struct ice_credentials mixed[] = {
        {TOKEN, PWD, "rem1"},
        {"I5NdZDc2lJmCIcFu0G39oFA", PWD, "rem1"},
        {TOKEN, "a8Jt0vQ4yL2cX6nB1rK5sD9f", REMOTE},
        {"I5NdZDc2lJmCIcFu0G39oFA", "a8Jt0vQ4yL2cX6nB1rK5sD9f", REMOTE},
    };
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    ice_agent_restart(agent, &second_credentials, T0);
    for (size_t i = 0; i < COUNT_OF(mixed); i++) {
        const enum ice_input_result result =
            check_from(agent, &path, (struct wanted_check){.credentials = &mixed[i]}, T0);
        assert_true(result == ICE_INPUT_USERNAME || result == ICE_INPUT_INTEGRITY);
    }
    ice_agent_destroy(agent);
}

/* The answer to the second generation was lost: the client never got to use it. */
static void a_second_restart_keeps_the_generation_in_use_and_drops_the_unused_one(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    ice_agent_restart(agent, &second_credentials, T0);
    ice_agent_restart(agent, &third_credentials, T0);
    assert_int_equal(check_from(agent, &path, old_check, T0), ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, new_check, T0), ICE_INPUT_USERNAME);
    assert_int_equal(check_from(agent, &path, newest_check, T0), ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, old_check, T0), ICE_INPUT_USERNAME);
    ice_agent_destroy(agent);
}

static void a_second_restart_keeps_the_first_ones_credentials_once_they_were_used(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    ice_agent_restart(agent, &second_credentials, T0);
    assert_int_equal(check_from(agent, &path, new_check, T0), ICE_INPUT_ANSWER);
    ice_agent_restart(agent, &third_credentials, T0);
    assert_int_equal(check_from(agent, &path, old_check, T0), ICE_INPUT_USERNAME);
    assert_int_equal(check_from(agent, &path, new_check, T0), ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, newest_check, T0), ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, new_check, T0), ICE_INPUT_USERNAME);
    ice_agent_destroy(agent);
}

static void further_restarts_do_not_lengthen_the_30_s_of_the_old_generation(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    const uint64_t end_us = T0 + ICE_OLD_GENERATION_US;
    ice_agent_restart(agent, &second_credentials, T0);
    ice_agent_restart(agent, &third_credentials, end_us - 1);
    assert_true(ice_agent_next_timeout(agent) == end_us);
    assert_int_equal(check_from(agent, &path, old_check, end_us - 1), ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, old_check, end_us), ICE_INPUT_USERNAME);
    /* Its time is up, whether or not a tick said so: the one replaced now takes its place. */
    ice_agent_restart(agent, &second_credentials, end_us);
    assert_int_equal(check_from(agent, &path, old_check, end_us), ICE_INPUT_USERNAME);
    assert_int_equal(check_from(agent, &path, newest_check, end_us), ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, newest_check, end_us + ICE_OLD_GENERATION_US - 1),
                     ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, newest_check, end_us + ICE_OLD_GENERATION_US),
                     ICE_INPUT_USERNAME);
    ice_agent_destroy(agent);
}

static void the_first_nominated_check_after_a_restart_moves_the_path_at_once(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    const struct net_path newer = client_path(2);
    const struct wanted_check nominated_old = {.credentials = &first_credentials,
                                               .is_nominated = true};
    const struct wanted_check nominated_new = {.credentials = &second_credentials,
                                               .is_nominated = true};
    ice_agent_restart(agent, &second_credentials, T0);
    assert_true(is_selected(agent, &old));
    (void)check_from(agent, &new, nominated_old, T0 + 1);
    assert_true(is_selected(agent, &old)); /* the old generation has no such right */
    (void)check_from(agent, &new, new_check, T0 + 2);
    assert_true(is_selected(agent, &old));
    (void)check_from(agent, &new, nominated_new, T0 + 3);
    assert_true(is_selected(agent, &new));
    (void)check_from(agent, &newer, nominated_new, T0 + 4);
    assert_true(is_selected(agent, &new)); /* once */
    ice_agent_destroy(agent);
}

/* Any mix of changes: a tick at the deadline makes progress, and a path is selected exactly from
 * the first good check to the end. */
static void a_tick_at_the_deadline_always_makes_progress(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct random_generator g;
        struct ice_agent *agent = make_agent();
        uint64_t now_us = T0;
        random_generator_init(&g, seed);
        for (int step = 0; step < 200; step++) {
            const struct net_path path = client_path((unsigned)(random_generator_next(&g) % 12));
            now_us += random_generator_next(&g) % (4 * US_PER_S);
            switch (random_generator_next(&g) % 5) {
            case 0:
                (void)check_from(agent, &path, old_check, now_us);
                break;
            case 1:
                (void)check_from(agent, &path, new_check, now_us);
                break;
            case 2:
                ice_agent_note_authenticated(agent, &path, step % 2 == 0, now_us);
                break;
            case 3:
                ice_agent_restart(agent, step % 2 == 0 ? &second_credentials : &first_credentials,
                                  now_us);
                break;
            default:
                now_us = time_later(now_us, ice_agent_next_timeout(agent) == TIME_NEVER
                                                ? now_us
                                                : ice_agent_next_timeout(agent));
                break;
            }
            ice_agent_tick(agent, now_us);
            assert_true(ice_agent_next_timeout(agent) > now_us);
        }
        ice_agent_destroy(agent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_generations_are_good_until_the_new_one_is_used),
        cmocka_unit_test(an_error_answer_does_not_end_the_old_generation),
        cmocka_unit_test(the_old_generation_is_good_for_30_s),
        cmocka_unit_test(generations_do_not_mix),
        cmocka_unit_test(a_second_restart_keeps_the_generation_in_use_and_drops_the_unused_one),
        cmocka_unit_test(a_second_restart_keeps_the_first_ones_credentials_once_they_were_used),
        cmocka_unit_test(further_restarts_do_not_lengthen_the_30_s_of_the_old_generation),
        cmocka_unit_test(the_first_nominated_check_after_a_restart_moves_the_path_at_once),
        cmocka_unit_test(a_tick_at_the_deadline_always_makes_progress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
