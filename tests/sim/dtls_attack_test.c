/* dtls_attack_test.c - forged records at every stage of a handshake neither end nor stall it */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_transport.h"
#include "tests/dtls_peer.h"
#include "tests/virtual_time.h"

#define PROFILES     "SRTP_AEAD_AES_128_GCM"
#define FLOOD        1000
#define ROUNDS_MAX   20
#define FORGED_MAX   128
#define ALERT_RECORD 21
#define NO_STAGE     -1
#define STAGES       4
#define PEER_MTU     300 /* flights of several datagrams: more stages */

static struct dtls_identity *identity;

/* What the record does to an OpenSSL client without a filter before it. */
enum effect {
    HARMLESS,
    ENDS_OPENSSL,
    LOOKS_GENUINE /* ends it too, and no filter can tell: it is what a server sends now */
};

/* What a stranger may send who knows both addresses and no key, in any number, at any moment. */
struct forged {
    const char *what;
    const char *hex;
    enum effect effect;
};

static const struct forged forged[] = {
    {"fatal alert", "15fefd000000000000000100020228", ENDS_OPENSSL},
    {"close_notify", "15fefd000000000000000100020100", ENDS_OPENSSL},
    {"warning alert", "15fefd00000000000000010002015a", ENDS_OPENSSL},
    {"alert of 1 byte", "15fefd0000000000000001000102", ENDS_OPENSSL},
    {"application data", "17fefd000000000000000100045a5a5a5a", ENDS_OPENSSL},
    {"unknown content type", "63fefd000000000000000100045a5a5a5a", ENDS_OPENSSL},
    {"server hello with a suite not offered",
     "16fefd000000000000000100320200002600000000000000265a5afefd"
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f00000100",
     LOOKS_GENUINE},
    {"hello verify request",
     "16feff0000000000000000001403000008000000000000"
     "0008feff05aabbccddee",
     ENDS_OPENSSL},
    {"change cipher spec with a number to come", "14fefd0000000000000002000101", ENDS_OPENSSL},
    {"change cipher spec, number 200", "14fefd00000000000000c8000101", ENDS_OPENSSL},
    {"change cipher spec, as far ahead as passes", "14fefd0000000000000020000101", HARMLESS},
    {"finished in plain text",
     "16fefd000000000000000100181400000c000100000000000c"
     "000000000000000000000000",
     ENDS_OPENSSL},
    {"record longer than its datagram", "16fefd0000000000000001ffff5a5a", HARMLESS},
    {"message longer than its record", "16fefd0000000000000001000c020000260000000000000026",
     ENDS_OPENSSL},
    {"garbage", "16fefd000000000000000100105a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a", ENDS_OPENSSL},
    {"encrypted garbage",
     "16fefd000100000000000000280000000000000000000000000000000000000000000000000000000000000000000"
     "0"
     "000000000000",
     HARMLESS},
    {"encrypted alert that is none",
     "15fefd0001000000000000001a0000000000000000000000000000000000000000000000000000", HARMLESS},
    {"epoch 2", "16fefd000200000000000000100000000000000000000000000000000", HARMLESS},
    {"TLS 1.2 record", "150303000000000000000100020228", HARMLESS},
    {"half a header", "16fefd0000", HARMLESS},
};

static struct bytes_view bytes_of(const struct forged *f, uint8_t out[FORGED_MAX])
{
    const size_t len = strlen(f->hex) / 2;
    assert_true(len <= FORGED_MAX);
    assert_true(bytes_from_hex(bytes_view_of(f->hex, 2 * len), out, len));
    return bytes_view_of(out, len);
}

/* Us and a genuine peer. Before the genuine datagram of a stage, or of every stage, forged ones. */
struct victim {
    struct dtls_transport *us;
    struct dtls_peer peer;
    uint64_t now_us;
    unsigned stage;
    bool is_connected;
    bool is_over;
    struct dtls_event last;
    unsigned alerts_sent; /* by us, in plain text */
};

static void victim_open(struct victim *v, bool peer_is_server)
{
    const struct dtls_peer_config peer_config = {.is_server = peer_is_server,
                                                 .key = DTLS_PEER_P256,
                                                 .srtp_profiles = PROFILES,
                                                 .mtu_bytes = PEER_MTU,
                                                 .alpn_bytes = peer_is_server ? 0 : 256};
    *v = (struct victim){.now_us = US_PER_S};
    virtual_time_us = v->now_us;
    dtls_peer_open(&v->peer, &peer_config);
    struct dtls_transport_config config = {
        .identity = identity,
        .role = peer_is_server ? DTLS_ROLE_ACTIVE : DTLS_ROLE_PASSIVE,
        .fingerprint = {{.hash = DTLS_HASH_SHA256}},
        .fingerprint_count = 1,
        .mtu_bytes = DTLS_MTU_BYTES,
    };
    assert_int_equal(
        X509_digest(v->peer.certificate, EVP_sha256(), config.fingerprint[0].digest, NULL), 1);
    v->us = dtls_transport_create(&config);
    assert_non_null(v->us);
    dtls_transport_start(v->us, 0, v->now_us);
    if (!peer_is_server) {
        dtls_peer_run(&v->peer);
    }
}

static void victim_close(struct victim *v)
{
    dtls_transport_destroy(v->us);
    dtls_peer_close(&v->peer);
}

static void note_events(struct victim *v)
{
    struct dtls_event event;
    while (dtls_transport_poll_event(v->us, &event)) {
        v->is_connected = v->is_connected || event.kind == DTLS_EVENT_CONNECTED;
        v->is_over = v->is_over || event.kind != DTLS_EVENT_CONNECTED;
        v->last = event;
    }
}

static void to_peer(struct victim *v)
{
    struct bytes_view out;
    while (dtls_transport_poll_datagram(v->us, &out)) {
        v->alerts_sent += out.data[0] == ALERT_RECORD && out.data[4] == 0 ? 1 : 0;
        dtls_peer_input(&v->peer, out);
    }
}

static void inject(struct victim *v, const struct forged *attack, unsigned flood)
{
    uint8_t bytes[FORGED_MAX];
    const struct bytes_view datagram = bytes_of(attack, bytes);
    for (unsigned i = 0; i < flood; i++) {
        (void)dtls_transport_input(v->us, datagram, v->now_us);
        note_events(v);
    }
}

static void shake_hands(struct victim *v, const struct forged *attack, int at_stage, unsigned flood)
{
    for (int round = 0; round < ROUNDS_MAX && !v->is_connected && !v->is_over; round++) {
        to_peer(v);
        uint8_t datagrams[DTLS_PEER_DATAGRAMS][DTLS_PEER_BYTES];
        const size_t count = v->peer.out_count;
        memcpy(datagrams, v->peer.out, sizeof(datagrams));
        v->peer.out_count = 0;
        for (size_t i = 0; i < count && !v->is_over; i++) {
            if (at_stage == NO_STAGE || v->stage == (unsigned)at_stage) {
                inject(v, attack, flood);
            }
            v->stage++;
            (void)dtls_transport_input(v->us, bytes_view_of(datagrams[i], v->peer.out_len[i]),
                                       v->now_us);
            note_events(v);
        }
    }
}

static void each_forged_record_at_each_stage_changes_nothing(void **state)
{
    (void)state;
    for (int peer_is_server = 0; peer_is_server < 2; peer_is_server++) {
        for (size_t i = 0; i < COUNT_OF(forged); i++) {
            for (int stage = NO_STAGE; stage < STAGES; stage++) {
                struct victim v;
                if (forged[i].effect == LOOKS_GENUINE && peer_is_server == 1) {
                    continue; /* what is left to an attacker who has our very address */
                }
                victim_open(&v, peer_is_server == 1);
                shake_hands(&v, &forged[i], stage, FLOOD);
                if (!v.is_connected || v.is_over) {
                    fail_msg("%s, stage %d, peer is server %d: failure %d", forged[i].what, stage,
                             peer_is_server, v.last.failure);
                }
                assert_true(v.stage >= STAGES);
                assert_int_equal(v.alerts_sent, 0);
                victim_close(&v);
            }
        }
    }
}

/* Without this the test above could pass because the records are harmless. */
static void without_a_filter_they_end_an_openssl_client(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(forged); i++) {
        const struct dtls_peer_config config[2] = {
            {.is_server = false, .key = DTLS_PEER_P256},
            {.is_server = true, .key = DTLS_PEER_P256},
        };
        struct dtls_peer peer[2];
        uint8_t bytes[FORGED_MAX];
        dtls_peer_open(&peer[0], &config[0]);
        dtls_peer_open(&peer[1], &config[1]);
        dtls_peer_run(&peer[0]);
        const struct bytes_view datagram = bytes_of(&forged[i], bytes);
        dtls_peer_input(&peer[0], datagram);
        for (int round = 0; round < ROUNDS_MAX; round++) {
            for (int from = 0; from < 2; from++) {
                const size_t count = peer[from].out_count;
                peer[from].out_count = 0;
                for (size_t k = 0; k < count && !peer[1 - from].is_dead; k++) {
                    dtls_peer_input(&peer[1 - from],
                                    bytes_view_of(peer[from].out[k], peer[from].out_len[k]));
                }
            }
        }
        if (peer[0].is_connected != (forged[i].effect == HARMLESS)) {
            fail_msg("%s: connected %d", forged[i].what, peer[0].is_connected);
        }
        dtls_peer_close(&peer[0]);
        dtls_peer_close(&peer[1]);
    }
}

static void after_the_handshake_forged_records_are_ignored(void **state)
{
    (void)state;
    for (int peer_is_server = 0; peer_is_server < 2; peer_is_server++) {
        struct victim v;
        victim_open(&v, peer_is_server == 1);
        shake_hands(&v, &forged[0], STAGES, 0);
        assert_true(v.is_connected);
        to_peer(&v);
        for (size_t i = 0; i < COUNT_OF(forged); i++) {
            struct bytes_view out;
            inject(&v, &forged[i], 10);
            v.peer.out_count = 0;
            assert_int_equal(SSL_write(v.peer.ssl, "still", 5), 5);
            assert_int_equal(
                dtls_transport_input(v.us, bytes_view_of(v.peer.out[0], v.peer.out_len[0]), 0),
                DTLS_INPUT_AUTHENTIC_NEWEST);
            assert_true(dtls_transport_poll_data(v.us, &out));
            assert_int_equal(out.len, 5);
            assert_false(v.is_over);
        }
        victim_close(&v);
    }
}

/* 67 bytes that end an OpenSSL server: a ClientHello whose only suite is TLS_NULL. */
static const struct forged null_hello = {
    "client hello without a usable suite",
    "16feff000000000000000000360100002a000000000000002afefd"
    "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
    "0000000200000100",
    ENDS_OPENSSL};

static void a_server_that_was_killed_before_the_genuine_hello_is_made_anew(void **state)
{
    (void)state;
    for (unsigned kills = 1; kills <= DTLS_REMAKES_MAX + 1; kills++) {
        struct victim v;
        victim_open(&v, false);
        shake_hands(&v, &null_hello, 0, kills);
        assert_int_equal(v.is_connected, kills <= DTLS_REMAKES_MAX);
        assert_int_equal(v.is_over, kills > DTLS_REMAKES_MAX);
        assert_true(!v.is_over || v.last.failure == DTLS_FAILURE_PROTOCOL);
        /* The genuine client must not hear of it. */
        assert_int_equal(v.alerts_sent, 0);
        victim_close(&v);
    }
}

static void a_client_that_was_killed_before_the_peer_answered_is_made_anew(void **state)
{
    (void)state;
    struct victim v;
    struct bytes_view out;
    victim_open(&v, true);
    assert_true(dtls_transport_poll_datagram(v.us, &out)); /* lost on its way */
    for (size_t i = 0; i < COUNT_OF(forged); i++) {
        if (forged[i].effect == LOOKS_GENUINE) {
            inject(&v, &forged[i], 1);
        }
    }
    shake_hands(&v, &forged[0], STAGES, 0);
    assert_true(v.is_connected);
    victim_close(&v);
}

/* The peer has answered our hello, and waits for our next flight. */
static void lose_our_second_flight(struct victim *v)
{
    struct bytes_view out;
    to_peer(v);
    for (size_t i = 0; i < v->peer.out_count; i++) {
        (void)dtls_transport_input(v->us, bytes_view_of(v->peer.out[i], v->peer.out_len[i]),
                                   v->now_us);
    }
    v->peer.out_count = 0;
    while (dtls_transport_poll_datagram(v->us, &out)) {
        /* Lost. */
    }
}

static void advance(struct victim *v, uint64_t duration_us)
{
    v->now_us += duration_us;
    virtual_time_us = v->now_us;
    dtls_transport_tick(v->us, v->now_us);
    note_events(v);
}

/* After the ServerHello OpenSSL takes it for an unexpected message, and dies. */
static void a_hello_verify_request_is_kept_only_while_a_hello_waits_for_its_answer(void **state)
{
    (void)state;
    static const struct forged late_verify = {"hello verify request, as message 5",
                                              "16fefd0000000000000009001403000008000500000000"
                                              "0008feff05aabbccddee",
                                              ENDS_OPENSSL};
    struct victim v;
    victim_open(&v, true);
    lose_our_second_flight(&v);
    inject(&v, &late_verify, 1);
    advance(&v, 200 * US_PER_MS);
    shake_hands(&v, &forged[0], STAGES, 0);
    assert_true(v.is_connected);
    victim_close(&v);
}

static void progress_after_an_alert_disproves_it(void **state)
{
    (void)state;
    struct victim v;
    victim_open(&v, true);
    inject(&v, &forged[0], 1);
    lose_our_second_flight(&v);
    advance(&v, 3 * US_PER_S);
    assert_false(v.is_over);
    shake_hands(&v, &forged[0], STAGES, 0);
    assert_true(v.is_connected);
    victim_close(&v);
}

static void an_alert_counts_only_when_nothing_better_comes_for_3_s(void **state)
{
    (void)state;
    for (int peer_is_server = 0; peer_is_server < 2; peer_is_server++) {
        struct victim v;
        struct bytes_view out;
        victim_open(&v, peer_is_server == 1);
        const bool has_sent = dtls_transport_poll_datagram(v.us, &out);
        assert_int_equal(has_sent, peer_is_server); /* a passive end waits for the hello */
        inject(&v, &forged[0], 1);
        advance(&v, 3 * US_PER_S - 1);
        assert_false(v.is_over);
        advance(&v, 1);
        /* Nobody objects to what was never sent. */
        assert_int_equal(v.is_over, has_sent);
        assert_true(!v.is_over || v.last.failure == DTLS_FAILURE_ALERT);
        assert_true(!v.is_over || v.last.alert == 40);
        victim_close(&v);
    }
}

static void a_warning_is_never_an_end(void **state)
{
    (void)state;
    struct victim v;
    victim_open(&v, true);
    inject(&v, &forged[2], FLOOD);
    for (int s = 0; s < 29; s++) {
        advance(&v, US_PER_S);
        assert_false(v.is_over);
    }
    victim_close(&v);
}

static void more_than_16_kb_before_the_end_of_the_handshake_fails(void **state)
{
    (void)state;
    /* Fragments of a certificate that never gets whole, each with a number of its own. */
    uint8_t record[] = {22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 3,   0xf3, /* 1024 in all */
                        11, 0,    0x40, 0, 0, 1, 0, 0, 0, 0, 3, 0xe7};
    uint8_t datagram[13 + 12 + 999] = {0};
    memcpy(datagram, record, sizeof(record));
    for (int peer_is_server = 0; peer_is_server < 2; peer_is_server++) {
        struct victim v;
        victim_open(&v, peer_is_server == 1);
        for (unsigned i = 0; i < DTLS_HANDSHAKE_BYTES_MAX / sizeof(datagram); i++) {
            datagram[10] = (uint8_t)i;
            assert_int_equal(
                dtls_transport_input(v.us, bytes_view_of(datagram, sizeof(datagram)), v.now_us),
                DTLS_INPUT_TAKEN);
            note_events(&v);
            assert_false(v.is_over);
        }
        datagram[10]++;
        assert_int_equal(
            dtls_transport_input(v.us, bytes_view_of(datagram, sizeof(datagram)), v.now_us),
            DTLS_INPUT_FILTERED);
        note_events(&v);
        assert_true(v.is_over);
        assert_int_equal(v.last.failure, DTLS_FAILURE_BUDGET);
        victim_close(&v);
    }
}

static int start(void **state)
{
    (void)state;
    struct fault fault;
    identity = dtls_identity_create(&fault);
    return identity != NULL ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    dtls_identity_destroy(identity);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_forged_record_at_each_stage_changes_nothing),
        cmocka_unit_test(without_a_filter_they_end_an_openssl_client),
        cmocka_unit_test(after_the_handshake_forged_records_are_ignored),
        cmocka_unit_test(a_server_that_was_killed_before_the_genuine_hello_is_made_anew),
        cmocka_unit_test(a_client_that_was_killed_before_the_peer_answered_is_made_anew),
        cmocka_unit_test(a_hello_verify_request_is_kept_only_while_a_hello_waits_for_its_answer),
        cmocka_unit_test(progress_after_an_alert_disproves_it),
        cmocka_unit_test(an_alert_counts_only_when_nothing_better_comes_for_3_s),
        cmocka_unit_test(a_warning_is_never_an_end),
        cmocka_unit_test(more_than_16_kb_before_the_end_of_the_handshake_fails),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
