/* call_works_test.c - places for requests under way, and tickets that tell their uses apart */
#include "tests/testing.h"

#include "services/signaling/call_works.h"

#include <stdlib.h>

static void as_many_begin_as_there_are_places(void **state)
{
    (void)state;
    struct call_works works;
    assert_true(call_works_init(&works, 2));
    assert_true(call_works_is_empty(&works));
    struct call_work *first = call_works_begin(&works, CALL_WORK_OFFER, 11, 5);
    struct call_work *second = call_works_begin(&works, CALL_WORK_HANGUP, 12, 6);
    assert_non_null(first);
    assert_int_equal(second->started_us, 6);
    assert_null(call_works_begin(&works, CALL_WORK_OFFER, 13, 7));
    assert_ptr_equal(call_works_of_exchange(&works, 12), second);
    assert_null(call_works_of_exchange(&works, 13));
    call_works_finish(&works, first);
    assert_null(call_works_of_exchange(&works, 11));
    assert_non_null(call_works_begin(&works, CALL_WORK_OFFER, 13, 7));
    call_works_deinit(&works);
}

static void a_place_used_again_has_another_ticket(void **state)
{
    (void)state;
    struct call_works works;
    assert_true(call_works_init(&works, 1));
    uint64_t before = CALL_WORKS_NO_TICKET;
    for (int i = 0; i < 3; i++) {
        struct call_work *w = call_works_begin(&works, CALL_WORK_OFFER, 1, 1);
        const uint64_t ticket = call_works_ticket(&works, w);
        assert_true(ticket != before && ticket != CALL_WORKS_NO_TICKET);
        assert_ptr_equal(call_works_at_ticket(&works, ticket), w);
        w->offer.session = malloc(1); /* goes with the work */
        call_works_finish(&works, w);
        assert_true(call_works_is_empty(&works));
        before = ticket;
    }
    call_works_deinit(&works);
}

static void work_for_a_call_knows_it_and_its_owner(void **state)
{
    (void)state;
    struct call_works works;
    const char call_id[] = "rtc_H0-PHtjQYoeTQjD284teUfQ and more";
    assert_true(call_works_init(&works, 1));
    const struct call_work *w = call_works_begin_for(
        &works, CALL_WORK_PATCH, 1, bytes_view_of(call_id, CALL_ID_CHARS), 0x5eed0001, 1);
    assert_int_equal(w->instance_id, 0x5eed0001);
    assert_string_equal(w->id.text, "rtc_H0-PHtjQYoeTQjD284teUfQ");
    assert_null(call_works_begin_for(&works, CALL_WORK_PATCH, 1,
                                     bytes_view_of(call_id, CALL_ID_CHARS), 1, 1));
    call_works_deinit(&works);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_begin_as_there_are_places),
        cmocka_unit_test(a_place_used_again_has_another_ticket),
        cmocka_unit_test(work_for_a_call_knows_it_and_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
