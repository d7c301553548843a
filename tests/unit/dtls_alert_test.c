/* dtls_alert_test.c - the hand-made alert is the record that RFC 5246 and RFC 5288 describe */
#include "tests/testing.h"

#include "common/crypto/aes_gcm.h"
#include "services/transceiver/core/transport/dtls_alert.h"
#include "services/transceiver/core/transport/dtls_record.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#define DIGEST_BYTES    32
#define KEY_BLOCK_BYTES (2 * (DTLS_ALERT_KEY_BYTES + DTLS_ALERT_SALT_BYTES))
#define EPOCH_SEQUENCE  8
#define SEED_BYTES      (13 + 2 * DTLS_ALERT_RANDOM_BYTES)

static struct dtls_alert_secrets some_secrets(void)
{
    struct dtls_alert_secrets s;
    memset(s.master, 0x11, sizeof(s.master));
    memset(s.client_random, 0xc1, sizeof(s.client_random));
    memset(s.server_random, 0x5e, sizeof(s.server_random));
    return s;
}

static void hmac_sha256(const uint8_t *key, size_t key_bytes, const uint8_t *text, size_t len,
                        uint8_t out[DIGEST_BYTES])
{
    assert_non_null(HMAC(EVP_sha256(), key, (int)key_bytes, text, len, out, NULL));
}

/* RFC 5246 s.5 and s.6.3, by the letter: P_SHA256(master, "key expansion" + server + client). */
static void expand_by_the_rfc(const struct dtls_alert_secrets *s, uint8_t out[KEY_BLOCK_BYTES])
{
    uint8_t chain[DIGEST_BYTES + SEED_BYTES]; /* A(i), then the seed */
    uint8_t *seed = chain + DIGEST_BYTES;
    uint8_t block[2 * DIGEST_BYTES];
    memcpy(seed, "key expansion", 13);
    memcpy(seed + 13, s->server_random, DTLS_ALERT_RANDOM_BYTES);
    memcpy(seed + 13 + DTLS_ALERT_RANDOM_BYTES, s->client_random, DTLS_ALERT_RANDOM_BYTES);
    hmac_sha256(s->master, sizeof(s->master), seed, SEED_BYTES, chain);
    hmac_sha256(s->master, sizeof(s->master), chain, sizeof(chain), block);
    hmac_sha256(s->master, sizeof(s->master), chain, DIGEST_BYTES, chain);
    hmac_sha256(s->master, sizeof(s->master), chain, sizeof(chain), block + DIGEST_BYTES);
    memcpy(out, block, KEY_BLOCK_BYTES);
}

static void each_side_gets_its_own_part_of_the_key_block(void **state)
{
    (void)state;
    const struct dtls_alert_secrets secrets = some_secrets();
    uint8_t block[KEY_BLOCK_BYTES]; /* client key, server key, client salt, server salt */
    expand_by_the_rfc(&secrets, block);
    for (size_t side = 0; side < 2; side++) {
        struct dtls_alert_key key;
        assert_true(dtls_alert_derive(&secrets, side == 1, &key));
        assert_memory_equal(key.key, block + side * DTLS_ALERT_KEY_BYTES, DTLS_ALERT_KEY_BYTES);
        assert_memory_equal(key.salt,
                            block + 2 * DTLS_ALERT_KEY_BYTES + side * DTLS_ALERT_SALT_BYTES,
                            DTLS_ALERT_SALT_BYTES);
    }
}

static void every_byte_of_the_secrets_changes_the_key(void **state)
{
    (void)state;
    const struct dtls_alert_secrets secrets = some_secrets();
    struct dtls_alert_key key;
    assert_true(dtls_alert_derive(&secrets, true, &key));
    for (size_t i = 0; i < sizeof(secrets); i++) {
        struct dtls_alert_secrets other = secrets;
        struct dtls_alert_key other_key;
        ((uint8_t *)&other)[i] ^= 1;
        assert_true(dtls_alert_derive(&other, true, &other_key));
        assert_memory_not_equal(key.key, other_key.key, sizeof(key.key));
        assert_memory_not_equal(key.salt, other_key.salt, sizeof(key.salt));
    }
}

static const struct {
    uint16_t epoch;
    uint64_t sequence_number;
} number_case[] = {
    {1, 0},
    {1, 1},
    {1, UINT64_C(0x0102030405ff)},
    {1, UINT64_C(0xffffffffffff)},
    {65535, UINT64_C(0xffffffffffff)},
};

static void a_sealed_alert_opens_as_fatal_internal_error(void **state)
{
    (void)state;
    const struct dtls_alert_key key = {{1, 2, 3}, {0xa0, 0xa1, 0xa2, 0xa3}};
    struct aes_gcm *gcm = aes_gcm_create(key.key, AES_GCM_KEY_128);
    assert_non_null(gcm);
    for (size_t i = 0; i < COUNT_OF(number_case); i++) {
        uint8_t sealed[DTLS_ALERT_RECORD_BYTES];
        uint8_t nonce[AES_GCM_NONCE_BYTES];
        uint8_t additional[13];
        uint8_t alert[2] = {0};
        assert_true(
            dtls_alert_seal(&key, number_case[i].epoch, number_case[i].sequence_number, sealed));
        /* RFC 5288 s.3: salt, then the explicit nonce that the record carries. */
        memcpy(nonce, key.salt, sizeof(key.salt));
        memcpy(nonce + sizeof(key.salt), sealed + DTLS_RECORD_HEADER_BYTES, 8);
        /* RFC 5246 s.6.2.3.3: epoch and sequence number, type, version, length of the text. */
        memcpy(additional, sealed + 3, EPOCH_SEQUENCE);
        memcpy(additional + EPOCH_SEQUENCE, sealed, 3);
        additional[11] = 0;
        additional[12] = sizeof(alert);
        assert_true(aes_gcm_open(
            gcm, nonce, bytes_view_of(additional, sizeof(additional)),
            bytes_view_of(sealed + DTLS_RECORD_HEADER_BYTES + 8, 2 + AES_GCM_TAG_BYTES), alert));
        assert_int_equal(alert[0], 2);
        assert_int_equal(alert[1], 80);
    }
    aes_gcm_destroy(gcm);
}

static void the_header_of_an_alert_is_that_of_one_whole_record(void **state)
{
    (void)state;
    const struct dtls_alert_key key = {{0}, {0}};
    for (size_t i = 0; i < COUNT_OF(number_case); i++) {
        uint8_t sealed[DTLS_ALERT_RECORD_BYTES];
        struct byte_reader r;
        struct dtls_record record;
        assert_true(
            dtls_alert_seal(&key, number_case[i].epoch, number_case[i].sequence_number, sealed));
        byte_reader_init(&r, bytes_view_of(sealed, sizeof(sealed)));
        assert_true(dtls_record_read(&r, &record));
        assert_int_equal(record.content_type, DTLS_CONTENT_ALERT);
        assert_int_equal(record.version, 0xfefd);
        assert_int_equal(record.epoch, number_case[i].epoch);
        assert_true(record.sequence_number == number_case[i].sequence_number);
        assert_int_equal(byte_reader_left(&r), 0);
    }
}

static void no_two_records_share_a_nonce(void **state)
{
    (void)state;
    const struct dtls_alert_key key = {{0}, {0}};
    uint8_t sealed[COUNT_OF(number_case)][DTLS_ALERT_RECORD_BYTES];
    for (size_t i = 0; i < COUNT_OF(number_case); i++) {
        assert_true(
            dtls_alert_seal(&key, number_case[i].epoch, number_case[i].sequence_number, sealed[i]));
        for (size_t k = 0; k < i; k++) {
            assert_memory_not_equal(sealed[i] + DTLS_RECORD_HEADER_BYTES,
                                    sealed[k] + DTLS_RECORD_HEADER_BYTES, 8);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_side_gets_its_own_part_of_the_key_block),
        cmocka_unit_test(every_byte_of_the_secrets_changes_the_key),
        cmocka_unit_test(a_sealed_alert_opens_as_fatal_internal_error),
        cmocka_unit_test(the_header_of_an_alert_is_that_of_one_whole_record),
        cmocka_unit_test(no_two_records_share_a_nonce),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
