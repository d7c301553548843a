/* relay_metrics.c - see relay_metrics.h */
#include "services/relay/relay_metrics.h"

#include <stdio.h>

#define LABELS_CAP 96

static const char *const direction_name[RELAY_DIRECTION_COUNT] = {
    [RELAY_UP] = "up", [RELAY_DOWN] = "down"};
static const char *const state_name[FLOW_STATE_COUNT] = {
    [FLOW_HALF_OPEN] = "half_open", [FLOW_CONFIRMED] = "confirmed"};

uint64_t relay_metrics_sum(const struct relay_metrics *m, size_t offset)
{
    uint64_t total = 0;
    for (size_t i = 0; i < relay_metrics_thread_count(m); i++) {
        const uint8_t *counters = (const uint8_t *)relay_metrics_counters(m, i);
        total += metric_get((const metric_value *)(const void *)(counters + offset));
    }
    return total;
}

#define SUM(m, member) relay_metrics_sum((m), offsetof(struct relay_counters, member))

static uint64_t sum_trains(const struct relay_metrics *m, size_t offset)
{
    uint64_t total = 0;
    for (size_t i = 0; i < m->worker_count; i++) {
        const uint8_t *counters = (const uint8_t *)relay_worker_trains(m->worker[i]);
        total += metric_get((const metric_value *)(const void *)(counters + offset));
    }
    return total;
}

static void print_trains(const struct relay_metrics *m, struct metrics_text *t)
{
    static const struct {
        const char *name;
        const char *help;
        size_t offset;
    } row[] = {
        {"earshot_relay_trains_total", "Trains that left for transceivers (UDP_SEGMENT).",
         offsetof(struct udp_sender_counters, trains)},
        {"earshot_relay_train_datagrams_total", "Datagrams inside of trains.",
         offsetof(struct udp_sender_counters, train_datagrams)},
        {"earshot_relay_trains_refused_total", "Trains whose datagrams had to go again, singly.",
         offsetof(struct udp_sender_counters, refused_trains)},
        {"earshot_relay_trains_given_up_total",
         "Times that trains to a destination were given up for a while.",
         offsetof(struct udp_sender_counters, given_up)},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        metrics_family(t, row[i].name, METRIC_COUNTER, row[i].help);
        metrics_sample_u64(t, NULL, sum_trains(m, row[i].offset));
    }
    const uint64_t in_trains = sum_trains(m, offsetof(struct udp_sender_counters, mode));
    static_assert(UDP_SEND_SINGLY == 0 && UDP_SEND_TRAINS == 1, "the sum of modes is a count");
    metrics_family(t, "earshot_relay_senders", METRIC_GAUGE,
                   "Workers by how they send to transceivers.");
    metrics_sample_u64(t, "mode=\"trains\"", in_trains);
    metrics_sample_u64(t, "mode=\"singly\"", m->worker_count - in_trains);
}

static void print_datagrams(const struct relay_metrics *m, struct metrics_text *t)
{
    char labels[LABELS_CAP];
    metrics_family(t, "earshot_relay_datagrams_total", METRIC_COUNTER,
                   "Datagrams from clients (up) and transceivers (down), by what became of them.");
    for (unsigned i = 0; i < FORWARD_REASON_COUNT; i++) {
        const enum forward_reason reason = (enum forward_reason)i;
        (void)snprintf(labels, sizeof(labels), "direction=\"%s\",verdict=\"%s\"",
                       direction_name[forward_reason_is_down(reason) ? RELAY_DOWN : RELAY_UP],
                       forward_reason_name(reason));
        metrics_sample_u64(t, labels,
                           relay_metrics_sum(m, offsetof(struct relay_counters, datagrams) +
                                                    i * sizeof(metric_value)));
    }
}

/* One sample for each direction. */
static void print_by_direction(const struct relay_metrics *m, struct metrics_text *t, size_t offset)
{
    for (unsigned i = 0; i < RELAY_DIRECTION_COUNT; i++) {
        char labels[LABELS_CAP];
        (void)snprintf(labels, sizeof(labels), "direction=\"%s\"", direction_name[i]);
        metrics_sample_u64(t, labels, relay_metrics_sum(m, offset + i * sizeof(metric_value)));
    }
}

static void print_by_state(const struct relay_metrics *m, struct metrics_text *t, size_t offset)
{
    for (unsigned i = FLOW_HALF_OPEN; i <= FLOW_CONFIRMED; i++) {
        char labels[LABELS_CAP];
        (void)snprintf(labels, sizeof(labels), "state=\"%s\"", state_name[i]);
        metrics_sample_u64(t, labels, relay_metrics_sum(m, offset + i * sizeof(metric_value)));
    }
}

static void print_traffic(const struct relay_metrics *m, struct metrics_text *t)
{
    print_datagrams(m, t);
    metrics_family(t, "earshot_relay_bytes_total", METRIC_COUNTER,
                   "Bytes of the clients' datagrams that were forwarded.");
    print_by_direction(m, t, offsetof(struct relay_counters, bytes));
    metrics_family(
        t, "earshot_socket_dropped_messages_total", METRIC_COUNTER,
        "What found the socket's buffer full (SO_RXQ_OVFL): datagrams, or trains of them.");
    print_by_direction(m, t, offsetof(struct relay_counters, kernel_dropped));
    metrics_family(t, "earshot_relay_disputed_datagrams_total", METRIC_COUNTER,
                   "Copies of datagrams for other sessions that claim the same client.");
    metrics_sample_u64(t, NULL, SUM(m, disputed));
    metrics_family(t, "earshot_relay_disputed_unsent_total", METRIC_COUNTER,
                   "The same, left out: beyond a client's share, or refused by the socket.");
    metrics_sample_u64(t, NULL, SUM(m, disputed_unsent));
    metrics_family(t, "earshot_relay_flows", METRIC_GAUGE, "Flows in the workers' tables.");
    print_by_state(m, t, offsetof(struct relay_counters, flows));
    metrics_family(t, "earshot_relay_flows_evicted_total", METRIC_COUNTER,
                   "Flows that gave their place in a full table to another.");
    print_by_state(m, t, offsetof(struct relay_counters, flows_evicted));
}

/* Buckets of all threads as one histogram; they share their bounds. */
static void print_residence(const struct relay_metrics *m, struct metrics_text *t)
{
    metrics_family(t, "earshot_relay_residence_seconds", METRIC_HISTOGRAM,
                   "From the kernel's receive stamp until the batch was sent, sampled.");
    for (unsigned direction = 0; direction < RELAY_DIRECTION_COUNT; direction++) {
        const struct metric_histogram *first =
            &relay_worker_counters(m->worker[0])->residence[direction];
        struct metric_histogram total = {.bound_us = first->bound_us,
                                         .bound_count = first->bound_count};
        const size_t base = offsetof(struct relay_counters, residence) +
                            direction * sizeof(struct metric_histogram);
        for (size_t i = 0; i <= total.bound_count; i++) {
            metric_set(&total.bucket[i],
                       relay_metrics_sum(m, base + offsetof(struct metric_histogram, bucket) +
                                                i * sizeof(metric_value)));
        }
        metric_set(&total.sum_us,
                   relay_metrics_sum(m, base + offsetof(struct metric_histogram, sum_us)));
        char labels[LABELS_CAP];
        (void)snprintf(labels, sizeof(labels), "direction=\"%s\"", direction_name[direction]);
        metrics_histogram(t, labels, &total);
    }
}

static void print_loops(const struct relay_metrics *m, struct metrics_text *t)
{
    metrics_family(t, "earshot_loop_lag_seconds", METRIC_HISTOGRAM,
                   "Turns of a worker's loop: the longest that a datagram waits for it.");
    for (size_t i = 0; i < m->worker_count; i++) {
        char labels[LABELS_CAP];
        (void)snprintf(labels, sizeof(labels), "worker=\"worker%zu\"", i);
        metrics_histogram(t, labels, &relay_worker_counters(m->worker[i])->lag);
    }
    if (m->tcp != NULL) {
        metrics_histogram(t, "worker=\"tcp\"", &tcp_ingress_counters(m->tcp)->lag);
    }
}

static void print_tcp(const struct relay_metrics *m, struct metrics_text *t)
{
    if (m->tcp == NULL) {
        return;
    }
    const struct tcp_counters *counters = tcp_ingress_tcp_counters(m->tcp);
    metrics_family(
        t, "earshot_relay_tcp_connections", METRIC_GAUGE,
        "Connections of TCP clients; half-open: forwarded from, confirmed: sent to as well.");
    metrics_sample_u64(t, "state=\"new\"", metric_get(&counters->connections[TCP_PLACE_NEW]));
    metrics_sample_u64(t, "state=\"half_open\"",
                       metric_get(&counters->connections[TCP_PLACE_HALF_OPEN]));
    metrics_sample_u64(t, "state=\"confirmed\"",
                       metric_get(&counters->connections[TCP_PLACE_CONFIRMED]));
    metrics_family(t, "earshot_relay_tcp_connections_opened_total", METRIC_COUNTER,
                   "Connections of TCP clients, those that were refused among them.");
    metrics_sample_u64(t, NULL, metric_get(&counters->opened));
    metrics_family(t, "earshot_relay_tcp_connections_ended_total", METRIC_COUNTER,
                   "Connections of TCP clients that are over, by the reason.");
    for (unsigned i = TCP_END_NONE + 1; i < TCP_END_COUNT; i++) {
        char labels[LABELS_CAP];
        (void)snprintf(labels, sizeof(labels), "reason=\"%s\"", tcp_end_name((enum tcp_end)i));
        metrics_sample_u64(t, labels, metric_get(&counters->ended[i]));
    }
    metrics_family(t, "earshot_relay_tcp_paused_total", METRIC_COUNTER,
                   "Times that a TCP client sent too many frames and was not read for a while.");
    metrics_sample_u64(t, NULL, metric_get(&counters->paused));
    metrics_family(t, "earshot_relay_tcp_without_descriptors_total", METRIC_COUNTER,
                   "Times that a TCP client waited and there was no descriptor for it.");
    metrics_sample_u64(t, NULL, metric_get(&counters->without_descriptors));
}

static void print_control(const struct relay_metrics *m, struct metrics_text *t)
{
    char labels[LABELS_CAP];
    metrics_family(t, "earshot_relay_instances_known", METRIC_GAUGE,
                   "Transceivers that announced themselves in the last 60 s.");
    metrics_sample_u64(t, NULL, metric_get(&m->control.instances_known));
    metrics_family(t, "earshot_relay_announcements_total", METRIC_COUNTER,
                   "Announcements of transceivers, by what became of them.");
    for (unsigned i = 0; i < ROUTE_RESULT_COUNT; i++) {
        (void)snprintf(labels, sizeof(labels), "result=\"%s\"",
                       route_result_name((enum route_result)i));
        metrics_sample_u64(t, labels, metric_get(&m->control.announcements[i]));
    }
    metrics_sample_u64(t, "result=\"malformed\"", metric_get(&m->control.announcements_malformed));
    metrics_family(t, "earshot_relay_inbox_lost_total", METRIC_COUNTER,
                   "Messages to a worker whose inbox was full.");
    metrics_sample_u64(t, NULL, metric_get(&m->control.messages_lost) + SUM(m, lessons_lost));
}

static void print_keys(const struct relay_metrics *m, struct metrics_text *t)
{
    metrics_family(t, "earshot_key_ring_key_info", METRIC_GAUGE, "Keys that this process holds.");
    for (unsigned id = 0; id < KEY_RING_IDS; id++) {
        if ((metric_get(&m->control.key_ids) >> id & 1) == 0) {
            continue;
        }
        char labels[LABELS_CAP];
        (void)snprintf(labels, sizeof(labels), "ring=\"media\",key_id=\"%02u\",active=\"%s\"", id,
                       metric_get(&m->control.key_active_id) == id ? "true" : "false");
        metrics_sample_u64(t, labels, 1);
    }
    metrics_family(t, "earshot_key_ring_reloads_failed_total", METRIC_COUNTER,
                   "Times the key directory was read again and could not be used.");
    metrics_sample_u64(t, "ring=\"media\"", metric_get(&m->control.key_reloads_failed));
}

static void print(struct metrics_text *t, void *context)
{
    const struct relay_metrics *m = context;
    print_traffic(m, t);
    print_trains(m, t);
    print_residence(m, t);
    print_loops(m, t);
    print_tcp(m, t);
    print_control(m, t);
    print_keys(m, t);
}

void relay_metrics_register(struct relay_metrics *m)
{
    metrics_add_source(print, m);
}
