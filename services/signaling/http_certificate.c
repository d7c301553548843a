/* http_certificate.c - see http_certificate.h */
#include "services/signaling/http_certificate.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A key with a pass phrase would make OpenSSL ask a terminal for it. */
static int no_pass_phrase(char *text, int cap, int is_writing, void *context)
{
    (void)text;
    (void)cap;
    (void)is_writing;
    (void)context;
    return 0;
}

/* RFC 7301: a client that names protocols speaks ours, or none. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *offered, unsigned offered_len, void *context)
{
    static const unsigned char ours[] = "\x08http/1.1";
    (void)ssl;
    (void)context;
    unsigned char *chosen = NULL;
    const int result =
        SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, offered, offered_len);
    *out = chosen;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static bool set_rules(SSL_CTX *context)
{
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                     SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(context, no_pass_phrase);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_num_tickets(context, 0) == 1 &&
           SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

static bool check_file(const char *path, bool is_secret, struct fault *fault)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return fault_set(fault, FAULT_SYSTEM, "tls %s: %s", path, strerror(errno));
    }
    if (is_secret && (status.st_mode & S_IRWXO) != 0) {
        return fault_set(fault, FAULT_CONFIG, "tls %s: others may read this key: chmod o= it",
                         path);
    }
    return true;
}

static bool library_fault(struct fault *fault, const char *path, const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    return fault_set(fault, FAULT_CONFIG, "tls %s: %s (%s)", path, what,
                     reason != NULL ? reason : "no reason given");
}

static bool load_files(SSL_CTX *context, const char *certificate, const char *key,
                       struct fault *fault)
{
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1) {
        return library_fault(fault, certificate, "not a certificate in PEM");
    }
    if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        return library_fault(fault, key, "not the certificate's key in PEM, without pass phrase");
    }
    return true;
}

static uint64_t expiry_of(const SSL_CTX *context)
{
    struct tm utc = {0};
    const X509 *certificate = SSL_CTX_get0_certificate(context);
    const bool is_known =
        certificate != NULL && ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &utc) == 1;
    const time_t seconds = is_known ? timegm(&utc) : 0;
    return seconds > 0 ? (uint64_t)seconds : 0;
}

SSL_CTX *http_certificate_load(const char *certificate, const char *key, uint64_t *expiry_s,
                               struct fault *fault)
{
    if (!check_file(certificate, false, fault) || !check_file(key, true, fault)) {
        return NULL;
    }
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context == NULL || !set_rules(context)) {
        (void)fault_set(fault, FAULT_LIBRARY, "tls: OpenSSL does not start");
        SSL_CTX_free(context);
        return NULL;
    }
    if (!load_files(context, certificate, key, fault)) {
        SSL_CTX_free(context);
        return NULL;
    }
    *expiry_s = expiry_of(context);
    return context;
}
