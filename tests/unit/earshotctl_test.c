/* earshotctl_test.c - commands answer by exit status, and never with a secret */
#include "tests/testing.h"

#include "tests/capture.h"
#include "tools/earshotctl/command.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

static char directory[64];
static struct capture printed; /* by the last call of run */

static int make_directory(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof(directory), "/tmp/earshotctl_test.XXXXXX");
    return mkdtemp(directory) == NULL;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static int remove_directory(void **state)
{
    (void)state;
    return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Runs `line`, words parted by spaces, "@" in front of a word standing for the directory. */
static int run(const char *line)
{
    char words[8][128];
    char *argv[10] = {(char *)"earshotctl"};
    int argc = 1;
    while (*line != '\0') {
        const size_t len = strcspn(line, " ");
        const bool is_inside = line[0] == '@';
        (void)snprintf(words[argc - 1], sizeof(words[0]), "%s%.*s", is_inside ? directory : "",
                       (int)len - is_inside, line + is_inside);
        argv[argc] = words[argc - 1];
        argc++;
        line += len + (line[len] == ' ');
    }
    capture_begin(&printed);
    const int status = command_run(argc, argv);
    capture_end(&printed);
    return status;
}

/* The contents of a file of the directory. */
static const char *read_back(const char *name)
{
    static char text[256];
    char path[128];
    (void)snprintf(path, sizeof(path), "%s%s", directory, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static void write_out(const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s%s", directory, name);
    (void)unlink(path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    assert_int_equal(fclose(file), 0);
}

static void what_is_not_a_command_is_wrong_usage(void **state)
{
    (void)state;
    static const char *const line[] = {"",
                                       "key",
                                       "keys",
                                       "keys lost",
                                       "init keys",
                                       "--wrong",
                                       "--version now",
                                       "keys init",
                                       "keys init --if-missing",
                                       "keys init --force @/a",
                                       "keys init @/a --if-missing",
                                       "keys list",
                                       "keys list @/a @/b",
                                       "keys list --json"};
    for (size_t i = 0; i < COUNT_OF(line); i++) {
        assert_int_equal(run(line[i]), 64);
        assert_memory_equal(printed.text, "earshotctl: ", 12);
    }
}

static void help_and_version_are_good_answers(void **state)
{
    (void)state;
    assert_int_equal(run("--help"), 0);
    assert_non_null(
        strstr(printed.text, "earshotctl keys init [--if-missing] [--api-keys FILE] DIR...\n"));
    assert_non_null(strstr(printed.text, "earshotctl keys list DIR\n"));
    assert_int_equal(run("keys --help"), 0);
    assert_non_null(strstr(printed.text, "usage: earshotctl"));
    assert_int_equal(run("keys list --help"), 0);
    assert_memory_equal(printed.text, "  earshotctl keys list DIR\n", 27);
    assert_int_equal(run("--version"), 0);
    assert_string_equal(printed.text, "earshotctl " EARSHOT_VERSION "\n");
}

static void init_makes_a_ring_in_each_directory(void **state)
{
    (void)state;
    assert_int_equal(run("keys init @/media @/signaling"), 0);
    assert_int_equal(strlen(read_back("/media/00.key")), 65);
    assert_string_equal(read_back("/media/active"), "00\n");
    assert_int_equal(run("keys list @/signaling"), 0);
    assert_string_equal(printed.text, "KEY  STATE\n00   active\n");
}

static void a_second_init_leaves_the_ring_as_it_is(void **state)
{
    (void)state;
    char secret[128];
    assert_int_equal(run("keys init @/ring"), 0);
    (void)snprintf(secret, sizeof(secret), "%.127s", read_back("/ring/00.key"));
    assert_int_equal(run("keys init @/ring"), 1);
    assert_non_null(strstr(printed.text, "is there already\n"));
    assert_string_equal(read_back("/ring/00.key"), secret);
    assert_int_equal(run("keys init --if-missing @/ring @/other"), 0);
    assert_non_null(strstr(printed.text, "/ring: holds a key ring already\n"));
    assert_non_null(strstr(printed.text, "/other: key ring made, key 00 active\n"));
    assert_string_equal(read_back("/ring/00.key"), secret);
}

static void a_broken_ring_is_not_taken_for_a_ring(void **state)
{
    (void)state;
    assert_int_equal(run("keys init @/ring"), 0);
    write_out("/ring/00.key", "0123\n");
    assert_int_equal(run("keys init --if-missing @/ring"), 1);
    assert_non_null(strstr(printed.text, "/ring/00.key: is not 64 hex digits\n"));
    assert_int_equal(run("keys list @/ring"), 1);
    assert_non_null(strstr(printed.text, "/ring/00.key: is not 64 hex digits\n"));
}

static void init_stops_at_the_first_directory_that_fails(void **state)
{
    (void)state;
    assert_int_equal(run("keys init @/missing/ring @/ring"), 1);
    assert_non_null(strstr(printed.text, "/missing/ring: No such file or directory\n"));
    assert_int_equal(run("keys list @/ring"), 1);
    assert_int_equal(run("keys init --if-missing @/missing/ring"), 1);
    assert_non_null(strstr(printed.text, "mkdir "));
}

static void list_shows_ids_and_no_secret(void **state)
{
    (void)state;
    static const char secret[] =
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
    assert_int_equal(run("keys init @/ring"), 0);
    write_out("/ring/63.key", secret);
    write_out("/ring/07.key", secret);
    write_out("/ring/active", "07\n");
    assert_int_equal(run("keys list @/ring"), 0);
    assert_string_equal(printed.text, "KEY  STATE\n"
                                      "00   verifies\n"
                                      "07   active\n"
                                      "63   verifies\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_not_a_command_is_wrong_usage, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(help_and_version_are_good_answers, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(init_makes_a_ring_in_each_directory, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(a_second_init_leaves_the_ring_as_it_is, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(a_broken_ring_is_not_taken_for_a_ring, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(init_stops_at_the_first_directory_that_fails,
                                        make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(list_shows_ids_and_no_secret, make_directory,
                                        remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
