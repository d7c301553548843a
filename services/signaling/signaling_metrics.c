/* signaling_metrics.c - see signaling_metrics.h */
#include "services/signaling/signaling_metrics.h"

#include <stdio.h>

static void sample(struct metrics_text *t, const char *label, const char *name,
                   const metric_value *value)
{
    char labels[64];
    (void)snprintf(labels, sizeof(labels), "%s=\"%s\"", label, name);
    metrics_sample_u64(t, labels, metric_get(value));
}

static void print_calls(struct metrics_text *t, const struct calls_counts *calls)
{
    static const char *const hangup[CALLS_HANGUP_COUNT] = {
        [CALLS_ENDED] = "ended",
        [CALLS_NOT_FOUND] = "not_found",
        [CALLS_NO_ANSWER] = "no_answer",
    };
    metrics_family(t, "earshot_signaling_offers_total", METRIC_COUNTER,
                   "Offers by what became of them.");
    for (size_t i = 0; i < OFFER_OUTCOME_COUNT; i++) {
        sample(t, "outcome", offer_outcome_name((enum offer_outcome)i), &calls->offers_total[i]);
    }
    metrics_family(t, "earshot_signaling_hangups_total", METRIC_COUNTER,
                   "Hang-ups over HTTP by what became of them.");
    for (size_t i = 0; i < CALLS_HANGUP_COUNT; i++) {
        sample(t, "outcome", hangup[i], &calls->hangups_total[i]);
    }
    metrics_family(t, "earshot_signaling_patches_total", METRIC_COUNTER,
                   "PATCH requests by what became of them.");
    for (size_t i = 0; i < CALL_PATCH_OUTCOME_COUNT; i++) {
        sample(t, "outcome", call_patch_outcome_name((enum call_patch_outcome)i),
               &calls->patches_total[i]);
    }
    metrics_family(t, "earshot_signaling_orphans_total", METRIC_COUNTER,
                   "Sessions ended because their client had gone before the answer.");
    metrics_sample_u64(t, NULL, metric_get(&calls->orphans_total));
    metrics_family(t, "earshot_signaling_placement_seconds", METRIC_HISTOGRAM,
                   "From a whole offer to the answer of a transceiver.");
    metrics_histogram(t, NULL, &calls->placement);
}

static void print_plane(struct metrics_text *t, const struct control_plane_counts *plane)
{
    static const char *const news[FLEET_NEWS_COUNT] = {
        [FLEET_ADDED] = "added",       [FLEET_UPDATED] = "updated",
        [FLEET_STALE] = "stale",       [FLEET_FOREIGN] = "foreign",
        [FLEET_IMPOSTOR] = "impostor", [FLEET_IMPOSTOR_OUT] = "impostor_out",
        [FLEET_FULL] = "full",
    };
    metrics_family(t, "earshot_signaling_transceivers_known", METRIC_GAUGE,
                   "Transceivers by state; silent: not heard for two seconds.");
    for (size_t i = 0; i < CONTROL_PLANE_STATE_COUNT; i++) {
        sample(t, "state",
               i == CONTROL_PLANE_SILENT ? "silent" : control_state_name((enum control_state)i),
               &plane->transceivers[i]);
    }
    metrics_family(t, "earshot_signaling_announcements_total", METRIC_COUNTER,
                   "Announcements of transceivers by what they told.");
    for (size_t i = 0; i < FLEET_NEWS_COUNT; i++) {
        sample(t, "news", news[i], &plane->announcements_total[i]);
    }
    sample(t, "news", "malformed", &plane->malformed_total);
    metrics_family(t, "earshot_signaling_session_events_total", METRIC_COUNTER,
                   "News of calls that transceivers told.");
    metrics_sample_u64(t, NULL, metric_get(&plane->session_events_total));
    metrics_family(t, "earshot_signaling_transceivers_unreachable_total", METRIC_COUNTER,
                   "Transceivers whose control URL could not be used.");
    metrics_sample_u64(t, NULL, metric_get(&plane->unreachable_total));
}

static void print_http(struct metrics_text *t, const struct http_server_counts *http)
{
    metrics_family(t, "earshot_signaling_http_connections", METRIC_GAUGE, "HTTP connections.");
    metrics_sample_u64(t, NULL, metric_get(&http->connections));
    metrics_family(t, "earshot_signaling_http_connections_total", METRIC_COUNTER,
                   "HTTP connections by what became of them at first.");
    sample(t, "outcome", "accepted", &http->accepted_total);
    sample(t, "outcome", "refused_full", &http->refused_full_total);
    sample(t, "outcome", "refused_address", &http->refused_address_total);
    metrics_family(t, "earshot_signaling_http_timeouts_total", METRIC_COUNTER,
                   "HTTP connections closed because a request took too long.");
    metrics_sample_u64(t, NULL, metric_get(&http->timed_out_total));
    metrics_family(t, "earshot_signaling_http_requests_total", METRIC_COUNTER,
                   "HTTP requests by how they were framed.");
    sample(t, "framing", "whole", &http->requests_total);
    sample(t, "framing", "malformed", &http->malformed_total);
    metrics_family(t, "earshot_signaling_sockets", METRIC_GAUGE, "WebSockets that are open.");
    metrics_sample_u64(t, NULL, metric_get(&http->sockets));
    metrics_family(t, "earshot_signaling_sockets_total", METRIC_COUNTER,
                   "Requests for a WebSocket by what became of them.");
    sample(t, "outcome", "opened", &http->sockets_opened_total);
    sample(t, "outcome", "refused", &http->sockets_refused_total);
    metrics_family(t, "earshot_signaling_socket_messages_total", METRIC_COUNTER,
                   "Messages of WebSocket clients.");
    metrics_sample_u64(t, NULL, metric_get(&http->socket_messages_total));
}

static void print_tls(struct metrics_text *t, const struct http_tls_counts *tls,
                      const metric_value *reloads_failed)
{
    if (tls == NULL) {
        return;
    }
    metrics_family(t, "earshot_signaling_tls_handshakes_total", METRIC_COUNTER,
                   "TLS handshakes with clients by how they went.");
    sample(t, "outcome", "good", &tls->handshakes_total);
    sample(t, "outcome", "failed", &tls->failed_total);
    metrics_family(t, "earshot_signaling_tls_certificate_expiry_seconds", METRIC_GAUGE,
                   "Unix time at which the certificate in use expires.");
    metrics_sample_u64(t, NULL, metric_get(&tls->certificate_expiry_s));
    metrics_family(t, "earshot_signaling_tls_reloads_failed_total", METRIC_COUNTER,
                   "Times certificate and key were read again and could not be used.");
    metrics_sample_u64(t, NULL, metric_get(reloads_failed));
}

static void print_feed(struct metrics_text *t, const struct sideband_feed_counts *feed)
{
    metrics_family(t, "earshot_signaling_sidebands", METRIC_GAUGE, "Side-bands, now.");
    metrics_sample_u64(t, NULL, metric_get(&feed->sidebands));
}

static void print_access(struct metrics_text *t, const struct signaling_metrics *m)
{
    metrics_family(t, "earshot_signaling_auth_total", METRIC_COUNTER,
                   "Requests that need a key, by what became of it.");
    for (size_t i = 0; i < AUTH_VERDICT_COUNT; i++) {
        sample(t, "verdict", auth_verdict_name((enum auth_verdict)i), &m->access->checks_total[i]);
    }
    metrics_family(t, "earshot_signaling_limited_total", METRIC_COUNTER,
                   "Requests refused with 429, by the limit that they met.");
    for (size_t i = 0; i < ACCESS_LIMIT_COUNT; i++) {
        sample(t, "limit", access_limit_name((enum access_limit)i), &m->access->limited_total[i]);
    }
    metrics_family(t, "earshot_signaling_foreign_pages_total", METRIC_COUNTER,
                   "Pages of other origins that asked for the demo's client secret.");
    metrics_sample_u64(t, NULL, metric_get(&m->access->foreign_pages_total));
    metrics_family(t, "earshot_signaling_api_keys", METRIC_GAUGE, "API keys that are loaded.");
    metrics_sample_u64(t, NULL, metric_get(&m->access->api_keys));
    metrics_family(t, "earshot_signaling_api_keys_reloads_failed_total", METRIC_COUNTER,
                   "Times the file of API keys was read again and could not be used.");
    metrics_sample_u64(t, NULL, metric_get(&m->api_key_reloads_failed));
}

static void print_sidebands(struct metrics_text *t, const struct events_sideband_counts *counts)
{
    metrics_family(t, "earshot_signaling_sidebands_ended_total", METRIC_COUNTER,
                   "Side-bands by why they ended.");
    for (size_t i = 0; i < EVENTS_SIDEBAND_END_COUNT; i++) {
        sample(t, "reason", events_sideband_end_name((enum events_sideband_end)i),
               &counts->ends_total[i]);
    }
    metrics_family(t, "earshot_signaling_sideband_events_total", METRIC_COUNTER,
                   "Events of side-bands by where they went.");
    sample(t, "to", "client", &counts->events_to_clients_total);
    sample(t, "to", "call", &counts->events_from_clients_total);
    sample(t, "to", "nobody", &counts->events_refused_total);
}

static void print_keys(struct metrics_text *t, const struct calls_counts *calls)
{
    const uint64_t ids = metric_get(&calls->key_ids);
    const uint64_t active = metric_get(&calls->key_id_active);
    metrics_family(t, "earshot_key_ring_key_info", METRIC_GAUGE, "Keys that are loaded.");
    for (unsigned id = 0; id < KEY_RING_IDS; id++) {
        if ((ids >> id & 1) != 0) {
            char labels[80];
            (void)snprintf(labels, sizeof(labels),
                           "ring=\"signaling\",key_id=\"%02u\",active=\"%s\"", id,
                           id == active ? "true" : "false");
            metrics_sample_u64(t, labels, 1);
        }
    }
}

void signaling_metrics_print(struct metrics_text *t, void *context)
{
    const struct signaling_metrics *m = context;
    print_calls(t, m->calls);
    print_plane(t, m->plane);
    print_http(t, m->http);
    print_feed(t, m->feed);
    print_tls(t, m->tls, &m->tls_reloads_failed);
    print_access(t, m);
    print_sidebands(t, m->sidebands);
    print_keys(t, m->calls);
    metrics_family(t, "earshot_key_ring_reloads_failed_total", METRIC_COUNTER,
                   "Times the key directory was read again and could not be used.");
    metrics_sample_u64(t, "ring=\"signaling\"", metric_get(&m->key_reloads_failed));
    metrics_family(t, "earshot_loop_lag_seconds", METRIC_HISTOGRAM,
                   "How long a turn of the loop took: the longest that others wait for it.");
    metrics_histogram(t, "worker=\"http\"", &m->loop_lag);
}
