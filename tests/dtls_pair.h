/*
 * dtls_pair.h - two of our DTLS ends over a bad network, in virtual time
 *
 * End 0 is active, end 1 passive. Every tick at a deadline must make progress.
 */
#ifndef EARSHOT_DTLS_PAIR_H
#define EARSHOT_DTLS_PAIR_H

#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_transport.h"
#include "tests/support/sim_link.h"
#include "tests/virtual_time.h"

#include <stdio.h>
#include <stdlib.h>

#define PACKETS_MAX    64
#define PACKET_CAP     1500
#define ALERT_INTERNAL 80

static struct dtls_identity *identity[2];

/* One end, and all that came out of it. */
struct end {
    struct dtls_transport *dtls;
    unsigned connected;
    unsigned failed;
    unsigned closed;
    uint64_t connected_us;
    uint64_t ended_us;
    struct dtls_event connected_event;
    struct dtls_event last_event;
    unsigned datagrams_sent;
    size_t longest_datagram;
    uint64_t sent_at_us[PACKETS_MAX];
    unsigned packets_received;
    uint8_t packet[PACKETS_MAX]; /* their first bytes */
    size_t packet_len[PACKETS_MAX];
    enum dtls_input_result last_input;
};

/* End 0 is active, end 1 passive. */
struct pair {
    struct end end[2];
    struct sim_link link;
    uint64_t now_us;
};

static inline void fingerprint_of(const struct dtls_identity *whose, struct dtls_fingerprint *out)
{
    *out = (struct dtls_fingerprint){.hash = DTLS_HASH_SHA256};
    memcpy(out->digest, dtls_identity_fingerprint(whose), DTLS_IDENTITY_FINGERPRINT_BYTES);
}

static inline struct dtls_transport_config config_of(int which)
{
    struct dtls_transport_config config = {
        .identity = identity[which],
        .role = which == 0 ? DTLS_ROLE_ACTIVE : DTLS_ROLE_PASSIVE,
        .fingerprint_count = 1,
        .mtu_bytes = DTLS_MTU_BYTES,
    };
    fingerprint_of(identity[1 - which], &config.fingerprint[0]);
    return config;
}

static inline struct pair *pair_make(uint64_t seed)
{
    struct pair *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    p->now_us = 10 * US_PER_S;
    virtual_time_us = p->now_us;
    const struct sim_link_config link = {.seed = seed, .delay_us = 25 * US_PER_MS};
    sim_link_init(&p->link, &link);
    for (int i = 0; i < 2; i++) {
        const struct dtls_transport_config config = config_of(i);
        p->end[i].dtls = dtls_transport_create(&config);
        assert_non_null(p->end[i].dtls);
    }
    return p;
}

static inline void pair_free(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        dtls_transport_destroy(p->end[i].dtls);
    }
    free(p);
}

static inline void drain(struct pair *p, int which)
{
    struct end *e = &p->end[which];
    struct bytes_view out;
    struct dtls_event event;
    while (dtls_transport_poll_datagram(e->dtls, &out)) {
        if (e->datagrams_sent < PACKETS_MAX) {
            e->sent_at_us[e->datagrams_sent] = p->now_us;
        }
        e->datagrams_sent++;
        e->longest_datagram = out.len > e->longest_datagram ? out.len : e->longest_datagram;
        sim_link_send(&p->link, 1 - which, out, p->now_us);
    }
    while (dtls_transport_poll_data(e->dtls, &out)) {
        assert_true(e->packets_received < PACKETS_MAX);
        e->packet[e->packets_received] = out.data[0];
        e->packet_len[e->packets_received] = out.len;
        e->packets_received++;
    }
    while (dtls_transport_poll_event(e->dtls, &event)) {
        if (event.kind == DTLS_EVENT_CONNECTED) {
            assert_int_equal(e->failed + e->closed, 0);
            e->connected++;
            e->connected_us = p->now_us;
            e->connected_event = event;
        } else {
            e->failed += event.kind == DTLS_EVENT_FAILED ? 1 : 0;
            e->closed += event.kind == DTLS_EVENT_CLOSED ? 1 : 0;
            e->ended_us = p->now_us;
            e->last_event = event;
        }
    }
}

static inline void tick(struct pair *p, int which)
{
    struct dtls_transport *dtls = p->end[which].dtls;
    if (dtls_transport_next_timeout(dtls) <= p->now_us) {
        dtls_transport_tick(dtls, p->now_us);
        assert_true(dtls_transport_next_timeout(dtls) > p->now_us);
    }
}

static inline void run_until(struct pair *p, uint64_t until_us)
{
    for (;;) {
        drain(p, 0);
        drain(p, 1);
        uint64_t next_us = sim_link_next_us(&p->link);
        next_us = time_earlier(next_us, dtls_transport_next_timeout(p->end[0].dtls));
        next_us = time_earlier(next_us, dtls_transport_next_timeout(p->end[1].dtls));
        if (next_us > until_us) {
            break;
        }
        p->now_us = time_later(p->now_us, next_us);
        virtual_time_us = p->now_us;
        struct sim_datagram arrived;
        uint8_t bytes[SIM_LINK_BYTES];
        if (sim_link_take(&p->link, bytes, &arrived, p->now_us)) {
            struct end *to = &p->end[arrived.to];
            to->last_input =
                dtls_transport_input(to->dtls, bytes_view_of(bytes, arrived.len), p->now_us);
        }
        tick(p, 0);
        tick(p, 1);
    }
    p->now_us = time_later(p->now_us, until_us);
    virtual_time_us = p->now_us;
}

static inline void run_for(struct pair *p, uint64_t duration_us)
{
    run_until(p, p->now_us + duration_us);
}

static inline void start_both(struct pair *p, uint64_t round_trip_us)
{
    dtls_transport_start(p->end[1].dtls, round_trip_us, p->now_us);
    dtls_transport_start(p->end[0].dtls, round_trip_us, p->now_us);
}

static inline bool keys_agree(const struct pair *p)
{
    const struct srtp_keys *a = &p->end[0].connected_event.srtp;
    const struct srtp_keys *b = &p->end[1].connected_event.srtp;
    const struct srtp_master_key none = {0};
    return a->profile == SRTP_PROFILE_AEAD_AES_128_GCM && b->profile == a->profile &&
           memcmp(&a->send, &b->receive, sizeof(a->send)) == 0 &&
           memcmp(&a->receive, &b->send, sizeof(a->send)) == 0 &&
           memcmp(&a->send, &a->receive, sizeof(a->send)) != 0 &&
           memcmp(&a->send, &none, sizeof(none)) != 0;
}

static inline struct pair *connected_pair(void)
{
    struct pair *p = pair_make(1);
    start_both(p, 0);
    run_for(p, US_PER_S);
    assert_int_equal(p->end[0].connected, 1);
    assert_int_equal(p->end[1].connected, 1);
    assert_true(keys_agree(p));
    return p;
}

static inline int make_identities(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct fault fault;
        identity[i] = dtls_identity_create(&fault);
        if (identity[i] == NULL) {
            (void)printf("%s\n", fault.text);
            return -1;
        }
    }
    return 0;
}

static inline int free_identities(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        dtls_identity_destroy(identity[i]);
    }
    return 0;
}

#endif
