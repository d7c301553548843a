/* yaml_reader_test.c - values are read strictly, and a fault names file, line and key */
#include "tests/unit/yaml_world.h"

#include "common/base/time_us.h"

#include <stdio.h>
#include <stdlib.h>

static void every_type_is_read(void **state)
{
    (void)state;
    static const char *const roles[] = {"cluster", "global", NULL};
    struct yaml_reader *r = parse("# comment\n"
                                  "workers: 4\n"
                                  "pin: true\n"
                                  "role: global\n"
                                  "listen:\n"
                                  "  udp: 0.0.0.0:3478\n"
                                  "  idle: 60s\n"
                                  "buffer: 4MB\n"
                                  "name: \"a b\"\n"
                                  "peers: [10.0.0.0/8, \"fc00::/7\"]\n"
                                  "ingress:\n"
                                  "  - {name: eu, udp: \"192.0.2.1:3478\"}\n"
                                  "  - name: us\n"
                                  "    udp: \"[2001:db8::1]:3478\"\n");
    char text[16];
    struct net_addr addr;
    struct net_block block;
    assert_int_equal(yaml_reader_u64(r, "workers", 1, 64, 1), 4);
    assert_true(yaml_reader_bool(r, "pin", false));
    assert_int_equal(yaml_reader_choice(r, "role", roles, 0), 1);
    yaml_reader_addr(r, "listen.udp", NULL, &addr);
    assert_int_equal(addr.port, 3478);
    assert_int_equal(yaml_reader_duration_us(r, "listen.idle", 0, 100 * US_PER_S, 0),
                     60 * US_PER_S);
    assert_int_equal(yaml_reader_size(r, "buffer", 0, 1 << 30, 0), 4 << 20);
    yaml_reader_text(r, "name", NULL, text, sizeof(text));
    assert_string_equal(text, "a b");
    assert_int_equal(yaml_reader_count(r, "peers"), 2);
    yaml_reader_block(r, "peers[0]", &block);
    assert_int_equal(block.prefix_bits, 104);
    yaml_reader_block(r, "peers[1]", &block);
    assert_int_equal(block.prefix_bits, 7);
    assert_int_equal(yaml_reader_count(r, "ingress"), 2);
    yaml_reader_text(r, "ingress[1].name", NULL, text, sizeof(text));
    assert_string_equal(text, "us");
    yaml_reader_text(r, "ingress[0].name", NULL, text, sizeof(text));
    assert_string_equal(text, "eu");
    yaml_reader_addr(r, "ingress[0].udp", NULL, &addr);
    yaml_reader_addr(r, "ingress[1].udp", NULL, &addr);
    assert_false(net_addr_is_ipv4(&addr));
    struct fault fault = {0};
    assert_true(yaml_reader_finish(r, &fault));
    yaml_reader_destroy(r);
}

static void absent_keys_give_their_fallbacks(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "# nothing\n", "---\n{}\n", "peers:\n"};
    static const char *const choices[] = {"a", "b", NULL};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct yaml_reader *r = parse(texts[i]);
        char text[8];
        struct net_addr addr;
        assert_int_equal(yaml_reader_count(r, "peers"), 0);
        assert_false(yaml_reader_has(r, "deep.er[3].key"));
        assert_int_equal(yaml_reader_u64(r, "n", 5, 6, 77), 77);
        assert_true(yaml_reader_bool(r, "b", true));
        assert_int_equal(yaml_reader_choice(r, "c", choices, 1), 1);
        assert_int_equal(yaml_reader_duration_us(r, "d", 0, 1, 9), 9);
        yaml_reader_text(r, "t", "dflt", text, sizeof(text));
        assert_string_equal(text, "dflt");
        yaml_reader_addr(r, "a", "127.0.0.1:1", &addr);
        assert_int_equal(addr.port, 1);
        assert_true(yaml_reader_finish(r, NULL));
        yaml_reader_destroy(r);
    }
}

enum type { U64, BOOL, DURATION, SIZE, TEXT, CHOICE, ADDR, BLOCK, COUNT };

static const struct {
    const char *yaml;
    enum type type;
    const char *fault;
} wrong_value[] = {
    {"k: 0\n", U64, "t.yaml:1: k: 0 is outside 1..64"},
    {"k: 65\n", U64, "t.yaml:1: k: 65 is outside 1..64"},
    {"k: 18446744073709551617\n", U64, "t.yaml:1: k: 18446744073709551617 is outside 1..64"},
    {"k: 010\n", U64,
     "t.yaml:1: k: 010 begins with 0: write it without, octal numbers are not read"},
    {"k: 00\n", U64, "t.yaml:1: k: 00 begins with 0: write it without, octal numbers are not read"},
    {"k: 010ms\n", DURATION,
     "t.yaml:1: k: 010ms begins with 0: write it without, octal numbers are not read"},
    {"k: 1e3\n", U64, "t.yaml:1: k: 1e3 is not a decimal number"},
    {"k: 0x10\n", U64, "t.yaml:1: k: 0x10 is not a decimal number"},
    {"k: -1\n", U64, "t.yaml:1: k: -1 is not a decimal number"},
    {"k: +1\n", U64, "t.yaml:1: k: +1 is not a decimal number"},
    {"k: \" 1\"\n", U64, "t.yaml:1: k: %201 is not a decimal number"},
    {"k: \"\"\n", U64, "t.yaml:1: k: \"\" is not a decimal number"},
    {"k: 1.5\n", U64, "t.yaml:1: k: 1.5 is not a decimal number"},
    {"k: 4KB\n", U64, "t.yaml:1: k: 4KB is not a decimal number"},
    {"\nk:\n", U64,
     "t.yaml:2: k: has no value (remove the key for the default, or write "
     "\"\")"},
    {"k: [1]\n", U64, "t.yaml:1: k: is a list, not a value"},
    {"k: {a: 1}\n", U64, "t.yaml:1: k: is a mapping, not a value"},
    {"k: yes\n", BOOL, "t.yaml:1: k: yes is neither true nor false"},
    {"k: True\n", BOOL, "t.yaml:1: k: True is neither true nor false"},
    {"k: ~\n", BOOL, "t.yaml:1: k: ~ is neither true nor false"},
    {"k: 5\n", DURATION, "t.yaml:1: k: 5 is not a duration (a number and us, ms, s, m or h)"},
    {"k: 5 s\n", DURATION, "t.yaml:1: k: 5%20s is not a duration (a number and us, ms, s, m or h)"},
    {"k: 1d\n", DURATION, "t.yaml:1: k: 1d is not a duration (a number and us, ms, s, m or h)"},
    {"k: 499us\n", DURATION, "t.yaml:1: k: 499us is outside 500us..90m"},
    {"k: 91m\n", DURATION, "t.yaml:1: k: 91m is outside 500us..90m"},
    {"k: 6000000000000000h\n", DURATION, "t.yaml:1: k: 6000000000000000h is outside 500us..90m"},
    {"k: 5TB\n", SIZE, "t.yaml:1: k: 5TB is not a size (a number, alone or with KB, MB or GB)"},
    {"k: 5MB\n", SIZE, "t.yaml:1: k: 5MB is outside 512..4MB"},
    {"k: 12345678\n", TEXT, "t.yaml:1: k: is longer than 7 characters"},
    {"j: 1\n", TEXT, "t.yaml:1: k: is missing"},
    {"k: xml\n", CHOICE, "t.yaml:1: k: xml is none of text, json"},
    {"k: localhost:80\n", ADDR,
     "t.yaml:1: k: localhost:80 is not ip:port (names are not looked up)"},
    {"j: 1\n", ADDR, "t.yaml:1: k: is missing"},
    {"k: 10.0.0.0/33\n", BLOCK, "t.yaml:1: k: 10.0.0.0/33 is not ip/bits"},
    {"j: 1\n", BLOCK, "t.yaml:1: k: is missing"},
    {"k: 1\n", COUNT, "t.yaml:1: k: is a value, not a list"},
    {"k: {a: 1}\n", COUNT, "t.yaml:1: k: is a mapping, not a list"},
};

static void a_wrong_value_names_its_key_and_what_is_allowed(void **state)
{
    (void)state;
    static const char *const choices[] = {"text", "json", NULL};
    for (size_t i = 0; i < COUNT_OF(wrong_value); i++) {
        struct yaml_reader *r = parse(wrong_value[i].yaml);
        char text[8];
        struct net_addr addr;
        struct net_block block;
        switch (wrong_value[i].type) {
        case U64:
            assert_int_equal(yaml_reader_u64(r, "k", 1, 64, 7), 7);
            break;
        case BOOL:
            assert_true(yaml_reader_bool(r, "k", true));
            break;
        case DURATION:
            assert_int_equal(yaml_reader_duration_us(r, "k", 500, 5400 * US_PER_S, 7), 7);
            break;
        case SIZE:
            assert_int_equal(yaml_reader_size(r, "k", 512, 4 << 20, 7), 7);
            break;
        case TEXT:
            yaml_reader_text(r, "k", NULL, text, sizeof(text));
            assert_string_equal(text, "");
            break;
        case CHOICE:
            assert_int_equal(yaml_reader_choice(r, "k", choices, 1), 1);
            break;
        case ADDR:
            yaml_reader_addr(r, "k", NULL, &addr);
            break;
        case BLOCK:
            yaml_reader_block(r, "k", &block);
            break;
        case COUNT:
            assert_int_equal(yaml_reader_count(r, "k"), 0);
            break;
        }
        assert_fault(r, wrong_value[i].fault);
        yaml_reader_destroy(r);
    }
}

static void both_ends_of_a_range_are_inside(void **state)
{
    (void)state;
    struct yaml_reader *r = parse("a: 1\nb: 64\nc: 500us\nd: 90m\ne: 512\nf: 4096KB\n");
    assert_int_equal(yaml_reader_u64(r, "a", 1, 64, 0), 1);
    assert_int_equal(yaml_reader_u64(r, "b", 1, 64, 0), 64);
    assert_int_equal(yaml_reader_duration_us(r, "c", 500, 5400 * US_PER_S, 0), 500);
    assert_int_equal(yaml_reader_duration_us(r, "d", 500, 5400 * US_PER_S, 0), 5400 * US_PER_S);
    assert_int_equal(yaml_reader_size(r, "e", 512, 4 << 20, 0), 512);
    assert_int_equal(yaml_reader_size(r, "f", 512, 4 << 20, 0), 4 << 20);
    assert_true(yaml_reader_finish(r, NULL));
    yaml_reader_destroy(r);
}

static void a_key_that_nobody_asked_for_is_a_fault(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        const char *fault;
    } table[] = {
        {"a: 1\nextra: 2\n", "t.yaml:2: extra: unknown key"},
        {"a: 1\nm:\n  b: 1\n  c: 2\n", "t.yaml:4: m.c: unknown key"},
        {"l:\n  - b: 1\n    x: 2\n", "t.yaml:3: l[0].x: unknown key"},
        {"l: [{b: 1}, {b: 2}]\n", "t.yaml:1: l[1]: unexpected element"},
        {"other: {deep: 1}\n", "t.yaml:1: other: unknown key"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct yaml_reader *r = parse(table[i].yaml);
        (void)yaml_reader_u64(r, "a", 0, 9, 0);
        (void)yaml_reader_u64(r, "m.b", 0, 9, 0);
        (void)yaml_reader_count(r, "l");
        (void)yaml_reader_u64(r, "l[0].b", 0, 9, 0);
        assert_fault(r, table[i].fault);
        yaml_reader_destroy(r);
    }
}

static void a_missing_key_is_reported_where_it_should_stand(void **state)
{
    (void)state;
    struct yaml_reader *r = parse("a: 1\nl:\n  - b: 1\n  - c: 1\n");
    char text[8];
    yaml_reader_text(r, "l[1].b", NULL, text, sizeof(text));
    assert_fault(r, "t.yaml:4: l[1].b: is missing");
    yaml_reader_destroy(r);
}

static void a_path_through_the_wrong_kind_is_a_fault(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *fault;
    } table[] = {
        {"a.b", "t.yaml:1: a: is a value, not a mapping"},
        {"a[0]", "t.yaml:1: a: is a value, not a list"},
        {"m[0]", "t.yaml:2: m: is a mapping, not a list"},
        {"l.x", "t.yaml:3: l: is a list, not a mapping"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct yaml_reader *r = parse("a: 1\nm: {b: 1}\nl: [1]\n");
        assert_int_equal(yaml_reader_u64(r, table[i].path, 0, 9, 3), 3);
        assert_fault(r, table[i].fault);
        yaml_reader_destroy(r);
    }
}

static void the_first_failure_sticks(void **state)
{
    (void)state;
    struct yaml_reader *r = parse("a: x\nb: y\n");
    (void)yaml_reader_u64(r, "b", 0, 9, 0);
    (void)yaml_reader_u64(r, "a", 0, 9, 0);
    yaml_reader_fail(r, "a", "clashes with %s", "b");
    assert_fault(r, "t.yaml:2: b: y is not a decimal number");
    yaml_reader_destroy(r);
}

static void a_check_of_the_caller_gets_the_line_of_its_key(void **state)
{
    (void)state;
    struct yaml_reader *r = parse("a: 1\n\nb: 2\n");
    (void)yaml_reader_u64(r, "a", 0, 9, 0);
    (void)yaml_reader_u64(r, "b", 0, 9, 0);
    yaml_reader_fail(r, "b", "must be below a (%d)", 1);
    assert_fault(r, "t.yaml:3: b: must be below a (1)");
    yaml_reader_destroy(r);
}

static void the_environment_fills_scalars(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        const char *value;
    } table[] = {
        {"k: ${EARSHOT_T}\n", "seen"},
        {"k: \"${EARSHOT_T}\"\n", "seen"},
        {"k: a${EARSHOT_T}b${EARSHOT_T:-x}c\n", "aseenbseenc"},
        {"k: ${EARSHOT_UNSET:-x y}\n", "x y"},
        {"k: ${EARSHOT_UNSET:-}\n", ""},
        {"k: ${EARSHOT_EMPTY:-x}\n", "x"},
        {"k: ${EARSHOT_EMPTY}\n", ""},
        {"k: ${EARSHOT_UNSET:-10.0.0.1:80}\n", "10.0.0.1:80"},
        {"k: $HOME $ {x}\n", "$HOME $ {x}"},
        {"k: \"\"\n", ""},
    };
    assert_int_equal(setenv("EARSHOT_T", "seen", 1), 0);
    assert_int_equal(setenv("EARSHOT_EMPTY", "", 1), 0);
    assert_int_equal(unsetenv("EARSHOT_UNSET"), 0);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct yaml_reader *r = parse(table[i].yaml);
        char text[64];
        yaml_reader_text(r, "k", NULL, text, sizeof(text));
        assert_true(yaml_reader_finish(r, NULL));
        assert_string_equal(text, table[i].value);
        yaml_reader_destroy(r);
    }
}

static void an_environment_value_is_data_not_yaml(void **state)
{
    (void)state;
    assert_int_equal(setenv("EARSHOT_T", "1\nadmin: true ${EARSHOT_T}", 1), 0);
    struct yaml_reader *r = parse("k: ${EARSHOT_T}\n");
    char text[64];
    yaml_reader_text(r, "k", NULL, text, sizeof(text));
    assert_string_equal(text, "1\nadmin: true ${EARSHOT_T}");
    assert_false(yaml_reader_has(r, "admin"));
    assert_true(yaml_reader_finish(r, NULL));
    yaml_reader_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(absent_keys_give_their_fallbacks),
        cmocka_unit_test(a_wrong_value_names_its_key_and_what_is_allowed),
        cmocka_unit_test(both_ends_of_a_range_are_inside),
        cmocka_unit_test(a_key_that_nobody_asked_for_is_a_fault),
        cmocka_unit_test(a_missing_key_is_reported_where_it_should_stand),
        cmocka_unit_test(a_path_through_the_wrong_kind_is_a_fault),
        cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(a_check_of_the_caller_gets_the_line_of_its_key),
        cmocka_unit_test(the_environment_fills_scalars),
        cmocka_unit_test(an_environment_value_is_data_not_yaml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
