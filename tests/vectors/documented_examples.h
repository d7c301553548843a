/*
 * documented_examples.h - the examples of a document, against what the code produces
 *
 * Examples stand in blocks that open with ```example: a name, two blanks or more, a value. A line
 * that begins with blanks goes on with the value before it. Blanks inside a value mean nothing.
 */
#ifndef EARSHOT_TESTS_DOCUMENTED_EXAMPLES_H
#define EARSHOT_TESTS_DOCUMENTED_EXAMPLES_H

#include "tests/testing.h"

#include "common/base/bytes.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_CAP     2048
#define EXAMPLES_MAX 64

struct example {
    const char *name;
    void (*write)(char *text); /* TEXT_CAP */
};

static inline void write_hex(const void *data, size_t len, char *text)
{
    assert_true(bytes_to_hex(bytes_view_of(data, len), text, TEXT_CAP));
}

struct statement {
    char name[64];
    char value[TEXT_CAP]; /* without blanks */
};

struct document {
    struct statement statement[EXAMPLES_MAX];
    size_t count;
};

static inline void append_without_blanks(char *value, const char *more)
{
    size_t len = strlen(value);
    for (; *more != '\0' && *more != '\n'; more++) {
        if (*more != ' ') {
            assert_true(len + 1 < TEXT_CAP);
            value[len++] = *more;
        }
    }
    value[len] = '\0';
}

static inline void take_line(struct document *d, const char *line)
{
    const char *value = line;
    if (line[0] != ' ') {
        value = strstr(line, "  ");
        assert_non_null(value);
        assert_true(d->count < EXAMPLES_MAX);
        (void)snprintf(d->statement[d->count++].name, sizeof(d->statement[0].name), "%.*s",
                       (int)(value - line), line);
    }
    assert_true(d->count > 0);
    append_without_blanks(d->statement[d->count - 1].value, value);
}

static inline struct document *read_document(const char *path)
{
    char line[TEXT_CAP];
    char full_path[512];
    bool is_example = false;
    struct document *d = calloc(1, sizeof(*d));
    assert_non_null(d);
    (void)snprintf(full_path, sizeof(full_path), TEST_DATA "/../%s", path);
    FILE *file = fopen(full_path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "```", 3) == 0) {
            is_example = !is_example && strcmp(line, "```example\n") == 0;
        } else if (is_example) {
            take_line(d, line);
        }
    }
    (void)fclose(file);
    return d;
}

static inline const char *find_value(const struct document *d, const char *name)
{
    for (size_t i = 0; i < d->count; i++) {
        if (strcmp(d->statement[i].name, name) == 0) {
            return d->statement[i].value;
        }
    }
    return NULL;
}

static inline bool is_produced(const struct example *example, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(example[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static inline void assert_stand_in(const char *path, const struct example *example, size_t count)
{
    struct document *d = read_document(path);
    for (size_t i = 0; i < count; i++) {
        char written[TEXT_CAP];
        char text[TEXT_CAP] = "";
        const char *value = find_value(d, example[i].name);
        example[i].write(written);
        append_without_blanks(text, written);
        if (value == NULL || strcmp(value, text) != 0) {
            print_error("%s: \"%s\" is\n  %s\n", path, example[i].name, text);
        }
        assert_non_null(value);
        assert_string_equal(value, text);
    }
    free(d);
}

static inline void assert_no_others_in(const char *path, const struct example *example,
                                       size_t count)
{
    struct document *d = read_document(path);
    for (size_t i = 0; i < d->count; i++) {
        const bool is_checked = is_produced(example, count, d->statement[i].name);
        if (!is_checked) {
            print_error("%s: nobody checks \"%s\"\n", path, d->statement[i].name);
        }
        assert_true(is_checked);
    }
    free(d);
}

#endif
