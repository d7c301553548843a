/* client_leg_test.c - who gets through to SRTP, that every timer moves on, and how it ends */
#include "tests/unit/client_leg_world.h"

/* --- getting through -------------------------------------------------------------------------- */

static void a_client_gets_through_in_either_role(void **state)
{
    (void)state;
    for (int active = 0; active <= 1; active++) {
        struct world w;
        const struct sim_client_config config = {.is_dtls_client = active == 1};
        open_world(&w, &config, 64);
        assert_false(client_leg_is_connected(w.leg));
        run_for(&w, US_PER_S);
        assert_events(&w, got_through, COUNT_OF(got_through));
        assert_true(sim_client_is_connected(w.client));
        assert_false(client_leg_path(w.leg).is_tcp);
        assert_in_range(w.rtp_count, 40, 50);
        assert_true(virtual_time_reads > 0);
        close_world(&w);
    }
}

static void another_certificate_ends_it_without_keys(void **state)
{
    (void)state;
    for (int active = 0; active <= 1; active++) {
        struct world w;
        const struct sim_client_config config = {.is_dtls_client = active == 1,
                                                 .lies_about_fingerprint = true};
        const enum client_leg_event expected[] = {CLIENT_LEG_CHECKED, CLIENT_LEG_FINGERPRINT};
        open_world(&w, &config, 64);
        run_for(&w, 2 * US_PER_S);
        assert_events(&w, expected, COUNT_OF(expected));
        assert_true(client_leg_is_over(w.leg));
        assert_true(client_leg_next_timeout(w.leg) == TIME_NEVER);
        close_world(&w);
    }
}

/* A DTLS client of another make, that knows nothing of SRTP. */
static void a_client_without_srtp_is_the_end(void **state)
{
    (void)state;
    struct world w;
    struct dtls_peer peer;
    unsigned digest_bytes = 0;
    open_world(&w, &plain, 64);
    client_leg_destroy(w.leg);
    dtls_peer_open(&peer, &(struct dtls_peer_config){.key = DTLS_PEER_P256});
    w.answer.offer.setup = SDP_SETUP_ACTIVE;
    assert_int_equal(X509_digest(peer.certificate, EVP_sha256(),
                                 w.answer.offer.fingerprint[0].digest, &digest_bytes),
                     1);
    open_leg(&w);
    const struct net_addr own = sim_client_address(w.client);
    assert_int_equal(input_check(&w, &own, STUN_ICE_CONTROLLING), CLIENT_LEG_STUN);
    outbox_clear(w.outbox);
    for (int turn = 0; turn < 6 && !client_leg_is_over(w.leg); turn++) {
        dtls_peer_run(&peer);
        for (size_t i = 0; i < peer.out_count; i++) {
            (void)input(&w, &own, bytes_view_of(peer.out[i], peer.out_len[i]));
        }
        peer.out_count = 0;
        for (size_t i = 0; i < outbox_datagram_count(w.outbox); i++) {
            const struct outbox_datagram *d = outbox_datagram_at(w.outbox, i);
            dtls_peer_input(&peer, bytes_view_of(d->data, d->len));
        }
        outbox_clear(w.outbox);
    }
    const enum client_leg_event expected[] = {CLIENT_LEG_CHECKED, CLIENT_LEG_NO_SRTP};
    assert_events(&w, expected, COUNT_OF(expected));
    assert_true(client_leg_is_over(w.leg));
    dtls_peer_close(&peer);
    close_world(&w);
}

static void an_unconnected_leg_sends_no_media(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain, 64);
    uint8_t packet[PACKET_CAP] = {0x80, 200};
    send_rtp(&w, 1);
    struct bytes_span span = {packet, 40, sizeof(packet)};
    assert_false(client_leg_send_rtcp(w.leg, &span, w.now_us));
    assert_int_equal(outbox_datagram_count(w.outbox), 0);
    close_world(&w);
}

/* --- timers ----------------------------------------------------------------------------------- */

static void a_silent_leg_announces_itself_each_half_second(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain, 64);
    run_for(&w, 5 * US_PER_S); /* checks each 2.5 s are answered, nothing else is sent */
    const size_t before = w.announcements;
    assert_in_range(before, 7, 9);
    for (uint8_t i = 0; i < 100; i++) { /* what is sent is announcement enough */
        send_rtp(&w, i);
        run_for(&w, 499999);
    }
    assert_int_equal(w.announcements, before);
    run_for(&w, 1);
    assert_int_equal(w.announcements, before + 1);
    assert_true(net_addr_equal(&w.last_path.client, &w.last_rtp.from));
    close_world(&w);
}

/* An authentic check that is answered with an error selects no path, but something was sent. */
static void a_refused_check_leaves_no_timer_behind_that_stands_still(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain, 64);
    const struct net_addr own = sim_client_address(w.client);
    assert_int_equal(input_check(&w, &own, STUN_ICE_CONTROLLED), CLIENT_LEG_STUN);
    assert_int_equal(outbox_datagram_count(w.outbox), 1);
    outbox_clear(w.outbox);
    for (int i = 0; i < 10; i++) {
        w.now_us = virtual_time_us = client_leg_next_timeout(w.leg);
        tick(&w);
    }
    assert_int_equal(outbox_datagram_count(w.outbox), 0); /* no path: nobody to announce */
    close_world(&w);
}

static void nothing_authentic_for_thirty_seconds_is_the_end(void **state)
{
    (void)state;
    struct world w;
    open_connected(&w);
    w.is_cut = true;
    w.up_count = 0;
    const uint64_t last_us = w.last_rtp.due_us - (w.last_rtp.due_us > w.now_us ? 20000 : 0);
    while (w.now_us < last_us + 30 * US_PER_S - 1) {
        const uint64_t left_us = last_us + 30 * US_PER_S - 1 - w.now_us;
        run_for(&w, time_earlier(left_us, US_PER_S));
        for (size_t i = 0; i < COUNT_OF(junk); i++) { /* it does not keep the leg alive */
            (void)input(&w, &w.last_rtp.from, bytes_view_of(junk[i].bytes, junk[i].len));
        }
    }
    assert_false(client_leg_is_over(w.leg));
    run_for(&w, 1);
    const enum client_leg_event expected[] = {CLIENT_LEG_CHECKED, CLIENT_LEG_CONNECTED,
                                              CLIENT_LEG_LOST};
    assert_events(&w, expected, COUNT_OF(expected));
    assert_true(client_leg_is_over(w.leg));
    outbox_clear(w.outbox);
    run_for(&w, US_PER_S);
    assert_int_equal(outbox_datagram_count(w.outbox), 0);
    close_world(&w);
}

/* The clock of every state runs on when nothing can be sent: run_for checks each tick. */
static void a_full_outbox_stops_no_timer(void **state)
{
    (void)state;
    struct world w;
    open_connected(&w);
    while (outbox_reserve(w.outbox) != NULL) {
        const struct net_path path = path_from(&w.last_rtp.from);
        outbox_commit(w.outbox, 1, ID, &path);
    }
    for (int i = 0; i < 400; i++) {
        w.now_us = virtual_time_us = client_leg_next_timeout(w.leg);
        send_rtp(&w, (uint8_t)i);
        client_leg_tick(w.leg, w.now_us);
        take_events(&w);
        if (client_leg_is_over(w.leg)) {
            break;
        }
        assert_true(client_leg_next_timeout(w.leg) > w.now_us);
    }
    assert_int_equal(w.event[w.event_count - 1], CLIENT_LEG_LOST);
    close_world(&w);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void closing_tells_the_client_and_takes_150_ms(void **state)
{
    (void)state;
    struct world w;
    open_connected(&w);
    const uint64_t closed_us = w.now_us;
    client_leg_close(w.leg, w.now_us);
    client_leg_close(w.leg, w.now_us);
    assert_false(client_leg_is_connected(w.leg));
    send_rtp(&w, 1);
    assert_int_equal(outbox_datagram_count(w.outbox), 1); /* the alert, and nothing behind it */
    assert_int_equal(input(&w, &w.last_rtp.from, bytes_view_of(w.last_rtp.bytes, w.last_rtp.len)),
                     CLIENT_LEG_ENDED);
    run_for(&w, 149999);
    assert_false(client_leg_is_over(w.leg));
    run_for(&w, 1);
    assert_true(client_leg_is_over(w.leg));
    assert_true(sim_client_heard(w.client)->was_closed);
    assert_true(client_leg_next_timeout(w.leg) == TIME_NEVER);
    assert_int_equal(w.now_us - closed_us, 150000);
    assert_events(&w, got_through, COUNT_OF(got_through)); /* our own end is no event */
    close_world(&w);
}

static void closing_before_there_is_a_client_is_over_at_once(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain, 64);
    client_leg_close(w.leg, w.now_us);
    assert_true(client_leg_is_over(w.leg));
    assert_int_equal(outbox_datagram_count(w.outbox), 0);
    close_world(&w);
}

static void a_client_that_closes_is_the_end(void **state)
{
    (void)state;
    struct world w;
    open_connected(&w);
    sim_client_close(w.client, w.now_us);
    run_for(&w, 500000);
    const enum client_leg_event expected[] = {CLIENT_LEG_CHECKED, CLIENT_LEG_CONNECTED,
                                              CLIENT_LEG_CLOSED};
    assert_events(&w, expected, COUNT_OF(expected));
    assert_true(client_leg_is_over(w.leg));
    close_world(&w);
}

static void each_result_has_its_own_name(void **state)
{
    (void)state;
    for (int i = 0; i < CLIENT_LEG_RESULT_COUNT; i++) {
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(client_leg_result_name((enum client_leg_result)i),
                                    client_leg_result_name((enum client_leg_result)k));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_gets_through_in_either_role),
        cmocka_unit_test(another_certificate_ends_it_without_keys),
        cmocka_unit_test(a_client_without_srtp_is_the_end),
        cmocka_unit_test(an_unconnected_leg_sends_no_media),
        cmocka_unit_test(a_silent_leg_announces_itself_each_half_second),
        cmocka_unit_test(a_refused_check_leaves_no_timer_behind_that_stands_still),
        cmocka_unit_test(nothing_authentic_for_thirty_seconds_is_the_end),
        cmocka_unit_test(a_full_outbox_stops_no_timer),
        cmocka_unit_test(closing_tells_the_client_and_takes_150_ms),
        cmocka_unit_test(closing_before_there_is_a_client_is_over_at_once),
        cmocka_unit_test(a_client_that_closes_is_the_end),
        cmocka_unit_test(each_result_has_its_own_name),
    };
    return cmocka_run_group_tests(tests, start_srtp, NULL);
}
