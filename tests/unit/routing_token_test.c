/* routing_token_test.c - a token opens only as it was sealed, and tells a stranger nothing */
#include "tests/testing.h"

#include "common/base/random.h"
#include "common/routing/routing_token.h"

#include <stdlib.h>

#define SEED UINT64_C(0x5eed0001)

static struct key_ring *ring_of(uint8_t key_id, uint8_t fill)
{
    uint8_t secret[KEY_RING_SECRET_BYTES];
    memset(secret, fill, sizeof(secret));
    struct key_ring *ring = key_ring_from_secret(key_id, secret);
    assert_non_null(ring);
    return ring;
}

static enum routing_token_result open_text(struct key_ring *ring, const char *text, size_t len)
{
    struct routing_token out;
    uint8_t key_id = 0;
    const enum routing_token_result peeked = routing_token_peek(ring, bytes_view_of(text, len));
    const enum routing_token_result result =
        routing_token_open(ring, bytes_view_of(text, len), &out, &key_id);
    /* A look finds all that can be found without the cipher, and nothing else. */
    assert_int_equal(peeked, result == ROUTING_TOKEN_FORGED ? ROUTING_TOKEN_OK : result);
    return result;
}

static void every_field_survives_a_round_trip(void **state)
{
    (void)state;
    static const struct routing_token token_case[] = {
        {0, 0, 0, 0},
        {0xffff, 0xffffffff, 0xffffffff, 0xff},
        {0x0102, 0x03040506, 0x0708090a, 0x0b},
    };
    for (size_t i = 0; i < COUNT_OF(token_case); i++) {
        for (uint8_t id = 0; id < KEY_RING_IDS; id++) {
            struct key_ring *ring = ring_of(id, 1);
            char text[ROUTING_TOKEN_CHARS];
            struct routing_token out = {0};
            uint8_t key_id = 0xff;
            routing_token_seal(ring, &token_case[i], text);
            assert_int_equal(
                routing_token_open(ring, bytes_view_of(text, sizeof(text)), &out, &key_id),
                ROUTING_TOKEN_OK);
            assert_int_equal(key_id, id);
            assert_int_equal(out.cluster_id, token_case[i].cluster_id);
            assert_int_equal(out.instance_id, token_case[i].instance_id);
            assert_int_equal(out.session_id, token_case[i].session_id);
            assert_int_equal(out.restart, token_case[i].restart);
            key_ring_destroy(ring);
        }
    }
}

static void a_session_id_is_shard_slot_and_generation(void **state)
{
    (void)state;
    const uint32_t id = 63u << 26 | 0x3ffffu << 8 | 0xffu;
    assert_int_equal(SESSION_ID_SHARD(id), 63);
    assert_int_equal(SESSION_ID_SLOT(id), 0x3ffff);
    assert_int_equal(SESSION_ID_GENERATION(id), 0xff);
    assert_int_equal(SESSION_ID_SHARD(1u << 26), 1);
    assert_int_equal(SESSION_ID_SLOT(1u << 8), 1);
    assert_int_equal(SESSION_ID_GENERATION(1u << 8), 0);
}

static void a_token_has_23_ice_chars_and_no_other_length(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 1);
    const struct routing_token token = {.session_id = 1};
    char text[ROUTING_TOKEN_CHARS + 1] = {0};
    routing_token_seal(ring, &token, text);
    text[ROUTING_TOKEN_CHARS] = 'A';
    for (size_t len = 0; len <= sizeof(text); len++) {
        assert_int_equal(open_text(ring, text, len),
                         len == ROUTING_TOKEN_CHARS ? ROUTING_TOKEN_OK : ROUTING_TOKEN_FORM);
    }
    for (size_t at = 0; at < ROUTING_TOKEN_CHARS; at++) {
        const char good = text[at];
        for (unsigned character = 0; character < 256; character++) {
            const bool is_ice_char =
                (character >= 'A' && character <= 'Z') || (character >= 'a' && character <= 'z') ||
                (character >= '0' && character <= '9') || character == '+' || character == '/';
            text[at] = (char)character;
            const enum routing_token_result result = open_text(ring, text, ROUTING_TOKEN_CHARS);
            if (!is_ice_char) {
                assert_int_equal(result, ROUTING_TOKEN_FORM);
            } else if (text[at] != good) {
                assert_int_not_equal(result, ROUTING_TOKEN_OK);
            }
        }
        text[at] = good;
    }
    key_ring_destroy(ring);
}

/* Each token has one spelling: the four bits that the last character has too many must be zero. */
static void spare_bits_are_refused(void **state)
{
    (void)state;
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct key_ring *ring = ring_of(7, 1);
    const struct routing_token token = {.session_id = 1};
    char text[ROUTING_TOKEN_CHARS];
    routing_token_seal(ring, &token, text);
    const char *last = strchr(alphabet, text[ROUTING_TOKEN_CHARS - 1]);
    assert_non_null(last);
    assert_int_equal((last - alphabet) % 16, 0);
    for (size_t spare = 1; spare < 16; spare++) {
        text[ROUTING_TOKEN_CHARS - 1] = last[spare];
        assert_int_equal(open_text(ring, text, sizeof(text)), ROUTING_TOKEN_FORM);
    }
    key_ring_destroy(ring);
}

static void a_token_of_another_key_is_unknown_or_forged(void **state)
{
    (void)state;
    struct key_ring *ours = ring_of(7, 1);
    struct key_ring *other_id = ring_of(8, 1);
    struct key_ring *other_secret = ring_of(7, 2);
    const struct routing_token token = {.session_id = 1};
    char text[ROUTING_TOKEN_CHARS];
    routing_token_seal(ours, &token, text);
    assert_int_equal(open_text(other_id, text, sizeof(text)), ROUTING_TOKEN_UNKNOWN_KEY);
    assert_int_equal(open_text(other_secret, text, sizeof(text)), ROUTING_TOKEN_FORGED);
    key_ring_destroy(ours);
    key_ring_destroy(other_id);
    key_ring_destroy(other_secret);
}

static void each_of_1e5_random_tokens_is_refused_for_its_reason(void **state)
{
    (void)state;
    struct random_generator generator;
    random_generator_init(&generator, SEED);
    const struct random_source source = random_seeded(&generator);
    struct key_ring *ring = ring_of(7, 1);
    size_t forged = 0;
    size_t unknown = 0;
    for (size_t i = 0; i < 100000; i++) {
        char text[ROUTING_TOKEN_CHARS];
        random_ice_chars(source, text, sizeof(text));
        /* A key id of our own in every second one, and a last character with no spare bits. */
        if (i % 2 == 0) {
            text[0] = 'H';
        }
        text[ROUTING_TOKEN_CHARS - 1] = "AQgw"[i / 2 % 4];
        const enum routing_token_result result = open_text(ring, text, sizeof(text));
        assert_int_equal(result, text[0] == 'H' ? ROUTING_TOKEN_FORGED : ROUTING_TOKEN_UNKNOWN_KEY);
        forged += result == ROUTING_TOKEN_FORGED;
        unknown += result == ROUTING_TOKEN_UNKNOWN_KEY;
    }
    assert_true(forged >= 50000);
    assert_true(unknown >= 48000);
    key_ring_destroy(ring);
}

static void each_flipped_bit_of_the_cipher_text_is_forged(void **state)
{
    (void)state;
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct key_ring *ring = ring_of(7, 1);
    const struct routing_token token = {.cluster_id = 1, .instance_id = 2, .session_id = 3};
    char text[ROUTING_TOKEN_CHARS];
    routing_token_seal(ring, &token, text);
    for (size_t bit = 0; bit < 128; bit++) {
        const size_t at = 1 + bit / 6;
        const char good = text[at];
        const size_t sextet = (size_t)(strchr(alphabet, good) - alphabet);
        text[at] = alphabet[sextet ^ (32u >> bit % 6)];
        assert_int_equal(open_text(ring, text, sizeof(text)), ROUTING_TOKEN_FORGED);
        text[at] = good;
    }
    key_ring_destroy(ring);
}

/* Sessions of one instance, one after the other: each of the 128 bits is set in half of the
 * tokens, within six standard deviations. A bit of a plain field would be stuck or would count. */
static void tokens_of_one_instance_look_random_bit_by_bit(void **state)
{
    (void)state;
    enum { TOKENS = 100000 };
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct key_ring *ring = ring_of(7, 1);
    size_t ones[132] = {0};
    size_t repeats[132] = {0}; /* how often a bit is as in the token before */
    uint8_t before[22] = {0};
    for (uint32_t i = 0; i < TOKENS; i++) {
        const struct routing_token token = {.cluster_id = 1, .instance_id = 9, .session_id = i};
        char text[ROUTING_TOKEN_CHARS];
        routing_token_seal(ring, &token, text);
        assert_int_equal(text[0], 'H');
        for (size_t at = 0; at < 22; at++) {
            const uint8_t sextet = (uint8_t)(strchr(alphabet, text[1 + at]) - alphabet);
            for (size_t bit = 0; bit < 6; bit++) {
                const unsigned mask = 32u >> bit;
                ones[at * 6 + bit] += (sextet & mask) != 0;
                repeats[at * 6 + bit] += ((sextet ^ before[at]) & mask) == 0;
            }
            before[at] = sextet;
        }
    }
    /* Six standard deviations of a fair coin: 6 * sqrt(n) / 2. */
    const long bound = 949;
    for (size_t bit = 0; bit < 128; bit++) {
        assert_true(labs((long)ones[bit] - TOKENS / 2) < bound);
        assert_true(labs((long)repeats[bit] - TOKENS / 2) < bound);
    }
    for (size_t bit = 128; bit < 132; bit++) {
        assert_int_equal(ones[bit], 0);
    }
    key_ring_destroy(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_survives_a_round_trip),
        cmocka_unit_test(a_session_id_is_shard_slot_and_generation),
        cmocka_unit_test(a_token_has_23_ice_chars_and_no_other_length),
        cmocka_unit_test(spare_bits_are_refused),
        cmocka_unit_test(a_token_of_another_key_is_unknown_or_forged),
        cmocka_unit_test(each_of_1e5_random_tokens_is_refused_for_its_reason),
        cmocka_unit_test(each_flipped_bit_of_the_cipher_text_is_forged),
        cmocka_unit_test(tokens_of_one_instance_look_random_bit_by_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
