/* chunked_message_test.c - chunks become one message, up to the protocol's bound */
#include "tests/testing.h"

#include "common/backend_link/backend_payload.h"
#include "services/inference-stub/chunked_message.h"

static uint8_t chunk[BACKEND_MESSAGE_BYTES_MAX];

static void assert_holds(const struct chunked_message *m, const char *text)
{
    const struct bytes_view whole = chunked_message_view(m);
    assert_int_equal(whole.len, strlen(text));
    assert_true(whole.len == 0 || memcmp(whole.data, text, whole.len) == 0);
}

static void chunks_are_put_together_in_order(void **state)
{
    struct chunked_message m = {0};
    (void)state;
    assert_holds(&m, "");
    assert_true(chunked_message_append(&m, bytes_view_of_text("ab")));
    assert_true(chunked_message_append(&m, bytes_view_of_text("")));
    assert_true(chunked_message_append(&m, bytes_view_of_text("cde")));
    assert_holds(&m, "abcde");
    chunked_message_drop(&m);
}

static void a_dropped_message_leaves_room_for_the_next(void **state)
{
    struct chunked_message m = {0};
    (void)state;
    assert_true(chunked_message_append(&m, bytes_view_of(chunk, sizeof(chunk))));
    chunked_message_drop(&m);
    assert_holds(&m, "");
    assert_true(chunked_message_append(&m, bytes_view_of_text("next")));
    assert_holds(&m, "next");
    chunked_message_drop(&m);
    chunked_message_drop(&m);
}

static void a_message_may_be_as_long_as_the_bound_and_no_longer(void **state)
{
    struct chunked_message m = {0};
    (void)state;
    assert_true(chunked_message_append(&m, bytes_view_of(chunk, sizeof(chunk) - 1)));
    assert_false(chunked_message_append(&m, bytes_view_of(chunk, 2)));
    assert_true(chunked_message_append(&m, bytes_view_of(chunk, 1)));
    assert_false(chunked_message_append(&m, bytes_view_of(chunk, 1)));
    assert_true(chunked_message_append(&m, bytes_view_of(NULL, 0)));
    assert_int_equal(chunked_message_view(&m).len, sizeof(chunk));
    chunked_message_drop(&m);
}

static void a_length_that_would_wrap_is_refused(void **state)
{
    struct chunked_message m = {0};
    (void)state;
    assert_true(chunked_message_append(&m, bytes_view_of(chunk, 1)));
    assert_false(chunked_message_append(&m, bytes_view_of(chunk, SIZE_MAX)));
    assert_int_equal(chunked_message_view(&m).len, 1);
    chunked_message_drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_put_together_in_order),
        cmocka_unit_test(a_dropped_message_leaves_room_for_the_next),
        cmocka_unit_test(a_message_may_be_as_long_as_the_bound_and_no_longer),
        cmocka_unit_test(a_length_that_would_wrap_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
