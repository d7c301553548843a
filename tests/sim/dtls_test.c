/* dtls_test.c - handshakes of two of our DTLS ends over a bad network, in virtual time */
#include "tests/dtls_pair.h"

#define SEEDS 300

static void two_ends_agree_on_keys_in_two_round_trips(void **state)
{
    (void)state;
    const unsigned long reads_before = virtual_time_reads;
    struct pair *p = connected_pair();
    /* Hello, flight; certificates, Finished: the server is done after 1.5, the client after 2. */
    assert_int_equal(p->end[1].connected_us - 10 * US_PER_S, 3 * 25 * US_PER_MS);
    assert_int_equal(p->end[0].connected_us - 10 * US_PER_S, 4 * 25 * US_PER_MS);
    assert_int_equal(p->end[0].datagrams_sent, 2);
    assert_int_equal(p->end[1].datagrams_sent, 2);
    assert_true(p->end[1].longest_datagram < 900); /* a flight is one datagram, also inside STUN */
    assert_true(virtual_time_reads > reads_before);
    assert_int_equal(dtls_transport_next_timeout(p->end[0].dtls), TIME_NEVER);
    assert_int_equal(dtls_transport_next_timeout(p->end[1].dtls), TIME_NEVER);
    pair_free(p);
}

static void before_the_start_there_is_nothing_to_send_and_no_deadline(void **state)
{
    (void)state;
    struct pair *p = pair_make(1);
    struct bytes_view out;
    struct dtls_event event;
    for (int i = 0; i < 2; i++) {
        assert_false(dtls_transport_poll_datagram(p->end[i].dtls, &out));
        assert_false(dtls_transport_poll_data(p->end[i].dtls, &out));
        assert_false(dtls_transport_poll_event(p->end[i].dtls, &event));
        assert_int_equal(dtls_transport_next_timeout(p->end[i].dtls), TIME_NEVER);
    }
    dtls_transport_start(p->end[1].dtls, 0, p->now_us);
    assert_false(dtls_transport_poll_datagram(p->end[1].dtls, &out)); /* passive: it waits */
    pair_free(p);
}

static void every_seed_of_a_bad_network_connects(void **state)
{
    (void)state;
    uint64_t slowest_us = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct pair *p = pair_make(seed);
        p->link.config.loss_per_mille = (unsigned)(seed % 4) * 100;
        p->link.config.repeat_per_mille = (unsigned)(seed % 3) * 150;
        p->link.config.jitter_us = seed % 5 * 20 * US_PER_MS;
        start_both(p, seed % 2 == 0 ? 0 : 50 * US_PER_MS);
        run_for(p, DTLS_HANDSHAKE_TIMEOUT_US + US_PER_S);
        if (p->end[0].connected != 1 || p->end[1].connected != 1 || !keys_agree(p)) {
            fail_msg("seed %llu: connected %u %u, failed %u %u, reasons %d %d",
                     (unsigned long long)seed, p->end[0].connected, p->end[1].connected,
                     p->end[0].failed, p->end[1].failed, p->end[0].last_event.failure,
                     p->end[1].last_event.failure);
        }
        slowest_us = time_later(slowest_us, p->end[0].connected_us - 10 * US_PER_S);
        pair_free(p);
    }
    (void)printf("slowest of %d: %llu ms\n", SEEDS, (unsigned long long)(slowest_us / 1000));
}

static void a_lost_flight_is_sent_again_after_twice_the_round_trip_and_then_doubled(void **state)
{
    (void)state;
    static const struct {
        uint64_t round_trip_us;
        uint64_t wait_us[7];
    } timeout_case[] = {
        {0, {200000, 400000, 800000, 1600000, 3000000, 3000000, 3000000}},
        {10000, {100000, 200000, 400000, 800000, 1600000, 3000000, 3000000}},
        {300000, {600000, 1200000, 2400000, 3000000, 3000000, 3000000, 3000000}},
        {9000000, {3000000, 3000000, 3000000, 3000000, 3000000, 3000000, 3000000}},
    };
    for (size_t i = 0; i < COUNT_OF(timeout_case); i++) {
        struct pair *p = pair_make(1);
        p->link.config.loss_per_mille = SIM_LINK_PER_MILLE;
        start_both(p, timeout_case[i].round_trip_us);
        run_for(p, 22 * US_PER_S);
        assert_true(p->end[0].datagrams_sent >= 8);
        for (size_t k = 0; k < 7; k++) {
            const uint64_t wait_us = p->end[0].sent_at_us[k + 1] - p->end[0].sent_at_us[k];
            /* OpenSSL rounds the last 15 ms away. */
            assert_in_range(wait_us, timeout_case[i].wait_us[k] - 15000,
                            timeout_case[i].wait_us[k] + 2000);
        }
        pair_free(p);
    }
}

static void silence_fails_after_30_s(void **state)
{
    (void)state;
    for (int loses = 0; loses < 2; loses++) {
        struct pair *p = pair_make(1);
        p->link.config.loss_per_mille = loses == 0 ? SIM_LINK_PER_MILLE : 0;
        if (loses == 1) {
            dtls_transport_start(p->end[0].dtls, 0, p->now_us);
            p->link.config.loss_per_mille = SIM_LINK_PER_MILLE;
        } else {
            start_both(p, 0);
        }
        run_for(p, DTLS_HANDSHAKE_TIMEOUT_US - 1);
        assert_int_equal(p->end[0].failed, 0);
        run_for(p, 1);
        assert_int_equal(p->end[0].failed, 1);
        assert_int_equal(p->end[0].last_event.failure, DTLS_FAILURE_TIMEOUT);
        assert_int_equal(dtls_transport_next_timeout(p->end[0].dtls), TIME_NEVER);
        assert_int_equal(dtls_transport_input(p->end[0].dtls, bytes_view_of_text("x"), p->now_us),
                         DTLS_INPUT_ENDED);
        pair_free(p);
    }
}

static void only_the_certificate_of_the_sdp_gives_keys(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct pair *p = pair_make(1);
        struct dtls_transport_config config = config_of(which);
        config.fingerprint[0].digest[31] ^= 1;
        dtls_transport_destroy(p->end[which].dtls);
        p->end[which].dtls = dtls_transport_create(&config);
        start_both(p, 0);
        run_for(p, US_PER_S);
        assert_int_equal(p->end[which].connected, 0);
        assert_int_equal(p->end[which].failed, 1);
        assert_int_equal(p->end[which].last_event.failure, DTLS_FAILURE_FINGERPRINT);
        assert_true(p->end[which].ended_us - 10 * US_PER_S <= 100 * US_PER_MS);
        pair_free(p);
    }
}

static void any_one_of_several_fingerprints_will_do(void **state)
{
    (void)state;
    struct pair *p = pair_make(1);
    struct dtls_transport_config config = config_of(0);
    config.fingerprint_count = DTLS_FINGERPRINTS_MAX;
    config.fingerprint[3] = config.fingerprint[0];
    config.fingerprint[0] = (struct dtls_fingerprint){.hash = DTLS_HASH_SHA512};
    config.fingerprint[1] = (struct dtls_fingerprint){.hash = DTLS_HASH_SHA384};
    config.fingerprint[2] = (struct dtls_fingerprint){.hash = DTLS_HASH_SHA256};
    dtls_transport_destroy(p->end[0].dtls);
    p->end[0].dtls = dtls_transport_create(&config);
    start_both(p, 0);
    run_for(p, US_PER_S);
    assert_int_equal(p->end[0].connected, 1);
    pair_free(p);
}

static void an_identity_may_go_before_its_transports(void **state)
{
    (void)state;
    struct pair *p = pair_make(1);
    struct dtls_identity *old = identity[1];
    struct fault fault;
    identity[1] = dtls_identity_create(&fault);
    assert_non_null(identity[1]);
    assert_memory_not_equal(dtls_identity_fingerprint(old), dtls_identity_fingerprint(identity[1]),
                            DTLS_IDENTITY_FINGERPRINT_BYTES);
    dtls_identity_destroy(old);
    start_both(p, 0);
    run_for(p, US_PER_S);
    assert_int_equal(p->end[0].connected, 1);
    pair_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ends_agree_on_keys_in_two_round_trips),
        cmocka_unit_test(before_the_start_there_is_nothing_to_send_and_no_deadline),
        cmocka_unit_test(every_seed_of_a_bad_network_connects),
        cmocka_unit_test(a_lost_flight_is_sent_again_after_twice_the_round_trip_and_then_doubled),
        cmocka_unit_test(silence_fails_after_30_s),
        cmocka_unit_test(only_the_certificate_of_the_sdp_gives_keys),
        cmocka_unit_test(any_one_of_several_fingerprints_will_do),
        cmocka_unit_test(an_identity_may_go_before_its_transports),
    };
    return cmocka_run_group_tests(tests, make_identities, free_identities);
}
