/* routing_vectors_test.c - golden vectors of docs/wire-formats.md: keys, token, shim, call id */
#include "tests/testing.h"

#include "common/crypto/aes_block.h"
#include "common/crypto/aes_gcm.h"
#include "common/crypto/hkdf.h"
#include "common/crypto/siphash.h"
#include "common/routing/relay_shim.h"
#include "common/routing/routing_token.h"

#define KEY_ID 7

static const struct {
    const char *info, *key;
} derived_case[] = {
    {"earshot token v1", "9369504caf46e03f9de0845199cda83e"},
    {"earshot shim v1", "cdd69a897e9268cdd704232eafa8822d"},
    {"earshot call id v1", "29ce3ce1528097d6de1b20e023c89947"},
    {"earshot client secret v1",
     "0c35bb34c05932c84ca3568f98a509e70c76c6d9c5c8c152df5482213dae2475"},
};

static void fill_secret(uint8_t secret[KEY_RING_SECRET_BYTES])
{
    for (size_t i = 0; i < KEY_RING_SECRET_BYTES; i++) {
        secret[i] = (uint8_t)i;
    }
}

static struct key_ring *golden_ring(void)
{
    uint8_t secret[KEY_RING_SECRET_BYTES];
    fill_secret(secret);
    struct key_ring *ring = key_ring_from_secret(KEY_ID, secret);
    assert_non_null(ring);
    return ring;
}

static void from_hex(const char *hex, uint8_t *out, size_t len)
{
    assert_true(bytes_from_hex(bytes_view_of_text(hex), out, len));
}

static void the_derived_keys_are_those_of_the_document(void **state)
{
    (void)state;
    uint8_t secret[KEY_RING_SECRET_BYTES];
    fill_secret(secret);
    for (size_t i = 0; i < COUNT_OF(derived_case); i++) {
        const size_t len = strlen(derived_case[i].key) / 2;
        uint8_t expected[32];
        uint8_t key[32];
        from_hex(derived_case[i].key, expected, len);
        hkdf_sha256(bytes_view_of(secret, sizeof(secret)), (struct bytes_view){0},
                    bytes_view_of_text(derived_case[i].info), key, len);
        assert_memory_equal(key, expected, len);
    }
}

/* That each context of the ring is keyed with the derived key of its own use. */
static void the_contexts_of_a_ring_are_keyed_as_the_document_says(void **state)
{
    (void)state;
    struct key_ring *ring = golden_ring();
    uint8_t key[32];
    uint8_t block[AES_BLOCK_BYTES] = {0};
    uint8_t expected[AES_BLOCK_BYTES];

    from_hex(derived_case[2].key, key, 16);
    struct aes_block *call_id = aes_block_create(key);
    aes_block_encrypt(call_id, block, expected);
    aes_block_encrypt(key_ring_call_id_cipher(ring, KEY_ID), block, block);
    assert_memory_equal(block, expected, sizeof(block));
    aes_block_destroy(call_id);

    static const uint8_t nonce[AES_GCM_NONCE_BYTES];
    uint8_t sealed[4 + AES_GCM_TAG_BYTES];
    uint8_t opened[4];
    from_hex(derived_case[3].key, key, 32);
    struct aes_gcm *client_secret = aes_gcm_create(key, AES_GCM_KEY_256);
    aes_gcm_seal(client_secret, nonce, (struct bytes_view){0}, bytes_view_of("text", 4), sealed);
    assert_true(aes_gcm_open(key_ring_client_secret_cipher(ring, KEY_ID), nonce,
                             (struct bytes_view){0}, bytes_view_of(sealed, sizeof(sealed)),
                             opened));
    assert_memory_equal(opened, "text", 4);
    aes_gcm_destroy(client_secret);
    key_ring_destroy(ring);
}

static void the_token_is_that_of_the_document(void **state)
{
    (void)state;
    static const char ufrag[] = "H5NdZDc2lJmCIcFu0G39oFA";
    struct key_ring *ring = golden_ring();
    const struct routing_token token = {
        .cluster_id = 1,
        .instance_id = 0x5eed0001,
        .session_id = 0x00002a03,
        .restart = 0,
    };
    char text[ROUTING_TOKEN_CHARS];
    struct routing_token opened = {0};
    uint8_t key_id = 0;
    routing_token_seal(ring, &token, text);
    assert_memory_equal(text, ufrag, sizeof(text));
    assert_int_equal(routing_token_open(ring, bytes_view_of_text(ufrag), &opened, &key_id),
                     ROUTING_TOKEN_OK);
    assert_int_equal(opened.cluster_id, 1);
    assert_int_equal(opened.instance_id, 0x5eed0001);
    assert_int_equal(SESSION_ID_SHARD(opened.session_id), 0);
    assert_int_equal(SESSION_ID_SLOT(opened.session_id), 42);
    assert_int_equal(SESSION_ID_GENERATION(opened.session_id), 3);
    assert_int_equal(opened.restart, 0);
    assert_int_equal(key_id, KEY_ID);
    key_ring_destroy(ring);
}

static void the_shim_is_that_of_the_document(void **state)
{
    (void)state;
    struct key_ring *ring = golden_ring();
    struct relay_shim shim = {
        .datagram_bytes = 100,
        .instance_id = 0x5eed0001,
        .session_id = 0x00002a03,
    };
    uint8_t expected[RELAY_SHIM_BYTES];
    uint8_t packet[RELAY_SHIM_BYTES + 100] = {0};
    struct relay_shim read;
    from_hex("e51000645eed000100002a03ca9e070000000000000000000000ffffcb00714d91693fa1ba7c60f6",
             expected, sizeof(expected));
    assert_true(net_addr_parse("203.0.113.77:51870", &shim.client));
    relay_shim_write(ring, &shim, packet);
    assert_memory_equal(packet, expected, sizeof(expected));
    assert_int_equal(relay_shim_read(ring, bytes_view_of(packet, sizeof(packet)), &read),
                     RELAY_SHIM_OK);
    assert_int_equal(read.key_id, KEY_ID);
    assert_true(net_addr_equal(&read.client, &shim.client));
    key_ring_destroy(ring);
}

static void the_cipher_of_the_call_id_is_that_of_the_document(void **state)
{
    (void)state;
    struct key_ring *ring = golden_ring();
    uint8_t block[AES_BLOCK_BYTES];
    uint8_t expected[AES_BLOCK_BYTES];
    from_hex("00015eed0001a0a1a2a3a4a5a6a7a8a9", block, sizeof(block));
    from_hex("d3e3c7b63418a1e4d08c3dbce2d7947d", expected, sizeof(expected));
    aes_block_encrypt(key_ring_call_id_cipher(ring, KEY_ID), block, block);
    assert_memory_equal(block, expected, sizeof(block)); /* "0-PHtjQYoeTQjD284teUfQ" in base64url */
    key_ring_destroy(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_derived_keys_are_those_of_the_document),
        cmocka_unit_test(the_contexts_of_a_ring_are_keyed_as_the_document_says),
        cmocka_unit_test(the_token_is_that_of_the_document),
        cmocka_unit_test(the_shim_is_that_of_the_document),
        cmocka_unit_test(the_cipher_of_the_call_id_is_that_of_the_document),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
