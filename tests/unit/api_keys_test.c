/* api_keys_test.c - the file of API keys is read strictly, and holds no key */
#include "tests/testing.h"

#include "services/signaling/access/api_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* SHA-256 of "abc" (FIPS 180-4, appendix of examples), and of "". */
#define HASH_OF_ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define HASH_OF_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static struct api_keys *parse(const char *text, struct fault *fault)
{
    *fault = (struct fault){0};
    return api_keys_parse(bytes_view_of_text(text), "keys", fault);
}

static void a_key_is_found_by_itself_alone(void **state)
{
    (void)state;
    struct fault fault;
    struct api_keys *keys = parse("# who\n\n  acme\tapp " HASH_OF_ABC " offers_per_s=50 \r\n"
                                  "ops operator " HASH_OF_EMPTY,
                                  &fault);
    assert_non_null(keys);
    assert_int_equal(api_keys_count(keys), 2);
    const struct api_key *acme = api_keys_find(keys, bytes_view_of_text("abc"));
    assert_non_null(acme);
    assert_int_equal(acme->role, API_KEY_APP);
    assert_int_equal(acme->offers_per_s, 50);
    const struct api_key *ops = api_keys_find(keys, bytes_view_of(NULL, 0));
    assert_non_null(ops);
    assert_int_equal(ops->role, API_KEY_OPERATOR);
    assert_int_equal(ops->offers_per_s, 0);
    static const char *const other[] = {"ab", "abcd", "ABC", "abc\n", HASH_OF_ABC, "acme"};
    for (size_t i = 0; i < COUNT_OF(other); i++) {
        assert_null(api_keys_find(keys, bytes_view_of_text(other[i])));
    }
    api_keys_destroy(keys);
}

static void a_tenant_is_the_front_of_the_hash_of_its_name(void **state)
{
    (void)state;
    uint8_t tenant[API_KEY_TENANT_BYTES];
    uint8_t expected[API_KEY_TENANT_BYTES];
    struct fault fault;
    assert_true(bytes_from_hex(bytes_view_of(HASH_OF_ABC, 2 * sizeof(expected)), expected,
                               sizeof(expected)));
    api_keys_tenant(bytes_view_of_text("abc"), tenant);
    assert_memory_equal(tenant, expected, sizeof(tenant));
    struct api_keys *keys = parse("abc app " HASH_OF_EMPTY, &fault);
    assert_non_null(keys);
    assert_memory_equal(api_keys_find(keys, bytes_view_of(NULL, 0))->tenant, expected,
                        sizeof(expected));
    api_keys_destroy(keys);
}

static void a_wrong_line_is_named_and_refuses_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *fault;
    } line_case[] = {
        {"acme", "keys:1: wants: tenant role sha256"},
        {"acme app", "keys:1: wants"},
        {"acme app " HASH_OF_ABC " offers_per_s=1 more", "keys:1: wants"},
        {"a b c d e f g h i j", "keys:1: wants"},
        {"ac/me app " HASH_OF_ABC, "keys:1: a tenant is"},
        {"#\nacme root " HASH_OF_ABC, "keys:2: the role is not"},
        {"acme App " HASH_OF_ABC, "keys:1: the role is not"},
        {"acme app sk-plain-key", "keys:1: the hash is not 64 hex digits"},
        {"acme app " HASH_OF_ABC "00", "keys:1: the hash"},
        {"acme app " HASH_OF_ABC " offers_per_s=", "keys:1: the last word"},
        {"acme app " HASH_OF_ABC " offers_per_s=0", "keys:1: the last word"},
        {"acme app " HASH_OF_ABC " offers_per_s=-1", "keys:1: the last word"},
        {"acme app " HASH_OF_ABC " offers_per_s=100001", "keys:1: the last word"},
        {"acme app " HASH_OF_ABC " offers_per_s=99999999999999999999", "keys:1: the last word"},
        {"acme app " HASH_OF_ABC " offers=1", "keys:1: the last word"},
        {"a app " HASH_OF_ABC "\nb app " HASH_OF_ABC, "keys:2: this key stands in the file"},
    };
    for (size_t i = 0; i < COUNT_OF(line_case); i++) {
        struct fault fault;
        assert_null(parse(line_case[i].text, &fault));
        assert_non_null(strstr(fault.text, line_case[i].fault));
        assert_null(strstr(fault.text, "sk-plain-key")); /* who mistook the column */
    }
}

static void names_and_counts_end_where_the_header_says(void **state)
{
    (void)state;
    struct fault fault;
    char text[256];
    for (int len = API_KEY_TENANT_CHARS_MAX; len <= API_KEY_TENANT_CHARS_MAX + 1; len++) {
        (void)snprintf(text, sizeof(text), "%0*d app " HASH_OF_ABC, len, 7);
        struct api_keys *keys = parse(text, &fault);
        assert_int_equal(keys != NULL, len == API_KEY_TENANT_CHARS_MAX);
        api_keys_destroy(keys);
    }
    for (int count = API_KEYS_MAX; count <= API_KEYS_MAX + 1; count++) {
        const size_t cap = (size_t)count * 80;
        char *many = malloc(cap);
        size_t len = 0;
        for (int i = 0; i < count; i++) {
            len += (size_t)snprintf(many + len, cap - len, "t app %064d\n", i);
        }
        struct api_keys *keys = api_keys_parse(bytes_view_of(many, len), "keys", &fault);
        assert_int_equal(keys != NULL, count == API_KEYS_MAX);
        api_keys_destroy(keys);
        free(many);
    }
}

static void only_a_file_that_others_can_not_touch_is_read(void **state)
{
    (void)state;
    static const struct {
        mode_t mode;
        bool is_good;
    } mode_case[] = {{0600, true}, {0400, true}, {0440, true}, {0444, false}, {0602, false}};
    char path[] = "/tmp/api_keys_test.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(write(fd, "a app " HASH_OF_ABC "\n", 71) == 71);
    for (size_t i = 0; i < COUNT_OF(mode_case); i++) {
        struct fault fault = {0};
        assert_int_equal(fchmod(fd, mode_case[i].mode), 0);
        struct api_keys *keys = api_keys_load(path, &fault);
        assert_int_equal(keys != NULL, mode_case[i].is_good);
        assert_true(mode_case[i].is_good || strstr(fault.text, "open to others") != NULL);
        api_keys_destroy(keys);
    }
    (void)close(fd);
    (void)unlink(path);
    struct fault fault = {0};
    assert_null(api_keys_load(path, &fault));
    assert_non_null(strstr(fault.text, "No such file"));
    assert_null(api_keys_load("/tmp", &fault));
    assert_non_null(strstr(fault.text, "is not a file"));
}

static void a_file_longer_than_its_bound_is_refused(void **state)
{
    (void)state;
    char path[] = "/tmp/api_keys_test.XXXXXX";
    const int fd = mkstemp(path);
    char *text = malloc(API_KEYS_FILE_BYTES_MAX + 1);
    memset(text, '\n', API_KEYS_FILE_BYTES_MAX + 1);
    for (size_t len = API_KEYS_FILE_BYTES_MAX; len <= API_KEYS_FILE_BYTES_MAX + 1; len++) {
        struct fault fault = {0};
        assert_int_equal(pwrite(fd, text, len, 0), len);
        struct api_keys *keys = api_keys_load(path, &fault);
        assert_int_equal(keys != NULL, len == API_KEYS_FILE_BYTES_MAX);
        api_keys_destroy(keys);
    }
    free(text);
    (void)close(fd);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_found_by_itself_alone),
        cmocka_unit_test(a_tenant_is_the_front_of_the_hash_of_its_name),
        cmocka_unit_test(a_wrong_line_is_named_and_refuses_the_file),
        cmocka_unit_test(names_and_counts_end_where_the_header_says),
        cmocka_unit_test(only_a_file_that_others_can_not_touch_is_read),
        cmocka_unit_test(a_file_longer_than_its_bound_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
