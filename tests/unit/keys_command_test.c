/* keys_command_test.c - rings are made in order, once, and shown without a secret */
#include "tests/testing.h"

#include "tests/capture.h"
#include "tools/earshotctl/keys_command.h"

#include <ftw.h>
#include <stdlib.h>

static char directory[64];
static char path_a[80];
static char path_b[80];
static struct capture printed; /* by the last command */

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof(directory), "/tmp/keys_command_test.XXXXXX");
    if (mkdtemp(directory) == NULL) {
        return -1;
    }
    (void)snprintf(path_a, sizeof(path_a), "%s/a", directory);
    (void)snprintf(path_b, sizeof(path_b), "%s/b", directory);
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

typedef enum command_exit command(struct command_arguments arguments);

/* With those of the arguments that are not NULL. */
static enum command_exit run(command *what, const char *first, const char *second)
{
    char *text[] = {(char *)first, (char *)second};
    const struct command_arguments arguments = {.count = second != NULL  ? 2
                                                         : first != NULL ? 1
                                                                         : 0,
                                                .text = text};
    capture_begin(&printed);
    const enum command_exit result = what(arguments);
    capture_end(&printed);
    return result;
}

static void too_few_arguments_and_what_looks_like_an_option_are_wrong_usage(void **state)
{
    (void)state;
    assert_int_equal(run(keys_command_init, NULL, NULL), COMMAND_USAGE);
    assert_int_equal(run(keys_command_init, "--if-missing", NULL), COMMAND_USAGE);
    assert_int_equal(run(keys_command_init, "", NULL), COMMAND_USAGE);
    assert_int_equal(run(keys_command_list, NULL, NULL), COMMAND_USAGE);
    assert_int_equal(run(keys_command_list, path_a, path_b), COMMAND_USAGE);
    /* Nothing is made before all arguments are good. */
    assert_int_equal(run(keys_command_init, path_a, "--force"), COMMAND_USAGE);
    assert_int_equal(access(path_a, F_OK), -1);
}

static void init_stops_at_the_first_directory_that_fails(void **state)
{
    (void)state;
    assert_int_equal(run(keys_command_init, path_a, NULL), COMMAND_YES);
    assert_int_equal(run(keys_command_init, path_a, path_b), COMMAND_NO);
    assert_non_null(strstr(printed.text, path_a));
    assert_int_equal(access(path_b, F_OK), -1);
    assert_int_equal(run(keys_command_init, "--if-missing", path_a), COMMAND_YES);
    assert_non_null(strstr(printed.text, "already"));
}

static void list_shows_the_id_and_not_the_secret(void **state)
{
    char file[96];
    char secret[65] = "";
    (void)state;
    assert_int_equal(run(keys_command_list, path_a, NULL), COMMAND_NO);
    assert_int_equal(run(keys_command_init, path_a, NULL), COMMAND_YES);
    (void)snprintf(file, sizeof(file), "%s/00.key", path_a);
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, secret, 64), 64);
    (void)close(fd);
    assert_null(strstr(printed.text, secret));
    assert_int_equal(run(keys_command_list, path_a, NULL), COMMAND_YES);
    assert_string_equal(printed.text, "KEY  STATE\n00   active\n");
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(too_few_arguments_and_what_looks_like_an_option_are_wrong_usage),
        CLAIM(init_stops_at_the_first_directory_that_fails),
        CLAIM(list_shows_the_id_and_not_the_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
