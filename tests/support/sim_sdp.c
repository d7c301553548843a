/* sim_sdp.c - see sim_sdp.h */
#include "tests/support/sim_sdp.h"

#include "services/transceiver/core/transport/dtls_identity.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void sim_sdp_write_offer(const struct sim_sdp_offer *offer, char *out, size_t cap)
{
    static const char red[] = "a=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\n";
    static const char data[] = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n"
                               "c=IN IP4 0.0.0.0\r\na=mid:1\r\na=sctp-port:5000\r\n"
                               "a=max-message-size:262144\r\n";
    static const char setup[2][8] = {"actpass", "active"};
    char fingerprint[3 * DTLS_IDENTITY_FINGERPRINT_BYTES + 1];
    for (size_t i = 0; i < DTLS_IDENTITY_FINGERPRINT_BYTES; i++) {
        (void)snprintf(fingerprint + 3 * i, 4, "%02X:", offer->fingerprint[i]);
    }
    fingerprint[3 * DTLS_IDENTITY_FINGERPRINT_BYTES - 1] = '\0';
    const int len =
        snprintf(out, cap,
                 "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0%s\r\n"
                 "m=audio 9 UDP/TLS/RTP/SAVPF 111%s\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n"
                 "a=ice-ufrag:%s\r\na=ice-pwd:%s\r\na=fingerprint:sha-256 %s\r\n"
                 "a=setup:%s\r\na=%s\r\na=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\n"
                 "a=fmtp:111 minptime=10;useinbandfec=1\r\n%s%s%s",
                 offer->has_data ? " 1" : "", offer->has_red ? " 63" : "", offer->ufrag, offer->pwd,
                 fingerprint, setup[offer->is_dtls_client],
                 offer->direction == NULL ? "sendrecv" : offer->direction,
                 offer->has_nack ? "a=rtcp-fb:111 nack\r\n" : "", offer->has_red ? red : "",
                 offer->has_data ? data : "");
    assert(len > 0 && (size_t)len < cap);
    (void)len;
}

/* What stands between `before` and the next blank or line end. */
static bool find_word(const char *text, const char *before, char *word, size_t cap)
{
    const char *found = strstr(text, before);
    if (found == NULL) {
        return false;
    }
    found += strlen(before);
    const size_t len = strcspn(found, " \r\n");
    if (len >= cap) {
        return false;
    }
    memcpy(word, found, len);
    word[len] = '\0';
    return true;
}

static bool read_candidate(const char *text, struct net_addr *out)
{
    char ip[64];
    unsigned port = 0;
    const char *found = strstr(text, "a=candidate:");
    return found != NULL &&
           sscanf(found, "a=candidate:%*s 1 udp %*u %63s %u typ host", ip, &port) == 2 &&
           net_addr_parse_ip(ip, (uint16_t)port, out);
}

static bool read_fingerprint(const char *text, struct dtls_fingerprint *out)
{
    const char *found = strstr(text, "a=fingerprint:sha-256 ");
    if (found == NULL) {
        return false;
    }
    found += strlen("a=fingerprint:sha-256 ");
    out->hash = DTLS_HASH_SHA256;
    for (size_t i = 0; i < DTLS_IDENTITY_FINGERPRINT_BYTES; i++) {
        if (!bytes_from_hex(bytes_view_of(found + 3 * i, 2), &out->digest[i], 1)) {
            return false;
        }
    }
    return true;
}

bool sim_sdp_read_answer(struct bytes_view sdp, struct sim_sdp_answer *out)
{
    char text[16384];
    char setup[16];
    char first_codec[8];
    *out = (struct sim_sdp_answer){0};
    assert(sdp.len < sizeof(text));
    memcpy(text, sdp.data, sdp.len);
    text[sdp.len] = '\0';
    if (!find_word(text, "a=ice-ufrag:", out->ufrag, sizeof(out->ufrag)) ||
        !find_word(text, "a=ice-pwd:", out->pwd, sizeof(out->pwd)) ||
        !find_word(text, "a=setup:", setup, sizeof(setup)) ||
        !find_word(text, "UDP/TLS/RTP/SAVPF ", first_codec, sizeof(first_codec)) ||
        !read_candidate(text, &out->server) || !read_fingerprint(text, &out->fingerprint)) {
        return false;
    }
    out->is_active = strcmp(setup, "active") == 0;
    out->prefers_red = strcmp(first_codec, "63") == 0;
    out->has_data = strstr(text, "m=application 9 ") != NULL;
    out->has_nack = strstr(text, "a=rtcp-fb:111 nack\r\n") != NULL;
    return true;
}

bool sim_sdp_read_credentials(struct bytes_view fragment, struct sim_sdp_answer *out)
{
    char text[1024];
    assert(fragment.len < sizeof(text));
    memcpy(text, fragment.data, fragment.len);
    text[fragment.len] = '\0';
    return find_word(text, "a=ice-ufrag:", out->ufrag, sizeof(out->ufrag)) &&
           find_word(text, "a=ice-pwd:", out->pwd, sizeof(out->pwd));
}
