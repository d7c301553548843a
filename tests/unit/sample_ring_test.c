/* sample_ring_test.c - samples come out as they went in, around every edge */
#include "tests/testing.h"

#include "services/transceiver/core/media/sample_ring.h"

#define CAP 7

static void append(struct sample_ring *r, int16_t first, size_t count)
{
    uint8_t pcm[2 * CAP];
    for (size_t i = 0; i < count; i++) {
        const uint16_t bits = (uint16_t)(first + (int16_t)i);
        pcm[2 * i] = (uint8_t)bits;
        pcm[2 * i + 1] = (uint8_t)(bits >> 8);
    }
    sample_ring_append(r, bytes_view_of(pcm, 2 * count));
}

static void samples_keep_their_order_around_every_edge(void **state)
{
    (void)state;
    for (size_t step = 1; step <= CAP; step++) {
        struct sample_ring *r = sample_ring_create(CAP);
        int16_t in = -20;
        int16_t out = -20;
        append(r, in++, 1); /* never empty: it does not begin anew */
        for (int round = 0; round < 20; round++) {
            const size_t count = step < CAP - 1 ? step : CAP - 1;
            append(r, in, count);
            in = (int16_t)(in + (int16_t)count);
            assert_int_equal(sample_ring_count(r), count + 1);
            int16_t sample[CAP];
            sample_ring_take(r, sample, count);
            for (size_t i = 0; i < count; i++) {
                assert_int_equal(sample[i], out++);
            }
        }
        sample_ring_destroy(r);
    }
}

static void what_is_dropped_is_the_oldest(void **state)
{
    (void)state;
    struct sample_ring *r = sample_ring_create(CAP);
    append(r, 1, CAP);
    sample_ring_drop(r, 3);
    append(r, 1 + CAP, 3);
    int16_t sample[CAP];
    sample_ring_take(r, sample, CAP);
    for (int16_t i = 0; i < CAP; i++) {
        assert_int_equal(sample[i], 4 + i);
    }
    assert_int_equal(sample_ring_count(r), 0);
    sample_ring_drop(r, 0);
    sample_ring_append(r, (struct bytes_view){0});
    assert_int_equal(sample_ring_count(r), 0);
    sample_ring_destroy(r);
}

static void every_bit_of_a_sample_survives(void **state)
{
    (void)state;
    struct sample_ring *r = sample_ring_create(CAP);
    static const int16_t value[] = {INT16_MIN, -256, -1, 0, 255, 256, INT16_MAX};
    for (size_t i = 0; i < CAP; i++) {
        append(r, value[i], 1);
    }
    int16_t sample[CAP];
    sample_ring_take(r, sample, CAP);
    assert_memory_equal(sample, value, sizeof(value));
    sample_ring_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_keep_their_order_around_every_edge),
        cmocka_unit_test(what_is_dropped_is_the_oldest),
        cmocka_unit_test(every_bit_of_a_sample_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
