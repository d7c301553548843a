/*
 * flow_cache_text.h - the keys and values of the flow cache (docs/wire-formats.md, 4)
 *
 * Whoever can write to Redis can write anything: a value has one spelling, and every other text is
 * refused. What it says is only a claim; the forwarder compares it with its own table.
 * Fails:   an address with a scope (link-local) has no text that another host understands.
 */
#ifndef EARSHOT_FLOW_CACHE_TEXT_H
#define EARSHOT_FLOW_CACHE_TEXT_H

#include "common/base/net_addr.h"

#define FLOW_CACHE_KEY_CAP         128
#define FLOW_CACHE_VALUE_BYTES_MAX 128

/* Whose flow it is. A client of another cluster, or over another transport, is another client. */
struct flow_cache_key {
    struct net_addr client;
    uint16_t cluster_id;
    bool is_tcp;
};

/* Where its datagrams go. */
struct cached_flow {
    struct net_addr next_hop; /* the base media address of that instance: shard 0 */
    uint32_t instance_id;
    uint32_t session_id;
    uint16_t cluster_id;
};

/* "earshot:flow:1:udp:203.0.113.77|51870" and a NUL. */
MUST_USE bool flow_cache_write_key(const struct flow_cache_key *key, char out[FLOW_CACHE_KEY_CAP]);
/* "0001|5eed0001|00002a03|10.0.0.5|4000" and a NUL. */
MUST_USE bool flow_cache_write_value(const struct cached_flow *flow,
                                     char out[FLOW_CACHE_VALUE_BYTES_MAX + 1]);
/* Exactly what flow_cache_write_value writes, or false. */
MUST_USE bool flow_cache_read_value(struct bytes_view text, struct cached_flow *out);

#endif
