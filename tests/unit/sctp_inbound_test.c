/* sctp_inbound_test.c - when a SACK leaves, what it says, and how much is kept */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_inbound.h"

#include <stdlib.h>

#define FIRST_TSN         100
#define MESSAGE_BYTES_MAX (256 * 1024)

static struct sctp_inbound *in;
static uint8_t payload[1132];

static int set_up(void **state)
{
    (void)state;
    in = sctp_inbound_create(FIRST_TSN, MESSAGE_BYTES_MAX);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sctp_inbound_destroy(in);
    return 0;
}

static struct sctp_data chunk_of(uint32_t tsn, size_t len)
{
    return (struct sctp_data){.is_begin = true,
                              .is_end = true,
                              .is_unordered = true,
                              .tsn = tsn,
                              .payload = bytes_view_of(payload, len)};
}

/* One packet with one chunk. */
static enum sctp_inbound_result comes(uint32_t tsn, size_t len, uint64_t now_us)
{
    const struct sctp_data data = chunk_of(tsn, len);
    const enum sctp_inbound_result result = sctp_inbound_data(in, &data);
    sctp_inbound_end_packet(in, now_us);
    return result;
}

static struct sctp_sack sack(void)
{
    uint8_t bytes[512];
    struct byte_writer w;
    struct byte_reader r;
    struct sctp_chunk chunk;
    struct sctp_sack out;
    byte_writer_init(&w, bytes, sizeof(bytes));
    sctp_inbound_write_sack(in, &w);
    assert_false(w.failed);
    byte_reader_init(&r, bytes_view_of(bytes, w.len));
    assert_true(sctp_wire_next_chunk(&r, &chunk));
    assert_true(sctp_wire_read_sack(&chunk, &out));
    return out;
}

static size_t poll_all(void)
{
    struct sctp_arrival arrival;
    size_t count = 0;
    while (sctp_inbound_poll(in, &arrival)) {
        count++;
    }
    return count;
}

/* RFC 9260 s.6.2. */
static void a_lone_packet_is_acknowledged_after_200_ms_and_the_second_at_once(void **state)
{
    (void)state;
    assert_int_equal(sctp_inbound_next_timeout(in), TIME_NEVER);
    (void)comes(FIRST_TSN, 10, 1000);
    assert_false(sctp_inbound_is_sack_due(in));
    assert_true(sctp_inbound_is_sack_pending(in));
    assert_int_equal(sctp_inbound_next_timeout(in), 1000 + SCTP_SACK_DELAY_US);
    sctp_inbound_tick(in, 999 + SCTP_SACK_DELAY_US);
    assert_false(sctp_inbound_is_sack_due(in));
    sctp_inbound_tick(in, 1000 + SCTP_SACK_DELAY_US);
    assert_true(sctp_inbound_is_sack_due(in));
    assert_int_equal(sctp_inbound_next_timeout(in), TIME_NEVER);
    assert_int_equal(sack().cumulative_tsn, FIRST_TSN);
    assert_false(sctp_inbound_is_sack_pending(in));
    (void)comes(FIRST_TSN + 1, 10, 2000);
    assert_false(sctp_inbound_is_sack_due(in));
    (void)comes(FIRST_TSN + 2, 10, 3000);
    assert_true(sctp_inbound_is_sack_due(in));
    assert_int_equal(sack().cumulative_tsn, FIRST_TSN + 2);
}

/* RFC 9260 s.6.7; RFC 7053 for the I bit. */
static void gaps_duplicates_and_marked_chunks_are_acknowledged_at_once(void **state)
{
    (void)state;
    (void)comes(FIRST_TSN + 1, 10, 1000);
    assert_true(sctp_inbound_is_sack_due(in));
    struct sctp_sack s = sack();
    assert_int_equal(s.cumulative_tsn, FIRST_TSN - 1);
    assert_int_equal(s.gap_count, 1);
    assert_int_equal(s.gap[0].first, 2);
    (void)comes(FIRST_TSN, 10, 1000); /* fills the gap */
    assert_true(sctp_inbound_is_sack_due(in));
    assert_int_equal(sack().gap_count, 0);
    assert_int_equal(comes(FIRST_TSN, 10, 1000), SCTP_INBOUND_DUPLICATE);
    assert_true(sctp_inbound_is_sack_due(in));
    (void)sack();
    struct sctp_data data = chunk_of(FIRST_TSN + 2, 10);
    data.is_immediate = true;
    (void)sctp_inbound_data(in, &data);
    assert_true(sctp_inbound_is_sack_due(in));
}

static void the_window_shrinks_by_what_is_not_polled_and_grows_again(void **state)
{
    (void)state;
    (void)comes(FIRST_TSN, 1000, 0);
    assert_int_equal(sack().a_rwnd, SCTP_RECEIVE_BYTES_MAX - 1000 - SCTP_CHUNK_COST_BYTES);
    assert_int_equal(poll_all(), 1);
    (void)comes(FIRST_TSN + 1, 1, 0);
    assert_int_equal(poll_all(), 1);
    assert_int_equal(sack().a_rwnd, SCTP_RECEIVE_BYTES_MAX);
}

static uint32_t fill(size_t len, uint32_t tsn)
{
    while (comes(tsn, len, 0) == SCTP_INBOUND_TAKEN) {
        tsn++;
    }
    return tsn;
}

static void at_512_kb_nothing_more_is_taken_until_the_caller_polls(void **state)
{
    (void)state;
    const size_t cost_bytes = sizeof(payload) + SCTP_CHUNK_COST_BYTES;
    const uint32_t refused = fill(sizeof(payload), FIRST_TSN);
    assert_int_equal(refused - FIRST_TSN, SCTP_RECEIVE_BYTES_MAX / cost_bytes);
    const struct sctp_sack closed = sack();
    assert_int_equal(closed.cumulative_tsn, refused - 1);
    assert_true(closed.a_rwnd < cost_bytes);
    assert_int_equal(comes(refused, sizeof(payload), 0), SCTP_INBOUND_DROPPED);
    assert_true(sctp_inbound_is_sack_due(in)); /* an answer for who probes */
    (void)sack();
    assert_int_equal(poll_all(), refused - FIRST_TSN);
    assert_true(sctp_inbound_is_sack_due(in)); /* the window is open again, unasked */
    assert_int_equal(sack().a_rwnd, SCTP_RECEIVE_BYTES_MAX);
    assert_int_equal(comes(refused, sizeof(payload), 0), SCTP_INBOUND_TAKEN);
}

static void small_chunks_are_bounded_too(void **state)
{
    (void)state;
    const uint32_t refused = fill(1, FIRST_TSN);
    assert_int_equal(refused - FIRST_TSN, SCTP_RECEIVE_BYTES_MAX / (1 + SCTP_CHUNK_COST_BYTES));
}

/* Each chunk in order is the one that all others wait for, but its message has a bound. */
static void a_message_of_too_small_chunks_is_dropped_and_the_next_one_comes(void **state)
{
    (void)state;
    const uint32_t holds = SCTP_RECEIVE_BYTES_MAX / (1 + SCTP_CHUNK_COST_BYTES);
    const uint32_t count[] = {holds, holds + 1, 65536};
    uint32_t tsn = FIRST_TSN;
    for (size_t i = 0; i < COUNT_OF(count); i++) {
        size_t smallest_window = SCTP_RECEIVE_BYTES_MAX;
        struct sctp_arrival arrival;
        for (uint32_t k = 0; k < count[i]; k++) {
            struct sctp_data data = chunk_of(tsn++, 1);
            data.is_begin = k == 0;
            data.is_end = k + 1 == count[i];
            assert_int_equal(sctp_inbound_data(in, &data), SCTP_INBOUND_TAKEN);
            const size_t window = sack().a_rwnd;
            smallest_window = window < smallest_window ? window : smallest_window;
        }
        assert_true(smallest_window < 2 * SCTP_CHUNK_COST_BYTES);
        assert_true(sctp_inbound_poll(in, &arrival));
        assert_int_equal(arrival.kind, i == 0 ? SCTP_ARRIVAL_MESSAGE : SCTP_ARRIVAL_TOO_LONG);
        assert_int_equal(arrival.message.data.len, i == 0 ? holds : 0);
        assert_int_equal(sack().a_rwnd, SCTP_RECEIVE_BYTES_MAX);
    }
    assert_int_equal(comes(tsn, 10, 0), SCTP_INBOUND_TAKEN);
    assert_int_equal(poll_all(), 1);
}

/* Ordered messages ahead of a gap fill the memory: what they all wait for must still get in. */
static void the_chunk_that_fills_the_gap_is_taken_when_nothing_else_is(void **state)
{
    (void)state;
    struct sctp_data data = chunk_of(FIRST_TSN + 1, sizeof(payload));
    data.is_unordered = false;
    data.ssn = 1;
    while (sctp_inbound_data(in, &data) == SCTP_INBOUND_TAKEN) {
        data.tsn++;
        data.ssn++;
    }
    const size_t waiting = data.ssn - 1U;
    assert_true(waiting > 400);
    assert_int_equal(poll_all(), 0);
    data.tsn = FIRST_TSN;
    data.ssn = 0;
    assert_int_equal(sctp_inbound_data(in, &data), SCTP_INBOUND_TAKEN);
    assert_int_equal(poll_all(), waiting + 1);
}

static void a_stream_beyond_1023_is_acknowledged_and_dropped(void **state)
{
    (void)state;
    struct sctp_data data = chunk_of(FIRST_TSN, 5);
    data.stream = SCTP_STREAMS - 1;
    assert_int_equal(sctp_inbound_data(in, &data), SCTP_INBOUND_TAKEN);
    data.tsn++;
    data.stream = SCTP_STREAMS;
    assert_int_equal(sctp_inbound_data(in, &data), SCTP_INBOUND_NO_STREAM);
    assert_int_equal(sctp_inbound_cumulative_tsn(in), FIRST_TSN + 1);
    assert_int_equal(poll_all(), 1);
}

static void forward(uint32_t tsn, uint16_t stream, uint16_t ssn)
{
    uint8_t body[8];
    struct byte_writer w;
    byte_writer_init(&w, body, sizeof(body));
    byte_writer_u32(&w, tsn);
    byte_writer_u16(&w, stream);
    byte_writer_u16(&w, ssn);
    for (size_t len = 0; len < 4; len++) { /* too short: nothing happens */
        const struct sctp_chunk cut = {.body = bytes_view_of(body, len)};
        assert_true(sctp_inbound_forward_tsn(in, &cut));
    }
    const struct sctp_chunk chunk = {.body = bytes_view_of(body, sizeof(body))};
    assert_true(sctp_inbound_forward_tsn(in, &chunk));
}

static void forward_tsn_sets_free_what_waited(void **state)
{
    (void)state;
    struct sctp_data data = chunk_of(FIRST_TSN + 5, 5);
    data.is_unordered = false;
    data.ssn = 3;
    (void)sctp_inbound_data(in, &data);
    assert_int_equal(poll_all(), 0);
    forward(FIRST_TSN + 3, 0, 2);
    assert_int_equal(sctp_inbound_cumulative_tsn(in), FIRST_TSN + 3);
    assert_int_equal(poll_all(), 1);
    assert_true(sctp_inbound_is_sack_due(in));
    (void)sack();
    forward(FIRST_TSN, 0, 0); /* an old one is answered as well */
    assert_true(sctp_inbound_is_sack_due(in));
    assert_int_equal(sack().cumulative_tsn, FIRST_TSN + 3);
    forward(FIRST_TSN + 4, SCTP_STREAMS, 0); /* a stream that is not there: its TSN counts */
    assert_int_equal(sctp_inbound_cumulative_tsn(in), FIRST_TSN + 5);
}

/* A sender may give up more at once than we would have taken: else both wait for ever. */
static void forward_tsn_far_ahead_is_obeyed_and_nothing_is_kept(void **state)
{
    (void)state;
    static const uint32_t ahead[] = {1024, 1025, 5000, INT32_MAX};
    uint32_t cumulative = FIRST_TSN - 1;
    for (size_t i = 0; i < COUNT_OF(ahead); i++) {
        struct sctp_data data = chunk_of(cumulative + 1, 5); /* half a message */
        data.is_end = false;
        assert_int_equal(sctp_inbound_data(in, &data), SCTP_INBOUND_TAKEN);
        data = chunk_of(cumulative + 5, 5); /* and another */
        data.is_begin = false;
        assert_int_equal(sctp_inbound_data(in, &data), SCTP_INBOUND_TAKEN);
        data = chunk_of(cumulative + 7, 5); /* whole: waits for what is given up */
        data.is_unordered = false;
        data.ssn = (uint16_t)(2 * i + 1);
        assert_int_equal(sctp_inbound_data(in, &data), SCTP_INBOUND_TAKEN);
        cumulative += 1 + ahead[i];
        forward(cumulative, 0, (uint16_t)(2 * i + 1));
        assert_int_equal(poll_all(), 1);
        const struct sctp_sack s = sack();
        assert_int_equal(s.cumulative_tsn, cumulative);
        assert_int_equal(s.gap_count, 0);
        assert_int_equal(s.a_rwnd, SCTP_RECEIVE_BYTES_MAX);
        assert_int_equal(comes(cumulative + 1, 5, 0), SCTP_INBOUND_TAKEN);
        assert_int_equal(poll_all(), 1);
        cumulative++;
    }
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_lone_packet_is_acknowledged_after_200_ms_and_the_second_at_once),
        CASE(gaps_duplicates_and_marked_chunks_are_acknowledged_at_once),
        CASE(the_window_shrinks_by_what_is_not_polled_and_grows_again),
        CASE(at_512_kb_nothing_more_is_taken_until_the_caller_polls),
        CASE(small_chunks_are_bounded_too),
        CASE(a_message_of_too_small_chunks_is_dropped_and_the_next_one_comes),
        CASE(the_chunk_that_fills_the_gap_is_taken_when_nothing_else_is),
        CASE(a_stream_beyond_1023_is_acknowledged_and_dropped),
        CASE(forward_tsn_sets_free_what_waited),
        CASE(forward_tsn_far_ahead_is_obeyed_and_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
