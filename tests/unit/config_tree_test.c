/* config_tree_test.c - a text becomes the tree that it describes, or one line says why not */
#include "tests/testing.h"

#include "common/runtime/config_tree.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_CAP (2 * 1024 * 1024)

/* Room for the largest texts; each test writes its own. */
static struct {
    char *text;
    struct byte_writer w;
} fixture;

static int open_fixture(void **state)
{
    (void)state;
    fixture.text = malloc(TEXT_CAP);
    return fixture.text != NULL ? 0 : -1;
}

static int close_fixture(void **state)
{
    (void)state;
    free(fixture.text);
    return 0;
}

static void begin_text(void)
{
    byte_writer_init(&fixture.w, fixture.text, TEXT_CAP);
}

__attribute__((format(printf, 1, 2))) static void add_text(const char *format, ...)
{
    char piece[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(piece, sizeof(piece), format, arguments);
    va_end(arguments);
    byte_writer_bytes(&fixture.w, bytes_view_of_text(piece));
}

static void add_repeated(char c, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        byte_writer_u8(&fixture.w, (uint8_t)c);
    }
}

static struct config_node *parse_text(struct fault *fault)
{
    assert_false(fixture.w.failed);
    *fault = (struct fault){0};
    return config_tree_parse(bytes_view_of(fixture.text, fixture.w.len), "t.yaml", fault);
}

static struct config_node *parse(const char *text)
{
    struct fault fault = {0};
    struct config_node *root = config_tree_parse(bytes_view_of_text(text), "t.yaml", &fault);
    if (root == NULL) {
        fail_msg("%s", fault.text);
    }
    return root;
}

/* The text that was built is read, or refused with these words in the fault. */
static void assert_read(bool is_good, const char *words)
{
    struct fault fault;
    struct config_node *root = parse_text(&fault);
    if ((root != NULL) != is_good || (!is_good && strstr(fault.text, words) == NULL)) {
        fail_msg("%s: \"%s\"", words, fault.text);
    }
    assert_int_equal(fault.code, is_good ? FAULT_NONE : FAULT_CONFIG);
    config_tree_destroy(root);
}

static void nodes_stand_in_document_order_with_kind_line_and_path(void **state)
{
    (void)state;
    static const struct {
        enum config_kind kind;
        const char *path;
        const char *value;
        size_t line;
        size_t child_count;
    } expected[] = {
        {CONFIG_MAPPING, "", NULL, 1, 3},
        {CONFIG_SCALAR, "name", "a b", 1, 0},
        {CONFIG_LIST, "ingress", NULL, 3, 2},
        {CONFIG_MAPPING, "ingress[0]", NULL, 3, 1},
        {CONFIG_SCALAR, "ingress[0].udp", "x", 3, 0},
        {CONFIG_LIST, "ingress[1]", NULL, 4, 1},
        {CONFIG_SCALAR, "ingress[1][0]", "7", 4, 0},
        {CONFIG_SCALAR, "last", "", 5, 0},
    };
    struct config_node *root = parse("name: \"a b\"\ningress:\n  - udp: x\n  - [7]\nlast:\n");
    const struct config_node *node = root;
    for (size_t i = 0; i < COUNT_OF(expected); i++, node = node->next) {
        char path[CONFIG_PATH_CAP];
        assert_non_null(node);
        assert_string_equal(config_tree_path(node, path, sizeof(path)), expected[i].path);
        assert_int_equal(node->kind, expected[i].kind);
        assert_int_equal(node->line, expected[i].line);
        assert_int_equal(node->child_count, expected[i].child_count);
        if (expected[i].value != NULL) {
            assert_string_equal(node->value, expected[i].value);
        }
    }
    assert_null(node);
    config_tree_destroy(root);
}

static void children_are_linked_to_each_other_and_to_their_parent(void **state)
{
    (void)state;
    struct config_node *root = parse("a: 1\nb: {c: 2}\nd: 3\n");
    const struct config_node *a = root->first_child;
    const struct config_node *b = a->next_sibling;
    const struct config_node *d = b->next_sibling;
    assert_string_equal(a->key, "a");
    assert_string_equal(b->key, "b");
    assert_string_equal(d->key, "d");
    assert_null(d->next_sibling);
    assert_ptr_equal(root->last_child, d);
    assert_null(root->parent);
    assert_ptr_equal(b->parent, root);
    assert_ptr_equal(b->first_child->parent, b);
    config_tree_destroy(root);
}

static void a_text_without_a_value_is_an_empty_mapping(void **state)
{
    (void)state;
    static const char *const empty[] = {"", "\n", "# only a comment\n", "{}", "---\n{}\n"};
    for (size_t i = 0; i < COUNT_OF(empty); i++) {
        struct config_node *root = parse(empty[i]);
        assert_int_equal(root->kind, CONFIG_MAPPING);
        assert_int_equal(root->child_count, 0);
        config_tree_destroy(root);
    }
}

static void only_a_scalar_with_nothing_written_is_null(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_null;
    } null_case[] = {
        {"a:\n", true},
        {"a: \"\"\n", false},
        {"a: ''\n", false},
        {"a: x\n", false},
        {"a: ${EARSHOT_ABSENT:-}\n", false},
    };
    for (size_t i = 0; i < COUNT_OF(null_case); i++) {
        struct config_node *root = parse(null_case[i].text);
        assert_int_equal(root->first_child->is_null, null_case[i].is_null);
        config_tree_destroy(root);
    }
}

static void the_environment_replaces_what_stands_in_braces(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *value; /* NULL: refused */
    } variable_case[] = {
        {"${EARSHOT_SET}", "v: [1]"},
        {"<${EARSHOT_SET}|${EARSHOT_SET}>", "<v: [1]|v: [1]>"},
        {"${EARSHOT_SET:-d}", "v: [1]"},
        {"${EARSHOT_EMPTY}", ""},
        {"${EARSHOT_EMPTY:-d}", "d"},
        {"${EARSHOT_ABSENT:-d:-e}", "d:-e"},
        {"${EARSHOT_ABSENT:-}", ""},
        {"${EARSHOT_ABSENT}", NULL},
        {"$EARSHOT_SET {}", "$EARSHOT_SET {}"},
        {"${EARSHOT_SET", NULL},
        {"${}", NULL},
        {"${:-d}", NULL},
        {"${1A}", NULL},
        {"${A-B}", NULL},
        {"${A:-${B}}", NULL},
    };
    assert_int_equal(setenv("EARSHOT_SET", "v: [1]", 1), 0);
    assert_int_equal(setenv("EARSHOT_EMPTY", "", 1), 0);
    assert_int_equal(unsetenv("EARSHOT_ABSENT"), 0);
    for (size_t i = 0; i < COUNT_OF(variable_case); i++) {
        struct fault fault;
        begin_text();
        add_text("key: '%s'\n", variable_case[i].text);
        struct config_node *root = parse_text(&fault);
        if ((root != NULL) != (variable_case[i].value != NULL)) {
            fail_msg("%s: %s", variable_case[i].text, fault.text);
        }
        if (root != NULL) {
            assert_string_equal(root->first_child->value, variable_case[i].value);
        } else {
            assert_true(strncmp(fault.text, "t.yaml:1: key: ", 15) == 0);
        }
        config_tree_destroy(root);
    }
}

static void what_is_refused_is_named_with_file_line_and_path(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *fault;
    } refusal_case[] = {
        {"a: 1\nb: 2\na: 3\n", "t.yaml:3: a: stands here a second time (first in line 1)"},
        {"a:\n  b: 1\n  b: 2\n", "t.yaml:3: a.b: stands here a second time (first in line 2)"},
        {"a: &x 1\nb: *x\n", "t.yaml:2: aliases (*) are not allowed"},
        {"a: !!str 1\n", "t.yaml:1: tags (!) are not allowed"},
        {"a: !t [1]\n", "t.yaml:1: tags (!) are not allowed"},
        {"a: !t {b: 1}\n", "t.yaml:1: tags (!) are not allowed"},
        {"a: 1\n---\nb: 2\n", "t.yaml:2: a second document"},
        {"- 1\n", "t.yaml:1: the file is not a mapping of keys to values"},
        {"text\n", "t.yaml:1: the file is not a mapping of keys to values"},
        {"? [a]\n: 1\n", "t.yaml:1: a key can not be a list or a mapping"},
        {"\"\": 1\n", "t.yaml:1: an empty key"},
        {"a: \"x\\0y\"\n", "t.yaml:1: a: holds a zero byte"},
    };
    for (size_t i = 0; i < COUNT_OF(refusal_case); i++) {
        struct fault fault = {0};
        assert_null(config_tree_parse(bytes_view_of_text(refusal_case[i].text), "t.yaml", &fault));
        assert_string_equal(fault.text, refusal_case[i].fault);
        assert_int_equal(fault.code, FAULT_CONFIG);
    }
}

static void a_key_has_1_to_64_letters_digits_underscores_or_dashes(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        begin_text();
        add_repeated('k', CONFIG_KEY_LEN_MAX + extra);
        add_text(": 1\n");
        assert_read(extra == 0, "is not 1..64 letters, digits, _ or -");
    }
    static const char *const key[] = {"a_b-C9", "a.b", "a b", "\xc3\xa4"};
    for (size_t i = 0; i < COUNT_OF(key); i++) {
        begin_text();
        add_text("%s: 1\n", key[i]);
        assert_read(i == 0, "is not 1..64 letters, digits, _ or -");
    }
}

static void a_value_has_at_most_4096_characters_before_and_after_replacement(void **state)
{
    (void)state;
    assert_int_equal(setenv("EARSHOT_TEN", "0123456789", 1), 0);
    for (size_t extra = 0; extra < 2; extra++) {
        begin_text();
        add_text("key: ");
        add_repeated('v', CONFIG_VALUE_LEN_MAX + extra);
        assert_read(extra == 0, "t.yaml:1: key: longer than 4096 characters");
        begin_text();
        add_text("key: ${EARSHOT_TEN}");
        add_repeated('v', CONFIG_VALUE_LEN_MAX - 10 + extra);
        assert_read(extra == 0, "t.yaml:1: key: longer than 4096 characters");
        begin_text();
        add_text("key: ");
        add_repeated('v', CONFIG_VALUE_LEN_MAX - 10 + extra);
        add_text("${EARSHOT_TEN}");
        assert_read(extra == 0, "t.yaml:1: key: longer than 4096 characters");
    }
}

static void a_mapping_has_at_most_512_keys_and_a_list_more(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        begin_text();
        for (size_t i = 0; i < CONFIG_MAPPING_KEYS_MAX + extra; i++) {
            add_text("k%zu: 1\n", i);
        }
        assert_read(extra == 0, "t.yaml:513: more than 512 keys");
    }
    begin_text();
    add_text("list:\n");
    for (size_t i = 0; i < CONFIG_MAPPING_KEYS_MAX + 1; i++) {
        add_text("- %zu\n", i);
    }
    assert_read(true, "a list of 513");
}

static void a_text_has_at_most_65536_nodes(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        begin_text();
        add_text("list:\n"); /* with the root: two nodes */
        for (size_t i = 0; i < CONFIG_NODES_MAX - 2 + extra; i++) {
            add_text("- 1\n");
        }
        assert_read(extra == 0, "more than 65536 values");
    }
}

static void containers_nest_16_deep_and_no_deeper(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        const size_t lists = CONFIG_DEPTH_MAX - 1 + extra; /* below the root */
        begin_text();
        add_text("a: ");
        add_repeated('[', lists);
        add_repeated(']', lists);
        assert_read(extra == 0, "t.yaml:1: nested deeper than 16 levels");
    }
}

static void a_text_of_one_megabyte_is_read_and_a_longer_one_is_not(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        begin_text();
        add_text("a: 1\n#");
        add_repeated('x', CONFIG_BYTES_MAX + extra - fixture.w.len);
        assert_read(extra == 0, "t.yaml: larger than 1048576 bytes");
    }
}

static void a_path_that_is_too_long_is_cut_and_ends(void **state)
{
    (void)state;
    static const char whole[] = "alpha.beta[0].gamma";
    struct config_node *root = parse("alpha: {beta: [{gamma: 1}]}\n");
    const struct config_node *last = root;
    while (last->next != NULL) {
        last = last->next;
    }
    for (size_t cap = 1; cap <= sizeof(whole); cap++) {
        char path[sizeof(whole) + 1];
        memset(path, '#', sizeof(path));
        (void)config_tree_path(last, path, cap);
        assert_int_equal(strlen(path), cap - 1);
        assert_memory_equal(path, whole, cap - 1);
        assert_int_equal(path[cap], '#');
    }
    config_tree_destroy(root);
}

static void destroying_nothing_is_fine(void **state)
{
    (void)state;
    config_tree_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_stand_in_document_order_with_kind_line_and_path),
        cmocka_unit_test(children_are_linked_to_each_other_and_to_their_parent),
        cmocka_unit_test(a_text_without_a_value_is_an_empty_mapping),
        cmocka_unit_test(only_a_scalar_with_nothing_written_is_null),
        cmocka_unit_test(the_environment_replaces_what_stands_in_braces),
        cmocka_unit_test(what_is_refused_is_named_with_file_line_and_path),
        cmocka_unit_test(a_key_has_1_to_64_letters_digits_underscores_or_dashes),
        cmocka_unit_test(a_value_has_at_most_4096_characters_before_and_after_replacement),
        cmocka_unit_test(a_mapping_has_at_most_512_keys_and_a_list_more),
        cmocka_unit_test(a_text_has_at_most_65536_nodes),
        cmocka_unit_test(containers_nest_16_deep_and_no_deeper),
        cmocka_unit_test(a_text_of_one_megabyte_is_read_and_a_longer_one_is_not),
        cmocka_unit_test(a_path_that_is_too_long_is_cut_and_ends),
        cmocka_unit_test(destroying_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
