/* yaml_reader_fuzz.c - any text is read or refused with one line; values keep their ranges */
#include "common/base/time_us.h"
#include "common/runtime/yaml_reader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const char *const choices[] = {"text", "json", NULL};
    struct fault fault = {0};
    struct yaml_reader *r = yaml_reader_parse(bytes_view_of(data, len), "fuzz", &fault);
    if (r == NULL) {
        require(fault.code != FAULT_NONE && fault.text[0] != '\0');
        return 0;
    }
    char text[16];
    struct net_addr addr;
    struct net_block block;
    require(yaml_reader_u64(r, "a", 1, 64, 7) - 1 < 64);
    require(yaml_reader_duration_us(r, "b", 5, 10 * US_PER_S, 5) <= 10 * US_PER_S);
    require(yaml_reader_size(r, "c", 0, 4096, 0) <= 4096);
    require(yaml_reader_choice(r, "d", choices, 0) < 2);
    (void)yaml_reader_bool(r, "m.e", true);
    yaml_reader_text(r, "m.t", "none", text, sizeof(text));
    require(strlen(text) < sizeof(text));
    const size_t count = yaml_reader_count(r, "l");
    if (count > 0) {
        yaml_reader_addr(r, "l[0].addr", "127.0.0.1:1", &addr);
        yaml_reader_block(r, "l[0].block", &block);
        require(block.prefix_bits <= 128);
    }
    if (!yaml_reader_finish(r, &fault)) {
        require(fault.code == FAULT_CONFIG && fault.text[0] != '\0');
    }
    yaml_reader_destroy(r);
    return 0;
}
