/* client_leg_test.c - who gets through to SRTP, who gets nothing, and that every timer moves on */
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

static struct net_path path_from(const struct net_addr *client)
{
    struct net_path path = {.client = *client};
    assert_true(net_addr_parse("10.0.0.1:3500", &path.relay));
    return path;
}

static void open_leg(struct world *w)
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

static void open_world(struct world *w, const struct sim_client_config *wanted, size_t outbox_cap)
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

static void close_world(struct world *w)
{
    client_leg_destroy(w->leg);
    sim_client_destroy(w->client);
    outbox_destroy(w->outbox);
    dtls_identity_destroy(w->identity);
}

static void take_events(struct world *w)
{
    while (client_leg_poll_event(w->leg, &w->event[w->event_count])) {
        w->event_count++;
        assert_in_range(w->event_count, 1, COUNT_OF(w->event) - 1);
    }
}

static enum client_leg_result input(struct world *w, const struct net_addr *from,
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
static void move(struct world *w)
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

static void deliver(struct world *w)
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
static void tick(struct world *w)
{
    if (client_leg_next_timeout(w->leg) > w->now_us) {
        return; /* as the loop does: not before */
    }
    client_leg_tick(w->leg, w->now_us);
    take_events(w);
    assert_true(client_leg_next_timeout(w->leg) > w->now_us);
}

static void run_for(struct world *w, uint64_t us)
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

static void assert_events(const struct world *w, const enum client_leg_event *event, size_t count)
{
    assert_int_equal(w->event_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(w->event[i], event[i]);
    }
}

static const enum client_leg_event got_through[] = {CLIENT_LEG_CHECKED, CLIENT_LEG_CONNECTED};

static void open_connected(struct world *w)
{
    open_world(w, &plain, 64);
    run_for(w, US_PER_S);
    assert_events(w, got_through, COUNT_OF(got_through));
    assert_true(client_leg_is_connected(w->leg));
}

/* A packet of ours; its number is used once. */
static void send_rtp(struct world *w, uint8_t number)
{
    uint8_t packet[PACKET_CAP] = {0x80, 111, 0, number, 0, 0, 0, 0, 0, 0, SSRC >> 8, SSRC & 0xff};
    struct bytes_span span = {packet, 40, sizeof(packet)};
    (void)client_leg_send_rtp(w->leg, &span, w->now_us);
}

/* A check that authenticates. role: STUN_ICE_CONTROLLING, or the wrong one. */
static enum client_leg_result input_check(struct world *w, const struct net_addr *from,
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

/* --- getting through -------------------------------------------------------------------------- */

static void a_client_gets_through_in_either_role(void **state)
{
    (void)state;
    for (int active = 0; active <= 1; active++) {
        struct world w;
        const struct sim_client_config config = {.is_dtls_client = active == 1};
        open_world(&w, &config, 64);
        assert_false(client_leg_is_connected(w.leg));
        run_for(&w, US_PER_S);
        assert_events(&w, got_through, COUNT_OF(got_through));
        assert_true(sim_client_is_connected(w.client));
        assert_false(client_leg_path(w.leg).is_tcp);
        assert_in_range(w.rtp_count, 40, 50);
        assert_true(virtual_time_reads > 0);
        close_world(&w);
    }
}

static void another_certificate_ends_it_without_keys(void **state)
{
    (void)state;
    for (int active = 0; active <= 1; active++) {
        struct world w;
        const struct sim_client_config config = {.is_dtls_client = active == 1,
                                                 .lies_about_fingerprint = true};
        const enum client_leg_event expected[] = {CLIENT_LEG_CHECKED, CLIENT_LEG_FINGERPRINT};
        open_world(&w, &config, 64);
        run_for(&w, 2 * US_PER_S);
        assert_events(&w, expected, COUNT_OF(expected));
        assert_true(client_leg_is_over(w.leg));
        assert_true(client_leg_next_timeout(w.leg) == TIME_NEVER);
        close_world(&w);
    }
}

/* A DTLS client of another make, that knows nothing of SRTP. */
static void a_client_without_srtp_is_the_end(void **state)
{
    (void)state;
    struct world w;
    struct dtls_peer peer;
    unsigned digest_bytes = 0;
    open_world(&w, &plain, 64);
    client_leg_destroy(w.leg);
    dtls_peer_open(&peer, &(struct dtls_peer_config){.key = DTLS_PEER_P256});
    w.answer.offer.setup = SDP_SETUP_ACTIVE;
    assert_int_equal(X509_digest(peer.certificate, EVP_sha256(),
                                 w.answer.offer.fingerprint[0].digest, &digest_bytes),
                     1);
    open_leg(&w);
    const struct net_addr own = sim_client_address(w.client);
    assert_int_equal(input_check(&w, &own, STUN_ICE_CONTROLLING), CLIENT_LEG_STUN);
    outbox_clear(w.outbox);
    for (int turn = 0; turn < 6 && !client_leg_is_over(w.leg); turn++) {
        dtls_peer_run(&peer);
        for (size_t i = 0; i < peer.out_count; i++) {
            (void)input(&w, &own, bytes_view_of(peer.out[i], peer.out_len[i]));
        }
        peer.out_count = 0;
        for (size_t i = 0; i < outbox_datagram_count(w.outbox); i++) {
            const struct outbox_datagram *d = outbox_datagram_at(w.outbox, i);
            dtls_peer_input(&peer, bytes_view_of(d->data, d->len));
        }
        outbox_clear(w.outbox);
    }
    const enum client_leg_event expected[] = {CLIENT_LEG_CHECKED, CLIENT_LEG_NO_SRTP};
    assert_events(&w, expected, COUNT_OF(expected));
    assert_true(client_leg_is_over(w.leg));
    dtls_peer_close(&peer);
    close_world(&w);
}

static void an_unconnected_leg_sends_no_media(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain, 64);
    uint8_t packet[PACKET_CAP] = {0x80, 200};
    send_rtp(&w, 1);
    struct bytes_span span = {packet, 40, sizeof(packet)};
    assert_false(client_leg_send_rtcp(w.leg, &span, w.now_us));
    assert_int_equal(outbox_datagram_count(w.outbox), 0);
    close_world(&w);
}

/* --- strangers -------------------------------------------------------------------------------- */

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

static void a_stranger_gets_nothing_and_changes_nothing(void **state)
{
    (void)state;
    for (int connected = 0; connected <= 1; connected++) {
        struct world w;
        struct net_addr stranger;
        assert_true(net_addr_parse("192.0.2.66:6666", &stranger));
        if (connected == 1) {
            open_connected(&w);
        } else {
            open_world(&w, &plain, 64);
        }
        const uint64_t timeout_us = client_leg_next_timeout(w.leg);
        const size_t events = w.event_count;
        for (size_t i = 0; i < COUNT_OF(junk); i++) {
            const enum client_leg_result result =
                input(&w, &stranger, bytes_view_of(junk[i].bytes, junk[i].len));
            assert_int_equal(result, connected == 1 ? junk[i].connected : junk[i].before);
        }
        assert_int_equal(outbox_datagram_count(w.outbox), 0);
        assert_true(client_leg_next_timeout(w.leg) == timeout_us);
        assert_int_equal(w.event_count, events);
        close_world(&w);
    }
}

/* DTLS of the client itself is not looked at before its check, and not from elsewhere after it. */
static void genuine_dtls_counts_only_from_where_a_check_came(void **state)
{
    (void)state;
    struct world w;
    struct net_addr elsewhere;
    const struct sim_client_config config = {.is_dtls_client = true};
    assert_true(net_addr_parse("203.0.113.9:40001", &elsewhere));
    open_world(&w, &config, 64);
    while (w.up_count < 2) { /* the check, and the hello behind its answer */
        run_for(&w, DELAY_US);
        for (size_t i = 0; i < w.up_count; i++) {
            const struct bytes_view d = bytes_view_of(w.up[i].bytes, w.up[i].len);
            if (datagram_kind_of(d) == DATAGRAM_DTLS) {
                assert_int_equal(input(&w, &elsewhere, d), CLIENT_LEG_DTLS_UNVALIDATED);
                assert_int_equal(outbox_datagram_count(w.outbox), 0);
                assert_int_equal(input(&w, &w.up[i].from, d), CLIENT_LEG_DTLS);
                assert_true(outbox_datagram_count(w.outbox) > 0);
                close_world(&w);
                return;
            }
        }
    }
    fail();
}

/* --- SRTP and the path ------------------------------------------------------------------------ */

static void a_replay_from_elsewhere_is_refused_and_moves_nothing(void **state)
{
    (void)state;
    struct world w;
    struct net_addr elsewhere;
    assert_true(net_addr_parse("192.0.2.66:6666", &elsewhere));
    open_connected(&w);
    const struct waiting recorded = w.last_rtp;
    run_for(&w, 100000);
    assert_int_equal(input(&w, &elsewhere, bytes_view_of(recorded.bytes, recorded.len)),
                     CLIENT_LEG_SRTP_REFUSED);
    send_rtp(&w, 1);
    const struct net_addr own = sim_client_address(w.client);
    assert_true(net_addr_equal(&outbox_datagram_at(w.outbox, 0)->path.client, &own));
    close_world(&w);
}

/* A forger turns one bit of a packet that is on its way, and sends it first. */
static void a_packet_with_any_bit_turned_is_refused_and_the_genuine_one_still_counts(void **state)
{
    (void)state;
    struct world w;
    open_connected(&w);
    w.is_cut = true;
    run_for(&w, 20000);
    struct waiting genuine = w.last_rtp;
    for (size_t bit = 0; bit < 8 * genuine.len; bit++) {
        genuine.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        const enum client_leg_result result =
            input(&w, &genuine.from, bytes_view_of(genuine.bytes, genuine.len));
        assert_int_not_equal(result, CLIENT_LEG_RTP);
        assert_int_not_equal(result, CLIENT_LEG_RTCP);
        genuine.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(input(&w, &genuine.from, bytes_view_of(genuine.bytes, genuine.len)),
                     CLIENT_LEG_RTP);
    close_world(&w);
}

/* Somebody on the way takes a packet out and sends it later from his own address: it is genuine and
 * unseen, but not the newest. */
static void a_packet_that_was_held_back_is_heard_and_moves_nothing(void **state)
{
    (void)state;
    struct world w;
    struct net_addr elsewhere;
    assert_true(net_addr_parse("192.0.2.66:6666", &elsewhere));
    open_connected(&w);
    w.is_cut = true;
    run_for(&w, 20000);
    const struct waiting held_back = w.last_rtp;
    w.is_cut = false;
    run_for(&w, 100000);
    assert_int_equal(input(&w, &elsewhere, bytes_view_of(held_back.bytes, held_back.len)),
                     CLIENT_LEG_RTP);
    send_rtp(&w, 1);
    const struct net_addr own = sim_client_address(w.client);
    assert_true(net_addr_equal(&outbox_datagram_at(w.outbox, 0)->path.client, &own));
    close_world(&w);
}

static void the_newest_packet_from_elsewhere_moves_the_path(void **state)
{
    (void)state;
    struct world w;
    struct net_addr elsewhere;
    assert_true(net_addr_parse("198.51.100.77:5000", &elsewhere));
    open_connected(&w);
    w.is_cut = true;
    run_for(&w, 20000);
    assert_int_equal(input(&w, &elsewhere, bytes_view_of(w.last_rtp.bytes, w.last_rtp.len)),
                     CLIENT_LEG_RTP);
    run_for(&w, 600000);
    assert_true(net_addr_equal(&w.last_path.client, &elsewhere));
    close_world(&w);
}

/* --- timers ----------------------------------------------------------------------------------- */

static void a_silent_leg_announces_itself_each_half_second(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain, 64);
    run_for(&w, 5 * US_PER_S); /* checks each 2.5 s are answered, nothing else is sent */
    const size_t before = w.announcements;
    assert_in_range(before, 7, 9);
    for (uint8_t i = 0; i < 100; i++) { /* what is sent is announcement enough */
        send_rtp(&w, i);
        run_for(&w, 499999);
    }
    assert_int_equal(w.announcements, before);
    run_for(&w, 1);
    assert_int_equal(w.announcements, before + 1);
    assert_true(net_addr_equal(&w.last_path.client, &w.last_rtp.from));
    close_world(&w);
}

/* An authentic check that is answered with an error selects no path, but something was sent. */
static void a_refused_check_leaves_no_timer_behind_that_stands_still(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain, 64);
    const struct net_addr own = sim_client_address(w.client);
    assert_int_equal(input_check(&w, &own, STUN_ICE_CONTROLLED), CLIENT_LEG_STUN);
    assert_int_equal(outbox_datagram_count(w.outbox), 1);
    outbox_clear(w.outbox);
    for (int i = 0; i < 10; i++) {
        w.now_us = virtual_time_us = client_leg_next_timeout(w.leg);
        tick(&w);
    }
    assert_int_equal(outbox_datagram_count(w.outbox), 0); /* no path: nobody to announce */
    close_world(&w);
}

static void nothing_authentic_for_thirty_seconds_is_the_end(void **state)
{
    (void)state;
    struct world w;
    open_connected(&w);
    w.is_cut = true;
    w.up_count = 0;
    const uint64_t last_us = w.last_rtp.due_us - (w.last_rtp.due_us > w.now_us ? 20000 : 0);
    while (w.now_us < last_us + 30 * US_PER_S - 1) {
        const uint64_t left_us = last_us + 30 * US_PER_S - 1 - w.now_us;
        run_for(&w, time_earlier(left_us, US_PER_S));
        for (size_t i = 0; i < COUNT_OF(junk); i++) { /* it does not keep the leg alive */
            (void)input(&w, &w.last_rtp.from, bytes_view_of(junk[i].bytes, junk[i].len));
        }
    }
    assert_false(client_leg_is_over(w.leg));
    run_for(&w, 1);
    const enum client_leg_event expected[] = {CLIENT_LEG_CHECKED, CLIENT_LEG_CONNECTED,
                                              CLIENT_LEG_LOST};
    assert_events(&w, expected, COUNT_OF(expected));
    assert_true(client_leg_is_over(w.leg));
    outbox_clear(w.outbox);
    run_for(&w, US_PER_S);
    assert_int_equal(outbox_datagram_count(w.outbox), 0);
    close_world(&w);
}

/* The clock of every state runs on when nothing can be sent: run_for checks each tick. */
static void a_full_outbox_stops_no_timer(void **state)
{
    (void)state;
    struct world w;
    open_connected(&w);
    while (outbox_reserve(w.outbox) != NULL) {
        const struct net_path path = path_from(&w.last_rtp.from);
        outbox_commit(w.outbox, 1, ID, &path);
    }
    for (int i = 0; i < 400; i++) {
        w.now_us = virtual_time_us = client_leg_next_timeout(w.leg);
        send_rtp(&w, (uint8_t)i);
        client_leg_tick(w.leg, w.now_us);
        take_events(&w);
        if (client_leg_is_over(w.leg)) {
            break;
        }
        assert_true(client_leg_next_timeout(w.leg) > w.now_us);
    }
    assert_int_equal(w.event[w.event_count - 1], CLIENT_LEG_LOST);
    close_world(&w);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void closing_tells_the_client_and_takes_150_ms(void **state)
{
    (void)state;
    struct world w;
    open_connected(&w);
    const uint64_t closed_us = w.now_us;
    client_leg_close(w.leg, w.now_us);
    client_leg_close(w.leg, w.now_us);
    assert_false(client_leg_is_connected(w.leg));
    send_rtp(&w, 1);
    assert_int_equal(outbox_datagram_count(w.outbox), 1); /* the alert, and nothing behind it */
    assert_int_equal(input(&w, &w.last_rtp.from, bytes_view_of(w.last_rtp.bytes, w.last_rtp.len)),
                     CLIENT_LEG_ENDED);
    run_for(&w, 149999);
    assert_false(client_leg_is_over(w.leg));
    run_for(&w, 1);
    assert_true(client_leg_is_over(w.leg));
    assert_true(sim_client_heard(w.client)->was_closed);
    assert_true(client_leg_next_timeout(w.leg) == TIME_NEVER);
    assert_int_equal(w.now_us - closed_us, 150000);
    assert_events(&w, got_through, COUNT_OF(got_through)); /* our own end is no event */
    close_world(&w);
}

static void closing_before_there_is_a_client_is_over_at_once(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain, 64);
    client_leg_close(w.leg, w.now_us);
    assert_true(client_leg_is_over(w.leg));
    assert_int_equal(outbox_datagram_count(w.outbox), 0);
    close_world(&w);
}

static void a_client_that_closes_is_the_end(void **state)
{
    (void)state;
    struct world w;
    open_connected(&w);
    sim_client_close(w.client, w.now_us);
    run_for(&w, 500000);
    const enum client_leg_event expected[] = {CLIENT_LEG_CHECKED, CLIENT_LEG_CONNECTED,
                                              CLIENT_LEG_CLOSED};
    assert_events(&w, expected, COUNT_OF(expected));
    assert_true(client_leg_is_over(w.leg));
    close_world(&w);
}

static void each_result_has_its_own_name(void **state)
{
    (void)state;
    for (int i = 0; i < CLIENT_LEG_RESULT_COUNT; i++) {
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(client_leg_result_name((enum client_leg_result)i),
                                    client_leg_result_name((enum client_leg_result)k));
        }
    }
}

static int start_srtp(void **state)
{
    struct fault fault = {0};
    (void)state;
    return srtp_transport_init(&fault) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_gets_through_in_either_role),
        cmocka_unit_test(another_certificate_ends_it_without_keys),
        cmocka_unit_test(a_client_without_srtp_is_the_end),
        cmocka_unit_test(an_unconnected_leg_sends_no_media),
        cmocka_unit_test(a_stranger_gets_nothing_and_changes_nothing),
        cmocka_unit_test(genuine_dtls_counts_only_from_where_a_check_came),
        cmocka_unit_test(a_replay_from_elsewhere_is_refused_and_moves_nothing),
        cmocka_unit_test(a_packet_with_any_bit_turned_is_refused_and_the_genuine_one_still_counts),
        cmocka_unit_test(a_packet_that_was_held_back_is_heard_and_moves_nothing),
        cmocka_unit_test(the_newest_packet_from_elsewhere_moves_the_path),
        cmocka_unit_test(a_silent_leg_announces_itself_each_half_second),
        cmocka_unit_test(a_refused_check_leaves_no_timer_behind_that_stands_still),
        cmocka_unit_test(nothing_authentic_for_thirty_seconds_is_the_end),
        cmocka_unit_test(a_full_outbox_stops_no_timer),
        cmocka_unit_test(closing_tells_the_client_and_takes_150_ms),
        cmocka_unit_test(closing_before_there_is_a_client_is_over_at_once),
        cmocka_unit_test(a_client_that_closes_is_the_end),
        cmocka_unit_test(each_result_has_its_own_name),
    };
    return cmocka_run_group_tests(tests, start_srtp, NULL);
}
