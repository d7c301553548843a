/*
 * relay_world.h - the workers of a relay on loopback, and those they forward between
 *
 * The client and the transceiver are sockets of the test. Workers are open and do not run until the
 * test starts them: what is posted to them before can be taken by the test.
 */
#ifndef EARSHOT_RELAY_WORLD_H
#define EARSHOT_RELAY_WORLD_H

#include "tests/testing.h"

#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "services/relay/relay_worker.h"
#include "tests/far_end.h"

#define RELAY_WORLD_CLUSTER 1
#define RELAY_WORLD_KEY_ID  7
#define RELAY_WORLD_WORKERS 2

static const uint8_t relay_world_secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};

struct relay_world {
    struct relay_config config;
    struct relay_worker *worker[RELAY_WORLD_WORKERS];
    metric_value beat[RELAY_WORLD_WORKERS];
    struct key_ring *ring; /* the transceiver's */
    int client;
    int transceiver;
};

static inline struct relay_worker *relay_world_open_worker(struct relay_world *w, unsigned index,
                                                           struct fault *fault)
{
    const struct relay_worker_config config = {.relay = &w->config,
                                               .index = index,
                                               .worker_count = RELAY_WORLD_WORKERS,
                                               .cpu = -1,
                                               .beat = &w->beat[index]};
    return relay_worker_open(&config, key_ring_from_secret(RELAY_WORLD_KEY_ID, relay_world_secret),
                             fault);
}

static inline bool relay_world_open_workers(struct relay_world *w)
{
    struct forwarder_config *f = &w->config.forwarder;
    struct fault fault = {0};
    f->listen[0] = far_end_free_address(SOCK_DGRAM);
    f->internal = far_end_free_address(SOCK_DGRAM);
    if (f->internal.port > UINT16_MAX - FORWARDER_INTERNAL_PORTS) {
        return false;
    }
    for (unsigned i = 0; i < RELAY_WORLD_WORKERS; i++) {
        w->worker[i] = relay_world_open_worker(w, i, &fault);
    }
    return w->worker[0] != NULL && w->worker[1] != NULL;
}

static inline void relay_world_close_workers(struct relay_world *w)
{
    for (unsigned i = 0; i < RELAY_WORLD_WORKERS; i++) {
        relay_worker_close(w->worker[i]);
        w->worker[i] = NULL;
    }
}

static inline void relay_world_open(struct relay_world *w)
{
    log_open("test", LOG_ERROR, LOG_TEXT);
    *w = (struct relay_world){.config = {.socket_buffer_bytes = 65536,
                                         .forwarder = {.cluster_id = RELAY_WORLD_CLUSTER,
                                                       .flow_cap = FLOW_CAP_MIN,
                                                       .source_flows_per_s = 200,
                                                       .source_flows_burst = 400,
                                                       .allow_private_clients = true,
                                                       .transceiver_networks = {.count = 1},
                                                       .listen_count = 1}}};
    assert_true(net_block_parse("127.0.0.0/8", &w->config.forwarder.transceiver_networks.block[0]));
    w->ring = key_ring_from_secret(RELAY_WORLD_KEY_ID, relay_world_secret);
    /* Somebody may have one of the 16 ports in a row: then others are tried. */
    unsigned tries = 0;
    while (!relay_world_open_workers(w)) {
        relay_world_close_workers(w);
        assert_true(++tries < 50);
    }
    w->client = far_end_bind(SOCK_DGRAM);
    w->transceiver = far_end_bind(SOCK_DGRAM);
}

static inline void relay_world_start(struct relay_world *w)
{
    struct fault fault = {0};
    for (unsigned i = 0; i < RELAY_WORLD_WORKERS; i++) {
        assert_true(relay_worker_start(w->worker[i], w->worker, RELAY_WORLD_WORKERS, &fault));
    }
}

static inline void relay_world_close(struct relay_world *w)
{
    relay_world_close_workers(w);
    (void)close(w->client);
    (void)close(w->transceiver);
    key_ring_destroy(w->ring);
}

/* A counter that another thread writes gets there; the test fails when it never does. */
static inline void relay_world_wait_for(const metric_value *metric, uint64_t value)
{
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    while (metric_get(metric) < value) {
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 2);
    }
}

#endif
