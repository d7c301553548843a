/* stub_metrics.h - the stub's counters as Prometheus text */
#ifndef EARSHOT_STUB_METRICS_H
#define EARSHOT_STUB_METRICS_H

#include "services/inference-stub/stub_counters.h"

/* A metrics_source; context: struct stub_counters. */
void stub_metrics_print(struct metrics_text *t, void *context);
const char *stub_metrics_close_reason(enum stub_close_reason reason);

#endif
