/* sctp_reassembly_test.c - chunks in any order become messages in the right one */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_reassembly.h"

#include <stdlib.h>

#define MESSAGE_BYTES_MAX 64

enum { MIDDLE = 0, BEGIN = 1, END = 2, WHOLE = 3 };

static struct sctp_reassembly *r;

static int set_up(void **state)
{
    (void)state;
    r = sctp_reassembly_create(MESSAGE_BYTES_MAX);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sctp_reassembly_destroy(r);
    return 0;
}

static void add_to(uint16_t stream, uint16_t ssn, uint32_t tsn, int part, const char *text)
{
    const struct sctp_data data = {.is_begin = (part & BEGIN) != 0,
                                   .is_end = (part & END) != 0,
                                   .tsn = tsn,
                                   .stream = stream,
                                   .ssn = ssn,
                                   .ppid = 51,
                                   .payload = bytes_view_of_text(text)};
    assert_true(sctp_reassembly_add(r, &data));
}

static void add_unordered(uint32_t tsn, int part, const char *text)
{
    const struct sctp_data data = {.is_unordered = true,
                                   .is_begin = (part & BEGIN) != 0,
                                   .is_end = (part & END) != 0,
                                   .tsn = tsn,
                                   .ssn = (uint16_t)tsn, /* says nothing */
                                   .payload = bytes_view_of_text(text)};
    assert_true(sctp_reassembly_add(r, &data));
}

static void comes(const char *text)
{
    struct sctp_arrival arrival;
    assert_true(sctp_reassembly_poll(r, &arrival));
    assert_int_equal(arrival.kind, SCTP_ARRIVAL_MESSAGE);
    assert_true(bytes_equal(arrival.message.data, bytes_view_of_text(text)));
}

static void nothing_comes(void)
{
    enum sctp_arrival_kind kind;
    assert_false(sctp_reassembly_peek(r, &kind));
}

static void fragments_in_every_order_make_the_message(void **state)
{
    (void)state;
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const text[] = {"one ", "two ", "three"};
    static const int part[] = {BEGIN, MIDDLE, END};
    for (uint16_t i = 0; i < 6; i++) {
        const uint32_t first = UINT32_MAX - 7 + 3U * i; /* over the wrap */
        for (int k = 0; k < 3; k++) {
            nothing_comes();
            add_to(0, i, first + (uint32_t)order[i][k], part[order[i][k]], text[order[i][k]]);
        }
        comes("one two three");
        nothing_comes();
    }
    assert_int_equal(sctp_reassembly_held_bytes(r), 0);
}

static void an_ordered_message_waits_for_those_before_it_in_its_stream_alone(void **state)
{
    (void)state;
    add_to(1, 1, 11, WHOLE, "second");
    add_to(1, 2, 12, WHOLE, "third");
    nothing_comes();
    add_to(2, 0, 13, WHOLE, "elsewhere");
    comes("elsewhere");
    add_to(1, 0, 10, WHOLE, "first");
    comes("first");
    comes("second");
    comes("third");
    nothing_comes();
}

static void an_unordered_message_waits_for_nothing(void **state)
{
    (void)state;
    add_to(0, 1, 11, WHOLE, "second");
    add_unordered(14, END, "not ordered");
    nothing_comes();
    add_unordered(13, BEGIN, "is ");
    comes("is not ordered");
    nothing_comes();
}

static void ssn_65535_is_followed_by_0(void **state)
{
    (void)state;
    assert_true(sctp_reassembly_skip(r, 5, 32767)); /* not more than half the circle at once */
    assert_true(sctp_reassembly_skip(r, 5, 65533));
    add_to(5, 0, 12, WHOLE, "third");
    add_to(5, 65535, 11, WHOLE, "second");
    nothing_comes();
    add_to(5, 65534, 10, WHOLE, "first");
    comes("first");
    comes("second");
    comes("third");
}

static void behind_the_cumulative_tsn_nothing_waits(void **state)
{
    (void)state;
    add_to(0, 7, 10, WHOLE, "the peer's numbers are its own");
    nothing_comes();
    assert_true(sctp_reassembly_settle(r, 10));
    comes("the peer's numbers are its own");
    add_to(0, 8, 11, WHOLE, "next");
    comes("next");
}

/* Fragments that can never become a message do not stay in memory. */
static void fragments_that_do_not_fit_together_are_dropped(void **state)
{
    (void)state;
    static const struct {
        int part[3];
        uint16_t ssn[3];
        const char *comes;
    } c[] = {
        {{MIDDLE, END, WHOLE}, {0, 0, 0}, "ccc"}, /* no beginning */
        {{BEGIN, BEGIN, END}, {0, 0, 0}, "bbbccc"},
        {{BEGIN, MIDDLE, WHOLE}, {0, 0, 0}, "ccc"}, /* no end */
        {{BEGIN, END, WHOLE}, {0, 1, 0}, "ccc"},    /* of two messages */
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        static const char *const text[] = {"aaa", "bbb", "ccc"};
        for (uint32_t k = 0; k < 3; k++) {
            add_to((uint16_t)i, c[i].ssn[k], 10 + k, c[i].part[k], text[k]);
        }
        assert_true(sctp_reassembly_settle(r, 12));
        comes(c[i].comes);
        nothing_comes();
        assert_int_equal(sctp_reassembly_held_bytes(r), 0);
    }
}

static void a_message_that_is_unfinished_at_the_cumulative_tsn_stays(void **state)
{
    (void)state;
    add_to(0, 0, 10, BEGIN, "half");
    assert_true(sctp_reassembly_settle(r, 10));
    assert_int_equal(sctp_reassembly_held_bytes(r), 4 + SCTP_CHUNK_COST_BYTES);
    add_to(0, 0, 11, END, " whole");
    comes("half whole");
}

static void a_message_of_the_greatest_length_comes_and_a_longer_one_is_told(void **state)
{
    (void)state;
    char text[MESSAGE_BYTES_MAX / 2 + 2];
    memset(text, 'x', sizeof(text));
    for (int more = 0; more < 2; more++) {
        struct sctp_arrival arrival;
        const uint32_t tsn = 10 + 10U * (uint32_t)more;
        text[MESSAGE_BYTES_MAX / 2] = '\0';
        add_to(3, (uint16_t)more, tsn, BEGIN, text);
        text[MESSAGE_BYTES_MAX / 2] = 'x';
        text[MESSAGE_BYTES_MAX / 2 + more] = '\0';
        add_to(3, (uint16_t)more, tsn + 1, END, text);
        assert_true(sctp_reassembly_poll(r, &arrival));
        assert_int_equal(arrival.kind, more ? SCTP_ARRIVAL_TOO_LONG : SCTP_ARRIVAL_MESSAGE);
        assert_int_equal(arrival.message.stream, 3);
        assert_int_equal(arrival.message.data.len, more ? 0 : MESSAGE_BYTES_MAX);
    }
    add_to(3, 2, 30, WHOLE, "the stream goes on");
    comes("the stream goes on");
}

static void a_message_that_is_too_long_keeps_no_memory_while_it_comes(void **state)
{
    (void)state;
    char text[MESSAGE_BYTES_MAX + 1] = {0};
    memset(text, 'x', MESSAGE_BYTES_MAX);
    add_to(0, 0, 10, BEGIN, text);
    for (uint32_t i = 0; i < 100; i++) {
        add_to(0, 0, 11 + i, MIDDLE, text);
        assert_true(sctp_reassembly_settle(r, 11 + i));
        assert_int_equal(sctp_reassembly_held_bytes(r), SCTP_CHUNK_COST_BYTES);
    }
}

/* RFC 3758 s.3.6. */
static void what_the_peer_gives_up_is_dropped_and_the_stream_goes_on(void **state)
{
    (void)state;
    add_to(0, 0, 10, BEGIN, "given up");
    add_to(0, 2, 14, WHOLE, "third");
    nothing_comes();
    sctp_reassembly_give_up(r, 12);
    assert_true(sctp_reassembly_settle(r, 12));
    assert_true(sctp_reassembly_skip(r, 0, 1));
    assert_true(sctp_reassembly_skip(r, 0, 0)); /* older: no way back */
    assert_true(sctp_reassembly_flush(r));
    comes("third");
    assert_int_equal(sctp_reassembly_held_bytes(r), 0);
}

static void a_reset_comes_between_the_messages_of_two_lives(void **state)
{
    (void)state;
    struct sctp_arrival arrival;
    add_to(4, 0, 10, WHOLE, "first life");
    add_to(4, 1, 11, WHOLE, "its end");
    add_to(6, 0, 12, WHOLE, "another stream");
    assert_true(sctp_reassembly_reset(r, 4));
    add_to(4, 0, 13, WHOLE, "second life");
    add_to(6, 1, 14, WHOLE, "which goes on");
    comes("first life");
    comes("its end");
    comes("another stream");
    assert_true(sctp_reassembly_poll(r, &arrival));
    assert_int_equal(arrival.kind, SCTP_ARRIVAL_RESET);
    assert_int_equal(arrival.message.stream, 4);
    comes("second life");
    comes("which goes on");
}

static void a_reset_of_all_streams_is_one_arrival(void **state)
{
    (void)state;
    struct sctp_arrival arrival;
    add_to(4, 0, 10, WHOLE, "a");
    add_to(900, 0, 11, WHOLE, "b");
    assert_true(sctp_reassembly_reset(r, SCTP_STREAMS));
    add_to(4, 0, 12, WHOLE, "c");
    add_to(900, 0, 13, WHOLE, "d");
    comes("a");
    comes("b");
    assert_true(sctp_reassembly_poll(r, &arrival));
    assert_int_equal(arrival.message.stream, SCTP_STREAMS);
    comes("c");
    comes("d");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(fragments_in_every_order_make_the_message),
        CASE(an_ordered_message_waits_for_those_before_it_in_its_stream_alone),
        CASE(an_unordered_message_waits_for_nothing),
        CASE(ssn_65535_is_followed_by_0),
        CASE(behind_the_cumulative_tsn_nothing_waits),
        CASE(fragments_that_do_not_fit_together_are_dropped),
        CASE(a_message_that_is_unfinished_at_the_cumulative_tsn_stays),
        CASE(a_message_of_the_greatest_length_comes_and_a_longer_one_is_told),
        CASE(a_message_that_is_too_long_keeps_no_memory_while_it_comes),
        CASE(what_the_peer_gives_up_is_dropped_and_the_stream_goes_on),
        CASE(a_reset_comes_between_the_messages_of_two_lives),
        CASE(a_reset_of_all_streams_is_one_arrival),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
