/* flow_settling.h - a flow table that settles where another one lay */
#ifndef EARSHOT_TESTS_FLOW_SETTLING_H
#define EARSHOT_TESTS_FLOW_SETTLING_H

#include "services/relay/core/flow_remains.h"

/* All lines of a table of this flow_cap, whatever they hold. */
static inline struct flow_remains *collect_lines(void *lines, size_t flow_cap, size_t socket_count,
                                                 uint64_t now_us)
{
    const size_t bytes = flow_table_bytes(flow_cap);
    struct flow_remains *remains = flow_remains_create(flow_cap, socket_count, now_us);
    flow_remains_collect(remains, (struct bytes_span){lines, bytes, bytes});
    flow_remains_sort(remains);
    return remains;
}

static inline size_t settle_again(struct flow_table *t, void *lines, size_t flow_cap,
                                  size_t socket_count, uint64_t now_us)
{
    struct flow_remains *remains = collect_lines(lines, flow_cap, socket_count, now_us);
    const size_t taken = flow_table_settle(t, lines, remains);
    flow_remains_destroy(remains);
    return taken;
}

#endif
