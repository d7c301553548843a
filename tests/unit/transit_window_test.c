/* transit_window_test.c - late is against the fastest of 10 s; clocks are told from queues */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/rtp/transit_window.h"

#define START_US (1000 * US_PER_S)

static void lateness_is_against_the_fastest_of_10_s(void **state)
{
    (void)state;
    struct transit_window w;
    transit_window_init(&w);
    assert_int_equal(transit_window_lateness_us(&w, 5000), 0);
    transit_window_note(&w, -3000, START_US);
    transit_window_note(&w, 5000, START_US + 20000);
    assert_int_equal(transit_window_lateness_us(&w, 5000), 8000);
    assert_int_equal(transit_window_lateness_us(&w, -3000), 0);
    assert_int_equal(transit_window_lateness_us(&w, -4000), 0);
    transit_window_note(&w, 4000, START_US + 10 * US_PER_S - 1);
    assert_int_equal(transit_window_lateness_us(&w, 5000), 8000);
    transit_window_note(&w, 4000, START_US + 10 * US_PER_S); /* the second of -3000 is over */
    assert_int_equal(transit_window_lateness_us(&w, 5000), 1000);
    transit_window_note(&w, 4500, START_US + 100 * US_PER_S);
    assert_int_equal(transit_window_lateness_us(&w, 5000), 500);
    transit_window_init(&w);
    assert_int_equal(transit_window_lateness_us(&w, 5000), 0);
}

/* Packets each 20 ms of a sender whose clock runs `ppm` fast, through queues of 0..jitter_us. */
static int32_t drift_seen(int64_t ppm, uint64_t jitter_us, uint64_t duration_us)
{
    struct random_generator random;
    random_generator_init(&random, 7);
    struct transit_window w;
    transit_window_init(&w);
    for (uint64_t sent_us = 0; sent_us < duration_us; sent_us += 20 * US_PER_MS) {
        const uint64_t queued_us = random_generator_next(&random) % (jitter_us + 1);
        const uint64_t arrived_us = START_US + sent_us + queued_us;
        const int64_t ahead_us = (int64_t)sent_us * ppm / 1000000;
        transit_window_note(&w, (int64_t)queued_us - ahead_us, arrived_us);
    }
    return transit_window_drift_ppm(&w);
}

static void drift_is_read_through_the_jitter(void **state)
{
    (void)state;
    static const int64_t ppm[] = {0, 100, -100, 50, 2000};
    for (size_t i = 0; i < COUNT_OF(ppm); i++) {
        assert_in_range(drift_seen(ppm[i], 0, 40 * US_PER_S) - ppm[i] + 1000, 999, 1001);
        assert_in_range(drift_seen(ppm[i], 30000, 40 * US_PER_S) - ppm[i] + 1000, 970, 1030);
    }
    assert_int_equal(drift_seen(100, 0, 10 * US_PER_S), 0); /* too early to tell */
    assert_true(drift_seen(100, 0, 11 * US_PER_S) > 90);
    assert_int_equal(drift_seen(900000, 0, 40 * US_PER_S), 100000);
    assert_int_equal(drift_seen(-900000, 0, 40 * US_PER_S), -100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lateness_is_against_the_fastest_of_10_s),
        cmocka_unit_test(drift_is_read_through_the_jitter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
