/* sctp_cookie_test.c - what an INIT ACK hands out comes back whole, or not at all */
#include "tests/testing.h"

#include "services/transceiver/core/transport/sctp/sctp_cookie.h"

struct fixture {
    struct random_generator random;
    struct sctp_cookie_key key;
    uint8_t sealed[SCTP_COOKIE_BYTES];
};

static struct fixture fixture(void)
{
    struct fixture f;
    const struct sctp_cookie cookie = {
        .ours = {.tag = 1, .a_rwnd = 2, .out_streams = 3, .in_streams = 4, .tsn = 5},
        .theirs = {.tag = 6,
                   .a_rwnd = 7,
                   .out_streams = 8,
                   .in_streams = 9,
                   .tsn = 10,
                   .has_forward_tsn = true,
                   .has_zero_checksum = true},
        .sealed_us = 1000,
    };
    random_generator_init(&f.random, 1);
    sctp_cookie_init(&f.key, random_seeded(&f.random));
    sctp_cookie_seal(&f.key, &cookie, f.sealed);
    return f;
}

static enum sctp_cookie_result open_at(const struct fixture *f, size_t len, uint64_t now_us)
{
    struct sctp_cookie out;
    return sctp_cookie_open(&f->key, bytes_view_of(f->sealed, len), &out, now_us);
}

static void a_cookie_says_what_was_sealed(void **state)
{
    (void)state;
    struct fixture f = fixture();
    struct sctp_cookie out;
    assert_int_equal(
        sctp_cookie_open(&f.key, bytes_view_of(f.sealed, sizeof(f.sealed)), &out, 2000),
        SCTP_COOKIE_OK);
    assert_int_equal(out.sealed_us, 1000);
    assert_int_equal(out.ours.tag, 1);
    assert_int_equal(out.ours.tsn, 5);
    assert_false(out.ours.has_forward_tsn || out.ours.has_re_config);
    assert_int_equal(out.theirs.tag, 6);
    assert_int_equal(out.theirs.a_rwnd, 7);
    assert_int_equal(out.theirs.out_streams, 8);
    assert_int_equal(out.theirs.in_streams, 9);
    assert_int_equal(out.theirs.tsn, 10);
    assert_true(out.theirs.has_forward_tsn && out.theirs.has_zero_checksum);
    assert_false(out.theirs.has_re_config);
}

static void a_flipped_bit_or_another_length_is_a_forgery(void **state)
{
    (void)state;
    struct fixture f = fixture();
    for (size_t bit = 0; bit < 8 * sizeof(f.sealed); bit++) {
        f.sealed[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        assert_int_equal(open_at(&f, sizeof(f.sealed), 1000), SCTP_COOKIE_FORGED);
        f.sealed[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    for (size_t len = 0; len < sizeof(f.sealed); len++) {
        assert_int_equal(open_at(&f, len, 1000), SCTP_COOKIE_FORGED);
    }
}

static void the_cookie_of_another_association_is_a_forgery(void **state)
{
    (void)state;
    struct fixture f = fixture();
    sctp_cookie_init(&f.key, random_seeded(&f.random));
    assert_int_equal(open_at(&f, sizeof(f.sealed), 1000), SCTP_COOKIE_FORGED);
}

static void a_cookie_lives_for_60_seconds(void **state)
{
    (void)state;
    const struct fixture f = fixture();
    const uint64_t last_us = 1000 + SCTP_COOKIE_LIFE_US;
    assert_int_equal(open_at(&f, sizeof(f.sealed), last_us), SCTP_COOKIE_OK);
    assert_int_equal(open_at(&f, sizeof(f.sealed), last_us + 1), SCTP_COOKIE_STALE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cookie_says_what_was_sealed),
        cmocka_unit_test(a_flipped_bit_or_another_length_is_a_forgery),
        cmocka_unit_test(the_cookie_of_another_association_is_a_forgery),
        cmocka_unit_test(a_cookie_lives_for_60_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
