/* dtls_data_test.c - data, late records and the end of two of our DTLS ends, in virtual time */
#include "tests/dtls_pair.h"

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
        p->link.config.jitter_us = 60 * US_PER_MS;
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
            p->link.config.loss_per_mille = lost > 0 ? SIM_LINK_PER_MILLE : 0;
            dtls_transport_close(closer->dtls, p->now_us);
            dtls_transport_close(closer->dtls, p->now_us); /* a second close changes nothing */
            if (lost > 0) {
                run_for(p, copy_at_us[lost - 1]);
                p->link.config.loss_per_mille = 0;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_keeps_its_bounds_and_its_order),
        cmocka_unit_test(a_full_outbox_refuses_until_it_is_drained),
        cmocka_unit_test(a_late_or_repeated_record_is_not_the_newest),
        cmocka_unit_test(what_nobody_took_is_lost_and_the_next_datagram_still_read),
        cmocka_unit_test(data_behind_or_before_the_last_flight_is_delivered),
        cmocka_unit_test(closing_ends_the_other_end_even_if_two_copies_are_lost),
        cmocka_unit_test(closing_an_unfinished_handshake_sends_nothing),
        cmocka_unit_test(while_closing_nothing_is_taken_sent_or_answered),
        cmocka_unit_test(a_datagram_longer_than_1500_bytes_is_dropped),
    };
    return cmocka_run_group_tests(tests, make_identities, free_identities);
}
