/* dtls_test.c - two of our DTLS ends over a bad network, in virtual time */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_transport.h"
#include "tests/lossy_link.h"
#include "tests/virtual_time.h"

#include <stdio.h>
#include <stdlib.h>

#define SEEDS          300
#define PACKETS_MAX    64
#define PACKET_CAP     1500
#define ALERT_INTERNAL 80

static struct dtls_identity *identity[2];

/* One end, and all that came out of it. */
struct end {
    struct dtls_transport *dtls;
    unsigned connected;
    unsigned failed;
    unsigned closed;
    uint64_t connected_us;
    uint64_t ended_us;
    struct dtls_event connected_event;
    struct dtls_event last_event;
    unsigned datagrams_sent;
    size_t longest_datagram;
    uint64_t sent_at_us[PACKETS_MAX];
    unsigned packets_received;
    uint8_t packet[PACKETS_MAX]; /* their first bytes */
    size_t packet_len[PACKETS_MAX];
    enum dtls_input_result last_input;
};

/* End 0 is active, end 1 passive. */
struct pair {
    struct end end[2];
    struct lossy_link link;
    uint64_t now_us;
};

static void fingerprint_of(const struct dtls_identity *whose, struct dtls_fingerprint *out)
{
    *out = (struct dtls_fingerprint){.hash = DTLS_HASH_SHA256};
    memcpy(out->digest, dtls_identity_fingerprint(whose), DTLS_IDENTITY_FINGERPRINT_BYTES);
}

static struct dtls_transport_config config_of(int which)
{
    struct dtls_transport_config config = {
        .identity = identity[which],
        .role = which == 0 ? DTLS_ROLE_ACTIVE : DTLS_ROLE_PASSIVE,
        .fingerprint_count = 1,
        .mtu_bytes = DTLS_MTU_BYTES,
    };
    fingerprint_of(identity[1 - which], &config.fingerprint[0]);
    return config;
}

static struct pair *pair_make(uint64_t seed)
{
    struct pair *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    p->now_us = 10 * US_PER_S;
    virtual_time_us = p->now_us;
    p->link.delay_us = 25 * US_PER_MS;
    random_generator_init(&p->link.seed, seed);
    for (int i = 0; i < 2; i++) {
        const struct dtls_transport_config config = config_of(i);
        p->end[i].dtls = dtls_transport_create(&config);
        assert_non_null(p->end[i].dtls);
    }
    return p;
}

static void pair_free(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        dtls_transport_destroy(p->end[i].dtls);
    }
    free(p);
}

static void drain(struct pair *p, int which)
{
    struct end *e = &p->end[which];
    struct bytes_view out;
    struct dtls_event event;
    while (dtls_transport_poll_datagram(e->dtls, &out)) {
        if (e->datagrams_sent < PACKETS_MAX) {
            e->sent_at_us[e->datagrams_sent] = p->now_us;
        }
        e->datagrams_sent++;
        e->longest_datagram = out.len > e->longest_datagram ? out.len : e->longest_datagram;
        lossy_link_send(&p->link, 1 - which, out, p->now_us);
    }
    while (dtls_transport_poll_data(e->dtls, &out)) {
        assert_true(e->packets_received < PACKETS_MAX);
        e->packet[e->packets_received] = out.data[0];
        e->packet_len[e->packets_received] = out.len;
        e->packets_received++;
    }
    while (dtls_transport_poll_event(e->dtls, &event)) {
        if (event.kind == DTLS_EVENT_CONNECTED) {
            assert_int_equal(e->failed + e->closed, 0);
            e->connected++;
            e->connected_us = p->now_us;
            e->connected_event = event;
        } else {
            e->failed += event.kind == DTLS_EVENT_FAILED ? 1 : 0;
            e->closed += event.kind == DTLS_EVENT_CLOSED ? 1 : 0;
            e->ended_us = p->now_us;
            e->last_event = event;
        }
    }
}

static void tick(struct pair *p, int which)
{
    struct dtls_transport *dtls = p->end[which].dtls;
    if (dtls_transport_next_timeout(dtls) <= p->now_us) {
        dtls_transport_tick(dtls, p->now_us);
        assert_true(dtls_transport_next_timeout(dtls) > p->now_us);
    }
}

static void run_until(struct pair *p, uint64_t until_us)
{
    for (;;) {
        drain(p, 0);
        drain(p, 1);
        uint64_t next_us = lossy_link_next_us(&p->link);
        next_us = time_earlier(next_us, dtls_transport_next_timeout(p->end[0].dtls));
        next_us = time_earlier(next_us, dtls_transport_next_timeout(p->end[1].dtls));
        if (next_us > until_us) {
            break;
        }
        p->now_us = time_later(p->now_us, next_us);
        virtual_time_us = p->now_us;
        struct lossy_datagram arrived;
        if (lossy_link_take(&p->link, p->now_us, &arrived)) {
            struct end *to = &p->end[arrived.to];
            to->last_input =
                dtls_transport_input(to->dtls, bytes_view_of(arrived.data, arrived.len), p->now_us);
        }
        tick(p, 0);
        tick(p, 1);
    }
    p->now_us = time_later(p->now_us, until_us);
    virtual_time_us = p->now_us;
}

static void run_for(struct pair *p, uint64_t duration_us)
{
    run_until(p, p->now_us + duration_us);
}

static void start_both(struct pair *p, uint64_t round_trip_us)
{
    dtls_transport_start(p->end[1].dtls, round_trip_us, p->now_us);
    dtls_transport_start(p->end[0].dtls, round_trip_us, p->now_us);
}

static bool keys_agree(const struct pair *p)
{
    const struct srtp_keys *a = &p->end[0].connected_event.srtp;
    const struct srtp_keys *b = &p->end[1].connected_event.srtp;
    const struct srtp_master_key none = {0};
    return a->profile == SRTP_PROFILE_AEAD_AES_128_GCM && b->profile == a->profile &&
           memcmp(&a->send, &b->receive, sizeof(a->send)) == 0 &&
           memcmp(&a->receive, &b->send, sizeof(a->send)) == 0 &&
           memcmp(&a->send, &a->receive, sizeof(a->send)) != 0 &&
           memcmp(&a->send, &none, sizeof(none)) != 0;
}

static struct pair *connected_pair(void)
{
    struct pair *p = pair_make(1);
    start_both(p, 0);
    run_for(p, US_PER_S);
    assert_int_equal(p->end[0].connected, 1);
    assert_int_equal(p->end[1].connected, 1);
    assert_true(keys_agree(p));
    return p;
}

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
        p->link.loss_per_mille = (unsigned)(seed % 4) * 100;
        p->link.repeat_per_mille = (unsigned)(seed % 3) * 150;
        p->link.jitter_us = seed % 5 * 20 * US_PER_MS;
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
        p->link.loss_per_mille = LOSSY_LINK_PER_MILLE;
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
        p->link.loss_per_mille = loses == 0 ? LOSSY_LINK_PER_MILLE : 0;
        if (loses == 1) {
            dtls_transport_start(p->end[0].dtls, 0, p->now_us);
            p->link.loss_per_mille = LOSSY_LINK_PER_MILLE;
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

static void data_keeps_its_bounds_and_its_order(void **state)
{
    (void)state;
    struct pair *p = connected_pair();
    uint8_t packet[PACKET_CAP];
    static const size_t lens[] = {1, 2, 100, DTLS_MTU_BYTES - 37};
    for (int from = 0; from < 2; from++) {
        for (size_t i = 0; i < COUNT_OF(lens); i++) {
            memset(packet, (int)i + 1, sizeof(packet));
            assert_true(dtls_transport_send(p->end[from].dtls, bytes_view_of(packet, lens[i])));
            drain(p, from);
        }
        run_for(p, US_PER_S);
        const struct end *to = &p->end[1 - from];
        assert_int_equal(to->packets_received, COUNT_OF(lens));
        for (size_t i = 0; i < COUNT_OF(lens); i++) {
            assert_int_equal(to->packet[i], i + 1);
            assert_int_equal(to->packet_len[i], lens[i]);
        }
        assert_int_equal(to->last_input, DTLS_INPUT_AUTHENTIC_NEWEST);
        assert_int_equal(p->end[from].longest_datagram, DTLS_MTU_BYTES);
    }
    pair_free(p);
}

static void a_full_outbox_refuses_until_it_is_drained(void **state)
{
    (void)state;
    struct pair *p = connected_pair();
    const uint8_t packet[1000] = {7};
    unsigned taken = 0;
    while (dtls_transport_send(p->end[0].dtls, bytes_view_of(packet, sizeof(packet)))) {
        taken++;
        assert_true(taken < 10);
    }
    assert_int_equal(taken, DTLS_OUTGOING_BYTES_MAX / (sizeof(packet) + 37 + 2));
    run_for(p, US_PER_S);
    assert_int_equal(p->end[1].packets_received, taken);
    assert_true(dtls_transport_send(p->end[0].dtls, bytes_view_of(packet, sizeof(packet))));
    run_for(p, US_PER_S);
    assert_int_equal(p->end[1].packets_received, taken + 1);
    pair_free(p);
}

static void a_late_or_repeated_record_is_not_the_newest(void **state)
{
    (void)state;
    struct pair *p = connected_pair();
    struct dtls_transport *to = p->end[1].dtls;
    uint8_t sent[3][PACKET_CAP];
    size_t len[3];
    for (uint8_t i = 0; i < 3; i++) {
        struct bytes_view out;
        assert_true(dtls_transport_send(p->end[0].dtls, bytes_view_of(&i, 1)));
        assert_true(dtls_transport_poll_datagram(p->end[0].dtls, &out));
        memcpy(sent[i], out.data, out.len);
        len[i] = out.len;
        assert_false(dtls_transport_poll_datagram(p->end[0].dtls, &out));
    }
    static const struct {
        size_t which;
        enum dtls_input_result result;
    } order_case[] = {
        {1, DTLS_INPUT_AUTHENTIC_NEWEST}, {0, DTLS_INPUT_AUTHENTIC}, {1, DTLS_INPUT_TAKEN},
        {2, DTLS_INPUT_AUTHENTIC_NEWEST}, {2, DTLS_INPUT_TAKEN},
    };
    for (size_t i = 0; i < COUNT_OF(order_case); i++) {
        const size_t which = order_case[i].which;
        assert_int_equal(dtls_transport_input(to, bytes_view_of(sent[which], len[which]), 0),
                         order_case[i].result);
        drain(p, 1);
    }
    assert_int_equal(p->end[1].packets_received, 3);
    pair_free(p);
}

static void what_nobody_took_is_lost_and_the_next_datagram_still_read(void **state)
{
    (void)state;
    struct pair *p = connected_pair();
    for (uint8_t i = 1; i <= 3; i++) {
        struct bytes_view out;
        assert_true(dtls_transport_send(p->end[0].dtls, bytes_view_of(&i, 1)));
        assert_true(dtls_transport_poll_datagram(p->end[0].dtls, &out));
        assert_int_equal(dtls_transport_input(p->end[1].dtls, out, p->now_us),
                         DTLS_INPUT_AUTHENTIC_NEWEST);
    }
    drain(p, 1);
    assert_int_equal(p->end[1].packets_received, 1);
    assert_int_equal(p->end[1].packet[0], 3);
    pair_free(p);
}

static void data_behind_or_before_the_last_flight_is_delivered(void **state)
{
    (void)state;
    /* The passive end is connected first and sends at once; with much jitter its data overtakes its
     * Finished in some seeds, and must then come out after the handshake. */
    unsigned early = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct pair *p = pair_make(seed);
        const uint8_t packet = 42;
        p->link.jitter_us = 60 * US_PER_MS;
        start_both(p, 500 * US_PER_MS);
        while (p->end[1].connected == 0) {
            run_for(p, US_PER_MS);
        }
        const bool is_early = p->end[0].connected == 0;
        assert_true(dtls_transport_send(p->end[1].dtls, bytes_view_of(&packet, 1)));
        run_for(p, US_PER_S);
        assert_int_equal(p->end[0].connected, 1);
        early += is_early && p->end[0].packets_received == 1 ? 1 : 0;
        pair_free(p);
    }
    assert_true(early >= 20);
}

static void closing_ends_the_other_end_even_if_two_copies_are_lost(void **state)
{
    (void)state;
    static const uint64_t copy_at_us[] = {0, 50000, 150000};
    for (int which = 0; which < 2; which++) {
        for (unsigned lost = 0; lost < 3; lost++) {
            struct pair *p = connected_pair();
            struct end *closer = &p->end[which];
            const unsigned sent_before = closer->datagrams_sent;
            const uint64_t start_us = p->now_us;
            p->link.loss_per_mille = lost > 0 ? LOSSY_LINK_PER_MILLE : 0;
            dtls_transport_close(closer->dtls, p->now_us);
            dtls_transport_close(closer->dtls, p->now_us); /* a second close changes nothing */
            if (lost > 0) {
                run_for(p, copy_at_us[lost - 1]);
                p->link.loss_per_mille = 0;
            }
            run_for(p, US_PER_S);
            assert_int_equal(closer->datagrams_sent - sent_before, 3);
            for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(closer->sent_at_us[sent_before + i] - start_us, copy_at_us[i]);
            }
            assert_int_equal(closer->closed + closer->failed, 0);
            assert_int_equal(p->end[1 - which].closed, 1);
            assert_int_equal(p->end[1 - which].last_event.alert, ALERT_INTERNAL);
            assert_int_equal(p->end[1 - which].ended_us - start_us, copy_at_us[lost] + 25000);
            assert_int_equal(dtls_transport_next_timeout(closer->dtls), TIME_NEVER);
            pair_free(p);
        }
    }
}

static void closing_an_unfinished_handshake_sends_nothing(void **state)
{
    (void)state;
    for (uint64_t stop_us = 0; stop_us < 75 * US_PER_MS; stop_us += 25 * US_PER_MS) {
        for (int which = 0; which < 2; which++) {
            struct pair *p = pair_make(1);
            start_both(p, 0);
            run_for(p, stop_us);
            const unsigned sent_before = p->end[which].datagrams_sent;
            dtls_transport_close(p->end[which].dtls, p->now_us);
            run_for(p, 5 * US_PER_S);
            assert_int_equal(p->end[which].datagrams_sent, sent_before);
            assert_int_equal(p->end[which].connected + p->end[which].failed, 0);
            pair_free(p);
        }
    }
}

static void while_closing_nothing_is_taken_sent_or_answered(void **state)
{
    (void)state;
    struct pair *p = connected_pair();
    struct bytes_view out;
    const uint8_t packet = 1;
    dtls_transport_close(p->end[0].dtls, p->now_us);
    assert_false(dtls_transport_send(p->end[0].dtls, bytes_view_of(&packet, 1)));
    assert_true(dtls_transport_send(p->end[1].dtls, bytes_view_of(&packet, 1)));
    assert_true(dtls_transport_poll_datagram(p->end[1].dtls, &out));
    assert_int_equal(dtls_transport_input(p->end[0].dtls, out, p->now_us), DTLS_INPUT_ENDED);
    run_for(p, US_PER_S);
    assert_int_equal(p->end[0].packets_received, 0);
    assert_int_equal(p->end[1].closed, 1);
    pair_free(p);
}

static void a_datagram_longer_than_1500_bytes_is_dropped(void **state)
{
    (void)state;
    static const uint8_t long_datagram[DTLS_DATAGRAM_BYTES_MAX + 1] = {22};
    struct pair *p = pair_make(1);
    start_both(p, 0);
    assert_int_equal(dtls_transport_input(p->end[0].dtls,
                                          bytes_view_of(long_datagram, sizeof(long_datagram)), 0),
                     DTLS_INPUT_TOO_LONG);
    assert_int_equal(dtls_transport_input(p->end[0].dtls,
                                          bytes_view_of(long_datagram, sizeof(long_datagram) - 1),
                                          0),
                     DTLS_INPUT_FILTERED);
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

static int make_identities(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fault fault;
        identity[i] = dtls_identity_create(&fault);
        if (identity[i] == NULL) {
            (void)printf("%s\n", fault.text);
            return -1;
        }
    }
    return 0;
}

static int free_identities(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        dtls_identity_destroy(identity[i]);
    }
    return 0;
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
        cmocka_unit_test(data_keeps_its_bounds_and_its_order),
        cmocka_unit_test(a_full_outbox_refuses_until_it_is_drained),
        cmocka_unit_test(a_late_or_repeated_record_is_not_the_newest),
        cmocka_unit_test(what_nobody_took_is_lost_and_the_next_datagram_still_read),
        cmocka_unit_test(data_behind_or_before_the_last_flight_is_delivered),
        cmocka_unit_test(closing_ends_the_other_end_even_if_two_copies_are_lost),
        cmocka_unit_test(closing_an_unfinished_handshake_sends_nothing),
        cmocka_unit_test(while_closing_nothing_is_taken_sent_or_answered),
        cmocka_unit_test(a_datagram_longer_than_1500_bytes_is_dropped),
        cmocka_unit_test(an_identity_may_go_before_its_transports),
    };
    return cmocka_run_group_tests(tests, make_identities, free_identities);
}
