/*
 * metrics_check.h - is this what a scraper can read?
 *
 * Takes:   the sources that the test added, through metrics_render.
 * Fails:   the test: a family without HELP and TYPE or declared twice, a counter without _total, a
 *          sample outside its family, a label that is not quoted, a series told twice.
 */
#ifndef EARSHOT_TESTS_METRICS_CHECK_H
#define EARSHOT_TESTS_METRICS_CHECK_H

#include "tests/testing.h"

#include "common/runtime/metrics.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define METRICS_CHECK_LINE_CAP 512
#define METRICS_CHECK_NAME_CAP 128

/* The text as a string; the caller frees it. */
static inline char *metrics_check_render(void)
{
    size_t len = 0;
    char *rendered = metrics_render("test", METRICS_TEXT, &len);
    assert_non_null(rendered);
    char *text = strndup(rendered, len);
    free(rendered);
    assert_non_null(text);
    return text;
}

/* How many lines begin with this. */
static inline size_t metrics_check_lines(const char *text, const char *beginning)
{
    size_t count = 0;
    for (const char *line = text; line != NULL && *line != '\0';) {
        count += strncmp(line, beginning, strlen(beginning)) == 0 ? 1 : 0;
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return count;
}

/* The series, as `name{label="value"}`, is told once and has this value. */
static inline void metrics_check_sample(const char *text, const char *series, uint64_t value)
{
    char line[METRICS_CHECK_LINE_CAP + 24]; /* 20 digits, a blank, a line end */
    (void)snprintf(line, sizeof(line), "%s %llu\n", series, (unsigned long long)value);
    if (metrics_check_lines(text, line) != 1) {
        fail_msg("%s is not once in\n%s", line, text);
    }
}

/* The same, of a family with one label. */
static inline void metrics_check_label(const char *text, const char *family, const char *label,
                                       const char *value, uint64_t number)
{
    char series[METRICS_CHECK_LINE_CAP];
    (void)snprintf(series, sizeof(series), "%s{%s=\"%s\"}", family, label, value);
    metrics_check_sample(text, series, number);
}

static inline bool metrics_check_ends(const char *name, const char *ending)
{
    const size_t len = strlen(name);
    return len >= strlen(ending) && strcmp(name + len - strlen(ending), ending) == 0;
}

static inline void metrics_check_declaration(const char *text, const char *help, const char *name,
                                             const char *type)
{
    char declared[METRICS_CHECK_LINE_CAP];
    (void)snprintf(declared, sizeof(declared), "# HELP %s ", name);
    if (metrics_check_lines(text, declared) != 1 || strlen(help) <= strlen(declared)) {
        fail_msg("%s needs one HELP", name);
    }
    (void)snprintf(declared, sizeof(declared), "# TYPE %s ", name);
    if (metrics_check_lines(text, declared) != 1) {
        fail_msg("%s needs one TYPE", name);
    }
    if (metrics_check_ends(name, "_total") != (strcmp(type, "counter") == 0)) {
        fail_msg("%s is a %s", name, type);
    }
}

/* `{a="x",b="y"}` or nothing; returns what follows. */
static inline const char *metrics_check_labels(const char *sample, const char *labels)
{
    static const char key_chars[] = "abcdefghijklmnopqrstuvwxyz_";
    if (*labels != '{') {
        return labels;
    }
    do {
        labels++;
        const size_t key_len = strspn(labels, key_chars);
        const char *value = labels + key_len + 2;
        if (key_len == 0 || strncmp(value - 2, "=\"", 2) != 0 || *value == '"') {
            fail_msg("%s: a label is not key=\"value\"", sample);
        }
        labels = value + strcspn(value, "\"\\\n");
        if (*labels != '"') {
            fail_msg("%s: a label is not closed", sample);
        }
        labels++;
    } while (*labels == ',');
    if (*labels != '}') {
        fail_msg("%s: the labels are not closed", sample);
    }
    return labels + 1;
}

static inline void metrics_check_one_sample(const char *text, const char *sample,
                                            const char *family, const char *type)
{
    const size_t name_len = strcspn(sample, "{ ");
    const size_t family_len = strlen(family);
    const char *suffix = sample + family_len;
    const bool is_histogram = strcmp(type, "histogram") == 0;
    if (name_len < family_len || strncmp(sample, family, family_len) != 0 ||
        (!is_histogram && name_len != family_len) ||
        (is_histogram && strncmp(suffix, "_bucket{", 8) != 0 && strncmp(suffix, "_sum", 4) != 0 &&
         strncmp(suffix, "_count", 6) != 0)) {
        fail_msg("%s is not of the family %s", sample, family);
    }
    const char *value = metrics_check_labels(sample, sample + name_len);
    char *end = NULL;
    (void)strtod(value, &end);
    if (*value != ' ' || end == value || *end != '\0') {
        fail_msg("%s has no number", sample);
    }
    char series[METRICS_CHECK_LINE_CAP];
    (void)snprintf(series, sizeof(series), "%.*s ", (int)(value - sample), sample);
    if (metrics_check_lines(text, series) != 1) {
        fail_msg("%s is told twice", series);
    }
}

/* The next line of the text; NULL after the last. */
static inline const char *metrics_check_next(const char *text, char line[METRICS_CHECK_LINE_CAP])
{
    const size_t len = strcspn(text, "\n");
    if (*text == '\0') {
        return NULL;
    }
    assert_true(len < METRICS_CHECK_LINE_CAP && text[len] == '\n');
    memcpy(line, text, len);
    line[len] = '\0';
    return text + len + 1;
}

static inline void metrics_check_valid(const char *text)
{
    char line[METRICS_CHECK_LINE_CAP];
    char help[METRICS_CHECK_LINE_CAP] = "";
    char name[METRICS_CHECK_NAME_CAP] = "";
    char type[16] = "";
    const char *next = text;
    while ((next = metrics_check_next(next, line)) != NULL) {
        if (strncmp(line, "# HELP ", 7) == 0) {
            (void)snprintf(help, sizeof(help), "%s", line);
        } else if (line[0] == '#') {
            assert_int_equal(sscanf(line, "# TYPE %127s %15s", name, type), 2);
            metrics_check_declaration(text, help, name, type);
        } else {
            metrics_check_one_sample(text, line, name, type);
        }
    }
}

#endif
