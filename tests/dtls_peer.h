/*
 * dtls_peer.h - the other end of a DTLS session, as strangers build it: OpenSSL, as it comes
 *
 * It has none of our settings: its own key, ciphers, MTU, cookies. Datagrams out are kept one by
 * one. For tests that talk to dtls_transport or to another peer.
 */
#ifndef EARSHOT_DTLS_PEER_H
#define EARSHOT_DTLS_PEER_H

#include "common/base/bytes.h"

#include <openssl/err.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define DTLS_PEER_DATAGRAMS 32
#define DTLS_PEER_BYTES     1500

enum dtls_peer_key {
    DTLS_PEER_P256,
    DTLS_PEER_P384,
    DTLS_PEER_P521,
    DTLS_PEER_RSA1024,
    DTLS_PEER_RSA2048,
    DTLS_PEER_RSA4096,
    DTLS_PEER_ED25519
};

struct dtls_peer_config {
    bool is_server;
    enum dtls_peer_key key;
    size_t certificate_padding; /* bytes of a comment in it */
    const char *srtp_profiles;  /* NULL: none */
    const char *ciphers;        /* NULL: OpenSSL's choice */
    bool wants_cookie;
    size_t alpn_bytes; /* makes the hello longer */
    long mtu_bytes;
};

struct dtls_peer {
    SSL_CTX *context;
    SSL *ssl;
    BIO *in;
    X509 *certificate;
    bool is_connected;
    bool is_dead;
    unsigned long error; /* of OpenSSL, when dead */
    size_t out_count;
    size_t out_len[DTLS_PEER_DATAGRAMS];
    uint8_t out[DTLS_PEER_DATAGRAMS][DTLS_PEER_BYTES];
    int data_len; /* of the last record read */
    uint8_t data[DTLS_PEER_BYTES];
};

static inline long dtls_peer_on_write(BIO *bio, int operation, const char *data, size_t len,
                                      int number, long argument, int result, size_t *processed)
{
    struct dtls_peer *peer = (struct dtls_peer *)BIO_get_callback_arg(bio);
    (void)number;
    (void)argument;
    (void)processed;
    if (operation == BIO_CB_WRITE && peer->out_count < DTLS_PEER_DATAGRAMS &&
        len <= DTLS_PEER_BYTES) {
        memcpy(peer->out[peer->out_count], data, len);
        peer->out_len[peer->out_count] = len;
        peer->out_count++;
    }
    return result;
}

static inline EVP_PKEY *dtls_peer_make_key(enum dtls_peer_key key)
{
    switch (key) {
    case DTLS_PEER_P256:
        return EVP_EC_gen("P-256");
    case DTLS_PEER_P384:
        return EVP_EC_gen("P-384");
    case DTLS_PEER_P521:
        return EVP_EC_gen("P-521");
    case DTLS_PEER_RSA1024:
        return EVP_RSA_gen(1024);
    case DTLS_PEER_RSA2048:
        return EVP_RSA_gen(2048);
    case DTLS_PEER_RSA4096:
        return EVP_RSA_gen(4096);
    case DTLS_PEER_ED25519:
        return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    }
    return NULL;
}

static inline void dtls_peer_pad_certificate(X509 *certificate, size_t padding)
{
    ASN1_IA5STRING *comment = ASN1_IA5STRING_new();
    uint8_t text[8192];
    assert_non_null(comment);
    assert_true(padding <= sizeof(text));
    memset(text, 'x', sizeof(text));
    assert_int_equal(ASN1_STRING_set(comment, text, (int)padding), 1);
    assert_int_equal(X509_add1_ext_i2d(certificate, NID_netscape_comment, comment, 0, 0), 1);
    ASN1_IA5STRING_free(comment);
}

static inline X509 *dtls_peer_make_certificate(EVP_PKEY *key, size_t padding)
{
    X509 *certificate = X509_new();
    assert_non_null(certificate);
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const uint8_t *)"peer", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_set_pubkey(certificate, key);
    if (padding > 0) {
        dtls_peer_pad_certificate(certificate, padding);
    }
    const EVP_MD *digest = EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519 ? NULL : EVP_sha256();
    assert_true(X509_sign(certificate, key, digest) > 0);
    return certificate;
}

static inline int dtls_peer_accept_any(int preverified, X509_STORE_CTX *store)
{
    (void)preverified;
    (void)store;
    return 1;
}

static inline int dtls_peer_make_cookie(SSL *ssl, unsigned char *cookie, unsigned *len)
{
    (void)ssl;
    memset(cookie, 0xc0, 20);
    *len = 20;
    return 1;
}

static inline int dtls_peer_check_cookie(SSL *ssl, const unsigned char *cookie, unsigned len)
{
    (void)ssl;
    return len == 20 && cookie[0] == 0xc0 && cookie[19] == 0xc0 ? 1 : 0;
}

static inline void dtls_peer_set_alpn(SSL *ssl, size_t bytes)
{
    uint8_t protocols[4096];
    assert_true(bytes <= sizeof(protocols));
    for (size_t at = 0; at < bytes; at += 64) {
        protocols[at] = 63;
        memset(protocols + at + 1, 'a' + (int)(at / 64 % 26), 63);
    }
    (void)SSL_set_alpn_protos(ssl, protocols, (unsigned)(bytes / 64 * 64));
}

/* Keys cost time: RSA ones are made once for a program. */
static inline EVP_PKEY *dtls_peer_key_of(enum dtls_peer_key key)
{
    static EVP_PKEY *made[DTLS_PEER_ED25519 + 1];
    if (made[key] == NULL) {
        made[key] = dtls_peer_make_key(key);
    }
    assert_non_null(made[key]);
    return made[key];
}

static inline void dtls_peer_open(struct dtls_peer *peer, const struct dtls_peer_config *config)
{
    EVP_PKEY *key = dtls_peer_key_of(config->key);
    *peer = (struct dtls_peer){.context = SSL_CTX_new(DTLS_method())};
    assert_non_null(peer->context);
    peer->certificate = dtls_peer_make_certificate(key, config->certificate_padding);
    SSL_CTX_set_security_level(peer->context, 0);
    SSL_CTX_set_options(peer->context, SSL_OP_NO_QUERY_MTU);
    SSL_CTX_set_verify(peer->context, SSL_VERIFY_PEER, dtls_peer_accept_any);
    if (config->ciphers != NULL) {
        assert_int_equal(SSL_CTX_set_cipher_list(peer->context, config->ciphers), 1);
    }
    if (config->srtp_profiles != NULL) {
        assert_int_equal(SSL_CTX_set_tlsext_use_srtp(peer->context, config->srtp_profiles), 0);
    }
    if (config->wants_cookie) {
        SSL_CTX_set_options(peer->context, SSL_OP_COOKIE_EXCHANGE);
        SSL_CTX_set_cookie_generate_cb(peer->context, dtls_peer_make_cookie);
        SSL_CTX_set_cookie_verify_cb(peer->context, dtls_peer_check_cookie);
    }
    assert_int_equal(SSL_CTX_use_certificate(peer->context, peer->certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(peer->context, key), 1);
    peer->ssl = SSL_new(peer->context);
    peer->in = BIO_new(BIO_s_mem());
    BIO *out = BIO_new(BIO_s_null());
    assert_non_null(peer->ssl);
    BIO_set_mem_eof_return(peer->in, -1);
    BIO_set_callback_ex(out, dtls_peer_on_write);
    BIO_set_callback_arg(out, (char *)peer);
    SSL_set_bio(peer->ssl, peer->in, out);
    SSL_set_mtu(peer->ssl, config->mtu_bytes == 0 ? 1200 : config->mtu_bytes);
    if (config->alpn_bytes > 0) {
        dtls_peer_set_alpn(peer->ssl, config->alpn_bytes);
    }
    if (config->is_server) {
        SSL_set_accept_state(peer->ssl);
    } else {
        SSL_set_connect_state(peer->ssl);
    }
}

static inline void dtls_peer_close(struct dtls_peer *peer)
{
    SSL_free(peer->ssl);
    SSL_CTX_free(peer->context);
    X509_free(peer->certificate);
}

/* Runs OpenSSL on what it has read. */
static inline void dtls_peer_run(struct dtls_peer *peer)
{
    ERR_clear_error();
    int result = SSL_do_handshake(peer->ssl);
    if (result == 1) {
        peer->is_connected = true;
        result = SSL_read(peer->ssl, peer->data, sizeof(peer->data));
        if (result > 0) {
            peer->data_len = result;
            return;
        }
    }
    const int error = SSL_get_error(peer->ssl, result);
    if (error != SSL_ERROR_WANT_READ) {
        peer->is_dead = true;
        peer->error = ERR_peek_error();
    }
}

static inline void dtls_peer_input(struct dtls_peer *peer, struct bytes_view datagram)
{
    assert_int_equal(BIO_write(peer->in, datagram.data, (int)datagram.len), datagram.len);
    dtls_peer_run(peer);
}

#endif
