/* rate_choice_test.c - one rate for both directions, out of what is offered */
#include "tests/testing.h"

#include "services/inference-stub/rate_choice.h"

#define PCM_8                                                                                      \
    {                                                                                              \
        BACKEND_CODEC_PCM16, 8                                                                     \
    }
#define PCM_16                                                                                     \
    {                                                                                              \
        BACKEND_CODEC_PCM16, 16                                                                    \
    }
#define PCM_24                                                                                     \
    {                                                                                              \
        BACKEND_CODEC_PCM16, 24                                                                    \
    }
#define PCM_48                                                                                     \
    {                                                                                              \
        BACKEND_CODEC_PCM16, 48                                                                    \
    }
#define OPUS                                                                                       \
    {                                                                                              \
        BACKEND_CODEC_OPUS, 48                                                                     \
    }

struct row {
    struct backend_format in[3];
    size_t in_count;
    struct backend_format out[3];
    size_t out_count;
    uint8_t rate_khz;     /* that is chosen */
    uint8_t rate_khz_16k; /* the same when 16 kHz is preferred */
};

static void assert_chosen(const struct row *row, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct backend_start_request r = {.in_count = row[i].in_count,
                                          .out_count = row[i].out_count};
        memcpy(r.in, row[i].in, sizeof(row[i].in));
        memcpy(r.out, row[i].out, sizeof(row[i].out));
        if (rate_choice_khz(&r, false) != row[i].rate_khz ||
            rate_choice_khz(&r, true) != row[i].rate_khz_16k) {
            fail_msg("row %zu: %u and %u kHz", i, rate_choice_khz(&r, false),
                     rate_choice_khz(&r, true));
        }
    }
}

static void the_transceivers_order_counts_unless_16_khz_is_preferred(void **state)
{
    static const struct row row[] = {
        {{PCM_24, PCM_16}, 2, {PCM_24, PCM_16}, 2, 24, 16},
        {{PCM_16, PCM_24}, 2, {PCM_24, PCM_16}, 2, 16, 16},
        {{PCM_48, PCM_24, PCM_16}, 3, {PCM_16, PCM_48, PCM_24}, 3, 24, 16},
    };
    (void)state;
    assert_chosen(row, COUNT_OF(row));
}

static void a_rate_that_only_one_direction_has_is_not_chosen(void **state)
{
    static const struct row row[] = {
        {{PCM_24, PCM_16}, 2, {PCM_24}, 1, 24, 24},
        {{PCM_24, PCM_16}, 2, {PCM_16}, 1, 16, 16},
        {{PCM_24}, 1, {PCM_16, PCM_24}, 2, 24, 24},
        {{PCM_24}, 1, {PCM_16}, 1, 0, 0},
        {{PCM_16}, 1, {{0}}, 0, 0, 0},
        {{{0}}, 0, {PCM_16}, 1, 0, 0},
    };
    (void)state;
    assert_chosen(row, COUNT_OF(row));
}

static void only_pcm_of_16_and_24_khz_will_do(void **state)
{
    static const struct row row[] = {
        {{PCM_8, PCM_48}, 2, {PCM_8, PCM_48}, 2, 0, 0},
        {{OPUS}, 1, {OPUS}, 1, 0, 0},
        {{{BACKEND_CODEC_OPUS, 16}}, 1, {{BACKEND_CODEC_OPUS, 16}}, 1, 0, 0},
        {{{BACKEND_CODEC_OPUS, 24}, PCM_16}, 2, {PCM_16}, 1, 16, 16},
    };
    (void)state;
    assert_chosen(row, COUNT_OF(row));
}

static void what_stands_behind_the_count_is_not_offered(void **state)
{
    static const struct row row[] = {
        {{PCM_24, PCM_16}, 1, {PCM_24, PCM_16}, 2, 24, 24},
        {{PCM_24, PCM_16}, 2, {PCM_24, PCM_16}, 1, 24, 24},
        {{PCM_24, PCM_16}, 0, {PCM_24, PCM_16}, 2, 0, 0},
    };
    (void)state;
    assert_chosen(row, COUNT_OF(row));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_transceivers_order_counts_unless_16_khz_is_preferred),
        cmocka_unit_test(a_rate_that_only_one_direction_has_is_not_chosen),
        cmocka_unit_test(only_pcm_of_16_and_24_khz_will_do),
        cmocka_unit_test(what_stands_behind_the_count_is_not_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
