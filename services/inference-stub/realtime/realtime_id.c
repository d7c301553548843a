/* realtime_id.c - see realtime_id.h */
#include "services/inference-stub/realtime/realtime_id.h"

#include <assert.h>

void realtime_id_make(struct random_source random, const char *prefix, char id[REALTIME_ID_CAP])
{
    uint8_t bytes[8];
    const size_t len = strlen(prefix);
    assert(len <= 16);
    random_fill(random, bytes, sizeof(bytes));
    memcpy(id, prefix, len);
    const bool fits =
        bytes_to_hex(bytes_view_of(bytes, sizeof(bytes)), id + len, REALTIME_ID_CAP - len);
    assert(fits);
    (void)fits;
}
