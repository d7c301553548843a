/* sctp_dispatch_test.c - several chunks in one packet, and what each of them changes */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_association.h"
#include "services/transceiver/core/transport/sctp/sctp_wire.h"
#include "tests/support/sctp_pair.h"

#define OUR_TSN  1000
#define PEER_TSN 2000
#define NOW_US   US_PER_S

/* `a` is looked at; the packets come from `peer`, and what is built here has its tag. */
struct fixture {
    struct sctp_pair *pair;
    struct sctp_association *a;
    struct sctp_association *peer;
    uint8_t bytes[SCTP_PACKET_BYTES_MAX];
    size_t len; /* of a packet of the peer */
};

static int set_up(void **state)
{
    static struct fixture f;
    const struct sctp_pair_config config = {
        .link = {.seed = 1}, .first_tsn = {OUR_TSN, PEER_TSN}, .begin_us = NOW_US};
    f = (struct fixture){.pair = sctp_pair_create(&config)};
    f.a = f.pair->end[0];
    f.peer = f.pair->end[1];
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    sctp_pair_destroy(f->pair);
    return 0;
}

static void peer_writes(struct fixture *f)
{
    struct bytes_view packet;
    assert_true(sctp_association_poll_packet(f->peer, &packet, NOW_US));
    memcpy(f->bytes, packet.data, packet.len);
    f->len = packet.len;
}

static void peer_gets(struct fixture *f)
{
    struct bytes_view packet;
    assert_true(sctp_association_poll_packet(f->a, &packet, NOW_US));
    sctp_association_input(f->peer, packet, NOW_US);
}

static void comes(struct fixture *f)
{
    sctp_association_input(f->a, bytes_view_of(f->bytes, f->len), NOW_US);
}

/* Up to the peer's COOKIE ECHO, which is written and has not come. */
static void begin(struct fixture *f)
{
    sctp_association_connect(f->peer, NOW_US);
    peer_writes(f);
    comes(f);
    peer_gets(f);
    peer_writes(f);
    assert_int_equal(f->bytes[SCTP_HEADER_BYTES], SCTP_CHUNK_COOKIE_ECHO);
}

static void connect(struct fixture *f)
{
    struct sctp_event event;
    begin(f);
    comes(f);
    peer_gets(f);
    assert_true(sctp_association_poll_event(f->a, &event));
    assert_int_equal(event.kind, SCTP_EVENT_CONNECTED);
}

/* More chunks, behind those of the packet. */
static struct byte_writer reopen(struct fixture *f)
{
    struct byte_writer w;
    byte_writer_init(&w, f->bytes, sizeof(f->bytes));
    w.len = f->len;
    memset(f->bytes + SCTP_HEADER_BYTES - 4, 0, 4);
    return w;
}

/* With nothing in it. */
static struct byte_writer reopen_empty(struct fixture *f)
{
    f->len = SCTP_HEADER_BYTES;
    return reopen(f);
}

static void close_packet(struct fixture *f, struct byte_writer *w)
{
    sctp_wire_end_packet(w, false);
    assert_false(w->failed);
    f->len = w->len;
}

static void add_data(struct byte_writer *w, uint32_t tsn, const char *text)
{
    const struct sctp_data data = {.is_begin = true,
                                   .is_end = true,
                                   .is_unordered = true,
                                   .tsn = tsn,
                                   .stream = 3,
                                   .ppid = 51,
                                   .payload = bytes_view_of_text(text)};
    sctp_wire_write_data(w, &data);
}

static void add_number(struct byte_writer *w, enum sctp_chunk_type type, uint32_t number)
{
    const size_t begin = sctp_wire_begin_chunk(w, type, 0);
    byte_writer_u32(w, number);
    sctp_wire_end(w, begin);
}

static void add_sack(struct byte_writer *w, uint32_t cumulative_tsn)
{
    const size_t begin = sctp_wire_begin_chunk(w, SCTP_CHUNK_SACK, 0);
    byte_writer_u32(w, cumulative_tsn);
    byte_writer_u32(w, SCTP_RECEIVE_BYTES_MAX);
    byte_writer_u32(w, 0); /* gaps and duplicates */
    sctp_wire_end(w, begin);
}

static void event_comes(struct fixture *f, enum sctp_event_kind kind)
{
    struct sctp_event event;
    assert_true(sctp_association_poll_event(f->a, &event));
    assert_int_equal(event.kind, kind);
}

static void no_event_comes(struct fixture *f)
{
    struct sctp_event event;
    assert_false(sctp_association_poll_event(f->a, &event));
}

static void message_comes(struct fixture *f, const char *text)
{
    struct sctp_message message;
    assert_true(sctp_association_poll_message(f->a, &message));
    assert_true(bytes_equal(message.data, bytes_view_of_text(text)));
}

/* RFC 9260 s.5.1 D lets DATA ride with COOKIE ECHO. Who is told of a message before the association
 * is there has nothing to take it with. */
static void connected_comes_before_the_data_of_the_same_packet(void **state)
{
    struct fixture *f = *state;
    struct sctp_message message;
    begin(f);
    struct byte_writer w = reopen(f);
    add_data(&w, PEER_TSN, "one");
    add_data(&w, PEER_TSN + 1, "two");
    close_packet(f, &w);
    comes(f);
    assert_false(sctp_association_poll_message(f->a, &message));
    event_comes(f, SCTP_EVENT_CONNECTED);
    message_comes(f, "one");
    message_comes(f, "two");
    no_event_comes(f);
}

static void send_3(struct fixture *f)
{
    struct bytes_view packet;
    const struct sctp_message message = {.stream = 3, .data = bytes_view_of_text("x")};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sctp_association_send(f->a, &message, NULL, NOW_US), SCTP_SEND_OK);
    }
    assert_true(sctp_association_poll_packet(f->a, &packet, NOW_US)); /* it is lost */
}

/* Each costs a walk through all that is under way: a packet of them must not cost thousands. */
static void of_two_acknowledgements_in_a_packet_the_first_counts(void **state)
{
    struct fixture *f = *state;
    connect(f);
    send_3(f);
    const size_t all_bytes = sctp_association_buffered_bytes(f->a);
    struct byte_writer w = reopen_empty(f);
    add_sack(&w, OUR_TSN);
    add_sack(&w, OUR_TSN + 2);
    close_packet(f, &w);
    comes(f);
    assert_int_equal(sctp_association_buffered_bytes(f->a), all_bytes / 3 * 2);
    w = reopen_empty(f); /* it may come with a SACK: RFC 9260 s.9.2 */
    add_sack(&w, OUR_TSN);
    add_number(&w, SCTP_CHUNK_SHUTDOWN, OUR_TSN + 1);
    add_number(&w, SCTP_CHUNK_SHUTDOWN, OUR_TSN + 2);
    close_packet(f, &w);
    comes(f);
    assert_int_equal(sctp_association_buffered_bytes(f->a), all_bytes / 3);
    w = reopen_empty(f);
    add_sack(&w, OUR_TSN + 2);
    close_packet(f, &w);
    comes(f);
    assert_int_equal(sctp_association_buffered_bytes(f->a), 0);
}

static void of_two_forward_tsns_in_a_packet_too(void **state)
{
    struct fixture *f = *state;
    connect(f);
    struct byte_writer w = reopen_empty(f);
    add_number(&w, SCTP_CHUNK_FORWARD_TSN, PEER_TSN);
    add_number(&w, SCTP_CHUNK_FORWARD_TSN, PEER_TSN + 9);
    add_data(&w, PEER_TSN + 1, "one");
    close_packet(f, &w);
    comes(f);
    message_comes(f, "one");
}

static void shutdown_comes(struct fixture *f, uint32_t cumulative_tsn)
{
    struct byte_writer w = reopen_empty(f);
    add_number(&w, SCTP_CHUNK_SHUTDOWN, cumulative_tsn);
    close_packet(f, &w);
    comes(f);
}

static uint8_t answer(struct fixture *f)
{
    struct bytes_view packet;
    return sctp_association_poll_packet(f->a, &packet, NOW_US) ? packet.data[SCTP_HEADER_BYTES]
                                                               : UINT8_MAX;
}

/* Who waits for the end of the hand-shake waits for a client that may be gone. */
static void a_shutdown_is_told_at_once_and_answered_all_the_same(void **state)
{
    struct fixture *f = *state;
    const struct sctp_message message = {.stream = 3, .data = bytes_view_of_text("x")};
    connect(f);
    send_3(f);
    shutdown_comes(f, OUR_TSN - 1);
    event_comes(f, SCTP_EVENT_CLOSED);
    assert_int_equal(sctp_association_send(f->a, &message, NULL, NOW_US), SCTP_SEND_NOT_CONNECTED);
    assert_int_equal(answer(f), UINT8_MAX); /* s.9.2: when all has been acknowledged */
    shutdown_comes(f, OUR_TSN + 2);
    assert_int_equal(answer(f), SCTP_CHUNK_SHUTDOWN_ACK);
    shutdown_comes(f, OUR_TSN + 2);
    assert_int_equal(answer(f), SCTP_CHUNK_SHUTDOWN_ACK);
    struct byte_writer w = reopen_empty(f);
    sctp_wire_write_bare(&w, SCTP_CHUNK_SHUTDOWN_COMPLETE, 0);
    close_packet(f, &w);
    comes(f);
    no_event_comes(f);
    assert_int_equal(sctp_association_next_timeout(f->a), TIME_NEVER);
}

static void closed_comes_behind_what_the_peer_said_and_is_the_last(void **state)
{
    struct fixture *f = *state;
    struct sctp_message message;
    const uint16_t stream = 3;
    connect(f);
    assert_true(sctp_association_reset_streams(f->a, &stream, 1, NOW_US));
    assert_int_equal(answer(f), SCTP_CHUNK_RE_CONFIG);
    struct byte_writer w = reopen_empty(f);
    add_data(&w, PEER_TSN, "one");
    add_number(&w, SCTP_CHUNK_SHUTDOWN, OUR_TSN - 1);
    add_data(&w, PEER_TSN + 1, "two");
    close_packet(f, &w);
    comes(f);
    no_event_comes(f);
    message_comes(f, "one");
    message_comes(f, "two");
    event_comes(f, SCTP_EVENT_CLOSED);
    w = reopen_empty(f);
    add_data(&w, PEER_TSN + 2, "three");
    close_packet(f, &w);
    comes(f);
    assert_false(sctp_association_poll_message(f->a, &message));
    no_event_comes(f);
    for (int i = 0; i < 50; i++) { /* and when nobody answers, there is no second end */
        sctp_association_tick(f->a, sctp_association_next_timeout(f->a));
        (void)answer(f);
        no_event_comes(f);
    }
    assert_int_equal(sctp_association_next_timeout(f->a), TIME_NEVER);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(connected_comes_before_the_data_of_the_same_packet),
        CASE(of_two_acknowledgements_in_a_packet_the_first_counts),
        CASE(of_two_forward_tsns_in_a_packet_too),
        CASE(a_shutdown_is_told_at_once_and_answered_all_the_same),
        CASE(closed_comes_behind_what_the_peer_said_and_is_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
