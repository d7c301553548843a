/* metrics.c - see metrics.h */
#include "common/runtime/metrics.h"

#include "common/base/time_us.h"
#include "common/runtime/log.h"

#include <assert.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static struct {
    metrics_source *print;
    void *context;
} sources[METRICS_SOURCES_MAX];
static size_t source_count;

/* Kept free for the last family and the end mark, so that a cut text can say that it is cut. */
#define METRICS_END_BYTES 512

struct metrics_text {
    char *data;
    size_t len;
    size_t cap;
    size_t limit;
    enum metrics_form form;
    const char *name;    /* of the family begun last */
    size_t family_start; /* where it begins */
    bool is_cut;
};

void metric_observe(struct metric_histogram *h, uint64_t value_us)
{
    assert(h->bound_count <= METRIC_BUCKETS_MAX);
    size_t i = 0;
    while (i < h->bound_count && value_us > h->bound_us[i]) {
        i++;
    }
    metric_add(&h->bucket[i], 1);
    metric_add(&h->sum_us, value_us);
}

void metrics_add_source(metrics_source *source, void *context)
{
    assert(source_count < METRICS_SOURCES_MAX);
    sources[source_count].print = source;
    sources[source_count].context = context;
    source_count++;
}

/* ---- text ---- */

static bool has_room(struct metrics_text *t, size_t len)
{
    if (len < t->cap - t->len) {
        return true;
    }
    size_t cap = t->cap * 2;
    while (cap - t->len <= len) {
        cap *= 2;
    }
    char *data = realloc(t->data, cap);
    if (data == NULL) {
        return false;
    }
    t->data = data;
    t->cap = cap;
    return true;
}

__attribute__((format(printf, 2, 3))) static void add(struct metrics_text *t, const char *format,
                                                      ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    const int len = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    assert(len >= 0 && (size_t)len < sizeof(text));
    if (t->is_cut) {
        return;
    }
    if ((size_t)len > t->limit - t->len || !has_room(t, (size_t)len)) {
        /* Half a family would be refused by a scraper, with everything else in the text. */
        t->is_cut = true;
        t->len = t->family_start;
        return;
    }
    memcpy(t->data + t->len, text, (size_t)len);
    t->len += (size_t)len;
}

const char *metrics_escape_label(const char *value, char *text, size_t text_cap)
{
    size_t len = 0;
    for (; *value != '\0'; value++) {
        const bool is_special = *value == '\\' || *value == '"' || *value == '\n';
        if (len + (is_special ? 2 : 1) >= text_cap) {
            break;
        }
        if (is_special) {
            text[len++] = '\\';
        }
        text[len++] = (char)(*value == '\n' ? 'n' : *value);
    }
    text[len] = '\0';
    return text;
}

static bool is_counter_name(const char *name)
{
    static const char suffix[] = "_total";
    const size_t len = strlen(name);
    return len > sizeof(suffix) - 1 && strcmp(name + len - (sizeof(suffix) - 1), suffix) == 0;
}

void metrics_family(struct metrics_text *t, const char *name, enum metric_type type,
                    const char *help)
{
    static const char *const type_name[] = {"counter", "gauge", "histogram"};
    assert(is_counter_name(name) == (type == METRIC_COUNTER));
    assert(strpbrk(help, "\\\"\n") == NULL); /* the two forms escape these differently */
    /* OpenMetrics names a counter without the suffix of its samples. */
    const size_t suffix_len =
        type == METRIC_COUNTER && t->form == METRICS_OPENMETRICS ? strlen("_total") : 0;
    const int name_len = (int)(strlen(name) - suffix_len);
    if (!t->is_cut) {
        t->family_start = t->len;
    }
    t->name = name;
    add(t, "# HELP %.*s %s\n# TYPE %.*s %s\n", name_len, name, help, name_len, name,
        type_name[type]);
}

/* `{labels}`, or nothing. */
static void add_name(struct metrics_text *t, const char *suffix, const char *labels)
{
    const bool has_labels = labels != NULL && labels[0] != '\0';
    add(t, "%s%s%s%s%s ", t->name, suffix, has_labels ? "{" : "", has_labels ? labels : "",
        has_labels ? "}" : "");
}

void metrics_sample(struct metrics_text *t, const char *labels, double value)
{
    add_name(t, "", labels);
    add(t, "%.15g\n", value);
}

void metrics_sample_u64(struct metrics_text *t, const char *labels, uint64_t value)
{
    add_name(t, "", labels);
    add(t, "%llu\n", (unsigned long long)value);
}

/* A bound is written as OpenMetrics wants it, `1.0` and not `1`, in both forms: the two must give
 * the same series. */
static void format_bound(uint32_t bound_us, char *text, size_t text_cap)
{
    (void)snprintf(text, text_cap, "%.9g", (double)bound_us / (double)US_PER_S);
    if (strpbrk(text, ".e") == NULL) {
        const size_t len = strlen(text);
        (void)snprintf(text + len, text_cap - len, ".0");
    }
}

void metrics_histogram(struct metrics_text *t, const char *labels, const struct metric_histogram *h)
{
    const bool has_labels = labels != NULL && labels[0] != '\0';
    const char *others = has_labels ? labels : "";
    const char *comma = has_labels ? "," : "";
    uint64_t count = 0;
    for (size_t i = 0; i <= h->bound_count; i++) {
        char bound[32] = "+Inf";
        if (i < h->bound_count) {
            format_bound(h->bound_us[i], bound, sizeof(bound));
        }
        count += metric_get(&h->bucket[i]);
        add(t, "%s_bucket{%s%sle=\"%s\"} %llu\n", t->name, others, comma, bound,
            (unsigned long long)count);
    }
    const uint64_t sum_us = metric_get(&h->sum_us);
    add_name(t, "_sum", labels);
    add(t, "%llu.%06llu\n", (unsigned long long)(sum_us / US_PER_S),
        (unsigned long long)(sum_us % US_PER_S));
    add_name(t, "_count", labels);
    add(t, "%llu\n", (unsigned long long)count);
}

/* ---- the process's own ---- */

static double timeval_seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / (double)US_PER_S;
}

static uint64_t resident_bytes(void)
{
    unsigned long long resident_pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file != NULL) {
        if (fscanf(file, "%*s %llu", &resident_pages) != 1) {
            resident_pages = 0;
        }
        (void)fclose(file);
    }
    return resident_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t open_descriptors(void)
{
    uint64_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL) {
        return 0;
    }
    while (readdir(directory) != NULL) {
        count++;
    }
    (void)closedir(directory);
    return count - 3; /* ".", ".." and the directory's own */
}

static void print_process(struct metrics_text *t, const char *service)
{
    char compiler[64];
    char labels[256];
    (void)snprintf(labels, sizeof(labels), "service=\"%s\",version=\"%s\",compiler=\"%s\"", service,
                   EARSHOT_VERSION, metrics_escape_label(__VERSION__, compiler, sizeof(compiler)));
    metrics_family(t, "earshot_build_info", METRIC_GAUGE, "What runs here; always 1.");
    metrics_sample_u64(t, labels, 1);

    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    metrics_family(t, "earshot_process_cpu_seconds_total", METRIC_COUNTER,
                   "CPU time used, user and system.");
    metrics_sample(t, NULL, timeval_seconds(usage.ru_utime) + timeval_seconds(usage.ru_stime));

    metrics_family(t, "earshot_process_resident_memory_bytes", METRIC_GAUGE, "Resident memory.");
    metrics_sample_u64(t, NULL, resident_bytes());

    struct rlimit limit;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    metrics_family(t, "earshot_process_open_descriptors", METRIC_GAUGE, "Descriptors in use.");
    metrics_sample_u64(t, NULL, open_descriptors());
    metrics_family(t, "earshot_process_descriptors_limit", METRIC_GAUGE,
                   "Descriptors that may be in use.");
    metrics_sample_u64(t, NULL, limit.rlim_cur);

    metrics_family(t, "earshot_log_dropped_lines_total", METRIC_COUNTER,
                   "Log lines that the reader of stderr was too slow for.");
    metrics_sample_u64(t, NULL, log_dropped_lines());
}

static void print_end(struct metrics_text *t)
{
    const bool was_cut = t->is_cut;
    t->is_cut = false;
    t->limit = METRICS_BYTES_MAX;
    metrics_family(t, "earshot_metrics_cut", METRIC_GAUGE,
                   "1: this text was too long, and whole families at its end are left out.");
    metrics_sample_u64(t, NULL, was_cut);
    if (t->form == METRICS_OPENMETRICS) {
        add(t, "# EOF\n");
    }
}

char *metrics_render(const char *service, enum metrics_form form, size_t *out_len)
{
    struct metrics_text t = {
        .cap = 16384, .limit = METRICS_BYTES_MAX - METRICS_END_BYTES, .form = form};
    *out_len = 0;
    t.data = malloc(t.cap);
    if (t.data == NULL) {
        return NULL;
    }
    print_process(&t, service);
    for (size_t i = 0; i < source_count; i++) {
        sources[i].print(&t, sources[i].context);
    }
    print_end(&t);
    *out_len = t.len;
    return t.data;
}
