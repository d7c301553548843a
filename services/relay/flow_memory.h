/*
 * flow_memory.h - memory that outlives the process: every worker's flows, and the routes
 *
 * A memfd, which the supervisor keeps (relay_keep.h). It begins with a label: the layouts of what
 * lies in it, and the configuration that its flows were made under. Only memory with the very same
 * label is taken up; with other workers, addresses or limits the flows are learned anew.
 * Gives:   lines for each worker's flow table, and the notes of main's route table.
 * Owns:    the descriptor and the mapping. Neither can be cut short by whoever else holds the
 *          descriptor: its size is sealed.
 * Fails:   make with a fault; adopt says no, and the descriptor is closed.
 */
#ifndef EARSHOT_FLOW_MEMORY_H
#define EARSHOT_FLOW_MEMORY_H

#include "services/relay/relay_config.h"

struct flow_memory {
    int fd;         /* -1: there is none */
    uint8_t *bytes; /* label, notes of routes, lines of worker 0, 1, ... */
    size_t size_bytes;
    size_t lines_bytes; /* of one worker */
    bool is_used;       /* another process was here */
};

#define FLOW_MEMORY_NONE ((struct flow_memory){.fd = -1})

/* New and empty. */
MUST_USE bool flow_memory_make(struct flow_memory *m, const struct relay_config *config,
                               unsigned worker_count, struct fault *fault);
/* Takes fd. */
MUST_USE bool flow_memory_adopt(struct flow_memory *m, int fd, const struct relay_config *config,
                                unsigned worker_count);
/* Fine on one that there is not. */
void flow_memory_close(struct flow_memory *m);

/* NULL when there is no memory. */
void *flow_memory_lines(const struct flow_memory *m, unsigned worker);
/* What a worker's lines hold of the process before, out of pages that hold anything: the others are
 * not even read, which would make them pages. NULL when there is nothing, or no memory for it: then
 * the lines are all free nevertheless. Any thread, for a worker of its own. */
struct flow_remains *flow_memory_collect(const struct flow_memory *m, unsigned worker,
                                         const struct forwarder_config *config, uint64_t now_us);
struct route_notes *flow_memory_notes(const struct flow_memory *m);

#endif
