/* realtime_id.c - see realtime_id.h */
#include "services/inference-stub/realtime/realtime_id.h"

#include <assert.h>
#include <stdio.h>

void realtime_id_make(struct random_source random, const char *prefix, char id[REALTIME_ID_CAP])
{
    uint8_t bytes[8];
    char digits[2 * sizeof(bytes) + 1];
    random_fill(random, bytes, sizeof(bytes));
    const bool fits = bytes_to_hex(bytes_view_of(bytes, sizeof(bytes)), digits, sizeof(digits));
    assert(fits);
    assert(strlen(prefix) + sizeof(digits) <= REALTIME_ID_CAP);
    (void)snprintf(id, REALTIME_ID_CAP, "%s%s", prefix, fits ? digits : "");
}
