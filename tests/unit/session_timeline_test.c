/* session_timeline_test.c - the first time counts, and the moments make the state */
#include "tests/testing.h"

#include "services/transceiver/core/session/session_timeline.h"

static void a_moment_is_noted_once(void **state)
{
    (void)state;
    uint64_t moment_us = 0;
    session_timeline_note(&moment_us, 5);
    session_timeline_note(&moment_us, 6);
    assert_int_equal(moment_us, 5);
}

static void the_state_follows_from_what_has_happened(void **state)
{
    (void)state;
    struct session_timeline t = {.created_us = 1};
    assert_int_equal(session_timeline_state(&t), SESSION_CHECKING);
    t.accepted_us = 2; /* the backend is no part of it */
    assert_int_equal(session_timeline_state(&t), SESSION_CHECKING);
    t.first_check_us = 3;
    assert_int_equal(session_timeline_state(&t), SESSION_HANDSHAKE);
    t.connected_us = 4;
    assert_int_equal(session_timeline_state(&t), SESSION_CONNECTED);
    t.ended_us = 5;
    assert_int_equal(session_timeline_state(&t), SESSION_ENDED);
    t = (struct session_timeline){.created_us = 1, .ended_us = 2};
    assert_int_equal(session_timeline_state(&t), SESSION_ENDED);
}

static void every_reason_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < SESSION_END_REASON_COUNT; i++) {
        const char *name = session_end_reason_name((enum session_end_reason)i);
        assert_non_null(name);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(name, session_end_reason_name((enum session_end_reason)j));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moment_is_noted_once),
        cmocka_unit_test(the_state_follows_from_what_has_happened),
        cmocka_unit_test(every_reason_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
