/* sha256.c - see sha256.h */
#include "common/crypto/sha256.h"

#include "common/crypto/evp_methods.h"

void sha256(struct bytes_view message, uint8_t out[SHA256_BYTES])
{
    evp_require(EVP_Digest(message.data, message.len, out, NULL, evp_methods()->sha256, NULL) == 1,
                "SHA-256");
}
