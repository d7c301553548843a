/* message_outbox_test.c - messages leave whole, in order, in chunks, and no more wait than may */
#include "tests/testing.h"

#include "services/inference-stub/message_outbox.h"

#include <stdlib.h>

static struct message_outbox outbox;
static uint8_t data[3 * BACKEND_CHUNK_BYTES];

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)(i * 7 + i / 251);
    }
    message_outbox_init(&outbox);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    message_outbox_clear(&outbox);
    return 0;
}

static struct outbox_message event(size_t len)
{
    return (struct outbox_message){.type = BACKEND_EVENT, .bytes = bytes_view_of(data, len)};
}

/* Takes one message of that type and length. */
static void expect(unsigned type, size_t len)
{
    struct backend_frame frame;
    size_t got = 0;
    do {
        assert_true(message_outbox_take(&outbox, &frame));
        assert_int_equal(frame.type, type);
        assert_true(frame.payload.len <= BACKEND_CHUNK_BYTES && frame.payload.len <= len - got);
        if (frame.payload.len > 0) {
            assert_memory_equal(frame.payload.data, data + got, frame.payload.len);
        }
        got += frame.payload.len;
    } while ((frame.flags & BACKEND_FLAG_LAST) == 0);
    assert_int_equal(got, len);
}

static void a_message_leaves_in_chunks_and_the_last_is_marked(void **state)
{
    (void)state;
    static const size_t len[] = {
        0, 1, BACKEND_CHUNK_BYTES, BACKEND_CHUNK_BYTES + 1, 2 * BACKEND_CHUNK_BYTES, sizeof(data)};
    for (size_t i = 0; i < COUNT_OF(len); i++) {
        const struct outbox_message message = event(len[i]);
        assert_true(message_outbox_put(&outbox, &message));
    }
    for (size_t i = 0; i < COUNT_OF(len); i++) {
        expect(BACKEND_EVENT, len[i]);
    }
    struct backend_frame frame;
    assert_false(message_outbox_take(&outbox, &frame));
    assert_true(message_outbox_is_empty(&outbox));
}

static void an_event_for_one_names_its_side_band_in_each_chunk(void **state)
{
    (void)state;
    struct backend_frame frame;
    struct outbox_message message = event(BACKEND_CHUNK_BYTES + 1);
    message.is_of_one = true;
    message.sideband = 9;
    assert_true(message_outbox_put(&outbox, &message));
    for (size_t i = 0; i < 2; i++) {
        assert_true(message_outbox_take(&outbox, &frame));
        assert_int_equal(frame.utterance, 9);
        assert_int_equal(frame.flags, i == 0 ? 0x01 : 0x01 | BACKEND_FLAG_LAST);
    }
}

static void a_channels_message_begins_with_its_head(void **state)
{
    (void)state;
    struct backend_frame frame;
    struct outbox_message message = event(0);
    message.type = BACKEND_CHANNEL_DATA;
    message.head = bytes_view_of_text("{}");
    assert_true(message_outbox_put(&outbox, &message));
    assert_true(message_outbox_take(&outbox, &frame));
    assert_int_equal(frame.payload.len, 2);
    assert_int_equal(frame.flags, 0);
    expect(BACKEND_CHANNEL_DATA, 0);
}

static void more_than_may_wait_is_refused(void **state)
{
    (void)state;
    const struct outbox_message small = event(1);
    for (size_t i = 0; i < OUTBOX_MESSAGES; i++) {
        assert_true(message_outbox_put(&outbox, &small));
    }
    assert_false(message_outbox_put(&outbox, &small));
    expect(BACKEND_EVENT, 1);
    assert_true(message_outbox_put(&outbox, &small));
    message_outbox_clear(&outbox);
    const struct outbox_message large = event(sizeof(data));
    for (size_t i = 0; i < OUTBOX_BYTES / sizeof(data); i++) {
        assert_true(message_outbox_put(&outbox, &large));
    }
    assert_false(message_outbox_put(&outbox, &large));
}

static void a_lent_message_leaves_before_what_is_put_meanwhile(void **state)
{
    (void)state;
    struct backend_frame frame;
    const struct outbox_message lent = event(BACKEND_CHUNK_BYTES + 5);
    const struct outbox_message small = event(3);
    message_outbox_lend(&outbox, &lent);
    assert_false(message_outbox_is_empty(&outbox));
    assert_true(message_outbox_put(&outbox, &small));
    assert_true(message_outbox_take(&outbox, &frame));
    assert_ptr_equal(frame.payload.data, data);
    assert_true(message_outbox_take(&outbox, &frame));
    assert_int_equal(frame.flags, BACKEND_FLAG_LAST);
    expect(BACKEND_EVENT, 3);
}

static void a_message_under_way_begins_anew_on_another_connection(void **state)
{
    (void)state;
    struct backend_frame frame;
    const struct outbox_message message = event(sizeof(data));
    assert_true(message_outbox_put(&outbox, &message));
    assert_true(message_outbox_take(&outbox, &frame));
    message_outbox_rewind(&outbox);
    expect(BACKEND_EVENT, sizeof(data));
    message_outbox_rewind(&outbox);
    assert_false(message_outbox_take(&outbox, &frame));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_leaves_in_chunks_and_the_last_is_marked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_event_for_one_names_its_side_band_in_each_chunk, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_channels_message_begins_with_its_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_than_may_wait_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lent_message_leaves_before_what_is_put_meanwhile, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_message_under_way_begins_anew_on_another_connection,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
