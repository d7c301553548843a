/* flow_cache_queue_test.c - what waits for Redis, and what gives its place */
#include "tests/testing.h"

#include "services/relay/flow_cache/flow_cache_queue.h"

#define START_US (100 * US_PER_S)

static bool put(struct flow_cache_queue *q, enum flow_cache_request_kind kind, uint32_t number,
                uint64_t asked_us)
{
    return flow_cache_queue_put(
        q, &(struct flow_cache_request){.kind = kind, .port = number, .asked_us = asked_us});
}

/* The number of the next request, or -1. */
static int take(struct flow_cache_queue *q, enum flow_cache_request_kind kind)
{
    struct flow_cache_request request;
    if (!flow_cache_queue_take(q, kind, &request)) {
        return -1;
    }
    assert_int_equal(request.kind, kind);
    return (int)request.port;
}

static void each_kind_comes_out_in_its_order(void **state)
{
    (void)state;
    struct flow_cache_queue *q = flow_cache_queue_create();
    assert_true(put(q, FLOW_CACHE_STORE, 1, 0));
    assert_true(put(q, FLOW_CACHE_LOOK_UP, 2, START_US));
    assert_true(put(q, FLOW_CACHE_STORE, 3, 0));
    assert_true(put(q, FLOW_CACHE_LOOK_UP, 4, START_US));
    assert_int_equal(take(q, FLOW_CACHE_LOOK_UP), 2);
    assert_int_equal(take(q, FLOW_CACHE_STORE), 1);
    assert_int_equal(take(q, FLOW_CACHE_LOOK_UP), 4);
    assert_int_equal(take(q, FLOW_CACHE_LOOK_UP), -1);
    assert_int_equal(take(q, FLOW_CACHE_STORE), 3);
    assert_int_equal(take(q, FLOW_CACHE_STORE), -1);
    flow_cache_queue_destroy(q);
}

static void the_oldest_gives_its_place_when_full(void **state)
{
    static const struct {
        enum flow_cache_request_kind kind;
        uint32_t cap;
    } row[] = {{FLOW_CACHE_LOOK_UP, FLOW_CACHE_LOOKUPS_MAX},
               {FLOW_CACHE_STORE, FLOW_CACHE_STORES_MAX}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct flow_cache_queue *q = flow_cache_queue_create();
        for (uint32_t number = 0; number < row[i].cap; number++) {
            assert_true(put(q, row[i].kind, number, START_US));
        }
        assert_false(put(q, row[i].kind, row[i].cap, START_US));
        assert_int_equal(flow_cache_queue_count(q, row[i].kind), row[i].cap);
        for (uint32_t number = 1; number <= row[i].cap; number++) {
            assert_int_equal(take(q, row[i].kind), number);
        }
        assert_int_equal(take(q, row[i].kind), -1);
        flow_cache_queue_destroy(q);
    }
}

static void a_look_up_is_of_use_for_20_ms_and_a_store_for_ever(void **state)
{
    (void)state;
    struct flow_cache_queue *q = flow_cache_queue_create();
    (void)put(q, FLOW_CACHE_STORE, 1, 0);
    (void)put(q, FLOW_CACHE_LOOK_UP, 2, START_US);
    (void)put(q, FLOW_CACHE_LOOK_UP, 3, START_US + 5);
    assert_int_equal(flow_cache_queue_expire(q, START_US + FLOW_CACHE_LOOKUP_LIFE_US - 1), 0);
    assert_int_equal(flow_cache_queue_expire(q, START_US + FLOW_CACHE_LOOKUP_LIFE_US), 1);
    assert_int_equal(flow_cache_queue_count(q, FLOW_CACHE_LOOK_UP), 1);
    assert_int_equal(flow_cache_queue_expire(q, START_US + 100 * US_PER_S), 1);
    assert_int_equal(take(q, FLOW_CACHE_LOOK_UP), -1);
    assert_int_equal(take(q, FLOW_CACHE_STORE), 1);
    flow_cache_queue_destroy(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_comes_out_in_its_order),
        cmocka_unit_test(the_oldest_gives_its_place_when_full),
        cmocka_unit_test(a_look_up_is_of_use_for_20_ms_and_a_store_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
