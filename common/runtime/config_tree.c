/* config_tree.c - see config_tree.h; the only file that sees libyaml */
#include "common/runtime/config_tree.h"

#include "common/runtime/log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

struct tree_builder {
    const char *name;
    struct fault *fault;
    struct config_node *root;
    struct config_node *last; /* in document order */
    struct config_node *open; /* the container that the next event belongs to */
    char key[CONFIG_KEY_LEN_MAX + 1];
    bool has_key; /* of the value that comes next */
    size_t depth;
    size_t node_count;
};

const char *config_tree_path(const struct config_node *node, char *text, size_t text_cap)
{
    const struct config_node *way[CONFIG_DEPTH_MAX + 1];
    size_t steps = 0;
    for (; node->parent != NULL; node = node->parent) {
        way[steps++] = node;
    }
    size_t len = 0;
    text[0] = '\0';
    while (steps > 0 && len < text_cap) {
        const struct config_node *step = way[--steps];
        const char *separator = len == 0 ? "" : ".";
        const int step_len =
            step->key == NULL ? snprintf(text + len, text_cap - len, "[%zu]", step->index)
                              : snprintf(text + len, text_cap - len, "%s%s", separator, step->key);
        len += (size_t)step_len;
    }
    return text;
}

__attribute__((format(printf, 4, 5))) static bool
refuse(struct tree_builder *b, const struct config_node *at, size_t line, const char *format, ...)
{
    char what[FAULT_TEXT_CAP];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    char path[CONFIG_PATH_CAP] = "";
    if (at != NULL) {
        (void)config_tree_path(at, path, sizeof(path));
    }
    return fault_set(b->fault, FAULT_CONFIG, "%s:%zu: %s%s%s", b->name, line, path,
                     path[0] == '\0' ? "" : ": ", what);
}

/* ---- scalars ---- */

/* Room for a scalar while ${...} is replaced; one byte more than allowed, to see the excess. */
struct scalar_text {
    char data[CONFIG_VALUE_LEN_MAX + 1];
    size_t len;
};

static bool scalar_add(struct scalar_text *text, const char *data, size_t len)
{
    if (len > sizeof(text->data) - 1 - text->len) {
        return false;
    }
    memcpy(text->data + text->len, data, len);
    text->len += len;
    return true;
}

static bool is_environment_name(const char *name, size_t len)
{
    static const char allowed[] = "_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    return len > 0 && !(name[0] >= '0' && name[0] <= '9') && strspn(name, allowed) >= len;
}

/* `inner` stands between "${" and "}". As in a shell, :- also replaces an empty variable. */
static bool add_variable(struct tree_builder *b, const struct config_node *node, const char *inner,
                         size_t inner_len, struct scalar_text *text)
{
    const char *mark = memmem(inner, inner_len, ":-", 2);
    const size_t name_len = mark == NULL ? inner_len : (size_t)(mark - inner);
    char name[CONFIG_KEY_LEN_MAX + 1];
    if (name_len >= sizeof(name) || !is_environment_name(inner, name_len)) {
        return refuse(b, node, node->line, "write ${NAME} or ${NAME:-default}");
    }
    memcpy(name, inner, name_len);
    name[name_len] = '\0';
    const char *value = getenv(name);
    size_t value_len = value == NULL ? 0 : strlen(value);
    if (mark == NULL && value == NULL) {
        return refuse(b, node, node->line, "the environment has no %s, and there is no default",
                      name);
    }
    if (mark != NULL && value_len == 0) {
        value = mark + 2;
        value_len = inner_len - name_len - 2;
    }
    return scalar_add(text, value, value_len) ||
           refuse(b, node, node->line, "longer than %d characters", CONFIG_VALUE_LEN_MAX);
}

static bool expand_scalar(struct tree_builder *b, const struct config_node *node, const char *raw,
                          struct scalar_text *text)
{
    while (*raw != '\0') {
        const char *variable = strstr(raw, "${");
        const size_t plain_len = variable == NULL ? strlen(raw) : (size_t)(variable - raw);
        if (!scalar_add(text, raw, plain_len)) {
            return refuse(b, node, node->line, "longer than %d characters", CONFIG_VALUE_LEN_MAX);
        }
        if (variable == NULL) {
            break;
        }
        const char *inner = variable + 2;
        const char *end = strchr(inner, '}');
        if (end == NULL || memmem(inner, (size_t)(end - inner), "${", 2) != NULL) {
            return refuse(b, node, node->line, "write ${NAME} or ${NAME:-default}");
        }
        if (!add_variable(b, node, inner, (size_t)(end - inner), text)) {
            return false;
        }
        raw = end + 1;
    }
    text->data[text->len] = '\0';
    return true;
}

/* ---- nodes ---- */

static bool out_of_memory(struct tree_builder *b)
{
    return fault_set(b->fault, FAULT_SYSTEM, "%s: out of memory", b->name);
}

static const struct config_node *same_key_before(const struct config_node *node)
{
    const struct config_node *sibling = node->parent->first_child;
    while (sibling != node && strcmp(sibling->key, node->key) != 0) {
        sibling = sibling->next_sibling;
    }
    return sibling == node ? NULL : sibling;
}

static void link_node(struct tree_builder *b, struct config_node *node)
{
    struct config_node *parent = b->open;
    if (b->last != NULL) {
        b->last->next = node;
    }
    b->last = node;
    if (parent == NULL) {
        b->root = node;
        return;
    }
    node->parent = parent;
    node->index = parent->child_count++;
    if (parent->last_child == NULL) {
        parent->first_child = node;
    } else {
        parent->last_child->next_sibling = node;
    }
    parent->last_child = node;
}

static struct config_node *add_node(struct tree_builder *b, enum config_kind kind, size_t line)
{
    if (b->node_count >= CONFIG_NODES_MAX) {
        (void)refuse(b, NULL, line, "more than %d values", CONFIG_NODES_MAX);
        return NULL;
    }
    struct config_node *node = calloc(1, sizeof(*node));
    if (node == NULL) {
        (void)out_of_memory(b);
        return NULL;
    }
    b->node_count++;
    node->kind = kind;
    node->line = line;
    link_node(b, node);
    if (node->parent == NULL || node->parent->kind == CONFIG_LIST) {
        return node;
    }
    node->key = strdup(b->key);
    b->has_key = false;
    if (node->key == NULL) {
        (void)out_of_memory(b);
        return NULL;
    }
    if (node->parent->child_count > CONFIG_MAPPING_KEYS_MAX) {
        (void)refuse(b, node->parent, line, "more than %d keys", CONFIG_MAPPING_KEYS_MAX);
        return NULL;
    }
    const struct config_node *first = same_key_before(node);
    if (first != NULL) {
        (void)refuse(b, node, line, "stands here a second time (first in line %zu)", first->line);
        return NULL;
    }
    return node;
}

/* ---- events ---- */

static bool wants_key(const struct tree_builder *b)
{
    return b->open != NULL && b->open->kind == CONFIG_MAPPING && !b->has_key;
}

static bool take_key(struct tree_builder *b, const yaml_event_t *event, size_t line)
{
    static const char allowed[] =
        "_-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const char *key = (const char *)event->data.scalar.value;
    const size_t len = event->data.scalar.length;
    if (len == 0) {
        return refuse(b, b->open, line, "an empty key");
    }
    if (len > CONFIG_KEY_LEN_MAX || strspn(key, allowed) != len) {
        char escaped[LOG_ESCAPED_CAP];
        return refuse(b, b->open, line, "the key %s is not 1..%d letters, digits, _ or -",
                      log_escape(bytes_view_of(key, len), escaped, sizeof(escaped)),
                      CONFIG_KEY_LEN_MAX);
    }
    memcpy(b->key, key, len + 1);
    b->has_key = true;
    return true;
}

static bool on_scalar(struct tree_builder *b, const yaml_event_t *event, size_t line)
{
    const char *raw = (const char *)event->data.scalar.value;
    if (event->data.scalar.tag != NULL) {
        return refuse(b, b->open, line, "tags (!) are not allowed");
    }
    if (wants_key(b)) {
        return take_key(b, event, line);
    }
    if (b->open == NULL) {
        return refuse(b, NULL, line, "the file is not a mapping of keys to values");
    }
    struct config_node *node = add_node(b, CONFIG_SCALAR, line);
    if (node == NULL) {
        return false;
    }
    if (strlen(raw) != event->data.scalar.length) {
        return refuse(b, node, line, "holds a zero byte");
    }
    struct scalar_text text = {.len = 0};
    if (!expand_scalar(b, node, raw, &text)) {
        return false;
    }
    node->is_null = raw[0] == '\0' && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    node->value = strdup(text.data);
    return node->value != NULL || out_of_memory(b);
}

static bool on_container_start(struct tree_builder *b, enum config_kind kind, bool has_tag,
                               size_t line)
{
    if (has_tag) {
        return refuse(b, b->open, line, "tags (!) are not allowed");
    }
    if (wants_key(b)) {
        return refuse(b, b->open, line, "a key can not be a list or a mapping");
    }
    if (b->open == NULL && kind != CONFIG_MAPPING) {
        return refuse(b, NULL, line, "the file is not a mapping of keys to values");
    }
    if (b->depth == CONFIG_DEPTH_MAX) {
        return refuse(b, NULL, line, "nested deeper than %d levels", CONFIG_DEPTH_MAX);
    }
    struct config_node *node = add_node(b, kind, line);
    if (node == NULL) {
        return false;
    }
    b->open = node;
    b->depth++;
    return true;
}

static bool on_event(struct tree_builder *b, const yaml_event_t *event)
{
    const size_t line = event->start_mark.line + 1;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return b->root == NULL || refuse(b, NULL, line, "a second document");
    case YAML_ALIAS_EVENT:
        return refuse(b, b->open, line, "aliases (*) are not allowed");
    case YAML_SCALAR_EVENT:
        return on_scalar(b, event, line);
    case YAML_SEQUENCE_START_EVENT:
        return on_container_start(b, CONFIG_LIST, event->data.sequence_start.tag != NULL, line);
    case YAML_MAPPING_START_EVENT:
        return on_container_start(b, CONFIG_MAPPING, event->data.mapping_start.tag != NULL, line);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        assert(b->open != NULL); /* libyaml ends only what it began */
        b->open = b->open->parent;
        b->depth--;
        return true;
    default:
        return true;
    }
}

static bool refuse_syntax(struct tree_builder *b, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR) {
        return out_of_memory(b);
    }
    return refuse(b, NULL, parser->problem_mark.line + 1, "%s",
                  parser->problem != NULL ? parser->problem : "not YAML");
}

static bool read_events(struct tree_builder *b, yaml_parser_t *parser)
{
    bool is_end = false;
    while (!is_end) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event)) {
            return refuse_syntax(b, parser);
        }
        is_end = event.type == YAML_STREAM_END_EVENT;
        const bool is_good = on_event(b, &event);
        yaml_event_delete(&event);
        if (!is_good) {
            return false;
        }
    }
    /* A text of comments alone has no document. */
    return b->root != NULL || add_node(b, CONFIG_MAPPING, 1) != NULL;
}

struct config_node *config_tree_parse(struct bytes_view text, const char *name, struct fault *fault)
{
    struct tree_builder b = {.name = name, .fault = fault};
    if (text.len > CONFIG_BYTES_MAX) {
        (void)fault_set(fault, FAULT_CONFIG, "%s: larger than %d bytes", name, CONFIG_BYTES_MAX);
        return NULL;
    }
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        (void)out_of_memory(&b);
        return NULL;
    }
    yaml_parser_set_input_string(&parser, text.data, text.len);
    const bool is_good = read_events(&b, &parser);
    yaml_parser_delete(&parser);
    if (!is_good) {
        config_tree_destroy(b.root);
        return NULL;
    }
    return b.root;
}

void config_tree_destroy(struct config_node *root)
{
    while (root != NULL) {
        struct config_node *next = root->next;
        free(root->key);
        free(root->value);
        free(root);
        root = next;
    }
}
