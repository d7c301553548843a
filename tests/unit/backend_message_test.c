/* backend_message_test.c - messages in chunks: their length, their header, their end */
#include "tests/testing.h"

#include "common/backend_link/backend_message.h"

#define LAST BACKEND_FLAG_LAST

static const char header[] = "{\"channel\":1,\"label\":\"files\",\"binary\":true}";

static enum backend_chunk_result input(struct backend_chunks *c, uint8_t type, uint16_t flags,
                                       const char *text, size_t bytes_max)
{
    const struct backend_frame frame = {
        .type = type, .flags = flags, .payload = bytes_view_of_text(text)};
    return backend_chunks_input(c, &frame, bytes_max);
}

static void a_message_of_one_chunk_is_whole(void **state)
{
    (void)state;
    struct backend_chunks c = {0};
    assert_int_equal(input(&c, BACKEND_EVENT, LAST, "{}", 8), BACKEND_CHUNK_WHOLE);
    assert_int_equal(input(&c, BACKEND_EVENT, LAST, "", 8), BACKEND_CHUNK_WHOLE);
}

static void a_message_ends_with_its_last_chunk_and_may_be_as_long_as_the_bound(void **state)
{
    (void)state;
    struct backend_chunks c = {0};
    for (int message = 0; message < 2; message++) {
        assert_int_equal(input(&c, BACKEND_EVENT, 0, "1234", 8), BACKEND_CHUNK_MORE);
        assert_int_equal(input(&c, BACKEND_EVENT, LAST, "5678", 8), BACKEND_CHUNK_WHOLE);
    }
}

static void a_message_that_is_too_long_is_told_once_and_the_next_one_is_good(void **state)
{
    (void)state;
    struct backend_chunks c = {0};
    assert_int_equal(input(&c, BACKEND_EVENT, 0, "12345678", 8), BACKEND_CHUNK_MORE);
    assert_int_equal(input(&c, BACKEND_EVENT, 0, "9", 8), BACKEND_CHUNK_TOO_LONG);
    assert_int_equal(input(&c, BACKEND_EVENT, 0, "", 8), BACKEND_CHUNK_MORE);
    assert_int_equal(input(&c, BACKEND_EVENT, LAST, "123", 8), BACKEND_CHUNK_MORE);
    assert_int_equal(input(&c, BACKEND_EVENT, LAST, "12345678", 8), BACKEND_CHUNK_WHOLE);
    assert_int_equal(input(&c, BACKEND_EVENT, LAST, "123456789", 8), BACKEND_CHUNK_TOO_LONG);
}

static void data_of_a_channel_has_a_header_and_then_its_bytes(void **state)
{
    (void)state;
    struct backend_chunks c = {0};
    for (int message = 0; message < 2; message++) {
        assert_int_equal(input(&c, BACKEND_CHANNEL_DATA, 0, header, 8), BACKEND_CHUNK_MORE);
        assert_int_equal(input(&c, BACKEND_CHANNEL_DATA, 0, "1234", 8), BACKEND_CHUNK_MORE);
        assert_int_equal(input(&c, BACKEND_CHANNEL_DATA, LAST, "", 8), BACKEND_CHUNK_WHOLE);
    }
}

static void data_without_a_header_or_with_nothing_else_is_bad(void **state)
{
    (void)state;
    struct backend_chunks c = {0};
    assert_int_equal(input(&c, BACKEND_CHANNEL_DATA, 0, "bytes", 8), BACKEND_CHUNK_BAD_HEADER);
    assert_int_equal(input(&c, BACKEND_CHANNEL_DATA, LAST, header, 8), BACKEND_CHUNK_BAD_HEADER);
}

static void a_channel_and_a_sideband_survive_a_round_trip(void **state)
{
    (void)state;
    char text[256];
    const struct backend_channel channel = {3, "files", true, false};
    struct backend_channel channel_out;
    size_t len = backend_channel_encode(&channel, text, sizeof(text));
    assert_true(len > 0 && backend_channel_decode(bytes_view_of(text, len), &channel_out));
    assert_int_equal(channel_out.channel, 3);
    assert_string_equal(channel_out.label, "files");
    assert_true(channel_out.is_binary);
    assert_false(channel_out.is_ordered);
    const struct backend_sideband sideband = {9, true};
    struct backend_sideband sideband_out;
    len = backend_sideband_encode(&sideband, text, sizeof(text));
    assert_true(len > 0 && backend_sideband_decode(bytes_view_of(text, len), &sideband_out));
    assert_int_equal(sideband_out.id, 9);
    assert_true(sideband_out.is_attached);
    assert_true(backend_sideband_decode(bytes_view_of_text("{\"state\":\"gone\"}"), &sideband_out));
    assert_false(sideband_out.is_attached);
    assert_false(backend_sideband_decode(bytes_view_of_text("{}"), &sideband_out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_of_one_chunk_is_whole),
        cmocka_unit_test(a_message_ends_with_its_last_chunk_and_may_be_as_long_as_the_bound),
        cmocka_unit_test(a_message_that_is_too_long_is_told_once_and_the_next_one_is_good),
        cmocka_unit_test(data_of_a_channel_has_a_header_and_then_its_bytes),
        cmocka_unit_test(data_without_a_header_or_with_nothing_else_is_bad),
        cmocka_unit_test(a_channel_and_a_sideband_survive_a_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
