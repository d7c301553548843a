/* signaling_metrics_test.c - every counter of signaling is told once, under its own name */
#include "tests/testing.h"

#include "services/signaling/signaling_metrics.h"
#include "tests/metrics_check.h"

#define ANNOUNCEMENTS "earshot_signaling_announcements_total"

static const uint32_t bound_us[] = {1000, 1000000};
static struct http_server_counts http;
static struct control_plane_counts plane;
static struct calls_counts calls = {.placement = {.bound_us = bound_us, .bound_count = 2}};
static struct http_tls_counts tls;
static struct events_sideband_counts sidebands;
static struct access_counts access_counts;
static struct sideband_feed_counts feed;
static struct signaling_metrics metrics = {.http = &http,
                                           .tls = &tls,
                                           .plane = &plane,
                                           .access = &access_counts,
                                           .sidebands = &sidebands,
                                           .calls = &calls,
                                           .feed = &feed,
                                           .loop_lag = {.bound_us = bound_us, .bound_count = 2}};

static void number(metric_value *value, size_t count, uint64_t first)
{
    for (size_t i = 0; i < count; i++) {
        metric_set(&value[i], first + i);
    }
}

/* No two of them the same: a value in a wrong place is seen. */
static int set_up(void **state)
{
    (void)state;
    number(&http.connections, sizeof(http) / sizeof(metric_value), 1000);
    number(plane.announcements_total, sizeof(plane) / sizeof(metric_value), 2000);
    number(calls.offers_total, OFFER_OUTCOME_COUNT, 3000);
    number(calls.hangups_total, CALLS_HANGUP_COUNT, 4000);
    number(access_counts.checks_total, sizeof(access_counts) / sizeof(metric_value), 6000);
    metric_set(&feed.sidebands, 7000);
    metric_set(&metrics.api_key_reloads_failed, 5002);
    metric_set(&calls.orphans_total, 5000);
    metric_set(&metrics.key_reloads_failed, 5001);
    metric_set(&metrics.tls_reloads_failed, 5003);
    number(sidebands.ends_total, sizeof(sidebands) / sizeof(metric_value), 8000);
    number(&tls.handshakes_total, sizeof(tls) / sizeof(metric_value), 7000);
    metric_set(&calls.key_ids, UINT64_C(1) << 63 | 1);
    metric_set(&calls.key_id_active, 63);
    metric_observe(&calls.placement, 1000);
    metric_observe(&metrics.loop_lag, 1001);
    metrics_add_source(signaling_metrics_print, &metrics);
    return 0;
}

static void the_text_is_valid(void **state)
{
    (void)state;
    char *text = metrics_check_render();
    metrics_check_valid(text);
    free(text);
}

static void sockets_and_tls_are_told(void **state)
{
    (void)state;
    char *text = metrics_check_render();
    metrics_check_label(text, "earshot_signaling_sockets_total", "outcome", "opened",
                        metric_get(&http.sockets_opened_total));
    metrics_check_label(text, "earshot_signaling_sockets_total", "outcome", "refused",
                        metric_get(&http.sockets_refused_total));
    metrics_check_label(text, "earshot_signaling_tls_handshakes_total", "outcome", "good", 7000);
    metrics_check_label(text, "earshot_signaling_tls_handshakes_total", "outcome", "failed", 7001);
    for (size_t i = 0; i < EVENTS_SIDEBAND_END_COUNT; i++) {
        metrics_check_label(text, "earshot_signaling_sidebands_ended_total", "reason",
                            events_sideband_end_name((enum events_sideband_end)i), 8000 + i);
    }
    metrics_check_label(text, "earshot_signaling_sideband_events_total", "to", "nobody",
                        metric_get(&sidebands.events_refused_total));
    metrics_check_sample(text, "earshot_signaling_tls_certificate_expiry_seconds", 7002);
    metrics_check_sample(text, "earshot_signaling_tls_reloads_failed_total", 5003);
    free(text);
}

static void every_outcome_of_a_request_has_its_sample(void **state)
{
    (void)state;
    static const char *const hangup[] = {"ended", "not_found", "no_answer"};
    static_assert(COUNT_OF(hangup) == CALLS_HANGUP_COUNT, "each has a row");
    char *text = metrics_check_render();
    for (size_t i = 0; i < OFFER_OUTCOME_COUNT; i++) {
        metrics_check_label(text, "earshot_signaling_offers_total", "outcome",
                            offer_outcome_name((enum offer_outcome)i), 3000 + i);
    }
    for (size_t i = 0; i < CALLS_HANGUP_COUNT; i++) {
        metrics_check_label(text, "earshot_signaling_hangups_total", "outcome", hangup[i],
                            4000 + i);
    }
    free(text);
}

static void every_verdict_and_limit_has_its_sample(void **state)
{
    (void)state;
    char *text = metrics_check_render();
    for (size_t i = 0; i < AUTH_VERDICT_COUNT; i++) {
        metrics_check_label(text, "earshot_signaling_auth_total", "verdict",
                            auth_verdict_name((enum auth_verdict)i), 6000 + i);
    }
    for (size_t i = 0; i < ACCESS_LIMIT_COUNT; i++) {
        metrics_check_label(text, "earshot_signaling_limited_total", "limit",
                            access_limit_name((enum access_limit)i),
                            metric_get(&access_counts.limited_total[i]));
    }
    assert_non_null(strstr(text, "\nearshot_signaling_api_keys_reloads_failed_total 5002\n"));
    free(text);
}

static void every_state_and_news_of_a_transceiver_has_its_sample(void **state)
{
    (void)state;
    static const char *const news[] = {"added",    "updated",      "stale", "foreign",
                                       "impostor", "impostor_out", "full"};
    static_assert(COUNT_OF(news) == FLEET_NEWS_COUNT, "each has a row");
    char *text = metrics_check_render();
    for (size_t i = 0; i < FLEET_NEWS_COUNT; i++) {
        metrics_check_label(text, ANNOUNCEMENTS, "news", news[i],
                            metric_get(&plane.announcements_total[i]));
    }
    metrics_check_label(text, ANNOUNCEMENTS, "news", "malformed",
                        metric_get(&plane.malformed_total));
    for (size_t i = 0; i < CONTROL_PLANE_SILENT; i++) {
        metrics_check_label(text, "earshot_signaling_transceivers_known", "state",
                            control_state_name((enum control_state)i),
                            metric_get(&plane.transceivers[i]));
    }
    metrics_check_label(text, "earshot_signaling_transceivers_known", "state", "silent",
                        metric_get(&plane.transceivers[CONTROL_PLANE_SILENT]));
    free(text);
}

static void every_other_counter_has_its_sample(void **state)
{
    (void)state;
    static const struct {
        const char *series;
        const metric_value *value;
    } row[] = {
        {"earshot_signaling_orphans_total", &calls.orphans_total},
        {"earshot_signaling_transceivers_unreachable_total", &plane.unreachable_total},
        {"earshot_signaling_session_events_total", &plane.session_events_total},
        {"earshot_signaling_sidebands", &feed.sidebands},
        {"earshot_signaling_http_connections", &http.connections},
        {"earshot_signaling_http_connections_total{outcome=\"accepted\"}", &http.accepted_total},
        {"earshot_signaling_http_connections_total{outcome=\"refused_full\"}",
         &http.refused_full_total},
        {"earshot_signaling_http_connections_total{outcome=\"refused_address\"}",
         &http.refused_address_total},
        {"earshot_signaling_http_timeouts_total", &http.timed_out_total},
        {"earshot_signaling_http_requests_total{framing=\"whole\"}", &http.requests_total},
        {"earshot_signaling_http_requests_total{framing=\"malformed\"}", &http.malformed_total},
        {"earshot_key_ring_reloads_failed_total{ring=\"signaling\"}", &metrics.key_reloads_failed},
    };
    char *text = metrics_check_render();
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        metrics_check_sample(text, row[i].series, metric_get(row[i].value));
    }
    metrics_check_sample(text, "earshot_signaling_placement_seconds_bucket{le=\"0.001\"}", 1);
    metrics_check_sample(text, "earshot_loop_lag_seconds_bucket{worker=\"http\",le=\"0.001\"}", 0);
    free(text);
}

static void only_keys_that_are_held_are_told_and_one_is_active(void **state)
{
    (void)state;
    char *text = metrics_check_render();
    assert_int_equal(metrics_check_lines(text, "earshot_key_ring_key_info{"), 2);
    metrics_check_sample(
        text, "earshot_key_ring_key_info{ring=\"signaling\",key_id=\"00\",active=\"false\"}", 1);
    metrics_check_sample(
        text, "earshot_key_ring_key_info{ring=\"signaling\",key_id=\"63\",active=\"true\"}", 1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_valid),
        cmocka_unit_test(sockets_and_tls_are_told),
        cmocka_unit_test(every_outcome_of_a_request_has_its_sample),
        cmocka_unit_test(every_verdict_and_limit_has_its_sample),
        cmocka_unit_test(every_state_and_news_of_a_transceiver_has_its_sample),
        cmocka_unit_test(every_other_counter_has_its_sample),
        cmocka_unit_test(only_keys_that_are_held_are_told_and_one_is_active),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
