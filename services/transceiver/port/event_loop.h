/*
 * event_loop.h - one shard: a thread with its socket, its calls, its backend link
 *
 * The only place that moves data between sessions and sockets. Everything in it belongs to its
 * thread; the control thread reaches it through letters (shard_mailbox.h) and reads its counters.
 * Takes:   the shard's share of the configuration, and letters.
 * Gives:   counters for the announcement and for /metrics.
 * Fails:   create, with a fault; afterwards nothing: what a stranger or a backend does is counted.
 */
#ifndef EARSHOT_EVENT_LOOP_H
#define EARSHOT_EVENT_LOOP_H

#include "services/transceiver/port/backend_port.h"
#include "services/transceiver/port/shard_calls.h"
#include "services/transceiver/port/shard_uplink.h"

struct event_loop_counters {
    metric_value datagrams[CLIENT_LEG_RESULT_COUNT];
    metric_value load_permille;  /* CPU of the thread in the last second */
    struct metric_histogram lag; /* how late a timer was served */
};

struct event_loop_config {
    const struct transceiver_config *config;
    unsigned shard;
    const struct shard_inbox *inboxes; /* of all shards, borrowed */
    struct net_addr media_address;     /* of this shard, with its port */
    uint32_t instance_id;
    const struct key_ring *key_ring; /* copied */
    const struct dtls_identity *identity;
    const struct voice_silences *silences;
    metric_value *beat; /* liveness, see admin_http.h */
};

struct event_loop;

struct event_loop *event_loop_create(const struct event_loop_config *config, struct fault *fault);
/* After event_loop_stop, or without start. */
void event_loop_destroy(struct event_loop *loop);

MUST_USE bool event_loop_start(struct event_loop *loop, struct fault *fault);
/* Ends the calls cleanly, then the thread, and joins it. */
void event_loop_stop(struct event_loop *loop);

/* These three block until the shard has acted; one caller, the control thread. What *out borrows
 * is valid until the next call. */
void event_loop_call(struct event_loop *loop, const struct control_request *request,
                     struct control_reply *out);
void event_loop_set_key_ring(struct event_loop *loop, const struct key_ring *ring);
void event_loop_drain(struct event_loop *loop);

/* For the control thread: event_mail.h. */
struct event_mail *event_loop_mail(const struct event_loop *loop);
const struct event_loop_counters *event_loop_counters(const struct event_loop *loop);
const struct shard_uplink_counters *event_loop_uplink(const struct event_loop *loop);
const struct shard_counters *event_loop_calls(const struct event_loop *loop);
const struct udp_port_counters *event_loop_udp(const struct event_loop *loop);
const struct udp_sender_counters *event_loop_trains(const struct event_loop *loop);
const struct backend_port_counters *event_loop_backend(const struct event_loop *loop);

#endif
