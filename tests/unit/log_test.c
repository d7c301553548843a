/* log_test.c - one line an event, whatever it holds and whoever does not read it */
#include "tests/testing.h"

#include "common/base/time_us.h"
#include "common/runtime/log.h"

#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static int real_stderr = -1;

/* What log_open finds as stderr; the other end is returned. */
static int capture_in_pipe(enum log_format format)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    (void)close(ends[1]);
    log_open("testing", LOG_INFO, format);
    return ends[0];
}

static void stop_capture(int end)
{
    assert_int_equal(dup2(real_stderr, STDERR_FILENO), STDERR_FILENO);
    log_open("testing", LOG_INFO, LOG_TEXT);
    (void)close(end);
}

/* One read is one line: a write to a pipe of at most PIPE_BUF bytes is whole. */
static const char *read_line(int end)
{
    static char line[2 * LOG_LINE_BYTES];
    const ssize_t len = read(end, line, sizeof(line) - 1);
    assert_true(len > 0);
    line[len] = '\0';
    return line;
}

static int set_up(void **state)
{
    (void)state;
    real_stderr = dup(STDERR_FILENO);
    return real_stderr < 0;
}

static int tear_down(void **state)
{
    (void)state;
    return close(real_stderr);
}

static void text_begins_with_stamp_level_and_service(void **state)
{
    (void)state;
    const int end = capture_in_pipe(LOG_TEXT);
    log_info("session.closed id=%u reason=%s", 51, "ice_lost");
    const char *line = read_line(end);
    /* ts=2024-02-29T23:59:59.999Z */
    assert_memory_equal(line, "ts=2", 4);
    assert_int_equal(line[13], 'T');
    assert_int_equal(line[22], '.');
    assert_string_equal(line + 26,
                        "Z level=info service=testing session.closed id=51 reason=ice_lost\n");
    stop_capture(end);
}

static void lines_below_the_level_are_not_written(void **state)
{
    (void)state;
    const int end = capture_in_pipe(LOG_TEXT);
    log_debug("hidden n=%d", 1);
    log_set_level(LOG_DEBUG);
    log_debug("seen n=%d", 2);
    assert_non_null(strstr(read_line(end), "level=debug service=testing seen n=2\n"));
    log_set_level(LOG_ERROR);
    log_warn("hidden n=%d", 3);
    log_error("seen n=%d", 4);
    assert_non_null(strstr(read_line(end), "seen n=4"));
    stop_capture(end);
}

static void an_event_can_not_forge_a_second_line(void **state)
{
    (void)state;
    const int end = capture_in_pipe(LOG_TEXT);
    log_info("event value=%s", "a\nts=0 level=error \x1b[31m\xff");
    const char *line = read_line(end);
    assert_non_null(strstr(line, "value=a?ts=0 level=error ?[31m?\n"));
    assert_ptr_equal(strchr(line, '\n') + 1, line + strlen(line));
    stop_capture(end);
}

static void a_long_line_is_cut_and_still_ends(void **state)
{
    (void)state;
    char value[3000];
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    const int end = capture_in_pipe(LOG_TEXT);
    log_info("event value=%s", value);
    const char *line = read_line(end);
    assert_true(strlen(line) <= LOG_LINE_BYTES);
    assert_true(strlen(line) >= LOG_LINE_BYTES - 8);
    assert_int_equal(line[strlen(line) - 1], '\n');
    stop_capture(end);
}

static const char *json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "(absent)" : text;
}

static json_t *parse_line(const char *line)
{
    json_error_t error;
    json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL) {
        fail_msg("%s: %s", error.text, line);
    }
    return object;
}

static void json_has_the_keys_of_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *key;
        const char *value;
    } table[] = {
        {"session.closed id=51 reason=ice_lost", "event", "session.closed"},
        {"session.closed id=51 reason=ice_lost", "id", "51"},
        {"session.closed id=51 reason=ice_lost", "reason", "ice_lost"},
        {"session.closed", "service", "testing"},
        {"session.closed", "level", "info"},
        {"a text=three bare words n=2", "text", "three bare words"},
        {"a text=three bare words n=2", "n", "2"},
        {"a path=C:\\x n=2", "path", "C:\\x"},
        {"a empty= n=2", "empty", ""},
        {"a empty= n=2", "n", "2"},
        {"a empty=", "empty", ""},
        {"", "event", ""},
        {"words only", "event", "words"},
        {"a k\"ey=1", "k\"ey", "1"},
    };
    const int end = capture_in_pipe(LOG_JSON);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        log_info("%s", table[i].body);
        json_t *object = parse_line(read_line(end));
        assert_string_equal(json_text(object, table[i].key), table[i].value);
        json_decref(object);
    }
    stop_capture(end);
}

/* What hiredis says of an HTTP server, and worse: none of it is the end of the value. */
static const char *const awkward[] = {"Protocol error, got \"<\" as reply type byte",
                                      "x\" effect=\"forged",
                                      "\"",
                                      "",
                                      "\\",
                                      "C:\\x\\",
                                      "bind udp: in use"};

static void a_quoted_value_is_whole_in_json_whatever_it_holds(void **state)
{
    (void)state;
    const int end = capture_in_pipe(LOG_JSON);
    for (size_t i = 0; i < COUNT_OF(awkward); i++) {
        log_warn("a.down error=\"%s\" effect=\"calls go on\" n=%d", awkward[i], 2);
        json_t *object = parse_line(read_line(end));
        assert_string_equal(json_text(object, "error"), awkward[i]);
        assert_string_equal(json_text(object, "effect"), "calls go on");
        assert_string_equal(json_text(object, "n"), "2");
        assert_int_equal(json_object_size(object), 7);
        json_decref(object);
    }
    stop_capture(end);
}

static void a_quoted_value_is_escaped_in_text(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        const char *line;
    } table[] = {
        {"got \"<\" as", " a.down error=\"got \\\"<\\\" as\" n=2\n"},
        {"x\" n=\"3", " a.down error=\"x\\\" n=\\\"3\" n=2\n"},
        {"C:\\", " a.down error=\"C:\\\\\" n=2\n"},
        {"", " a.down error=\"\" n=2\n"},
    };
    const int end = capture_in_pipe(LOG_TEXT);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        log_warn("a.down error=\"%s\" n=%d", table[i].value, 2);
        assert_non_null(strstr(read_line(end), table[i].line));
    }
    stop_capture(end);
}

static void json_stays_well_formed_when_cut_anywhere(void **state)
{
    (void)state;
    const int end = capture_in_pipe(LOG_JSON);
    char value[LOG_LINE_BYTES + 1];
    for (size_t len = LOG_LINE_BYTES - 200; len < LOG_LINE_BYTES; len++) {
        memset(value, len % 2 == 0 ? 'x' : '"', len);
        value[len] = '\0';
        log_info("event a=%s bb=%s", value, "1");
        const char *line = read_line(end);
        assert_true(strlen(line) <= LOG_LINE_BYTES);
        json_decref(parse_line(line));
    }
    stop_capture(end);
}

static void a_reader_that_is_stuck_loses_lines_but_blocks_nobody(void **state)
{
    (void)state;
    const int end = capture_in_pipe(LOG_TEXT);
    const uint64_t dropped_before = log_dropped_lines();
    char value[900];
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < 200; i++) {
        log_info("flood value=%s", value); /* a pipe takes 64 KB */
    }
    assert_true(log_dropped_lines() - dropped_before >= 100);
    /* The descriptor that others share must not have changed its mode. */
    assert_int_equal(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
    stop_capture(end);
}

/* As with a pipe of another user: here there is no descriptor left for a second opening. */
static void a_pipe_that_can_not_be_opened_again_blocks_nobody_either(void **state)
{
    (void)state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit none = {0, limit.rlim_max};
    const int end = capture_in_pipe(LOG_TEXT);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    log_open("testing", LOG_INFO, LOG_TEXT);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    const uint64_t dropped_before = log_dropped_lines();
    for (int i = 0; i < 10000; i++) {
        log_info("flood i=%d", i);
    }
    assert_true(log_dropped_lines() > dropped_before);
    assert_non_null(strstr(read_line(end), "flood i=0\n"));
    stop_capture(end);
}

static void a_stuck_socket_loses_lines_too(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    (void)close(ends[1]);
    log_open("testing", LOG_INFO, LOG_TEXT);
    const uint64_t dropped_before = log_dropped_lines();
    for (int i = 0; i < 10000; i++) {
        log_info("flood i=%d", i);
    }
    assert_true(log_dropped_lines() > dropped_before);
    assert_non_null(strstr(read_line(ends[0]), "flood i=0\n"));
    stop_capture(ends[0]);
}

static void a_closed_stderr_is_only_counted(void **state)
{
    (void)state;
    (void)close(STDERR_FILENO);
    log_open("testing", LOG_INFO, LOG_TEXT);
    const uint64_t dropped_before = log_dropped_lines();
    log_info("nobody.hears n=%d", 1);
    assert_int_equal(log_dropped_lines() - dropped_before, 1);
    assert_int_equal(dup2(real_stderr, STDERR_FILENO), STDERR_FILENO);
    log_open("testing", LOG_INFO, LOG_TEXT);
}

static void *log_hundred_lines(void *context)
{
    for (int i = 0; i < 100; i++) {
        log_info("worker name=%s i=%d", (const char *)context, i);
    }
    return NULL;
}

static void lines_of_two_threads_do_not_mix(void **state)
{
    (void)state;
    const int end = capture_in_pipe(LOG_TEXT);
    const uint64_t dropped_before = log_dropped_lines();
    pthread_t one;
    pthread_t two;
    assert_int_equal(pthread_create(&one, NULL, log_hundred_lines, "one"), 0);
    assert_int_equal(pthread_create(&two, NULL, log_hundred_lines, "two"), 0);
    assert_int_equal(pthread_join(one, NULL), 0);
    assert_int_equal(pthread_join(two, NULL), 0);
    assert_int_equal(log_dropped_lines(), dropped_before);
    assert_int_equal(dup2(real_stderr, STDERR_FILENO), STDERR_FILENO);
    log_open("testing", LOG_INFO, LOG_TEXT); /* closes the last writer */
    FILE *lines = fdopen(end, "r");
    assert_non_null(lines);
    char line[LOG_LINE_BYTES];
    int count = 0;
    while (fgets(line, sizeof(line), lines) != NULL) {
        assert_memory_equal(line, "ts=", 3);
        assert_non_null(strstr(line, "service=testing worker name="));
        count++;
    }
    assert_int_equal(count, 200);
    (void)fclose(lines);
}

static void a_limit_passes_once_a_second_and_counts_the_rest(void **state)
{
    (void)state;
    struct log_limit limit = {0};
    assert_true(log_limit_pass(&limit, 5 * US_PER_S));
    assert_int_equal(limit.held_back, 0);
    assert_false(log_limit_pass(&limit, 5 * US_PER_S));
    assert_false(log_limit_pass(&limit, 6 * US_PER_S - 1));
    assert_true(log_limit_pass(&limit, 6 * US_PER_S));
    assert_int_equal(limit.held_back, 2);
    assert_true(log_limit_pass(&limit, 8 * US_PER_S));
    assert_int_equal(limit.held_back, 0);
}

static void a_budget_is_spent_within_its_second_and_is_whole_in_the_next(void **state)
{
    (void)state;
    struct log_limit limit = {.lines_per_s = 3};
    for (uint64_t second = 0; second < 3; second++) {
        const uint64_t begun_us = second * US_PER_S + 100;
        uint64_t passed = 0;
        for (uint64_t i = 0; i < 10; i++) {
            passed += log_limit_pass(&limit, begun_us + i * 50000) ? 1 : 0;
            if (i < 3) {
                assert_int_equal(limit.held_back, i == 0 && second > 0 ? 7 : 0);
            }
        }
        assert_int_equal(passed, 3);
        assert_int_equal(limit.refused, 7);
    }
}

static void foreign_text_becomes_one_printable_word(void **state)
{
    (void)state;
    static const struct {
        const char *foreign;
        const char *escaped;
    } table[] = {
        {"Mozilla/5.0", "Mozilla/5.0"},
        {"a b=c", "a%20b=c"},
        {"\"\\%\x7f\n", "%22%5C%25%7F%0A"},
        {"\xc3\xa9", "%C3%A9"},
        {"", ""},
    };
    char text[LOG_ESCAPED_CAP];
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_string_equal(log_escape(bytes_view_of_text(table[i].foreign), text, sizeof(text)),
                            table[i].escaped);
    }
    assert_string_equal(log_escape(bytes_view_of("a\0b", 3), text, sizeof(text)), "a%00b");
}

static void foreign_text_is_cut_between_escapes(void **state)
{
    (void)state;
    char foreign[200];
    char text[256];
    memset(foreign, 'x', sizeof(foreign));
    assert_int_equal(strlen(log_escape(bytes_view_of(foreign, 128), text, sizeof(text))), 128);
    assert_int_equal(strlen(log_escape(bytes_view_of(foreign, 129), text, sizeof(text))), 128);
    memset(foreign, '\n', sizeof(foreign));
    assert_int_equal(strlen(log_escape(bytes_view_of(foreign, 200), text, sizeof(text))), 126);
    assert_string_equal(log_escape(bytes_view_of(foreign, 200), text, 6), "%0A");
    assert_string_equal(log_escape(bytes_view_of(foreign, 200), text, 7), "%0A%0A");
    assert_string_equal(log_escape(bytes_view_of(foreign, 200), text, 1), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_begins_with_stamp_level_and_service),
        cmocka_unit_test(lines_below_the_level_are_not_written),
        cmocka_unit_test(an_event_can_not_forge_a_second_line),
        cmocka_unit_test(a_long_line_is_cut_and_still_ends),
        cmocka_unit_test(json_has_the_keys_of_the_text),
        cmocka_unit_test(a_quoted_value_is_whole_in_json_whatever_it_holds),
        cmocka_unit_test(a_quoted_value_is_escaped_in_text),
        cmocka_unit_test(json_stays_well_formed_when_cut_anywhere),
        cmocka_unit_test(a_reader_that_is_stuck_loses_lines_but_blocks_nobody),
        cmocka_unit_test(a_pipe_that_can_not_be_opened_again_blocks_nobody_either),
        cmocka_unit_test(a_stuck_socket_loses_lines_too),
        cmocka_unit_test(a_closed_stderr_is_only_counted),
        cmocka_unit_test(lines_of_two_threads_do_not_mix),
        cmocka_unit_test(a_limit_passes_once_a_second_and_counts_the_rest),
        cmocka_unit_test(a_budget_is_spent_within_its_second_and_is_whole_in_the_next),
        cmocka_unit_test(foreign_text_becomes_one_printable_word),
        cmocka_unit_test(foreign_text_is_cut_between_escapes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
