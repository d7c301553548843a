/* srtp_evp_test.c - the published vectors, computed by libsrtp with our ciphers in it */
#include "tests/testing.h"

#include "services/transceiver/core/transport/srtp_evp.h"
#include "services/transceiver/core/transport/srtp_transport.h"

#include <srtp2/auth.h>
#include <srtp2/cipher.h>

#define BYTES_MAX 128

/* libsrtp exports its tables of ciphers without a header. */
srtp_err_status_t srtp_crypto_kernel_alloc_cipher(srtp_cipher_type_id_t id,
                                                  srtp_cipher_pointer_t *out, int key_bytes,
                                                  int tag_bytes);
srtp_err_status_t srtp_crypto_kernel_alloc_auth(srtp_auth_type_id_t id, srtp_auth_pointer_t *out,
                                                int key_bytes, int tag_bytes);

static size_t from_hex(const char *hex, uint8_t out[BYTES_MAX])
{
    const size_t len = strlen(hex) / 2;
    assert_true(len <= BYTES_MAX);
    assert_true(bytes_from_hex(bytes_view_of_text(hex), out, len));
    return len;
}

static void assert_hex(const uint8_t *data, size_t len, const char *expected)
{
    uint8_t bytes[BYTES_MAX];
    assert_int_equal(from_hex(expected, bytes), len);
    assert_memory_equal(data, bytes, len);
}

static srtp_cipher_t *keyed_cipher(srtp_cipher_type_id_t id, const char *key_and_salt)
{
    uint8_t key[BYTES_MAX];
    srtp_cipher_t *cipher = NULL;
    const size_t key_bytes = from_hex(key_and_salt, key);
    assert_int_equal(srtp_crypto_kernel_alloc_cipher(id, &cipher, (int)key_bytes, 16),
                     srtp_err_status_ok);
    assert_non_null(strstr(cipher->type->description, "OpenSSL"));
    assert_int_equal(srtp_cipher_init(cipher, key), srtp_err_status_ok);
    return cipher;
}

/* RFC 3711 B.2: blocks 0, 1, 2 and 0xfeff, 0xff00, 0xff01 of one key stream. */
static void aes_cm_gives_the_key_stream_of_rfc_3711_b_2(void **state)
{
    (void)state;
    static const struct {
        const char *counter;
        const char *key_stream;
    } stream_case[] = {
        {"00000000000000000000000000000000", "e03ead0935c95e80e166b16dd92b4eb4"
                                             "d23513162b02d0f72a43a2fe4a5f97ab"
                                             "41e95b3bb0a2e8dd477901e4fca894c0"},
        {"0000000000000000000000000000feff", "ec8cdf7398607cb0f2d21675ea9ea1e4"
                                             "362b7c3c6773516318a077d7fc5073ae"
                                             "6a2cc3787889374fbeb4c81b17ba6c44"},
    };
    srtp_cipher_t *cipher = keyed_cipher(SRTP_AES_ICM_128, "2b7e151628aed2a6abf7158809cf4f3c"
                                                           "f0f1f2f3f4f5f6f7f8f9fafbfcfd");
    for (size_t i = 0; i < COUNT_OF(stream_case); i++) {
        uint8_t counter[BYTES_MAX];
        uint8_t text[48] = {0};
        uint32_t len = sizeof(text);
        from_hex(stream_case[i].counter, counter);
        assert_int_equal(srtp_cipher_set_iv(cipher, counter, srtp_direction_encrypt),
                         srtp_err_status_ok);
        assert_int_equal(srtp_cipher_encrypt(cipher, text, &len), srtp_err_status_ok);
        assert_hex(text, len, stream_case[i].key_stream);
    }
    srtp_cipher_dealloc(cipher);
}

/* RFC 3711 B.3: the labels of RFC 3711 s.4.3.1 at byte 7 of the counter. */
static void session_keys_are_derived_as_in_rfc_3711_b_3(void **state)
{
    (void)state;
    static const struct {
        uint8_t label;
        const char *derived;
    } key_case[] = {
        {0, "c61e7a93744f39ee10734afe3ff7a087"},
        {2, "30cbbc08863d8c85d49db34a9ae1"},
        {1,
         "cebe321f6ff7716b6fd4ab49af256a156d38baa48f0a0acf3c34e2359e6cdbcee049646c43d9327ad175"
         "578ef72270986371c10c9a369ac2f94a8c5fbcdddc256d6e919a48b610ef17c2041e474035766b68642c59bb"
         "fc2f34db60dbdfb2"},
    };
    srtp_cipher_t *cipher = keyed_cipher(SRTP_AES_ICM_128, "e1f97a0d3e018be0d64fa32c06de4139"
                                                           "0ec675ad498afeebb6960b3aabe6");
    for (size_t i = 0; i < COUNT_OF(key_case); i++) {
        uint8_t counter[16] = {0};
        uint8_t derived[BYTES_MAX] = {0};
        uint32_t len = (uint32_t)strlen(key_case[i].derived) / 2;
        counter[7] = key_case[i].label;
        assert_int_equal(srtp_cipher_set_iv(cipher, counter, srtp_direction_encrypt),
                         srtp_err_status_ok);
        assert_int_equal(srtp_cipher_encrypt(cipher, derived, &len), srtp_err_status_ok);
        assert_hex(derived, len, key_case[i].derived);
    }
    srtp_cipher_dealloc(cipher);
}

/* RFC 7714 s.16.1 and s.17.1, s.17.3: the session key, the nonce, what is authenticated, what is
 * encrypted, and cipher text with tag. */
static const struct gcm_case {
    const char *nonce;
    const char *aad[2];
    const char *plain;
    const char *sealed;
} gcm_case[] = {
    {"51753c6580c2726f20718414",
     {"8040f17b8041f8d35501a0b2", ""},
     "47616c6c696120657374206f6d6e69732064697669736120696e207061727465732074726573",
     "f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833"
     "899d7f27beb16a9152cf765ee4390cce"},
    {"51753c6580c2726f20718414",
     {"8040f17b8041f8d35501a0b2"
      "47616c6c696120657374206f6d6e69732064697669736120696e207061727465732074726573",
      ""},
     "",
     "22493f82d2bce397e9d79e3b19aa4216"},
    {"517524055203726f207170bb",
     {"81c8000d4d617273", "800005d4"},
     "4e5450314e545032525450200000042a0000e9304c756e61deadbeefdeadbeefdeadbeefdeadbeefdeadbeef",
     "63e94885dcdab67ca727d7662f6b7e997ff5c0f76c06f32dc676a5f1730d6fda4ce09b4686303ded0bb9275b"
     "c84aa45896cf4d2fc5abf87245d9eade"},
    {"517524055203726f207170bb",
     {"81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61deadbeefdeadbeefdeadbeef"
      "deadbeefdeadbeef",
      "000005d4"},
     "",
     "841dd9683dd78ec92ae58790125f62b3"},
};

static void begin_gcm(srtp_cipher_t *cipher, const struct gcm_case *c, int direction)
{
    uint8_t bytes[BYTES_MAX];
    from_hex(c->nonce, bytes);
    assert_int_equal(srtp_cipher_set_iv(cipher, bytes, direction), srtp_err_status_ok);
    for (size_t i = 0; i < COUNT_OF(c->aad); i++) {
        const size_t len = from_hex(c->aad[i], bytes);
        if (len > 0) {
            assert_int_equal(srtp_cipher_set_aad(cipher, bytes, (uint32_t)len), srtp_err_status_ok);
        }
    }
}

static void aes_gcm_seals_and_opens_the_packets_of_rfc_7714(void **state)
{
    (void)state;
    srtp_cipher_t *cipher =
        keyed_cipher(SRTP_AES_GCM_128, "000102030405060708090a0b0c0d0e0f517569642070726f2071756f");
    for (size_t i = 0; i < COUNT_OF(gcm_case); i++) {
        uint8_t text[BYTES_MAX];
        uint32_t len = (uint32_t)from_hex(gcm_case[i].plain, text);
        uint32_t tag_len = 16;
        begin_gcm(cipher, &gcm_case[i], srtp_direction_encrypt);
        assert_int_equal(srtp_cipher_encrypt(cipher, text, &len), srtp_err_status_ok);
        assert_int_equal(srtp_cipher_get_tag(cipher, text + len, &tag_len), srtp_err_status_ok);
        assert_hex(text, len + tag_len, gcm_case[i].sealed);

        len = (uint32_t)from_hex(gcm_case[i].sealed, text);
        begin_gcm(cipher, &gcm_case[i], srtp_direction_decrypt);
        assert_int_equal(srtp_cipher_decrypt(cipher, text, &len), srtp_err_status_ok);
        assert_hex(text, len, gcm_case[i].plain);
    }
    srtp_cipher_dealloc(cipher);
}

static void aes_gcm_refuses_every_flipped_bit_and_every_cut(void **state)
{
    (void)state;
    srtp_cipher_t *cipher =
        keyed_cipher(SRTP_AES_GCM_128, "000102030405060708090a0b0c0d0e0f517569642070726f2071756f");
    for (size_t i = 0; i < COUNT_OF(gcm_case); i++) {
        uint8_t text[BYTES_MAX];
        const uint32_t sealed_len = (uint32_t)from_hex(gcm_case[i].sealed, text);
        for (size_t bit = 0; bit < 8 * (size_t)sealed_len; bit++) {
            uint32_t len = (uint32_t)from_hex(gcm_case[i].sealed, text);
            text[bit / 8] ^= (uint8_t)(1u << bit % 8);
            begin_gcm(cipher, &gcm_case[i], srtp_direction_decrypt);
            assert_int_equal(srtp_cipher_decrypt(cipher, text, &len), srtp_err_status_auth_fail);
        }
        for (uint32_t cut = 0; cut < sealed_len; cut++) {
            uint32_t len = cut;
            from_hex(gcm_case[i].sealed, text);
            begin_gcm(cipher, &gcm_case[i], srtp_direction_decrypt);
            assert_int_not_equal(srtp_cipher_decrypt(cipher, text, &len), srtp_err_status_ok);
        }
    }
    srtp_cipher_dealloc(cipher);
}

/* RFC 2202 s.3, the cases whose key libsrtp could give: at most one block. */
static void hmac_sha1_gives_the_tags_of_rfc_2202(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        const char *text;
        const char *tag;
    } hmac_case[] = {
        {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
         "b617318655057264e28bc0b6fb378c8ef146be00"},
        {"4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
         "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "dddddddddddddddddddddddddddddddddddddddddddddddddd"
         "dddddddddddddddddddddddddddddddddddddddddddddddddd",
         "125d7342b9ac11cd91a39af48aa17b4f63f175d3"},
        {"0102030405060708090a0b0c0d0e0f10111213141516171819",
         "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
         "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
         "4c9007f4026250c6bc8414f9bf50c86c2d7235da"},
        {"0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c", "546573742057697468205472756e636174696f6e",
         "4c1a03424b55e07fe7f27be1d58bb9324a9a5a04"},
    };
    for (size_t i = 0; i < COUNT_OF(hmac_case); i++) {
        uint8_t key[BYTES_MAX];
        uint8_t text[BYTES_MAX];
        uint8_t tag[20];
        srtp_auth_t *auth = NULL;
        const size_t key_bytes = from_hex(hmac_case[i].key, key);
        const size_t text_bytes = from_hex(hmac_case[i].text, text);
        assert_int_equal(
            srtp_crypto_kernel_alloc_auth(SRTP_HMAC_SHA1, &auth, (int)key_bytes, sizeof(tag)),
            srtp_err_status_ok);
        assert_int_equal(srtp_auth_init(auth, key), srtp_err_status_ok);
        /* As one piece, and in three, as libsrtp gives packet and roll-over counter. */
        assert_int_equal(srtp_auth_compute(auth, text, (int)text_bytes, tag), srtp_err_status_ok);
        assert_hex(tag, sizeof(tag), hmac_case[i].tag);
        assert_int_equal(srtp_auth_start(auth), srtp_err_status_ok);
        assert_int_equal(srtp_auth_update(auth, text, 3), srtp_err_status_ok);
        assert_int_equal(srtp_auth_update(auth, text + 3, 1), srtp_err_status_ok);
        assert_int_equal(srtp_auth_compute(auth, text + 4, (int)text_bytes - 4, tag),
                         srtp_err_status_ok);
        assert_hex(tag, sizeof(tag), hmac_case[i].tag);
        srtp_auth_dealloc(auth);
    }
}

static void keys_and_tags_of_other_lengths_are_refused(void **state)
{
    (void)state;
    srtp_cipher_t *cipher = NULL;
    srtp_auth_t *auth = NULL;
    assert_int_not_equal(srtp_crypto_kernel_alloc_cipher(SRTP_AES_ICM_128, &cipher, 29, 0), 0);
    assert_int_not_equal(srtp_crypto_kernel_alloc_cipher(SRTP_AES_ICM_128, &cipher, 31, 0), 0);
    assert_int_not_equal(srtp_crypto_kernel_alloc_cipher(SRTP_AES_GCM_128, &cipher, 30, 16), 0);
    assert_int_not_equal(srtp_crypto_kernel_alloc_cipher(SRTP_AES_GCM_128, &cipher, 28, 15), 0);
    assert_int_not_equal(srtp_crypto_kernel_alloc_auth(SRTP_HMAC_SHA1, &auth, 65, 20), 0);
    assert_int_not_equal(srtp_crypto_kernel_alloc_auth(SRTP_HMAC_SHA1, &auth, 20, 21), 0);
}

static int start(void **state)
{
    (void)state;
    struct fault fault;
    return srtp_transport_init(&fault) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aes_cm_gives_the_key_stream_of_rfc_3711_b_2),
        cmocka_unit_test(session_keys_are_derived_as_in_rfc_3711_b_3),
        cmocka_unit_test(aes_gcm_seals_and_opens_the_packets_of_rfc_7714),
        cmocka_unit_test(aes_gcm_refuses_every_flipped_bit_and_every_cut),
        cmocka_unit_test(hmac_sha1_gives_the_tags_of_rfc_2202),
        cmocka_unit_test(keys_and_tags_of_other_lengths_are_refused),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
