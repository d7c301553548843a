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
    return auth_check(a, bytes_view_of_text(field), NOW_S, who);
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
    assert_int_equal(auth_check_key(a, bytes_view_of_text("abc"), NOW_S, &who), AUTH_PASS);
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
        cmocka_unit_test(new_keys_count_at_once_and_old_ones_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
