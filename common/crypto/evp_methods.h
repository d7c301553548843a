/*
 * evp_methods.h - the ciphers, digest and KDF of libcrypto, fetched once for the process
 *
 * Inside this room only: it shows OpenSSL types. A fetch costs as much as a hundred packets, so it
 * happens at the first use; the methods are shared read-only between threads and never freed.
 * Fails:   a libcrypto without one of them, or one that refuses a call with a good key, ends the
 *          process with one line: nothing may go on with a cipher that does not work.
 */
#ifndef EARSHOT_EVP_METHODS_H
#define EARSHOT_EVP_METHODS_H

#include <openssl/evp.h>
#include <stdbool.h>

struct evp_methods {
    EVP_CIPHER *aes_128_ecb;
    EVP_CIPHER *aes_128_gcm;
    EVP_CIPHER *aes_256_gcm;
    EVP_MD *sha256;
    EVP_KDF *hkdf;
};

const struct evp_methods *evp_methods(void);

/* Ends the process, naming the operation, unless `worked`. */
void evp_require(bool worked, const char *operation);

#endif
