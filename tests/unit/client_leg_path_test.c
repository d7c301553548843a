/* client_leg_path_test.c - who gets nothing, and whose packet moves the path */
#include "tests/unit/client_leg_world.h"

/* --- strangers -------------------------------------------------------------------------------- */

static void a_stranger_gets_nothing_and_changes_nothing(void **state)
{
    (void)state;
    for (int connected = 0; connected <= 1; connected++) {
        struct world w;
        struct net_addr stranger;
        assert_true(net_addr_parse("192.0.2.66:6666", &stranger));
        if (connected == 1) {
            open_connected(&w);
        } else {
            open_world(&w, &plain, 64);
        }
        const uint64_t timeout_us = client_leg_next_timeout(w.leg);
        const size_t events = w.event_count;
        for (size_t i = 0; i < COUNT_OF(junk); i++) {
            const enum client_leg_result result =
                input(&w, &stranger, bytes_view_of(junk[i].bytes, junk[i].len));
            assert_int_equal(result, connected == 1 ? junk[i].connected : junk[i].before);
        }
        assert_int_equal(outbox_datagram_count(w.outbox), 0);
        assert_true(client_leg_next_timeout(w.leg) == timeout_us);
        assert_int_equal(w.event_count, events);
        close_world(&w);
    }
}

/* DTLS of the client itself is not looked at before its check, and not from elsewhere after it. */
static void genuine_dtls_counts_only_from_where_a_check_came(void **state)
{
    (void)state;
    struct world w;
    struct net_addr elsewhere;
    const struct sim_client_config config = {.is_dtls_client = true};
    assert_true(net_addr_parse("203.0.113.9:40001", &elsewhere));
    open_world(&w, &config, 64);
    while (w.up_count < 2) { /* the check, and the hello behind its answer */
        run_for(&w, DELAY_US);
        for (size_t i = 0; i < w.up_count; i++) {
            const struct bytes_view d = bytes_view_of(w.up[i].bytes, w.up[i].len);
            if (datagram_kind_of(d) == DATAGRAM_DTLS) {
                assert_int_equal(input(&w, &elsewhere, d), CLIENT_LEG_DTLS_UNVALIDATED);
                assert_int_equal(outbox_datagram_count(w.outbox), 0);
                assert_int_equal(input(&w, &w.up[i].from, d), CLIENT_LEG_DTLS);
                assert_true(outbox_datagram_count(w.outbox) > 0);
                close_world(&w);
                return;
            }
        }
    }
    fail();
}

/* --- SRTP and the path ------------------------------------------------------------------------ */

static void a_replay_from_elsewhere_is_refused_and_moves_nothing(void **state)
{
    (void)state;
    struct world w;
    struct net_addr elsewhere;
    assert_true(net_addr_parse("192.0.2.66:6666", &elsewhere));
    open_connected(&w);
    const struct waiting recorded = w.last_rtp;
    run_for(&w, 100000);
    assert_int_equal(input(&w, &elsewhere, bytes_view_of(recorded.bytes, recorded.len)),
                     CLIENT_LEG_SRTP_REFUSED);
    send_rtp(&w, 1);
    const struct net_addr own = sim_client_address(w.client);
    assert_true(net_addr_equal(&outbox_datagram_at(w.outbox, 0)->path.client, &own));
    close_world(&w);
}

/* A forger turns one bit of a packet that is on its way, and sends it first. */
static void a_packet_with_any_bit_turned_is_refused_and_the_genuine_one_still_counts(void **state)
{
    (void)state;
    struct world w;
    open_connected(&w);
    w.is_cut = true;
    run_for(&w, 20000);
    struct waiting genuine = w.last_rtp;
    for (size_t bit = 0; bit < 8 * genuine.len; bit++) {
        genuine.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const enum client_leg_result result =
            input(&w, &genuine.from, bytes_view_of(genuine.bytes, genuine.len));
        assert_int_not_equal(result, CLIENT_LEG_RTP);
        assert_int_not_equal(result, CLIENT_LEG_RTCP);
        genuine.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(input(&w, &genuine.from, bytes_view_of(genuine.bytes, genuine.len)),
                     CLIENT_LEG_RTP);
    close_world(&w);
}

/* Somebody on the way takes a packet out and sends it later from his own address: it is genuine and
 * unseen, but not the newest. */
static void a_packet_that_was_held_back_is_heard_and_moves_nothing(void **state)
{
    (void)state;
    struct world w;
    struct net_addr elsewhere;
    assert_true(net_addr_parse("192.0.2.66:6666", &elsewhere));
    open_connected(&w);
    w.is_cut = true;
    run_for(&w, 20000);
    const struct waiting held_back = w.last_rtp;
    w.is_cut = false;
    run_for(&w, 100000);
    assert_int_equal(input(&w, &elsewhere, bytes_view_of(held_back.bytes, held_back.len)),
                     CLIENT_LEG_RTP);
    send_rtp(&w, 1);
    const struct net_addr own = sim_client_address(w.client);
    assert_true(net_addr_equal(&outbox_datagram_at(w.outbox, 0)->path.client, &own));
    close_world(&w);
}

static void the_newest_packet_from_elsewhere_moves_the_path(void **state)
{
    (void)state;
    struct world w;
    struct net_addr elsewhere;
    assert_true(net_addr_parse("198.51.100.77:5000", &elsewhere));
    open_connected(&w);
    w.is_cut = true;
    run_for(&w, 20000);
    assert_int_equal(input(&w, &elsewhere, bytes_view_of(w.last_rtp.bytes, w.last_rtp.len)),
                     CLIENT_LEG_RTP);
    run_for(&w, 600000);
    assert_true(net_addr_equal(&w.last_path.client, &elsewhere));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stranger_gets_nothing_and_changes_nothing),
        cmocka_unit_test(genuine_dtls_counts_only_from_where_a_check_came),
        cmocka_unit_test(a_replay_from_elsewhere_is_refused_and_moves_nothing),
        cmocka_unit_test(a_packet_with_any_bit_turned_is_refused_and_the_genuine_one_still_counts),
        cmocka_unit_test(a_packet_that_was_held_back_is_heard_and_moves_nothing),
        cmocka_unit_test(the_newest_packet_from_elsewhere_moves_the_path),
    };
    return cmocka_run_group_tests(tests, start_srtp, NULL);
}
