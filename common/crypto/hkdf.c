/* hkdf.c - see hkdf.h */
#include "common/crypto/hkdf.h"

#include "common/crypto/evp_methods.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/kdf.h>

/* OSSL_PARAM holds pointers to memory that is only read here, but its type is not const. */
static OSSL_PARAM octets(const char *name, struct bytes_view view)
{
    static const uint8_t empty[1];
    const uint8_t *data = view.len > 0 ? view.data : empty;
    return OSSL_PARAM_construct_octet_string(name, (void *)(uintptr_t)data, view.len);
}

void hkdf_sha256(struct bytes_view secret, struct bytes_view salt, struct bytes_view info,
                 uint8_t *out, size_t out_len)
{
    assert(out_len > 0);
    assert(out_len <= HKDF_OUT_BYTES_MAX);
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        octets(OSSL_KDF_PARAM_KEY, secret),
        octets(OSSL_KDF_PARAM_SALT, salt),
        octets(OSSL_KDF_PARAM_INFO, info),
        OSSL_PARAM_construct_end(),
    };
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(evp_methods()->hkdf);
    evp_require(context != NULL, "HKDF context");
    evp_require(EVP_KDF_derive(context, out, out_len, params) == 1, "HKDF");
    EVP_KDF_CTX_free(context);
}
