/* sdp_attributes.c - see sdp_attributes.h: one small function per attribute */
#include "services/transceiver/core/sdp/sdp_attributes.h"

/* RFC 8839 s.5.4: ufrag of 4 to 256, pwd of 22 to 256 ice-chars. */
#define UFRAG_CHARS_MIN 4
#define PWD_CHARS_MIN   22

/* RFC 8285 s.4.2: the ids that a one-byte header can carry. */
#define EXTMAP_ID_MAX 14

/* RFC 3551 s.6: what these mean without a line that says so. */
#define PCMU_PAYLOAD_TYPE 0
#define PCMA_PAYLOAD_TYPE 8

/* RFC 8841 s.6.1: the size when the attribute is absent. */
#define MAX_MESSAGE_BYTES_DEFAULT 65536

/* By RFC 8841 s.5.1 a section without the port is invalid; libwebrtc assumes this one. */
#define SCTP_PORT_DEFAULT 5000

/* Attributes without a value, and where each is noted. */
static const struct {
    const char *name;
    size_t offset;
} known_flag[] = {
    {"bundle-only", offsetof(struct sdp_attributes, is_bundle_only)},
    {"ice-lite", offsetof(struct sdp_attributes, is_ice_lite)},
    {"rtcp-mux", offsetof(struct sdp_attributes, has_rtcp_mux)},
    {"rtcp-rsize", offsetof(struct sdp_attributes, has_rtcp_rsize)},
    {"extmap-allow-mixed", offsetof(struct sdp_attributes, has_extmap_allow_mixed)},
};

static const struct {
    const char *name;
    enum sdp_direction direction;
} known_direction[] = {
    {"sendrecv", SDP_SENDRECV},
    {"sendonly", SDP_SENDONLY},
    {"recvonly", SDP_RECVONLY},
    {"inactive", SDP_INACTIVE},
};

typedef const char *attribute_handler(struct sdp_attributes *a, struct bytes_view value);

static const char *on_mid(struct sdp_attributes *a, struct bytes_view value)
{
    if (a->mid.len > 0) {
        return "a section has two a=mid lines";
    }
    if (!sdp_parser_is_token(value) || value.len > SDP_MID_CHARS_MAX) {
        return "a=mid is not a token of 1 to 32 characters";
    }
    a->mid = value;
    return NULL;
}

static const char *on_group(struct sdp_attributes *a, struct bytes_view value)
{
    if (!sdp_parser_is(sdp_parser_take_word(&value), "BUNDLE")) {
        return NULL;
    }
    if (a->has_bundle) {
        return "two BUNDLE groups would need two transports";
    }
    a->has_bundle = true;
    a->bundle = value;
    return NULL;
}

static bool is_credential(struct bytes_view value, size_t chars_min, size_t chars_max)
{
    return value.len >= chars_min && value.len <= chars_max && sdp_parser_is_ice_chars(value);
}

static const char *on_ice_ufrag(struct sdp_attributes *a, struct bytes_view value)
{
    if (a->ice_ufrag.len > 0) {
        return "a section has two a=ice-ufrag lines";
    }
    if (!is_credential(value, UFRAG_CHARS_MIN, SDP_UFRAG_CHARS_MAX)) {
        return "a=ice-ufrag is not 4 to 256 letters, digits, + or /";
    }
    a->ice_ufrag = value;
    return NULL;
}

static const char *on_ice_pwd(struct sdp_attributes *a, struct bytes_view value)
{
    if (a->ice_pwd.len > 0) {
        return "a section has two a=ice-pwd lines";
    }
    if (!is_credential(value, PWD_CHARS_MIN, SDP_PWD_CHARS_MAX)) {
        return "a=ice-pwd is not 22 to 256 letters, digits, + or /";
    }
    a->ice_pwd = value;
    return NULL;
}

/* The draft's word and those of libwebrtc, from 155 on and before. */
static bool is_sped(struct bytes_view option)
{
    return sdp_parser_is(option, "sped") || sdp_parser_is(option, "googspedv1") ||
           sdp_parser_is(option, "goog-sped-v1");
}

/* RFC 8839 s.5.6 separates the options by blanks; some clients write commas. */
static const char *on_ice_options(struct sdp_attributes *a, struct bytes_view value)
{
    struct bytes_view word = sdp_parser_take_word(&value);
    while (word.len > 0) {
        while (word.len > 0) {
            const struct bytes_view option = sdp_parser_take_until(&word, ',');
            a->offers_sped |= is_sped(option);
        }
        word = sdp_parser_take_word(&value);
    }
    return NULL;
}

/* Counted and dropped: the client's addresses are learnt from its checks. */
static const char *on_candidate(struct sdp_attributes *a, struct bytes_view value)
{
    (void)value;
    return ++a->candidate_count > SDP_ENTRIES_MAX ? "a section has more than 64 candidates" : NULL;
}

static const char *on_setup(struct sdp_attributes *a, struct bytes_view value)
{
    static const char *const word[] = {
        [SDP_SETUP_ACTPASS] = "actpass",
        [SDP_SETUP_ACTIVE] = "active",
        [SDP_SETUP_PASSIVE] = "passive",
    };
    for (size_t i = 0; i < COUNT_OF(word); i++) {
        if (sdp_parser_is_in_any_case(value, word[i])) {
            a->has_setup = true;
            a->setup = (enum sdp_setup)i;
            return NULL;
        }
    }
    return "a=setup is not actpass, active or passive";
}

/* "0B:30:...": exactly len bytes. */
static bool parse_digest(struct bytes_view text, uint8_t *out, size_t len)
{
    if (text.len != 3 * len - 1) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        const bool has_colon = i == 0 || text.data[3 * i - 1] == ':';
        if (!has_colon || !bytes_from_hex(bytes_view_of(text.data + 3 * i, 2), out + i, 1)) {
            return false;
        }
    }
    return true;
}

/* A hash that is too weak, unknown or of the wrong length does not count (RFC 8122 s.5). */
static const char *on_fingerprint(struct sdp_attributes *a, struct bytes_view value)
{
    static const struct {
        const char *name;
        enum sdp_hash hash;
        size_t len;
    } known[] = {
        {"sha-256", SDP_SHA256, 32},
        {"sha-384", SDP_SHA384, 48},
        {"sha-512", SDP_SHA512, 64},
    };
    const struct bytes_view name = sdp_parser_take_word(&value);
    const struct bytes_view digest = sdp_parser_take_word(&value);
    for (size_t i = 0; i < COUNT_OF(known) && a->fingerprint_count < SDP_FINGERPRINTS_MAX; i++) {
        struct sdp_fingerprint *f = &a->fingerprint[a->fingerprint_count];
        if (sdp_parser_is_in_any_case(name, known[i].name) &&
            parse_digest(digest, f->digest, known[i].len)) {
            f->hash = known[i].hash;
            a->fingerprint_count++;
            return NULL;
        }
    }
    return NULL;
}

/* "1/recvonly urn:...": one that is not for both ways, or whose id a one-byte header cannot carry,
 * is not used. */
static const char *on_extmap(struct sdp_attributes *a, struct bytes_view value)
{
    if (++a->extmap_count > SDP_ENTRIES_MAX) {
        return "a section has more than 64 extmaps";
    }
    struct bytes_view direction = sdp_parser_take_word(&value);
    const struct bytes_view id_text = sdp_parser_take_until(&direction, '/');
    const struct bytes_view name = sdp_parser_take_word(&value);
    uint64_t id = 0;
    const bool is_both_ways = direction.len == 0 || sdp_parser_is(direction, "sendrecv");
    if (!is_both_ways || !sdp_parser_number_within(id_text, 1, EXTMAP_ID_MAX, &id) ||
        id == a->extmap_audio_level || id == a->extmap_mid) {
        return NULL;
    }
    if (sdp_parser_is(name, "urn:ietf:params:rtp-hdrext:ssrc-audio-level")) {
        a->extmap_audio_level = (uint8_t)id;
    } else if (sdp_parser_is(name, "urn:ietf:params:rtp-hdrext:sdes:mid")) {
        a->extmap_mid = (uint8_t)id;
    }
    return NULL;
}

static const char *on_ssrc(struct sdp_attributes *a, struct bytes_view value)
{
    uint64_t ssrc = 0;
    if (!sdp_parser_number_within(sdp_parser_take_word(&value), 0, UINT32_MAX, &ssrc)) {
        return "a=ssrc is not 0 to 4294967295";
    }
    if (!a->has_ssrc) {
        a->has_ssrc = true;
        a->ssrc = (uint32_t)ssrc;
    }
    return NULL;
}

/* RFC 7587 s.7 knows opus/48000/2 alone; small devices write the rate and channels they use. */
static bool is_opus(struct bytes_view name, uint64_t rate_hz, uint64_t channels)
{
    return sdp_parser_is_in_any_case(name, "opus") && channels >= 1 && channels <= 2 &&
           (rate_hz == 48000 || rate_hz == 24000 || rate_hz == 16000 || rate_hz == 12000 ||
            rate_hz == 8000);
}

/* The others, as their RFCs name them: name, rate, channels. */
static const struct {
    const char *name;
    uint32_t rate_hz;
    uint32_t channels;
    enum sdp_codec codec;
} known_encoding[] = {
    {"PCMU", 8000, 1, SDP_CODEC_PCMU},
    {"PCMA", 8000, 1, SDP_CODEC_PCMA},
    {"red", 48000, 2, SDP_CODEC_RED},
    {"telephone-event", 8000, 1, SDP_CODEC_TELEPHONE_EVENT_8KHZ},
    {"telephone-event", 48000, 1, SDP_CODEC_TELEPHONE_EVENT_48KHZ},
};

static enum sdp_codec codec_of(struct bytes_view encoding)
{
    const struct bytes_view name = sdp_parser_take_until(&encoding, '/');
    uint64_t rate_hz = 0;
    uint64_t channels = 1;
    const bool is_rate = sdp_parser_number(sdp_parser_take_until(&encoding, '/'), &rate_hz);
    if (!is_rate || (encoding.len > 0 && !sdp_parser_number(encoding, &channels))) {
        return SDP_CODEC_OTHER;
    }
    if (is_opus(name, rate_hz, channels)) {
        return SDP_CODEC_OPUS;
    }
    for (size_t i = 0; i < COUNT_OF(known_encoding); i++) {
        if (sdp_parser_is_in_any_case(name, known_encoding[i].name) &&
            rate_hz == known_encoding[i].rate_hz && channels == known_encoding[i].channels) {
            return known_encoding[i].codec;
        }
    }
    return SDP_CODEC_OTHER;
}

static const char *on_rtpmap(struct sdp_attributes *a, struct bytes_view value)
{
    uint64_t payload_type = 0;
    if (++a->codec_count > SDP_ENTRIES_MAX) {
        return "a section has more than 64 codecs";
    }
    if (!sdp_parser_number_within(sdp_parser_take_word(&value), 0, SDP_PAYLOAD_TYPE_MAX,
                                  &payload_type)) {
        return "the payload type of a=rtpmap is not 0 to 127";
    }
    a->codec[payload_type] = codec_of(sdp_parser_take_word(&value));
    return NULL;
}

/* RFC 2198 s.5, "63 111/111": of all parameters only RED's list of blocks matters here. */
static const char *on_fmtp(struct sdp_attributes *a, struct bytes_view value)
{
    uint64_t payload_type = 0;
    if (!sdp_parser_number_within(sdp_parser_take_word(&value), 0, SDP_PAYLOAD_TYPE_MAX,
                                  &payload_type)) {
        return NULL;
    }
    struct bytes_view list = sdp_parser_take_word(&value);
    uint64_t first = 0;
    if (!sdp_parser_number_within(sdp_parser_take_until(&list, '/'), 0, SDP_PAYLOAD_TYPE_MAX,
                                  &first) ||
        list.len == 0) {
        return NULL;
    }
    while (list.len > 0) {
        uint64_t block = 0;
        if (!sdp_parser_number(sdp_parser_take_until(&list, '/'), &block) || block != first) {
            return NULL;
        }
    }
    a->red_block[payload_type] = (uint8_t)first;
    return NULL;
}

/* RFC 4585 s.4.2, "111 nack" or "* nack": with a parameter it is another kind of feedback. */
static const char *on_rtcp_fb(struct sdp_attributes *a, struct bytes_view value)
{
    const struct bytes_view format = sdp_parser_take_word(&value);
    uint64_t first = 0;
    uint64_t last = SDP_PAYLOAD_TYPE_MAX;
    if (!sdp_parser_is(format, "*")) {
        if (!sdp_parser_number_within(format, 0, SDP_PAYLOAD_TYPE_MAX, &first)) {
            return NULL;
        }
        last = first;
    }
    if (sdp_parser_is(sdp_parser_take_word(&value), "nack") &&
        sdp_parser_take_word(&value).len == 0) {
        memset(a->has_nack + first, true, last - first + 1);
    }
    return NULL;
}

static const char *on_sctp_port(struct sdp_attributes *a, struct bytes_view value)
{
    uint64_t port = 0;
    if (!sdp_parser_number_within(sdp_parser_take_word(&value), 1, UINT16_MAX, &port)) {
        return "a=sctp-port is not 1 to 65535";
    }
    a->sctp_port = (uint16_t)port;
    return NULL;
}

/* "5000 webrtc-datachannel 1024", of the drafts before RFC 8841. */
static const char *on_sctpmap(struct sdp_attributes *a, struct bytes_view value)
{
    uint64_t port = 0;
    if (!sdp_parser_number_within(sdp_parser_take_word(&value), 1, UINT16_MAX, &port)) {
        return "the port of a=sctpmap is not 1 to 65535";
    }
    if (sdp_parser_is_in_any_case(sdp_parser_take_word(&value), "webrtc-datachannel")) {
        a->sctpmap_port = (uint16_t)port;
    }
    return NULL;
}

static const char *on_max_message_size(struct sdp_attributes *a, struct bytes_view value)
{
    if (!sdp_parser_number(sdp_parser_take_word(&value), &a->max_message_bytes)) {
        return "a=max-message-size is not a number";
    }
    return NULL;
}

static const struct {
    const char *name;
    attribute_handler *handle;
} known_attribute[] = {
    {"mid", on_mid},
    {"group", on_group},
    {"ice-ufrag", on_ice_ufrag},
    {"ice-pwd", on_ice_pwd},
    {"ice-options", on_ice_options},
    {"candidate", on_candidate},
    {"setup", on_setup},
    {"fingerprint", on_fingerprint},
    {"extmap", on_extmap},
    {"ssrc", on_ssrc},
    {"rtpmap", on_rtpmap},
    {"fmtp", on_fmtp},
    {"rtcp-fb", on_rtcp_fb},
    {"sctp-port", on_sctp_port},
    {"sctpmap", on_sctpmap},
    {"max-message-size", on_max_message_size},
};

void sdp_attributes_init(struct sdp_attributes *a)
{
    *a = (struct sdp_attributes){
        .sctp_port = SCTP_PORT_DEFAULT,
        .max_message_bytes = MAX_MESSAGE_BYTES_DEFAULT,
        .codec = {[PCMU_PAYLOAD_TYPE] = SDP_CODEC_PCMU, [PCMA_PAYLOAD_TYPE] = SDP_CODEC_PCMA},
    };
    memset(a->red_block, SDP_NO_PAYLOAD_TYPE, sizeof(a->red_block));
}

static void take_flag(struct sdp_attributes *a, struct bytes_view name)
{
    for (size_t i = 0; i < COUNT_OF(known_flag); i++) {
        if (sdp_parser_is(name, known_flag[i].name)) {
            *(bool *)((char *)a + known_flag[i].offset) = true;
        }
    }
}

static void take_direction(struct sdp_attributes *a, struct bytes_view name)
{
    for (size_t i = 0; i < COUNT_OF(known_direction); i++) {
        if (sdp_parser_is(name, known_direction[i].name)) {
            a->has_direction = true;
            a->direction = known_direction[i].direction;
        }
    }
}

const char *sdp_attributes_take(struct sdp_attributes *a, const struct sdp_line *line)
{
    take_flag(a, line->name);
    take_direction(a, line->name);
    for (size_t i = 0; i < COUNT_OF(known_attribute); i++) {
        if (sdp_parser_is(line->name, known_attribute[i].name)) {
            return known_attribute[i].handle(a, line->value);
        }
    }
    return NULL;
}
