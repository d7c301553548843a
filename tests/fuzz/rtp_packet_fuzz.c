/* rtp_packet_fuzz.c - any datagram is parsed within its bytes, and views stay inside it */
#include "services/transceiver/core/rtp/rtp_packet.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static bool lies_in(struct bytes_view inner, const uint8_t *data, size_t size)
{
    return inner.len == 0 || (inner.data >= data && inner.data + inner.len <= data + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t header_bytes = rtp_packet_header_bytes(bytes_view_of(data, size));
    struct rtp_packet p;
    const enum rtp_packet_result result = rtp_packet_parse(bytes_view_of(data, size), &p);
    check((header_bytes > 0) == (result == RTP_PACKET_OK || result == RTP_PACKET_PADDING));
    if (result != RTP_PACKET_OK) {
        return 0;
    }
    check(header_bytes + p.payload.len <= size);
    check(lies_in(p.payload, data, size));
    check(lies_in(p.extension, data, size));
    for (unsigned id = 1; id <= UINT8_MAX; id++) {
        struct bytes_view value = {0};
        if (rtp_packet_find_extension(&p, (uint8_t)id, &value)) {
            check(lies_in(value, p.extension.data, p.extension.len));
        }
    }
    return 0;
}
