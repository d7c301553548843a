/* dcep_fuzz.c - a DCEP message of a stranger: what is taken is bounded, and can be said again */
#include "services/transceiver/core/transport/dcep.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dcep_open open;
    struct dcep_open again;
    uint8_t bytes[DCEP_OPEN_BYTES_MAX];
    if (dcep_parse(bytes_view_of(data, size), &open) != DCEP_OPEN) {
        return 0;
    }
    const size_t len = dcep_write_open(&open, bytes, sizeof(bytes));
    if (len != size || dcep_parse(bytes_view_of(bytes, len), &again) != DCEP_OPEN ||
        !bytes_equal(open.label, again.label) || !bytes_equal(open.protocol, again.protocol) ||
        open.is_unordered != again.is_unordered || open.reliability != again.reliability) {
        abort();
    }
    return 0;
}
