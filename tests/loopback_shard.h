/*
 * loopback_shard.h - one real shard on loopback, and what it needs around it: for tests of ports
 *
 * The relay and the backend are sockets of the test; the shard's thread is real, and so is its
 * clock. Nothing is awaited by sleeping: sockets tell, and counters are polled with an end. A test
 * keeps it static: when the test fails, its thread goes on.
 */
#ifndef EARSHOT_LOOPBACK_SHARD_H
#define EARSHOT_LOOPBACK_SHARD_H

#include "tests/testing.h"

#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "services/transceiver/port/event_loop.h"
#include "tests/far_end.h"
#include "tests/sdp_samples.h"

#include <stdio.h>

#define LOOPBACK_SHARD_INSTANCE 0x5eed0001
#define LOOPBACK_SHARD_CLUSTER  1

struct loopback_shard {
    struct transceiver_config config;
    struct event_loop_config loop_config;
    struct event_loop *loop;
    struct shard_inbox inbox[2]; /* of the shard, and of one that is not there */
    struct key_ring *ring;
    struct far_end backend;
    int relay; /* a UDP socket */
    metric_value beat;
};

static struct dtls_identity *loopback_shard_identity;
static struct voice_silences loopback_shard_silences;

/* Group set-up and tear-down. */
static inline int loopback_shard_begin(void **state)
{
    struct fault fault = {0};
    (void)state;
    log_open("test", LOG_ERROR, LOG_TEXT);
    loopback_shard_identity = dtls_identity_create(&fault);
    return loopback_shard_identity != NULL && srtp_transport_init(&fault) &&
                   voice_silences_make(&loopback_shard_silences)
               ? 0
               : -1;
}

static inline int loopback_shard_end(void **state)
{
    (void)state;
    dtls_identity_destroy(loopback_shard_identity);
    return 0;
}

static inline void loopback_shard_prepare(struct loopback_shard *w)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1};
    char address[NET_ADDR_TEXT_CAP];
    *w = (struct loopback_shard){.config = {.cluster_id = LOOPBACK_SHARD_CLUSTER,
                                            .name = "tester",
                                            .shard_count = 1,
                                            .udp_buffer_bytes = 65536,
                                            .session_count_max = 8,
                                            .call_duration_max_us = 3600 * US_PER_S,
                                            .setup_timeout_us = 30 * US_PER_S,
                                            .credit_us = 5 * US_PER_S}};
    for (size_t i = 0; i < COUNT_OF(w->inbox); i++) {
        struct fault fault;
        assert_true(shard_inbox_open(&w->inbox[i], &fault));
    }
    far_end_listen(&w->backend);
    const struct net_addr backend = far_end_address_of(w->backend.listener);
    (void)snprintf(w->config.backend, sizeof(w->config.backend), "%s",
                   net_addr_format(&backend, address, sizeof(address)));
    w->ring = key_ring_from_secret(7, secret);
    w->relay = far_end_bind(SOCK_DGRAM);
    w->loop_config = (struct event_loop_config){.config = &w->config,
                                                .inboxes = w->inbox,
                                                .media_address = far_end_free_address(SOCK_DGRAM),
                                                .instance_id = LOOPBACK_SHARD_INSTANCE,
                                                .key_ring = w->ring,
                                                .identity = loopback_shard_identity,
                                                .silences = &loopback_shard_silences,
                                                .beat = &w->beat};
}

static inline void loopback_shard_open(struct loopback_shard *w)
{
    struct fault fault = {0};
    loopback_shard_prepare(w);
    w->loop = event_loop_create(&w->loop_config, &fault);
    if (w->loop == NULL || !event_loop_start(w->loop, &fault)) {
        fail_msg("%s", fault.text);
    }
}

static inline void loopback_shard_close(struct loopback_shard *w)
{
    if (w->loop != NULL) {
        event_loop_stop(w->loop);
        event_loop_destroy(w->loop);
    }
    for (size_t i = 0; i < COUNT_OF(w->inbox); i++) {
        shard_inbox_close(&w->inbox[i]);
    }
    far_end_close(&w->backend);
    (void)close(w->relay);
    key_ring_destroy(w->ring);
}

/* A counter of the shard reaches a value, or more; the test fails when it never does. */
static inline void loopback_shard_wait_for(const metric_value *metric, uint64_t value)
{
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    while (metric_get(metric) < value) {
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 2);
    }
}

/* The backend is dialled and greets. */
static inline void loopback_shard_greet(struct loopback_shard *w)
{
    far_end_accept(&w->backend);
    assert_int_equal(far_end_hear(&w->backend), BACKEND_HELLO);
    far_end_say(&w->backend, BACKEND_HELLO, 0, 0, "{\"name\":\"far end\"}");
    loopback_shard_wait_for(&event_loop_backend(w->loop)->is_up, 1);
}

static inline struct control_request loopback_shard_create_request(const char *call_id)
{
    struct control_request request = {.request_id = {1}, .kind = CONTROL_CREATE_SESSION};
    struct control_create_session *create = &request.body.create_session;
    (void)snprintf(create->call_id, sizeof(create->call_id), "%s", call_id);
    create->offer_sdp = bytes_view_of_text(SESSION AUDIO);
    return request;
}

#endif
