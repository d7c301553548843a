/* auth_test.c - who passes, as whom, and why others do not */
#include "tests/testing.h"

#include "services/signaling/access/auth.h"

#define NOW_S UINT64_C(1800000000)

static struct auth *auth_of(const char *text)
{
    struct fault fault = {0};
    struct api_keys *keys = api_keys_parse(bytes_view_of_text(text), "keys", &fault);
    assert_non_null(keys);
    struct auth *a = auth_create(AUTH_KEYS, keys);
    assert_non_null(a);
    return a;
}

/* Keys: "abc" of acme, "peer" of a role that makes no calls. */
static struct auth *two_keys(void)
{
    return auth_of("acme app ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad "
                   "offers_per_s=7\n"
                   "east peer 2ffc1d06387ef8bb7a34312b6c6c3f691550684508c3ce7ee3889375a18d6fa0\n");
}

static enum auth_verdict check(struct auth *a, const char *field, struct auth_identity *who)
{
    return auth_check(a, auth_bearer(bytes_view_of_text(field)), NOW_S, who);
}

static void a_key_passes_as_its_tenant(void **state)
{
    (void)state;
    struct auth *a = two_keys();
    struct auth_identity who;
    uint8_t acme[API_KEY_TENANT_BYTES];
    api_keys_tenant(bytes_view_of_text("acme"), acme);
    static const char *const field[] = {"Bearer abc", "bearer abc", "BEARER   abc"};
    for (size_t i = 0; i < COUNT_OF(field); i++) {
        assert_int_equal(check(a, field[i], &who), AUTH_PASS);
        assert_memory_equal(who.tenant, acme, sizeof(acme));
        assert_int_equal(who.offers_per_s, 7);
        assert_string_equal(who.secret_id, "");
        assert_int_equal(who.session.len, 0);
    }
    assert_int_equal(auth_check(a, bytes_view_of_text("abc"), NOW_S, &who), AUTH_PASS);
    auth_destroy(a);
}

static void what_is_no_key_is_told_apart_for_counters(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        enum auth_verdict verdict;
    } field_case[] = {
        {"", AUTH_MISSING},
        {"Bearer", AUTH_MISSING},
        {"Bearer ", AUTH_MISSING},
        {"Bearer    ", AUTH_MISSING},
        {"Basic abc", AUTH_MISSING},
        {"abc", AUTH_MISSING},
        {"Bearerabc", AUTH_MISSING},
        {"Bearer abd", AUTH_UNKNOWN_KEY},
        {"Bearer abc ", AUTH_UNKNOWN_KEY},
        {"Bearer abc, Bearer abc", AUTH_UNKNOWN_KEY},
        {"Bearer peer", AUTH_WRONG_ROLE},
    };
    struct auth *a = two_keys();
    for (size_t i = 0; i < COUNT_OF(field_case); i++) {
        struct auth_identity who;
        assert_int_equal(check(a, field_case[i].field, &who), field_case[i].verdict);
    }
    auth_destroy(a);
}

static void without_authentication_all_are_one_tenant(void **state)
{
    (void)state;
    static const uint8_t nobody[API_KEY_TENANT_BYTES];
    static const char *const field[] = {"", "Bearer abc", "Basic x"};
    struct auth *a = auth_create(AUTH_OFF, NULL);
    assert_non_null(a);
    for (size_t i = 0; i < COUNT_OF(field); i++) {
        struct auth_identity who;
        assert_int_equal(check(a, field[i], &who), AUTH_PASS);
        assert_memory_equal(who.tenant, nobody, sizeof(nobody));
    }
    auth_destroy(a);
}

static struct auth_identity acme_identity(struct auth *a)
{
    struct auth_identity who;
    assert_int_equal(check(a, "Bearer abc", &who), AUTH_PASS);
    return who;
}

/* Signs with key id `key_id`. */
static void set_ring(struct auth *a, uint8_t key_id)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};
    struct key_ring *ring = key_ring_from_secret(key_id, secret);
    assert_non_null(ring);
    assert_true(auth_set_ring(a, ring));
    key_ring_destroy(ring);
}

static void make_secret(struct auth *a, char *session, char text[CLIENT_SECRET_CHARS_MAX + 1])
{
    struct client_secret made;
    const struct auth_identity who = acme_identity(a);
    const struct auth_wish wish = {.who = &who, .session = session, .unix_s = NOW_S, .life_s = 600};
    assert_int_equal(auth_make_secret(a, &wish, random_system(), text, &made),
                     CLIENT_SECRET_SEALED);
    assert_int_equal(made.expires_unix_s, NOW_S + 600);
}

static void a_client_secret_passes_as_its_maker_with_its_session_until_it_expires(void **state)
{
    (void)state;
    static char session[] = "{\"instructions\":\"hi\"}";
    static const struct {
        int64_t after_s;
        enum auth_verdict verdict;
    } time_case[] = {{-6, AUTH_EXPIRED}, {-5, AUTH_PASS},     {0, AUTH_PASS},
                     {599, AUTH_PASS},   {600, AUTH_EXPIRED}, {100000, AUTH_EXPIRED}};
    char text[CLIENT_SECRET_CHARS_MAX + 1];
    struct auth *a = two_keys();
    set_ring(a, 3);
    make_secret(a, session, text);
    const struct auth_identity acme = acme_identity(a);
    for (size_t i = 0; i < COUNT_OF(time_case); i++) {
        struct auth_identity who;
        assert_int_equal(auth_check(a, bytes_view_of_text(text),
                                    (uint64_t)((int64_t)NOW_S + time_case[i].after_s), &who),
                         time_case[i].verdict);
        if (time_case[i].verdict == AUTH_PASS) {
            assert_memory_equal(who.tenant, acme.tenant, sizeof(acme.tenant));
            assert_int_equal(who.offers_per_s, 7);
            assert_memory_equal(who.secret_id, "sess_", 5);
            assert_int_equal(who.session.len, 0);
            assert_true(auth_take_session(a, bytes_view_of_text(text), &who));
            assert_true(bytes_equal(who.session, bytes_view_of_text(session)));
        }
    }
    auth_destroy(a);
}

/* The ring of docs/wire-formats.md: key 7, of the bytes 0, 1, 2... */
static void set_golden_ring(struct auth *a)
{
    uint8_t secret[KEY_RING_SECRET_BYTES];
    for (size_t i = 0; i < sizeof(secret); i++) {
        secret[i] = (uint8_t)i;
    }
    struct key_ring *ring = key_ring_from_secret(7, secret);
    assert_non_null(ring);
    assert_true(auth_set_ring(a, ring));
    key_ring_destroy(ring);
}

/* Made by another implementation: its session is no zlib at all. */
#define SECRET_OF_NO_ZLIB                                                                          \
    "ek_HoKGio6Slpqeoqaqrqg_m5171wdJxEX6BzOuJtnJAhNx1r1Y_X7N9yxKlVMzkmIpEGDZ_3OfyVUxsSb9dFLxvr1"   \
    "W9x_ba7uvM-t_oXpfezTMC8l6mLfq31cE"

static void a_check_and_an_expired_secret_inflate_nothing(void **state)
{
    (void)state;
    const struct bytes_view key = bytes_view_of_text(SECRET_OF_NO_ZLIB);
    struct auth_identity who;
    struct auth *a = two_keys();
    set_golden_ring(a);
    assert_int_equal(auth_check(a, key, NOW_S + 600, &who), AUTH_EXPIRED);
    assert_int_equal(auth_check(a, key, NOW_S - 6, &who), AUTH_EXPIRED);
    assert_int_equal(auth_check(a, key, NOW_S, &who), AUTH_PASS);
    assert_false(auth_take_session(a, key, &who));
    assert_int_equal(who.session.len, 0);
    assert_int_equal(check(a, "Bearer abc", &who), AUTH_PASS);
    assert_true(auth_take_session(a, bytes_view_of_text("abc"), &who));
    assert_int_equal(who.session.len, 0);
    auth_destroy(a);
}

static void a_secret_outlives_a_change_of_keys_but_not_of_the_ring(void **state)
{
    (void)state;
    char text[CLIENT_SECRET_CHARS_MAX + 1];
    struct fault fault = {0};
    struct auth_identity who;
    struct auth *a = two_keys();
    assert_int_equal(auth_check(a, bytes_view_of_text("ek_A"), NOW_S, &who), AUTH_BAD_SECRET);
    set_ring(a, 3);
    make_secret(a, NULL, text);
    auth_set_keys(a, api_keys_parse(bytes_view_of_text(""), "keys", &fault));
    assert_int_equal(auth_check(a, bytes_view_of_text(text), NOW_S, &who), AUTH_PASS);
    set_ring(a, 4);
    assert_int_equal(auth_check(a, bytes_view_of_text(text), NOW_S, &who), AUTH_BAD_SECRET);
    auth_destroy(a);
}

static void without_authentication_a_secret_still_brings_its_session(void **state)
{
    (void)state;
    static const uint8_t nobody[API_KEY_TENANT_BYTES];
    static char session[] = "{\"a\":1}";
    char text[CLIENT_SECRET_CHARS_MAX + 1];
    struct auth_identity who;
    struct auth *made_by = two_keys();
    struct auth *off = auth_create(AUTH_OFF, NULL);
    set_ring(made_by, 3);
    set_ring(off, 3);
    make_secret(made_by, session, text);
    assert_int_equal(auth_check(off, bytes_view_of_text(text), NOW_S, &who), AUTH_PASS);
    assert_true(auth_take_session(off, bytes_view_of_text(text), &who));
    assert_true(bytes_equal(who.session, bytes_view_of_text(session)));
    assert_memory_equal(who.tenant, nobody, sizeof(nobody));
    auth_destroy(made_by);
    auth_destroy(off);
}

static void new_keys_count_at_once_and_old_ones_no_more(void **state)
{
    (void)state;
    struct fault fault = {0};
    struct auth_identity who;
    struct auth *a = two_keys();
    auth_set_keys(a, api_keys_parse(bytes_view_of_text(""), "keys", &fault));
    assert_int_equal(check(a, "Bearer abc", &who), AUTH_UNKNOWN_KEY);
    auth_destroy(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_passes_as_its_tenant),
        cmocka_unit_test(what_is_no_key_is_told_apart_for_counters),
        cmocka_unit_test(without_authentication_all_are_one_tenant),
        cmocka_unit_test(a_client_secret_passes_as_its_maker_with_its_session_until_it_expires),
        cmocka_unit_test(a_check_and_an_expired_secret_inflate_nothing),
        cmocka_unit_test(a_secret_outlives_a_change_of_keys_but_not_of_the_ring),
        cmocka_unit_test(without_authentication_a_secret_still_brings_its_session),
        cmocka_unit_test(new_keys_count_at_once_and_old_ones_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
