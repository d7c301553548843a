/* client_leg_world.h - a leg and its client on a link that loses nothing, in virtual time */
#ifndef EARSHOT_TESTS_CLIENT_LEG_WORLD_H
#define EARSHOT_TESTS_CLIENT_LEG_WORLD_H

#include "tests/testing.h"

#include "common/crypto/hmac_sha1.h"
#include "common/stun/stun_integrity.h"
#include "services/transceiver/core/datagram_kind.h"
#include "services/transceiver/core/rtp/rtp_packet.h"
#include "services/transceiver/core/session/client_leg.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "tests/dtls_peer.h"
#include "tests/support/sim_answer.h"
#include "tests/virtual_time.h"

#include <stdio.h>

#define ID         0x00000101
#define BEGIN_US   (10 * US_PER_S)
#define DELAY_US   5000
#define SSRC       0x1234 /* ours */
#define PACKET_CAP (OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES)

/* What stands on the link in one direction; the link loses nothing and keeps the order. */
struct waiting {
    uint64_t due_us;
    size_t len;
    struct net_addr from;
    uint8_t bytes[PACKET_CAP];
};

struct world {
    uint64_t now_us;
    struct random_generator random;
    struct dtls_identity *identity;
    struct outbox *outbox;
    struct sim_client *client;
    struct sim_answer answer;
    struct client_leg *leg;
    struct waiting up[64];
    size_t up_count;
    enum client_leg_event event[8];
    size_t event_count;
    size_t announcements;
    struct net_path last_path; /* of what left */
    bool is_cut;               /* nothing of the client arrives */
    struct waiting last_rtp;   /* the client's latest, protected */
    size_t rtp_count;          /* plain packets that came out of the leg */
};

static inline struct net_path path_from(const struct net_addr *client)
{
    struct net_path path = {.client = *client};
    assert_true(net_addr_parse("10.0.0.1:3500", &path.relay));
    return path;
}

static inline void open_leg(struct world *w)
{
    w->leg = client_leg_create(&(struct client_leg_config){.session_id = ID,
                                                           .offer = &w->answer.offer,
                                                           .ice_ufrag = w->answer.ufrag,
                                                           .ice_pwd = w->answer.pwd,
                                                           .identity = w->identity,
                                                           .ssrc = SSRC,
                                                           .event_label = "oai-events",
                                                           .outbox = w->outbox},
                               w->now_us);
    assert_non_null(w->leg);
}

static inline void open_world(struct world *w, const struct sim_client_config *wanted,
                              size_t outbox_cap)
{
    struct fault fault = {0};
    struct sim_client_config config = *wanted;
    memset(w, 0, sizeof(*w));
    w->now_us = virtual_time_us = BEGIN_US;
    random_generator_init(&w->random, 11);
    w->identity = dtls_identity_create(&fault);
    w->outbox = outbox_create(outbox_cap, 65536);
    assert_true(net_addr_parse("203.0.113.9:40000", &config.address));
    config.seed = 12;
    w->client = sim_client_create(&config);
    sim_answer_client(&w->answer, w->client, w->identity, random_seeded(&w->random), w->now_us);
    open_leg(w);
}

static inline void close_world(struct world *w)
{
    client_leg_destroy(w->leg);
    sim_client_destroy(w->client);
    outbox_destroy(w->outbox);
    dtls_identity_destroy(w->identity);
}

static inline void take_events(struct world *w)
{
    while (client_leg_poll_event(w->leg, &w->event[w->event_count])) {
        w->event_count++;
        assert_in_range(w->event_count, 1, COUNT_OF(w->event) - 1);
    }
}

static inline enum client_leg_result input(struct world *w, const struct net_addr *from,
                                           struct bytes_view datagram)
{
    uint8_t bytes[PACKET_CAP];
    struct rtp_packet packet;
    const struct net_path path = path_from(from);
    struct bytes_span span = {bytes, datagram.len, sizeof(bytes)};
    memcpy(bytes, datagram.data, datagram.len);
    const enum client_leg_result result = client_leg_input(w->leg, &span, &path, w->now_us);
    if (result == CLIENT_LEG_RTP) {
        w->rtp_count++;
        assert_int_equal(rtp_packet_parse(bytes_view_of(span.data, span.len), &packet),
                         RTP_PACKET_OK);
    }
    take_events(w);
    return result;
}

/* What the leg has sent reaches the client at once; what the client sends takes DELAY_US. */
static inline void move(struct world *w)
{
    for (size_t i = 0; i < outbox_datagram_count(w->outbox); i++) {
        const struct outbox_datagram *d = outbox_datagram_at(w->outbox, i);
        w->last_path = d->path;
        w->announcements += d->is_announcement;
        if (!d->is_announcement) {
            sim_client_input(w->client, bytes_view_of(d->data, d->len), w->now_us);
        }
    }
    outbox_clear(w->outbox);
    struct net_addr to;
    struct waiting *next = &w->up[w->up_count];
    while ((next->len = sim_client_take(w->client, next->bytes, &next->from, &to)) > 0) {
        next->due_us = w->now_us + DELAY_US;
        if (datagram_kind_of(bytes_view_of(next->bytes, next->len)) == DATAGRAM_RTP) {
            w->last_rtp = *next;
        }
        w->up_count += w->is_cut ? 0 : 1;
        assert_in_range(w->up_count, 0, COUNT_OF(w->up) - 1);
        next = &w->up[w->up_count];
    }
}

static inline void deliver(struct world *w)
{
    size_t done = 0;
    while (done < w->up_count && w->up[done].due_us <= w->now_us) {
        const struct waiting *d = &w->up[done++];
        (void)input(w, &d->from, bytes_view_of(d->bytes, d->len));
    }
    w->up_count -= done;
    memmove(w->up, w->up + done, w->up_count * sizeof(w->up[0]));
}

/* Rule of the machine: a tick at or after the deadline moves the deadline past now. */
static inline void tick(struct world *w)
{
    if (client_leg_next_timeout(w->leg) > w->now_us) {
        return; /* as the loop does: not before */
    }
    client_leg_tick(w->leg, w->now_us);
    take_events(w);
    assert_true(client_leg_next_timeout(w->leg) > w->now_us);
}

static inline void run_for(struct world *w, uint64_t us)
{
    const uint64_t until_us = w->now_us + us;
    move(w);
    while (w->now_us < until_us) {
        uint64_t next_us = time_earlier(until_us, client_leg_next_timeout(w->leg));
        next_us = time_earlier(next_us, sim_client_next_timeout(w->client));
        if (w->up_count > 0) {
            next_us = time_earlier(next_us, w->up[0].due_us);
        }
        w->now_us = virtual_time_us = time_later(next_us, w->now_us);
        deliver(w);
        sim_client_tick(w->client, w->now_us);
        tick(w);
        move(w);
    }
}

static const struct sim_client_config plain = {0};

static inline void assert_events(const struct world *w, const enum client_leg_event *event,
                                 size_t count)
{
    assert_int_equal(w->event_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(w->event[i], event[i]);
    }
}

static const enum client_leg_event got_through[] = {CLIENT_LEG_CHECKED, CLIENT_LEG_CONNECTED};

static inline void open_connected(struct world *w)
{
    open_world(w, &plain, 64);
    run_for(w, US_PER_S);
    assert_events(w, got_through, COUNT_OF(got_through));
    assert_true(client_leg_is_connected(w->leg));
}

/* A packet of ours; its number is used once. */
static inline void send_rtp(struct world *w, uint8_t number)
{
    uint8_t packet[PACKET_CAP] = {0x80, 111, 0, number, 0, 0, 0, 0, 0, 0, SSRC >> 8, SSRC & 0xff};
    struct bytes_span span = {packet, 40, sizeof(packet)};
    (void)client_leg_send_rtp(w->leg, &span, w->now_us);
}

/* A check that authenticates. role: STUN_ICE_CONTROLLING, or the wrong one. */
static inline enum client_leg_result input_check(struct world *w, const struct net_addr *from,
                                                 uint16_t role)
{
    struct hmac_sha1_key key;
    struct byte_writer check;
    uint8_t bytes[512];
    char username[600];
    static const uint8_t id[STUN_TRANSACTION_ID_BYTES] = {1};
    (void)snprintf(username, sizeof(username), "%s:%s", w->answer.ufrag, w->answer.offer.ice_ufrag);
    hmac_sha1_key_init(&key, bytes_view_of_text(w->answer.pwd));
    byte_writer_init(&check, bytes, sizeof(bytes));
    stun_message_begin(&check, STUN_BINDING_REQUEST, id);
    stun_message_add(&check, STUN_USERNAME, bytes_view_of_text(username));
    stun_message_add_u64(&check, role, 1);
    stun_integrity_append(&check, &key);
    stun_fingerprint_append(&check);
    return input(w, from, bytes_view_of(bytes, check.len));
}

static const struct {
    const char *name;
    uint8_t bytes[64];
    size_t len;
    enum client_leg_result before;    /* what a stranger gets before the first check */
    enum client_leg_result connected; /* and when media flows */
} junk[] = {
    {"empty", {0}, 0, CLIENT_LEG_UNKNOWN_KIND, CLIENT_LEG_UNKNOWN_KIND},
    {"one byte", {0x80}, 1, CLIENT_LEG_UNKNOWN_KIND, CLIENT_LEG_UNKNOWN_KIND},
    {"quic", {0xc0, 1, 2, 3}, 30, CLIENT_LEG_UNKNOWN_KIND, CLIENT_LEG_UNKNOWN_KIND},
    {"turn", {0x40, 1, 2, 3}, 30, CLIENT_LEG_UNKNOWN_KIND, CLIENT_LEG_UNKNOWN_KIND},
    {"short stun", {0, 1, 0, 0}, 4, CLIENT_LEG_STUN_REFUSED, CLIENT_LEG_STUN_REFUSED},
    {"stun without credentials",
     {0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42},
     20,
     CLIENT_LEG_STUN_REFUSED,
     CLIENT_LEG_STUN_REFUSED},
    {"client hello",
     {22, 0xfe, 0xff},
     60,
     CLIENT_LEG_DTLS_UNVALIDATED,
     CLIENT_LEG_DTLS_UNVALIDATED},
    {"alert", {21, 0xfe, 0xfd}, 15, CLIENT_LEG_DTLS_UNVALIDATED, CLIENT_LEG_DTLS_UNVALIDATED},
    {"rtp", {0x80, 111}, 60, CLIENT_LEG_SRTP_TOO_EARLY, CLIENT_LEG_SRTP_REFUSED},
    {"rtp cut", {0x80, 111}, 11, CLIENT_LEG_SRTP_TOO_EARLY, CLIENT_LEG_SRTP_REFUSED},
    {"rtcp", {0x80, 200}, 60, CLIENT_LEG_SRTP_TOO_EARLY, CLIENT_LEG_SRTP_REFUSED},
    {"rtcp cut", {0x80, 200}, 7, CLIENT_LEG_SRTP_TOO_EARLY, CLIENT_LEG_SRTP_REFUSED},
};

static inline int start_srtp(void **state)
{
    struct fault fault = {0};
    (void)state;
    return srtp_transport_init(&fault) ? 0 : -1;
}

#endif
