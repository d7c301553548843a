/* hold_queue_test.c - what waits for the flow cache, how much of it, and how long */
#include "tests/testing.h"

#include "services/relay/core/hold_queue.h"

#define START_US (100 * US_PER_S)

static const struct flow_hash_seed seed = {11, 12};

static struct hold_queue *open_queue(uint32_t lookups_per_s, uint32_t burst)
{
    struct hold_queue *q = hold_queue_create(lookups_per_s, burst, seed);
    assert_non_null(q);
    return q;
}

static struct hold_queue *open_generous(void)
{
    return open_queue(HOLD_RATE_MAX, HOLD_RATE_MAX);
}

static struct net_addr client_of(unsigned number)
{
    struct net_addr client;
    assert_true(net_addr_parse("198.51.100.7:1", &client));
    client.port = (uint16_t)(1 + number);
    return client;
}

/* A datagram of 60 bytes, all of this value, that came in on socket 3. */
static enum hold_result put(struct hold_queue *q, unsigned client_number, uint8_t value,
                            uint64_t now_us)
{
    uint8_t datagram[60];
    const struct net_addr client = client_of(client_number);
    memset(datagram, value, sizeof(datagram));
    return hold_queue_put(q, &client, bytes_view_of(datagram, sizeof(datagram)), 3, now_us);
}

static struct held_batch take(struct hold_queue *q, unsigned client_number)
{
    struct held_batch batch = {0};
    const struct net_addr client = client_of(client_number);
    assert_true(hold_queue_take(q, &client, &batch));
    assert_true(net_addr_equal(&batch.client, &client));
    return batch;
}

static void the_first_datagram_asks_and_the_next_ones_wait(void **state)
{
    (void)state;
    struct hold_queue *q = open_generous();
    assert_int_equal(put(q, 1, 10, START_US), HOLD_ASK);
    assert_int_equal(put(q, 1, 11, START_US + 1), HOLD_WAIT);
    assert_int_equal(put(q, 2, 20, START_US + 2), HOLD_ASK);
    assert_int_equal(hold_queue_count(q), 3);
    hold_queue_destroy(q);
}

static void an_answer_gives_all_of_one_client_in_order(void **state)
{
    (void)state;
    struct hold_queue *q = open_generous();
    struct held_batch again;
    (void)put(q, 1, 10, START_US);
    (void)put(q, 2, 20, START_US);
    (void)put(q, 1, 11, START_US);
    const struct held_batch batch = take(q, 1);
    assert_int_equal(batch.count, 2);
    for (size_t i = 0; i < batch.count; i++) {
        assert_int_equal(batch.datagram[i].len, 60);
        assert_int_equal(batch.datagram[i].socket, 3);
        assert_int_equal(batch.datagram[i].data[0], 10 + i);
        assert_int_equal(batch.datagram[i].data[59], 10 + i);
    }
    assert_false(hold_queue_take(q, &batch.client, &again));
    assert_int_equal(hold_queue_count(q), 1);
    /* The answer came, whatever it was: the next datagram asks again. */
    assert_int_equal(put(q, 1, 12, START_US), HOLD_ASK);
    hold_queue_destroy(q);
}

static void bytes_before_a_held_datagram_are_free_to_write(void **state)
{
    (void)state;
    struct hold_queue *q = open_generous();
    uint8_t longest[HOLD_DATAGRAM_BYTES_MAX];
    const struct net_addr client = client_of(1);
    memset(longest, 7, sizeof(longest));
    for (unsigned i = 0; i < HOLD_PER_CLIENT; i++) {
        (void)hold_queue_put(q, &client, bytes_view_of(longest, sizeof(longest)), 0, START_US);
    }
    const struct held_batch batch = take(q, 1);
    for (size_t i = 0; i < batch.count; i++) {
        memset(batch.datagram[i].data - HOLD_HEADROOM, 0xee, HOLD_HEADROOM);
    }
    for (size_t i = 0; i < batch.count; i++) {
        assert_int_equal(batch.datagram[i].len, sizeof(longest));
        assert_memory_equal(batch.datagram[i].data, longest, sizeof(longest));
    }
    hold_queue_destroy(q);
}

static void a_fifth_datagram_takes_the_place_of_the_oldest(void **state)
{
    (void)state;
    struct hold_queue *q = open_generous();
    assert_int_equal(put(q, 1, 0, START_US), HOLD_ASK);
    for (uint8_t i = 1; i < HOLD_PER_CLIENT; i++) {
        assert_int_equal(put(q, 1, i, START_US), HOLD_WAIT);
    }
    for (uint8_t i = HOLD_PER_CLIENT; i < 11; i++) {
        assert_int_equal(put(q, 1, i, START_US), HOLD_WAIT_DISPLACED);
    }
    assert_int_equal(hold_queue_count(q), HOLD_PER_CLIENT);
    const struct held_batch batch = take(q, 1);
    assert_int_equal(batch.count, HOLD_PER_CLIENT);
    for (size_t i = 0; i < batch.count; i++) {
        assert_int_equal(batch.datagram[i].data[0], 7 + i);
    }
    hold_queue_destroy(q);
}

static void nothing_is_held_longer_than_20_ms(void **state)
{
    (void)state;
    struct hold_queue *q = open_generous();
    struct held_batch batch;
    assert_true(hold_queue_next_timeout(q) == TIME_NEVER);
    (void)put(q, 1, 10, START_US);
    (void)put(q, 2, 20, START_US + 5000);
    (void)put(q, 1, 11, START_US + HOLD_TIME_US - 1); /* its client's time runs already */
    assert_int_equal(hold_queue_next_timeout(q), START_US + HOLD_TIME_US);
    assert_false(hold_queue_take_overdue(q, &batch, START_US + HOLD_TIME_US - 1));
    assert_true(hold_queue_take_overdue(q, &batch, START_US + HOLD_TIME_US));
    assert_int_equal(batch.client.port, client_of(1).port);
    assert_int_equal(batch.count, 2);
    assert_false(hold_queue_take_overdue(q, &batch, START_US + HOLD_TIME_US));
    assert_int_equal(hold_queue_next_timeout(q), START_US + 5000 + HOLD_TIME_US);
    assert_true(hold_queue_take_overdue(q, &batch, START_US + US_PER_S));
    assert_int_equal(batch.datagram[0].data[0], 20);
    assert_true(hold_queue_next_timeout(q) == TIME_NEVER);
    assert_int_equal(hold_queue_count(q), 0);
    hold_queue_destroy(q);
}

static void a_look_up_without_an_answer_is_asked_again_at_once(void **state)
{
    (void)state;
    struct hold_queue *q = open_generous();
    struct held_batch batch;
    (void)put(q, 1, 10, START_US);
    assert_true(hold_queue_take_overdue(q, &batch, START_US + HOLD_TIME_US));
    assert_int_equal(put(q, 1, 11, START_US + HOLD_TIME_US), HOLD_ASK);
    hold_queue_destroy(q);
}

static void an_absent_client_is_not_asked_for_again_within_a_second(void **state)
{
    (void)state;
    struct hold_queue *q = open_generous();
    const struct net_addr client = client_of(1);
    (void)put(q, 1, 10, START_US);
    (void)take(q, 1);
    hold_queue_note_absent(q, &client, START_US);
    assert_int_equal(put(q, 1, 11, START_US), HOLD_REFUSED_ABSENT);
    assert_int_equal(put(q, 1, 11, START_US + HOLD_ABSENT_US - 1), HOLD_REFUSED_ABSENT);
    assert_int_equal(put(q, 2, 20, START_US), HOLD_ASK);
    assert_int_equal(put(q, 1, 11, START_US + HOLD_ABSENT_US), HOLD_ASK);
    hold_queue_destroy(q);
}

static void look_ups_at_a_time_are_bounded_and_so_is_all_that_is_held(void **state)
{
    (void)state;
    struct hold_queue *q = open_generous();
    for (unsigned i = 0; i < HOLD_LOOKUPS_MAX; i++) {
        assert_int_equal(put(q, i, 1, START_US), HOLD_ASK);
    }
    assert_int_equal(put(q, HOLD_LOOKUPS_MAX, 1, START_US), HOLD_REFUSED_FULL);
    for (unsigned i = 0; i < 10 * HOLD_LOOKUPS_MAX; i++) {
        assert_false(hold_result_is_refusal(put(q, i % HOLD_LOOKUPS_MAX, 2, START_US)));
    }
    assert_int_equal(hold_queue_count(q), 1024);
    (void)take(q, 77);
    assert_int_equal(put(q, HOLD_LOOKUPS_MAX, 1, START_US), HOLD_ASK);
    assert_int_equal(put(q, 77, 1, START_US), HOLD_REFUSED_FULL);
    hold_queue_destroy(q);
}

static void look_ups_have_a_burst_and_a_rate(void **state)
{
    (void)state;
    struct hold_queue *q = open_queue(100, 5);
    struct held_batch batch;
    unsigned asked = 0;
    for (unsigned i = 0; i < 50; i++) {
        asked += put(q, i, 1, START_US) == HOLD_ASK;
    }
    assert_int_equal(asked, 5);
    assert_int_equal(put(q, 60, 1, START_US + 9999), HOLD_REFUSED_RATE);
    assert_int_equal(put(q, 60, 1, START_US + 10000), HOLD_ASK);
    assert_int_equal(put(q, 61, 1, START_US + 10000), HOLD_REFUSED_RATE);
    /* What waits already needs no token. */
    assert_int_equal(put(q, 60, 2, START_US + 10000), HOLD_WAIT);
    /* A refusal by rate says nothing about the client. */
    while (hold_queue_take_overdue(q, &batch, START_US + US_PER_S)) {
    }
    assert_int_equal(put(q, 61, 1, START_US + US_PER_S), HOLD_ASK);
    hold_queue_destroy(q);
}

/* Against a plain model: who waits since when, and how much of each. */
static void a_million_random_steps_agree_with_a_model(void **state)
{
    enum { CLIENTS = 300, STEPS = 1000000 };
    static struct {
        uint64_t until_us; /* 0 = does not wait */
        size_t count;
    } model[CLIENTS];
    (void)state;
    struct hold_queue *q = open_generous();
    struct held_batch batch;
    uint64_t now_us = START_US;
    uint64_t random = 88172645463325252u;
    size_t waiting = 0;
    size_t held = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const unsigned i = (unsigned)(random >> 20) % CLIENTS;
        const struct net_addr client = client_of(i);
        now_us += random >> 60;
        while (hold_queue_take_overdue(q, &batch, now_us)) {
            const unsigned over = batch.client.port - 1u;
            assert_true(model[over].until_us != 0 && model[over].until_us <= now_us);
            assert_int_equal(batch.count, model[over].count);
            held -= model[over].count;
            waiting--;
            model[over].until_us = 0;
        }
        if (random % 8 == 0) {
            assert_int_equal(hold_queue_take(q, &client, &batch), model[i].until_us != 0);
            if (model[i].until_us != 0) {
                assert_int_equal(batch.count, model[i].count);
                held -= model[i].count;
                waiting--;
                model[i].until_us = 0;
            }
        } else {
            const enum hold_result result = put(q, i, (uint8_t)step, now_us);
            if (model[i].until_us == 0) {
                assert_int_equal(result, waiting < HOLD_LOOKUPS_MAX ? HOLD_ASK : HOLD_REFUSED_FULL);
                if (result == HOLD_ASK) {
                    model[i].until_us = now_us + HOLD_TIME_US;
                    model[i].count = 1;
                    waiting++;
                    held++;
                }
            } else if (model[i].count < HOLD_PER_CLIENT) {
                assert_int_equal(result, HOLD_WAIT);
                model[i].count++;
                held++;
            } else {
                assert_int_equal(result, HOLD_WAIT_DISPLACED);
            }
        }
        assert_int_equal(hold_queue_count(q), held);
    }
    hold_queue_destroy(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_datagram_asks_and_the_next_ones_wait),
        cmocka_unit_test(an_answer_gives_all_of_one_client_in_order),
        cmocka_unit_test(bytes_before_a_held_datagram_are_free_to_write),
        cmocka_unit_test(a_fifth_datagram_takes_the_place_of_the_oldest),
        cmocka_unit_test(nothing_is_held_longer_than_20_ms),
        cmocka_unit_test(a_look_up_without_an_answer_is_asked_again_at_once),
        cmocka_unit_test(an_absent_client_is_not_asked_for_again_within_a_second),
        cmocka_unit_test(look_ups_at_a_time_are_bounded_and_so_is_all_that_is_held),
        cmocka_unit_test(look_ups_have_a_burst_and_a_rate),
        cmocka_unit_test(a_million_random_steps_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
