/*
 * flow_remains.h - flows of a process before, between its lines and the next one's table
 *
 * The lines lie where the next table will: what is sound there is copied out, then the table takes
 * it up (flow_table_settle) under its own seed.
 * Takes:   lines that any process may have left, torn ones among them.
 * Gives:   sound flows, the longest idle first, exact to a millisecond.
 * Owns:    the copies: address space for a full table, memory for what was found.
 * Bounds:  reads the lines that it is given, and writes only those that hold something.
 */
#ifndef EARSHOT_FLOW_REMAINS_H
#define EARSHOT_FLOW_REMAINS_H

#include "services/relay/core/flow_table.h"

struct flow_remains;

/* Of a table of this flow_cap, whose flows use socket_count sockets. NULL without memory. */
struct flow_remains *flow_remains_create(size_t flow_cap, size_t socket_count, uint64_t now_us);
void flow_remains_destroy(struct flow_remains *r);

/* Copies each flow that is sound: a state, a client, times that have been, a life that is not over,
 * one of the sockets. All these lines are free afterwards. Of all calls together no more lines than
 * the table has. */
void flow_remains_collect(struct flow_remains *r, struct bytes_span lines);
/* After the last collect. */
void flow_remains_sort(struct flow_remains *r);

size_t flow_remains_count(const struct flow_remains *r);
/* After the sort; 0 is the longest idle. The caller may change it. */
struct flow *flow_remains_at(struct flow_remains *r, size_t i);

#endif
