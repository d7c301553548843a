/* yaml_limits_test.c - what is no YAML of ours, and how long and how deep a text may be */
#include "tests/unit/yaml_world.h"

#include "common/base/time_us.h"
#include "common/runtime/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void what_is_not_our_yaml_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *fault;
    } table[] = {
        {"a: 1\nb: 2\na: 3\n", "t.yaml:3: a: stands here a second time (first in line 1)"},
        {"x:\n  a: 1\n  a: 1\n", "t.yaml:3: x.a: stands here a second time (first in line 2)"},
        {"x:\n  - a: 1\n  - a: 1\n    a: 2\n",
         "t.yaml:4: x[1].a: stands here a second time (first in line 3)"},
        {"a: &n 1\nb: *n\n", "t.yaml:2: aliases (*) are not allowed"},
        {"a: !!int 1\n", "t.yaml:1: tags (!) are not allowed"},
        {"a:\n  b: !include x\n", "t.yaml:2: a: tags (!) are not allowed"},
        {"a: !x [1]\n", "t.yaml:1: tags (!) are not allowed"},
        {"- 1\n", "t.yaml:1: the file is not a mapping of keys to values"},
        {"hello\n", "t.yaml:1: the file is not a mapping of keys to values"},
        {"a: 1\n---\nb: 2\n", "t.yaml:2: a second document"},
        {"? [a]\n: 1\n", "t.yaml:1: a key can not be a list or a mapping"},
        {"a b: 1\n", "t.yaml:1: the key a%20b is not 1..64 letters, digits, _ or -"},
        {"x:\n  a.b: 1\n", "t.yaml:2: x: the key a.b is not 1..64 letters, digits, _ or -"},
        {"\"\": 1\n", "t.yaml:1: an empty key"},
        {"a: \"x\\0y\"\n", "t.yaml:1: a: holds a zero byte"},
        {"a: 1\n\tb: 2\n", "t.yaml:2: found a tab character that violates indentation"},
        {"a: [1, 2\n", "t.yaml:2: did not find expected ',' or ']'"},
        {"a: \"x\n", "t.yaml:2: found unexpected end of stream"},
        {"a: 1\n  b: 2\n", "t.yaml:2: mapping values are not allowed in this context"},
        {"a: \xff\n", "t.yaml:1: invalid leading UTF-8 octet"},
        {"a: ${EARSHOT_UNSET}\n",
         "t.yaml:1: a: the environment has no EARSHOT_UNSET, and there is no default"},
        {"a: ${\n", "t.yaml:1: a: write ${NAME} or ${NAME:-default}"},
        {"a: ${}\n", "t.yaml:1: a: write ${NAME} or ${NAME:-default}"},
        {"a: ${1A}\n", "t.yaml:1: a: write ${NAME} or ${NAME:-default}"},
        {"a: ${A B}\n", "t.yaml:1: a: write ${NAME} or ${NAME:-default}"},
        {"a: ${A-b}\n", "t.yaml:1: a: write ${NAME} or ${NAME:-default}"},
        {"a: ${A:-${B}}\n", "t.yaml:1: a: write ${NAME} or ${NAME:-default}"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct fault fault = {0};
        assert_null(yaml_reader_parse(bytes_view_of_text(table[i].text), "t.yaml", &fault));
        assert_string_equal(fault.text, table[i].fault);
        assert_int_equal(fault.code, FAULT_CONFIG);
    }
}

/* `count` times open, then count times close, as the value of k. */
static char *nested(size_t count, const char *close)
{
    char *text = malloc(count * 2 + 8);
    assert_non_null(text);
    memcpy(text, "k: ", 3);
    memset(text + 3, '[', count);
    memset(text + 3 + count, close[0], count * strlen(close));
    memcpy(text + 3 + count + count * strlen(close), "\n", 2);
    return text;
}

static void depth_sixteen_is_read_and_seventeen_is_not(void **state)
{
    (void)state;
    struct fault fault = {0};
    char *allowed = nested(15, "]"); /* and the root mapping */
    struct yaml_reader *r = yaml_reader_parse(bytes_view_of_text(allowed), "t.yaml", &fault);
    assert_non_null(r);
    yaml_reader_destroy(r);
    free(allowed);
    char *refused = nested(16, "]");
    assert_null(yaml_reader_parse(bytes_view_of_text(refused), "t.yaml", &fault));
    assert_string_equal(fault.text, "t.yaml:1: nested deeper than 16 levels");
    free(refused);
}

static void a_million_brackets_are_refused_at_once(void **state)
{
    (void)state;
    struct fault fault = {0};
    char *text = nested(1000 * 1000, "");
    const uint64_t start_us = clock_now_us();
    assert_null(yaml_reader_parse(bytes_view_of_text(text), "t.yaml", &fault));
    assert_true(clock_now_us() - start_us < US_PER_S); /* libyaml alone: minutes */
    assert_string_equal(fault.text, "t.yaml:1: nested deeper than 16 levels");
    free(text);
}

/* A text of `count` lines "PREFIXnnnnn SUFFIX". */
static char *lines(const char *head, const char *prefix, const char *suffix, size_t count)
{
    const size_t line_cap = strlen(prefix) + strlen(suffix) + 12;
    char *text = malloc(strlen(head) + count * line_cap + 1);
    assert_non_null(text);
    size_t len = strlen(head);
    memcpy(text, head, len + 1);
    for (size_t i = 0; i < count; i++) {
        len += (size_t)sprintf(text + len, "%s%zu%s\n", prefix, i, suffix);
    }
    return text;
}

static void sizes_have_bounds(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        const char *prefix;
        const char *suffix;
        size_t count_max;
        const char *fault;
    } table[] = {
        {"", "k", ": 1", 512, "t.yaml:513: more than 512 keys"},
        {"l:\n", "- ", "", 65534, "t.yaml:65536: more than 65536 values"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct fault fault = {0};
        char *text = lines(table[i].head, table[i].prefix, table[i].suffix, table[i].count_max);
        struct yaml_reader *r = yaml_reader_parse(bytes_view_of_text(text), "t.yaml", &fault);
        assert_non_null(r);
        yaml_reader_destroy(r);
        free(text);
        text = lines(table[i].head, table[i].prefix, table[i].suffix, table[i].count_max + 1);
        assert_null(yaml_reader_parse(bytes_view_of_text(text), "t.yaml", &fault));
        assert_string_equal(fault.text, table[i].fault);
        free(text);
    }
}

static void a_value_has_a_longest_length(void **state)
{
    (void)state;
    for (size_t excess = 0; excess <= 1; excess++) {
        char text[4200] = "k: ";
        char value[4200];
        memset(text + 3, 'x', 4096 + excess);
        struct fault fault = {0};
        struct yaml_reader *r = yaml_reader_parse(bytes_view_of_text(text), "t.yaml", &fault);
        assert_int_equal(r != NULL, excess == 0);
        if (r != NULL) {
            yaml_reader_text(r, "k", NULL, value, sizeof(value));
            assert_int_equal(strlen(value), 4096);
        } else {
            assert_string_equal(fault.text, "t.yaml:1: k: longer than 4096 characters");
        }
        yaml_reader_destroy(r);
    }
}

static void a_text_cut_anywhere_is_read_or_refused(void **state)
{
    (void)state;
    static const char text[] = "a: \"x\\n\"\nm: {b: [1, 'two'], c: ${EARSHOT_UNSET:-d}}\n"
                               "l:\n  - n: |\n      folded\n    k: >-\n      more\n";
    for (size_t len = 0; len < sizeof(text); len++) {
        char *exact = malloc(len + 1);
        memcpy(exact, text, len);
        struct fault fault = {0};
        struct yaml_reader *r = yaml_reader_parse(bytes_view_of(exact, len), "t.yaml", &fault);
        assert_true(r != NULL || fault.code == FAULT_CONFIG);
        yaml_reader_destroy(r);
        free(exact);
    }
}

static void a_file_is_read_up_to_one_megabyte(void **state)
{
    (void)state;
    char path[] = "/tmp/yaml_reader_test.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: 1\n#", 6), 6);
    assert_int_equal(ftruncate(fd, 0), 0);
    char *text = malloc(1024 * 1024 + 1);
    assert_non_null(text);
    memset(text, '\n', 1024 * 1024 + 1);
    assert_int_equal(pwrite(fd, text, 1024 * 1024, 0), 1024 * 1024);
    struct fault fault = {0};
    struct yaml_reader *r = yaml_reader_load(path, &fault);
    assert_non_null(r);
    yaml_reader_destroy(r);
    assert_int_equal(pwrite(fd, "\n", 1, 1024 * 1024), 1);
    assert_null(yaml_reader_load(path, &fault));
    assert_non_null(strstr(fault.text, ": larger than 1048576 bytes"));
    free(text);
    (void)close(fd);
    (void)unlink(path);
}

static void a_file_that_can_not_be_read_is_named(void **state)
{
    (void)state;
    struct fault fault = {0};
    assert_null(yaml_reader_load("/nonexistent/relay.yaml", &fault));
    assert_string_equal(fault.text, "open /nonexistent/relay.yaml: No such file or directory");
    assert_null(yaml_reader_load("/tmp", &fault));
    assert_string_equal(fault.text, "read /tmp: Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_our_yaml_is_refused_with_its_line),
        cmocka_unit_test(depth_sixteen_is_read_and_seventeen_is_not),
        cmocka_unit_test(a_million_brackets_are_refused_at_once),
        cmocka_unit_test(sizes_have_bounds),
        cmocka_unit_test(a_value_has_a_longest_length),
        cmocka_unit_test(a_text_cut_anywhere_is_read_or_refused),
        cmocka_unit_test(a_file_is_read_up_to_one_megabyte),
        cmocka_unit_test(a_file_that_can_not_be_read_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
