/* process_test.c - options, exit codes, hardening and signals that every service shares */
#include "tests/testing.h"

#include "common/runtime/process.h"
#include "tests/capture.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct capture printed; /* by the last call below */

static enum process_reload reload = PROCESS_RELOADS_KEYS; /* of the program that is asked */

static struct process_options parse(const char *a, const char *b, const char *c)
{
    char *argv[] = {(char *)"prog", (char *)a, (char *)b, (char *)c, NULL};
    int argc = 1;
    while (argc < 4 && argv[argc] != NULL) {
        argc++;
    }
    capture_begin(&printed);
    const struct process_options options =
        process_parse_options(argc, argv, "relay", "Forwards media.", reload);
    capture_end(&printed);
    return options;
}

static void options_choose_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *argument[3];
        enum process_action action;
        int exit_status;
        const char *config_path;
    } table[] = {
        {{NULL}, PROCESS_RUN, 0, "/etc/earshot/relay.yaml"},
        {{"--config", "r.yaml"}, PROCESS_RUN, 0, "r.yaml"},
        {{"--config=r.yaml"}, PROCESS_RUN, 0, "r.yaml"},
        {{"--check-config", "--config", "r.yaml"}, PROCESS_CHECK_CONFIG, 0, "r.yaml"},
        {{"--health"}, PROCESS_HEALTH, 0, "/etc/earshot/relay.yaml"},
        {{"--help"}, PROCESS_EXIT, 0, ""},
        {{"--version"}, PROCESS_EXIT, 0, ""},
        {{"--unknown"}, PROCESS_EXIT, 64, ""},
        {{"--config"}, PROCESS_EXIT, 64, ""},
        {{"--config", ""}, PROCESS_EXIT, 64, ""},
        {{"--health", "--check-config"}, PROCESS_EXIT, 64, ""},
        {{"--health=yes"}, PROCESS_EXIT, 64, ""},
        {{"relay.yaml"}, PROCESS_EXIT, 64, ""},
        {{"-c", "relay.yaml"}, PROCESS_EXIT, 64, ""},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct process_options options =
            parse(table[i].argument[0], table[i].argument[1], table[i].argument[2]);
        assert_int_equal(options.action, table[i].action);
        assert_int_equal(options.exit_status, table[i].exit_status);
        if (options.action == PROCESS_EXIT) {
            assert_true(printed.text[0] != '\0');
        } else {
            assert_string_equal(options.config_path, table[i].config_path);
            assert_string_equal(printed.text, "");
        }
    }
}

static void help_and_usage_say_how_to_go_on(void **state)
{
    (void)state;
    (void)parse("--help", NULL, NULL);
    static const char *const word[] = {
        "usage: earshot-relay", "Forwards media.", "--config FILE", "/etc/earshot/relay.yaml",
        "--check-config",       "--health",        "--version",     "SIGTERM"};
    for (size_t i = 0; i < COUNT_OF(word); i++) {
        assert_non_null(strstr(printed.text, word[i]));
    }
    (void)parse("--version", NULL, NULL);
    assert_string_equal(printed.text, "earshot-relay " EARSHOT_VERSION "\n");
    (void)parse("--wrong", NULL, NULL);
    assert_non_null(strstr(printed.text, "--wrong"));
    assert_non_null(strstr(printed.text, "try: earshot-relay --help\n"));
}

static void help_says_what_sighup_does_in_this_program(void **state)
{
    (void)state;
    (void)parse("--help", NULL, NULL);
    assert_non_null(strstr(printed.text, "SIGHUP reads the keys again, and nothing else.\n"));
    reload = PROCESS_RELOADS_NOTHING;
    (void)parse("--help", NULL, NULL);
    reload = PROCESS_RELOADS_KEYS;
    assert_non_null(strstr(printed.text, "SIGHUP does nothing.\n"));
}

static void a_path_that_would_be_cut_is_refused(void **state)
{
    (void)state;
    char path[257];
    memset(path, 'x', 256);
    path[256] = '\0';
    assert_int_equal(parse("--config", path, NULL).exit_status, 64);
    path[255] = '\0';
    const struct process_options options = parse("--config", path, NULL);
    assert_int_equal(options.action, PROCESS_RUN);
    assert_string_equal(options.config_path, path);
}

static void assert_hardened(bool allow_core_dumps)
{
    struct fault fault = {0};
    struct rlimit limit;
    const struct rlimit few_descriptors = {64, 128};
    (void)umask(022);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few_descriptors), 0);
    if (!process_harden(allow_core_dumps, &fault)) {
        fail_msg("%s", fault.text);
    }
    assert_int_equal(umask(0), 077);
    assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
    assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), allow_core_dumps);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(limit.rlim_cur, 128);
    assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
    assert_true(allow_core_dumps || limit.rlim_max == 0);
    assert_ptr_equal(signal(SIGPIPE, SIG_DFL), SIG_IGN);
}

/* Hardening can not be taken back, so a child undergoes it. */
static void a_hardened_process_gives_up_what_it_does_not_need(void **state)
{
    (void)state;
    for (int allow = 0; allow <= 1; allow++) {
        const pid_t child = fork();
        if (child == 0) {
            assert_hardened(allow == 1);
            _exit(77);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 77);
    }
}

/* In a child: the mask is the process's. */
static void an_early_signal_waits_for_the_descriptor(void **state)
{
    (void)state;
    static const int early[] = {SIGTERM, SIGUSR2, SIGHUP};
    for (size_t i = 0; i < COUNT_OF(early); i++) {
        int status = 0;
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct fault fault = {0};
            process_block_signals();
            (void)raise(early[i]);
            const int fd = process_signal_fd(&fault);
            _exit(process_signal_read(fd) != PROCESS_SIGNAL_NONE ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

static void signals_arrive_on_the_descriptor(void **state)
{
    (void)state;
    static const struct {
        int number;
        enum process_signal read_as;
    } table[] = {
        {SIGTERM, PROCESS_SIGNAL_STOP},
        {SIGINT, PROCESS_SIGNAL_STOP},
        {SIGUSR2, PROCESS_SIGNAL_HAND_OVER},
        {SIGHUP, PROCESS_SIGNAL_RELOAD},
    };
    struct fault fault = {0};
    const int fd = process_signal_fd(&fault);
    assert_true(fd >= 0);
    assert_int_equal(process_signal_read(fd), PROCESS_SIGNAL_NONE);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_int_equal(kill(getpid(), table[i].number), 0);
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&ready, 1, 1000), 1);
        assert_int_equal(process_signal_read(fd), table[i].read_as);
        assert_int_equal(process_signal_read(fd), PROCESS_SIGNAL_NONE);
    }
    (void)close(fd);
}

static void health_without_an_answer_is_a_fault(void **state)
{
    (void)state;
    static const struct {
        const char *address;
        const char *says;
    } table[] = {
        {"127.0.0.1:1", "health: ask 127.0.0.1:1: Connection refused\n"},
        {"0.0.0.0:1", "health: ask 0.0.0.0:1: Connection refused\n"},
        {"localhost:1", "health: localhost:1 is not ip:port\n"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        capture_begin(&printed);
        const int exit_status = process_health(table[i].address);
        capture_end(&printed);
        assert_int_equal(exit_status, 1);
        assert_string_equal(printed.text, table[i].says);
    }
}

static void a_fault_is_one_line_that_names_the_service(void **state)
{
    (void)state;
    struct fault fault = {0};
    (void)fault_set(&fault, FAULT_SYSTEM, "bind udp 0.0.0.0:%d: in use", 3478);
    capture_begin(&printed);
    const int exit_status = process_fail("relay", &fault);
    capture_end(&printed);
    assert_int_equal(exit_status, 1);
    assert_string_equal(printed.text, "earshot-relay: bind udp 0.0.0.0:3478: in use\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_choose_what_to_do),
        cmocka_unit_test(help_and_usage_say_how_to_go_on),
        cmocka_unit_test(help_says_what_sighup_does_in_this_program),
        cmocka_unit_test(a_path_that_would_be_cut_is_refused),
        cmocka_unit_test(a_hardened_process_gives_up_what_it_does_not_need),
        cmocka_unit_test(an_early_signal_waits_for_the_descriptor),
        cmocka_unit_test(signals_arrive_on_the_descriptor),
        cmocka_unit_test(health_without_an_answer_is_a_fault),
        cmocka_unit_test(a_fault_is_one_line_that_names_the_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
