/* rate_buckets_test.c - a burst, a rate, and whom they count for */
#include "tests/testing.h"

#include "common/base/time_us.h"
#include "services/relay/core/rate_buckets.h"

#define START_US (100 * US_PER_S)

static const struct flow_hash_seed seed = {11, 12};

static bool take(struct rate_buckets *b, const char *ip, uint64_t now_us)
{
    struct net_addr source;
    assert_true(net_addr_parse_ip(ip, 4000, &source));
    return rate_buckets_take(b, rate_buckets_block_of(&source), now_us);
}

static unsigned taken(struct rate_buckets *b, const char *ip, unsigned tries, uint64_t now_us)
{
    unsigned count = 0;
    for (unsigned i = 0; i < tries; i++) {
        count += take(b, ip, now_us);
    }
    return count;
}

static void a_burst_passes_and_then_the_rate(void **state)
{
    (void)state;
    struct rate_buckets *b = rate_buckets_create(200, 400, seed);
    assert_int_equal(taken(b, "192.0.2.1", 1000, START_US), 400);
    assert_false(take(b, "192.0.2.1", START_US + 4999));
    assert_true(take(b, "192.0.2.1", START_US + 5000));
    assert_false(take(b, "192.0.2.1", START_US + 5000));
    assert_int_equal(taken(b, "192.0.2.1", 1000, START_US + 1005 * US_PER_MS), 200);
    assert_int_equal(taken(b, "192.0.2.1", 1000, START_US + 100 * US_PER_S), 400);
    rate_buckets_destroy(b);
}

static void a_block_is_a_24_or_a_56(void **state)
{
    (void)state;
    static const struct {
        const char *first;
        const char *second;
        bool same_block;
    } table[] = {
        {"192.0.2.0", "192.0.2.255", true},
        {"192.0.2.255", "192.0.3.0", false},
        {"::ffff:192.0.2.1", "192.0.2.2", true},
        {"2001:db8:0:1200::1", "2001:db8:0:12ff:ffff::", true},
        {"2001:db8:0:1200::1", "2001:db8:0:1300::1", false},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct rate_buckets *b = rate_buckets_create(1, 1, seed);
        assert_true(take(b, table[i].first, START_US));
        assert_int_equal(take(b, table[i].second, START_US), !table[i].same_block);
        rate_buckets_destroy(b);
    }
}

static void the_highest_rate_does_not_divide_by_zero(void **state)
{
    (void)state;
    struct rate_buckets *b = rate_buckets_create(RATE_BUCKETS_RATE_MAX, 1, seed);
    assert_true(take(b, "192.0.2.1", START_US));
    assert_false(take(b, "192.0.2.1", START_US));
    assert_true(take(b, "192.0.2.1", START_US + 1));
    rate_buckets_destroy(b);
}

static void a_rate_need_not_divide_a_million(void **state)
{
    (void)state;
    static const uint32_t rate_per_s[] = {1, 3, 600000, 700001, RATE_BUCKETS_RATE_MAX};
    for (size_t i = 0; i < COUNT_OF(rate_per_s); i++) {
        struct rate_bucket b;
        rate_bucket_init(&b, rate_per_s[i], 10);
        uint64_t now_us = START_US;
        unsigned count = 0;
        for (; now_us <= START_US + US_PER_S; now_us++) {
            while (rate_bucket_take(&b, now_us)) {
                count++;
            }
        }
        assert_in_range(count, rate_per_s[i] + 9, rate_per_s[i] + rate_per_s[i] / 1000 + 11);
    }
}

/* As tokens of ended calls that are used without end: with one row each would keep out all others
 * of its bucket, 1.2 % of them. */
static void who_shares_a_bucket_with_a_spender_is_not_kept_out(void **state)
{
    (void)state;
    enum { SPENDERS = 200, OTHERS = 10000 };
    struct rate_buckets *b = rate_buckets_create(1, 1, seed);
    unsigned kept_out = 0;
    for (uint32_t i = 0; i < SPENDERS + OTHERS; i++) {
        const struct bytes_view who = bytes_view_of((const uint8_t *)&i, sizeof(i));
        if (i < SPENDERS) {
            (void)rate_buckets_take(b, who, START_US);
        } else {
            kept_out += rate_buckets_is_spent(b, who, START_US);
        }
    }
    assert_in_range(kept_out, 0, OTHERS / 1000);
    rate_buckets_destroy(b);
}

static void a_look_takes_nothing(void **state)
{
    (void)state;
    struct rate_buckets *b = rate_buckets_create(1, 1, seed);
    const struct bytes_view who = bytes_view_of_text("session");
    assert_false(rate_buckets_is_spent(b, who, START_US));
    assert_true(rate_buckets_take(b, who, START_US));
    assert_true(rate_buckets_is_spent(b, who, START_US + US_PER_S - 1));
    assert_false(rate_buckets_is_spent(b, who, START_US + US_PER_S));
    assert_true(rate_buckets_take(b, who, START_US + US_PER_S));
    rate_buckets_destroy(b);
}

static void one_bucket_is_shared_by_nobody(void **state)
{
    (void)state;
    struct rate_bucket b;
    rate_bucket_init(&b, 10, 3);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(rate_bucket_take(&b, START_US), i < 3);
    }
    assert_false(rate_bucket_take(&b, START_US + US_PER_S / 10 - 1));
    assert_true(rate_bucket_take(&b, START_US + US_PER_S / 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_passes_and_then_the_rate),
        cmocka_unit_test(a_block_is_a_24_or_a_56),
        cmocka_unit_test(a_rate_need_not_divide_a_million),
        cmocka_unit_test(who_shares_a_bucket_with_a_spender_is_not_kept_out),
        cmocka_unit_test(a_look_takes_nothing),
        cmocka_unit_test(one_bucket_is_shared_by_nobody),
        cmocka_unit_test(the_highest_rate_does_not_divide_by_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
