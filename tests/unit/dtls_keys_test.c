/* dtls_keys_test.c - both ends of a handshake get the same keys, each with the sides turned */
#include "tests/testing.h"

#include "services/transceiver/core/transport/dtls_keys.h"
#include "tests/dtls_peer.h"

#define BOTH_PROFILES  "SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80"
#define CIPHER         "ECDHE-ECDSA-AES128-GCM-SHA256"
#define MATERIAL_MAX   (2 * (SRTP_KEYS_KEY_BYTES + SRTP_KEYS_SALT_BYTES_MAX))
#define SEQUENCE_AHEAD 100 /* of all that OpenSSL has used here */

static struct {
    struct dtls_peer client;
    struct dtls_peer server;
} fixture;

static bool deliver(struct dtls_peer *from, struct dtls_peer *to)
{
    const size_t count = from->out_count;
    for (size_t i = 0; i < count; i++) {
        dtls_peer_input(to, bytes_view_of(from->out[i], from->out_len[i]));
    }
    from->out_count = 0;
    return count > 0;
}

static void connect_peers(const char *client_profiles, const char *server_profiles)
{
    dtls_peer_open(&fixture.client,
                   &(struct dtls_peer_config){.srtp_profiles = client_profiles, .ciphers = CIPHER});
    dtls_peer_open(&fixture.server, &(struct dtls_peer_config){.is_server = true,
                                                               .srtp_profiles = server_profiles,
                                                               .ciphers = CIPHER});
    dtls_peer_run(&fixture.client);
    while (deliver(&fixture.client, &fixture.server) || deliver(&fixture.server, &fixture.client)) {
    }
    assert_true(fixture.client.is_connected && fixture.server.is_connected);
}

static void close_peers(void)
{
    dtls_peer_close(&fixture.client);
    dtls_peer_close(&fixture.server);
}

static void what_one_end_sends_with_the_other_receives_with(void **state)
{
    (void)state;
    static const struct {
        const char *client;
        const char *server;
        enum srtp_profile profile;
        size_t salt_bytes;
    } profile_case[] = {
        {BOTH_PROFILES, BOTH_PROFILES, SRTP_PROFILE_AEAD_AES_128_GCM, 12},
        {BOTH_PROFILES, "SRTP_AES128_CM_SHA1_80", SRTP_PROFILE_AES128_CM_SHA1_80, 14},
        {"SRTP_AES128_CM_SHA1_80", BOTH_PROFILES, SRTP_PROFILE_AES128_CM_SHA1_80, 14},
    };
    for (size_t i = 0; i < COUNT_OF(profile_case); i++) {
        struct srtp_keys client;
        struct srtp_keys server;
        uint8_t material[MATERIAL_MAX];
        const size_t salt_bytes = profile_case[i].salt_bytes;
        connect_peers(profile_case[i].client, profile_case[i].server);
        assert_true(dtls_keys_export_srtp(fixture.client.ssl, &client));
        assert_true(dtls_keys_export_srtp(fixture.server.ssl, &server));
        assert_int_equal(client.profile, profile_case[i].profile);
        assert_int_equal(server.profile, profile_case[i].profile);
        assert_memory_equal(&client.send, &server.receive, sizeof(client.send));
        assert_memory_equal(&client.receive, &server.send, sizeof(client.receive));

        /* RFC 5764 s.4.2: client key, server key, client salt, server salt. */
        assert_int_equal(SSL_export_keying_material(fixture.server.ssl, material,
                                                    2 * (SRTP_KEYS_KEY_BYTES + salt_bytes),
                                                    "EXTRACTOR-dtls_srtp", 19, NULL, 0, 0),
                         1);
        assert_memory_equal(client.send.key, material, SRTP_KEYS_KEY_BYTES);
        assert_memory_equal(client.receive.key, material + SRTP_KEYS_KEY_BYTES,
                            SRTP_KEYS_KEY_BYTES);
        assert_memory_equal(client.send.salt, material + 2 * SRTP_KEYS_KEY_BYTES, salt_bytes);
        assert_memory_equal(client.receive.salt, material + 2 * SRTP_KEYS_KEY_BYTES + salt_bytes,
                            salt_bytes);
        for (size_t k = salt_bytes; k < SRTP_KEYS_SALT_BYTES_MAX; k++) {
            assert_int_equal(client.send.salt[k], 0);
        }
        close_peers();
    }
}

static void without_a_common_profile_there_are_no_srtp_keys_and_no_failure(void **state)
{
    (void)state;
    static const uint8_t zeros[sizeof(struct srtp_master_key)];
    static const struct {
        const char *client;
        const char *server;
    } none_case[] = {{NULL, NULL}, {BOTH_PROFILES, NULL}, {NULL, BOTH_PROFILES}};
    for (size_t i = 0; i < COUNT_OF(none_case); i++) {
        struct srtp_keys keys;
        memset(&keys, 0xff, sizeof(keys));
        connect_peers(none_case[i].client, none_case[i].server);
        assert_true(dtls_keys_export_srtp(fixture.client.ssl, &keys));
        assert_int_equal(keys.profile, SRTP_PROFILE_NONE);
        assert_memory_equal(&keys.send, zeros, sizeof(zeros));
        assert_memory_equal(&keys.receive, zeros, sizeof(zeros));
        close_peers();
    }
}

static void an_alert_under_the_derived_key_ends_the_other_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct dtls_peer *writer = i == 0 ? &fixture.client : &fixture.server;
        struct dtls_peer *reader = i == 0 ? &fixture.server : &fixture.client;
        struct dtls_alert_key key;
        struct dtls_alert_key other;
        uint8_t record[DTLS_ALERT_RECORD_BYTES];
        connect_peers(BOTH_PROFILES, BOTH_PROFILES);
        assert_true(dtls_keys_derive_alert(writer->ssl, &key, &other));
        assert_true(dtls_alert_seal(&key, 1, SEQUENCE_AHEAD, record));

        record[sizeof(record) - 1] ^= 1;
        dtls_peer_input(reader, bytes_view_of(record, sizeof(record)));
        assert_false(reader->is_dead);
        record[sizeof(record) - 1] ^= 1;
        dtls_peer_input(reader, bytes_view_of(record, sizeof(record)));
        assert_true(reader->is_dead);
        assert_int_equal(ERR_GET_REASON(reader->error), SSL_R_TLSV1_ALERT_INTERNAL_ERROR);
        close_peers();
    }
}

static void what_one_end_seals_with_is_what_the_other_opens_with(void **state)
{
    (void)state;
    struct dtls_alert_key client[2]; /* its own, and the server's */
    struct dtls_alert_key server[2];
    connect_peers(BOTH_PROFILES, BOTH_PROFILES);
    assert_true(dtls_keys_derive_alert(fixture.client.ssl, &client[0], &client[1]));
    assert_true(dtls_keys_derive_alert(fixture.server.ssl, &server[0], &server[1]));
    assert_memory_equal(&client[0], &server[1], sizeof(client[0]));
    assert_memory_equal(&client[1], &server[0], sizeof(client[0]));
    assert_memory_not_equal(client[0].key, server[0].key, sizeof(client[0].key));
    assert_memory_not_equal(client[0].salt, server[0].salt, sizeof(client[0].salt));
    close_peers();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_end_sends_with_the_other_receives_with),
        cmocka_unit_test(without_a_common_profile_there_are_no_srtp_keys_and_no_failure),
        cmocka_unit_test(an_alert_under_the_derived_key_ends_the_other_end),
        cmocka_unit_test(what_one_end_seals_with_is_what_the_other_opens_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
