/* yaml_reader.c - see yaml_reader.h */
#include "common/runtime/yaml_reader.h"

#include "common/base/time_us.h"
#include "common/runtime/config_tree.h"
#include "common/runtime/log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct yaml_reader {
    char *name;
    struct config_node *root;
    struct fault fault; /* the first one sticks */
};

/* ---- loading ---- */

/* Everything up to one byte more than allowed, so that the excess is seen. */
static bool read_file(const char *path, char *text, size_t text_cap, size_t *out_len,
                      struct fault *fault)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fault_set(fault, FAULT_CONFIG, "open %s: %s", path, strerror(errno));
    }
    size_t len = 0;
    ssize_t got = 1;
    while (got != 0 && len < text_cap) {
        got = read(fd, text + len, text_cap - len);
        if (got > 0) {
            len += (size_t)got;
        } else if (got < 0 && errno != EINTR) {
            break;
        }
    }
    const int error = errno;
    (void)close(fd);
    *out_len = len;
    return got >= 0 || fault_set(fault, FAULT_CONFIG, "read %s: %s", path, strerror(error));
}

struct yaml_reader *yaml_reader_load(const char *path, struct fault *fault)
{
    const size_t text_cap = CONFIG_BYTES_MAX + 1;
    char *text = malloc(text_cap);
    if (text == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "read %s: out of memory", path);
        return NULL;
    }
    size_t len = 0;
    struct yaml_reader *r = NULL;
    if (read_file(path, text, text_cap, &len, fault)) {
        r = yaml_reader_parse(bytes_view_of(text, len), path, fault);
    }
    free(text);
    return r;
}

struct yaml_reader *yaml_reader_parse(struct bytes_view text, const char *name, struct fault *fault)
{
    struct config_node *root = config_tree_parse(text, name, fault);
    if (root == NULL) {
        return NULL;
    }
    struct yaml_reader *r = calloc(1, sizeof(*r));
    char *name_copy = strdup(name);
    if (r == NULL || name_copy == NULL) {
        free(r);
        free(name_copy);
        config_tree_destroy(root);
        (void)fault_set(fault, FAULT_SYSTEM, "%s: out of memory", name);
        return NULL;
    }
    root->is_asked = true;
    r->root = root;
    r->name = name_copy;
    return r;
}

void yaml_reader_destroy(struct yaml_reader *r)
{
    if (r != NULL) {
        config_tree_destroy(r->root);
        free(r->name);
        free(r);
    }
}

/* ---- finding ---- */

static void set_fault(struct yaml_reader *r, size_t line, const char *path, const char *what)
{
    if (r->fault.code == FAULT_NONE) {
        (void)fault_set(&r->fault, FAULT_CONFIG, "%s:%zu: %s: %s", r->name, line, path, what);
    }
}

__attribute__((format(printf, 3, 4))) static void
refuse(struct yaml_reader *r, const struct config_node *node, const char *format, ...)
{
    char what[FAULT_TEXT_CAP];
    char path[CONFIG_PATH_CAP];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    set_fault(r, node->line, config_tree_path(node, path, sizeof(path)), what);
}

static const char *kind_name(const struct config_node *node)
{
    static const char *const name[] = {"a value", "a list", "a mapping"};
    return name[node->kind];
}

static struct config_node *child_by_key(const struct config_node *mapping, const char *key,
                                        size_t len)
{
    struct config_node *child = mapping->first_child;
    while (child != NULL && (strncmp(child->key, key, len) != 0 || child->key[len] != '\0')) {
        child = child->next_sibling;
    }
    return child;
}

static struct config_node *child_by_index(const struct config_node *list, size_t index)
{
    struct config_node *child = list->first_child;
    while (child != NULL && child->index != index) {
        child = child->next_sibling;
    }
    return child;
}

/* One step of a path, "key" or "[3]"; moves *path behind it and a dot that follows. NULL when the
 * node has no such child. */
static struct config_node *step_down(struct yaml_reader *r, const struct config_node *node,
                                     const char **path)
{
    const bool is_index = **path == '[';
    const enum config_kind needed = is_index ? CONFIG_LIST : CONFIG_MAPPING;
    struct config_node *child = NULL;
    if (node->kind != needed && !node->is_null) {
        refuse(r, node, "is %s, not %s", kind_name(node), is_index ? "a list" : "a mapping");
    }
    if (is_index) {
        char *end = NULL;
        const size_t index = strtoul(*path + 1, &end, 10);
        assert(*end == ']');
        child = node->kind == needed ? child_by_index(node, index) : NULL;
        *path = end + 1;
    } else {
        const size_t len = strcspn(*path, ".[");
        assert(len > 0);
        child = node->kind == needed ? child_by_key(node, *path, len) : NULL;
        *path += len;
    }
    *path += **path == '.' ? 1 : 0;
    return child;
}

/* The node of a path, marked as asked for together with all above it; NULL when absent. */
static struct config_node *find(struct yaml_reader *r, const char *path)
{
    struct config_node *node = r->root;
    while (node != NULL && *path != '\0') {
        node = step_down(r, node, &path);
        if (node != NULL) {
            node->is_asked = true;
        }
    }
    return node;
}

/* Where a key that is not there would have stood. */
static size_t line_for_absent(struct yaml_reader *r, const char *path)
{
    const struct config_node *node = r->root;
    size_t line = node->line;
    while (node != NULL && *path != '\0') {
        line = node->line;
        node = step_down(r, node, &path);
    }
    return line;
}

/* The scalar of a path, or NULL: absent (no failure) or something else (a failure). */
static const struct config_node *find_scalar(struct yaml_reader *r, const char *path)
{
    const struct config_node *node = find(r, path);
    if (node == NULL) {
        return NULL;
    }
    if (node->kind != CONFIG_SCALAR) {
        refuse(r, node, "is %s, not a value", kind_name(node));
        return NULL;
    }
    if (node->is_null) {
        refuse(r, node, "has no value (remove the key for the default, or write \"\")");
        return NULL;
    }
    return node;
}

bool yaml_reader_has(struct yaml_reader *r, const char *path)
{
    return find(r, path) != NULL;
}

size_t yaml_reader_count(struct yaml_reader *r, const char *path)
{
    const struct config_node *node = find(r, path);
    /* `peers:` over nothing but comments is an empty list. */
    if (node == NULL || node->is_null) {
        return 0;
    }
    if (node->kind != CONFIG_LIST) {
        refuse(r, node, "is %s, not a list", kind_name(node));
        return 0;
    }
    return node->child_count;
}

/* ---- typed values ---- */

/* What a fault shows of a value. */
static const char *shown(const char *value, char *text)
{
    return value[0] == '\0' ? "\"\"" : log_escape(bytes_view_of_text(value), text, LOG_ESCAPED_CAP);
}

bool yaml_reader_bool(struct yaml_reader *r, const char *path, bool fallback)
{
    const struct config_node *node = find_scalar(r, path);
    char text[LOG_ESCAPED_CAP];
    if (node == NULL) {
        return fallback;
    }
    if (strcmp(node->value, "true") == 0) {
        return true;
    }
    if (strcmp(node->value, "false") != 0) {
        refuse(r, node, "%s is neither true nor false", shown(node->value, text));
        return fallback;
    }
    return false;
}

struct unit {
    const char *name;
    uint64_t factor;
};

struct quantity {
    const char *form; /* for faults: what must be written */
    const struct unit *units;
    size_t unit_count;
};

static bool has_leading_zero(const char *text)
{
    return text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

/* Decimal digits and the name of a unit. False when written in any other way; a number beyond 64
 * bits counts as UINT64_MAX, which lies outside every range. */
static bool parse_quantity(const char *text, const struct quantity *quantity, uint64_t *out)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0) {
        return false;
    }
    for (size_t i = 0; i < quantity->unit_count; i++) {
        const struct unit *unit = &quantity->units[i];
        if (strcmp(text + digits, unit->name) == 0) {
            const uint64_t number = strtoull(text, NULL, 10);
            *out = number > UINT64_MAX / unit->factor ? UINT64_MAX : number * unit->factor;
            return true;
        }
    }
    return false;
}

/* In the largest unit that gives a whole number, as a person would write it. */
static const char *format_quantity(uint64_t value, const struct quantity *quantity, char *text,
                                   size_t text_cap)
{
    const struct unit *unit = &quantity->units[0];
    for (size_t i = 1; value != 0 && i < quantity->unit_count; i++) {
        if (value % quantity->units[i].factor == 0) {
            unit = &quantity->units[i];
        }
    }
    (void)snprintf(text, text_cap, "%llu%s", (unsigned long long)(value / unit->factor),
                   unit->name);
    return text;
}

static uint64_t read_quantity(struct yaml_reader *r, const char *path,
                              const struct quantity *quantity, uint64_t min, uint64_t max,
                              uint64_t fallback)
{
    assert(min <= max);
    assert(max < UINT64_MAX);
    const struct config_node *node = find_scalar(r, path);
    char text[LOG_ESCAPED_CAP];
    uint64_t value = 0;
    if (node == NULL) {
        return fallback;
    }
    if (has_leading_zero(node->value)) {
        /* YAML 1.1 reads 010 as eight, YAML 1.2 as ten: whoever wrote it may have meant either. */
        refuse(r, node, "%s begins with 0: write it without, octal numbers are not read",
               shown(node->value, text));
        return fallback;
    }
    if (!parse_quantity(node->value, quantity, &value)) {
        refuse(r, node, "%s is not %s", shown(node->value, text), quantity->form);
        return fallback;
    }
    if (value < min || value > max) {
        char least[32];
        char most[32];
        refuse(r, node, "%s is outside %s..%s", shown(node->value, text),
               format_quantity(min, quantity, least, sizeof(least)),
               format_quantity(max, quantity, most, sizeof(most)));
        return fallback;
    }
    return value;
}

uint64_t yaml_reader_u64(struct yaml_reader *r, const char *path, uint64_t min, uint64_t max,
                         uint64_t fallback)
{
    static const struct unit units[] = {{"", 1}};
    static const struct quantity number = {"a decimal number", units, COUNT_OF(units)};
    return read_quantity(r, path, &number, min, max, fallback);
}

uint64_t yaml_reader_duration_us(struct yaml_reader *r, const char *path, uint64_t min_us,
                                 uint64_t max_us, uint64_t fallback_us)
{
    static const struct unit units[] = {{"us", 1},
                                        {"ms", US_PER_MS},
                                        {"s", US_PER_S},
                                        {"m", 60 * US_PER_S},
                                        {"h", 3600 * US_PER_S}};
    static const struct quantity duration = {"a duration (a number and us, ms, s, m or h)", units,
                                             COUNT_OF(units)};
    return read_quantity(r, path, &duration, min_us, max_us, fallback_us);
}

uint64_t yaml_reader_size(struct yaml_reader *r, const char *path, uint64_t min, uint64_t max,
                          uint64_t fallback)
{
    static const struct unit units[] = {
        {"", 1}, {"KB", 1024}, {"MB", UINT64_C(1) << 20}, {"GB", UINT64_C(1) << 30}};
    static const struct quantity size = {"a size (a number, alone or with KB, MB or GB)", units,
                                         COUNT_OF(units)};
    return read_quantity(r, path, &size, min, max, fallback);
}

/* The scalar's text, or the fallback; NULL after a failure. */
static const char *read_text(struct yaml_reader *r, const char *path, const char *fallback)
{
    const struct config_node *node = find_scalar(r, path);
    if (node != NULL) {
        return node->value;
    }
    if (fallback == NULL) {
        set_fault(r, line_for_absent(r, path), path, "is missing");
    }
    return fallback;
}

void yaml_reader_text(struct yaml_reader *r, const char *path, const char *fallback, char *text,
                      size_t text_cap)
{
    const char *found = read_text(r, path, fallback);
    const size_t len = found == NULL ? 0 : strlen(found);
    text[0] = '\0';
    if (len >= text_cap) {
        yaml_reader_fail(r, path, "is longer than %zu characters", text_cap - 1);
    } else if (found != NULL) {
        memcpy(text, found, len + 1);
    }
}

size_t yaml_reader_choice(struct yaml_reader *r, const char *path, const char *const *choices,
                          size_t fallback)
{
    const struct config_node *node = find_scalar(r, path);
    if (node == NULL) {
        return fallback;
    }
    char list[FAULT_TEXT_CAP] = "";
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (strcmp(node->value, choices[i]) == 0) {
            return i;
        }
        const size_t len = strlen(list);
        (void)snprintf(list + len, sizeof(list) - len, "%s%s", i == 0 ? "" : ", ", choices[i]);
    }
    char text[LOG_ESCAPED_CAP];
    refuse(r, node, "%s is none of %s", shown(node->value, text), list);
    return fallback;
}

void yaml_reader_addr(struct yaml_reader *r, const char *path, const char *fallback,
                      struct net_addr *out)
{
    const char *found = read_text(r, path, fallback);
    char text[LOG_ESCAPED_CAP];
    *out = (struct net_addr){0};
    if (found != NULL && !net_addr_parse(found, out)) {
        yaml_reader_fail(r, path, "%s is not ip:port (names are not looked up)",
                         shown(found, text));
        *out = (struct net_addr){0};
    }
}

void yaml_reader_block(struct yaml_reader *r, const char *path, struct net_block *out)
{
    const char *found = read_text(r, path, NULL);
    char text[LOG_ESCAPED_CAP];
    *out = (struct net_block){0};
    if (found != NULL && !net_block_parse(found, out)) {
        yaml_reader_fail(r, path, "%s is not ip/bits", shown(found, text));
        *out = (struct net_block){0};
    }
}

/* ---- failing and finishing ---- */

void yaml_reader_fail(struct yaml_reader *r, const char *path, const char *format, ...)
{
    char what[FAULT_TEXT_CAP];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    const struct config_node *node = find(r, path);
    set_fault(r, node != NULL ? node->line : line_for_absent(r, path), path, what);
}

bool yaml_reader_finish(struct yaml_reader *r, struct fault *fault)
{
    for (const struct config_node *node = r->root; node != NULL; node = node->next) {
        if (!node->is_asked) {
            refuse(r, node, "%s", node->key != NULL ? "unknown key" : "unexpected element");
            break;
        }
    }
    if (r->fault.code != FAULT_NONE && fault != NULL) {
        *fault = r->fault;
    }
    return r->fault.code == FAULT_NONE;
}
