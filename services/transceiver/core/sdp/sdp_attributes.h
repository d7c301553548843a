/*
 * sdp_attributes.h - what the a= lines of one section, or of the session level, say
 *
 * Takes:   attribute lines in any order; unknown ones say nothing.
 * Gives:   plain values. mid, ice_ufrag, ice_pwd and bundle borrow from the offer.
 * Bounds:  SDP_ENTRIES_MAX codecs, extmaps and candidates each.
 * Fails:   with one line for a person, a constant without any byte of the offer in it.
 * Not here: which section is used, and what the session level stands in for (sdp_offer.h).
 */
#ifndef EARSHOT_SDP_ATTRIBUTES_H
#define EARSHOT_SDP_ATTRIBUTES_H

#include "services/transceiver/core/sdp/sdp_offer.h"
#include "services/transceiver/core/sdp/sdp_parser.h"

#define SDP_ENTRIES_MAX      64
#define SDP_PAYLOAD_TYPE_MAX 127

enum sdp_codec {
    SDP_CODEC_OTHER,
    SDP_CODEC_OPUS,
    SDP_CODEC_PCMU,
    SDP_CODEC_PCMA,
    SDP_CODEC_RED,
    SDP_CODEC_TELEPHONE_EVENT_8KHZ,
    SDP_CODEC_TELEPHONE_EVENT_48KHZ
};

struct sdp_attributes {
    struct bytes_view mid;
    bool is_bundle_only;
    bool has_bundle;
    struct bytes_view bundle; /* the mids of the group, between blanks */

    struct bytes_view ice_ufrag;
    struct bytes_view ice_pwd;
    bool is_ice_lite;
    bool offers_sped;
    bool has_setup;
    enum sdp_setup setup;
    struct sdp_fingerprint fingerprint[SDP_FINGERPRINTS_MAX];
    size_t fingerprint_count;
    size_t candidate_count;

    bool has_direction;
    enum sdp_direction direction;
    bool has_rtcp_mux;
    bool has_rtcp_rsize;
    bool has_extmap_allow_mixed;
    bool has_ssrc;
    uint32_t ssrc;

    /* By payload type; 0 and 8 are G.711 unless a line says otherwise (RFC 3551 s.6). */
    enum sdp_codec codec[SDP_PAYLOAD_TYPE_MAX + 1];
    /* The one payload type in the blocks of a RED payload type, or SDP_NO_PAYLOAD_TYPE. */
    uint8_t red_block[SDP_PAYLOAD_TYPE_MAX + 1];
    bool has_nack[SDP_PAYLOAD_TYPE_MAX + 1]; /* generic NACK, RFC 4585 s.4.2 */
    size_t codec_count;
    uint8_t extmap_audio_level;
    uint8_t extmap_mid;
    size_t extmap_count;

    uint16_t sctp_port;
    uint16_t sctpmap_port; /* of the legacy form with webrtc-datachannel; 0 = absent */
    uint64_t max_message_bytes;
};

void sdp_attributes_init(struct sdp_attributes *a);
/* NULL, or why the offer must be refused. */
const char *sdp_attributes_take(struct sdp_attributes *a, const struct sdp_line *line);

#endif
