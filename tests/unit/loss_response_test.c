/* loss_response_test.c - reported loss turns FEC and RED on soon and off late */
#include "tests/testing.h"

#include "services/transceiver/core/rtp/loss_response.h"

#define BEGIN_US   (100 * US_PER_S)
#define PERCENT(n) ((n)*256 / 100)

static void fec_follows_the_reported_loss_up_to_20_percent(void **state)
{
    (void)state;
    static const struct {
        uint8_t fraction_lost;
        unsigned percent;
    } t[] = {{0, 0}, {2, 1}, {PERCENT(5), 5}, {PERCENT(10), 10}, {52, 20}, {128, 20}, {255, 20}};
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        struct loss_response r = {0};
        assert_int_equal(loss_response_fec_percent(&r), 0);
        for (uint64_t n = 0; n < 20; n++) {
            loss_response_note(&r, t[i].fraction_lost, BEGIN_US + n * US_PER_S);
        }
        assert_in_range(loss_response_fec_percent(&r), t[i].percent - (t[i].percent > 4),
                        t[i].percent);
        for (uint64_t n = 0; n < 40; n++) {
            loss_response_note(&r, 0, BEGIN_US + n * US_PER_S);
        }
        assert_int_equal(loss_response_fec_percent(&r), 0);
    }
}

static void fec_rises_faster_than_it_falls(void **state)
{
    (void)state;
    struct loss_response r = {0};
    loss_response_note(&r, PERCENT(20), BEGIN_US);
    assert_in_range(loss_response_fec_percent(&r), 9, 10);
    loss_response_note(&r, PERCENT(20), BEGIN_US);
    assert_in_range(loss_response_fec_percent(&r), 14, 15);
    loss_response_note(&r, 0, BEGIN_US);
    assert_in_range(loss_response_fec_percent(&r), 10, 12);
}

static void red_begins_with_the_second_report_in_a_row_of_more_than_2_percent(void **state)
{
    (void)state;
    static const struct {
        uint8_t fraction_lost[4];
        bool wants_red;
    } t[] = {
        {{5, 5, 5, 5}, false}, /* 5 of 256 are 1.95 % */
        {{6, 0, 6, 0}, false}, {{6, 5, 6, 5}, false}, {{0, 0, 6, 6}, true}, {{255, 6, 0, 0}, true},
    };
    for (size_t i = 0; i < COUNT_OF(t); i++) {
        struct loss_response r = {0};
        for (size_t k = 0; k < 4; k++) {
            loss_response_note(&r, t[i].fraction_lost[k], BEGIN_US + k * US_PER_S);
        }
        assert_int_equal(r.wants_red, t[i].wants_red);
    }
}

static void red_ends_after_30_seconds_below_1_percent(void **state)
{
    (void)state;
    struct loss_response r = {0};
    loss_response_note(&r, 6, BEGIN_US);
    loss_response_note(&r, 6, BEGIN_US);
    loss_response_note(&r, 2, BEGIN_US);                 /* 0.8 % */
    loss_response_note(&r, 3, BEGIN_US + 29 * US_PER_S); /* 1.2 %: from the beginning */
    const uint64_t calm_us = BEGIN_US + 30 * US_PER_S;
    loss_response_note(&r, 2, calm_us);
    loss_response_note(&r, 0, calm_us + LOSS_RESPONSE_CALM_US - 1);
    assert_true(r.wants_red);
    loss_response_note(&r, 0, calm_us + LOSS_RESPONSE_CALM_US);
    assert_false(r.wants_red);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fec_follows_the_reported_loss_up_to_20_percent),
        cmocka_unit_test(fec_rises_faster_than_it_falls),
        cmocka_unit_test(red_begins_with_the_second_report_in_a_row_of_more_than_2_percent),
        cmocka_unit_test(red_ends_after_30_seconds_below_1_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
