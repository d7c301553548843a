/* red_copy.c - see red_copy.h */
#include "services/transceiver/core/rtp/red_copy.h"

void red_copy_keep(struct red_copy *c, uint8_t payload_type, uint32_t timestamp,
                   struct bytes_view payload)
{
    red_copy_forget(c);
    if (payload.len <= sizeof(c->data)) {
        c->payload_type = payload_type;
        c->timestamp = timestamp;
        c->len = payload.len;
        memcpy(c->data, payload.data, payload.len);
    }
}

void red_copy_forget(struct red_copy *c)
{
    c->len = 0;
}

size_t red_copy_add(const struct red_copy *c, uint8_t payload_type, uint32_t timestamp,
                    struct bytes_view payload, uint8_t *out, size_t cap)
{
    const uint32_t offset = timestamp - c->timestamp;
    if (c->len == 0 || offset > RED_TIMESTAMP_OFFSET_MAX) {
        return 0;
    }
    const struct red_block before = {
        .payload_type = c->payload_type,
        .timestamp_offset = (uint16_t)offset,
        .data = bytes_view_of(c->data, c->len),
    };
    const struct red_block primary = {.payload_type = payload_type, .data = payload};
    return red_write(&before, &primary, out, cap);
}
