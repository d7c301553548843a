/* held_ids_test.c - eight ids, each once */
#include "tests/testing.h"

#include "services/transceiver/core/media/held_ids.h"

static void an_id_is_held_once_however_often_it_is_put(void **state)
{
    (void)state;
    struct held_ids h = {0};
    for (int i = 0; i < 2 * HELD_IDS_MAX; i++) {
        assert_true(held_ids_put(&h, 7));
    }
    assert_int_equal(h.count, 1);
    assert_true(held_ids_release(&h, 7, 7));
    assert_false(held_ids_release(&h, 7, 7));
}

static void the_ninth_is_refused_and_one_that_is_there_never(void **state)
{
    (void)state;
    struct held_ids h = {0};
    for (uint32_t id = 1; id <= HELD_IDS_MAX; id++) {
        assert_true(held_ids_put(&h, id));
    }
    assert_false(held_ids_put(&h, HELD_IDS_MAX + 1));
    assert_true(held_ids_put(&h, 1));
    assert_false(held_ids_release(&h, HELD_IDS_MAX + 1, HELD_IDS_MAX + 1));
    assert_true(held_ids_release(&h, 1, 1));
    assert_true(held_ids_put(&h, HELD_IDS_MAX + 1));
}

static void a_release_takes_both_ends_and_says_whether_the_last_was_there(void **state)
{
    (void)state;
    static const struct {
        uint32_t from;
        uint32_t to;
        size_t left;
        bool was_held;
    } c[] = {
        {2, 4, 2, true}, {0, 5, 1, false}, {0, 6, 0, true}, {3, 3, 4, false}, {7, 9, 4, false}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct held_ids h = {.id = {6, 2, 1, 4}, .count = 4};
        assert_int_equal(held_ids_release(&h, c[i].from, c[i].to), c[i].was_held);
        assert_int_equal(h.count, c[i].left);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_held_once_however_often_it_is_put),
        cmocka_unit_test(the_ninth_is_refused_and_one_that_is_there_never),
        cmocka_unit_test(a_release_takes_both_ends_and_says_whether_the_last_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
