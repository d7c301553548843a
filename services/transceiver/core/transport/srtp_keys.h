/*
 * srtp_keys.h - what a DTLS handshake gives to SRTP (RFC 5764)
 *
 * Secret: whoever takes a value cleanses it after use.
 */
#ifndef EARSHOT_SRTP_KEYS_H
#define EARSHOT_SRTP_KEYS_H

#include <stdint.h>

#define SRTP_KEYS_KEY_BYTES      16
#define SRTP_KEYS_SALT_BYTES_MAX 14

/* The numbers of the use_srtp extension: RFC 5764 s.4.1.2, RFC 7714 s.14.2. */
enum srtp_profile {
    SRTP_PROFILE_NONE = 0,              /* the peer did not negotiate SRTP: data channel only */
    SRTP_PROFILE_AES128_CM_SHA1_80 = 1, /* salt of 14 bytes, tag of 10 */
    SRTP_PROFILE_AEAD_AES_128_GCM = 7   /* salt of 12 bytes, tag of 16 */
};

struct srtp_master_key {
    uint8_t key[SRTP_KEYS_KEY_BYTES];
    uint8_t salt[SRTP_KEYS_SALT_BYTES_MAX];
};

struct srtp_keys {
    enum srtp_profile profile;
    struct srtp_master_key send;
    struct srtp_master_key receive;
};

#endif
