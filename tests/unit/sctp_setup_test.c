/* sctp_setup_test.c - INIT and cookie: who is believed, and when */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_setup.h"

#include <stdlib.h>

#define PACKET_BYTES 1163
#define NOW_US       US_PER_S

struct fixture {
    struct random_generator random;
    struct sctp_setup setup;
    uint8_t bytes[2048]; /* what is read, and what is written */
    size_t len;
};

static const struct sctp_init ours = {
    .tag = 1, .a_rwnd = 1000, .out_streams = 10, .in_streams = 10, .tsn = 5};

static int set_up(void **state)
{
    static struct fixture f;
    random_generator_init(&f.random, 1);
    sctp_setup_init(&f.setup, &ours, random_seeded(&f.random));
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    sctp_setup_destroy(&f->setup);
    return 0;
}

static struct sctp_chunk chunk_of(const struct fixture *f, size_t offset)
{
    struct byte_reader r;
    struct sctp_chunk chunk;
    byte_reader_init(&r, bytes_view_of(f->bytes + offset, f->len - offset));
    assert_true(sctp_wire_next_chunk(&r, &chunk));
    return chunk;
}

/* INIT, or INIT ACK with a cookie of so many bytes. */
static struct sctp_chunk init_of(struct fixture *f, uint32_t tag, enum sctp_chunk_type type,
                                 size_t cookie_bytes)
{
    static const uint8_t cookie[SCTP_COOKIE_BYTES_MAX + 1];
    const struct sctp_init theirs = {
        .tag = tag, .a_rwnd = 2000, .out_streams = 20, .in_streams = 20, .tsn = 7};
    struct byte_writer w;
    byte_writer_init(&w, f->bytes, sizeof(f->bytes));
    sctp_init_write(&w, type, &theirs, bytes_view_of(cookie, cookie_bytes), (struct bytes_view){0});
    assert_false(w.failed);
    f->len = w.len;
    return chunk_of(f, 0);
}

/* The cookie that an INIT of this peer is answered with. */
static struct bytes_view cookie_for(struct fixture *f, uint32_t tag, uint8_t out[SCTP_COOKIE_BYTES])
{
    static const struct sctp_header from = {.source_port = 5000, .destination_port = 5000};
    uint8_t answer[PACKET_BYTES];
    struct byte_writer w;
    struct byte_reader r;
    struct sctp_header header;
    struct sctp_chunk chunk;
    struct sctp_init read;
    struct bytes_view cookie;
    const struct sctp_chunk init = init_of(f, tag, SCTP_CHUNK_INIT, 0);
    byte_writer_init(&w, answer, sizeof(answer));
    assert_true(sctp_setup_answer(&f->setup, &init, &from, &w, NOW_US));
    byte_reader_init(&r, bytes_view_of(answer, w.len));
    assert_true(sctp_wire_read_header(&r, &header));
    assert_int_equal(header.verification_tag, tag);
    assert_true(sctp_wire_next_chunk(&r, &chunk));
    assert_int_equal(chunk.type, SCTP_CHUNK_INIT_ACK);
    assert_true(sctp_init_read(&chunk, &read, &cookie, NULL));
    assert_int_equal(read.tag, ours.tag);
    assert_int_equal(read.tsn, ours.tsn);
    assert_int_equal(cookie.len, SCTP_COOKIE_BYTES);
    memcpy(out, cookie.data, SCTP_COOKIE_BYTES);
    return bytes_view_of(out, SCTP_COOKIE_BYTES);
}

static enum sctp_cookie_echo_result echo(struct fixture *f, struct bytes_view cookie,
                                         uint64_t now_us)
{
    uint32_t peer_tag = 0;
    const struct sctp_chunk chunk = {.type = SCTP_CHUNK_COOKIE_ECHO, .body = cookie};
    return sctp_setup_cookie_echo(&f->setup, &chunk, &peer_tag, now_us);
}

/* RFC 9260 s.5.1: no state is made of an INIT; the first cookie that comes back decides. */
static void whose_cookie_comes_back_first_is_the_peer(void **state)
{
    struct fixture *f = *state;
    uint8_t first[SCTP_COOKIE_BYTES];
    uint8_t second[SCTP_COOKIE_BYTES];
    const struct bytes_view one = cookie_for(f, 71, first);
    const struct bytes_view other = cookie_for(f, 72, second);
    assert_int_equal(f->setup.state, SCTP_SETUP_IDLE);
    assert_int_equal(echo(f, other, NOW_US), SCTP_COOKIE_ECHO_DONE);
    assert_int_equal(f->setup.theirs.tag, 72);
    assert_int_equal(f->setup.theirs.a_rwnd, 2000);
    assert_int_equal(echo(f, other, NOW_US), SCTP_COOKIE_ECHO_AGAIN);
    assert_int_equal(echo(f, one, NOW_US), SCTP_COOKIE_ECHO_IGNORED); /* would be a restart */
    assert_int_equal(f->setup.theirs.tag, 72);
}

static void a_stale_cookie_is_told_and_opens_nothing(void **state)
{
    struct fixture *f = *state;
    uint8_t bytes[SCTP_COOKIE_BYTES];
    const struct bytes_view cookie = cookie_for(f, 71, bytes);
    const uint64_t late_us = NOW_US + SCTP_COOKIE_LIFE_US + 1;
    assert_int_equal(echo(f, cookie, late_us), SCTP_COOKIE_ECHO_STALE);
    assert_int_equal(f->setup.state, SCTP_SETUP_IDLE);
    assert_int_equal(echo(f, bytes_view_of(bytes, 10), NOW_US), SCTP_COOKIE_ECHO_IGNORED);
    assert_int_equal(echo(f, cookie, late_us - 1), SCTP_COOKIE_ECHO_DONE);
    assert_int_equal(echo(f, cookie, late_us), SCTP_COOKIE_ECHO_AGAIN); /* it is not a new one */
}

static void an_init_that_is_cut_anywhere_has_no_answer(void **state)
{
    struct fixture *f = *state;
    static const struct sctp_header from = {.source_port = 5000, .destination_port = 5000};
    const struct sctp_chunk init = init_of(f, 71, SCTP_CHUNK_INIT, 0);
    for (size_t len = 0; len <= init.body.len; len++) {
        uint8_t answer[PACKET_BYTES];
        struct byte_writer w;
        const struct sctp_chunk cut = {.body = bytes_view_of(init.body.data, len)};
        byte_writer_init(&w, answer, sizeof(answer));
        /* Behind the fixed part stands one parameter: a whole INIT with or without it. */
        const bool is_whole = len == 16 || len == init.body.len;
        assert_int_equal(sctp_setup_answer(&f->setup, &cut, &from, &w, NOW_US), is_whole);
    }
}

static void an_init_ack_needs_a_cookie_that_fits(void **state)
{
    struct fixture *f = *state;
    static const struct {
        size_t cookie_bytes;
        bool is_taken;
    } c[] = {{0, false}, {SCTP_COOKIE_BYTES_MAX + 1, false}, {SCTP_COOKIE_BYTES_MAX, true}};
    struct sctp_chunk ack = init_of(f, 71, SCTP_CHUNK_INIT_ACK, 4);
    sctp_setup_init_ack(&f->setup, &ack, NOW_US); /* nobody asked */
    assert_int_equal(f->setup.state, SCTP_SETUP_IDLE);
    sctp_setup_connect(&f->setup, NOW_US);
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        ack = init_of(f, 71, SCTP_CHUNK_INIT_ACK, c[i].cookie_bytes);
        sctp_setup_init_ack(&f->setup, &ack, NOW_US);
        assert_int_equal(f->setup.state == SCTP_SETUP_COOKIE_ECHOED, c[i].is_taken);
    }
    ack = init_of(f, 99, SCTP_CHUNK_INIT_ACK, 4);
    sctp_setup_init_ack(&f->setup, &ack, NOW_US); /* a second one */
    assert_int_equal(f->setup.theirs.tag, 71);
    uint8_t bytes[PACKET_BYTES];
    struct byte_writer w;
    byte_writer_init(&w, bytes, sizeof(bytes));
    sctp_setup_write(&f->setup, &w);
    assert_int_equal(w.len, SCTP_CHUNK_HEADER_BYTES + SCTP_COOKIE_BYTES_MAX);
    assert_true(sctp_setup_cookie_ack(&f->setup));
    assert_false(sctp_setup_cookie_ack(&f->setup));
    assert_int_equal(sctp_setup_next_timeout(&f->setup), TIME_NEVER);
}

/* RFC 9260 s.5.2.1: both INITs, and both cookies, are on their way at once. */
static void the_peers_cookie_counts_while_ours_is_on_its_way(void **state)
{
    struct fixture *f = *state;
    uint8_t bytes[SCTP_COOKIE_BYTES];
    sctp_setup_connect(&f->setup, NOW_US);
    const struct bytes_view cookie = cookie_for(f, 71, bytes);
    const struct sctp_chunk ack = init_of(f, 71, SCTP_CHUNK_INIT_ACK, 4);
    sctp_setup_init_ack(&f->setup, &ack, NOW_US);
    assert_int_equal(echo(f, cookie, NOW_US), SCTP_COOKIE_ECHO_DONE);
    assert_false(sctp_setup_is_due(&f->setup));
    assert_false(sctp_setup_cookie_ack(&f->setup));
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(whose_cookie_comes_back_first_is_the_peer),
        CASE(a_stale_cookie_is_told_and_opens_nothing),
        CASE(an_init_that_is_cut_anywhere_has_no_answer),
        CASE(an_init_ack_needs_a_cookie_that_fits),
        CASE(the_peers_cookie_counts_while_ours_is_on_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
