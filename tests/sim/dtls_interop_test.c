/* dtls_interop_test.c - dtls_transport against OpenSSL as others use it */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_transport.h"
#include "tests/dtls_peer.h"
#include "tests/virtual_time.h"

#include <stdio.h>

#define ROUNDS_MAX      60
#define BOTH_PROFILES   "SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_128_GCM"
#define EXPORTED_BYTES  60
#define ALERT_HANDSHAKE 40

static struct dtls_identity *identity;

/* Us and a stranger, wired together. */
struct call {
    struct dtls_transport *us;
    struct dtls_peer peer;
    uint64_t now_us;
    bool is_connected;
    bool is_over;
    struct dtls_event connected;
    struct dtls_event last;
    unsigned ours_sent;
    uint8_t received[16];
    size_t received_len;
};

static void call_open(struct call *c, const struct dtls_peer_config *peer_config, uint16_t mtu)
{
    *c = (struct call){.now_us = US_PER_S};
    virtual_time_us = c->now_us;
    dtls_peer_open(&c->peer, peer_config);
    struct dtls_transport_config config = {
        .identity = identity,
        .role = peer_config->is_server ? DTLS_ROLE_ACTIVE : DTLS_ROLE_PASSIVE,
        .fingerprint = {{.hash = DTLS_HASH_SHA384}},
        .fingerprint_count = 1,
        .mtu_bytes = mtu,
    };
    assert_int_equal(
        X509_digest(c->peer.certificate, EVP_sha384(), config.fingerprint[0].digest, NULL), 1);
    c->us = dtls_transport_create(&config);
    assert_non_null(c->us);
    dtls_transport_start(c->us, 0, c->now_us);
    if (!peer_config->is_server) {
        dtls_peer_run(&c->peer);
    }
}

static void call_close(struct call *c)
{
    dtls_transport_destroy(c->us);
    dtls_peer_close(&c->peer);
}

static void drain_us(struct call *c)
{
    struct dtls_event event;
    struct bytes_view out;
    while (dtls_transport_poll_data(c->us, &out)) {
        c->received_len = out.len < sizeof(c->received) ? out.len : sizeof(c->received);
        memcpy(c->received, out.data, c->received_len);
    }
    while (dtls_transport_poll_event(c->us, &event)) {
        if (event.kind == DTLS_EVENT_CONNECTED) {
            c->is_connected = true;
            c->connected = event;
        } else {
            c->is_over = true;
            c->last = event;
        }
    }
}

/* What either has to send reaches the other, until nobody has anything to say. */
static void exchange(struct call *c)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        struct bytes_view out;
        bool is_silent = c->peer.out_count == 0;
        const size_t count = c->peer.out_count;
        c->peer.out_count = 0;
        uint8_t datagrams[DTLS_PEER_DATAGRAMS][DTLS_PEER_BYTES];
        memcpy(datagrams, c->peer.out, sizeof(datagrams));
        for (size_t i = 0; i < count; i++) {
            (void)dtls_transport_input(c->us, bytes_view_of(datagrams[i], c->peer.out_len[i]),
                                       c->now_us);
            drain_us(c);
        }
        while (dtls_transport_poll_datagram(c->us, &out)) {
            is_silent = false;
            c->ours_sent++;
            dtls_peer_input(&c->peer, out);
        }
        drain_us(c);
        if (is_silent) {
            return;
        }
    }
    fail_msg("they never stop talking");
}

static void advance(struct call *c, uint64_t duration_us)
{
    const uint64_t until_us = c->now_us + duration_us;
    while (dtls_transport_next_timeout(c->us) <= until_us) {
        c->now_us = time_later(c->now_us, dtls_transport_next_timeout(c->us));
        virtual_time_us = c->now_us;
        dtls_transport_tick(c->us, c->now_us);
        assert_true(dtls_transport_next_timeout(c->us) > c->now_us);
        exchange(c);
    }
    c->now_us = until_us;
    virtual_time_us = until_us;
}

static struct dtls_peer_config peer_of(bool is_server, enum dtls_peer_key key)
{
    return (struct dtls_peer_config){
        .is_server = is_server, .key = key, .srtp_profiles = BOTH_PROFILES};
}

/* The peer's own exporter, in the order of RFC 5764 s.4.2. */
static void assert_keys_are_the_peers(struct call *c, size_t salt_bytes)
{
    static const char label[] = "EXTRACTOR-dtls_srtp";
    uint8_t m[EXPORTED_BYTES];
    const struct srtp_keys *keys = &c->connected.srtp;
    const bool we_are_client = SSL_is_server(c->peer.ssl) == 1;
    const struct srtp_master_key *client = we_are_client ? &keys->send : &keys->receive;
    const struct srtp_master_key *server = we_are_client ? &keys->receive : &keys->send;
    assert_int_equal(SSL_export_keying_material(c->peer.ssl, m, 32 + 2 * salt_bytes, label,
                                                sizeof(label) - 1, NULL, 0, 0),
                     1);
    assert_memory_equal(client->key, m, 16);
    assert_memory_equal(server->key, m + 16, 16);
    assert_memory_equal(client->salt, m + 32, salt_bytes);
    assert_memory_equal(server->salt, m + 32 + salt_bytes, salt_bytes);
}

static void suitable_keys_connect_and_others_do_not(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        enum dtls_peer_key key;
        bool connects;
    } key_case[] = {
        {"P-256", DTLS_PEER_P256, true},       {"P-384", DTLS_PEER_P384, true},
        {"RSA 2048", DTLS_PEER_RSA2048, true}, {"RSA 4096", DTLS_PEER_RSA4096, true},
        {"P-521", DTLS_PEER_P521, false},      {"RSA 1024", DTLS_PEER_RSA1024, false},
        {"Ed25519", DTLS_PEER_ED25519, false},
    };
    for (int is_server = 0; is_server < 2; is_server++) {
        for (size_t i = 0; i < COUNT_OF(key_case); i++) {
            const struct dtls_peer_config config = peer_of(is_server == 1, key_case[i].key);
            struct call c;
            call_open(&c, &config, DTLS_MTU_BYTES);
            exchange(&c);
            advance(&c, 31 * US_PER_S);
            if (c.is_connected != key_case[i].connects || c.is_over == key_case[i].connects) {
                fail_msg("%s, server %d: connected %d, over %d", key_case[i].what, is_server,
                         c.is_connected, c.is_over);
            }
            call_close(&c);
        }
    }
}

/* So much padding makes a certificate that long. */
static size_t padding_for(enum dtls_peer_key key, size_t certificate_bytes)
{
    const size_t padding = 3000;
    X509 *certificate = dtls_peer_make_certificate(dtls_peer_key_of(key), padding);
    const size_t bytes = (size_t)i2d_X509(certificate, NULL);
    X509_free(certificate);
    return padding + certificate_bytes - bytes;
}

static void a_certificate_of_4096_bytes_is_the_longest(void **state)
{
    (void)state;
    for (int is_server = 0; is_server < 2; is_server++) {
        for (size_t extra = 0; extra < 2; extra++) {
            struct dtls_peer_config config = peer_of(is_server == 1, DTLS_PEER_RSA2048);
            struct call c;
            config.certificate_padding = padding_for(config.key, 4096 + extra);
            call_open(&c, &config, DTLS_MTU_BYTES);
            assert_int_equal(i2d_X509(c.peer.certificate, NULL), 4096 + extra);
            exchange(&c);
            advance(&c, 31 * US_PER_S);
            assert_int_equal(c.is_connected, extra == 0);
            assert_int_equal(c.is_over, extra == 1);
            assert_true(!c.is_over || c.last.failure == DTLS_FAILURE_CERTIFICATE);
            call_close(&c);
        }
    }
}

static void the_keys_are_those_of_the_negotiated_profile(void **state)
{
    (void)state;
    static const struct {
        const char *offered;
        enum srtp_profile profile;
        size_t salt_bytes;
    } profile_case[] = {
        {BOTH_PROFILES, SRTP_PROFILE_AEAD_AES_128_GCM, 12},
        {"SRTP_AEAD_AES_128_GCM", SRTP_PROFILE_AEAD_AES_128_GCM, 12},
        {"SRTP_AES128_CM_SHA1_80", SRTP_PROFILE_AES128_CM_SHA1_80, 14},
        {"SRTP_AES128_CM_SHA1_32:SRTP_AEAD_AES_256_GCM", SRTP_PROFILE_NONE, 0},
        {NULL, SRTP_PROFILE_NONE, 0},
    };
    for (int is_server = 0; is_server < 2; is_server++) {
        for (size_t i = 0; i < COUNT_OF(profile_case); i++) {
            struct dtls_peer_config config = peer_of(is_server == 1, DTLS_PEER_P256);
            struct call c;
            config.srtp_profiles = profile_case[i].offered;
            call_open(&c, &config, DTLS_MTU_BYTES);
            exchange(&c);
            assert_true(c.is_connected);
            if (profile_case[i].salt_bytes != 0) {
                /* A server of OpenSSL's chooses by its own order. */
                const size_t salt_bytes =
                    c.connected.srtp.profile == SRTP_PROFILE_AEAD_AES_128_GCM ? 12 : 14;
                assert_keys_are_the_peers(&c, salt_bytes);
                assert_true(is_server == 1 || c.connected.srtp.profile == profile_case[i].profile);
            } else {
                assert_int_equal(c.connected.srtp.profile, SRTP_PROFILE_NONE);
            }
            assert_string_equal(SSL_get_cipher_name(c.peer.ssl), "ECDHE-ECDSA-AES128-GCM-SHA256");
            call_close(&c);
        }
    }
}

static void hellos_and_flights_in_many_small_fragments_connect(void **state)
{
    (void)state;
    static const struct {
        uint16_t ours;
        long theirs;
        size_t alpn_bytes;
    } mtu_case[] = {{1200, 1200, 1280}, {1200, 300, 1280}, {900, 900, 640}, {300, 300, 640}};
    for (int is_server = 0; is_server < 2; is_server++) {
        for (size_t i = 0; i < COUNT_OF(mtu_case); i++) {
            struct dtls_peer_config config = peer_of(is_server == 1, DTLS_PEER_P256);
            struct call c;
            config.mtu_bytes = mtu_case[i].theirs;
            config.alpn_bytes = is_server == 0 ? mtu_case[i].alpn_bytes : 0;
            call_open(&c, &config, mtu_case[i].ours);
            assert_true(is_server == 1 || mtu_case[i].alpn_bytes < 1000 || c.peer.out_count > 1);
            exchange(&c);
            assert_true(c.is_connected);
            call_close(&c);
        }
    }
}

static void a_server_that_wants_a_cookie_gets_it_after_one_timeout(void **state)
{
    (void)state;
    struct dtls_peer_config config = peer_of(true, DTLS_PEER_P256);
    struct call c;
    config.wants_cookie = true;
    call_open(&c, &config, DTLS_MTU_BYTES);
    exchange(&c);
    assert_false(c.is_connected);
    advance(&c, 200 * US_PER_MS);
    assert_true(c.is_connected);
    call_close(&c);
}

static void a_peer_without_a_common_cipher_fails_the_call_with_its_alert(void **state)
{
    (void)state;
    struct dtls_peer_config config = peer_of(true, DTLS_PEER_P256);
    struct call c;
    config.ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305";
    call_open(&c, &config, DTLS_MTU_BYTES);
    exchange(&c);
    assert_true(c.peer.is_dead);
    advance(&c, 3 * US_PER_S - 1);
    assert_false(c.is_over);
    advance(&c, 1);
    assert_true(c.is_over);
    assert_int_equal(c.last.kind, DTLS_EVENT_FAILED);
    assert_int_equal(c.last.failure, DTLS_FAILURE_ALERT);
    assert_int_equal(c.last.alert, ALERT_HANDSHAKE);
    call_close(&c);
}

static void check_our_close(bool is_server, unsigned packets, bool is_released)
{
    const struct dtls_peer_config config = peer_of(is_server, DTLS_PEER_P256);
    struct call c;
    call_open(&c, &config, DTLS_MTU_BYTES);
    exchange(&c);
    assert_true(c.is_connected);
    for (unsigned i = 0; i < packets; i++) {
        assert_true(dtls_transport_send(c.us, bytes_view_of_text("data")));
        exchange(&c);
        assert_int_equal(c.peer.data_len, 4);
    }
    if (is_released) {
        dtls_transport_release(c.us);
    }
    const unsigned sent_before = c.ours_sent;
    dtls_transport_close(c.us, c.now_us);
    exchange(&c);
    assert_true(c.peer.is_dead);
    assert_int_equal(ERR_GET_REASON(c.peer.error), SSL_R_TLSV1_ALERT_INTERNAL_ERROR);
    advance(&c, US_PER_S);
    assert_int_equal(c.ours_sent - sent_before, 3);
    call_close(&c);
}

static void our_close_is_a_fatal_internal_error_to_openssl(void **state)
{
    (void)state;
    for (int is_server = 0; is_server < 2; is_server++) {
        for (unsigned packets = 0; packets < 3; packets++) {
            check_our_close(is_server == 1, packets, false);
            check_our_close(is_server == 1, packets, true);
        }
    }
}

/* With TLS, and when it was released before or after data: which then nobody takes. */
static void a_close_notify_closes(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        const struct dtls_peer_config config = peer_of(i % 2 == 1, DTLS_PEER_P256);
        struct call c;
        call_open(&c, &config, DTLS_MTU_BYTES);
        exchange(&c);
        if (i / 2 == 1) {
            dtls_transport_release(c.us);
        }
        assert_int_equal(SSL_write(c.peer.ssl, "bye", 3), 3);
        exchange(&c);
        if (i / 2 == 2) {
            dtls_transport_release(c.us);
        }
        assert_false(c.is_over);
        (void)SSL_shutdown(c.peer.ssl);
        exchange(&c);
        assert_int_equal(c.received_len, i / 2 == 1 ? 0 : 3);
        assert_true(c.is_over);
        assert_int_equal(c.last.kind, DTLS_EVENT_CLOSED);
        assert_int_equal(c.last.alert, 0);
        call_close(&c);
    }
}

static void data_passes_both_ways(void **state)
{
    (void)state;
    for (int is_server = 0; is_server < 2; is_server++) {
        const struct dtls_peer_config config = peer_of(is_server == 1, DTLS_PEER_P256);
        struct call c;
        call_open(&c, &config, DTLS_MTU_BYTES);
        exchange(&c);
        assert_true(dtls_transport_send(c.us, bytes_view_of_text("to the peer")));
        assert_int_equal(SSL_write(c.peer.ssl, "to us", 5), 5);
        exchange(&c);
        assert_int_equal(c.peer.data_len, strlen("to the peer"));
        assert_int_equal(c.received_len, 5);
        assert_memory_equal(c.received, "to us", 5);
        call_close(&c);
    }
}

static void data_in_the_datagram_of_the_last_finished_is_delivered(void **state)
{
    (void)state;
    const struct dtls_peer_config config = peer_of(true, DTLS_PEER_P256);
    struct call c;
    struct bytes_view out;
    uint8_t joined[2 * DTLS_PEER_BYTES];
    size_t joined_len = 0;
    call_open(&c, &config, DTLS_MTU_BYTES);
    for (int flight = 0; flight < 2; flight++) {
        for (size_t i = 0; i < c.peer.out_count; i++) {
            (void)dtls_transport_input(c.us, bytes_view_of(c.peer.out[i], c.peer.out_len[i]),
                                       c.now_us);
        }
        c.peer.out_count = 0;
        while (dtls_transport_poll_datagram(c.us, &out)) {
            dtls_peer_input(&c.peer, out);
        }
    }
    assert_int_equal(SSL_write(c.peer.ssl, "first", 5), 5);
    assert_true(c.peer.out_count >= 2);
    for (size_t i = 0; i < c.peer.out_count; i++) {
        memcpy(joined + joined_len, c.peer.out[i], c.peer.out_len[i]);
        joined_len += c.peer.out_len[i];
    }
    assert_int_equal(dtls_transport_input(c.us, bytes_view_of(joined, joined_len), c.now_us),
                     DTLS_INPUT_AUTHENTIC_NEWEST);
    memset(joined, 0, sizeof(joined)); /* it was only borrowed */
    drain_us(&c);
    assert_true(c.is_connected);
    assert_int_equal(c.received_len, 5);
    call_close(&c);
}

static void a_renegotiation_is_refused_by_an_alert(void **state)
{
    (void)state;
    const struct dtls_peer_config config = peer_of(false, DTLS_PEER_P256);
    struct call c;
    call_open(&c, &config, DTLS_MTU_BYTES);
    exchange(&c);
    assert_int_equal(SSL_renegotiate(c.peer.ssl), 1);
    dtls_peer_run(&c.peer);
    exchange(&c);
    assert_true(c.peer.is_dead);
    assert_int_equal(ERR_GET_REASON(c.peer.error), SSL_R_NO_RENEGOTIATION);
    call_close(&c);
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
        cmocka_unit_test(suitable_keys_connect_and_others_do_not),
        cmocka_unit_test(a_certificate_of_4096_bytes_is_the_longest),
        cmocka_unit_test(the_keys_are_those_of_the_negotiated_profile),
        cmocka_unit_test(hellos_and_flights_in_many_small_fragments_connect),
        cmocka_unit_test(a_server_that_wants_a_cookie_gets_it_after_one_timeout),
        cmocka_unit_test(a_peer_without_a_common_cipher_fails_the_call_with_its_alert),
        cmocka_unit_test(our_close_is_a_fatal_internal_error_to_openssl),
        cmocka_unit_test(a_close_notify_closes),
        cmocka_unit_test(data_passes_both_ways),
        cmocka_unit_test(data_in_the_datagram_of_the_last_finished_is_delivered),
        cmocka_unit_test(a_renegotiation_is_refused_by_an_alert),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
