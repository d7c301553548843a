/*
 * sdp_parser.h - the grammar of SDP (RFC 8866 s.9): lines, words, numbers, tokens
 *
 * Takes:   the bytes of a description, up to the caller's own limit.
 * Gives:   one line after the other, in one pass. Every view borrows from the description.
 * Bounds:  SDP_LINES_MAX lines, blank ones counted, of SDP_LINE_BYTES_MAX without the line end.
 * Fails:   a line that breaks a bound, a NUL, or a CR that ends no line; the caller stops there.
 * Not here: what a line means (sdp_attributes.h, sdp_offer.h).
 */
#ifndef EARSHOT_SDP_PARSER_H
#define EARSHOT_SDP_PARSER_H

#include "common/base/bytes.h"

#define SDP_LINES_MAX      1000
#define SDP_LINE_BYTES_MAX 4096

struct sdp_parser {
    struct bytes_view rest;
    unsigned line_number; /* of the line given last, from 1 */
};

struct sdp_line {
    char type;               /* 'v', 'm', 'a', ...; 0 for a line that is not "<letter>=..." */
    struct bytes_view name;  /* of an attribute: up to the colon; else empty */
    struct bytes_view value; /* of an attribute: after the colon; else after the "=" */
};

enum sdp_parser_result {
    SDP_PARSER_LINE,
    SDP_PARSER_END,
    SDP_PARSER_TOO_MANY_LINES,
    SDP_PARSER_LINE_TOO_LONG,
    SDP_PARSER_BAD_CHARACTER
};

void sdp_parser_init(struct sdp_parser *p, struct bytes_view text);
/* The next line; lines of blanks are skipped. Line ends are CR LF or LF, the last may be absent. */
enum sdp_parser_result sdp_parser_next(struct sdp_parser *p, struct sdp_line *out);

/* The next word between blanks, cut off the front of rest; empty when none is left. */
struct bytes_view sdp_parser_take_word(struct bytes_view *rest);
/* What stands before the separator, cut off with it; all of rest when it has none. */
struct bytes_view sdp_parser_take_until(struct bytes_view *rest, char separator);

/* Decimal digits and nothing else; a value beyond 64 bits becomes UINT64_MAX. */
MUST_USE bool sdp_parser_number(struct bytes_view text, uint64_t *out);
/* The same, and false outside min..max. */
MUST_USE bool sdp_parser_number_within(struct bytes_view text, uint64_t min, uint64_t max,
                                       uint64_t *out);

bool sdp_parser_is(struct bytes_view text, const char *word);
bool sdp_parser_is_in_any_case(struct bytes_view text, const char *word);

/* One or more characters of a token (RFC 8866), of tokens joined by "/", of ice-char (RFC 8839). */
bool sdp_parser_is_token(struct bytes_view text);
bool sdp_parser_is_protocol(struct bytes_view text);
bool sdp_parser_is_ice_chars(struct bytes_view text);

/* With a NUL; false when out, of cap bytes, is too small. */
MUST_USE bool sdp_parser_copy(struct bytes_view text, char *out, size_t cap);

#endif
