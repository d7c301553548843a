/* tcp_output_test.c - the stream stays whole, the queue bounded, and old frames go first */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/relay/core/tcp_output.h"

static uint8_t ring[TCP_OUTPUT_BYTES];

/* A datagram that says its number in its first four bytes. */
static struct bytes_view numbered(uint32_t number, size_t len)
{
    static uint8_t datagram[TCP_FRAME_DATAGRAM_MAX];
    struct byte_writer w;
    byte_writer_init(&w, datagram, len);
    byte_writer_u32(&w, number);
    byte_writer_zeros(&w, len - 4);
    return bytes_view_of(datagram, len);
}

static size_t waiting_bytes(const struct tcp_output *o)
{
    struct bytes_view piece[TCP_OUTPUT_PIECES];
    const size_t count = tcp_output_peek(o, piece);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += piece[i].len;
    }
    return bytes;
}

/* Takes up to len bytes of what waits, as the kernel would; returns how many. */
static size_t take(struct tcp_output *o, uint8_t *out, size_t len, struct tcp_output_sent *sent)
{
    struct bytes_view piece[TCP_OUTPUT_PIECES];
    const size_t count = tcp_output_peek(o, piece);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t step = piece[i].len < len - at ? piece[i].len : len - at;
        memcpy(out + at, piece[i].data, step);
        at += step;
    }
    const struct tcp_output_sent now = tcp_output_wrote(o, at);
    sent->frames += now.frames;
    sent->datagram_bytes += now.datagram_bytes;
    return at;
}

static void what_is_added_is_framed_and_leaves_in_order(void **state)
{
    (void)state;
    struct tcp_output o;
    struct tcp_output_sent sent = {0};
    tcp_output_init(&o, ring);
    uint8_t out[100];
    assert_int_equal(tcp_output_add(&o, bytes_view_of("ab", 2)), 0);
    assert_int_equal(tcp_output_add(&o, bytes_view_of("cde", 3)), 0);
    assert_int_equal(tcp_output_frame_count(&o), 2);
    assert_int_equal(take(&o, out, sizeof(out), &sent), 9);
    assert_memory_equal(out, "\0\2ab\0\3cde", 9);
    assert_int_equal(sent.frames, 2);
    assert_int_equal(sent.datagram_bytes, 5);
    assert_int_equal(tcp_output_frame_count(&o), 0);
}

static void a_full_queue_gives_up_its_oldest_frames(void **state)
{
    (void)state;
    struct tcp_output o;
    tcp_output_init(&o, ring);
    const size_t fit = TCP_OUTPUT_BYTES / 1002;
    for (uint32_t i = 0; i < fit; i++) {
        assert_int_equal(tcp_output_add(&o, numbered(i, 1000)), 0);
    }
    assert_int_equal(tcp_output_add(&o, numbered(99, 1500)), 2);
    assert_true(waiting_bytes(&o) <= TCP_OUTPUT_BYTES);
    struct bytes_view piece[TCP_OUTPUT_PIECES];
    (void)tcp_output_peek(&o, piece);
    assert_int_equal(piece[0].data[5], 2); /* 0 and 1 went */
}

/* The last frame that fits, and the first that costs another. */
static void a_queue_holds_64_KB_and_no_byte_more(void **state)
{
    (void)state;
    struct tcp_output o;
    tcp_output_init(&o, ring);
    for (size_t left = TCP_OUTPUT_BYTES; left > 0;) {
        const size_t frame = left > TCP_FRAME_BYTES_MAX ? 1024 : left;
        assert_int_equal(tcp_output_add(&o, numbered(0, frame - TCP_FRAME_HEADER_BYTES)), 0);
        left -= frame;
    }
    assert_int_equal(waiting_bytes(&o), TCP_OUTPUT_BYTES);
    assert_int_equal(tcp_output_add(&o, bytes_view_of("x", 1)), 1);
}

static void a_frame_that_was_begun_is_finished(void **state)
{
    (void)state;
    struct tcp_output o;
    struct tcp_output_sent sent = {0};
    uint8_t out[1002];
    for (size_t cut = 1; cut < 1002; cut += 7) {
        tcp_output_init(&o, ring);
        (void)tcp_output_add(&o, numbered(7, 1000));
        assert_int_equal(take(&o, out, cut, &sent), cut);
        size_t dropped = 0;
        for (uint32_t i = 0; i < 200; i++) {
            dropped += tcp_output_add(&o, numbered(100 + i, 1000));
        }
        assert_true(dropped > 100);
        assert_true(waiting_bytes(&o) <= TCP_OUTPUT_BYTES);
        assert_int_equal(take(&o, out + cut, 1002 - cut, &sent), 1002 - cut);
        assert_memory_equal(out + 2, "\0\0\0\7", 4);
        struct bytes_view piece[TCP_OUTPUT_PIECES];
        (void)tcp_output_peek(&o, piece);
        assert_int_equal(piece[0].data[0] << 8 | piece[0].data[1], 1000); /* a frame's beginning */
    }
}

/* Whatever is added and taken: whole frames arrive, their numbers rise, and each frame is sent,
 * dropped or waiting. */
static void the_stream_stays_whole_whatever_happens(void **state)
{
    (void)state;
    struct tcp_output o;
    struct tcp_frame_reader reader;
    struct tcp_output_sent sent = {0};
    struct random_generator random;
    random_generator_init(&random, 5);
    tcp_output_init(&o, ring);
    tcp_frame_reader_init(&reader);
    uint32_t next = 0;
    uint32_t arrived_next = 0;
    size_t arrived = 0;
    size_t dropped = 0;
    for (unsigned step = 0; step < 200000; step++) {
        const uint64_t dice = random_generator_next(&random);
        if (dice % 3 != 0) {
            dropped += tcp_output_add(&o, numbered(next++, 20 + (dice >> 8) % 1481));
        }
        const struct bytes_span room = tcp_frame_reader_room(&reader);
        const size_t want = (dice >> 32) % 900;
        tcp_frame_reader_filled(&reader,
                                take(&o, room.data, want < room.cap ? want : room.cap, &sent));
        struct bytes_view datagram;
        enum tcp_frame_result result;
        while ((result = tcp_frame_reader_take(&reader, &datagram)) == TCP_FRAME_DATAGRAM) {
            struct byte_reader r;
            byte_reader_init(&r, datagram);
            const uint32_t number = byte_reader_u32(&r);
            assert_true(number >= arrived_next);
            arrived_next = number + 1;
            arrived++;
        }
        assert_int_equal(result, TCP_FRAME_INCOMPLETE);
        assert_true(waiting_bytes(&o) <= TCP_OUTPUT_BYTES);
        assert_int_equal(arrived, sent.frames);
        assert_int_equal(sent.frames + dropped + tcp_output_frame_count(&o), next);
    }
    assert_true(dropped > 1000 && arrived > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_framed_and_leaves_in_order),
        cmocka_unit_test(a_full_queue_gives_up_its_oldest_frames),
        cmocka_unit_test(a_queue_holds_64_KB_and_no_byte_more),
        cmocka_unit_test(a_frame_that_was_begun_is_finished),
        cmocka_unit_test(the_stream_stays_whole_whatever_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
