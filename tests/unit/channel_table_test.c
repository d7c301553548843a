/* channel_table_test.c - sixteen channels, and a bit for each stream that is to be reset */
#include "tests/testing.h"

#include "services/transceiver/core/session/channel_table.h"

static void a_channel_is_found_by_its_stream(void **state)
{
    struct channel_table t = {0};
    (void)state;
    assert_null(channel_table_find(&t, 0));
    struct data_channel *c = channel_table_add(&t, 0, bytes_view_of_text("chat"));
    assert_string_equal(c->label, "chat");
    assert_ptr_equal(channel_table_find(&t, 0), c);
    assert_null(channel_table_find(&t, 1));
    assert_null(channel_table_find_event(&t));
    c->is_event = true;
    assert_ptr_equal(channel_table_find_event(&t), c);
    c->is_used = false;
    assert_null(channel_table_find(&t, 0));
    assert_null(channel_table_find_event(&t));
}

static void the_seventeenth_finds_no_slot_until_one_is_free(void **state)
{
    struct channel_table t = {0};
    uint16_t stream[CHANNEL_TABLE_MAX];
    (void)state;
    for (uint16_t i = 0; i < CHANNEL_TABLE_MAX; i++) {
        assert_non_null(channel_table_add(&t, (uint16_t)(100 + i), bytes_view_of_text("")));
    }
    assert_null(channel_table_add(&t, 1, bytes_view_of_text("")));
    assert_int_equal(channel_table_streams(&t, stream), CHANNEL_TABLE_MAX);
    channel_table_find(&t, 107)->is_used = false;
    assert_int_equal(channel_table_streams(&t, stream), CHANNEL_TABLE_MAX - 1);
    assert_non_null(channel_table_add(&t, 1, bytes_view_of_text("")));
}

/* A slot that is used again holds nothing of before, and the longest label has its NUL. */
static void a_slot_begins_empty(void **state)
{
    struct channel_table t = {0};
    char label[DCEP_NAME_BYTES_MAX];
    (void)state;
    memset(label, 'x', sizeof(label));
    struct data_channel *c = channel_table_add(&t, 1, bytes_view_of(label, sizeof(label)));
    assert_int_equal(strlen(c->label), DCEP_NAME_BYTES_MAX);
    c->is_used = false;
    assert_ptr_equal(channel_table_add(&t, 2, bytes_view_of_text("y")), c);
    assert_string_equal(c->label, "y");
}

static void each_stream_is_reset_once_however_often_it_was_wanted(void **state)
{
    static const uint16_t wanted[] = {0, 7, 8, SCTP_STREAMS - 1};
    struct channel_table t = {0};
    uint16_t stream[3];
    (void)state;
    assert_int_equal(channel_table_take_resets(&t, stream, COUNT_OF(stream)), 0);
    for (size_t i = 0; i < 2 * COUNT_OF(wanted); i++) {
        channel_table_want_reset(&t, wanted[i % COUNT_OF(wanted)]);
    }
    assert_int_equal(channel_table_take_resets(&t, stream, COUNT_OF(stream)), 3);
    assert_memory_equal(stream, wanted, sizeof(stream));
    assert_int_equal(channel_table_take_resets(&t, stream, COUNT_OF(stream)), 1);
    assert_int_equal(stream[0], SCTP_STREAMS - 1);
    assert_int_equal(channel_table_take_resets(&t, stream, COUNT_OF(stream)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_channel_is_found_by_its_stream),
        cmocka_unit_test(the_seventeenth_finds_no_slot_until_one_is_free),
        cmocka_unit_test(a_slot_begins_empty),
        cmocka_unit_test(each_stream_is_reset_once_however_often_it_was_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
