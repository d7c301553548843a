/* playout_queue_life_test.c - done exactly once and in order, whatever a backend does and when */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/media/playout_queue.h"

#define RATE_HZ        24000
#define FRAME          480
#define WINDOW_US      US_PER_S
#define STEPS          2000
#define UTTERANCES_MAX (STEPS + 1)

/* A model of what the backend knows, beside the queue. */
struct backend {
    uint32_t newest;
    uint32_t last_done;
    uint64_t done_count;
    uint64_t accepted_count;
    bool is_accepted[UTTERANCES_MAX];
    bool is_done[UTTERANCES_MAX];
    bool is_started[UTTERANCES_MAX];
    uint64_t supplied_us[UTTERANCES_MAX];
    uint64_t limit_us;
};

static void drain_events(struct playout_queue *q, struct backend *b)
{
    struct playout_event e;
    while (playout_queue_poll_event(q, &e)) {
        if (e.type == PLAYOUT_EVENT_CREDIT) {
            assert_true(e.limit_us > b->limit_us);
            b->limit_us = e.limit_us;
            continue;
        }
        assert_true(b->is_accepted[e.utterance]);
        assert_false(b->is_done[e.utterance]);
        assert_true(e.utterance > b->last_done);
        assert_true(e.sent_us <= b->supplied_us[e.utterance]);
        if (e.type == PLAYOUT_EVENT_STARTED) {
            assert_false(b->is_started[e.utterance]);
            b->is_started[e.utterance] = true;
        } else if (e.type == PLAYOUT_EVENT_UNDERRUN) {
            assert_true(b->is_started[e.utterance]);
        } else {
            assert_true(e.sent_us == 0 || b->is_started[e.utterance]);
            b->is_done[e.utterance] = true;
            b->last_done = e.utterance;
            b->done_count++;
        }
    }
}

static void push(struct playout_queue *q, struct backend *b, struct random_generator *random)
{
    const uint64_t dice = random_generator_next(random);
    uint32_t id = b->newest + (dice % 8 == 0);
    if (dice % 64 == 1 && b->newest > 0) {
        id = b->newest - 1;
    }
    const size_t samples = (dice >> 8) % (4 * FRAME);
    static const uint8_t zeros[4 * FRAME * 2];
    const struct bytes_view pcm = bytes_view_of(zeros, samples * 2);
    const enum playout_put_result result = playout_queue_put(q, id, pcm, (dice >> 32) % 8 == 0);
    if (result == PLAYOUT_PUT_OK || (result == PLAYOUT_PUT_CREDIT && id > b->newest)) {
        b->accepted_count += !b->is_accepted[id];
        b->is_accepted[id] = true;
        b->newest = id > b->newest ? id : b->newest;
    }
    if (result != PLAYOUT_PUT_STALE) {
        b->supplied_us[id] += samples * US_PER_S / RATE_HZ + 1;
    }
}

static void operate(struct playout_queue *q, struct backend *b, struct random_generator *random,
                    uint64_t now_us)
{
    const uint64_t dice = random_generator_next(random) % 100;
    if (dice < 45) {
        push(q, b, random);
    } else if (dice < 97) {
        int16_t frame[FRAME];
        (void)playout_queue_take(q, frame, now_us);
    } else {
        const bool is_all = dice == 97;
        const uint32_t id = is_all ? PLAYOUT_QUEUE_ALL : b->newest;
        const struct playout_flushed f = playout_queue_flush(q, id);
        assert_int_equal(f.flush, is_all ? b->newest : id);
        assert_true(f.utterance <= f.flush);
        assert_true(f.sent_us <= b->supplied_us[f.utterance]);
        assert_int_equal(playout_queue_stats(q).queued_us, 0);
    }
}

static void any_order_of_operations_keeps_the_life_cycle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        struct random_generator random;
        random_generator_init(&random, seed);
        const struct playout_queue_config config = {
            .rate_hz = RATE_HZ, .window_us = WINDOW_US, .prebuffer_us = 40 * US_PER_MS};
        struct playout_queue *q = playout_queue_create(&config);
        assert_non_null(q);
        struct backend b = {.limit_us = WINDOW_US};
        uint64_t now_us = 0;
        for (int step = 0; step < STEPS; step++) {
            now_us += random_generator_next(&random) % (100 * US_PER_MS);
            operate(q, &b, &random, now_us);
            drain_events(q, &b);
            const struct playout_stats stats = playout_queue_stats(q);
            assert_true(stats.queued_us <= WINDOW_US);
            assert_true(stats.received_us <= b.limit_us + WINDOW_US / 4);
        }
        playout_queue_end(q, PLAYOUT_DONE_SESSION_END);
        drain_events(q, &b);
        assert_true(b.accepted_count > 20);
        assert_int_equal(b.done_count, b.accepted_count);
        playout_queue_destroy(q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_operations_keeps_the_life_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
