/*
 * sdp_offer.h - what an SDP offer (RFC 8866, RFC 9429) means for a call
 *
 * Takes:   the offer's bytes, as they came from a stranger.
 * Gives:   a value without pointers into the offer, or a refusal with a reason for a person.
 * Bounds:  64 KB, 1,000 lines, 4 KB a line, 8 sections, 64 codecs, extmaps and candidates a
 *          section: at the limit accepted, above it refused. Fingerprints beyond four are ignored.
 * Rules:   a live audio section must be usable: one without rtcp-mux and a codec of ours refuses
 *          the offer unless another can be used. Candidates are never needed, so none is kept: the
 *          client's addresses are learnt from its checks.
 * Not here: the grammar of lines (sdp_parser.h), our answer (sdp_answer.h).
 */
#ifndef EARSHOT_SDP_OFFER_H
#define EARSHOT_SDP_OFFER_H

#include "common/base/bytes.h"
#include "services/transceiver/core/voice_codec.h"

#define SDP_BYTES_MAX        65536
#define SDP_SECTIONS_MAX     8
#define SDP_MID_CHARS_MAX    32
#define SDP_UFRAG_CHARS_MAX  256
#define SDP_PWD_CHARS_MAX    256
#define SDP_FINGERPRINTS_MAX 4
#define SDP_REASON_CAP       128
#define SDP_NO_PAYLOAD_TYPE  255

enum sdp_offer_result {
    SDP_OFFER_OK,
    SDP_OFFER_BAD,            /* refused as bad_offer */
    SDP_OFFER_NO_COMMON_CODEC /* refused as no_common_codec */
};

enum sdp_media { SDP_MEDIA_AUDIO, SDP_MEDIA_VIDEO, SDP_MEDIA_APPLICATION, SDP_MEDIA_OTHER };
enum sdp_direction { SDP_SENDRECV, SDP_SENDONLY, SDP_RECVONLY, SDP_INACTIVE };
enum sdp_setup { SDP_SETUP_ACTPASS, SDP_SETUP_ACTIVE, SDP_SETUP_PASSIVE };
enum sdp_hash { SDP_SHA256, SDP_SHA384, SDP_SHA512 };

struct sdp_fingerprint {
    enum sdp_hash hash;
    uint8_t digest[64]; /* 32, 48 or 64 bytes, by hash */
};

/* One m-section, in the offer's order. The words are tokens: nothing else of the offer's text may
 * stand in the answer. */
struct sdp_section {
    enum sdp_media media;
    char media_word[16];             /* "audio", "video", "application", ... */
    char protocol[32];               /* "UDP/TLS/RTP/SAVPF", ... */
    char format[32];                 /* the m-line's first: repeated when the section is refused */
    char mid[SDP_MID_CHARS_MAX + 1]; /* empty when absent */
    bool is_accepted;                /* the one audio or the one data section that is used */
    enum sdp_direction direction;    /* the client's */
};

struct sdp_offer {
    struct sdp_section section[SDP_SECTIONS_MAX];
    size_t section_count;
    /* The sections that the BUNDLE group names, in its order; none when there is no group. */
    uint8_t bundle[SDP_SECTIONS_MAX];
    size_t bundle_count;
    /* The first accepted one with a port, in the group's order: its transport is the call's. */
    size_t transport_section;

    /* Of the transport section, each falling back to the session level. */
    char ice_ufrag[SDP_UFRAG_CHARS_MAX + 1];
    char ice_pwd[SDP_PWD_CHARS_MAX + 1];
    enum sdp_setup setup; /* absent: actpass, as browsers read it */
    struct sdp_fingerprint fingerprint[SDP_FINGERPRINTS_MAX];
    size_t fingerprint_count;
    bool offers_sped; /* DTLS inside STUN (fast set-up) */

    bool has_audio;
    enum voice_codec audio_codec; /* the first of ours in the m-line: sdp_audio.h */
    uint8_t audio_payload_type;
    bool has_red;
    uint8_t red_payload_type; /* for the Opus above; SDP_NO_PAYLOAD_TYPE without */
    bool has_telephone_event;
    uint8_t telephone_event_payload_type; /* of the codec's clock; likewise */
    bool has_nack;                        /* a=rtcp-fb of the codec: we may be asked again */
    uint8_t extmap_audio_level;           /* id 1..14, 0 = not offered both ways (RFC 6464) */
    uint8_t extmap_mid;                   /* id 1..14, 0 = not offered both ways */
    bool has_rtcp_rsize;
    bool has_extmap_allow_mixed;
    bool has_ssrc;
    uint32_t ssrc; /* the first a=ssrc of the audio section */

    bool has_data;
    uint16_t sctp_port;
    bool is_legacy_sctpmap;     /* m=application P DTLS/SCTP 5000 with a=sctpmap */
    uint64_t max_message_bytes; /* 0 = no limit; absent = 65,536 */
};

/* `accept_data` false: data sections are answered with port 0, and an offer with nothing else is
 * refused. reason: one line for a person, without any byte of the offer in it; always fits
 * SDP_REASON_CAP. `out` holds nothing to rely on after a refusal. */
enum sdp_offer_result sdp_offer_parse(struct bytes_view text, bool accept_data,
                                      struct sdp_offer *out, char *reason, size_t reason_cap);

#endif
