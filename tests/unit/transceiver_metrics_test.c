/* transceiver_metrics_test.c - every counter of the shards is told once, summed, by its own name */
#include "tests/testing.h"

#include "services/transceiver/transceiver_metrics.h"
#include "tests/loopback_shard.h"
#include "tests/metrics_check.h"

#define SHARDS 2

/* The shards' threads do not run: the test writes in their stead. */
static struct loopback_shard world[SHARDS];
static struct event_loop *loop[SHARDS];
static struct transceiver_metrics metrics = {
    .loops = loop, .loop_count = SHARDS, .capacity = 77, .is_draining = 1, .key_reloads_failed = 3};
static char *text;

static void number(const metric_value *value, size_t count, uint64_t first)
{
    for (size_t i = 0; i < count; i++) {
        metric_set((metric_value *)&value[i], first + i);
    }
}

/* No two of a shard the same: a value in a wrong place is seen. */
static void number_shard(const struct event_loop *shard)
{
    const struct shard_counters *calls = event_loop_calls(shard);
    const struct event_loop_counters *counters = event_loop_counters(shard);
    number(&calls->sessions_active,
           offsetof(struct shard_counters, setup_ice) / sizeof(metric_value), 1000);
    number(counters->datagrams, offsetof(struct event_loop_counters, lag) / sizeof(metric_value),
           2000);
    number(event_loop_uplink(shard)->relay_leg,
           sizeof(struct shard_uplink_counters) / sizeof(metric_value), 5000);
    number(&event_loop_trains(shard)->trains,
           offsetof(struct udp_sender_counters, mode) / sizeof(metric_value), 6000);
    number(&event_loop_udp(shard)->received_datagrams,
           sizeof(struct udp_port_counters) / sizeof(metric_value), 3000);
    number(&event_loop_backend(shard)->is_up,
           sizeof(struct backend_port_counters) / sizeof(metric_value), 4000);
    metric_observe((struct metric_histogram *)&calls->setup_dtls, 1);
}

static int set_up(void **state)
{
    struct fault fault = {0};
    if (loopback_shard_begin(state) != 0) {
        return -1;
    }
    for (size_t i = 0; i < SHARDS; i++) {
        loopback_shard_prepare(&world[i]);
        loop[i] = event_loop_create(&world[i].loop_config, &fault);
        if (loop[i] == NULL) {
            return -1;
        }
        number_shard(loop[i]);
    }
    transceiver_metrics_note_keys(&metrics, world[0].ring);
    metrics_add_source(transceiver_metrics_print, &metrics);
    text = metrics_check_render();
    return 0;
}

static int tear_down(void **state)
{
    free(text);
    for (size_t i = 0; i < SHARDS; i++) {
        event_loop_destroy(loop[i]);
        loopback_shard_close(&world[i]);
    }
    return loopback_shard_end(state);
}

static void the_text_is_valid(void **state)
{
    (void)state;
    metrics_check_valid(text);
}

static void every_reason_and_verdict_has_its_sample(void **state)
{
    (void)state;
    const struct shard_counters *calls = event_loop_calls(loop[0]);
    const struct event_loop_counters *counters = event_loop_counters(loop[0]);
    for (size_t i = 0; i < SESSION_END_REASON_COUNT; i++) {
        metrics_check_label(text, "earshot_transceiver_sessions_ended_total", "reason",
                            session_end_reason_name((enum session_end_reason)i),
                            SHARDS * metric_get(&calls->sessions_ended[i]));
    }
    for (size_t i = 0; i < CLIENT_LEG_RESULT_COUNT; i++) {
        metrics_check_label(text, "earshot_transceiver_datagrams_total", "verdict",
                            client_leg_result_name((enum client_leg_result)i),
                            SHARDS * metric_get(&counters->datagrams[i]));
    }
    for (size_t i = 0; i < RELAY_LEG_RESULT_COUNT; i++) {
        metrics_check_label(text, "earshot_transceiver_shims_total", "verdict",
                            relay_leg_result_name((enum relay_leg_result)i),
                            SHARDS * metric_get(&event_loop_uplink(loop[0])->relay_leg[i]));
    }
    for (size_t i = 0; i < VOICE_UPLINK_RESULT_COUNT; i++) {
        metrics_check_label(text, "earshot_transceiver_voice_packets_total", "verdict",
                            voice_uplink_result_name((enum voice_uplink_result)i),
                            SHARDS * metric_get(&calls->voice_packets[i]));
    }
    const struct backend_stream_counters *stream = &event_loop_backend(loop[0])->stream;
    for (size_t i = 0; i < BACKEND_STREAM_ERRORS; i++) {
        metrics_check_label(text, "earshot_transceiver_backend_errors_sent_total", "code",
                            backend_stream_error_name((enum backend_stream_error)i),
                            SHARDS * metric_get(&stream->errors_sent[i]));
    }
    for (size_t i = 0; i < VOICE_DOWNLINK_RESULT_COUNT; i++) {
        metrics_check_label(text, "earshot_transceiver_speech_frames_total", "verdict",
                            voice_downlink_result_name((enum voice_downlink_result)i),
                            SHARDS * metric_get(&calls->speech_frames[i]));
    }
}

static void shards_are_counted_by_how_they_send(void **state)
{
    (void)state;
    metric_value *mode = (metric_value *)&event_loop_trains(loop[0])->mode;
    for (uint64_t i = UDP_SEND_SINGLY; i <= UDP_SEND_TRAINS; i++) {
        const uint64_t before = metric_get(mode);
        const uint64_t others = metric_get(&event_loop_trains(loop[1])->mode) * (SHARDS - 1);
        metric_set(mode, i);
        char *again = metrics_check_render();
        metrics_check_sample(again, "earshot_transceiver_senders{mode=\"trains\"}", others + i);
        metrics_check_sample(again, "earshot_transceiver_senders{mode=\"singly\"}",
                             SHARDS - others - i);
        free(again);
        metric_set(mode, before);
    }
}

#define OURS(name) "earshot_transceiver_" name

static void every_other_counter_is_the_sum_of_the_shards(void **state)
{
    (void)state;
    const struct shard_counters *calls = event_loop_calls(loop[0]);
    const struct udp_port_counters *udp = event_loop_udp(loop[0]);
    const struct udp_sender_counters *trains = event_loop_trains(loop[0]);
    const struct backend_port_counters *backend = event_loop_backend(loop[0]);
    const struct {
        const char *series;
        const metric_value *value;
    } row[] = {
        {OURS("sessions_active"), &calls->sessions_active},
        {OURS("sessions_pending"), &calls->sessions_pending},
        {OURS("sessions_created_total"), &calls->sessions_created},
        {OURS("ice_restarts_total"), &calls->ice_restarts},
        {OURS("speech_underruns_total"), &calls->speech_underruns},
        {OURS("audio_packets_sent_total"), &calls->packets_sent},
        {OURS("slots_skipped_total"), &calls->slots_skipped},
        {OURS("audio_packets_lost_total"), &calls->packets_lost},
        {OURS("red_packets_sent_total"), &calls->red_packets_sent},
        {OURS("packets_sent_again_total"), &calls->packets_sent_again},
        {OURS("opus_steps_down_total"), &calls->opus_steps_down},
        {OURS("rtcp_compounds_total{verdict=\"ok\"}"), &calls->rtcp_compounds[RTCP_PACKET_END]},
        {OURS("rtcp_compounds_total{verdict=\"truncated\"}"),
         &calls->rtcp_compounds[RTCP_PACKET_TRUNCATED]},
        {OURS("rtcp_compounds_total{verdict=\"count\"}"),
         &calls->rtcp_compounds[RTCP_PACKET_COUNT]},
        {OURS("outbox_dropped_total"), &calls->outbox_dropped},
        {OURS("audio_frames_total{outcome=\"decoded\"}"), &calls->audio_frames_decoded},
        {OURS("audio_frames_total{outcome=\"concealed\"}"), &calls->audio_frames_concealed},
        {OURS("datagrams_without_session_total"), &event_loop_uplink(loop[0])->no_session},
        {OURS("misdirected_datagrams_total"), &event_loop_uplink(loop[0])->misdirected},
        {OURS("misdirected_datagrams_dropped_total"),
         &event_loop_uplink(loop[0])->misdirected_dropped},
        {OURS("received_bytes_total"), &udp->received_bytes},
        {OURS("left_out_datagrams_total"), &udp->left_out},
        {OURS("sent_bytes_total"), &udp->sent_bytes},
        {OURS("sent_datagrams_total"), &udp->sent_datagrams},
        {OURS("send_failures_total"), &udp->send_failed},
        {OURS("trains_total"), &trains->trains},
        {OURS("train_datagrams_total"), &trains->train_datagrams},
        {OURS("trains_refused_total"), &trains->refused_trains},
        {OURS("trains_given_up_total"), &trains->given_up},
        {"earshot_socket_dropped_messages_total", &udp->kernel_dropped},
        {OURS("backend_links"), &backend->is_up},
        {OURS("backend_losses_total"), &backend->losses},
        {OURS("backend_calls_lost_total"), &calls->backend_losses},
        {OURS("backend_calls_resumed_total"), &calls->backend_resumes},
        {OURS("backend_calls_restarted_total"), &calls->backend_restarts},
        {OURS("backend_messages_ignored_total"), &calls->messages_ignored},
        {OURS("events_received_total"), &calls->events_in},
        {OURS("events_sent_total"), &calls->events_out},
        {OURS("channels_opened_total"), &calls->channels_opened},
        {OURS("channels_refused_total"), &calls->channels_refused},
        {OURS("messages_dropped_total{direction=\"to_client\"}"),
         &calls->messages_dropped[SHARD_MESSAGES_TO_CLIENT]},
        {OURS("messages_dropped_total{direction=\"to_backend\"}"),
         &calls->messages_dropped[SHARD_MESSAGES_TO_BACKEND]},
        {OURS("backend_go_aways_total"), &backend->go_aways},
        {OURS("backend_audio_dropped_total"), &backend->stream.audio_dropped},
        {OURS("backend_messages_dropped_total"), &backend->stream.messages_dropped},
        {OURS("backend_errors_received_total"), &backend->stream.errors_received},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        metrics_check_sample(text, row[i].series, SHARDS * metric_get(row[i].value));
    }
    metrics_check_sample(text, OURS("sessions_capacity"), 77);
    metrics_check_sample(text, OURS("draining"), 1);
}

static void every_stage_of_a_set_up_has_a_histogram_for_each_shard(void **state)
{
    (void)state;
    static const char *const stage[] = {"ice", "dtls", "first_audio"};
    for (size_t i = 0; i < COUNT_OF(stage) * SHARDS; i++) {
        char series[METRICS_CHECK_NAME_CAP];
        const char *name = stage[i / SHARDS];
        (void)snprintf(series, sizeof(series),
                       OURS("setup_seconds_count{stage=\"%s\",shard=\"%zu\"}"), name, i % SHARDS);
        metrics_check_sample(text, series, strcmp(name, "dtls") == 0 ? 1 : 0);
    }
}

static void the_keys_of_the_ring_are_told_and_no_others(void **state)
{
    (void)state;
    metrics_check_sample(text, "earshot_key_ring_reloads_failed_total{ring=\"media\"}", 3);
    assert_int_equal(metrics_check_lines(text, "earshot_key_ring_key_info{"), 1);
    metrics_check_sample(
        text, "earshot_key_ring_key_info{ring=\"media\",key_id=\"07\",active=\"true\"}", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_valid),
        cmocka_unit_test(every_reason_and_verdict_has_its_sample),
        cmocka_unit_test(every_other_counter_is_the_sum_of_the_shards),
        cmocka_unit_test(shards_are_counted_by_how_they_send),
        cmocka_unit_test(every_stage_of_a_set_up_has_a_histogram_for_each_shard),
        cmocka_unit_test(the_keys_of_the_ring_are_told_and_no_others),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
