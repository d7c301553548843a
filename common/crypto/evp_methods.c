/* evp_methods.c - see evp_methods.h */
#include "common/crypto/evp_methods.h"

#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct evp_methods methods;
static pthread_once_t fetched = PTHREAD_ONCE_INIT;

void evp_require(bool worked, const char *operation)
{
    if (!worked) {
        (void)fprintf(stderr, "libcrypto: %s failed\n", operation);
        abort();
    }
}

static void fetch(void)
{
    /* The openssl.cnf of a host must not change which ciphers we get. */
    evp_require(OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1, "start");
    methods.aes_128_ecb = EVP_CIPHER_fetch(NULL, "AES-128-ECB", NULL);
    methods.aes_128_gcm = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    methods.aes_256_gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    methods.sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    methods.hkdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    evp_require(methods.aes_128_ecb != NULL, "fetch of AES-128-ECB");
    evp_require(methods.aes_128_gcm != NULL, "fetch of AES-128-GCM");
    evp_require(methods.aes_256_gcm != NULL, "fetch of AES-256-GCM");
    evp_require(methods.sha256 != NULL, "fetch of SHA256");
    evp_require(methods.hkdf != NULL, "fetch of HKDF");
}

const struct evp_methods *evp_methods(void)
{
    evp_require(pthread_once(&fetched, fetch) == 0, "pthread_once");
    return &methods;
}
