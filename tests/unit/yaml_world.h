/* yaml_world.h - a text that is read, and the fault it ends with */
#ifndef EARSHOT_TESTS_YAML_WORLD_H
#define EARSHOT_TESTS_YAML_WORLD_H

#include "tests/testing.h"

#include "common/runtime/yaml_reader.h"

static inline struct yaml_reader *parse(const char *text)
{
    struct fault fault = {0};
    struct yaml_reader *r = yaml_reader_parse(bytes_view_of_text(text), "t.yaml", &fault);
    if (r == NULL) {
        fail_msg("%s", fault.text);
    }
    return r;
}

static inline void assert_fault(struct yaml_reader *r, const char *text)
{
    struct fault fault = {0};
    assert_false(yaml_reader_finish(r, &fault));
    assert_string_equal(fault.text, text);
    assert_int_equal(fault.code, FAULT_CONFIG);
}

#endif
