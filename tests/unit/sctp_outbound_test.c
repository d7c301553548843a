/* sctp_outbound_test.c - what leaves, how much at once, and what comes again when */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_congestion.h"
#include "services/transceiver/core/transport/sctp/sctp_flight.h"
#include "services/transceiver/core/transport/sctp/sctp_outbound.h"
#include "services/transceiver/core/transport/sctp/sctp_rto.h"
#include "services/transceiver/core/transport/sctp/sctp_send_queue.h"

#include <stdlib.h>

#define FIRST_TSN      (UINT32_MAX - 2)
#define PACKET_BYTES   1163
#define FRAGMENT_BYTES 1132
#define WINDOW_BYTES   100000
#define CHUNKS_MAX     64

static struct sctp_outbound *out;
static uint64_t now_us;
static uint8_t text[SCTP_SEND_BYTES_MAX + 1];

/* What poll gave: the DATA and FORWARD TSN chunks of the packets. */
static struct sctp_data sent[CHUNKS_MAX];
static uint8_t sent_bytes[CHUNKS_MAX][PACKET_BYTES];
static size_t sent_count;
static size_t forwards;
static uint32_t forward_tsn;

static int set_up(void **state)
{
    const struct sctp_outbound_config config = {.first_tsn = FIRST_TSN,
                                                .peer_window_bytes = WINDOW_BYTES,
                                                .streams = 16,
                                                .packet_bytes_max = PACKET_BYTES,
                                                .has_forward_tsn = *state == NULL};
    out = sctp_outbound_create(&config);
    now_us = US_PER_S;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sctp_outbound_destroy(out);
    return 0;
}

static enum sctp_send_result send_to(uint16_t stream, size_t len)
{
    const struct sctp_message message = {.stream = stream, .data = bytes_view_of(text, len)};
    return sctp_outbound_send(out, &message, NULL, now_us);
}

static void send_unreliable(size_t len, enum sctp_reliability_kind kind, uint32_t limit)
{
    const struct sctp_message message = {.stream = 1, .data = bytes_view_of(text, len)};
    const struct sctp_reliability reliability = {.kind = kind, .limit = limit};
    assert_int_equal(sctp_outbound_send(out, &message, &reliability, now_us), SCTP_SEND_OK);
}

static void note_chunk(const struct sctp_chunk *chunk)
{
    struct byte_reader r;
    if (chunk->type == SCTP_CHUNK_DATA) {
        struct sctp_data data;
        assert_true(sent_count < CHUNKS_MAX);
        assert_true(sctp_wire_read_data(chunk, &data));
        memcpy(sent_bytes[sent_count], data.payload.data, data.payload.len);
        data.payload.data = sent_bytes[sent_count];
        sent[sent_count++] = data;
        return;
    }
    assert_int_equal(chunk->type, SCTP_CHUNK_FORWARD_TSN);
    byte_reader_init(&r, chunk->body);
    forward_tsn = byte_reader_u32(&r);
    forwards++;
}

/* How many DATA chunks left. */
static size_t drain(void)
{
    uint8_t bytes[PACKET_BYTES];
    sent_count = forwards = 0;
    for (;;) {
        struct byte_writer w;
        struct byte_reader r;
        struct sctp_chunk chunk;
        byte_writer_init(&w, bytes, sizeof(bytes));
        byte_writer_zeros(&w, SCTP_HEADER_BYTES);
        sctp_outbound_write(out, &w, now_us);
        assert_false(w.failed);
        if (w.len == SCTP_HEADER_BYTES) {
            return sent_count;
        }
        byte_reader_init(&r, bytes_view_of(bytes, w.len));
        byte_reader_skip(&r, SCTP_HEADER_BYTES);
        while (sctp_wire_next_chunk(&r, &chunk)) {
            note_chunk(&chunk);
        }
    }
}

/* Up to FIRST_TSN + n - 1. */
static void acknowledge(uint32_t n)
{
    const struct sctp_sack sack = {.cumulative_tsn = FIRST_TSN - 1 + n, .a_rwnd = WINDOW_BYTES};
    assert_true(sctp_outbound_sack(out, &sack, now_us));
}

/* And first..last behind that. */
static void acknowledge_gap(uint32_t n, uint16_t first, uint16_t last)
{
    const struct sctp_sack sack = {.cumulative_tsn = FIRST_TSN - 1 + n,
                                   .a_rwnd = WINDOW_BYTES,
                                   .gap_count = 1,
                                   .gap = {{first, last}}};
    assert_true(sctp_outbound_sack(out, &sack, now_us));
}

static void a_long_message_is_cut_and_numbered_over_the_wrap(void **state)
{
    (void)state;
    assert_int_equal(send_to(3, 3 * FRAGMENT_BYTES + 1), SCTP_SEND_OK);
    assert_int_equal(drain(), 4); /* the first window: 4 packets */
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(sent[i].tsn, FIRST_TSN + i);
        assert_int_equal(sent[i].is_begin, i == 0);
        assert_int_equal(sent[i].is_end, i == 3);
        assert_int_equal(sent[i].payload.len, i == 3 ? 1 : FRAGMENT_BYTES);
    }
    acknowledge(4);
    assert_int_equal(sctp_outbound_buffered_bytes(out), 0);
    assert_int_equal(sctp_outbound_next_timeout(out), TIME_NEVER);
}

static void small_messages_share_a_packet(void **state)
{
    (void)state;
    uint8_t bytes[PACKET_BYTES];
    struct byte_writer w;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(send_to(1, 20), SCTP_SEND_OK);
    }
    byte_writer_init(&w, bytes, sizeof(bytes));
    sctp_outbound_write(out, &w, now_us);
    assert_int_equal(w.len, 10 * (SCTP_DATA_HEADER_BYTES + 20));
}

static void streams_take_turns_message_by_message(void **state)
{
    (void)state;
    static const uint16_t expected[] = {1, 2, 3, 1, 2, 1, 1};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(send_to(1, 10), SCTP_SEND_OK);
    }
    assert_int_equal(send_to(2, 10), SCTP_SEND_OK);
    assert_int_equal(send_to(2, 10), SCTP_SEND_OK);
    assert_int_equal(send_to(3, 10), SCTP_SEND_OK);
    assert_int_equal(drain(), COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(sent[i].stream, expected[i]);
    }
    assert_int_equal(sent[6].ssn, 3);
}

static void one_megabyte_waits_and_no_more(void **state)
{
    (void)state;
    assert_int_equal(send_to(1, SCTP_SEND_BYTES_MAX + 1), SCTP_SEND_FULL);
    assert_int_equal(send_to(1, SCTP_SEND_BYTES_MAX), SCTP_SEND_OK);
    assert_int_equal(send_to(2, 1), SCTP_SEND_FULL);
    assert_int_equal(send_to(16, 1), SCTP_SEND_NO_STREAM);
}

/* RFC 9260 s.6.3.3, s.7.2.3. */
static void after_the_timeout_everything_comes_again_one_packet_first(void **state)
{
    (void)state;
    assert_int_equal(send_to(1, 3 * FRAGMENT_BYTES), SCTP_SEND_OK);
    assert_int_equal(drain(), 3);
    const uint64_t first_us = sctp_outbound_next_timeout(out);
    assert_int_equal(first_us, now_us + SCTP_RTO_INITIAL_US);
    now_us = first_us;
    assert_true(sctp_outbound_tick(out, now_us));
    assert_int_equal(drain(), 2); /* the window is one packet: a fragment may overhang it */
    assert_int_equal(sent[0].tsn, FIRST_TSN);
    assert_int_equal(sctp_outbound_next_timeout(out), now_us + 2 * SCTP_RTO_INITIAL_US);
    acknowledge(2);
    assert_int_equal(drain(), 1);
    assert_int_equal(sent[0].tsn, FIRST_TSN + 2);
}

static void the_eleventh_timeout_in_a_row_is_the_end(void **state)
{
    (void)state;
    assert_int_equal(send_to(1, 1), SCTP_SEND_OK);
    (void)drain();
    for (int i = 0; i < SCTP_RETRANSMISSIONS_MAX; i++) {
        now_us = sctp_outbound_next_timeout(out);
        assert_true(sctp_outbound_tick(out, now_us));
        assert_int_equal(drain(), 1);
    }
    now_us = sctp_outbound_next_timeout(out);
    assert_false(sctp_outbound_tick(out, now_us));
}

/* RFC 9260 s.7.2.4. */
static void the_third_sack_that_misses_a_chunk_sends_it_again_at_once(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(send_to(1, FRAGMENT_BYTES), SCTP_SEND_OK);
    }
    assert_int_equal(drain(), 4);
    for (uint16_t i = 2; i < 4; i++) {
        acknowledge_gap(0, 2, i);
        assert_int_equal(drain(), 0);
    }
    acknowledge_gap(0, 2, 4);
    assert_int_equal(drain(), 1);
    assert_int_equal(sent[0].tsn, FIRST_TSN);
    acknowledge_gap(0, 2, 4); /* once, not for each SACK more */
    assert_int_equal(drain(), 0);
    acknowledge(4);
    assert_int_equal(sctp_outbound_buffered_bytes(out), 0);
}

/* s.7.2.4 step 3: the window has just halved, so that much more than it is under way. */
static void a_fast_retransmission_leaves_although_the_window_is_full(void **state)
{
    (void)state;
    uint32_t acknowledged = 0;
    for (int i = 0; i < 40; i++) {
        assert_int_equal(send_to(1, FRAGMENT_BYTES), SCTP_SEND_OK);
    }
    size_t under_way = drain();
    while (under_way < 14) {
        acknowledge(++acknowledged);
        under_way += drain() - 1;
    }
    for (uint16_t last = 2; last < 4; last++) {
        acknowledge_gap(acknowledged, 2, last);
        assert_int_equal(drain(), 1); /* a new one for the one that has come */
    }
    acknowledge_gap(acknowledged, 2, 4);
    assert_int_equal(drain(), 1);
    assert_int_equal(sent[0].tsn, FIRST_TSN + acknowledged);
}

/* RFC 9260 s.6.3.1 C5: the answer to what was sent twice could be to either. */
static void what_is_sent_again_measures_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(send_to(1, FRAGMENT_BYTES), SCTP_SEND_OK);
    }
    (void)drain();
    acknowledge_gap(0, 2, 2);
    acknowledge_gap(0, 2, 3);
    acknowledge_gap(0, 2, 4);
    assert_int_equal(drain(), 1);
    now_us += 400 * US_PER_MS;
    acknowledge(4);
    assert_int_equal(sctp_outbound_rto_us(out), SCTP_RTO_INITIAL_US);
    assert_int_equal(send_to(1, 1), SCTP_SEND_OK);
    (void)drain();
    now_us = sctp_outbound_next_timeout(out);
    assert_true(sctp_outbound_tick(out, now_us));
    (void)drain();
    acknowledge(5);
    assert_int_equal(sctp_outbound_rto_us(out), 2 * SCTP_RTO_INITIAL_US);
    assert_int_equal(send_to(1, 1), SCTP_SEND_OK);
    (void)drain();
    now_us += 100 * US_PER_MS;
    acknowledge(6);
    assert_int_equal(sctp_outbound_rto_us(out), 300 * US_PER_MS);
}

/* RFC 9260 s.6.2.1: the peer may drop again what is only in a gap block. */
static void what_the_peer_takes_back_is_sent_again(void **state)
{
    (void)state;
    assert_int_equal(send_to(1, 10), SCTP_SEND_OK);
    assert_int_equal(send_to(1, 10), SCTP_SEND_OK);
    assert_int_equal(drain(), 2);
    acknowledge_gap(0, 2, 2);
    acknowledge(0);
    assert_int_equal(drain(), 1);
    assert_int_equal(sent[0].tsn, FIRST_TSN + 1);
}

static void a_sack_of_what_was_never_sent_is_refused_and_an_old_one_ignored(void **state)
{
    (void)state;
    assert_int_equal(send_to(1, 10), SCTP_SEND_OK);
    assert_int_equal(send_to(1, 10), SCTP_SEND_OK);
    (void)drain();
    acknowledge(2);
    acknowledge(1);
    const struct sctp_sack sack = {.cumulative_tsn = FIRST_TSN + 2, .a_rwnd = 1};
    assert_false(sctp_outbound_sack(out, &sack, now_us));
}

/* RFC 9260 s.6.1 A. */
static void a_closed_window_is_probed_and_patience_has_no_end(void **state)
{
    (void)state;
    const struct sctp_sack closed = {.cumulative_tsn = FIRST_TSN};
    assert_int_equal(send_to(1, 10), SCTP_SEND_OK);
    (void)drain();
    assert_true(sctp_outbound_sack(out, &closed, now_us));
    assert_int_equal(send_to(1, 10), SCTP_SEND_OK);
    assert_int_equal(send_to(1, 10), SCTP_SEND_OK);
    assert_int_equal(drain(), 1); /* one, although two wait */
    for (int i = 0; i < 3 * SCTP_RETRANSMISSIONS_MAX; i++) {
        now_us = sctp_outbound_next_timeout(out);
        assert_true(sctp_outbound_tick(out, now_us));
        assert_int_equal(drain(), 1);
        assert_int_equal(sent[0].tsn, FIRST_TSN + 1);
        assert_true(sctp_outbound_sack(out, &closed, now_us));
    }
    acknowledge(1); /* the window opens */
    assert_int_equal(drain(), 1);
}

/* RFC 3758 s.3.5, RFC 7496 s.3.2. */
static void a_message_without_repetitions_is_given_up_when_it_is_lost(void **state)
{
    (void)state;
    send_unreliable(10, SCTP_MAX_RETRANSMITS, 0);
    assert_int_equal(drain(), 1);
    now_us = sctp_outbound_next_timeout(out);
    assert_true(sctp_outbound_tick(out, now_us));
    assert_int_equal(drain(), 0);
    assert_int_equal(forwards, 1);
    assert_int_equal(forward_tsn, FIRST_TSN);
    now_us = sctp_outbound_next_timeout(out); /* FORWARD TSN is lost: it comes again */
    assert_true(sctp_outbound_tick(out, now_us));
    assert_int_equal(drain(), 0);
    assert_int_equal(forwards, 1);
    acknowledge(1);
    assert_int_equal(sctp_outbound_buffered_bytes(out), 0);
    assert_int_equal(sctp_outbound_next_timeout(out), TIME_NEVER);
}

static void two_repetitions_are_two(void **state)
{
    (void)state;
    send_unreliable(10, SCTP_MAX_RETRANSMITS, 2);
    assert_int_equal(drain(), 1);
    for (int i = 0; i < 3; i++) {
        now_us = sctp_outbound_next_timeout(out);
        assert_true(sctp_outbound_tick(out, now_us));
        assert_int_equal(drain(), i < 2);
    }
    assert_int_equal(forwards, 1);
}

static void a_message_whose_time_is_over_before_it_left_takes_no_number(void **state)
{
    (void)state;
    send_unreliable(10, SCTP_LIFETIME, 100);
    now_us += 100 * US_PER_MS;
    send_unreliable(10, SCTP_LIFETIME, 1);
    assert_int_equal(drain(), 1);
    assert_int_equal(sent[0].tsn, FIRST_TSN);
    assert_int_equal(sent[0].ssn, 0);
    assert_int_equal(forwards, 0);
}

/* The peer must learn to drop the part that it has: one TSN more is given up. */
static void a_message_whose_time_is_over_half_way_takes_one_number_more(void **state)
{
    (void)state;
    send_unreliable((size_t)20 * FRAGMENT_BYTES, SCTP_LIFETIME, 100);
    assert_int_equal(drain(), 4);
    acknowledge(4);
    now_us += 100 * US_PER_MS;
    assert_int_equal(drain(), 0);
    assert_int_equal(forwards, 1);
    assert_int_equal(forward_tsn, FIRST_TSN + 4);
    assert_int_equal(sctp_outbound_last_tsn(out), FIRST_TSN + 4);
    acknowledge(5);
    assert_int_equal(sctp_outbound_buffered_bytes(out), 0);
}

static void a_peer_without_forward_tsn_gets_everything(void **state)
{
    (void)state;
    send_unreliable(10, SCTP_MAX_RETRANSMITS, 0);
    assert_int_equal(drain(), 1);
    now_us = sctp_outbound_next_timeout(out);
    assert_true(sctp_outbound_tick(out, now_us));
    assert_int_equal(drain(), 1);
    assert_int_equal(forwards, 0);
}

static void a_reset_stream_begins_with_number_0(void **state)
{
    (void)state;
    assert_int_equal(send_to(1, 10), SCTP_SEND_OK);
    assert_true(sctp_outbound_has_waiting(out, 1));
    assert_false(sctp_outbound_has_waiting(out, 2));
    (void)drain();
    assert_false(sctp_outbound_has_waiting(out, 1));
    sctp_outbound_reset(out, 1);
    assert_int_equal(send_to(1, 10), SCTP_SEND_OK);
    (void)drain();
    assert_int_equal(sent[0].ssn, 0);
}

/* RFC 9260 s.6.3.1. */
static void the_rto_follows_what_is_measured(void **state)
{
    (void)state;
    struct sctp_rto r;
    sctp_rto_init(&r);
    assert_int_equal(r.rto_us, SCTP_RTO_INITIAL_US);
    sctp_rto_measured(&r, 200000);
    assert_int_equal(r.rto_us, 200000 + 4 * 100000);
    sctp_rto_measured(&r, 200000);
    assert_int_equal(r.rto_us, 200000 + 4 * 75000);
    sctp_rto_back_off(&r);
    assert_int_equal(r.rto_us, 1000000);
    for (int i = 0; i < 20; i++) {
        sctp_rto_measured(&r, 1000);
    }
    assert_true(r.rto_us >= SCTP_RTO_MIN_US);
    for (int i = 0; i < 20; i++) {
        sctp_rto_back_off(&r);
    }
    assert_int_equal(r.rto_us, SCTP_RTO_MAX_US);
}

/* RFC 9260 s.7.2. */
static void the_window_grows_fast_then_slowly_and_shrinks_at_losses(void **state)
{
    (void)state;
    struct sctp_congestion c;
    sctp_congestion_init(&c, 1000, 20000);
    assert_int_equal(c.window_bytes, 4000);
    sctp_congestion_acknowledged(&c, 1, 2000, true, 4000);
    assert_int_equal(c.window_bytes, 5000);
    sctp_congestion_acknowledged(&c, 2, 2000, false, 1000); /* not full: nothing was learnt */
    assert_int_equal(c.window_bytes, 5000);
    c.window_bytes = 20001;
    sctp_congestion_acknowledged(&c, 3, 20000, true, 9000);
    assert_int_equal(c.window_bytes, 20001);
    sctp_congestion_acknowledged(&c, 4, 1, true, 9000);
    assert_int_equal(c.window_bytes, 21001);
    assert_true(sctp_congestion_lost(&c, 50));
    assert_int_equal(c.window_bytes, 10500);
    assert_false(sctp_congestion_lost(&c, 60)); /* once in a recovery */
    sctp_congestion_acknowledged(&c, 49, 5000, true, 9000);
    assert_int_equal(c.window_bytes, 10500);
    assert_true(c.is_recovering);
    sctp_congestion_acknowledged(&c, 50, 5000, true, 9000);
    assert_false(c.is_recovering);
    sctp_congestion_timed_out(&c);
    assert_int_equal(c.window_bytes, 1000);
    assert_int_equal(c.threshold_bytes, 5250);
    sctp_congestion_idle(&c);
    assert_int_equal(c.window_bytes, 4000);
    c.window_bytes = 50000;
    sctp_congestion_limit_burst(&c, 3000);
    assert_int_equal(c.window_bytes, 7000);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    static int without_forward_tsn;
    const struct CMUnitTest tests[] = {
        CASE(a_long_message_is_cut_and_numbered_over_the_wrap),
        CASE(small_messages_share_a_packet),
        CASE(streams_take_turns_message_by_message),
        CASE(one_megabyte_waits_and_no_more),
        CASE(after_the_timeout_everything_comes_again_one_packet_first),
        CASE(the_eleventh_timeout_in_a_row_is_the_end),
        CASE(the_third_sack_that_misses_a_chunk_sends_it_again_at_once),
        CASE(a_fast_retransmission_leaves_although_the_window_is_full),
        CASE(what_is_sent_again_measures_nothing),
        CASE(what_the_peer_takes_back_is_sent_again),
        CASE(a_sack_of_what_was_never_sent_is_refused_and_an_old_one_ignored),
        CASE(a_closed_window_is_probed_and_patience_has_no_end),
        CASE(a_message_without_repetitions_is_given_up_when_it_is_lost),
        CASE(two_repetitions_are_two),
        CASE(a_message_whose_time_is_over_before_it_left_takes_no_number),
        CASE(a_message_whose_time_is_over_half_way_takes_one_number_more),
        cmocka_unit_test_prestate_setup_teardown(a_peer_without_forward_tsn_gets_everything, set_up,
                                                 tear_down, &without_forward_tsn),
        CASE(a_reset_stream_begins_with_number_0),
        cmocka_unit_test(the_rto_follows_what_is_measured),
        cmocka_unit_test(the_window_grows_fast_then_slowly_and_shrinks_at_losses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
