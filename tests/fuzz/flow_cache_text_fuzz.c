/* flow_cache_text_fuzz.c - any bytes as a value of the flow cache: what is taken is what we would
 * have written for the same flow. And as the URL of Redis. */
#include "services/relay/core/flow_cache_text.h"
#include "services/relay/flow_cache/flow_cache_url.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cached_flow flow;
    struct flow_cache_url url;
    char text[FLOW_CACHE_URL_CAP] = {0};
    if (flow_cache_read_value(bytes_view_of(data, size), &flow)) {
        require(flow.next_hop.port != 0 && flow.next_hop.scope == 0);
        require(flow_cache_write_value(&flow, text));
        require(size == strlen(text) && memcmp(data, text, size) == 0);
    }
    memset(text, 0, sizeof(text));
    memcpy(text, data, size < sizeof(text) ? size : sizeof(text) - 1);
    if (flow_cache_url_parse(text, &url) == NULL) {
        require(strchr(url.address, ':') != NULL && url.database <= FLOW_CACHE_DATABASE_MAX);
    }
    return 0;
}
