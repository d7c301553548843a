/*
 * loopback_relay.h - the workers of a relay on loopback, and those they forward between
 *
 * The client and the transceiver are sockets of the test. Workers are open and do not run until the
 * test starts them: what is posted to them before can be taken by the test.
 */
#ifndef EARSHOT_LOOPBACK_RELAY_H
#define EARSHOT_LOOPBACK_RELAY_H

#include "tests/testing.h"

#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "services/relay/relay_worker.h"
#include "tests/far_end.h"

#define LOOPBACK_RELAY_CLUSTER 1
#define LOOPBACK_RELAY_KEY_ID  7
#define LOOPBACK_RELAY_WORKERS 2

static const uint8_t loopback_relay_secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};

struct loopback_relay {
    struct relay_config config;
    struct relay_keep keep; /* of no supervisor */
    struct relay_worker *worker[LOOPBACK_RELAY_WORKERS];
    metric_value beat[LOOPBACK_RELAY_WORKERS];
    struct flow_cache *cache; /* NULL = none */
    struct key_ring *ring;    /* the transceiver's */
    int client;
    int transceiver;
};

static inline struct relay_worker *loopback_relay_open_worker(struct loopback_relay *w,
                                                              unsigned index, struct fault *fault)
{
    const struct relay_worker_config config = {.relay = &w->config,
                                               .keep = &w->keep,
                                               .index = index,
                                               .worker_count = LOOPBACK_RELAY_WORKERS,
                                               .cpu = -1,
                                               .beat = &w->beat[index],
                                               .cache = w->cache};
    return relay_worker_open(
        &config, key_ring_from_secret(LOOPBACK_RELAY_KEY_ID, loopback_relay_secret), fault);
}

static inline bool loopback_relay_open_workers(struct loopback_relay *w)
{
    struct forwarder_config *f = &w->config.forwarder;
    struct fault fault = {0};
    f->listen[0] = far_end_free_address(SOCK_DGRAM);
    f->internal = far_end_free_address(SOCK_DGRAM);
    if (f->internal.port > UINT16_MAX - FORWARDER_INTERNAL_PORTS) {
        return false;
    }
    for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        w->worker[i] = loopback_relay_open_worker(w, i, &fault);
    }
    return w->worker[0] != NULL && w->worker[1] != NULL;
}

static inline void loopback_relay_close_workers(struct loopback_relay *w)
{
    for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        relay_worker_close(w->worker[i]);
        w->worker[i] = NULL;
    }
}

/* cache: NULL for none. */
static inline void loopback_relay_open_with(struct loopback_relay *w, struct flow_cache *cache,
                                            size_t flow_cap)
{
    log_open("test", LOG_ERROR, LOG_TEXT);
    *w = (struct loopback_relay){.cache = cache,
                                 .config = {.socket_buffer_bytes = 65536,
                                            .cache_budget = {20000, 20000},
                                            .forwarder = {.cluster_id = LOOPBACK_RELAY_CLUSTER,
                                                          .flow_cap = flow_cap,
                                                          .has_cache = cache != NULL,
                                                          .source_flows_per_s = 200,
                                                          .source_flows_burst = 400,
                                                          .allow_private_clients = true,
                                                          .transceiver_networks = {.count = 1},
                                                          .listen_count = 1}}};
    assert_true(net_block_parse("127.0.0.0/8", &w->config.forwarder.transceiver_networks.block[0]));
    relay_keep_open(&w->keep, &w->config);
    w->ring = key_ring_from_secret(LOOPBACK_RELAY_KEY_ID, loopback_relay_secret);
    /* Somebody may have one of the 16 ports in a row: then others are tried. */
    unsigned tries = 0;
    while (!loopback_relay_open_workers(w)) {
        loopback_relay_close_workers(w);
        assert_true(++tries < 50);
    }
    w->client = far_end_bind(SOCK_DGRAM);
    w->transceiver = far_end_bind(SOCK_DGRAM);
}

static inline void loopback_relay_open(struct loopback_relay *w)
{
    loopback_relay_open_with(w, NULL, FLOW_CAP_MIN);
}

static inline void loopback_relay_start(struct loopback_relay *w)
{
    struct fault fault = {0};
    for (unsigned i = 0; i < LOOPBACK_RELAY_WORKERS; i++) {
        assert_true(relay_worker_start(w->worker[i], w->worker, LOOPBACK_RELAY_WORKERS, &fault));
    }
}

static inline void loopback_relay_close(struct loopback_relay *w)
{
    loopback_relay_close_workers(w);
    relay_keep_close(&w->keep);
    (void)close(w->client);
    (void)close(w->transceiver);
    key_ring_destroy(w->ring);
}

/* A counter that another thread writes gets there; the test fails when it never does. */
static inline void loopback_relay_wait_for(const metric_value *metric, uint64_t value)
{
    const uint64_t until_us = clock_now_us() + FAR_END_PATIENCE_MS * US_PER_MS;
    while (metric_get(metric) < value) {
        assert_true(clock_now_us() < until_us);
        (void)poll(NULL, 0, 2);
    }
}

#endif
