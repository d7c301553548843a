/* crypto_test.c - the ciphers and MACs against the vectors of their standards */
#include "tests/testing.h"

#include "common/crypto/aes_block.h"
#include "common/crypto/aes_gcm.h"
#include "common/crypto/hkdf.h"
#include "common/crypto/hmac_sha1.h"
#include "common/crypto/siphash.h"

#define BYTES_CAP 256

struct octets {
    uint8_t data[BYTES_CAP];
    size_t len;
};

static struct octets octets_of(const char *hex)
{
    struct octets o = {.len = strlen(hex) / 2};
    assert_true(o.len <= sizeof(o.data));
    assert_true(bytes_from_hex(bytes_view_of_text(hex), o.data, o.len));
    return o;
}

static struct bytes_view view_of(const struct octets *o)
{
    return bytes_view_of(o->data, o->len);
}

/* FIPS 197 appendix C.1, NIST SP 800-38A F.1.1. */
static const struct {
    const char *key, *plain, *cipher;
} aes_case[] = {
    {"000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff",
     "69c4e0d86a7b0430d8cdb78070b4c55a"},
    {"2b7e151628aed2a6abf7158809cf4f3c", "6bc1bee22e409f96e93d7e117393172a",
     "3ad77bb40d7a3660a89ecaf32466ef97"},
    {"2b7e151628aed2a6abf7158809cf4f3c", "ae2d8a571e03ac9c9eb76fac45af8e51",
     "f5d3d58503b9699de785895a96fdbaaf"},
};

static void aes_block_agrees_with_fips_197_in_both_directions(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(aes_case); i++) {
        const struct octets key = octets_of(aes_case[i].key);
        const struct octets plain = octets_of(aes_case[i].plain);
        const struct octets cipher = octets_of(aes_case[i].cipher);
        struct aes_block *aes = aes_block_create(key.data);
        assert_non_null(aes);
        /* Twice: a block must not depend on the one before. */
        for (int round = 0; round < 2; round++) {
            uint8_t out[AES_BLOCK_BYTES];
            aes_block_encrypt(aes, plain.data, out);
            assert_memory_equal(out, cipher.data, sizeof(out));
            aes_block_decrypt(aes, out, out);
            assert_memory_equal(out, plain.data, sizeof(out));
        }
        aes_block_destroy(aes);
    }
}

/* The GCM specification of McGrew and Viega, appendix B: test cases 1, 2, 4, 13, 14 and 16. */
static const struct {
    const char *key, *nonce, *additional, *plain, *sealed;
} gcm_case[] = {
    {"00000000000000000000000000000000", "000000000000000000000000", "", "",
     "58e2fccefa7e3061367f1d57a4e7455a"},
    {"00000000000000000000000000000000", "000000000000000000000000", "",
     "00000000000000000000000000000000",
     "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf"},
    {"feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
     "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091"
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {"0000000000000000000000000000000000000000000000000000000000000000", "000000000000000000000000",
     "", "00000000000000000000000000000000",
     "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
     "feedfacedeadbeeffeedfacedeadbeefabaddad2",
     "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
     "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
     "76fc6ece0f4e1768cddf8853bb2d551b"},
};

static void aes_gcm_agrees_with_its_specification(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(gcm_case); i++) {
        const struct octets key = octets_of(gcm_case[i].key);
        const struct octets nonce = octets_of(gcm_case[i].nonce);
        const struct octets additional = octets_of(gcm_case[i].additional);
        const struct octets plain = octets_of(gcm_case[i].plain);
        const struct octets sealed = octets_of(gcm_case[i].sealed);
        struct aes_gcm *gcm =
            aes_gcm_create(key.data, key.len == 32 ? AES_GCM_KEY_256 : AES_GCM_KEY_128);
        assert_non_null(gcm);
        for (int round = 0; round < 2; round++) {
            uint8_t out[BYTES_CAP];
            aes_gcm_seal(gcm, nonce.data, view_of(&additional), view_of(&plain), out);
            assert_memory_equal(out, sealed.data, sealed.len);
            assert_true(aes_gcm_open(gcm, nonce.data, view_of(&additional), view_of(&sealed), out));
            assert_memory_equal(out, plain.data, plain.len);
        }
        aes_gcm_destroy(gcm);
    }
}

static void aes_gcm_works_in_place(void **state)
{
    (void)state;
    const struct octets key = octets_of(gcm_case[2].key);
    const struct octets nonce = octets_of(gcm_case[2].nonce);
    const struct octets additional = octets_of(gcm_case[2].additional);
    const struct octets plain = octets_of(gcm_case[2].plain);
    const struct octets sealed = octets_of(gcm_case[2].sealed);
    struct aes_gcm *gcm = aes_gcm_create(key.data, AES_GCM_KEY_128);
    struct octets text = plain;
    aes_gcm_seal(gcm, nonce.data, view_of(&additional), view_of(&text), text.data);
    assert_memory_equal(text.data, sealed.data, sealed.len);
    text.len = sealed.len;
    assert_true(aes_gcm_open(gcm, nonce.data, view_of(&additional), view_of(&text), text.data));
    assert_memory_equal(text.data, plain.data, plain.len);
    aes_gcm_destroy(gcm);
}

static void aes_gcm_refuses_every_flipped_bit_and_gives_zeros(void **state)
{
    (void)state;
    const struct octets key = octets_of(gcm_case[2].key);
    const struct octets nonce = octets_of(gcm_case[2].nonce);
    struct octets additional = octets_of(gcm_case[2].additional);
    struct octets sealed = octets_of(gcm_case[2].sealed);
    static const uint8_t zeros[BYTES_CAP];
    struct aes_gcm *gcm = aes_gcm_create(key.data, AES_GCM_KEY_128);
    uint8_t out[BYTES_CAP];
    for (size_t bit = 0; bit < sealed.len * 8; bit++) {
        sealed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(aes_gcm_open(gcm, nonce.data, view_of(&additional), view_of(&sealed), out));
        assert_memory_equal(out, zeros, sealed.len - AES_GCM_TAG_BYTES);
        sealed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t bit = 0; bit < additional.len * 8; bit++) {
        additional.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(aes_gcm_open(gcm, nonce.data, view_of(&additional), view_of(&sealed), out));
        additional.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t len = 0; len < sealed.len; len++) {
        assert_false(aes_gcm_open(gcm, nonce.data, view_of(&additional),
                                  bytes_view_of(sealed.data, len), out));
    }
    assert_true(aes_gcm_open(gcm, nonce.data, view_of(&additional), view_of(&sealed), out));
    aes_gcm_destroy(gcm);
}

/* RFC 5869 appendix A.1, A.2 and A.3. */
static const struct {
    const char *secret, *salt, *info, *out;
} hkdf_case[] = {
    {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c",
     "f0f1f2f3f4f5f6f7f8f9",
     "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
    {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
     "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
     "404142434445464748494a4b4c4d4e4f",
     "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
     "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
     "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
     "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecf"
     "d0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeef"
     "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
     "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
     "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
     "cc30c58179ec3e87c14c01d5c1f3434f1d87"},
    {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
     "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"},
};

static void hkdf_agrees_with_rfc_5869(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hkdf_case); i++) {
        const struct octets secret = octets_of(hkdf_case[i].secret);
        const struct octets salt = octets_of(hkdf_case[i].salt);
        const struct octets info = octets_of(hkdf_case[i].info);
        const struct octets expected = octets_of(hkdf_case[i].out);
        uint8_t out[BYTES_CAP];
        hkdf_sha256(view_of(&secret), view_of(&salt), view_of(&info), out, expected.len);
        assert_memory_equal(out, expected.data, expected.len);
    }
}

/* RFC 2202 section 3, cases 1 to 7. */
static const struct {
    const char *key, *message, *tag;
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
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a"
     "65204b6579202d2048617368204b6579204669727374",
     "aa4ae5e15272d00e95705637ce8a3b55ed402112"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a"
     "65204b657920616e64204c6172676572205468616e204f6e6520426c6f636b2d"
     "53697a652044617461",
     "e8e99d0f45237d786d6bbaa7965c7808bbff1a91"},
};

static void hmac_sha1_agrees_with_rfc_2202_however_the_message_is_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hmac_case); i++) {
        const struct octets secret = octets_of(hmac_case[i].key);
        const struct octets message = octets_of(hmac_case[i].message);
        const struct octets tag = octets_of(hmac_case[i].tag);
        struct hmac_sha1_key key;
        hmac_sha1_key_init(&key, view_of(&secret));
        for (size_t cut = 0; cut <= message.len; cut++) {
            const struct bytes_view parts[] = {
                bytes_view_of(message.data, cut),
                bytes_view_of(message.data + cut, message.len - cut),
            };
            uint8_t out[HMAC_SHA1_BYTES];
            hmac_sha1(&key, parts, COUNT_OF(parts), out);
            assert_memory_equal(out, tag.data, sizeof(out));
        }
        hmac_sha1_key_wipe(&key);
        for (size_t word = 0; word < HMAC_SHA1_STATE_WORDS; word++) {
            assert_int_equal(key.inner[word] | key.outer[word], 0);
        }
    }
}

static void hmac_sha1_hashes_only_keys_longer_than_a_block(void **state)
{
    (void)state;
    /* Computed with Python's hmac: key = 64 or 65 times 'k', message "edge". */
    static const struct {
        size_t key_bytes;
        const char *tag;
    } edge_case[] = {
        {64, "fb6a57b5c11401cf16879fa787aee2d29a8dda9d"},
        {65, "695f6874bc09660023623f02e40b9ed72d12d370"},
    };
    uint8_t secret[65];
    memset(secret, 'k', sizeof(secret));
    for (size_t i = 0; i < COUNT_OF(edge_case); i++) {
        const struct octets tag = octets_of(edge_case[i].tag);
        const struct bytes_view message = bytes_view_of_text("edge");
        struct hmac_sha1_key key;
        uint8_t out[HMAC_SHA1_BYTES];
        hmac_sha1_key_init(&key, bytes_view_of(secret, edge_case[i].key_bytes));
        hmac_sha1(&key, &message, 1, out);
        assert_memory_equal(out, tag.data, sizeof(out));
    }
}

/* The SipHash paper, appendix A, and the table of its reference code: key 00..0f, messages of the
 * first n bytes of 00 01 02 ... */
static const struct {
    size_t len;
    uint64_t hash;
} siphash_case[] = {
    {0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
    {2, UINT64_C(0x0d6c8009d9a94f5a)},  {3, UINT64_C(0x85676696d7fb7e2d)},
    {7, UINT64_C(0xab0200f58b01d137)},  {8, UINT64_C(0x93f5f5799a932462)},
    {15, UINT64_C(0xa129ca6149be45e5)}, {63, UINT64_C(0x958a324ceb064572)},
};

static void siphash_agrees_with_its_paper(void **state)
{
    (void)state;
    uint8_t key_bytes[SIPHASH_KEY_BYTES];
    uint8_t message[64];
    for (size_t i = 0; i < sizeof(message); i++) {
        key_bytes[i % sizeof(key_bytes)] = (uint8_t)(i % sizeof(key_bytes));
        message[i] = (uint8_t)i;
    }
    struct siphash_key *key = siphash_key_create(key_bytes);
    assert_non_null(key);
    for (size_t i = 0; i < COUNT_OF(siphash_case); i++) {
        const uint64_t hash = siphash(key, bytes_view_of(message, siphash_case[i].len));
        assert_true(hash == siphash_case[i].hash);
    }
    siphash_key_destroy(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aes_block_agrees_with_fips_197_in_both_directions),
        cmocka_unit_test(aes_gcm_agrees_with_its_specification),
        cmocka_unit_test(aes_gcm_works_in_place),
        cmocka_unit_test(aes_gcm_refuses_every_flipped_bit_and_gives_zeros),
        cmocka_unit_test(hkdf_agrees_with_rfc_5869),
        cmocka_unit_test(hmac_sha1_agrees_with_rfc_2202_however_the_message_is_cut),
        cmocka_unit_test(hmac_sha1_hashes_only_keys_longer_than_a_block),
        cmocka_unit_test(siphash_agrees_with_its_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
