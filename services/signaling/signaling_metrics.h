/*
 * signaling_metrics.h - what signaling shows on /metrics
 */
#ifndef EARSHOT_SIGNALING_METRICS_H
#define EARSHOT_SIGNALING_METRICS_H

#include "services/signaling/access_gate.h"
#include "services/signaling/calls_api.h"
#include "services/signaling/events_sideband.h"
#include "services/signaling/http_tls.h"
#include "services/signaling/sideband_feed.h"

struct signaling_metrics {
    const struct http_server_counts *http;
    const struct http_tls_counts *tls; /* NULL: in clear */
    const struct control_plane_counts *plane;
    const struct calls_counts *calls;
    const struct sideband_feed_counts *feed;
    const struct access_counts *access;
    const struct events_sideband_counts *sidebands;
    struct metric_histogram loop_lag; /* turns of the loop */
    metric_value key_reloads_failed;
    metric_value tls_reloads_failed;
    metric_value api_key_reloads_failed;
};

/* A metrics_source; context is a struct signaling_metrics. */
void signaling_metrics_print(struct metrics_text *t, void *context);

#endif
