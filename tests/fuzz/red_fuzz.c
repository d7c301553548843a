/* red_fuzz.c - any payload is split within its bytes, and what fits one redundant block is written
 * back as it was read */
#include "services/transceiver/core/rtp/red.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RED_PAYLOAD_TYPE 63

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct red_packet p;
    if (red_parse(bytes_view_of(data, size), RED_PAYLOAD_TYPE, &p) != RED_OK) {
        return 0;
    }
    check(p.block_count >= 1 && p.block_count <= RED_BLOCKS_MAX);
    size_t sum = 1 + 4 * (p.block_count - 1);
    for (size_t i = 0; i < p.block_count; i++) {
        const struct red_block *b = &p.block[i];
        check(b->payload_type != RED_PAYLOAD_TYPE);
        check(b->data.len == 0 ||
              (b->data.data >= data && b->data.data + b->data.len <= data + size));
        sum += b->data.len;
    }
    check(sum == size);
    if (p.block_count == 2 && p.block[0].data.len > 0) {
        uint8_t *copy = malloc(size);
        check(copy != NULL);
        check(red_write(&p.block[0], &p.block[1], copy, size) == size);
        check(memcmp(copy, data, size) == 0);
        free(copy);
    }
    return 0;
}
