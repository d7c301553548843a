/* metrics_test.c - what a scraper reads is well formed in both forms, whatever its size */
#include "tests/testing.h"

#include "common/runtime/metrics.h"

#include <stdio.h>
#include <stdlib.h>

static const uint32_t bound_us[] = {50, 1000, 250000, 1000000};
static struct metric_histogram histogram = {.bound_us = bound_us, .bound_count = 4};
static size_t filler_families;

static void print_samples(struct metrics_text *t, void *context)
{
    metrics_family(t, "earshot_test_datagrams_total", METRIC_COUNTER, "Datagrams by verdict.");
    metrics_sample_u64(t, "verdict=\"token\"", 7);
    metrics_sample_u64(t, "verdict=\"dropped\"", UINT64_MAX);
    metrics_family(t, "earshot_test_load_ratio", METRIC_GAUGE, "Load.");
    metrics_sample(t, NULL, *(const double *)context);
    metrics_family(t, "earshot_test_delay_seconds", METRIC_HISTOGRAM, "Delay.");
    metrics_histogram(t, "direction=\"up\"", &histogram);
    metrics_histogram(t, NULL, &histogram);
    for (size_t i = 0; i < filler_families; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "earshot_test_filler_%zu", i);
        metrics_family(t, name, METRIC_GAUGE, "Takes room.");
        metrics_sample_u64(t, "a=\"first\"", i);
        metrics_sample_u64(t, "a=\"second\"", i);
    }
}

static double load = 0.25;

static int set_up(void **state)
{
    (void)state;
    metrics_add_source(print_samples, &load);
    metric_observe(&histogram, 0);
    metric_observe(&histogram, 50);
    metric_observe(&histogram, 51);
    metric_observe(&histogram, 250000);
    metric_observe(&histogram, 1000000);
    metric_observe(&histogram, 1000001);
    return 0;
}

/* The text as a string; the caller frees it. */
static char *render(enum metrics_form form)
{
    size_t len = 0;
    char *text = metrics_render("relay", form, &len);
    assert_non_null(text);
    assert_true(len <= METRICS_BYTES_MAX);
    text = realloc(text, len + 1);
    assert_non_null(text);
    text[len] = '\0';
    return text;
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("%s\nis not in\n%s", part, text);
    }
}

static void counters_are_declared_as_each_form_wants(void **state)
{
    (void)state;
    char *text = render(METRICS_TEXT);
    assert_contains(text, "# HELP earshot_test_datagrams_total Datagrams by verdict.\n"
                          "# TYPE earshot_test_datagrams_total counter\n"
                          "earshot_test_datagrams_total{verdict=\"token\"} 7\n"
                          "earshot_test_datagrams_total{verdict=\"dropped\"} "
                          "18446744073709551615\n");
    assert_null(strstr(text, "# EOF"));
    free(text);
    text = render(METRICS_OPENMETRICS);
    assert_contains(text, "# HELP earshot_test_datagrams Datagrams by verdict.\n"
                          "# TYPE earshot_test_datagrams counter\n"
                          "earshot_test_datagrams_total{verdict=\"token\"} 7\n");
    assert_string_equal(text + strlen(text) - 6, "# EOF\n");
    free(text);
}

static void a_sample_without_labels_has_no_braces(void **state)
{
    (void)state;
    char *text = render(METRICS_TEXT);
    assert_contains(text, "# TYPE earshot_test_load_ratio gauge\nearshot_test_load_ratio 0.25\n");
    free(text);
}

static void a_histogram_counts_up_and_speaks_in_seconds(void **state)
{
    (void)state;
    char *text = render(METRICS_TEXT);
    assert_contains(text, "# TYPE earshot_test_delay_seconds histogram\n"
                          "earshot_test_delay_seconds_bucket{direction=\"up\",le=\"5e-05\"} 2\n"
                          "earshot_test_delay_seconds_bucket{direction=\"up\",le=\"0.001\"} 3\n"
                          "earshot_test_delay_seconds_bucket{direction=\"up\",le=\"0.25\"} 4\n"
                          "earshot_test_delay_seconds_bucket{direction=\"up\",le=\"1.0\"} 5\n"
                          "earshot_test_delay_seconds_bucket{direction=\"up\",le=\"+Inf\"} 6\n"
                          "earshot_test_delay_seconds_sum{direction=\"up\"} 2.250102\n"
                          "earshot_test_delay_seconds_count{direction=\"up\"} 6\n"
                          "earshot_test_delay_seconds_bucket{le=\"5e-05\"} 2\n");
    assert_contains(text, "earshot_test_delay_seconds_sum 2.250102\n"
                          "earshot_test_delay_seconds_count 6\n");
    free(text);
}

static void the_process_speaks_for_itself(void **state)
{
    (void)state;
    char *text = render(METRICS_TEXT);
    assert_contains(text, "earshot_build_info{service=\"relay\",version=\"" EARSHOT_VERSION "\",");
    static const char *const positive[] = {
        "earshot_process_cpu_seconds_total ", "earshot_process_resident_memory_bytes ",
        "earshot_process_open_descriptors ", "earshot_process_descriptors_limit "};
    for (size_t i = 0; i < COUNT_OF(positive); i++) {
        char line[128];
        (void)snprintf(line, sizeof(line), "\n%s", positive[i]);
        const char *found = strstr(text, line);
        assert_non_null(found);
        assert_true(strtod(found + strlen(line), NULL) > 0);
    }
    assert_contains(text, "\nearshot_log_dropped_lines_total 0\n");
    assert_contains(text, "\nearshot_metrics_cut 0\n");
    free(text);
}

static void descriptors_are_counted_exactly(void **state)
{
    (void)state;
    static const char name[] = "\nearshot_process_open_descriptors ";
    char *before = render(METRICS_TEXT);
    FILE *file = fopen("/dev/null", "re");
    assert_non_null(file);
    char *after = render(METRICS_TEXT);
    (void)fclose(file);
    assert_int_equal(atoi(strstr(after, name) + sizeof(name) - 1),
                     atoi(strstr(before, name) + sizeof(name) - 1) + 1);
    free(before);
    free(after);
}

static void a_text_too_long_ends_after_a_whole_family_and_says_so(void **state)
{
    (void)state;
    for (size_t families = 1900; families < 2500; families += 7) {
        filler_families = families;
        char *text = render(METRICS_OPENMETRICS);
        const bool is_cut = strstr(text, "\nearshot_metrics_cut 1\n") != NULL;
        size_t declared = 0;
        size_t complete = 0;
        for (const char *at = text; (at = strstr(at, "# TYPE earshot_test_filler_")) != NULL;
             at++) {
            declared++;
        }
        for (const char *at = text; (at = strstr(at, "{a=\"second\"} ")) != NULL; at++) {
            complete++;
        }
        assert_int_equal(declared, complete);
        assert_int_equal(is_cut, complete < families);
        assert_string_equal(text + strlen(text) - 6, "# EOF\n");
        free(text);
    }
    filler_families = 0;
}

static void label_values_can_not_break_out_of_their_quotes(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        const char *escaped;
    } table[] = {
        {"plain", "plain"},
        {"a\"} 1\nfake 2", "a\\\"} 1\\nfake 2"},
        {"back\\slash", "back\\\\slash"},
        {"", ""},
        {"0123456789012345678901234567890", "0123456789012345678901234567890"},
        {"01234567890123456789012345678901", "0123456789012345678901234567890"},
        {"012345678901234567890123456789\"", "012345678901234567890123456789"},
    };
    char text[32];
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_string_equal(metrics_escape_label(table[i].value, text, sizeof(text)),
                            table[i].escaped);
    }
}

static void values_add_up(void **state)
{
    (void)state;
    metric_value value = 0;
    metric_add(&value, 3);
    metric_add(&value, 4);
    assert_int_equal(metric_get(&value), 7);
    metric_set(&value, 1);
    assert_int_equal(metric_get(&value), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_declared_as_each_form_wants),
        cmocka_unit_test(a_sample_without_labels_has_no_braces),
        cmocka_unit_test(a_histogram_counts_up_and_speaks_in_seconds),
        cmocka_unit_test(the_process_speaks_for_itself),
        cmocka_unit_test(descriptors_are_counted_exactly),
        cmocka_unit_test(a_text_too_long_ends_after_a_whole_family_and_says_so),
        cmocka_unit_test(label_values_can_not_break_out_of_their_quotes),
        cmocka_unit_test(values_add_up),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
