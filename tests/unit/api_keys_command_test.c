/* api_keys_command_test.c - a key is told once, and its hash is what signaling finds it by */
#include "tests/testing.h"

#include "services/signaling/access/api_keys.h"
#include "tests/capture.h"
#include "tools/earshotctl/api_keys_command.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static char path[96];
static struct capture printed; /* by the last command */

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof(directory), "/tmp/api_keys_command_test.XXXXXX");
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    (void)snprintf(path, sizeof(path), "%s/api/keys", directory);
    return 0;
}

static int tear_down(void **state)
{
    char parent[80];
    (void)state;
    (void)snprintf(parent, sizeof(parent), "%s/api", directory);
    (void)unlink(path);
    (void)rmdir(parent);
    return rmdir(directory);
}

static enum command_exit add(const char *file, const char *tenant)
{
    char *text[] = {(char *)file, (char *)tenant};
    const struct command_arguments arguments = {.count = tenant != NULL ? 2 : 1, .text = text};
    capture_begin(&printed);
    const enum command_exit result = api_keys_command_add(arguments);
    capture_end(&printed);
    return result;
}

/* Without its line end. */
static struct bytes_view printed_key(void)
{
    return bytes_view_of(printed.text, strcspn(printed.text, "\n"));
}

static void each_key_that_was_told_is_found_as_its_tenant(void **state)
{
    (void)state;
    struct fault fault = {0};
    struct stat status;
    uint8_t acme[API_KEY_TENANT_BYTES];
    char first[160];
    assert_int_equal(add(path, "acme"), COMMAND_YES);
    (void)snprintf(first, sizeof(first), "%.*s", (int)printed_key().len, printed.text);
    assert_int_equal(add(path, "other.tenant-2"), COMMAND_YES);
    struct api_keys *keys = api_keys_load(path, &fault);
    assert_non_null(keys);
    assert_int_equal(api_keys_count(keys), 2);
    const struct api_key *found = api_keys_find(keys, bytes_view_of_text(first));
    assert_non_null(found);
    assert_int_equal(found->role, API_KEY_APP);
    api_keys_tenant(bytes_view_of_text("acme"), acme);
    assert_memory_equal(found->tenant, acme, sizeof(acme));
    assert_non_null(api_keys_find(keys, printed_key()));
    api_keys_destroy(keys);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void a_new_file_is_good_and_empty_and_an_old_one_stays(void **state)
{
    (void)state;
    struct fault fault = {0};
    assert_true(api_keys_command_make_file(path, &fault));
    struct api_keys *keys = api_keys_load(path, &fault);
    assert_non_null(keys);
    assert_int_equal(api_keys_count(keys), 0);
    api_keys_destroy(keys);
    assert_int_equal(add(path, "acme"), COMMAND_YES);
    assert_true(api_keys_command_make_file(path, &fault));
    keys = api_keys_load(path, &fault);
    assert_int_equal(api_keys_count(keys), 1);
    api_keys_destroy(keys);
}

static void wrong_words_and_places_make_no_key(void **state)
{
    (void)state;
    assert_int_equal(add(path, NULL), COMMAND_USAGE);
    assert_int_equal(add("", "acme"), COMMAND_USAGE);
    assert_int_equal(add("--force", "acme"), COMMAND_USAGE);
    assert_int_equal(add(path, ""), COMMAND_USAGE);
    assert_int_equal(add(path, "-x"), COMMAND_USAGE);
    assert_int_equal(add(path, "ac me"), COMMAND_USAGE);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(add("/nonexistent/a/b", "acme"), COMMAND_NO);
    assert_non_null(strstr(printed.text, "/nonexistent/a"));
    assert_null(strstr(printed.text, "sk-"));
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(each_key_that_was_told_is_found_as_its_tenant),
        CLAIM(a_new_file_is_good_and_empty_and_an_old_one_stays),
        CLAIM(wrong_words_and_places_make_no_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
