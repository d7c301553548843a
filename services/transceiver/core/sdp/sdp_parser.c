/* sdp_parser.c - see sdp_parser.h */
#include "services/transceiver/core/sdp/sdp_parser.h"

static struct bytes_view view_from(struct bytes_view view, size_t offset)
{
    return bytes_view_of(view.data + offset, view.len - offset);
}

/* The index of the first such character, or the length. */
static size_t find(struct bytes_view view, char character)
{
    const uint8_t *found = view.len == 0 ? NULL : memchr(view.data, character, view.len);
    return found == NULL ? view.len : (size_t)(found - view.data);
}

struct bytes_view sdp_parser_take_until(struct bytes_view *rest, char separator)
{
    const size_t len = find(*rest, separator);
    const struct bytes_view taken = bytes_view_of(rest->data, len);
    *rest = view_from(*rest, len < rest->len ? len + 1 : len);
    return taken;
}

static bool is_blank(uint8_t character)
{
    return character == ' ' || character == '\t';
}

struct bytes_view sdp_parser_take_word(struct bytes_view *rest)
{
    size_t start = 0;
    while (start < rest->len && is_blank(rest->data[start])) {
        start++;
    }
    size_t end = start;
    while (end < rest->len && !is_blank(rest->data[end])) {
        end++;
    }
    const struct bytes_view word = bytes_view_of(rest->data + start, end - start);
    *rest = view_from(*rest, end);
    return word;
}

void sdp_parser_init(struct sdp_parser *p, struct bytes_view text)
{
    *p = (struct sdp_parser){.rest = text};
}

static struct sdp_line split_line(struct bytes_view line)
{
    if (line.len < 2 || line.data[1] != '=') {
        return (struct sdp_line){.value = line};
    }
    struct sdp_line out = {.type = (char)line.data[0], .value = view_from(line, 2)};
    if (out.type == 'a') {
        out.name = sdp_parser_take_until(&out.value, ':');
    }
    return out;
}

/* Without its line end: LF is cut already, and a CR counts as part of the end only before it. */
static struct bytes_view without_cr(struct bytes_view line, bool had_lf)
{
    const bool has_cr = had_lf && line.len > 0 && line.data[line.len - 1] == '\r';
    return bytes_view_of(line.data, has_cr ? line.len - 1 : line.len);
}

static bool is_all_blank(struct bytes_view line)
{
    return sdp_parser_take_word(&line).len == 0;
}

enum sdp_parser_result sdp_parser_next(struct sdp_parser *p, struct sdp_line *out)
{
    while (p->rest.len > 0) {
        if (p->line_number == SDP_LINES_MAX) {
            return SDP_PARSER_TOO_MANY_LINES;
        }
        p->line_number++;
        const bool has_lf = find(p->rest, '\n') < p->rest.len;
        const struct bytes_view line = without_cr(sdp_parser_take_until(&p->rest, '\n'), has_lf);
        if (line.len > SDP_LINE_BYTES_MAX) {
            return SDP_PARSER_LINE_TOO_LONG;
        }
        if (find(line, '\0') < line.len || find(line, '\r') < line.len) {
            return SDP_PARSER_BAD_CHARACTER;
        }
        if (!is_all_blank(line)) {
            *out = split_line(line);
            return SDP_PARSER_LINE;
        }
    }
    return SDP_PARSER_END;
}

bool sdp_parser_number(struct bytes_view text, uint64_t *out)
{
    uint64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
        const uint64_t digit = (uint64_t)(text.data[i] - '0');
        value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
    }
    *out = value;
    return text.len > 0;
}

bool sdp_parser_number_within(struct bytes_view text, uint64_t min, uint64_t max, uint64_t *out)
{
    return sdp_parser_number(text, out) && *out >= min && *out <= max;
}

bool sdp_parser_is(struct bytes_view text, const char *word)
{
    return bytes_equal(text, bytes_view_of_text(word));
}

static uint8_t lower(uint8_t character)
{
    return character >= 'A' && character <= 'Z' ? (uint8_t)(character + 'a' - 'A') : character;
}

bool sdp_parser_is_in_any_case(struct bytes_view text, const char *word)
{
    if (text.len != strlen(word)) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (lower(text.data[i]) != lower((uint8_t)word[i])) {
            return false;
        }
    }
    return true;
}

static bool is_letter_or_digit(uint8_t c)
{
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

/* RFC 8866 s.9, token-char: no blank, no control or 8-bit character, none of "(),/:;<=>?@[\] */
static bool is_token_char(uint8_t c)
{
    return is_letter_or_digit(c) || (c != 0 && c < 0x80 && strchr("!#$%&'*+-.^_`{|}~", c) != NULL);
}

static bool is_protocol_char(uint8_t c)
{
    return is_token_char(c) || c == '/';
}

/* RFC 8839 s.5.1: ice-char = ALPHA / DIGIT / "+" / "/" */
static bool is_ice_char(uint8_t c)
{
    return is_letter_or_digit(c) || c == '+' || c == '/';
}

static bool is_made_of(struct bytes_view text, bool (*is_allowed)(uint8_t))
{
    for (size_t i = 0; i < text.len; i++) {
        if (!is_allowed(text.data[i])) {
            return false;
        }
    }
    return text.len > 0;
}

bool sdp_parser_is_token(struct bytes_view text)
{
    return is_made_of(text, is_token_char);
}

bool sdp_parser_is_protocol(struct bytes_view text)
{
    return is_made_of(text, is_protocol_char);
}

bool sdp_parser_is_ice_chars(struct bytes_view text)
{
    return is_made_of(text, is_ice_char);
}

bool sdp_parser_copy(struct bytes_view text, char *out, size_t cap)
{
    if (text.len >= cap) {
        return false;
    }
    if (text.len > 0) {
        memcpy(out, text.data, text.len);
    }
    out[text.len] = '\0';
    return true;
}
