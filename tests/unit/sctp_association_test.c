/* sctp_association_test.c - two ends of an association over a network without faults */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_heartbeat.h"
#include "services/transceiver/core/transport/sctp/sctp_wire.h"
#include "tests/support/sctp_pair.h"

#include <stdlib.h>

#define NOTES_MAX 256

struct note {
    int end;
    bool is_event;
    struct sctp_event event;
    struct sctp_message message; /* data: the length alone */
    uint8_t first_byte;
};

static struct note note[NOTES_MAX];
static size_t notes;

static void note_message(void *context, int end, const struct sctp_message *message)
{
    (void)context;
    assert_true(notes < NOTES_MAX);
    note[notes++] =
        (struct note){.end = end, .message = *message, .first_byte = message->data.data[0]};
}

static void note_event(void *context, int end, const struct sctp_event *event)
{
    (void)context;
    assert_true(notes < NOTES_MAX);
    note[notes++] = (struct note){.end = end, .is_event = true, .event = *event};
}

static struct sctp_pair *pair(void)
{
    const struct sctp_pair_config config = {
        .link = {.seed = 1, .delay_us = 10 * US_PER_MS, .keeps_order = true},
        .hooks = {.message = note_message, .event = note_event},
        .first_tsn = {1000, 2000},
        .begin_us = US_PER_S,
    };
    notes = 0;
    return sctp_pair_create(&config);
}

static size_t count_events(enum sctp_event_kind kind, int end)
{
    size_t count = 0;
    for (size_t i = 0; i < notes; i++) {
        count += note[i].is_event && note[i].event.kind == kind && note[i].end == end;
    }
    return count;
}

static enum sctp_send_result send_bytes(struct sctp_pair *p, int end, uint16_t stream,
                                        const void *data, size_t len)
{
    const struct sctp_message message = {
        .stream = stream, .ppid = 51, .data = bytes_view_of(data, len)};
    return sctp_association_send(p->end[end], &message, NULL, p->now_us);
}

static void either_side_may_begin_and_both_at_once(void **state)
{
    (void)state;
    for (int who = 1; who < 4; who++) {
        struct sctp_pair *p = pair();
        sctp_pair_connect(p, (who & 1) != 0, (who & 2) != 0);
        assert_int_equal(count_events(SCTP_EVENT_CONNECTED, 0), 1);
        assert_int_equal(count_events(SCTP_EVENT_CONNECTED, 1), 1);
        assert_int_equal(notes, 2);
        sctp_pair_destroy(p);
    }
}

static void messages_of_every_size_arrive_whole(void **state)
{
    (void)state;
    static const size_t size[] = {1, 2, 3, 4, 1131, 1132, 1133, 2264, 2265, 65536, 262144};
    struct sctp_pair *p = pair();
    uint8_t *bytes = calloc(1, SCTP_PAIR_MESSAGE_BYTES);
    sctp_pair_connect(p, true, true);
    notes = 0;
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        bytes[0] = (uint8_t)i;
        assert_int_equal(send_bytes(p, 0, 3, bytes, size[i]), SCTP_SEND_OK);
    }
    sctp_pair_run_until(p, p->now_us + 10 * US_PER_S);
    assert_int_equal(notes, COUNT_OF(size));
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        assert_int_equal(note[i].message.data.len, size[i]);
        assert_int_equal(note[i].message.stream, 3);
        assert_int_equal(note[i].message.ppid, 51);
        assert_int_equal(note[i].first_byte, i);
    }
    assert_int_equal(sctp_association_buffered_bytes(p->end[0]), 0);
    sctp_pair_destroy(p);
    free(bytes);
}

/* --- packets that are not as they should be --------------------------------------------------- */

static uint8_t caught[2][SCTP_PACKET_BYTES_MAX]; /* the last packet of each end */
static size_t caught_len[2];
static bool is_cut; /* the line: nothing arrives */

static bool catch_packet(void *context, int end, struct bytes_view packet)
{
    (void)context;
    memcpy(caught[end], packet.data, packet.len);
    caught_len[end] = packet.len;
    return !is_cut;
}

static struct sctp_pair *connected_pair(void)
{
    struct sctp_pair *p = pair();
    p->hooks.packet = catch_packet;
    is_cut = false;
    sctp_pair_connect(p, true, true);
    notes = 0;
    return p;
}

static uint32_t tag_to(int end)
{
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(caught[1 - end], caught_len[1 - end]));
    byte_reader_skip(&r, 4);
    return byte_reader_u32(&r);
}

/* A packet with one bare chunk for `end`; what it answers. */
static void feed(struct sctp_pair *p, int end, uint32_t tag, enum sctp_chunk_type type,
                 uint8_t flags)
{
    uint8_t bytes[64];
    struct byte_writer w;
    const struct sctp_header header = {.source_port = SCTP_PORT_DEFAULT,
                                       .destination_port = SCTP_PORT_DEFAULT,
                                       .verification_tag = tag};
    byte_writer_init(&w, bytes, sizeof(bytes));
    sctp_wire_begin_packet(&w, &header);
    sctp_wire_write_bare(&w, type, flags);
    sctp_wire_end_packet(&w, false);
    caught_len[end] = 0;
    sctp_association_input(p->end[end], bytes_view_of(bytes, w.len), p->now_us);
    sctp_pair_drain(p);
}

static uint8_t first_type(int end)
{
    return caught_len[end] > SCTP_HEADER_BYTES ? caught[end][SCTP_HEADER_BYTES] : UINT8_MAX;
}

/* RFC 9260 s.8.5: each byte of the common header counts. */
static void a_packet_with_another_port_tag_or_checksum_changes_nothing(void **state)
{
    (void)state;
    struct sctp_pair *p = connected_pair();
    is_cut = true;
    assert_int_equal(send_bytes(p, 0, 1, "hello", 5), SCTP_SEND_OK);
    sctp_pair_drain(p);
    for (size_t i = 0; i < caught_len[0]; i++) {
        uint8_t bytes[SCTP_PACKET_BYTES_MAX];
        memcpy(bytes, caught[0], caught_len[0]);
        bytes[i] ^= 0x10;
        sctp_association_input(p->end[1], bytes_view_of(bytes, caught_len[0]), p->now_us);
        sctp_association_input(p->end[1], bytes_view_of(bytes, i), p->now_us);
        sctp_pair_drain(p);
    }
    assert_int_equal(notes, 0);
    sctp_association_input(p->end[1], bytes_view_of(caught[0], caught_len[0]), p->now_us);
    sctp_pair_drain(p);
    assert_int_equal(notes, 1);
    sctp_pair_destroy(p);
}

static void an_abort_needs_our_tag_or_the_peers_with_the_t_bit(void **state)
{
    (void)state;
    static const struct {
        int tag_of; /* 0: ours, 1: the peer's, 2: none */
        uint8_t flags;
        bool ends;
    } c[] = {{0, 0, true},  {1, 0, false}, {1, 1, true},
             {0, 1, false}, {2, 0, false}, {2, 1, false}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct sctp_pair *p = connected_pair();
        const uint32_t tag[] = {tag_to(0), tag_to(1), 0};
        feed(p, 0, tag[c[i].tag_of], SCTP_CHUNK_ABORT, c[i].flags);
        assert_int_equal(count_events(SCTP_EVENT_CLOSED, 0), c[i].ends);
        assert_int_equal(first_type(0), UINT8_MAX); /* an ABORT is never answered */
        sctp_pair_destroy(p);
    }
}

/* RFC 9260 s.8.4: once it is over, whoever goes on is told. */
static void after_the_end_packets_are_answered_by_an_abort(void **state)
{
    (void)state;
    static const struct {
        enum sctp_chunk_type comes;
        uint8_t answer;
    } c[] = {
        {SCTP_CHUNK_HEARTBEAT, SCTP_CHUNK_ABORT},
        {SCTP_CHUNK_SHUTDOWN_ACK, SCTP_CHUNK_SHUTDOWN_COMPLETE},
        {SCTP_CHUNK_ABORT, UINT8_MAX},
        {SCTP_CHUNK_SHUTDOWN_COMPLETE, UINT8_MAX},
        {SCTP_CHUNK_COOKIE_ACK, UINT8_MAX},
        {SCTP_CHUNK_ERROR, UINT8_MAX},
        {SCTP_CHUNK_INIT, UINT8_MAX},
    };
    struct sctp_pair *p = connected_pair();
    const uint32_t ours = tag_to(0);
    sctp_association_abort(p->end[0], p->now_us);
    is_cut = true;
    sctp_pair_drain(p);
    assert_int_equal(first_type(0), SCTP_CHUNK_ABORT);
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        feed(p, 0, ours, c[i].comes, 0);
        assert_int_equal(first_type(0), c[i].answer);
        feed(p, 0, ours + 1, c[i].comes, 0); /* a stranger is not */
        assert_int_equal(first_type(0), UINT8_MAX);
    }
    assert_int_equal(count_events(SCTP_EVENT_CLOSED, 0), 0);
    sctp_pair_destroy(p);
}

static void an_abort_ends_the_other_side(void **state)
{
    (void)state;
    struct sctp_pair *p = connected_pair();
    sctp_association_abort(p->end[0], p->now_us);
    sctp_pair_run_until(p, p->now_us + US_PER_S);
    assert_int_equal(notes, 1);
    assert_int_equal(count_events(SCTP_EVENT_CLOSED, 1), 1);
    assert_int_equal(send_bytes(p, 0, 1, "x", 1), SCTP_SEND_NOT_CONNECTED);
    assert_int_equal(send_bytes(p, 1, 1, "x", 1), SCTP_SEND_NOT_CONNECTED);
    assert_int_equal(sctp_association_next_timeout(p->end[0]), TIME_NEVER);
    sctp_pair_destroy(p);
}

/* RFC 9260 s.5.2.4 D and A: a second COOKIE ECHO is answered, a restart is not taken. */
static void a_late_init_or_cookie_changes_nothing(void **state)
{
    (void)state;
    struct sctp_pair *p = pair();
    uint8_t echo[SCTP_PACKET_BYTES_MAX];
    size_t echo_len = 0;
    p->hooks.packet = catch_packet;
    is_cut = false;
    sctp_association_connect(p->end[0], p->now_us);
    for (int i = 0; i < 100 && first_type(0) != SCTP_CHUNK_COOKIE_ECHO; i++) {
        sctp_pair_run_until(p, p->now_us + US_PER_MS);
    }
    echo_len = caught_len[0];
    memcpy(echo, caught[0], echo_len);
    sctp_pair_run_until(p, p->now_us + US_PER_S);
    assert_int_equal(count_events(SCTP_EVENT_CONNECTED, 1), 1);
    caught_len[1] = 0;
    sctp_association_input(p->end[1], bytes_view_of(echo, echo_len), p->now_us);
    sctp_pair_drain(p);
    assert_int_equal(first_type(1), SCTP_CHUNK_COOKIE_ACK);
    feed(p, 1, 0, SCTP_CHUNK_INIT, 0);
    assert_int_equal(first_type(1), UINT8_MAX);
    assert_int_equal(notes, 2);
    assert_int_equal(send_bytes(p, 0, 1, "x", 1), SCTP_SEND_OK);
    sctp_pair_run_until(p, p->now_us + US_PER_S);
    assert_int_equal(notes, 3);
    sctp_pair_destroy(p);
}

/* --- limits and ends -------------------------------------------------------------------------- */

static void what_can_not_be_sent_is_refused_with_the_reason(void **state)
{
    (void)state;
    static uint8_t bytes[SCTP_SEND_BYTES_MAX];
    const uint16_t stream = 7;
    struct sctp_pair *p = pair();
    assert_int_equal(send_bytes(p, 0, 1, "x", 1), SCTP_SEND_NOT_CONNECTED);
    assert_false(sctp_association_reset_streams(p->end[0], &stream, 1, p->now_us));
    sctp_pair_connect(p, true, false);
    is_cut = true;
    p->hooks.packet = catch_packet;
    assert_int_equal(send_bytes(p, 0, 1, "", 0), SCTP_SEND_EMPTY);
    assert_int_equal(send_bytes(p, 0, SCTP_STREAMS - 1, "x", 1), SCTP_SEND_OK);
    assert_int_equal(send_bytes(p, 0, SCTP_STREAMS, "x", 1), SCTP_SEND_NO_STREAM);
    assert_int_equal(send_bytes(p, 0, 1, bytes, sizeof(bytes)), SCTP_SEND_FULL);
    assert_true(sctp_association_reset_streams(p->end[0], &stream, 1, p->now_us));
    assert_int_equal(send_bytes(p, 0, stream, "x", 1), SCTP_SEND_NO_STREAM);
    sctp_association_shutdown(p->end[0], p->now_us);
    assert_int_equal(send_bytes(p, 0, 1, "x", 1), SCTP_SEND_NOT_CONNECTED);
    sctp_pair_destroy(p);
}

static void the_peers_longest_message_is_honoured(void **state)
{
    (void)state;
    struct random_generator g;
    random_generator_init(&g, 1);
    const struct sctp_config config = {.port = SCTP_PORT_DEFAULT,
                                       .packet_bytes_max = SCTP_PAIR_PACKET_BYTES,
                                       .message_bytes_max = 1000,
                                       .peer_message_bytes_max = 100,
                                       .random = random_seeded(&g)};
    struct sctp_pair *p = pair();
    sctp_association_destroy(p->end[0]);
    p->end[0] = sctp_association_create(&config, p->now_us);
    sctp_pair_connect(p, true, false);
    notes = 0;
    static const uint8_t bytes[1001];
    assert_int_equal(send_bytes(p, 0, 1, bytes, 101), SCTP_SEND_TOO_LONG);
    assert_int_equal(send_bytes(p, 0, 1, bytes, 100), SCTP_SEND_OK);
    assert_int_equal(send_bytes(p, 1, 2, bytes, 1001), SCTP_SEND_OK); /* it does not know ours */
    assert_int_equal(send_bytes(p, 1, 2, bytes, 1000), SCTP_SEND_OK);
    sctp_pair_run_until(p, p->now_us + US_PER_S);
    assert_int_equal(notes, 3);
    assert_int_equal(count_events(SCTP_EVENT_MESSAGE_DROPPED, 0), 1);
    sctp_pair_destroy(p);
}

static void a_shutdown_waits_for_what_was_sent(void **state)
{
    (void)state;
    static uint8_t bytes[100000];
    for (int both = 0; both < 2; both++) {
        struct sctp_pair *p = connected_pair();
        assert_int_equal(send_bytes(p, 0, 1, bytes, sizeof(bytes)), SCTP_SEND_OK);
        sctp_association_shutdown(p->end[0], p->now_us);
        if (both == 1) {
            sctp_association_shutdown(p->end[1], p->now_us);
        }
        sctp_pair_run_until(p, p->now_us + 5 * US_PER_S);
        assert_int_equal(notes, 3);
        assert_int_equal(note[both].message.data.len, sizeof(bytes)); /* [0]: of the peer's wish */
        assert_int_equal(count_events(SCTP_EVENT_CLOSED, 0), 1);
        assert_int_equal(count_events(SCTP_EVENT_CLOSED, 1), 1);
        sctp_pair_destroy(p);
    }
}

static void a_peer_that_answers_nothing_is_given_up(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const uint16_t stream = 1;
        struct sctp_pair *p = pair();
        p->hooks.packet = catch_packet;
        is_cut = i == 0;
        sctp_pair_connect(p, true, false);
        is_cut = true;
        if (i == 1) {
            assert_int_equal(send_bytes(p, 0, 1, "x", 1), SCTP_SEND_OK);
        } else if (i == 2) {
            assert_true(sctp_association_reset_streams(p->end[0], &stream, 1, p->now_us));
        } else if (i == 3) {
            sctp_association_shutdown(p->end[0], p->now_us);
        }
        sctp_pair_run_until(p, p->now_us + 120 * US_PER_S);
        assert_int_equal(count_events(SCTP_EVENT_FAILED, 0), 1);
        assert_int_equal(sctp_association_next_timeout(p->end[0]), TIME_NEVER);
        sctp_pair_destroy(p);
    }
}

/* One HEARTBEAT in 30 s, each way, and nothing else. */
static void an_idle_association_says_a_word_each_30_seconds(void **state)
{
    (void)state;
    struct sctp_pair *p = connected_pair();
    const uint64_t before = p->packets[0] + p->packets[1];
    sctp_pair_run_until(p, p->now_us + 600 * US_PER_S);
    const uint64_t packets = p->packets[0] + p->packets[1] - before;
    assert_true(packets >= 2 * 19 && packets <= 4 * 21);
    is_cut = true; /* and when nobody answers, it ends by itself */
    sctp_pair_run_until(p, p->now_us + 12 * SCTP_HEARTBEAT_US);
    assert_int_equal(count_events(SCTP_EVENT_FAILED, 0), 1);
    assert_int_equal(count_events(SCTP_EVENT_FAILED, 1), 1);
    sctp_pair_destroy(p);
}

static void a_caller_who_does_not_poll_closes_the_window_and_opens_it(void **state)
{
    (void)state;
    static uint8_t bytes[SCTP_PAIR_MESSAGE_BYTES];
    struct sctp_pair *p = connected_pair();
    p->is_deaf[1] = true;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(send_bytes(p, 0, 1, bytes, sizeof(bytes)), SCTP_SEND_OK);
    }
    sctp_pair_run_until(p, p->now_us + 100 * US_PER_S);
    assert_int_equal(notes, 0);
    assert_true(sctp_association_buffered_bytes(p->end[0]) > 0);
    p->is_deaf[1] = false;
    sctp_pair_run_until(p, p->now_us + 2 * US_PER_S); /* told, not found by a probe */
    assert_int_equal(notes, 3);
    sctp_pair_destroy(p);
}

static void zero_checksums_are_used_if_both_offer_them(void **state)
{
    (void)state;
    for (unsigned who = 0; who < 4; who++) {
        const struct sctp_pair_config config = {
            .link = {.seed = 1, .delay_us = 10 * US_PER_MS},
            .hooks = {.message = note_message, .event = note_event, .packet = catch_packet},
            .zero_checksum = {(who & 1) != 0, (who & 2) != 0},
        };
        struct sctp_pair *p = sctp_pair_create(&config);
        is_cut = false;
        notes = 0;
        sctp_pair_connect(p, true, false);
        assert_int_equal(send_bytes(p, 0, 1, "x", 1), SCTP_SEND_OK);
        sctp_pair_drain(p);
        const struct bytes_view packet = bytes_view_of(caught[0], caught_len[0]);
        assert_int_equal(sctp_wire_checksum(packet),
                         who == 3 ? SCTP_CHECKSUM_ZERO : SCTP_CHECKSUM_RIGHT);
        memset(caught[0] + 8, 0, 4);
        sctp_association_input(p->end[1], packet, p->now_us);
        sctp_pair_drain(p);
        assert_int_equal(notes, who == 3 ? 3 : 2);
        sctp_pair_destroy(p);
    }
}

/* SSN 65,535 is followed by 0, in 70,000 messages of one stream. */
static void a_stream_goes_on_when_its_numbers_wrap(void **state)
{
    (void)state;
    struct sctp_pair *p = pair();
    uint32_t expected = 0;
    sctp_pair_connect(p, true, true);
    p->hooks = (struct sctp_pair_hooks){0};
    p->is_deaf[1] = true;
    for (uint32_t i = 0; i < 70000; i += 100) {
        struct sctp_message message;
        for (uint32_t k = 0; k < 100; k++) {
            const uint32_t number = i + k;
            assert_int_equal(send_bytes(p, 0, 9, &number, sizeof(number)), SCTP_SEND_OK);
        }
        sctp_pair_run_until(p, p->now_us + 100 * US_PER_MS);
        while (sctp_association_poll_message(p->end[1], &message)) {
            uint32_t number = 0;
            memcpy(&number, message.data.data, sizeof(number));
            assert_int_equal(number, expected);
            expected++;
        }
    }
    assert_int_equal(expected, 70000);
    sctp_pair_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(either_side_may_begin_and_both_at_once),
        cmocka_unit_test(messages_of_every_size_arrive_whole),
        cmocka_unit_test(a_packet_with_another_port_tag_or_checksum_changes_nothing),
        cmocka_unit_test(an_abort_needs_our_tag_or_the_peers_with_the_t_bit),
        cmocka_unit_test(after_the_end_packets_are_answered_by_an_abort),
        cmocka_unit_test(an_abort_ends_the_other_side),
        cmocka_unit_test(a_late_init_or_cookie_changes_nothing),
        cmocka_unit_test(what_can_not_be_sent_is_refused_with_the_reason),
        cmocka_unit_test(the_peers_longest_message_is_honoured),
        cmocka_unit_test(a_shutdown_waits_for_what_was_sent),
        cmocka_unit_test(a_peer_that_answers_nothing_is_given_up),
        cmocka_unit_test(an_idle_association_says_a_word_each_30_seconds),
        cmocka_unit_test(a_caller_who_does_not_poll_closes_the_window_and_opens_it),
        cmocka_unit_test(zero_checksums_are_used_if_both_offer_them),
        cmocka_unit_test(a_stream_goes_on_when_its_numbers_wrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
