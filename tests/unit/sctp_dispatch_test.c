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

/* More chunks, behind those of the packet. */
static struct byte_writer reopen(struct fixture *f)
{
    struct byte_writer w;
    byte_writer_init(&w, f->bytes, sizeof(f->bytes));
    w.len = f->len;
    memset(f->bytes + SCTP_HEADER_BYTES - 4, 0, 4);
    return w;
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

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(connected_comes_before_the_data_of_the_same_packet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
