/* api_keys_fuzz.c - any bytes as a file of API keys: what is read is within its bounds */
#include "services/signaling/access/api_keys.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fault fault = {0};
    struct api_keys *keys = api_keys_parse(bytes_view_of(data, len), "keys", &fault);
    if (keys == NULL) {
        assert(strncmp(fault.text, "keys:", 5) == 0);
        return 0;
    }
    assert(api_keys_count(keys) <= API_KEYS_MAX);
    const struct api_key *found = api_keys_find(keys, bytes_view_of(data, len));
    assert(found == NULL || found->role < API_KEY_ROLE_COUNT);
    api_keys_destroy(keys);
    return 0;
}
