/* sdp_fragment.c - see sdp_fragment.h */
#include "services/transceiver/core/sdp/sdp_fragment.h"

#include "services/transceiver/core/sdp/sdp_attributes.h"
#include "services/transceiver/core/sdp/sdp_writer.h"

#include <assert.h>

struct draft {
    struct sdp_attributes session;
    struct sdp_attributes first; /* of the first section */
    size_t section_count;
};

/* m=<media> <port> <protocol> <format> ...: what our reply repeats must be tokens. */
static const char *take_first_section(struct bytes_view value, struct sdp_section *out)
{
    const struct bytes_view media = sdp_parser_take_word(&value);
    (void)sdp_parser_take_word(&value); /* RFC 8840 s.9.2: the port means nothing here */
    const struct bytes_view protocol = sdp_parser_take_word(&value);
    const struct bytes_view format = sdp_parser_take_word(&value);
    if (!sdp_parser_is_token(media) || !sdp_parser_is_protocol(protocol) ||
        !sdp_parser_is_token(format) ||
        !sdp_parser_copy(media, out->media_word, sizeof(out->media_word)) ||
        !sdp_parser_copy(protocol, out->protocol, sizeof(out->protocol)) ||
        !sdp_parser_copy(format, out->format, sizeof(out->format))) {
        return "m= is not media, port, protocol and a format";
    }
    return NULL;
}

static const char *take_line(struct draft *d, const struct sdp_line *line, struct sdp_fragment *out)
{
    if (line->type == 'm') {
        if (++d->section_count > SDP_SECTIONS_MAX) {
            return "more than 8 sections";
        }
        return d->section_count == 1 ? take_first_section(line->value, &out->section) : NULL;
    }
    /* RFC 9143 s.7: with BUNDLE the transport is the first section's. */
    if (line->type != 'a' || d->section_count > 1) {
        return NULL;
    }
    return sdp_attributes_take(d->section_count == 0 ? &d->session : &d->first, line);
}

static const char *read_lines(struct draft *d, struct bytes_view text, struct sdp_fragment *out)
{
    struct sdp_parser parser;
    struct sdp_line line;
    enum sdp_parser_result result = SDP_PARSER_LINE;
    sdp_parser_init(&parser, text);
    while ((result = sdp_parser_next(&parser, &line)) == SDP_PARSER_LINE) {
        const char *problem = take_line(d, &line, out);
        if (problem != NULL) {
            return problem;
        }
    }
    return result == SDP_PARSER_END ? NULL : "too many lines, one too long, or a NUL in one";
}

/* Each falls back to the session level (RFC 8839 s.5.4). */
static const char *take_credentials(const struct draft *d, struct sdp_fragment *out)
{
    const struct bytes_view ufrag =
        d->first.ice_ufrag.len > 0 ? d->first.ice_ufrag : d->session.ice_ufrag;
    const struct bytes_view pwd = d->first.ice_pwd.len > 0 ? d->first.ice_pwd : d->session.ice_pwd;
    if ((ufrag.len == 0) != (pwd.len == 0)) {
        return "a=ice-ufrag and a=ice-pwd belong together";
    }
    const bool fits = sdp_parser_copy(ufrag, out->ice_ufrag, sizeof(out->ice_ufrag)) &&
                      sdp_parser_copy(pwd, out->ice_pwd, sizeof(out->ice_pwd)) &&
                      sdp_parser_copy(d->first.mid, out->section.mid, sizeof(out->section.mid));
    assert(fits); /* the attributes have the same bounds */
    (void)fits;
    return NULL;
}

const char *sdp_fragment_parse(struct bytes_view text, struct sdp_fragment *out)
{
    struct draft d = {.section_count = 0};
    *out = (struct sdp_fragment){0};
    sdp_attributes_init(&d.session);
    sdp_attributes_init(&d.first);
    if (text.len > SDP_FRAGMENT_BYTES_MAX) {
        return "the fragment is longer than 16384 bytes";
    }
    const char *problem = read_lines(&d, text, out);
    if (problem != NULL) {
        return problem;
    }
    if (d.session.is_ice_lite || d.first.is_ice_lite) {
        return "a=ice-lite: one side must do full ICE, and we do not";
    }
    return take_credentials(&d, out);
}

static void write_section(struct byte_writer *w, const struct sdp_section *section)
{
    if (section->media_word[0] == '\0') {
        return;
    }
    sdp_writer_text(w, "m=");
    sdp_writer_text(w, section->media_word);
    sdp_writer_text(w, " 9 ");
    sdp_writer_text(w, section->protocol);
    sdp_writer_line(w, " ", section->format);
    if (section->mid[0] != '\0') {
        sdp_writer_line(w, "a=mid:", section->mid);
    }
}

size_t sdp_fragment_write(const struct sdp_fragment *theirs, const struct sdp_fragment_reply *ours,
                          char *text, size_t cap)
{
    struct byte_writer w;
    byte_writer_init(&w, text, cap);
    sdp_writer_line(&w, "a=ice-lite", "");
    write_section(&w, &theirs->section);
    sdp_writer_line(&w, "a=ice-ufrag:", ours->ice_ufrag);
    sdp_writer_line(&w, "a=ice-pwd:", ours->ice_pwd);
    sdp_candidates_write(&w, ours->candidate, ours->candidate_count);
    return w.failed ? 0 : w.len;
}
