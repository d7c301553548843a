/* relay_self_test_test.c - the golden vectors of docs/wire-formats.md hold in this build */
#include "tests/testing.h"

#include "services/relay/relay_self_test.h"

static void the_golden_vectors_hold(void **state)
{
    (void)state;
    struct fault fault = {0};
    if (!relay_self_test(&fault)) {
        fail_msg("%s", fault.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_golden_vectors_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
