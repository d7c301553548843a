/* sdp_offer.c - see sdp_offer.h: from lines to sections, from sections to one transport */
#include "services/transceiver/core/sdp/sdp_offer.h"

#include "services/transceiver/core/sdp/sdp_audio.h"
#include "services/transceiver/core/sdp/sdp_writer.h"

#include <assert.h>

/* What the m-line and the attributes of one section say, before it is known what is used. */
struct section_draft {
    struct sdp_attributes attributes;
    unsigned line_number; /* of the m-line */
    uint64_t port;
    uint8_t payload_type[SDP_ENTRIES_MAX]; /* of audio, usable, in the m-line's order */
    size_t payload_type_count;
    bool is_bundled;
};

struct offer_draft {
    struct sdp_attributes session;
    struct section_draft section[SDP_SECTIONS_MAX];
    bool accept_data;
    struct sdp_offer *offer;

    /* Why the offer is refused. */
    enum sdp_offer_result result;
    unsigned refused_line; /* 0 = the offer as a whole */
    const char *reason;
};

static bool refuse(struct offer_draft *d, unsigned line_number, const char *reason)
{
    d->result = SDP_OFFER_BAD;
    d->refused_line = line_number;
    d->reason = reason;
    return false;
}

static enum sdp_media media_of(struct bytes_view word)
{
    static const char *const name[] = {
        [SDP_MEDIA_AUDIO] = "audio",
        [SDP_MEDIA_VIDEO] = "video",
        [SDP_MEDIA_APPLICATION] = "application",
    };
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        if (sdp_parser_is(word, name[i])) {
            return (enum sdp_media)i;
        }
    }
    return SDP_MEDIA_OTHER;
}

static bool is_rtp(const struct sdp_section *s)
{
    const struct bytes_view protocol = bytes_view_of_text(s->protocol);
    return sdp_parser_is_in_any_case(protocol, "UDP/TLS/RTP/SAVPF") ||
           sdp_parser_is_in_any_case(protocol, "UDP/TLS/RTP/SAVP");
}

/* RFC 5761 s.4: with the marker these would be RTCP's packet types, 192 to 223. */
static bool looks_like_rtcp(uint64_t payload_type)
{
    return payload_type >= 64 && payload_type <= 95;
}

/* The formats of the m-line: tokens all, payload types where they are to be used. */
static const char *take_formats(struct sdp_section *s, struct section_draft *d,
                                struct bytes_view formats)
{
    size_t count = 0;
    const bool has_payload_types = s->media == SDP_MEDIA_AUDIO && is_rtp(s);
    struct bytes_view format = sdp_parser_take_word(&formats);
    if (!sdp_parser_is_token(format) || !sdp_parser_copy(format, s->format, sizeof(s->format))) {
        return "the first format of m= is not a token of 1 to 31 characters";
    }
    for (; format.len > 0; format = sdp_parser_take_word(&formats)) {
        uint64_t payload_type = 0;
        if (++count > SDP_ENTRIES_MAX) {
            return "a section has more than 64 codecs";
        }
        if (!has_payload_types) {
            continue;
        }
        if (!sdp_parser_number_within(format, 0, SDP_PAYLOAD_TYPE_MAX, &payload_type)) {
            return "a payload type of m=audio is not 0 to 127";
        }
        if (!looks_like_rtcp(payload_type)) {
            d->payload_type[d->payload_type_count++] = (uint8_t)payload_type;
        }
    }
    return NULL;
}

/* m=<media> <port> <protocol> <format> ... */
static const char *take_m_line(struct sdp_section *s, struct section_draft *d,
                               struct bytes_view value)
{
    const struct bytes_view media = sdp_parser_take_word(&value);
    const struct bytes_view port = sdp_parser_take_word(&value);
    const struct bytes_view protocol = sdp_parser_take_word(&value);
    if (!sdp_parser_is_token(media) ||
        !sdp_parser_copy(media, s->media_word, sizeof(s->media_word))) {
        return "the media of m= is not a token of 1 to 15 characters";
    }
    if (!sdp_parser_number_within(port, 0, UINT16_MAX, &d->port)) {
        return "the port of m= is not 0 to 65535";
    }
    if (!sdp_parser_is_protocol(protocol) ||
        !sdp_parser_copy(protocol, s->protocol, sizeof(s->protocol))) {
        return "the protocol of m= is not a token of 1 to 31 characters";
    }
    s->media = media_of(media);
    return take_formats(s, d, value);
}

static const char *open_section(struct offer_draft *d, const struct sdp_line *line,
                                unsigned line_number)
{
    struct sdp_offer *offer = d->offer;
    if (offer->section_count == SDP_SECTIONS_MAX) {
        return "more than 8 sections";
    }
    struct section_draft *draft = &d->section[offer->section_count];
    *draft = (struct section_draft){.line_number = line_number};
    sdp_attributes_init(&draft->attributes);
    return take_m_line(&offer->section[offer->section_count++], draft, line->value);
}

static const char *take_line(struct offer_draft *d, const struct sdp_line *line,
                             unsigned line_number)
{
    if (line->type == 'm') {
        return open_section(d, line, line_number);
    }
    if (line->type != 'a') {
        return NULL;
    }
    const size_t count = d->offer->section_count;
    return sdp_attributes_take(count == 0 ? &d->session : &d->section[count - 1].attributes, line);
}

static bool is_version_line(const struct sdp_line *line)
{
    return line->type == 'v' && sdp_parser_is(line->value, "0");
}

static bool read_lines(struct offer_draft *d, struct bytes_view text)
{
    static const char *const broken[] = {
        [SDP_PARSER_TOO_MANY_LINES] = "more than 1000 lines",
        [SDP_PARSER_LINE_TOO_LONG] = "longer than 4096 bytes",
        [SDP_PARSER_BAD_CHARACTER] = "a NUL, or a CR without LF",
    };
    struct sdp_parser parser;
    struct sdp_line line;
    sdp_parser_init(&parser, text);
    bool is_first = true;
    enum sdp_parser_result result = SDP_PARSER_LINE;
    while ((result = sdp_parser_next(&parser, &line)) == SDP_PARSER_LINE) {
        if (is_first && !is_version_line(&line)) {
            return refuse(d, parser.line_number, "the first line is not v=0");
        }
        is_first = false;
        const char *problem = take_line(d, &line, parser.line_number);
        if (problem != NULL) {
            return refuse(d, parser.line_number, problem);
        }
    }
    if (result != SDP_PARSER_END) {
        return refuse(d, parser.line_number, broken[result]);
    }
    return is_first ? refuse(d, 0, "the offer is empty") : true;
}

/* The section of that mid, or section_count. */
static size_t find_mid(const struct offer_draft *d, struct bytes_view mid)
{
    size_t i = 0;
    while (i < d->offer->section_count && !bytes_equal(d->section[i].attributes.mid, mid)) {
        i++;
    }
    return i;
}

static bool take_mids(struct offer_draft *d)
{
    for (size_t i = 0; i < d->offer->section_count; i++) {
        const struct bytes_view mid = d->section[i].attributes.mid;
        if (mid.len > 0 && find_mid(d, mid) != i) {
            return refuse(d, d->section[i].line_number, "two sections have the same a=mid");
        }
        const bool fits = sdp_parser_copy(mid, d->offer->section[i].mid, SDP_MID_CHARS_MAX + 1);
        assert(fits);
        (void)fits;
    }
    return true;
}

static bool take_bundle(struct offer_draft *d)
{
    struct bytes_view rest = d->session.bundle;
    while (d->session.has_bundle) {
        const struct bytes_view mid = sdp_parser_take_word(&rest);
        if (mid.len == 0) {
            break;
        }
        const size_t i = find_mid(d, mid);
        if (i == d->offer->section_count) {
            return refuse(d, 0, "the BUNDLE group names a mid that no section has");
        }
        if (d->section[i].is_bundled) {
            return refuse(d, 0, "the BUNDLE group names a mid twice");
        }
        d->section[i].is_bundled = true;
        d->offer->bundle[d->offer->bundle_count++] = (uint8_t)i;
    }
    return true;
}

/* RFC 9143 s.6: port 0 with bundle-only is no rejected section. */
static bool is_live(const struct section_draft *d)
{
    return d->port != 0 || d->attributes.is_bundle_only;
}

/* One call has one transport: live sections must share it. */
static bool check_one_transport(struct offer_draft *d)
{
    size_t live_count = 0;
    const struct section_draft *outside = NULL;
    for (size_t i = 0; i < d->offer->section_count; i++) {
        const struct section_draft *section = &d->section[i];
        live_count += is_live(section);
        if (is_live(section) && !section->is_bundled) {
            outside = section;
        }
    }
    if (live_count > 1 && outside != NULL) {
        return refuse(d, outside->line_number,
                      "several sections, and no BUNDLE group names this one");
    }
    return true;
}

static void take_audio(struct offer_draft *d, size_t index)
{
    const struct section_draft *draft = &d->section[index];
    const struct sdp_attributes *a = &draft->attributes;
    struct sdp_offer *offer = d->offer;
    offer->section[index].is_accepted = true;
    offer->has_audio = true;
    offer->extmap_audio_level = a->extmap_audio_level;
    offer->extmap_mid = a->extmap_mid;
    offer->has_rtcp_rsize = a->has_rtcp_rsize;
    offer->has_extmap_allow_mixed = a->has_extmap_allow_mixed || d->session.has_extmap_allow_mixed;
    offer->has_ssrc = a->has_ssrc;
    offer->ssrc = a->ssrc;
}

/* With the codec chosen: what cannot be used has none. */
static bool check_audio(struct offer_draft *d, size_t index)
{
    const struct section_draft *draft = &d->section[index];
    if (!is_rtp(&d->offer->section[index])) {
        return refuse(d, draft->line_number, "audio needs UDP/TLS/RTP/SAVPF or UDP/TLS/RTP/SAVP");
    }
    if (!draft->attributes.has_rtcp_mux) {
        return refuse(d, draft->line_number, "audio needs a=rtcp-mux");
    }
    if (!sdp_audio_choose(&draft->attributes,
                          bytes_view_of(draft->payload_type, draft->payload_type_count),
                          d->offer)) {
        (void)refuse(d, draft->line_number,
                     "audio needs Opus (with its a=rtpmap), PCMU or PCMA in the m-line");
        d->result = SDP_OFFER_NO_COMMON_CODEC;
        return false;
    }
    return true;
}

/* The first live audio section that can be used. Where there is audio and none can be, the caller
 * hears why: a call that silently lacks its voice would help nobody. */
static bool choose_audio(struct offer_draft *d)
{
    bool is_good = true;
    for (size_t i = 0; i < d->offer->section_count; i++) {
        if (d->offer->section[i].media == SDP_MEDIA_AUDIO && is_live(&d->section[i])) {
            is_good = check_audio(d, i);
            if (is_good) {
                take_audio(d, i);
                break;
            }
        }
    }
    return is_good;
}

static bool is_data(const struct sdp_section *s)
{
    return sdp_parser_is_in_any_case(bytes_view_of_text(s->protocol), "UDP/DTLS/SCTP") &&
           sdp_parser_is_in_any_case(bytes_view_of_text(s->format), "webrtc-datachannel");
}

/* The drafts before RFC 8841: the port is the format, and a=sctpmap says what it is for. */
static bool is_legacy_data(const struct sdp_section *s, const struct section_draft *d)
{
    uint64_t port = 0;
    return sdp_parser_is_in_any_case(bytes_view_of_text(s->protocol), "DTLS/SCTP") &&
           sdp_parser_number_within(bytes_view_of_text(s->format), 1, UINT16_MAX, &port) &&
           port == d->attributes.sctpmap_port;
}

static void take_data(struct offer_draft *d, size_t index)
{
    const struct sdp_attributes *a = &d->section[index].attributes;
    struct sdp_section *s = &d->offer->section[index];
    s->is_accepted = true;
    d->offer->has_data = true;
    d->offer->is_legacy_sctpmap = !is_data(s);
    d->offer->sctp_port = d->offer->is_legacy_sctpmap ? a->sctpmap_port : a->sctp_port;
    d->offer->max_message_bytes = a->max_message_bytes;
}

static void choose_data(struct offer_draft *d)
{
    for (size_t i = 0; i < d->offer->section_count; i++) {
        const struct sdp_section *s = &d->offer->section[i];
        const struct section_draft *draft = &d->section[i];
        if (s->media == SDP_MEDIA_APPLICATION && is_live(draft) &&
            (is_data(s) || is_legacy_data(s, draft))) {
            take_data(d, i);
            break;
        }
    }
}

static bool choose_sections(struct offer_draft *d)
{
    if (!choose_audio(d)) {
        return false;
    }
    if (d->accept_data) {
        choose_data(d);
    }
    if (!d->offer->has_audio && !d->offer->has_data) {
        return refuse(d, 0,
                      d->accept_data ? "no audio or data section that can be used"
                                     : "no audio section that can be used");
    }
    return true;
}

/* RFC 9143 s.7.3.1: the first accepted section with a port, in the group's order; without a group
 * there is but one. */
static bool choose_transport_section(struct offer_draft *d)
{
    struct sdp_offer *offer = d->offer;
    for (size_t i = 0; i < offer->bundle_count; i++) {
        const size_t section = offer->bundle[i];
        if (offer->section[section].is_accepted && d->section[section].port != 0) {
            offer->transport_section = section;
            return true;
        }
    }
    size_t i = 0;
    while (!offer->section[i].is_accepted) {
        i++;
        assert(i < offer->section_count);
    }
    offer->transport_section = i;
    return d->section[i].port != 0 ||
           refuse(d, d->section[i].line_number, "bundle-only, and no usable section has a port");
}

static bool take_credentials(struct offer_draft *d, const struct section_draft *section)
{
    const struct sdp_attributes *a = &section->attributes;
    const struct bytes_view ufrag = a->ice_ufrag.len > 0 ? a->ice_ufrag : d->session.ice_ufrag;
    const struct bytes_view pwd = a->ice_pwd.len > 0 ? a->ice_pwd : d->session.ice_pwd;
    if (ufrag.len == 0 || pwd.len == 0) {
        return refuse(d, section->line_number, "no a=ice-ufrag and a=ice-pwd for this section");
    }
    const bool fits = sdp_parser_copy(ufrag, d->offer->ice_ufrag, SDP_UFRAG_CHARS_MAX + 1) &&
                      sdp_parser_copy(pwd, d->offer->ice_pwd, SDP_PWD_CHARS_MAX + 1);
    assert(fits);
    (void)fits;
    return true;
}

static bool take_fingerprints(struct offer_draft *d, const struct section_draft *section)
{
    const struct sdp_attributes *a =
        section->attributes.fingerprint_count > 0 ? &section->attributes : &d->session;
    if (a->fingerprint_count == 0) {
        return refuse(d, section->line_number,
                      "no sha-256, sha-384 or sha-512 a=fingerprint for this section");
    }
    memcpy(d->offer->fingerprint, a->fingerprint, sizeof(a->fingerprint));
    d->offer->fingerprint_count = a->fingerprint_count;
    return true;
}

static bool take_transport(struct offer_draft *d)
{
    struct sdp_offer *offer = d->offer;
    if (!choose_transport_section(d)) {
        return false;
    }
    const struct section_draft *section = &d->section[offer->transport_section];
    const struct sdp_attributes *a = &section->attributes;
    offer->setup = a->has_setup ? a->setup : d->session.setup;
    offer->offers_sped = a->offers_sped || d->session.offers_sped;
    return take_credentials(d, section) && take_fingerprints(d, section);
}

static bool check_full_ice(struct offer_draft *d)
{
    bool is_lite = d->session.is_ice_lite;
    for (size_t i = 0; i < d->offer->section_count; i++) {
        is_lite |= d->section[i].attributes.is_ice_lite;
    }
    return is_lite ? refuse(d, 0, "a=ice-lite: a client must send checks") : true;
}

static void take_directions(struct offer_draft *d)
{
    for (size_t i = 0; i < d->offer->section_count; i++) {
        const struct sdp_attributes *a = &d->section[i].attributes;
        d->offer->section[i].direction = a->has_direction ? a->direction : d->session.direction;
    }
}

static bool read_offer(struct offer_draft *d, struct bytes_view text)
{
    if (text.len > SDP_BYTES_MAX) {
        return refuse(d, 0, "larger than 65536 bytes");
    }
    if (!read_lines(d, text) || !check_full_ice(d) || !take_mids(d) || !take_bundle(d) ||
        !check_one_transport(d) || !choose_sections(d) || !take_transport(d)) {
        return false;
    }
    take_directions(d);
    return true;
}

static void write_reason(const struct offer_draft *d, char *reason, size_t cap)
{
    struct byte_writer w;
    byte_writer_init(&w, reason, cap);
    if (d->refused_line > 0) {
        sdp_writer_text(&w, "line ");
        sdp_writer_number(&w, d->refused_line);
        sdp_writer_text(&w, ": ");
    }
    sdp_writer_text(&w, d->reason);
    byte_writer_u8(&w, 0);
    assert(!w.failed);
}

enum sdp_offer_result sdp_offer_parse(struct bytes_view text, bool accept_data,
                                      struct sdp_offer *out, char *reason, size_t reason_cap)
{
    assert(reason_cap >= SDP_REASON_CAP);
    *out = (struct sdp_offer){0};
    struct offer_draft draft = {.accept_data = accept_data, .offer = out};
    sdp_attributes_init(&draft.session);
    if (read_offer(&draft, text)) {
        reason[0] = '\0';
        return SDP_OFFER_OK;
    }
    write_reason(&draft, reason, reason_cap);
    return draft.result;
}
