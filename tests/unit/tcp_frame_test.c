/* tcp_frame_test.c - frames out of a stream, however it is cut */
#include "tests/testing.h"

#include "services/relay/core/tcp_frame.h"

/* Reads all of it in steps of at most step bytes; the last result, datagrams counted. */
static enum tcp_frame_result read_all(struct tcp_frame_reader *r, struct bytes_view stream,
                                      size_t step, size_t *count)
{
    enum tcp_frame_result result = TCP_FRAME_INCOMPLETE;
    struct bytes_view datagram;
    size_t at = 0;
    while (at < stream.len && result != TCP_FRAME_BROKEN) {
        const struct bytes_span room = tcp_frame_reader_room(r);
        assert_true(room.cap > 0);
        size_t len = stream.len - at < step ? stream.len - at : step;
        len = len < room.cap ? len : room.cap;
        memcpy(room.data, stream.data + at, len);
        tcp_frame_reader_filled(r, len);
        at += len;
        while ((result = tcp_frame_reader_take(r, &datagram)) == TCP_FRAME_DATAGRAM) {
            for (size_t i = 0; i < datagram.len; i++) {
                assert_int_equal(datagram.data[i], (uint8_t)datagram.len);
            }
            (*count)++;
        }
    }
    return result;
}

/* A frame whose bytes all say how long it is. */
static size_t put_frame(uint8_t *out, size_t len)
{
    out[0] = (uint8_t)(len >> 8);
    out[1] = (uint8_t)len;
    memset(out + TCP_FRAME_HEADER_BYTES, (int)(len & 255), len);
    return TCP_FRAME_HEADER_BYTES + len;
}

static void datagrams_of_20_to_1500_bytes_pass_and_others_break_the_stream(void **state)
{
    (void)state;
    uint8_t stream[2 + 65535];
    for (size_t len = 0; len <= UINT16_MAX; len += len < 1600 ? 1 : 977) {
        struct tcp_frame_reader r;
        tcp_frame_reader_init(&r);
        const size_t bytes = put_frame(stream, len);
        size_t count = 0;
        const enum tcp_frame_result result =
            read_all(&r, bytes_view_of(stream, bytes), bytes, &count);
        const bool is_good = len >= 20 && len <= 1500;
        assert_int_equal(count, is_good);
        assert_int_equal(result, is_good ? TCP_FRAME_INCOMPLETE : TCP_FRAME_BROKEN);
    }
}

static void a_stream_may_be_cut_at_any_byte(void **state)
{
    (void)state;
    uint8_t stream[8000];
    size_t bytes = 0;
    static const size_t lens[] = {20, 1500, 21, 100, 1500, 1500, 60, 700, 20};
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        bytes += put_frame(stream + bytes, lens[i]);
    }
    for (size_t step = 1; step <= TCP_FRAME_BYTES_MAX + 1; step++) {
        struct tcp_frame_reader r;
        tcp_frame_reader_init(&r);
        size_t count = 0;
        assert_int_equal(read_all(&r, bytes_view_of(stream, bytes), step, &count),
                         TCP_FRAME_INCOMPLETE);
        assert_int_equal(count, COUNT_OF(lens));
    }
}

static void a_frame_is_no_datagram_before_its_last_byte(void **state)
{
    (void)state;
    uint8_t stream[TCP_FRAME_BYTES_MAX];
    const size_t bytes = put_frame(stream, 1500);
    for (size_t len = 0; len < bytes; len++) {
        struct tcp_frame_reader r;
        tcp_frame_reader_init(&r);
        size_t count = 0;
        assert_int_equal(read_all(&r, bytes_view_of(stream, len), bytes, &count),
                         TCP_FRAME_INCOMPLETE);
        assert_int_equal(count, 0);
    }
}

static void nothing_is_read_ahead_beyond_one_frame(void **state)
{
    (void)state;
    struct tcp_frame_reader r;
    tcp_frame_reader_init(&r);
    assert_int_equal(tcp_frame_reader_room(&r).cap, TCP_FRAME_BYTES_MAX);
    memset(tcp_frame_reader_room(&r).data, 0, 2);
    tcp_frame_reader_filled(&r, 2);
    assert_int_equal(tcp_frame_reader_room(&r).cap, TCP_FRAME_BYTES_MAX - 2);
}

static void a_broken_stream_stays_broken(void **state)
{
    (void)state;
    uint8_t stream[200];
    size_t bytes = put_frame(stream, 19);
    bytes += put_frame(stream + bytes, 100);
    struct tcp_frame_reader r;
    tcp_frame_reader_init(&r);
    size_t count = 0;
    assert_int_equal(read_all(&r, bytes_view_of(stream, bytes), bytes, &count), TCP_FRAME_BROKEN);
    struct bytes_view datagram;
    assert_int_equal(tcp_frame_reader_take(&r, &datagram), TCP_FRAME_BROKEN);
    assert_int_equal(count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(datagrams_of_20_to_1500_bytes_pass_and_others_break_the_stream),
        cmocka_unit_test(a_stream_may_be_cut_at_any_byte),
        cmocka_unit_test(a_frame_is_no_datagram_before_its_last_byte),
        cmocka_unit_test(nothing_is_read_ahead_beyond_one_frame),
        cmocka_unit_test(a_broken_stream_stays_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
