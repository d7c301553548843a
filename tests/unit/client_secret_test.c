/* client_secret_test.c - a secret holds what was sealed, and nothing else opens */
#include "tests/testing.h"

#include "services/signaling/access/client_secret.h"

#include <stdio.h>
#include <stdlib.h>

#define SECRET_ID "sess_sLGys7S1tre4ubq7vL2-vw"
#define SESSION   "{\"type\":\"realtime\",\"instructions\":\"Be brief.\"}"
/* docs/wire-formats.md, section 7. */
#define GOLDEN                                                                                     \
    "ek_HoKGio6Slpqeoqaqrqg_m5171wdJxEX6BzOuJtnJAhNx1r1Y_X7N9yxKlVMzkmIpEGDZ_3OfyVUxsSb9dFLxvr1"   \
    "Wrcimsvi6J0NH7zCWo-akZ2leDOh4jZVehvYB-06L8jRyEFE33VJftTytTNh4RQ5_dwwZl_yXYszUA7t_cA8ergZFz"   \
    "NfA"
/* By the same implementation: another version, no room for the session, none that inflates, one of
 * 196,608 bytes and one byte more. */
#define OF_VERSION_2                                                                               \
    "ek_HoKGio6SlpqeoqaqrqQ_m5171wdJxEX6BzOuJtnJAhNx1r1Y_X7N9yxKlVMzkmIpEGDZ_3OfyVUxsSb9dFLxvr1"   \
    "WrcilUkYek7YSwmmUUGfig0T6_3enzh21ZjA"
#define OF_52_BYTES                                                                                \
    "ek_HoKGio6Slpqeoqaqrqg_m5171wdJxEX6BzOuJtnJAhNx1r1Y_X7N9yxKlVMzkmIpEGDZ_3OfyVUxsSb9dFLxvr2"   \
    "AkmejTMQ0IDJ8uuokYmkQ"
#define OF_NO_ZLIB                                                                                 \
    "ek_HoKGio6Slpqeoqaqrqg_m5171wdJxEX6BzOuJtnJAhNx1r1Y_X7N9yxKlVMzkmIpEGDZ_3OfyVUxsSb9dFLxvr1"   \
    "W9x_ba7uvM-t_oXpfezTMC8l6mLfq31cE"
#define OF_LONGEST_SESSION                                                                         \
    "ek_HoKGio6Slpqeoqaqrqg_m5171wdJxEX6BzOuJtnJAhNx1r1Y_X7N9yxKlVMzkmIpEGDZ_3OfyVUxsSb9dFLxvr1"   \
    "Wrcm87lYqlqIxKriBxNf6LM7q2UI6o4cWgnqlUnow1QdOvEofP8b3JWk71kPc4lp3dv3hqD019FCoGwLXLSuaFbMWT"   \
    "1xGPIat87NdUJ3Bdy8jm0ZvZEYBxr-8YX5ZMYxtsHqGTWeJdnq6OkpJBjjfqN9dI7awEvJKFPpEu18w2Df_Sy0pU2D"   \
    "jUw0LwfE6xcV-0keHmjEobwpXb5Z7A4zw1EJLwR3kgAC-LKbosVOBtsTFcfBELij0ajura343AxW-eKoZrSw04z0nN"   \
    "04zP7yjDoQfbfeVZZAqk92lZvC9XqmGBfwU6swZ_WdVdnOBW-w"
#define OF_LONGER_SESSION                                                                          \
    "ek_HoKGio6Slpqeoqaqrqg_m5171wdJxEX6BzOuJtnJAhNx1r1Y_X7N9yxKlVMzkmIpEGDZ_3OfyVUxsSb9dFLxvr1"   \
    "Wrcm87lY6l2IxNLiH1d1PvUYt1UDqqmeIjp6lUnow1QdOvEofP8b3JWk71kPc4lp3dv3hqD019FCoGwLXLSuaFbMWT"   \
    "1xGPIat87NdUJ3Bdy8jm0ZvZEYBxr-8YX5ZMYxtsHqGTWeJdnq6OkpJBjjfqN9dI7awEvJKFPpEu18w2Df_Sy0pU2D"   \
    "jUw0LwfE6xcV-0keHmjEobwpXb5Z7A4zw1EJLwR3kgAC-LKbosVOBtsTFcfBELij0ajura343AxW-eKoZrSw04z0nN"   \
    "04zP7yjDoQfbfeVZZAof4G81-y_PQkdq1dnP98NSrnFvrZu7cw"

static struct key_ring *ring_of(uint8_t key_id, uint8_t first)
{
    uint8_t secret[KEY_RING_SECRET_BYTES];
    for (size_t i = 0; i < sizeof(secret); i++) {
        secret[i] = (uint8_t)(first + i);
    }
    struct key_ring *ring = key_ring_from_secret(key_id, secret);
    assert_non_null(ring);
    return ring;
}

static void fill_with_a0(void *context, uint8_t *out, size_t len)
{
    (void)context;
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)(0xa0 + i);
    }
}

static struct client_secret sample(char *session)
{
    return (struct client_secret){.tenant = {0x82, 0x2b, 0x33, 0xad, 0x87, 0xc1, 0x48, 0xa0, 0xa2,
                                             0x0a, 0x5b, 0xa7, 0xcd, 0x5e, 0xbc, 0xaa},
                                  .not_before_unix_s = 1800000000,
                                  .expires_unix_s = 1800000600,
                                  .id = SECRET_ID,
                                  .offers_per_s = 50,
                                  .session = session};
}

static void assert_is_sample(const struct client_secret *secret, const char *session)
{
    const struct client_secret wanted = sample(NULL);
    assert_memory_equal(secret->tenant, wanted.tenant, sizeof(wanted.tenant));
    assert_int_equal(secret->not_before_unix_s, wanted.not_before_unix_s);
    assert_int_equal(secret->expires_unix_s, wanted.expires_unix_s);
    assert_string_equal(secret->id, SECRET_ID);
    assert_int_equal(secret->offers_per_s, 50);
    assert_string_equal(secret->session, session);
}

static void the_golden_secret_opens(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 0);
    struct client_secret secret;
    assert_true(client_secret_open(ring, bytes_view_of_text(GOLDEN), &secret));
    assert_is_sample(&secret, SESSION);
    client_secret_clear(&secret);
    assert_null(secret.session);
    key_ring_destroy(ring);
}

static void a_peek_shows_all_but_the_session_and_inflates_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool can_peek;
        bool opens;
    } secret_case[] = {
        {GOLDEN, true, true},
        {OF_LONGEST_SESSION, true, true},
        {OF_LONGER_SESSION, true, false},
        {OF_NO_ZLIB, true, false},
        {OF_VERSION_2, false, false},
        {OF_52_BYTES, false, false},
    };
    struct key_ring *ring = ring_of(7, 0);
    for (size_t i = 0; i < COUNT_OF(secret_case); i++) {
        const struct bytes_view text = bytes_view_of_text(secret_case[i].text);
        struct client_secret secret;
        assert_int_equal(client_secret_peek(ring, text, &secret), secret_case[i].can_peek);
        assert_null(secret.session);
        assert_int_equal(secret.expires_unix_s, secret_case[i].can_peek ? 1800000600 : 0);
        assert_string_equal(secret.id, secret_case[i].can_peek ? SECRET_ID : "");
        assert_int_equal(client_secret_open(ring, text, &secret), secret_case[i].opens);
        assert_int_equal(secret.session != NULL, secret_case[i].opens);
        client_secret_clear(&secret);
    }
    key_ring_destroy(ring);
}

static void what_is_sealed_opens_and_does_not_show(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(63, 9);
    static char session[] = SESSION;
    static char *const session_case[] = {NULL, session};
    char text[CLIENT_SECRET_CHARS_MAX + 1];
    for (size_t i = 0; i < COUNT_OF(session_case); i++) {
        const struct client_secret in = sample(session_case[i]);
        struct client_secret out;
        assert_int_equal(client_secret_seal(ring, &in, random_system(), text),
                         CLIENT_SECRET_SEALED);
        assert_memory_equal(text, "ek__", 4);
        assert_true(client_secret_is_one(bytes_view_of_text(text)));
        assert_true(client_secret_open(ring, bytes_view_of_text(text), &out));
        assert_is_sample(&out, session_case[i] != NULL ? session_case[i] : "{}");
        assert_null(strstr(text, "brief"));
        client_secret_clear(&out);
    }
    key_ring_destroy(ring);
}

static void two_secrets_of_one_content_differ(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 0);
    char first[CLIENT_SECRET_CHARS_MAX + 1];
    char second[CLIENT_SECRET_CHARS_MAX + 1];
    const struct client_secret in = sample(NULL);
    assert_int_equal(client_secret_seal(ring, &in, random_system(), first), CLIENT_SECRET_SEALED);
    assert_int_equal(client_secret_seal(ring, &in, random_system(), second), CLIENT_SECRET_SEALED);
    assert_string_not_equal(first, second);
    key_ring_destroy(ring);
}

static void no_part_and_no_altered_byte_opens(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 0);
    struct client_secret secret;
    char text[] = GOLDEN;
    const size_t len = strlen(text);
    for (size_t cut = 0; cut < len; cut++) {
        assert_false(client_secret_open(ring, bytes_view_of(text, cut), &secret));
        assert_null(secret.session);
    }
    for (size_t at = 0; at < len; at++) {
        const char was = text[at];
        text[at] = was == 'A' ? 'B' : 'A';
        assert_false(client_secret_open(ring, bytes_view_of(text, len), &secret));
        text[at] = was;
    }
    assert_true(client_secret_open(ring, bytes_view_of(text, len), &secret));
    client_secret_clear(&secret);
    key_ring_destroy(ring);
}

static void a_text_longer_than_any_secret_is_not_read(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 0);
    struct client_secret secret;
    const size_t lens[] = {CLIENT_SECRET_CHARS_MAX + 1, 65536};
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        char *text = malloc(lens[i]);
        memset(text, 'A', lens[i]);
        memcpy(text, "ek_H", 4);
        assert_false(client_secret_open(ring, bytes_view_of(text, lens[i]), &secret));
        free(text);
    }
    key_ring_destroy(ring);
}

static void a_key_of_another_ring_does_not_open_it(void **state)
{
    (void)state;
    struct key_ring *same_id = ring_of(7, 1);
    struct key_ring *other_id = ring_of(8, 0);
    struct client_secret secret;
    assert_false(client_secret_open(same_id, bytes_view_of_text(GOLDEN), &secret));
    assert_false(client_secret_open(other_id, bytes_view_of_text(GOLDEN), &secret));
    key_ring_destroy(same_id);
    key_ring_destroy(other_id);
}

/* Hex digits do not deflate below half their length: the length of the text follows theirs. */
static void a_session_that_does_not_fit_is_refused_and_the_longest_that_does_opens(void **state)
{
    (void)state;
    struct key_ring *ring = ring_of(7, 0);
    struct random_generator generator;
    random_generator_init(&generator, 5);
    static char session[16384];
    char text[CLIENT_SECRET_CHARS_MAX + 1];
    size_t longest = 0;
    size_t refused = 0;
    for (size_t digits = 7000; digits < 10000 && refused == 0; digits += 16) {
        size_t len = (size_t)snprintf(session, sizeof(session), "{\"instructions\":\"");
        while (len < digits) {
            len += (size_t)snprintf(session + len, sizeof(session) - len, "%016llx",
                                    (unsigned long long)random_generator_next(&generator));
        }
        (void)snprintf(session + len, sizeof(session) - len, "\"}");
        const struct client_secret in = sample(session);
        struct client_secret out;
        if (client_secret_seal(ring, &in, random_system(), text) != CLIENT_SECRET_SEALED) {
            refused = digits;
            continue;
        }
        longest = strlen(text);
        assert_true(longest <= CLIENT_SECRET_CHARS_MAX);
        assert_true(client_secret_open(ring, bytes_view_of_text(text), &out));
        assert_string_equal(out.session, session);
        client_secret_clear(&out);
    }
    assert_true(refused > 0);
    assert_true(longest > CLIENT_SECRET_CHARS_MAX - 64);
    key_ring_destroy(ring);
}

static void an_id_is_a_prefix_and_128_bits(void **state)
{
    (void)state;
    char id[CLIENT_SECRET_ID_CHARS + 1];
    client_secret_make_id((struct random_source){.fill = fill_with_a0}, id);
    assert_string_equal(id, "sess_oKGio6SlpqeoqaqrrK2urw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_golden_secret_opens),
        cmocka_unit_test(a_peek_shows_all_but_the_session_and_inflates_nothing),
        cmocka_unit_test(what_is_sealed_opens_and_does_not_show),
        cmocka_unit_test(two_secrets_of_one_content_differ),
        cmocka_unit_test(no_part_and_no_altered_byte_opens),
        cmocka_unit_test(a_text_longer_than_any_secret_is_not_read),
        cmocka_unit_test(a_key_of_another_ring_does_not_open_it),
        cmocka_unit_test(a_session_that_does_not_fit_is_refused_and_the_longest_that_does_opens),
        cmocka_unit_test(an_id_is_a_prefix_and_128_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
