/* random_test.c - a seed repeats byte for byte, the system does not, ice-chars are ice-chars */
#include "tests/testing.h"

#include "common/base/random.h"

/* Outputs of the reference splitmix64 (Vigna, public domain) for the seed 1234567. */
static void the_generator_is_splitmix64(void **state)
{
    (void)state;
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821),
    };
    struct random_generator g;
    random_generator_init(&g, 1234567);
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(random_generator_next(&g) == expected[i]);
    }
}

static void the_same_seed_gives_the_same_bytes_and_another_seed_does_not(void **state)
{
    (void)state;
    uint8_t bytes[3][64];
    for (size_t i = 0; i < 3; i++) {
        struct random_generator g;
        random_generator_init(&g, i == 2 ? 8 : 7);
        random_fill(random_seeded(&g), bytes[i], sizeof(bytes[i]));
    }
    assert_memory_equal(bytes[0], bytes[1], sizeof(bytes[0]));
    assert_memory_not_equal(bytes[0], bytes[2], sizeof(bytes[0]));
}

static void exactly_the_asked_length_is_filled(void **state)
{
    (void)state;
    struct random_generator g;
    random_generator_init(&g, 1);
    const struct random_source source[] = {random_system(), random_seeded(&g)};
    for (size_t i = 0; i < COUNT_OF(source); i++) {
        for (size_t len = 0; len <= 300; len += 50) {
            uint8_t bytes[302];
            memset(bytes, 0xee, sizeof(bytes));
            random_fill(source[i], bytes + 1, len);
            assert_int_equal(bytes[0], 0xee);
            assert_int_equal(bytes[len + 1], 0xee);
        }
    }
}

/* 256 random bytes are all alike, or equal to another 256, once in 2^2048. */
static void the_system_gives_something_else_each_time(void **state)
{
    (void)state;
    uint8_t a[256];
    uint8_t b[256];
    random_fill(random_system(), a, sizeof(a));
    random_fill(random_system(), b, sizeof(b));
    assert_memory_not_equal(a, b, sizeof(a));
    assert_true(random_u32(random_system()) != random_u32(random_system()) ||
                random_u32(random_system()) != random_u32(random_system()));
}

/* RFC 8839 s.5.1: ALPHA / DIGIT / "+" / "/". */
static void ice_chars_are_of_the_alphabet_each_alike_and_without_a_nul(void **state)
{
    (void)state;
    enum { CHARS = 64 * 200 };
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static char text[CHARS + 1];
    unsigned count[64] = {0};
    struct random_generator g;
    random_generator_init(&g, 3);
    text[CHARS] = '#';
    random_ice_chars(random_seeded(&g), text, CHARS);
    assert_int_equal(text[CHARS], '#');
    for (size_t i = 0; i < CHARS; i++) {
        const char *found = memchr(alphabet, text[i], sizeof(alphabet) - 1);
        assert_non_null(found);
        count[found - alphabet]++;
    }
    for (size_t i = 0; i < 64; i++) {
        assert_in_range(count[i], 130, 270); /* 200 expected, sigma 14 */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_splitmix64),
        cmocka_unit_test(the_same_seed_gives_the_same_bytes_and_another_seed_does_not),
        cmocka_unit_test(exactly_the_asked_length_is_filled),
        cmocka_unit_test(the_system_gives_something_else_each_time),
        cmocka_unit_test(ice_chars_are_of_the_alphabet_each_alike_and_without_a_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
