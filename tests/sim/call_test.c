/* call_test.c - whole calls in virtual time: client, link, relay, transceiver, voice agent */
#include "tests/sim/fleet_world.h"

static void a_client_hears_its_own_tone_within_half_a_second(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(1);
    struct sim_fleet *f = sim_fleet_create(&config);
    const uint64_t start_us = sim_fleet_now(f);
    run_for(f, 5 * SECOND);
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    const struct session_timeline *t = session_timeline(sim_fleet_session(f));
    assert_true(virtual_time_reads > 0);
    assert_true(sim_client_is_connected(sim_fleet_client(f)));
    assert_true(heard->first_us - start_us < 300000);
    assert_true(t->first_audio_out_us - t->created_us < 500000);
    assert_int_equal(heard->missing, 0);
    assert_true(heard->packets >= 240 && heard->packets <= 251);
    assert_true(sim_client_tone_share(sim_fleet_client(f), SIM_CLIENT_TONE_HZ) > 0.95);
    assert_true(sim_client_level(sim_fleet_client(f)) > 0.1);
    sim_fleet_destroy(f);
}

static void a_client_that_is_the_dtls_client_connects_too(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(2);
    config.client.is_dtls_client = true;
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    assert_true(sim_client_tone_share(sim_fleet_client(f), SIM_CLIENT_TONE_HZ) > 0.9);
    sim_fleet_destroy(f);
}

static void ten_minutes_are_thirty_thousand_packets(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(3);
    config.cluster.mode = DIALOGUE_TONE;
    config.cluster.tone_hz = 1000;
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, SECOND);
    const uint64_t before = session_stats(sim_fleet_session(f)).voice.packets;
    run_for(f, 600 * SECOND);
    const struct session_stats stats = session_stats(sim_fleet_session(f));
    assert_int_equal(stats.voice.packets - before, 30000);
    assert_int_equal(stats.voice.skipped_slots, 0);
    assert_int_equal(stats.uplink.concealed, 0);
    assert_true(sim_client_tone_share(sim_fleet_client(f), 1000) > 0.95);
    sim_fleet_destroy(f);
}

static void calls_survive_bad_networks(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 120; seed++) {
        struct sim_fleet_config config = quiet_network(seed);
        config.link.loss_per_mille = 100;
        config.link.repeat_per_mille = 20;
        config.link.jitter_us = 30000;
        struct sim_fleet *f = sim_fleet_create(&config);
        run_for(f, 20 * SECOND);
        assert_true(sim_client_is_connected(sim_fleet_client(f)));
        const struct session_stats stats = session_stats(sim_fleet_session(f));
        assert_true(stats.uplink.frames > 500);
        assert_true(stats.uplink.concealed > 20);
        assert_true(sim_client_tone_share(sim_fleet_client(f), SIM_CLIENT_TONE_HZ) > 0.6);
        sim_fleet_destroy(f);
    }
}

static void a_relay_without_memory_learns_the_call_from_its_downlink(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(4);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 5 * SECOND);
    const uint64_t gap_before_us = sim_client_heard(sim_fleet_client(f))->gap_us_max;
    sim_fleet_restart_relay(f);
    run_for(f, 5 * SECOND);
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    assert_int_equal(heard->missing, 0);
    assert_in_range(heard->gap_us_max, gap_before_us, gap_before_us + 1000);
    assert_true(sim_client_tone_share(sim_fleet_client(f), SIM_CLIENT_TONE_HZ) > 0.95);
    sim_fleet_destroy(f);
}

static void a_client_that_moves_is_followed(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(5);
    struct sim_fleet *f = sim_fleet_create(&config);
    struct net_addr other;
    assert_true(net_addr_parse("192.0.2.9:40000", &other));
    run_for(f, 3 * SECOND);
    sim_client_move(sim_fleet_client(f), &other, sim_fleet_now(f));
    run_for(f, 3 * SECOND);
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    assert_true(sim_fleet_now(f) - heard->latest_us < 100000);
    assert_true(sim_client_tone_share(sim_fleet_client(f), SIM_CLIENT_TONE_HZ) > 0.95);
    sim_fleet_destroy(f);
}

static void a_silent_client_is_given_up_after_thirty_seconds(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(6);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    sim_fleet_set_loss(f, 1000);
    run_for(f, 29 * SECOND);
    assert_non_null(sim_fleet_session(f));
    run_for(f, 2 * SECOND);
    assert_null(sim_fleet_session(f));
    assert_int_equal(ended(f, SESSION_END_CLIENT_LOST), 1);
    sim_fleet_destroy(f);
}

static void a_call_nobody_joins_ends_after_its_setup_time(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(7);
    config.link.loss_per_mille = 1000;
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 29 * SECOND);
    assert_non_null(sim_fleet_session(f));
    run_for(f, 2 * SECOND);
    assert_null(sim_fleet_session(f));
    assert_int_equal(ended(f, SESSION_END_SETUP_TIMEOUT), 1);
    assert_int_equal(metric_get(&sim_fleet_counters(f)->sessions_pending), 0);
    sim_fleet_destroy(f);
}

static void hanging_up_closes_the_client_and_frees_the_session(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(8);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    sim_fleet_hang_up(f);
    run_for(f, SECOND);
    assert_true(sim_client_heard(sim_fleet_client(f))->was_closed);
    assert_null(sim_fleet_session(f));
    assert_int_equal(ended(f, SESSION_END_HANGUP), 1);
    sim_fleet_destroy(f);
}

static void a_client_that_closes_frees_the_session_at_once(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(9);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    sim_client_close(sim_fleet_client(f), sim_fleet_now(f));
    run_for(f, SECOND);
    assert_null(sim_fleet_session(f));
    assert_int_equal(ended(f, SESSION_END_CLIENT_CLOSED), 1);
    sim_fleet_destroy(f);
}

static void a_backend_that_dies_for_good_ends_the_call_with_a_reason(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(10);
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 3 * SECOND);
    sim_fleet_lose_backend(f, TIME_NEVER);
    run_for(f, 4 * SECOND);
    assert_non_null(sim_fleet_session(f));
    run_for(f, 2 * SECOND);
    assert_true(sim_client_heard(sim_fleet_client(f))->was_closed);
    assert_null(sim_fleet_session(f));
    assert_int_equal(ended(f, SESSION_END_BACKEND_LOST), 1);
    sim_fleet_destroy(f);
}

static void another_certificate_than_the_offers_gets_no_media(void **state)
{
    (void)state;
    struct sim_fleet_config config = quiet_network(11);
    config.client.lies_about_fingerprint = true;
    struct sim_fleet *f = sim_fleet_create(&config);
    run_for(f, 2 * SECOND);
    assert_int_equal(sim_client_heard(sim_fleet_client(f))->packets, 0);
    assert_null(sim_fleet_session(f));
    assert_int_equal(ended(f, SESSION_END_FINGERPRINT), 1);
    sim_fleet_destroy(f);
}

static void garbage_of_every_kind_harms_no_call(void **state)
{
    (void)state;
    const struct sim_fleet_config config = quiet_network(12);
    struct sim_fleet *f = sim_fleet_create(&config);
    struct random_generator random;
    struct net_addr stranger;
    random_generator_init(&random, 12);
    assert_true(net_addr_parse("192.0.2.66:1234", &stranger));
    for (int i = 0; i < 20000; i++) {
        uint8_t junk[1500];
        const size_t len = random_generator_next(&random) % sizeof(junk);
        random_fill(random_seeded(&random), junk, len);
        /* From a stranger, and from the client's own address, which has a flow. */
        const struct net_addr own = sim_client_address(sim_fleet_client(f));
        sim_fleet_inject(f, i % 2 == 0 ? &stranger : &own, bytes_view_of(junk, len));
        if (i % 40 == 0) {
            run_for(f, 20000);
        }
    }
    const struct sim_client_heard *heard = sim_client_heard(sim_fleet_client(f));
    assert_non_null(sim_fleet_session(f));
    assert_int_equal(heard->missing, 0);
    assert_true(sim_client_tone_share(sim_fleet_client(f), SIM_CLIENT_TONE_HZ) > 0.95);
    sim_fleet_destroy(f);
}

static void the_same_seed_is_the_same_call(void **state)
{
    (void)state;
    uint64_t packets[2];
    uint64_t missing[2];
    for (int i = 0; i < 2; i++) {
        struct sim_fleet_config config = quiet_network(13);
        config.link.loss_per_mille = 100;
        config.link.jitter_us = 10000;
        struct sim_fleet *f = sim_fleet_create(&config);
        run_for(f, 10 * SECOND);
        packets[i] = sim_client_heard(sim_fleet_client(f))->packets;
        missing[i] = sim_client_heard(sim_fleet_client(f))->missing;
        sim_fleet_destroy(f);
    }
    assert_true(packets[0] > 300);
    assert_true(missing[0] > 0);
    assert_int_equal(packets[0], packets[1]);
    assert_int_equal(missing[0], missing[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_hears_its_own_tone_within_half_a_second),
        cmocka_unit_test(a_client_that_is_the_dtls_client_connects_too),
        cmocka_unit_test(ten_minutes_are_thirty_thousand_packets),
        cmocka_unit_test(calls_survive_bad_networks),
        cmocka_unit_test(a_relay_without_memory_learns_the_call_from_its_downlink),
        cmocka_unit_test(a_client_that_moves_is_followed),
        cmocka_unit_test(a_silent_client_is_given_up_after_thirty_seconds),
        cmocka_unit_test(a_call_nobody_joins_ends_after_its_setup_time),
        cmocka_unit_test(hanging_up_closes_the_client_and_frees_the_session),
        cmocka_unit_test(a_client_that_closes_frees_the_session_at_once),
        cmocka_unit_test(a_backend_that_dies_for_good_ends_the_call_with_a_reason),
        cmocka_unit_test(another_certificate_than_the_offers_gets_no_media),
        cmocka_unit_test(garbage_of_every_kind_harms_no_call),
        cmocka_unit_test(the_same_seed_is_the_same_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
