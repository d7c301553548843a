/* http_screen.c - see http_screen.h */
#include "services/signaling/http_screen.h"

#include <assert.h>
#include <strings.h>

#define METHOD_CHARS_MAX 16

static struct bytes_view rest_of(struct bytes_view v, size_t offset)
{
    return bytes_view_of(v.data + offset, v.len - offset);
}

static bool is_text(struct bytes_view v, const char *text)
{
    return bytes_equal(v, bytes_view_of_text(text));
}

/* RFC 9110 s.5.6.2: what a name is made of. */
static bool is_token_char(uint8_t c)
{
    return c > ' ' && c < 0x7f && strchr("\"(),/:;<=>?@[\\]{}", c) == NULL;
}

static bool is_hex_digit(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* --- lines ------------------------------------------------------------------------------------ */

enum line_end {
    LINE_GOOD,
    LINE_OPEN, /* its end has not come */
    LINE_BAD   /* LF alone, or CR within the line */
};

/* Takes the next line off the front of the input; without its end, and only when it is good. */
static enum line_end take_line(struct bytes_view *input, struct bytes_view *line)
{
    const uint8_t *lf = input->len > 0 ? memchr(input->data, '\n', input->len) : NULL;
    if (lf == NULL) {
        return LINE_OPEN;
    }
    const size_t len = (size_t)(lf - input->data);
    if (len == 0 || lf[-1] != '\r') {
        return LINE_BAD;
    }
    *line = bytes_view_of(input->data, len - 1);
    *input = rest_of(*input, len + 1);
    return LINE_GOOD;
}

size_t http_screen_empty_lines(struct bytes_view input)
{
    size_t len = 0;
    while (input.len - len >= 2 && memcmp(input.data + len, "\r\n", 2) == 0) {
        len += 2;
    }
    return len;
}

/* --- the request line (RFC 9112 s.3) ---------------------------------------------------------- */

static size_t method_len(struct bytes_view line)
{
    size_t len = 0;
    while (len < line.len && is_token_char(line.data[len])) {
        len++;
    }
    return len;
}

static bool is_our_method(struct bytes_view method)
{
    static const char *const ours[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        if (is_text(method, ours[i])) {
            return true;
        }
    }
    return false;
}

/* Method, target and version: one blank between two of them, and none in any. */
static bool split_request_line(struct bytes_view line, struct bytes_view part[3])
{
    part[0] = bytes_view_of(line.data, method_len(line));
    if (part[0].len == 0 || part[0].len == line.len || line.data[part[0].len] != ' ') {
        return false;
    }
    const struct bytes_view rest = rest_of(line, part[0].len + 1);
    size_t len = 0;
    while (len < rest.len && rest.data[len] > ' ' && rest.data[len] < 0x7f) {
        len++;
    }
    if (len == 0 || len == rest.len || rest.data[len] != ' ') {
        return false;
    }
    part[1] = bytes_view_of(rest.data, len);
    part[2] = rest_of(rest, len + 1);
    return true;
}

static bool is_version(struct bytes_view v)
{
    return v.len == 8 && memcmp(v.data, "HTTP/", 5) == 0 && v.data[5] >= '0' && v.data[5] <= '9' &&
           v.data[6] == '.' && v.data[7] >= '0' && v.data[7] <= '9';
}

static enum http_screen_verdict look_at_target(struct bytes_view target)
{
    size_t separators = 0;
    if (target.data[0] != '/') {
        return HTTP_SCREEN_TARGET;
    }
    for (size_t i = 0; i < target.len; i++) {
        const uint8_t c = target.data[i];
        if (c == '%' &&
            (target.len - i < 3 || !is_hex_digit(target.data[i + 1]) ||
             !is_hex_digit(target.data[i + 2]) || memcmp(target.data + i, "%00", 3) == 0)) {
            return HTTP_SCREEN_ESCAPE;
        }
        separators += c == '&' || c == ';';
    }
    return separators > HTTP_SCREEN_SEPARATORS_MAX ? HTTP_SCREEN_LONG_TARGET : HTTP_SCREEN_PASS;
}

static enum http_screen_verdict look_at_request_line(struct bytes_view line)
{
    struct bytes_view part[3];
    if (!split_request_line(line, part) || !is_version(part[2])) {
        return HTTP_SCREEN_REQUEST_LINE;
    }
    if (part[2].data[5] != '1') {
        return HTTP_SCREEN_VERSION;
    }
    if (!is_our_method(part[0])) {
        return HTTP_SCREEN_METHOD;
    }
    if (is_text(part[0], "OPTIONS") && is_text(part[1], "*")) {
        return HTTP_SCREEN_ASTERISK;
    }
    return look_at_target(part[1]);
}

/* --- fields (RFC 9112 s.5) -------------------------------------------------------------------- */

static bool is_value_char(uint8_t c)
{
    return c == '\t' || (c >= ' ' && c != 0x7f);
}

static bool is_named(struct bytes_view line, const char *name)
{
    const size_t len = strlen(name);
    return line.len > len && line.data[len] == ':' &&
           strncasecmp((const char *)line.data, name, len) == 0;
}

static enum http_screen_verdict look_at_field(struct bytes_view line)
{
    if (line.data[0] == ' ' || line.data[0] == '\t') {
        return HTTP_SCREEN_FOLDED_FIELD;
    }
    const size_t name_len = method_len(line);
    if (name_len == 0 || name_len == line.len || line.data[name_len] != ':') {
        return HTTP_SCREEN_FIELD;
    }
    for (size_t i = name_len + 1; i < line.len; i++) {
        if (!is_value_char(line.data[i])) {
            return HTTP_SCREEN_FIELD;
        }
    }
    return HTTP_SCREEN_PASS;
}

/* The next field of this name, off the front of the head; false at the head's end. */
static bool take_field(struct bytes_view *head, const char *name, struct bytes_view *value)
{
    struct bytes_view line = {0};
    while (take_line(head, &line) == LINE_GOOD && line.len > 0) {
        if (is_named(line, name)) {
            *value = rest_of(line, strlen(name) + 1);
            return true;
        }
    }
    return false;
}

struct bytes_view http_screen_field(struct bytes_view head, const char *name)
{
    return http_screen_field_at(head, name, 0);
}

struct bytes_view http_screen_field_at(struct bytes_view head, const char *name, size_t index)
{
    struct bytes_view value = {0};
    for (size_t i = 0; i <= index; i++) {
        if (!take_field(&head, name, &value)) {
            return bytes_view_of(NULL, 0);
        }
    }
    while (value.len > 0 && (value.data[0] == ' ' || value.data[0] == '\t')) {
        value = rest_of(value, 1);
    }
    while (value.len > 0 &&
           (value.data[value.len - 1] == ' ' || value.data[value.len - 1] == '\t')) {
        value.len--;
    }
    return value;
}

size_t http_screen_count(struct bytes_view head, const char *name)
{
    struct bytes_view value;
    size_t count = 0;
    while (take_field(&head, name, &value)) {
        count++;
    }
    return count;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Of a first line without an end: what can not become a request is told so at once. */
static enum http_screen_verdict look_at_beginning(struct bytes_view line)
{
    const size_t len = method_len(line);
    const bool is_good = len > 0
                             ? len <= METHOD_CHARS_MAX && (len == line.len || line.data[len] == ' ')
                             : line.len == 0 || (line.len == 1 && line.data[0] == '\r');
    return is_good ? HTTP_SCREEN_MORE : HTTP_SCREEN_REQUEST_LINE;
}

static enum http_screen_verdict look_at_lines(struct bytes_view head)
{
    struct bytes_view line = {0};
    enum http_screen_verdict verdict = HTTP_SCREEN_PASS;
    (void)take_line(&head, &line);
    verdict = look_at_request_line(line);
    /* RFC 9110 s.10.1.1: a request of HTTP/1.0 expects nothing. */
    const bool may_expect =
        verdict == HTTP_SCREEN_PASS && line.data != NULL && line.data[line.len - 1] != '0';
    while (verdict == HTTP_SCREEN_PASS && take_line(&head, &line) == LINE_GOOD && line.len > 0) {
        verdict = look_at_field(line);
        if (verdict == HTTP_SCREEN_PASS && may_expect && is_named(line, "expect")) {
            verdict = HTTP_SCREEN_EXPECT;
        }
    }
    return verdict;
}

enum http_screen_verdict http_screen_look(struct bytes_view head)
{
    struct bytes_view rest = head;
    struct bytes_view line = {0};
    enum line_end end = LINE_GOOD;
    /* What comes in drops is looked at with each: only for line ends, before it is whole. */
    for (size_t lines = 0; lines <= HTTP_SCREEN_FIELDS_MAX + 1; lines++) {
        end = take_line(&rest, &line);
        if (end == LINE_BAD) {
            return HTTP_SCREEN_LINE_END;
        }
        const size_t taken = head.len - rest.len;
        if (end == LINE_OPEN) {
            if (head.len >= HTTP_SCREEN_BYTES_MAX) {
                return lines == 0 ? HTTP_SCREEN_LONG_TARGET : HTTP_SCREEN_LARGE;
            }
            return lines == 0 ? look_at_beginning(head) : HTTP_SCREEN_MORE;
        }
        if (line.len == 0) {
            return look_at_lines(bytes_view_of(head.data, taken));
        }
    }
    return HTTP_SCREEN_LARGE;
}

/* --- answers ---------------------------------------------------------------------------------- */

static const struct {
    unsigned status;
    const char *code;
    const char *message;
} refusal[HTTP_SCREEN_VERDICT_COUNT] = {
    [HTTP_SCREEN_REQUEST_LINE] = {400, "invalid_value",
                                  "The first line is not like: GET /path HTTP/1.1."},
    [HTTP_SCREEN_LINE_END] = {400, "invalid_value", "Lines of the header end with CR LF."},
    [HTTP_SCREEN_METHOD] = {501, "method_not_allowed", "There is no such method here."},
    [HTTP_SCREEN_TARGET] = {400, "invalid_value",
                            "Send the path alone, without the scheme and host before it."},
    [HTTP_SCREEN_ESCAPE] = {400, "invalid_value",
                            "Behind a percent sign stand two hex digits, and not 00."},
    [HTTP_SCREEN_VERSION] = {505, "invalid_value", "This is a server of HTTP/1.1."},
    [HTTP_SCREEN_LONG_TARGET] = {414, "too_large", "The path or its query is too long."},
    [HTTP_SCREEN_FIELD] = {400, "invalid_value", "A field of the header is not like: Name: value."},
    [HTTP_SCREEN_FOLDED_FIELD] = {400, "invalid_value",
                                  "A field of the header goes on in a second line."},
    [HTTP_SCREEN_EXPECT] = {417, "invalid_value",
                            "Send the body at once, without the field Expect."},
    [HTTP_SCREEN_LARGE] = {431, "too_large", "The header is too large, or has too many fields."},
};

struct http_response http_screen_answer(enum http_screen_verdict verdict)
{
    if (verdict == HTTP_SCREEN_ASTERISK) {
        return (struct http_response){.status = 204, .is_preflight = true};
    }
    assert(refusal[verdict].status != 0);
    return http_response_error(refusal[verdict].status, refusal[verdict].code,
                               bytes_view_of_text(refusal[verdict].message));
}

bool http_screen_is_head_request(struct bytes_view head)
{
    return head.len >= 5 && memcmp(head.data, "HEAD ", 5) == 0;
}
