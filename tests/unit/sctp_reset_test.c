/* sctp_reset_test.c - RE-CONFIG: who asks, who answers, and what is lost between them */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_reset.h"

#include <stdlib.h>

#define OUR_TSN  1000
#define PEER_TSN 2000

enum { OUTGOING = 13, INCOMING = 14, RESPONSE = 16, ADD_STREAMS = 17 };
enum { NOTHING_TO_DO, PERFORMED, DENIED, WRONG_SSN, BUSY, BAD_SEQUENCE, IN_PROGRESS };

struct fixture {
    struct sctp_inbound *in;
    struct sctp_outbound *out;
    struct sctp_reset reset;
    uint8_t answer_bytes[256];
    struct byte_writer answer;
    uint64_t now_us;
};

static int set_up(void **state)
{
    static struct fixture f;
    const struct sctp_outbound_config config = {.first_tsn = OUR_TSN,
                                                .peer_window_bytes = 100000,
                                                .streams = SCTP_STREAMS,
                                                .packet_bytes_max = 1163};
    f = (struct fixture){.in = sctp_inbound_create(PEER_TSN, 65536),
                         .out = sctp_outbound_create(&config),
                         .now_us = US_PER_S};
    sctp_reset_init(&f.reset, OUR_TSN, PEER_TSN);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    sctp_inbound_destroy(f->in);
    sctp_outbound_destroy(f->out);
    return 0;
}

/* A RE-CONFIG with one parameter comes. The result in the answer, or -1 without one. */
static int comes(struct fixture *f, uint16_t type, const uint32_t *number, size_t numbers,
                 const uint16_t *stream, size_t streams)
{
    uint8_t bytes[1200];
    struct byte_writer w;
    struct byte_reader r;
    byte_writer_init(&w, bytes, sizeof(bytes));
    const size_t begin = sctp_wire_begin_parameter(&w, type);
    for (size_t i = 0; i < numbers; i++) {
        byte_writer_u32(&w, number[i]);
    }
    for (size_t i = 0; i < streams; i++) {
        byte_writer_u16(&w, stream[i]);
    }
    sctp_wire_end(&w, begin);
    assert_false(w.failed);
    const struct sctp_chunk chunk = {.type = SCTP_CHUNK_RE_CONFIG,
                                     .body = bytes_view_of(bytes, w.len)};
    byte_writer_init(&f->answer, f->answer_bytes, sizeof(f->answer_bytes));
    assert_true(sctp_reset_input(&f->reset, &chunk, f->in, f->out, &f->answer, f->now_us));
    if (f->answer.len == 0) {
        return -1;
    }
    byte_reader_init(&r, bytes_view_of(f->answer.data, f->answer.len));
    byte_reader_skip(&r, 4);
    assert_int_equal(byte_reader_u16(&r), RESPONSE);
    byte_reader_skip(&r, 2);
    assert_int_equal(byte_reader_u32(&r), number[0]);
    const uint32_t result = byte_reader_u32(&r);
    assert_false(r.failed);
    return (int)result;
}

static int request(struct fixture *f, uint32_t sequence, uint32_t last_tsn, uint16_t stream)
{
    const uint32_t number[] = {sequence, OUR_TSN - 1, last_tsn};
    return comes(f, OUTGOING, number, COUNT_OF(number), &stream, 1);
}

static void respond(struct fixture *f, uint32_t sequence, uint32_t result)
{
    const uint32_t number[] = {sequence, result};
    assert_int_equal(comes(f, RESPONSE, number, COUNT_OF(number), NULL, 0), -1);
}

static unsigned resets_told(struct fixture *f)
{
    struct sctp_arrival arrival;
    unsigned count = 0;
    while (sctp_inbound_poll(f->in, &arrival)) {
        count += arrival.kind == SCTP_ARRIVAL_RESET;
    }
    return count;
}

static void take_data(struct fixture *f, uint32_t tsn)
{
    const struct sctp_data data = {
        .is_begin = true, .is_end = true, .tsn = tsn, .payload = bytes_view_of_text("x")};
    assert_int_equal(sctp_inbound_data(f->in, &data), SCTP_INBOUND_TAKEN);
}

static void a_request_is_performed_once_and_answered_each_time(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(request(f, PEER_TSN, PEER_TSN - 1, 7), PERFORMED);
    assert_int_equal(resets_told(f), 1);
    assert_int_equal(request(f, PEER_TSN, PEER_TSN - 1, 7), PERFORMED);
    assert_int_equal(resets_told(f), 0);
    assert_int_equal(request(f, PEER_TSN + 1, PEER_TSN - 1, 7), PERFORMED);
    assert_int_equal(resets_told(f), 1);
}

/* RFC 6525 s.5.2.1. */
static void other_numbers_are_refused(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(request(f, PEER_TSN + 1, PEER_TSN - 1, 7), BAD_SEQUENCE);
    assert_int_equal(request(f, PEER_TSN - 2, PEER_TSN - 1, 7), BAD_SEQUENCE);
    assert_int_equal(request(f, PEER_TSN, PEER_TSN - 1, SCTP_STREAMS), WRONG_SSN);
    assert_int_equal(resets_told(f), 0);
}

/* RFC 6525 s.5.2.2: peers ask again with the same number, or with the next. */
static void a_request_before_its_last_data_is_in_progress(void **state)
{
    for (uint32_t step = 0; step < 2; step++) {
        struct fixture *f = *state;
        assert_int_equal(request(f, PEER_TSN, PEER_TSN + 1, 7), IN_PROGRESS);
        take_data(f, PEER_TSN);
        assert_int_equal(request(f, PEER_TSN + step, PEER_TSN + 1, 7), IN_PROGRESS);
        take_data(f, PEER_TSN + 1);
        assert_int_equal(resets_told(f), 0);
        assert_int_equal(request(f, PEER_TSN + 2 * step, PEER_TSN + 1, 7), PERFORMED);
        assert_int_equal(resets_told(f), 1);
        (void)tear_down(state);
        (void)set_up(state);
    }
}

static void an_empty_list_means_every_stream(void **state)
{
    struct fixture *f = *state;
    struct sctp_arrival arrival;
    const uint32_t number[] = {PEER_TSN, OUR_TSN - 1, PEER_TSN - 1};
    assert_int_equal(comes(f, OUTGOING, number, COUNT_OF(number), NULL, 0), PERFORMED);
    assert_true(sctp_inbound_poll(f->in, &arrival));
    assert_int_equal(arrival.message.stream, SCTP_STREAMS);
}

/* RFC 8831 has no use for them. */
static void other_requests_are_denied(void **state)
{
    struct fixture *f = *state;
    static const uint16_t type[] = {INCOMING, 15, ADD_STREAMS, 18};
    for (uint32_t i = 0; i < COUNT_OF(type); i++) {
        const uint32_t number[] = {PEER_TSN + i, 0};
        assert_int_equal(comes(f, type[i], number, COUNT_OF(number), NULL, 0), DENIED);
    }
    assert_int_equal(comes(f, 99, (const uint32_t[]){1}, 1, NULL, 0), -1);
}

static void requests_that_are_cut_do_no_harm(void **state)
{
    struct fixture *f = *state;
    const uint32_t number[] = {PEER_TSN, 0};
    assert_int_equal(comes(f, OUTGOING, number, 0, NULL, 0), -1);
    assert_int_equal(comes(f, OUTGOING, number, 2, NULL, 0), DENIED);
    respond(f, OUR_TSN, PERFORMED); /* to nothing */
    assert_int_equal(resets_told(f), 0);
}

/* A peer that resets and a caller that does not poll: what is noted has a bound. */
static void resets_that_are_not_polled_wait_for_room(void **state)
{
    struct fixture *f = *state;
    uint16_t stream[500];
    uint32_t sequence = PEER_TSN;
    int result = PERFORMED;
    for (uint16_t i = 0; i < COUNT_OF(stream); i++) {
        stream[i] = i;
    }
    while (result == PERFORMED) {
        const uint32_t number[] = {sequence++, 0, PEER_TSN - 1};
        result = comes(f, OUTGOING, number, COUNT_OF(number), stream, COUNT_OF(stream));
    }
    assert_int_equal(result, IN_PROGRESS);
    assert_true(resets_told(f) <= SCTP_RECEIVE_BYTES_MAX / SCTP_CHUNK_COST_BYTES);
    const uint32_t number[] = {sequence, 0, PEER_TSN - 1};
    assert_int_equal(comes(f, OUTGOING, number, COUNT_OF(number), stream, COUNT_OF(stream)),
                     PERFORMED);
}

/* --- ours ------------------------------------------------------------------------------------- */

/* The request that is sent: its number; *streams: how many it names. */
static uint32_t sent_request(struct fixture *f, size_t *streams)
{
    uint8_t bytes[SCTP_RESET_BYTES_MAX];
    struct byte_writer w;
    struct byte_reader r;
    assert_true(sctp_reset_is_due(&f->reset, f->out));
    byte_writer_init(&w, bytes, sizeof(bytes));
    sctp_reset_write(&f->reset, &w, f->now_us);
    assert_false(w.failed);
    byte_reader_init(&r, bytes_view_of(bytes, w.len));
    byte_reader_skip(&r, 8);
    const uint32_t sequence = byte_reader_u32(&r);
    assert_int_equal(byte_reader_u32(&r), PEER_TSN - 1);
    assert_int_equal(byte_reader_u32(&r), sctp_outbound_last_tsn(f->out));
    *streams = byte_reader_left(&r) / 2;
    return sequence;
}

static void ours_are_sent_one_after_the_other_and_named(void **state)
{
    struct fixture *f = *state;
    size_t streams = 0;
    uint16_t stream = 0;
    sctp_reset_want(&f->reset, 1);
    sctp_reset_want(&f->reset, 1023);
    assert_int_equal(sent_request(f, &streams), OUR_TSN);
    assert_int_equal(streams, 2);
    sctp_reset_want(&f->reset, 5);
    assert_false(sctp_reset_is_due(&f->reset, f->out));
    respond(f, OUR_TSN + 1, PERFORMED); /* not to this one */
    assert_true(sctp_reset_is_resetting(&f->reset, 1));
    respond(f, OUR_TSN, PERFORMED);
    assert_false(sctp_reset_is_resetting(&f->reset, 1));
    assert_true(sctp_reset_poll_done(&f->reset, &stream));
    assert_int_equal(stream, 1);
    assert_true(sctp_reset_poll_done(&f->reset, &stream));
    assert_int_equal(stream, 1023);
    assert_false(sctp_reset_poll_done(&f->reset, &stream));
    assert_int_equal(sent_request(f, &streams), OUR_TSN + 1);
    assert_int_equal(streams, 1);
    respond(f, OUR_TSN + 1, DENIED);
    assert_true(sctp_reset_poll_refused(&f->reset, &stream));
    assert_int_equal(stream, 5);
    assert_int_equal(sctp_reset_next_timeout(&f->reset), TIME_NEVER);
}

/* The peer has done it and begun the stream anew; its answer was lost. */
static void a_stream_wanted_while_its_reset_is_under_way_is_reset_once_more(void **state)
{
    struct fixture *f = *state;
    size_t streams = 0;
    uint16_t stream = 0;
    sctp_reset_want(&f->reset, 7);
    assert_int_equal(sent_request(f, &streams), OUR_TSN);
    sctp_reset_want(&f->reset, 7);
    sctp_reset_want(&f->reset, 7);
    assert_false(sctp_reset_is_due(&f->reset, f->out));
    respond(f, OUR_TSN, PERFORMED);
    assert_true(sctp_reset_poll_done(&f->reset, &stream));
    assert_true(sctp_reset_is_resetting(&f->reset, 7));
    assert_int_equal(sent_request(f, &streams), OUR_TSN + 1);
    assert_int_equal(streams, 1);
    respond(f, OUR_TSN + 1, PERFORMED);
    assert_true(sctp_reset_poll_done(&f->reset, &stream));
    assert_false(sctp_reset_is_resetting(&f->reset, 7));
    assert_false(sctp_reset_is_due(&f->reset, f->out));
}

static void a_stream_is_named_when_nothing_for_it_waits(void **state)
{
    struct fixture *f = *state;
    size_t streams = 0;
    uint8_t bytes[1200];
    struct byte_writer w;
    const struct sctp_message message = {.stream = 5, .data = bytes_view_of_text("x")};
    assert_int_equal(sctp_outbound_send(f->out, &message, NULL, f->now_us), SCTP_SEND_OK);
    sctp_reset_want(&f->reset, 5);
    assert_false(sctp_reset_is_due(&f->reset, f->out));
    byte_writer_init(&w, bytes, sizeof(bytes));
    sctp_outbound_write(f->out, &w, f->now_us);
    (void)sent_request(f, &streams);
    assert_int_equal(streams, 1);
}

static void a_request_names_128_streams_at_most(void **state)
{
    struct fixture *f = *state;
    size_t streams = 0;
    for (uint16_t i = 0; i < SCTP_RESET_STREAMS_MAX + 1; i++) {
        sctp_reset_want(&f->reset, i);
    }
    assert_int_equal(sent_request(f, &streams), OUR_TSN);
    assert_int_equal(streams, SCTP_RESET_STREAMS_MAX);
    respond(f, OUR_TSN, NOTHING_TO_DO);
    assert_int_equal(sent_request(f, &streams), OUR_TSN + 1);
    assert_int_equal(streams, 1);
}

static void a_request_comes_again_until_the_eleventh_time(void **state)
{
    struct fixture *f = *state;
    size_t streams = 0;
    sctp_reset_want(&f->reset, 5);
    (void)sent_request(f, &streams);
    for (int i = 0; i < SCTP_RESET_RETRANSMISSIONS_MAX; i++) {
        f->now_us = sctp_reset_next_timeout(&f->reset);
        assert_true(sctp_reset_tick(&f->reset, f->now_us));
        assert_int_equal(sent_request(f, &streams), OUR_TSN);
    }
    f->now_us = sctp_reset_next_timeout(&f->reset);
    assert_false(sctp_reset_tick(&f->reset, f->now_us));
}

static void in_progress_is_an_answer_and_patience_has_no_end(void **state)
{
    struct fixture *f = *state;
    size_t streams = 0;
    sctp_reset_want(&f->reset, 5);
    (void)sent_request(f, &streams);
    for (int i = 0; i < 3 * SCTP_RESET_RETRANSMISSIONS_MAX; i++) {
        respond(f, OUR_TSN, i % 2 == 0 ? IN_PROGRESS : BUSY);
        f->now_us = sctp_reset_next_timeout(&f->reset);
        assert_true(sctp_reset_tick(&f->reset, f->now_us));
        (void)sent_request(f, &streams);
    }
    respond(f, OUR_TSN, PERFORMED);
    assert_false(sctp_reset_is_resetting(&f->reset, 5));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_request_is_performed_once_and_answered_each_time),
        CASE(other_numbers_are_refused),
        CASE(a_request_before_its_last_data_is_in_progress),
        CASE(an_empty_list_means_every_stream),
        CASE(other_requests_are_denied),
        CASE(requests_that_are_cut_do_no_harm),
        CASE(resets_that_are_not_polled_wait_for_room),
        CASE(ours_are_sent_one_after_the_other_and_named),
        CASE(a_stream_wanted_while_its_reset_is_under_way_is_reset_once_more),
        CASE(a_stream_is_named_when_nothing_for_it_waits),
        CASE(a_request_names_128_streams_at_most),
        CASE(a_request_comes_again_until_the_eleventh_time),
        CASE(in_progress_is_an_answer_and_patience_has_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
