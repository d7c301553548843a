/* sdp_samples.h - pieces of offers, and a text that grows, for the tests of the sdp room */
#ifndef EARSHOT_SDP_SAMPLES_H
#define EARSHOT_SDP_SAMPLES_H

#include "services/transceiver/core/sdp/sdp_answer.h"

#define SHA256_DIGEST                                                                              \
    "0B:30:55:7A:9F:C4:E9:0E:33:58:7D:A2:C7:EC:11:36:5B:80:A5:CA:EF:14:39:5E:83:A8:CD:F2:17:3C:"   \
    "61:86"

#define SESSION        "v=0\r\no=- 4711 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
#define UFRAG          "a=ice-ufrag:Ab3+\r\n"
#define PWD            "a=ice-pwd:0123456789abcdefghij+/\r\n"
#define FINGERPRINT    "a=fingerprint:sha-256 " SHA256_DIGEST "\r\n"
#define SETUP          "a=setup:actpass\r\n"
#define TRANSPORT      UFRAG PWD FINGERPRINT SETUP
#define OPUS           "a=rtpmap:111 opus/48000/2\r\n"
#define MUX            "a=rtcp-mux\r\n"
#define AUDIO_M        "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"
#define AUDIO          AUDIO_M TRANSPORT MUX OPUS
#define AUDIO_MID(mid) AUDIO "a=mid:" mid "\r\n"
#define VIDEO_MID(mid)                                                                             \
    "m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=rtpmap:96 VP8/90000\r\n" TRANSPORT MUX "a=mid:" mid "\r"  \
    "\n"
#define DATA_M        "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n"
#define DATA          DATA_M TRANSPORT "a=sctp-port:5000\r\n"
#define DATA_MID(mid) DATA "a=mid:" mid "\r\n"
#define BUNDLE(mids)  "a=group:BUNDLE " mids "\r\n"
#define BOTH          SESSION BUNDLE("0 1") AUDIO_MID("0") DATA_MID("1")

/* Text of up to twice the largest offer. */
struct sample_text {
    char text[2 * SDP_BYTES_MAX];
    size_t len;
};

static inline void sample_add(struct sample_text *t, const char *text)
{
    const size_t len = strlen(text);
    if (len < sizeof(t->text) - t->len) {
        memcpy(t->text + t->len, text, len + 1);
        t->len += len;
    }
}

static inline void sample_add_times(struct sample_text *t, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sample_add(t, text);
    }
}

static inline struct bytes_view sample_view(const struct sample_text *t)
{
    return bytes_view_of(t->text, t->len);
}

/* What a transceiver behind two relays would answer with. */
static inline struct sdp_answer sample_answer(const struct sdp_offer *offer)
{
    struct sdp_answer answer = {
        .origin_id = UINT64_C(4611731400430051336),
        .ice_ufrag = "H5NdZDc2lJmCIcFu0G39oFA",
        .ice_pwd = "m8Jt0vQ4yL2cX6nB1rK5sD9f",
        .setup_active = offer->setup != SDP_SETUP_ACTIVE,
        .ssrc = 305441741,
        .max_message_bytes = 262144,
    };
    static const struct {
        const char *address;
        bool is_tcp;
    } candidate[] = {
        {"203.0.113.10:3478", false},
        {"[2001:db8::10]:3478", false},
        {"203.0.113.10:443", true},
        {"[2001:db8::10]:443", true},
    };
    for (size_t i = 0; i < COUNT_OF(candidate); i++) {
        struct sdp_candidate *c = &answer.candidate[answer.candidate_count];
        c->is_tcp = candidate[i].is_tcp;
        answer.candidate_count += net_addr_parse(candidate[i].address, &c->address);
    }
    for (size_t i = 0; i < sizeof(answer.fingerprint_sha256); i++) {
        answer.fingerprint_sha256[i] = (uint8_t)(0x5d + 0x2b * i);
    }
    return answer;
}

#endif
