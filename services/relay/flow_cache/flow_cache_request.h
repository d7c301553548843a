/*
 * flow_cache_request.h - what is asked of Redis, and what it can say
 *
 * The words that the parts of the flow cache share. A request crosses a pipe as it is: it holds no
 * pointer.
 */
#ifndef EARSHOT_FLOW_CACHE_REQUEST_H
#define EARSHOT_FLOW_CACHE_REQUEST_H

#include "services/relay/core/flow_cache_text.h"

enum flow_cache_request_kind {
    FLOW_CACHE_LOOK_UP,
    FLOW_CACHE_STORE,
    FLOW_CACHE_REQUEST_KIND_COUNT
};

struct flow_cache_request {
    enum flow_cache_request_kind kind;
    uint32_t port;     /* LOOK_UP: who asked, */
    uint64_t asked_us; /* and when */
    struct flow_cache_key key;
    struct cached_flow flow; /* STORE */
};

/* What Redis said of a client. */
enum flow_cache_result {
    FLOW_CACHE_FOUND,
    FLOW_CACHE_ABSENT,
    FLOW_CACHE_MALFORMED, /* not a value of ours, or not even a string */
    FLOW_CACHE_REFUSED,   /* an error: Redis is loading, or we may not read */
    FLOW_CACHE_RESULT_COUNT
};

#endif
