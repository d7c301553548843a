/* sctp_cookie.c - see sctp_cookie.h */
#include "services/transceiver/core/transport/sctp/sctp_cookie.h"

#include <assert.h>
#include <openssl/crypto.h>

#define PLAIN_BYTES (SCTP_COOKIE_BYTES - HMAC_SHA1_BYTES)
#define KEY_BYTES   32

enum { FLAG_FORWARD_TSN = 1, FLAG_RE_CONFIG = 2, FLAG_ZERO_CHECKSUM = 4 };

void sctp_cookie_init(struct sctp_cookie_key *key, struct random_source random)
{
    uint8_t secret[KEY_BYTES];
    random_fill(random, secret, sizeof(secret));
    hmac_sha1_key_init(&key->mac, bytes_view_of(secret, sizeof(secret)));
    OPENSSL_cleanse(secret, sizeof(secret));
}

void sctp_cookie_wipe(struct sctp_cookie_key *key)
{
    hmac_sha1_key_wipe(&key->mac);
}

static void write_end(struct byte_writer *w, const struct sctp_init *init)
{
    byte_writer_u32(w, init->tag);
    byte_writer_u32(w, init->a_rwnd);
    byte_writer_u16(w, init->out_streams);
    byte_writer_u16(w, init->in_streams);
    byte_writer_u32(w, init->tsn);
    byte_writer_u8(w, (uint8_t)((init->has_forward_tsn ? FLAG_FORWARD_TSN : 0U) |
                                (init->has_re_config ? FLAG_RE_CONFIG : 0U) |
                                (init->has_zero_checksum ? FLAG_ZERO_CHECKSUM : 0U)));
}

static void read_end(struct byte_reader *r, struct sctp_init *out)
{
    out->tag = byte_reader_u32(r);
    out->a_rwnd = byte_reader_u32(r);
    out->out_streams = byte_reader_u16(r);
    out->in_streams = byte_reader_u16(r);
    out->tsn = byte_reader_u32(r);
    const unsigned flags = byte_reader_u8(r);
    out->has_forward_tsn = (flags & FLAG_FORWARD_TSN) != 0;
    out->has_re_config = (flags & FLAG_RE_CONFIG) != 0;
    out->has_zero_checksum = (flags & FLAG_ZERO_CHECKSUM) != 0;
}

void sctp_cookie_seal(const struct sctp_cookie_key *key, const struct sctp_cookie *cookie,
                      uint8_t out[SCTP_COOKIE_BYTES])
{
    struct byte_writer w;
    byte_writer_init(&w, out, PLAIN_BYTES);
    byte_writer_u64(&w, cookie->sealed_us);
    write_end(&w, &cookie->ours);
    write_end(&w, &cookie->theirs);
    assert(!w.failed);
    assert(w.len == PLAIN_BYTES);
    const struct bytes_view plain = bytes_view_of(out, PLAIN_BYTES);
    hmac_sha1(&key->mac, &plain, 1, out + PLAIN_BYTES);
}

enum sctp_cookie_result sctp_cookie_open(const struct sctp_cookie_key *key, struct bytes_view bytes,
                                         struct sctp_cookie *out, uint64_t now_us)
{
    uint8_t mac[HMAC_SHA1_BYTES];
    struct byte_reader r;
    if (bytes.len != SCTP_COOKIE_BYTES) {
        return SCTP_COOKIE_FORGED;
    }
    const struct bytes_view plain = bytes_view_of(bytes.data, PLAIN_BYTES);
    hmac_sha1(&key->mac, &plain, 1, mac);
    if (!bytes_equal_constant_time(bytes_view_of(mac, sizeof(mac)),
                                   bytes_view_of(bytes.data + PLAIN_BYTES, HMAC_SHA1_BYTES))) {
        return SCTP_COOKIE_FORGED;
    }
    byte_reader_init(&r, plain);
    out->sealed_us = byte_reader_u64(&r);
    read_end(&r, &out->ours);
    read_end(&r, &out->theirs);
    return time_since(out->sealed_us, now_us) <= SCTP_COOKIE_LIFE_US ? SCTP_COOKIE_OK
                                                                     : SCTP_COOKIE_STALE;
}
