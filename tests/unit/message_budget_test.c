/* message_budget_test.c - 2,000 messages and 2 MB a second, and twice that at once */
#include "tests/testing.h"

#include "services/transceiver/core/session/message_budget.h"

#define NOW_US (50 * US_PER_S)

/* How many messages of so many bytes pass at this instant. */
static size_t burst(struct message_budget *b, size_t bytes, uint64_t now_us)
{
    size_t count = 0;
    while (message_budget_next_us(b) <= now_us) {
        message_budget_take(b, bytes, now_us);
        count++;
    }
    return count;
}

static void two_seconds_worth_pass_at_once(void **state)
{
    struct message_budget small = {0};
    struct message_budget large = {0};
    (void)state;
    assert_int_equal(burst(&small, 1, NOW_US), 2 * MESSAGE_BUDGET_PER_S + 1);
    assert_int_equal(burst(&large, 20000, NOW_US), 201);
}

static void afterwards_the_rate_holds(void **state)
{
    static const struct {
        size_t bytes;
        size_t per_s;
    } table[] = {{0, 2000}, {100, 2000}, {1000, 2000}, {2000, 1000}, {20000, 100}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct message_budget b = {0};
        size_t count = 0;
        (void)burst(&b, table[i].bytes, NOW_US);
        for (uint64_t t = 1; t <= 10; t++) {
            count += burst(&b, table[i].bytes, NOW_US + t * US_PER_S);
        }
        assert_int_equal(count, 10 * table[i].per_s);
    }
}

static void who_waits_knows_until_when(void **state)
{
    struct message_budget b = {0};
    (void)state;
    (void)burst(&b, 1, NOW_US);
    const uint64_t next_us = message_budget_next_us(&b);
    assert_true(next_us > NOW_US && next_us <= NOW_US + 500);
    assert_int_equal(burst(&b, 1, next_us - 1), 0);
    assert_int_equal(burst(&b, 1, next_us), 1);
}

static void a_rest_earns_no_more_than_the_burst(void **state)
{
    struct message_budget b = {0};
    (void)state;
    (void)burst(&b, 1, NOW_US);
    assert_int_equal(burst(&b, 1, NOW_US + 3600 * US_PER_S), 2 * MESSAGE_BUDGET_PER_S + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_seconds_worth_pass_at_once),
        cmocka_unit_test(afterwards_the_rate_holds),
        cmocka_unit_test(who_waits_knows_until_when),
        cmocka_unit_test(a_rest_earns_no_more_than_the_burst),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
