/* reply_store_test.c - who gets the same reply again, and for how long */
#include "tests/testing.h"

#include "services/transceiver/port/reply_store.h"

#define BEGIN_US (10 * US_PER_S)

static const uint8_t *id_of(size_t i)
{
    static uint8_t id[CONTROL_REQUEST_ID_BYTES];
    id[0] = (uint8_t)(i / 256);
    id[1] = (uint8_t)(i % 256);
    return id;
}

static void a_reply_is_kept_for_thirty_seconds(void **state)
{
    struct reply_store *s = reply_store_create();
    struct bytes_view reply;
    (void)state;
    assert_false(reply_store_find(s, id_of(0), &reply, BEGIN_US));
    reply_store_put(s, id_of(0), bytes_view_of_text("yes"), BEGIN_US);
    assert_false(reply_store_find(s, id_of(1), &reply, BEGIN_US));
    assert_true(reply_store_find(s, id_of(0), &reply, BEGIN_US + 30 * US_PER_S - 1));
    assert_true(bytes_equal(reply, bytes_view_of_text("yes")));
    assert_false(reply_store_find(s, id_of(0), &reply, BEGIN_US + 30 * US_PER_S));
    reply_store_destroy(s);
}

static void the_oldest_makes_room(void **state)
{
    struct reply_store *s = reply_store_create();
    struct bytes_view reply;
    (void)state;
    for (size_t i = 0; i < REPLY_STORE_MAX; i++) {
        reply_store_put(s, id_of(i), bytes_view_of_text("x"), BEGIN_US);
    }
    assert_true(reply_store_find(s, id_of(0), &reply, BEGIN_US));
    reply_store_put(s, id_of(REPLY_STORE_MAX), bytes_view_of_text("x"), BEGIN_US);
    assert_false(reply_store_find(s, id_of(0), &reply, BEGIN_US));
    assert_true(reply_store_find(s, id_of(1), &reply, BEGIN_US));
    assert_true(reply_store_find(s, id_of(REPLY_STORE_MAX), &reply, BEGIN_US));
    reply_store_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_is_kept_for_thirty_seconds),
        cmocka_unit_test(the_oldest_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
