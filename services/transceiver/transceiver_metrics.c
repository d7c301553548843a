/* transceiver_metrics.c - see transceiver_metrics.h */
#include "services/transceiver/transceiver_metrics.h"

#include <stdio.h>

#define LABEL_CAP 96

void transceiver_metrics_note_keys(struct transceiver_metrics *m, const struct key_ring *ring)
{
    uint64_t ids = 0;
    for (unsigned id = 0; id < KEY_RING_IDS; id++) {
        ids |= (uint64_t)key_ring_has(ring, (uint8_t)id) << id;
    }
    metric_set(&m->key_ids, ids);
    metric_set(&m->key_active, key_ring_active_id(ring));
}

/* Where a counter lives in a shard: one of its structs, and the place in it. */
enum owner { IN_CALLS, IN_LOOP, IN_UPLINK, IN_UDP, IN_TRAINS, IN_BACKEND };

static const void *owner_of(const struct event_loop *loop, enum owner owner)
{
    switch (owner) {
    case IN_CALLS:
        return event_loop_calls(loop);
    case IN_LOOP:
        return event_loop_counters(loop);
    case IN_UPLINK:
        return event_loop_uplink(loop);
    case IN_UDP:
        return event_loop_udp(loop);
    case IN_TRAINS:
        return event_loop_trains(loop);
    default:
        return event_loop_backend(loop);
    }
}

static uint64_t sum(const struct transceiver_metrics *m, enum owner owner, size_t offset)
{
    uint64_t total = 0;
    for (size_t i = 0; i < m->loop_count; i++) {
        const uint8_t *counters = owner_of(m->loops[i], owner);
        total += metric_get((const metric_value *)(const void *)(counters + offset));
    }
    return total;
}

/* Families that are one number each. */
static const struct {
    const char *name;
    enum metric_type type;
    const char *help;
    enum owner owner;
    size_t offset;
} single[] = {
    {"earshot_transceiver_sessions_active", METRIC_GAUGE, "Calls that are running or ending",
     IN_CALLS, offsetof(struct shard_counters, sessions_active)},
    {"earshot_transceiver_sessions_pending", METRIC_GAUGE, "Calls that are not connected yet",
     IN_CALLS, offsetof(struct shard_counters, sessions_pending)},
    {"earshot_transceiver_sessions_created_total", METRIC_COUNTER, "Offers that were answered",
     IN_CALLS, offsetof(struct shard_counters, sessions_created)},
    {"earshot_transceiver_ice_restarts_total", METRIC_COUNTER, "Restarts of ICE, each once",
     IN_CALLS, offsetof(struct shard_counters, ice_restarts)},
    {"earshot_transceiver_speech_underruns_total", METRIC_COUNTER,
     "Utterances that had their turn and too little to say, in calls that have ended", IN_CALLS,
     offsetof(struct shard_counters, speech_underruns)},
    {"earshot_transceiver_audio_packets_sent_total", METRIC_COUNTER,
     "RTP packets sent; calls add to it each 10 s and at their end", IN_CALLS,
     offsetof(struct shard_counters, packets_sent)},
    {"earshot_transceiver_audio_packets_lost_total", METRIC_COUNTER,
     "Of these, RTP packets that clients reported lost so far", IN_CALLS,
     offsetof(struct shard_counters, packets_lost)},
    {"earshot_transceiver_red_packets_sent_total", METRIC_COUNTER,
     "RTP packets sent with a copy of the one before, in calls that have ended", IN_CALLS,
     offsetof(struct shard_counters, red_packets_sent)},
    {"earshot_transceiver_packets_sent_again_total", METRIC_COUNTER,
     "RTP packets that clients asked for again, in calls that have ended", IN_CALLS,
     offsetof(struct shard_counters, packets_sent_again)},
    {"earshot_transceiver_opus_steps_down_total", METRIC_COUNTER,
     "Times that a busy shard lowered the complexity of its encoders", IN_CALLS,
     offsetof(struct shard_counters, opus_steps_down)},
    {"earshot_transceiver_slots_skipped_total", METRIC_COUNTER,
     "20 ms slots left out because the thread was late, in calls that have ended", IN_CALLS,
     offsetof(struct shard_counters, slots_skipped)},
    {"earshot_transceiver_outbox_dropped_total", METRIC_COUNTER,
     "Datagrams and frames lost to a full outbox", IN_CALLS,
     offsetof(struct shard_counters, outbox_dropped)},
    {"earshot_transceiver_datagrams_without_session_total", METRIC_COUNTER,
     "Datagrams of calls that are over", IN_UPLINK,
     offsetof(struct shard_uplink_counters, no_session)},
    {"earshot_transceiver_misdirected_datagrams_total", METRIC_COUNTER,
     "Datagrams that came to another shard than the one they name", IN_UPLINK,
     offsetof(struct shard_uplink_counters, misdirected)},
    {"earshot_transceiver_misdirected_datagrams_dropped_total", METRIC_COUNTER,
     "Of these, those that found the inbox of their shard full", IN_UPLINK,
     offsetof(struct shard_uplink_counters, misdirected_dropped)},
    {"earshot_transceiver_received_bytes_total", METRIC_COUNTER, "Bytes from relays, with shims",
     IN_UDP, offsetof(struct udp_port_counters, received_bytes)},
    {"earshot_transceiver_left_out_datagrams_total", METRIC_COUNTER,
     "Datagrams of trains that are longer than any of ours", IN_UDP,
     offsetof(struct udp_port_counters, left_out)},
    {"earshot_transceiver_sent_bytes_total", METRIC_COUNTER, "Bytes to relays, with shims", IN_UDP,
     offsetof(struct udp_port_counters, sent_bytes)},
    {"earshot_transceiver_sent_datagrams_total", METRIC_COUNTER, "Datagrams to relays", IN_UDP,
     offsetof(struct udp_port_counters, sent_datagrams)},
    {"earshot_transceiver_send_failures_total", METRIC_COUNTER,
     "Datagrams that the kernel did not take", IN_UDP,
     offsetof(struct udp_port_counters, send_failed)},
    {"earshot_transceiver_trains_total", METRIC_COUNTER,
     "Trains that left for relays (UDP_SEGMENT)", IN_TRAINS,
     offsetof(struct udp_sender_counters, trains)},
    {"earshot_transceiver_train_datagrams_total", METRIC_COUNTER, "Datagrams inside of trains",
     IN_TRAINS, offsetof(struct udp_sender_counters, train_datagrams)},
    {"earshot_transceiver_trains_refused_total", METRIC_COUNTER,
     "Trains whose datagrams had to go again, singly", IN_TRAINS,
     offsetof(struct udp_sender_counters, refused_trains)},
    {"earshot_transceiver_trains_given_up_total", METRIC_COUNTER,
     "Times that trains to a relay worker were given up for a while", IN_TRAINS,
     offsetof(struct udp_sender_counters, given_up)},
    {"earshot_socket_dropped_messages_total", METRIC_COUNTER,
     "What found the socket's buffer full (SO_RXQ_OVFL): datagrams, or trains of them", IN_UDP,
     offsetof(struct udp_port_counters, kernel_dropped)},
    {"earshot_transceiver_sidebands_total", METRIC_COUNTER, "Side-bands that listened to calls",
     IN_CALLS, offsetof(struct shard_counters, sidebands_attached)},
    {"earshot_transceiver_sideband_messages_total", METRIC_COUNTER, "Messages for side-bands",
     IN_CALLS, offsetof(struct shard_counters, post.sideband_messages)},
    {"earshot_transceiver_sideband_messages_lost_total", METRIC_COUNTER,
     "Messages for side-bands that found no room on their way", IN_CALLS,
     offsetof(struct shard_counters, post.sideband_messages_lost)},
    {"earshot_transceiver_sideband_events_total", METRIC_COUNTER,
     "Events of side-bands that went to backends", IN_CALLS,
     offsetof(struct shard_counters, events_injected)},
    {"earshot_transceiver_session_events_lost_total", METRIC_COUNTER,
     "News of calls that found no room on their way", IN_CALLS,
     offsetof(struct shard_counters, post.news_lost)},
    {"earshot_transceiver_backend_links", METRIC_GAUGE, "Shards with a backend", IN_BACKEND,
     offsetof(struct backend_port_counters, is_up)},
    {"earshot_transceiver_backend_losses_total", METRIC_COUNTER, "Backend links that broke",
     IN_BACKEND, offsetof(struct backend_port_counters, losses)},
    {"earshot_transceiver_backend_calls_lost_total", METRIC_COUNTER,
     "Running calls whose backend link broke", IN_CALLS,
     offsetof(struct shard_counters, backend_losses)},
    {"earshot_transceiver_backend_calls_resumed_total", METRIC_COUNTER,
     "Of those, calls that went on where they were", IN_CALLS,
     offsetof(struct shard_counters, backend_resumes)},
    {"earshot_transceiver_backend_calls_restarted_total", METRIC_COUNTER,
     "Of those, calls that began anew with a backend that did not know them", IN_CALLS,
     offsetof(struct shard_counters, backend_restarts)},
    {"earshot_transceiver_backend_messages_ignored_total", METRIC_COUNTER,
     "Events of backends for clients without an event channel, in calls that have ended", IN_CALLS,
     offsetof(struct shard_counters, messages_ignored)},
    {"earshot_transceiver_events_received_total", METRIC_COUNTER,
     "Events of clients that went to backends, in calls that have ended", IN_CALLS,
     offsetof(struct shard_counters, events_in)},
    {"earshot_transceiver_events_sent_total", METRIC_COUNTER,
     "Events that went to clients, in calls that have ended", IN_CALLS,
     offsetof(struct shard_counters, events_out)},
    {"earshot_transceiver_channels_opened_total", METRIC_COUNTER,
     "Data channels that opened, in calls that have ended", IN_CALLS,
     offsetof(struct shard_counters, channels_opened)},
    {"earshot_transceiver_channels_refused_total", METRIC_COUNTER,
     "Data channels that were refused, in calls that have ended", IN_CALLS,
     offsetof(struct shard_counters, channels_refused)},
    {"earshot_transceiver_backend_go_aways_total", METRIC_COUNTER,
     "Backends that said they go away", IN_BACKEND,
     offsetof(struct backend_port_counters, go_aways)},
    {"earshot_transceiver_backend_audio_dropped_total", METRIC_COUNTER,
     "Audio frames dropped because the backend did not read", IN_BACKEND,
     offsetof(struct backend_port_counters, stream.audio_dropped)},
    {"earshot_transceiver_backend_messages_dropped_total", METRIC_COUNTER,
     "Events and statistics dropped because the backend did not read", IN_BACKEND,
     offsetof(struct backend_port_counters, stream.messages_dropped)},
    {"earshot_transceiver_backend_errors_received_total", METRIC_COUNTER,
     "ERROR frames of backends", IN_BACKEND,
     offsetof(struct backend_port_counters, stream.errors_received)},
};

static const char *end_reason(size_t i)
{
    return session_end_reason_name((enum session_end_reason)i);
}

static const char *client_verdict(size_t i)
{
    return client_leg_result_name((enum client_leg_result)i);
}

static const char *shim_verdict(size_t i)
{
    return relay_leg_result_name((enum relay_leg_result)i);
}

static const char *voice_verdict(size_t i)
{
    return voice_uplink_result_name((enum voice_uplink_result)i);
}

/* A compound that ends where it should is good. */
static const char *rtcp_verdict(size_t i)
{
    return i == 0 ? "ok" : rtcp_packet_result_name((enum rtcp_packet_result)(RTCP_PACKET_END + i));
}

static const char *error_code(size_t i)
{
    return backend_stream_error_name((enum backend_stream_error)i);
}

static const char *speech_verdict(size_t i)
{
    return voice_downlink_result_name((enum voice_downlink_result)i);
}

static const char *message_direction(size_t i)
{
    return i == SHARD_MESSAGES_TO_CLIENT ? "to_client" : "to_backend";
}

/* Families of one label; its values are an enum, and the counters an array by it. */
static const struct {
    const char *name;
    const char *help;
    const char *label;
    const char *(*value_of)(size_t index);
    size_t count;
    enum owner owner;
    size_t offset;
} by_enum[] = {
    {"earshot_transceiver_sessions_ended_total", "Calls that ended, by reason", "reason",
     end_reason, SESSION_END_REASON_COUNT, IN_CALLS,
     offsetof(struct shard_counters, sessions_ended)},
    {"earshot_transceiver_datagrams_total", "Client datagrams, by what became of them", "verdict",
     client_verdict, CLIENT_LEG_RESULT_COUNT, IN_LOOP,
     offsetof(struct event_loop_counters, datagrams)},
    {"earshot_transceiver_shims_total", "Datagrams of relays, by what their shim was worth",
     "verdict", shim_verdict, RELAY_LEG_RESULT_COUNT, IN_UPLINK,
     offsetof(struct shard_uplink_counters, relay_leg)},
    {"earshot_transceiver_voice_packets_total",
     "RTP packets of clients, by what became of them, in calls that have ended", "verdict",
     voice_verdict, VOICE_UPLINK_RESULT_COUNT, IN_CALLS,
     offsetof(struct shard_counters, voice_packets)},
    {"earshot_transceiver_rtcp_compounds_total",
     "RTCP of clients, by what is wrong with it, in calls that have ended", "verdict", rtcp_verdict,
     RTCP_PACKET_RESULT_COUNT - RTCP_PACKET_END, IN_CALLS,
     offsetof(struct shard_counters, rtcp_compounds) + RTCP_PACKET_END * sizeof(metric_value)},
    {"earshot_transceiver_backend_errors_sent_total", "ERROR frames to backends, by code", "code",
     error_code, BACKEND_STREAM_ERRORS, IN_BACKEND,
     offsetof(struct backend_port_counters, stream.errors_sent)},
    {"earshot_transceiver_speech_frames_total",
     "Frames of backends, by what became of them, in calls that have ended", "verdict",
     speech_verdict, VOICE_DOWNLINK_RESULT_COUNT, IN_CALLS,
     offsetof(struct shard_counters, speech_frames)},
    {"earshot_transceiver_messages_dropped_total",
     "Messages of data channels that were dropped, in calls that have ended", "direction",
     message_direction, SHARD_MESSAGES_COUNT, IN_CALLS,
     offsetof(struct shard_counters, messages_dropped)},
};

static void print_labelled(struct metrics_text *t, const char *label, const char *value,
                           uint64_t number)
{
    char labels[LABEL_CAP];
    (void)snprintf(labels, sizeof(labels), "%s=\"%s\"", label, value);
    metrics_sample_u64(t, labels, number);
}

static void print_by_enum(struct metrics_text *t, const struct transceiver_metrics *m)
{
    for (size_t f = 0; f < COUNT_OF(by_enum); f++) {
        metrics_family(t, by_enum[f].name, METRIC_COUNTER, by_enum[f].help);
        for (size_t i = 0; i < by_enum[f].count; i++) {
            print_labelled(t, by_enum[f].label, by_enum[f].value_of(i),
                           sum(m, by_enum[f].owner, by_enum[f].offset + i * sizeof(metric_value)));
        }
    }
}

static void print_frames(struct metrics_text *t, const struct transceiver_metrics *m)
{
    metrics_family(t, "earshot_transceiver_audio_frames_total", METRIC_COUNTER,
                   "20 ms frames to backends, in calls that have ended");
    print_labelled(t, "outcome", "decoded",
                   sum(m, IN_CALLS, offsetof(struct shard_counters, audio_frames_decoded)));
    print_labelled(t, "outcome", "concealed",
                   sum(m, IN_CALLS, offsetof(struct shard_counters, audio_frames_concealed)));
}

static void print_histograms(struct metrics_text *t, const struct transceiver_metrics *m)
{
    char labels[LABEL_CAP];
    metrics_family(t, "earshot_transceiver_setup_seconds", METRIC_HISTOGRAM,
                   "From the offer to each stage of a call");
    for (size_t i = 0; i < m->loop_count; i++) {
        const struct shard_counters *calls = event_loop_calls(m->loops[i]);
        (void)snprintf(labels, sizeof(labels), "stage=\"ice\",shard=\"%zu\"", i);
        metrics_histogram(t, labels, &calls->setup_ice);
        (void)snprintf(labels, sizeof(labels), "stage=\"dtls\",shard=\"%zu\"", i);
        metrics_histogram(t, labels, &calls->setup_dtls);
        (void)snprintf(labels, sizeof(labels), "stage=\"first_audio\",shard=\"%zu\"", i);
        metrics_histogram(t, labels, &calls->setup_first_audio);
    }
    metrics_family(t, "earshot_transceiver_client_rtt_seconds", METRIC_HISTOGRAM,
                   "Round trip to the client, a sample each 10 s of a call in which it reported");
    for (size_t i = 0; i < m->loop_count; i++) {
        (void)snprintf(labels, sizeof(labels), "shard=\"%zu\"", i);
        metrics_histogram(t, labels, &event_loop_calls(m->loops[i])->client_rtt);
    }
    metrics_family(t, "earshot_transceiver_client_jitter_seconds", METRIC_HISTOGRAM,
                   "Jitter at the client, a sample each 10 s of a call in which it reported");
    for (size_t i = 0; i < m->loop_count; i++) {
        (void)snprintf(labels, sizeof(labels), "shard=\"%zu\"", i);
        metrics_histogram(t, labels, &event_loop_calls(m->loops[i])->client_jitter);
    }
    metrics_family(t, "earshot_loop_lag_seconds", METRIC_HISTOGRAM, "How late a timer was served");
    for (size_t i = 0; i < m->loop_count; i++) {
        (void)snprintf(labels, sizeof(labels), "worker=\"shard%zu\"", i);
        metrics_histogram(t, labels, &event_loop_counters(m->loops[i])->lag);
    }
    metrics_family(t, "earshot_transceiver_shard_load_ratio", METRIC_GAUGE,
                   "CPU of a shard's thread in the last second");
    for (size_t i = 0; i < m->loop_count; i++) {
        const uint64_t permille = metric_get(&event_loop_counters(m->loops[i])->load_permille);
        (void)snprintf(labels, sizeof(labels), "shard=\"%zu\"", i);
        metrics_sample(t, labels, (double)permille / 1000.0);
    }
    metrics_family(t, "earshot_transceiver_opus_complexity", METRIC_GAUGE,
                   "Complexity of a shard's Opus encoders: lower than configured under load");
    for (size_t i = 0; i < m->loop_count; i++) {
        (void)snprintf(labels, sizeof(labels), "shard=\"%zu\"", i);
        metrics_sample_u64(t, labels, metric_get(&event_loop_calls(m->loops[i])->opus_complexity));
    }
}

static void print_senders(struct metrics_text *t, const struct transceiver_metrics *m)
{
    const uint64_t in_trains = sum(m, IN_TRAINS, offsetof(struct udp_sender_counters, mode));
    static_assert(UDP_SEND_SINGLY == 0 && UDP_SEND_TRAINS == 1, "the sum of modes is a count");
    metrics_family(t, "earshot_transceiver_senders", METRIC_GAUGE,
                   "Shards by how they send to relays");
    metrics_sample_u64(t, "mode=\"trains\"", in_trains);
    metrics_sample_u64(t, "mode=\"singly\"", m->loop_count - in_trains);
}

static void print_keys(struct metrics_text *t, const struct transceiver_metrics *m)
{
    char labels[LABEL_CAP];
    metrics_family(t, "earshot_key_ring_key_info", METRIC_GAUGE, "Keys that this process has");
    for (unsigned id = 0; id < KEY_RING_IDS; id++) {
        if ((metric_get(&m->key_ids) >> id & 1) != 0) {
            (void)snprintf(labels, sizeof(labels), "ring=\"media\",key_id=\"%02u\",active=\"%s\"",
                           id, metric_get(&m->key_active) == id ? "true" : "false");
            metrics_sample_u64(t, labels, 1);
        }
    }
    metrics_family(t, "earshot_key_ring_reloads_failed_total", METRIC_COUNTER,
                   "Reloads that left the old ring in place");
    metrics_sample_u64(t, "ring=\"media\"", metric_get(&m->key_reloads_failed));
}

void transceiver_metrics_print(struct metrics_text *t, void *context)
{
    const struct transceiver_metrics *m = context;
    for (size_t i = 0; i < COUNT_OF(single); i++) {
        metrics_family(t, single[i].name, single[i].type, single[i].help);
        metrics_sample_u64(t, NULL, sum(m, single[i].owner, single[i].offset));
    }
    metrics_family(t, "earshot_transceiver_sessions_capacity", METRIC_GAUGE,
                   "Calls this process takes");
    metrics_sample_u64(t, NULL, m->capacity);
    metrics_family(t, "earshot_transceiver_draining", METRIC_GAUGE, "1 after SIGTERM");
    metrics_sample_u64(t, NULL, metric_get(&m->is_draining));
    print_by_enum(t, m);
    print_frames(t, m);
    print_senders(t, m);
    print_histograms(t, m);
    print_keys(t, m);
}
