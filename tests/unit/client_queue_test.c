/* client_queue_test.c - what waits for an event channel: in order, and bounded both ways */
#include "tests/testing.h"

#include "services/transceiver/core/session/client_queue.h"

static void texts_come_out_in_order_as_copies(void **state)
{
    struct client_queue q = {0};
    struct bytes_view out;
    char text[] = "a";
    (void)state;
    assert_false(client_queue_peek(&q, &out));
    for (; text[0] <= 'c'; text[0]++) {
        assert_true(client_queue_put(&q, bytes_view_of(text, 1)));
    }
    assert_true(client_queue_put(&q, bytes_view_of(NULL, 0)));
    for (text[0] = 'a'; text[0] <= 'c'; text[0]++) {
        assert_true(client_queue_peek(&q, &out));
        assert_true(bytes_equal(out, bytes_view_of(text, 1)));
        client_queue_drop(&q);
    }
    assert_true(client_queue_peek(&q, &out));
    assert_int_equal(out.len, 0);
    client_queue_drop(&q);
    assert_int_equal(q.count, 0);
    assert_true(client_queue_put(&q, bytes_view_of(text, 1)));
    client_queue_clear(&q);
}

static void a_megabyte_waits_and_not_a_byte_more(void **state)
{
    static const uint8_t text[CLIENT_QUEUE_BYTES_MAX / 4];
    struct client_queue q = {0};
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_true(client_queue_put(&q, bytes_view_of(text, sizeof(text))));
    }
    assert_false(client_queue_put(&q, bytes_view_of(text, 1)));
    assert_true(client_queue_put(&q, bytes_view_of(text, 0)));
    client_queue_drop(&q);
    assert_true(client_queue_put(&q, bytes_view_of(text, sizeof(text))));
    assert_false(client_queue_put(&q, bytes_view_of(text, 1)));
    client_queue_clear(&q);
}

static void texts_without_bytes_are_bounded_too(void **state)
{
    struct client_queue q = {0};
    (void)state;
    for (size_t i = 0; i < CLIENT_QUEUE_COUNT_MAX; i++) {
        assert_true(client_queue_put(&q, bytes_view_of(NULL, 0)));
    }
    assert_false(client_queue_put(&q, bytes_view_of(NULL, 0)));
    client_queue_clear(&q);
    assert_int_equal(q.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_out_in_order_as_copies),
        cmocka_unit_test(a_megabyte_waits_and_not_a_byte_more),
        cmocka_unit_test(texts_without_bytes_are_bounded_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
