/* g711_test.c - the values of ITU-T G.711, and its tone */
#include "tests/testing.h"

#include "common/base/bytes.h"
#include "services/transceiver/core/media/g711.h"

#include <stdlib.h>

#define CODES 256

struct law {
    const char *name;
    int16_t (*decode)(uint8_t code);
    uint8_t (*encode)(int16_t sample);
};

static const struct law laws[] = {
    {"PCMU", g711_decode_pcmu, g711_encode_pcmu},
    {"PCMA", g711_decode_pcma, g711_encode_pcma},
};

/* Tables 1a and 2a: values at the decoder output at both ends of the segments, in the tables' own
 * units (13 bits of A-law, 14 of mu-law), for positive samples. */
static void the_segments_have_the_values_of_the_recommendation(void **state)
{
    (void)state;
    static const struct {
        uint8_t code;
        int value;
    } pcmu[] = {{0xff, 0},    {0xfe, 2},    {0xf0, 30},   {0xef, 33},   {0xe0, 93},  {0xdf, 99},
                {0xd0, 219},  {0xcf, 231},  {0xc0, 471},  {0xbf, 495},  {0xb0, 975}, {0xaf, 1023},
                {0xa0, 1983}, {0x9f, 2079}, {0x90, 3999}, {0x8f, 4191}, {0x80, 8031}},
      /* before every second bit is turned */
        pcma[] = {{0x80, 1},    {0x81, 3},    {0x8f, 31},   {0x90, 33},   {0x9f, 63},  {0xa0, 66},
                  {0xaf, 126},  {0xb0, 132},  {0xbf, 252},  {0xc0, 264},  {0xcf, 504}, {0xd0, 528},
                  {0xdf, 1008}, {0xe0, 1056}, {0xef, 2016}, {0xf0, 2112}, {0xff, 4032}};
    for (size_t i = 0; i < COUNT_OF(pcmu); i++) {
        assert_int_equal(g711_decode_pcmu(pcmu[i].code), 4 * pcmu[i].value);
        assert_int_equal(g711_decode_pcmu(pcmu[i].code & 0x7f), -4 * pcmu[i].value);
    }
    for (size_t i = 0; i < COUNT_OF(pcma); i++) {
        assert_int_equal(g711_decode_pcma(pcma[i].code ^ 0x55), 8 * pcma[i].value);
        assert_int_equal(g711_decode_pcma((pcma[i].code & 0x7f) ^ 0x55), -8 * pcma[i].value);
    }
}

/* Tables 1a and 2a: the decision values, at which the next code begins. */
static void the_codes_change_at_the_decision_values(void **state)
{
    (void)state;
    static const struct {
        int decision;
        uint8_t below;
    } pcmu[] = {{1, 0xff},   {3, 0xfe},   {31, 0xf0},  {35, 0xef},   {95, 0xe0},   {103, 0xdf},
                {223, 0xd0}, {479, 0xc0}, {991, 0xb0}, {2015, 0xa0}, {4063, 0x90}, {7903, 0x81}},
      pcma[] = {{2, 0x80},   {4, 0x81},   {32, 0x8f},   {34, 0x90},   {64, 0x9f},  {128, 0xaf},
                {256, 0xbf}, {512, 0xcf}, {1024, 0xdf}, {2048, 0xef}, {3968, 0xfe}};
    for (size_t i = 0; i < COUNT_OF(pcmu); i++) {
        assert_int_equal(g711_encode_pcmu((int16_t)(4 * pcmu[i].decision - 1)), pcmu[i].below);
        assert_int_equal(g711_encode_pcmu((int16_t)(4 * pcmu[i].decision)), pcmu[i].below - 1);
    }
    for (size_t i = 0; i < COUNT_OF(pcma); i++) {
        const int16_t at = (int16_t)(8 * pcma[i].decision);
        assert_int_equal(g711_encode_pcma((int16_t)(at - 1)) ^ 0x55, pcma[i].below);
        assert_int_equal(g711_encode_pcma(at) ^ 0x55, pcma[i].below + 1);
    }
}

/* Tables 5 and 6: a period of 1 kHz at the nominal level of 0 dBm0. */
static void the_tone_of_the_recommendation_is_a_tone(void **state)
{
    (void)state;
    static const uint8_t pcma[] = {0x34, 0x21, 0x21, 0x34, 0xb4, 0xa1, 0xa1, 0xb4};
    static const uint8_t pcmu[] = {0x1e, 0x0b, 0x0b, 0x1e, 0x9e, 0x8b, 0x8b, 0x9e};
    for (size_t i = 0; i < COUNT_OF(pcma); i++) {
        assert_int_equal(g711_encode_pcma(g711_decode_pcma(pcma[i])), pcma[i]);
        assert_int_equal(g711_encode_pcmu(g711_decode_pcmu(pcmu[i])), pcmu[i]);
        assert_int_equal(g711_decode_pcma(pcma[i]), -g711_decode_pcma(pcma[(i + 4) % 8]));
        assert_int_equal(g711_decode_pcmu(pcmu[i]), -g711_decode_pcmu(pcmu[(i + 4) % 8]));
        /* Both laws mean the same tone. */
        assert_in_range(abs(g711_decode_pcma(pcma[i]) - g711_decode_pcmu(pcmu[i])), 0, 600);
    }
}

static void every_code_comes_back_but_the_second_zero_of_pcmu(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(laws) * CODES; i++) {
        const struct law *law = &laws[i / CODES];
        const uint8_t code = (uint8_t)(i % CODES);
        const bool is_minus_zero = i == 0x7f;
        assert_int_equal(law->encode(law->decode(code)), is_minus_zero ? 0xff : code);
    }
}

/* How far apart the values of the code's segment are. */
static int step_of(const struct law *law, uint8_t code)
{
    const uint8_t neighbour = code ^ 1;
    return abs(law->decode(code) - law->decode(neighbour));
}

static void every_sample_is_within_half_a_step_of_its_code_up_to_the_clip(void **state)
{
    (void)state;
    for (size_t l = 0; l < COUNT_OF(laws); l++) {
        for (int sample = INT16_MIN; sample <= INT16_MAX; sample++) {
            const uint8_t code = laws[l].encode((int16_t)sample);
            const int error = abs(laws[l].decode(code) - sample);
            const bool is_clipped = abs(sample) > abs(laws[l].decode(code)) && error > 512;
            if (error > step_of(&laws[l], code) / 2 + 8 && !is_clipped) {
                fail_msg("%s: %d is %d", laws[l].name, sample, laws[l].decode(code));
            }
            assert_true(!is_clipped || abs(sample) > 32000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_segments_have_the_values_of_the_recommendation),
        cmocka_unit_test(the_codes_change_at_the_decision_values),
        cmocka_unit_test(the_tone_of_the_recommendation_is_a_tone),
        cmocka_unit_test(every_code_comes_back_but_the_second_zero_of_pcmu),
        cmocka_unit_test(every_sample_is_within_half_a_step_of_its_code_up_to_the_clip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
