/* first_words_test.c - the first words wait for a client who can not decrypt them yet */
#include "tests/sim/fleet_world.h"

/* A call whose client is the DTLS client, and to whom the agent speaks at once. */
static struct sim_fleet *greeting_call(void)
{
    struct sim_fleet_config config = quiet_network(211);
    config.cluster.mode = DIALOGUE_TONE;
    config.cluster.tone_hz = 1000;
    config.client.is_dtls_client = true;
    return sim_fleet_create(&config);
}

static uint64_t speech_packets(struct sim_fleet *f)
{
    return session_stats(sim_fleet_session(f)).voice.speech_packets;
}

/* Up to the instant before our last flight leaves: the way is cut for it, and for all behind it. */
static uint64_t lose_our_last_flight(struct sim_fleet *f)
{
    struct sim_fleet *same = greeting_call();
    while (!session_is_connected(sim_fleet_session(same))) {
        run_for(same, 100);
    }
    const uint64_t connected_us = sim_fleet_now(same);
    sim_fleet_destroy(same);
    sim_fleet_run(f, connected_us - 100);
    sim_fleet_set_loss(f, SIM_LINK_PER_MILLE);
    run_for(f, 200);
    assert_true(session_is_connected(sim_fleet_session(f)));
    assert_false(sim_client_is_connected(sim_fleet_client(f)));
    return connected_us;
}

static void nothing_is_said_to_a_client_whose_handshake_is_not_done(void **state)
{
    (void)state;
    struct sim_fleet *f = greeting_call();
    (void)lose_our_last_flight(f);
    run_for(f, SECOND / 10);
    sim_fleet_set_loss(f, 0);
    while (!sim_client_is_connected(sim_fleet_client(f))) {
        run_for(f, 1000);
        assert_int_equal(speech_packets(f), 0);
    }
    const uint64_t connected_us = sim_fleet_now(f);
    run_for(f, 2 * DELAY_US + 40000);
    assert_true(speech_packets(f) > 0); /* as soon as it has sent something itself */
    run_for(f, 2 * SECOND);
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    assert_in_range(heard->first_us, connected_us, connected_us + 2 * DELAY_US + 40000);
    assert_int_equal(heard->missing, 0);
    sim_fleet_destroy(f);
}

static void a_client_that_says_nothing_is_spoken_to_after_a_while(void **state)
{
    (void)state;
    struct sim_fleet *f = greeting_call();
    const uint64_t connected_us = lose_our_last_flight(f);
    sim_fleet_run(f, connected_us + SESSION_VOICE_HOLD_US - 21000);
    assert_int_equal(speech_packets(f), 0);
    sim_fleet_run(f, connected_us + SESSION_VOICE_HOLD_US + 41000);
    assert_true(speech_packets(f) > 0);
    sim_fleet_destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_said_to_a_client_whose_handshake_is_not_done),
        cmocka_unit_test(a_client_that_says_nothing_is_spoken_to_after_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
