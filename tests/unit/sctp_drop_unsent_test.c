/* sctp_drop_unsent_test.c - what waits to be sent can be dropped, so that an end need not wait */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_outbound.h"
#include "tests/support/sctp_pair.h"

#define FIRST_TSN 1000

static uint8_t text[200000];

static struct sctp_outbound *outbound(bool has_forward_tsn)
{
    const struct sctp_outbound_config config = {.first_tsn = FIRST_TSN,
                                                .peer_window_bytes = 100000,
                                                .streams = 16,
                                                .packet_bytes_max = SCTP_PAIR_PACKET_BYTES,
                                                .has_forward_tsn = has_forward_tsn};
    return sctp_outbound_create(&config);
}

static void put(struct sctp_outbound *o, uint16_t stream, size_t len)
{
    const struct sctp_message message = {.stream = stream, .data = bytes_view_of(text, len)};
    assert_int_equal(sctp_outbound_send(o, &message, NULL, US_PER_S), SCTP_SEND_OK);
}

/* One packet; the type of its first chunk, or -1. */
static int write_packet(struct sctp_outbound *o)
{
    uint8_t bytes[SCTP_PAIR_PACKET_BYTES];
    struct byte_writer w;
    byte_writer_init(&w, bytes, sizeof(bytes));
    byte_writer_zeros(&w, SCTP_HEADER_BYTES);
    sctp_outbound_write(o, &w, US_PER_S);
    return w.len > SCTP_HEADER_BYTES ? bytes[SCTP_HEADER_BYTES] : -1;
}

static void what_has_not_begun_to_leave_goes_whatever_its_reliability(void **state)
{
    (void)state;
    for (int has_forward_tsn = 0; has_forward_tsn < 2; has_forward_tsn++) {
        struct sctp_outbound *o = outbound(has_forward_tsn == 1);
        put(o, 1, 100);
        put(o, 2, 100000);
        sctp_outbound_drop_unsent(o);
        assert_int_equal(sctp_outbound_buffered_bytes(o), 0);
        assert_false(sctp_outbound_has_waiting(o, 1));
        assert_int_equal(write_packet(o), -1);
        assert_int_equal(sctp_outbound_last_tsn(o), FIRST_TSN - 1);
        put(o, 2, 10); /* and it goes on */
        assert_int_equal(write_packet(o), SCTP_CHUNK_DATA);
        sctp_outbound_destroy(o);
    }
}

/* The TSN that is given up tells the peer to drop the part that it has. */
static void of_a_message_that_has_begun_the_peer_is_told(void **state)
{
    (void)state;
    struct sctp_outbound *o = outbound(true);
    put(o, 1, sizeof(text));
    put(o, 2, 100);
    assert_int_equal(write_packet(o), SCTP_CHUNK_DATA);
    sctp_outbound_drop_unsent(o);
    assert_false(sctp_outbound_has_waiting(o, 1));
    assert_false(sctp_outbound_has_waiting(o, 2));
    assert_int_equal(sctp_outbound_last_tsn(o), FIRST_TSN + 1);
    assert_int_equal(write_packet(o), SCTP_CHUNK_FORWARD_TSN);
    assert_true(sctp_outbound_cumulative(o, FIRST_TSN + 1, US_PER_S));
    assert_int_equal(sctp_outbound_buffered_bytes(o), 0);
    sctp_outbound_destroy(o);
}

static void a_peer_without_forward_tsn_gets_the_rest(void **state)
{
    (void)state;
    struct sctp_outbound *o = outbound(false);
    put(o, 1, sizeof(text));
    put(o, 2, 100);
    assert_int_equal(write_packet(o), SCTP_CHUNK_DATA);
    sctp_outbound_drop_unsent(o);
    assert_true(sctp_outbound_has_waiting(o, 1));
    assert_false(sctp_outbound_has_waiting(o, 2));
    assert_int_equal(write_packet(o), SCTP_CHUNK_DATA);
    sctp_outbound_destroy(o);
}

static size_t messages;
static size_t resets_done;
static size_t resets_by_peer;
static size_t closed;

static void count_message(void *context, int end, const struct sctp_message *message)
{
    (void)context;
    (void)end;
    (void)message;
    messages++;
}

static void count_event(void *context, int end, const struct sctp_event *event)
{
    (void)context;
    resets_done += end == 0 && event->kind == SCTP_EVENT_RESET_DONE;
    resets_by_peer += end == 1 && event->kind == SCTP_EVENT_STREAM_RESET_BY_PEER;
    closed += event->kind == SCTP_EVENT_CLOSED;
}

static struct sctp_pair *busy_pair(void)
{
    const struct sctp_pair_config config = {
        .link = {.seed = 1, .delay_us = 100 * US_PER_MS, .keeps_order = true},
        .hooks = {.message = count_message, .event = count_event},
        .first_tsn = {FIRST_TSN, 2000},
        .begin_us = US_PER_S,
    };
    struct sctp_pair *p = sctp_pair_create(&config);
    const struct sctp_message message = {.stream = 1, .data = bytes_view_of(text, sizeof(text))};
    sctp_pair_connect(p, true, true);
    messages = resets_done = resets_by_peer = closed = 0;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sctp_association_send(p->end[0], &message, NULL, p->now_us), SCTP_SEND_OK);
    }
    sctp_pair_run_until(p, p->now_us + 10 * US_PER_MS);
    return p;
}

static void a_reset_does_not_wait_for_what_was_dropped(void **state)
{
    (void)state;
    struct sctp_pair *p = busy_pair();
    const uint16_t stream = 1;
    sctp_association_drop_unsent(p->end[0], p->now_us);
    assert_true(sctp_association_reset_streams(p->end[0], &stream, 1, p->now_us));
    sctp_pair_run_until(p, p->now_us + US_PER_S);
    assert_int_equal(resets_done, 1);
    assert_int_equal(resets_by_peer, 1);
    assert_int_equal(messages, 0);
    const struct sctp_message message = {.stream = 1, .data = bytes_view_of(text, 1)};
    assert_int_equal(sctp_association_send(p->end[0], &message, NULL, p->now_us), SCTP_SEND_OK);
    sctp_pair_run_until(p, p->now_us + US_PER_S);
    assert_int_equal(messages, 1);
    sctp_pair_destroy(p);
}

static void neither_does_a_shutdown(void **state)
{
    (void)state;
    struct sctp_pair *p = busy_pair();
    sctp_association_shutdown(p->end[0], p->now_us);
    sctp_association_drop_unsent(p->end[0], p->now_us);
    sctp_pair_run_until(p, p->now_us + US_PER_S);
    assert_int_equal(closed, 2);
    assert_int_equal(messages, 0);
    sctp_association_drop_unsent(p->end[0], p->now_us); /* after the end: nothing */
    sctp_pair_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_not_begun_to_leave_goes_whatever_its_reliability),
        cmocka_unit_test(of_a_message_that_has_begun_the_peer_is_told),
        cmocka_unit_test(a_peer_without_forward_tsn_gets_the_rest),
        cmocka_unit_test(a_reset_does_not_wait_for_what_was_dropped),
        cmocka_unit_test(neither_does_a_shutdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
