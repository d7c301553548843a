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
        cmocka_unit_test(no_channel_opens_while_the_call_ends),
        cmocka_unit_test(the_associations_end_is_the_last_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
