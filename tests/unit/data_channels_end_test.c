/* data_channels_end_test.c - how channels close: one by one, and with the call */
#include "tests/unit/data_channels_world.h"

static void a_clients_reset_is_answered_by_ours(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    for (uint16_t stream = 1; stream < 200; stream = (uint16_t)(stream + 2)) {
        open_channel(&w, stream, "x");
        fake_sctp.sent_count = 0;
        fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, stream);
        tick(&w);
        assert_int_equal(fake_sctp.reset[fake_sctp.reset_count - 1], stream);
    }
    assert_int_equal(fake_sctp.reset_count, 100);
    assert_int_equal(data_channels_stats(w.d).refused, 0);
    close_world(&w);
}

static void the_end_names_every_channel_and_waits_for_the_client(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    open_channel(&w, 6, "chat");
    data_channels_close(w.d, w.now_us);
    assert_int_equal(fake_sctp.reset_requests, 1);
    assert_int_equal(fake_sctp.reset_count, 2);
    assert_false(data_channels_is_over(w.d));
    assert_true(data_channels_next_timeout(w.d) == w.now_us + 500000);
    assert_int_equal(data_channels_send_event(w.d, bytes_view_of_text("{}"), w.now_us),
                     DATA_SEND_CLOSED);
    w.now_us += 20000;
    fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 1);
    tick(&w);
    assert_false(data_channels_is_over(w.d));
    fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 6);
    tick(&w);
    assert_true(data_channels_next_timeout(w.d) == w.now_us + 100000);
    w.now_us += 99999;
    tick(&w);
    assert_false(data_channels_is_over(w.d));
    w.now_us += 1;
    tick(&w);
    assert_true(data_channels_is_over(w.d));
    assert_true(data_channels_next_timeout(w.d) == TIME_NEVER);
    assert_int_equal(fake_sctp.reset_requests, 1);
    close_world(&w);
}

static void a_client_that_does_not_answer_is_not_waited_for_long(void **state)
{
    (void)state;
    for (size_t unsaid = 0; unsaid <= 1; unsaid++) {
        struct world w;
        open_world(&w);
        open_channel(&w, 1, "oai-events");
        fake_sctp.buffered_bytes = unsaid;
        data_channels_close(w.d, w.now_us);
        w.now_us += (unsaid != 0 ? 700000u : 500000u) - 1;
        tick(&w);
        assert_false(data_channels_is_over(w.d));
        w.now_us += 1;
        tick(&w);
        assert_true(data_channels_is_over(w.d));
        close_world(&w);
    }
}

static void an_end_without_channels_is_over_at_once(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    data_channels_close(w.d, w.now_us);
    assert_true(data_channels_is_over(w.d));
    assert_int_equal(fake_sctp.reset_requests, 0);
    close_world(&w);
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    fake_sctp.knows_no_resets = true;
    data_channels_close(w.d, w.now_us);
    assert_true(data_channels_is_over(w.d));
    close_world(&w);
}

static void what_does_not_leave_in_time_is_dropped_before_the_reset_is_awaited(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    fake_sctp.buffered_bytes = 1;
    data_channels_close(w.d, w.now_us);
    w.now_us += 199999;
    tick(&w);
    assert_int_equal(fake_sctp.drops, 0);
    w.now_us += 1;
    tick(&w);
    assert_int_equal(fake_sctp.drops, 1);
    assert_true(data_channels_next_timeout(w.d) == w.now_us + 500000);
    close_world(&w);
    open_world(&w); /* all has left: the wait begins then */
    open_channel(&w, 1, "oai-events");
    fake_sctp.buffered_bytes = 1;
    data_channels_close(w.d, w.now_us);
    w.now_us += 10000;
    fake_sctp.buffered_bytes = 0;
    tick(&w);
    assert_true(data_channels_next_timeout(w.d) == w.now_us + 500000);
    close_world(&w);
}

static void who_knows_no_resets_gets_its_last_events(void **state)
{
    (void)state;
    for (int is_acknowledged = 0; is_acknowledged <= 1; is_acknowledged++) {
        struct world w;
        open_world(&w);
        open_channel(&w, 1, "oai-events");
        fake_sctp.knows_no_resets = true;
        fake_sctp.buffered_bytes = 1;
        data_channels_close(w.d, w.now_us);
        w.now_us += is_acknowledged ? 10000 : 199999;
        tick(&w);
        assert_false(data_channels_is_over(w.d));
        fake_sctp.buffered_bytes = is_acknowledged ? 0 : 1;
        w.now_us += 1;
        tick(&w);
        assert_true(data_channels_is_over(w.d));
        close_world(&w);
    }
}

static void an_end_right_after_the_clients_reset_lingers(void **state)
{
    (void)state;
    for (uint64_t later_us = 0; later_us <= 100000; later_us += 50000) {
        struct world w;
        open_world(&w);
        open_channel(&w, 1, "oai-events");
        fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 1);
        tick(&w);
        const uint64_t reset_us = w.now_us;
        w.now_us += later_us;
        data_channels_close(w.d, w.now_us);
        assert_int_equal(data_channels_is_over(w.d), later_us == 100000);
        assert_true(later_us == 100000 || data_channels_next_timeout(w.d) == reset_us + 100000);
        w.now_us = reset_us + 100000;
        tick(&w);
        assert_true(data_channels_is_over(w.d));
        close_world(&w);
    }
}

static void no_alert_follows_a_late_reset_at_once(void **state)
{
    struct world w;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    open_channel(&w, 3, "chat");
    data_channels_close(w.d, w.now_us);
    w.now_us += 499999;
    fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 3);
    tick(&w);
    assert_true(data_channels_next_timeout(w.d) == w.now_us + 100000);
    close_world(&w);
}

static void a_reset_of_all_lets_go_of_all(void **state)
{
    (void)state;
    for (int is_closing = 0; is_closing <= 1; is_closing++) {
        struct world w;
        open_world(&w);
        for (uint16_t i = 0; i < DATA_CHANNELS_MAX; i++) {
            open_channel(&w, (uint16_t)(1 + 2 * i), i == 0 ? "oai-events" : "x");
        }
        assert_event(&w, DATA_CHANNELS_EVENTS_OPEN);
        if (is_closing) {
            data_channels_close(w.d, w.now_us);
        }
        fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, SCTP_STREAMS);
        tick(&w);
        assert_int_equal(fake_sctp.reset_count, DATA_CHANNELS_MAX);
        if (is_closing) {
            assert_true(data_channels_next_timeout(w.d) == w.now_us + 100000);
        } else {
            assert_event(&w, DATA_CHANNELS_EVENTS_CLOSED);
            open_channel(&w, 99, "chat");
            assert_int_equal(data_channels_stats(w.d).refused, 0);
        }
        close_world(&w);
    }
}

static void no_channel_opens_while_the_call_ends(void **state)
{
    struct world w;
    struct data_message m;
    (void)state;
    open_world(&w);
    open_channel(&w, 1, "oai-events");
    data_channels_close(w.d, w.now_us);
    open_channel(&w, 3, "chat");
    fake_sctp_message(1, DCEP_PPID_TEXT, "x", 1);
    tick(&w);
    assert_int_equal(fake_sctp.sent_count, 1);
    assert_false(take(&w, &m));
    close_world(&w);
}

static void the_associations_end_is_the_last_event(void **state)
{
    static const enum sctp_event_kind kind[] = {SCTP_EVENT_CLOSED, SCTP_EVENT_FAILED};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kind); i++) {
        struct world w;
        open_world(&w);
        open_channel(&w, 1, "oai-events");
        fake_sctp_event(SCTP_EVENT_MESSAGE_DROPPED, 1);
        fake_sctp_event(SCTP_EVENT_STREAM_RESET_BY_PEER, 1);
        fake_sctp_event(kind[i], 0);
        tick(&w);
        assert_event(&w, DATA_CHANNELS_EVENTS_OPEN);
        assert_event(&w, DATA_CHANNELS_TOO_LONG);
        assert_event(&w, DATA_CHANNELS_EVENTS_CLOSED);
        assert_event(&w, DATA_CHANNELS_ENDED);
        assert_no_event(&w);
        assert_true(data_channels_is_over(w.d));
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clients_reset_is_answered_by_ours),
        cmocka_unit_test(the_end_names_every_channel_and_waits_for_the_client),
        cmocka_unit_test(a_client_that_does_not_answer_is_not_waited_for_long),
        cmocka_unit_test(an_end_without_channels_is_over_at_once),
        cmocka_unit_test(what_does_not_leave_in_time_is_dropped_before_the_reset_is_awaited),
        cmocka_unit_test(who_knows_no_resets_gets_its_last_events),
        cmocka_unit_test(an_end_right_after_the_clients_reset_lingers),
        cmocka_unit_test(no_alert_follows_a_late_reset_at_once),
        cmocka_unit_test(a_reset_of_all_lets_go_of_all),
        cmocka_unit_test(no_channel_opens_while_the_call_ends),
        cmocka_unit_test(the_associations_end_is_the_last_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
