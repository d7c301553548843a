/* tls_world.h - certificates made on the spot and a TLS client, for http_world.h */
#ifndef EARSHOT_TESTS_TLS_WORLD_H
#define EARSHOT_TESTS_TLS_WORLD_H

#include "tests/unit/socket_world.h"

#include "services/signaling/http_tls.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct {
    char folder[64];
    SSL_CTX *client;
} tls;

/* --- certificates ----------------------------------------------------------------------------- */

static inline void tls_path(const char *name, char out[HTTP_FILE_CAP])
{
    (void)snprintf(out, HTTP_FILE_CAP, "%s/%s", tls.folder, name);
}

static inline FILE *tls_create(const char *name)
{
    char path[HTTP_FILE_CAP];
    tls_path(name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0600), 0);
    return file;
}

/* NAME.crt and NAME.key, valid for an hour; its common name tells one from another. */
static inline void tls_make(const char *name, const char *common_name)
{
    char file[64];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    assert_non_null(key);
    assert_true(X509_set_version(certificate, X509_VERSION_3));
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)common_name, -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    (void)snprintf(file, sizeof(file), "%s.crt", name);
    FILE *out = tls_create(file);
    assert_true(PEM_write_X509(out, certificate));
    (void)fclose(out);
    (void)snprintf(file, sizeof(file), "%s.key", name);
    out = tls_create(file);
    assert_true(PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL));
    (void)fclose(out);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static inline int tls_open_world(void **state)
{
    (void)socket_open_world(state);
    memcpy(tls.folder, "/tmp/earshot-tls-XXXXXX", sizeof("/tmp/earshot-tls-XXXXXX"));
    assert_non_null(mkdtemp(tls.folder));
    tls_make("server", "first");
    http_server_destroy(world.http);
    struct http_server_config config = world.config;
    config.header_timeout_us = WORLD_PATIENT_US;
    config.request_timeout_us = WORLD_PATIENT_US;
    config.idle_timeout_us = WORLD_PATIENT_US;
    tls_path("server.crt", config.tls_certificate);
    tls_path("server.key", config.tls_key);
    world_open_with(&config);
    tls.client = SSL_CTX_new(TLS_client_method());
    return 0;
}

static inline int tls_close_world(void **state)
{
    char command[128];
    (void)world_close(state);
    SSL_CTX_free(tls.client);
    (void)snprintf(command, sizeof(command), "rm -r %s", tls.folder);
    assert_int_equal(system(command), 0);
    return 0;
}

/* --- the client ------------------------------------------------------------------------------- */

/* NULL when the server does not want him. */
static inline SSL *tls_connect_with(SSL *ssl)
{
    const int fd = world_connect("");
    const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;
    assert_int_equal(SSL_set_fd(ssl, fd), 1);
    int result = -1;
    while (result != 1) {
        assert_true(clock_now_us() < give_up_us);
        assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
        result = SSL_connect(ssl);
        const int error = SSL_get_error(ssl, result);
        if (result != 1 && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
            SSL_free(ssl);
            (void)close(fd);
            return NULL;
        }
        world_turn();
    }
    return ssl;
}

static inline SSL *tls_connect(void)
{
    SSL *ssl = tls_connect_with(SSL_new(tls.client));
    assert_non_null(ssl);
    return ssl;
}

static inline void tls_close(SSL *ssl)
{
    const int fd = SSL_get_fd(ssl);
    SSL_free(ssl);
    (void)close(fd);
}

static inline void tls_send(SSL *ssl, const void *data, size_t len)
{
    const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;
    while (SSL_write(ssl, data, (int)len) != (int)len) {
        assert_true(clock_now_us() < give_up_us);
        world_turn();
    }
}

static inline void tls_send_text(SSL *ssl, const char *text)
{
    tls_send(ssl, text, strlen(text));
}

/* At most cap bytes of what has come when it holds `enough` or has ended. */
static inline size_t tls_read(SSL *ssl, char *text, size_t cap, const char *enough)
{
    const uint64_t give_up_us = clock_now_us() + WORLD_PATIENCE_US;
    size_t len = 0;
    text[0] = '\0';
    while (len < cap - 1 && (enough == NULL || strstr(text, enough) == NULL)) {
        assert_true(clock_now_us() < give_up_us);
        const int got = SSL_read(ssl, text + len, (int)(cap - 1 - len));
        if (got <= 0) {
            const int error = SSL_get_error(ssl, got);
            if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
                break;
            }
            world_turn();
        }
        len += got > 0 ? (size_t)got : 0;
        text[len] = '\0';
    }
    return len;
}

static inline const char *tls_answer(SSL *ssl, const char *enough)
{
    (void)tls_read(ssl, world.answer, sizeof(world.answer), enough);
    return world.answer;
}

#define TLS_TEST(name) cmocka_unit_test_setup_teardown(name, tls_open_world, tls_close_world)

#endif
