/* backend_frame_test.c - any split gives the same frames, and no byte of a stranger passes a bound
 */
#include "tests/testing.h"

#include "common/backend_link/backend_frame.h"
#include "common/base/random.h"

#include <stdlib.h>

#define STREAM_FRAMES 5

struct stream {
    uint8_t bytes[4 * BACKEND_FRAME_BYTES_MAX];
    size_t len;
    size_t frame_end[STREAM_FRAMES];
};

static uint8_t payload_octet(size_t i)
{
    return (uint8_t)(i * 31 + i / 251);
}

/* Frames of every interesting size: empty, odd, a usual one, the largest, an empty one again. */
static const size_t payload_bytes[STREAM_FRAMES] = {0, 1, 960, BACKEND_FRAME_PAYLOAD_MAX, 0};

static struct stream *build_stream(void)
{
    static struct stream s;
    static uint8_t payload[BACKEND_FRAME_PAYLOAD_MAX];
    for (size_t i = 0; i < sizeof(payload); i++) {
        payload[i] = payload_octet(i);
    }
    s.len = 0;
    for (size_t i = 0; i < STREAM_FRAMES; i++) {
        const struct backend_frame frame = {.type = BACKEND_AUDIO_OUT,
                                            .session = 3,
                                            .sequence = (uint32_t)i,
                                            .payload = {payload, payload_bytes[i]}};
        backend_frame_encode_header(&frame, s.bytes + s.len);
        memcpy(s.bytes + s.len + BACKEND_FRAME_HEADER_BYTES, payload, payload_bytes[i]);
        s.len += BACKEND_FRAME_HEADER_BYTES + payload_bytes[i];
        s.frame_end[i] = s.len;
    }
    return &s;
}

static void poll_expected(struct backend_frame_reader *r, size_t *count)
{
    struct backend_frame frame;
    enum backend_frame_result result;
    while ((result = backend_frame_reader_poll(r, &frame)) == BACKEND_FRAME_OK) {
        assert_true(*count < STREAM_FRAMES);
        assert_int_equal(frame.sequence, *count);
        assert_int_equal(frame.payload.len, payload_bytes[*count]);
        for (size_t i = 0; i < frame.payload.len; i++) {
            assert_true(frame.payload.data[i] == payload_octet(i));
        }
        *count += 1;
    }
    assert_int_equal(result, BACKEND_FRAME_MORE);
}

/* Feeds the stream in pieces of at most piece_max bytes (random ones with a generator). */
static void feed_in_pieces(const struct stream *s, size_t piece_max, struct random_generator *g)
{
    struct backend_frame_reader *r = backend_frame_reader_create();
    assert_non_null(r);
    size_t count = 0;
    for (size_t offset = 0; offset < s->len;) {
        const struct bytes_span room = backend_frame_reader_reserve(r);
        assert_true(room.cap > 0);
        size_t piece = g == NULL ? piece_max : 1 + random_generator_next(g) % piece_max;
        piece = piece < room.cap ? piece : room.cap;
        piece = piece < s->len - offset ? piece : s->len - offset;
        memcpy(room.data, s->bytes + offset, piece);
        backend_frame_reader_commit(r, piece);
        offset += piece;
        poll_expected(r, &count);
    }
    assert_int_equal(count, STREAM_FRAMES);
    backend_frame_reader_destroy(r);
}

static void any_split_gives_the_same_frames(void **state)
{
    (void)state;
    static const size_t piece[] = {1, 2, 3, 31, 32, 33, 991, 65539, 65540, 65541};
    const struct stream *s = build_stream();
    for (size_t i = 0; i < COUNT_OF(piece); i++) {
        feed_in_pieces(s, piece[i], NULL);
    }
    struct random_generator g;
    random_generator_init(&g, 1);
    for (size_t i = 0; i < 20; i++) {
        feed_in_pieces(s, 1000, &g);
        feed_in_pieces(s, 100000, &g);
    }
}

static void a_frame_cut_at_any_byte_asks_for_more(void **state)
{
    (void)state;
    const struct stream *s = build_stream();
    for (size_t i = 0; i < STREAM_FRAMES; i++) {
        const size_t begin = i == 0 ? 0 : s->frame_end[i - 1];
        struct backend_frame frame;
        size_t frame_bytes = 0;
        for (size_t end = begin; end < s->frame_end[i]; end++) {
            assert_int_equal(backend_frame_decode(bytes_view_of(s->bytes + begin, end - begin),
                                                  &frame, &frame_bytes),
                             BACKEND_FRAME_MORE);
        }
        assert_int_equal(
            backend_frame_decode(bytes_view_of(s->bytes + begin, s->frame_end[i] - begin), &frame,
                                 &frame_bytes),
            BACKEND_FRAME_OK);
        assert_int_equal(frame_bytes, s->frame_end[i] - begin);
    }
}

static void the_length_is_checked_on_both_sides_of_both_bounds(void **state)
{
    (void)state;
    static const struct {
        uint32_t length;
        enum backend_frame_result want; /* of the five bytes length and magic */
    } cases[] = {
        {0, BACKEND_FRAME_LENGTH},
        {BACKEND_FRAME_LENGTH_MIN - 1, BACKEND_FRAME_LENGTH},
        {BACKEND_FRAME_LENGTH_MIN, BACKEND_FRAME_MORE},
        {BACKEND_FRAME_LENGTH_MAX, BACKEND_FRAME_MORE},
        {BACKEND_FRAME_LENGTH_MAX + 1, BACKEND_FRAME_LENGTH},
        {UINT32_MAX, BACKEND_FRAME_LENGTH},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t bytes[5];
        struct byte_writer w;
        byte_writer_init(&w, bytes, sizeof(bytes));
        byte_writer_u32_le(&w, cases[i].length);
        byte_writer_u8(&w, BACKEND_FRAME_MAGIC);
        struct backend_frame frame;
        size_t frame_bytes = 0;
        assert_int_equal(backend_frame_decode(bytes_view_of(bytes, 5), &frame, &frame_bytes),
                         cases[i].want);
        assert_int_equal(backend_frame_decode(bytes_view_of(bytes, 4), &frame, &frame_bytes),
                         cases[i].want);
        assert_int_equal(backend_frame_decode(bytes_view_of(bytes, 3), &frame, &frame_bytes),
                         BACKEND_FRAME_MORE);
    }
}

static void every_other_magic_is_refused(void **state)
{
    (void)state;
    for (unsigned magic = 0; magic < 256; magic++) {
        const uint8_t bytes[5] = {BACKEND_FRAME_LENGTH_MIN, 0, 0, 0, (uint8_t)magic};
        struct backend_frame frame;
        size_t frame_bytes = 0;
        assert_int_equal(
            backend_frame_decode(bytes_view_of(bytes, sizeof(bytes)), &frame, &frame_bytes),
            magic == BACKEND_FRAME_MAGIC ? BACKEND_FRAME_MORE : BACKEND_FRAME_BAD_MAGIC);
    }
}

/* A flipped bit may change what a frame says, never how far it reads. */
static void a_flipped_bit_never_reads_past_the_bytes(void **state)
{
    (void)state;
    const struct stream *s = build_stream();
    const size_t begin = s->frame_end[1];
    const size_t len = s->frame_end[2] - begin;
    uint8_t *bytes = malloc(len); /* exact: the sanitizer sees one byte too many */
    assert_non_null(bytes);
    memcpy(bytes, s->bytes + begin, len);
    for (size_t bit = 0; bit < 8 * (size_t)BACKEND_FRAME_HEADER_BYTES; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct backend_frame frame;
        size_t frame_bytes = 0;
        const enum backend_frame_result result =
            backend_frame_decode(bytes_view_of(bytes, len), &frame, &frame_bytes);
        if (bit >= 40) {
            assert_int_equal(result, BACKEND_FRAME_OK);
            assert_int_equal(frame_bytes, len);
        } else if (bit >= 32) {
            assert_int_equal(result, BACKEND_FRAME_BAD_MAGIC);
        } else if (result == BACKEND_FRAME_OK) {
            assert_true(frame_bytes < len);
            assert_ptr_equal(frame.payload.data, bytes + BACKEND_FRAME_HEADER_BYTES);
        }
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(bytes);
}

static void a_broken_stream_stays_broken(void **state)
{
    (void)state;
    struct backend_frame_reader *r = backend_frame_reader_create();
    assert_non_null(r);
    const struct backend_frame good = {.type = BACKEND_PING};
    struct bytes_span room = backend_frame_reader_reserve(r);
    backend_frame_encode_header(&good, room.data);
    memcpy(room.data + BACKEND_FRAME_HEADER_BYTES, "GET / HTTP/1.1\r\n", 16);
    backend_frame_reader_commit(r, BACKEND_FRAME_HEADER_BYTES + 16);
    struct backend_frame frame;
    assert_int_equal(backend_frame_reader_poll(r, &frame), BACKEND_FRAME_OK);
    assert_int_equal(frame.type, BACKEND_PING);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(backend_frame_reader_poll(r, &frame), BACKEND_FRAME_LENGTH);
        room = backend_frame_reader_reserve(r);
        backend_frame_encode_header(&good, room.data);
        backend_frame_reader_commit(r, BACKEND_FRAME_HEADER_BYTES);
    }
    backend_frame_reader_destroy(r);
    backend_frame_reader_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_split_gives_the_same_frames),
        cmocka_unit_test(a_frame_cut_at_any_byte_asks_for_more),
        cmocka_unit_test(the_length_is_checked_on_both_sides_of_both_bounds),
        cmocka_unit_test(every_other_magic_is_refused),
        cmocka_unit_test(a_flipped_bit_never_reads_past_the_bytes),
        cmocka_unit_test(a_broken_stream_stays_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
