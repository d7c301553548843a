/* flow_cache_test.c - the thread that speaks with Redis, and a real Redis in every state (F5-F7) */
#include "tests/redis_server.h"

#include "services/relay/flow_cache/flow_cache.h"
#include "services/relay/flow_cache/flow_cache_connection.h"
#include "services/relay/flow_cache/flow_cache_queue.h"
#include "services/relay/flow_cache/flow_cache_retry.h"

#include "common/runtime/log.h"
#include "tests/far_end.h"

#define PORTS       3
#define PATIENCE_US (60 * US_PER_S)
#define ATTEMPTS    20 /* of what a busy machine may make late, though not each time */

static const char stored_text[] = "0001|5eed0001|00002a03|10.0.0.5|4000";

struct cache_world {
    struct redis_server redis;
    struct flow_cache *cache;
};

/* secrets: "" or "user:password@"; rest: "" or "/database". */
static struct flow_cache *start_cache(const char *secrets, uint16_t port, const char *rest)
{
    char text[FLOW_CACHE_URL_CAP];
    struct flow_cache_url url;
    struct fault fault = {0};
    log_open("test", LOG_ERROR, LOG_TEXT);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)snprintf(text, sizeof(text), "redis://%s127.0.0.1:%u%s", secrets, port, rest);
    assert_null(flow_cache_url_parse(text, &url));
    struct flow_cache *cache = flow_cache_start(&url, PORTS, &fault);
    if (cache == NULL) {
        fail_msg("%s", fault.text);
    }
    return cache;
}

/* A condition that another thread makes true. */
#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        const uint64_t until_us = clock_now_us() + PATIENCE_US;                                    \
        while (!(condition)) {                                                                     \
            if (clock_now_us() >= until_us) {                                                      \
                fail_msg("never: %s", #condition);                                                 \
            }                                                                                      \
            (void)poll(NULL, 0, 1);                                                                \
        }                                                                                          \
    } while (0)

static struct cache_world open_world(void)
{
    struct cache_world w = {0};
    redis_server_open(&w.redis, NULL);
    w.cache = start_cache("", w.redis.port, "");
    WAIT_FOR(flow_cache_is_up(w.cache));
    return w;
}

static void close_world(struct cache_world *w)
{
    flow_cache_stop(w->cache);
    redis_server_kill(&w->redis);
}

static uint64_t counter(const metric_value *value)
{
    return metric_get(value);
}

static struct flow_cache_key key_of(unsigned number)
{
    struct flow_cache_key key = {.cluster_id = 1};
    assert_true(net_addr_parse("198.51.100.7:1", &key.client));
    key.client.port = (uint16_t)(1 + number);
    return key;
}

static struct cached_flow stored_flow(void)
{
    struct cached_flow flow;
    assert_true(flow_cache_read_value(bytes_view_of_text(stored_text), &flow));
    return flow;
}

static void store(struct flow_cache *cache, unsigned number)
{
    const struct flow_cache_key key = key_of(number);
    const struct cached_flow flow = stored_flow();
    assert_true(flow_cache_store(cache, &key, &flow));
}

/* Asks once. False when the look-up was lost: it has 20 ms until it is sent, and Redis a second. */
static bool ask(struct flow_cache *cache, size_t port, unsigned number,
                struct flow_cache_answer *out)
{
    const struct flow_cache_key key = key_of(number);
    const metric_value *lost = &flow_cache_counters(cache)->lookups_lost;
    const uint64_t lost_before = counter(lost);
    assert_true(flow_cache_look_up(cache, port, &key, clock_now_us()));
    WAIT_FOR(flow_cache_take_answer(cache, port, out) || counter(lost) > lost_before);
    return counter(lost) == lost_before;
}

static struct flow_cache_answer answer_to(struct flow_cache *cache, size_t port, unsigned number)
{
    const struct flow_cache_key key = key_of(number);
    struct flow_cache_answer answer;
    for (unsigned i = 0; !ask(cache, port, number, &answer); i++) {
        assert_true(i < ATTEMPTS);
        WAIT_FOR(flow_cache_is_up(cache));
    }
    assert_true(net_addr_equal(&answer.client, &key.client));
    return answer;
}

static enum flow_cache_result look_up(struct flow_cache *cache, unsigned number)
{
    return answer_to(cache, 0, number).result;
}

static void what_is_stored_is_found_by_everybody_for_two_minutes(void **state)
{
    (void)state;
    struct cache_world w = open_world();
    assert_int_equal(look_up(w.cache, 0), FLOW_CACHE_ABSENT);
    store(w.cache, 0);
    WAIT_FOR(counter(&flow_cache_counters(w.cache)->stores_written) == 1);
    const struct flow_cache_answer answer = answer_to(w.cache, 2, 0);
    assert_int_equal(answer.result, FLOW_CACHE_FOUND);
    char text[FLOW_CACHE_VALUE_BYTES_MAX + 1];
    assert_true(flow_cache_write_value(&answer.flow, text));
    assert_string_equal(text, stored_text);

    redisReply *reply = redis_server_ask(&w.redis, "TTL earshot:flow:1:udp:198.51.100.7|1");
    assert_in_range(reply->integer, FLOW_CACHE_ENTRY_LIFE_S - 5, FLOW_CACHE_ENTRY_LIFE_S);
    freeReplyObject(reply);
    close_world(&w);
}

static void every_wrong_value_is_malformed_and_the_next_one_is_good(void **state)
{
    static const char *const command[] = {
        "SET earshot:flow:1:udp:198.51.100.7|1 x",
        "SET earshot:flow:1:udp:198.51.100.7|1 0001|5eed0001|00002a03|localhost|4000",
        "SETRANGE earshot:flow:1:udp:198.51.100.7|1 10000000 x",
        "LPUSH earshot:flow:1:udp:198.51.100.7|1 0001|5eed0001|00002a03|10.0.0.5|4000",
        "HSET earshot:flow:1:udp:198.51.100.7|1 a 1",
        "SETBIT earshot:flow:1:udp:198.51.100.7|1 7 1",
    };
    (void)state;
    struct cache_world w = open_world();
    for (size_t i = 0; i < COUNT_OF(command); i++) {
        redis_server_tell(&w.redis, "FLUSHALL");
        redis_server_tell(&w.redis, command[i]);
        assert_int_equal(look_up(w.cache, 0), FLOW_CACHE_MALFORMED);
    }
    assert_int_equal(counter(&flow_cache_counters(w.cache)->disconnects), 0);
    redis_server_tell(&w.redis, "FLUSHALL");
    store(w.cache, 0);
    WAIT_FOR(look_up(w.cache, 0) == FLOW_CACHE_FOUND);
    close_world(&w);
}

static void a_full_redis_refuses_to_write_and_is_read_all_the_same(void **state)
{
    (void)state;
    struct cache_world w = open_world();
    store(w.cache, 0);
    WAIT_FOR(counter(&flow_cache_counters(w.cache)->stores_written) == 1);
    redis_server_tell(&w.redis, "CONFIG SET maxmemory 1");
    store(w.cache, 1);
    WAIT_FOR(counter(&flow_cache_counters(w.cache)->stores_refused) == 1);
    assert_int_equal(look_up(w.cache, 0), FLOW_CACHE_FOUND);
    assert_int_equal(look_up(w.cache, 1), FLOW_CACHE_ABSENT);
    assert_int_equal(counter(&flow_cache_counters(w.cache)->disconnects), 0);
    close_world(&w);
}

static void a_password_and_a_database_are_used(void **state)
{
    struct cache_world w = {0};
    (void)state;
    redis_server_open(&w.redis, "s3cret@/:");
    w.cache = start_cache(":s3cret@/:@", w.redis.port, "/3");
    WAIT_FOR(flow_cache_is_up(w.cache));
    store(w.cache, 0);
    WAIT_FOR(look_up(w.cache, 0) == FLOW_CACHE_FOUND);
    redisReply *reply = redis_server_ask(&w.redis, "DBSIZE"); /* of database 0 */
    assert_int_equal(reply->integer, 0);
    freeReplyObject(reply);
    close_world(&w);
}

static void without_the_right_password_it_stays_down(void **state)
{
    static const char *const secrets[] = {"", ":wrong@", "nobody:s3cret@"};
    struct cache_world w = {0};
    (void)state;
    redis_server_open(&w.redis, "s3cret");
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        w.cache = start_cache(secrets[i], w.redis.port, "");
        WAIT_FOR(counter(&flow_cache_counters(w.cache)->disconnects) >= 2);
        assert_false(flow_cache_is_up(w.cache));
        flow_cache_stop(w.cache);
    }
    redis_server_kill(&w.redis);
}

static void a_redis_that_comes_late_or_comes_back_is_found(void **state)
{
    struct cache_world w = {0};
    (void)state;
    redis_server_open(&w.redis, NULL);
    redis_server_kill(&w.redis);
    w.cache = start_cache("", w.redis.port, "");
    WAIT_FOR(counter(&flow_cache_counters(w.cache)->disconnects) >= 2);
    store(w.cache, 0); /* waits */
    redis_server_start(&w.redis);
    WAIT_FOR(flow_cache_is_up(w.cache));
    WAIT_FOR(counter(&flow_cache_counters(w.cache)->stores_written) == 1);

    redis_server_kill(&w.redis);
    WAIT_FOR(!flow_cache_is_up(w.cache));
    redis_server_start(&w.redis);
    WAIT_FOR(flow_cache_is_up(w.cache));
    assert_int_equal(look_up(w.cache, 0), FLOW_CACHE_ABSENT); /* it keeps nothing */
    close_world(&w);
}

/* It greets and hangs up, as a proxy without a Redis behind it does. */
static void a_redis_that_comes_and_goes_is_tried_more_and_more_rarely(void **state)
{
    enum { LOSSES = 5 };
    uint64_t waits_us = 0;
    struct far_end far_end;
    (void)state;
    far_end_listen(&far_end);
    const uint64_t begin_us = clock_now_us();
    struct flow_cache *cache = start_cache("", far_end_address_of(far_end.listener).port, "");
    const metric_value *losses = &flow_cache_counters(cache)->disconnects;
    for (uint64_t i = 0; i < LOSSES; i++) {
        far_end_accept(&far_end);
        (void)send(far_end.link, "+PONG\r\n", 7, MSG_NOSIGNAL);
        WAIT_FOR(flow_cache_is_up(cache) || counter(losses) > i); /* we may have been slow */
        far_end_hang_up(&far_end);
        WAIT_FOR(counter(losses) > i);
        waits_us += i + 1 < LOSSES ? FLOW_CACHE_RETRY_MIN_US << i : 0;
    }
    assert_true(clock_now_us() - begin_us >= waits_us);
    flow_cache_stop(cache);
    far_end_close(&far_end);
}

/* Nobody ever waits: a call takes no longer than a system call does. How long it took until the
 * frozen one was given up. */
static uint64_t freeze(struct cache_world *w)
{
    const struct flow_cache_counters *counters = flow_cache_counters(w->cache);
    const uint64_t lost_before = counter(&counters->lookups_lost);
    redis_server_signal(&w->redis, SIGSTOP);
    const uint64_t begin_us = clock_now_us();
    uint64_t longest_us = 0;
    unsigned pipe_full = 0;
    for (unsigned i = 0; flow_cache_is_up(w->cache); i++) {
        const struct flow_cache_key key = key_of(i % 60000);
        const struct cached_flow flow = stored_flow();
        const uint64_t before_us = clock_now_us();
        pipe_full += !flow_cache_look_up(w->cache, 1, &key, before_us);
        pipe_full += !flow_cache_store(w->cache, &key, &flow);
        longest_us = time_later(longest_us, clock_now_us() - before_us);
        assert_true(clock_now_us() - begin_us < PATIENCE_US);
        if (i % 64 == 0) {
            (void)poll(NULL, 0, 1);
        }
    }
    const uint64_t down_us = clock_now_us() - begin_us;
    print_message("frozen: given up after %llu ms, longest call %llu us, pipe full %u times\n",
                  (unsigned long long)(down_us / 1000), (unsigned long long)longest_us, pipe_full);
    assert_true(down_us >= FLOW_CACHE_PATIENCE_US / 2); /* it may have been asked just before */
    WAIT_FOR(counter(&counters->stores_waiting) > 0);
    assert_in_range(counter(&counters->stores_waiting), 1, FLOW_CACHE_STORES_MAX);
    assert_true(counter(&counters->lookups_lost) > lost_before);

    redis_server_signal(&w->redis, SIGCONT);
    WAIT_FOR(flow_cache_is_up(w->cache));
    WAIT_FOR(counter(&counters->stores_waiting) == 0);
    return down_us;
}

static void a_frozen_redis_is_given_up_after_a_second_and_nobody_waits(void **state)
{
    (void)state;
    struct cache_world w = open_world();
    for (unsigned i = 0; freeze(&w) >= 3 * FLOW_CACHE_PATIENCE_US; i++) {
        assert_true(i < ATTEMPTS);
    }
    close_world(&w);
}

/* False when Redis was too slow for one that came back, so that more was lost. */
static bool keeps_the_newest_stores(void)
{
    enum { TOO_MANY = 3000 };
    struct cache_world w = {0};
    redis_server_open(&w.redis, NULL);
    redis_server_kill(&w.redis);
    w.cache = start_cache("", w.redis.port, "");
    const struct flow_cache_counters *counters = flow_cache_counters(w.cache);
    for (unsigned i = 0; i < FLOW_CACHE_STORES_MAX + TOO_MANY; i++) {
        const struct flow_cache_key key = key_of(i);
        const struct cached_flow flow = stored_flow();
        WAIT_FOR(flow_cache_store(w.cache, &key, &flow)); /* the pipe is shorter than that */
    }
    WAIT_FOR(counter(&counters->stores_lost) == TOO_MANY);
    redis_server_start(&w.redis);
    WAIT_FOR(counter(&counters->stores_written) + counter(&counters->stores_lost) ==
             FLOW_CACHE_STORES_MAX + TOO_MANY);
    const bool is_calm = counter(&counters->stores_lost) == TOO_MANY;
    if (is_calm) {
        assert_int_equal(look_up(w.cache, TOO_MANY - 1), FLOW_CACHE_ABSENT);
        assert_int_equal(look_up(w.cache, TOO_MANY), FLOW_CACHE_FOUND);
    }
    close_world(&w);
    return is_calm;
}

static void what_waits_for_redis_is_bounded_and_the_oldest_goes(void **state)
{
    (void)state;
    for (unsigned i = 0; !keeps_the_newest_stores(); i++) {
        assert_true(i < ATTEMPTS);
    }
}

/* A look-up that comes after many stores, while Redis is frozen. False when it was lost, or when
 * all stores were written by the time that we saw its answer. */
static bool is_answered_before_the_stores(struct cache_world *w)
{
    enum { STORES = 1000 };
    const struct flow_cache_counters *counters = flow_cache_counters(w->cache);
    const struct flow_cache_key key = key_of(1);
    const uint64_t lost_before = counter(&counters->lookups_lost);
    const uint64_t written_before = counter(&counters->stores_written);
    struct flow_cache_answer answer;
    redis_server_signal(&w->redis, SIGSTOP);
    for (unsigned i = 2; i < 2 + STORES; i++) {
        store(w->cache, i);
    }
    WAIT_FOR(counter(&counters->stores_waiting) >= STORES - FLOW_CACHE_IN_FLIGHT_MAX);
    assert_true(flow_cache_look_up(w->cache, 0, &key, clock_now_us()));
    redis_server_signal(&w->redis, SIGCONT);
    WAIT_FOR(flow_cache_take_answer(w->cache, 0, &answer) ||
             counter(&counters->lookups_lost) > lost_before);
    const uint64_t written = counter(&counters->stores_written) - written_before;
    const bool is_lost = counter(&counters->lookups_lost) > lost_before;
    WAIT_FOR(flow_cache_is_up(w->cache) && counter(&counters->stores_waiting) == 0);
    if (is_lost) {
        return false;
    }
    assert_int_equal(answer.result, FLOW_CACHE_FOUND);
    return written < STORES;
}

static void a_look_up_does_not_wait_behind_stores(void **state)
{
    (void)state;
    struct cache_world w = open_world();
    store(w.cache, 1);
    WAIT_FOR(counter(&flow_cache_counters(w.cache)->stores_written) == 1);
    for (unsigned i = 0; !is_answered_before_the_stores(&w); i++) {
        assert_true(i < ATTEMPTS);
    }
    close_world(&w);
}

static void a_full_pipe_says_so_and_never_blocks(void **state)
{
    (void)state;
    struct cache_world w = open_world();
    struct flow_cache_answer answer;
    /* Nobody takes the answers of port 1: they are lost, and the other ports' are not. */
    for (unsigned i = 0; i < 20000; i++) {
        const struct flow_cache_key key = key_of(i);
        WAIT_FOR(flow_cache_look_up(w.cache, 1, &key, clock_now_us()));
        if (i % 100 == 0) {
            (void)poll(NULL, 0, 1);
        }
    }
    WAIT_FOR(counter(&flow_cache_counters(w.cache)->answers_lost) > 0);
    assert_int_equal(look_up(w.cache, 0), FLOW_CACHE_ABSENT);
    assert_true(flow_cache_take_answer(w.cache, 1, &answer));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_is_found_by_everybody_for_two_minutes),
        cmocka_unit_test(every_wrong_value_is_malformed_and_the_next_one_is_good),
        cmocka_unit_test(a_full_redis_refuses_to_write_and_is_read_all_the_same),
        cmocka_unit_test(a_password_and_a_database_are_used),
        cmocka_unit_test(without_the_right_password_it_stays_down),
        cmocka_unit_test(a_redis_that_comes_late_or_comes_back_is_found),
        cmocka_unit_test(a_redis_that_comes_and_goes_is_tried_more_and_more_rarely),
        cmocka_unit_test(a_frozen_redis_is_given_up_after_a_second_and_nobody_waits),
        cmocka_unit_test(what_waits_for_redis_is_bounded_and_the_oldest_goes),
        cmocka_unit_test(a_look_up_does_not_wait_behind_stores),
        cmocka_unit_test(a_full_pipe_says_so_and_never_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
