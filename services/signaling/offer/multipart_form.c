/* multipart_form.c - see multipart_form.h */
#include "services/signaling/offer/multipart_form.h"

#include <strings.h>

static bool is_text(struct bytes_view v, const char *text)
{
    return v.len == strlen(text) && strncasecmp((const char *)v.data, text, v.len) == 0;
}

static struct bytes_view from(struct bytes_view v, size_t offset)
{
    return bytes_view_of(v.data + offset, v.len - offset);
}

/* Takes a prefix off the front. */
static bool take(struct bytes_view *v, struct bytes_view prefix)
{
    if (v->len < prefix.len || (prefix.len > 0 && memcmp(v->data, prefix.data, prefix.len) != 0)) {
        return false;
    }
    *v = from(*v, prefix.len);
    return true;
}

/* --- values with parameters: type; name=token; name="quoted" ---------------------------------- */

static struct bytes_view without_blanks(struct bytes_view v)
{
    while (v.len > 0 && (v.data[0] == ' ' || v.data[0] == '\t')) {
        v = from(v, 1);
    }
    while (v.len > 0 && (v.data[v.len - 1] == ' ' || v.data[v.len - 1] == '\t')) {
        v.len--;
    }
    return v;
}

/* Cuts up to the next semicolon that stands outside of quotes. */
static struct bytes_view cut_parameter(struct bytes_view *rest)
{
    bool is_quoted = false;
    size_t len = 0;
    while (len < rest->len && (is_quoted || rest->data[len] != ';')) {
        is_quoted = is_quoted != (rest->data[len] == '"');
        len += is_quoted && rest->data[len] == '\\' && len + 1 < rest->len ? 2 : 1;
    }
    const struct bytes_view cut = bytes_view_of(rest->data, len);
    *rest = from(*rest, len < rest->len ? len + 1 : len);
    return without_blanks(cut);
}

/* The value of one parameter, without its quotes. False: it is not there, or empty. */
static bool find_parameter(struct bytes_view rest, const char *name, struct bytes_view *out)
{
    while (rest.len > 0) {
        const struct bytes_view parameter = cut_parameter(&rest);
        const uint8_t *equals =
            parameter.len > 0 ? memchr(parameter.data, '=', parameter.len) : NULL;
        const size_t name_len = equals != NULL ? (size_t)(equals - parameter.data) : 0;
        if (equals == NULL || !is_text(bytes_view_of(parameter.data, name_len), name)) {
            continue;
        }
        struct bytes_view value = from(parameter, name_len + 1);
        if (value.len >= 2 && value.data[0] == '"' && value.data[value.len - 1] == '"') {
            value = bytes_view_of(value.data + 1, value.len - 2);
        }
        *out = value;
        return value.len > 0;
    }
    return false;
}

static bool read_boundary(struct bytes_view content_type, struct bytes_view *out)
{
    return is_text(cut_parameter(&content_type), "multipart/form-data") &&
           find_parameter(content_type, "boundary", out) &&
           out->len <= MULTIPART_FORM_BOUNDARY_CHARS_MAX;
}

/* --- a part ----------------------------------------------------------------------------------- */

/* Takes a line that ends in CR LF, without its end. */
static bool take_line(struct bytes_view *rest, struct bytes_view *line)
{
    const size_t look = rest->len < MULTIPART_FORM_LINE_BYTES_MAX + 2
                            ? rest->len
                            : MULTIPART_FORM_LINE_BYTES_MAX + 2;
    const uint8_t *lf = look > 0 ? memchr(rest->data, '\n', look) : NULL;
    if (lf == NULL || lf == rest->data || lf[-1] != '\r') {
        return false;
    }
    const size_t len = (size_t)(lf - rest->data);
    *line = bytes_view_of(rest->data, len - 1);
    *rest = from(*rest, len + 1);
    return true;
}

/* RFC 7578 s.4.2: Content-Disposition: form-data; name="...". */
static bool read_name(struct bytes_view line, struct bytes_view *name)
{
    static const char field[] = "content-disposition:";
    const size_t field_len = sizeof(field) - 1;
    if (line.len < field_len || strncasecmp((const char *)line.data, field, field_len) != 0) {
        return true; /* another field, which says nothing to us */
    }
    struct bytes_view value = from(line, field_len);
    return name->len == 0 && is_text(cut_parameter(&value), "form-data") &&
           find_parameter(value, "name", name);
}

/* The header of a part up to its empty line. */
static bool take_header(struct bytes_view *rest, struct bytes_view *name)
{
    struct bytes_view line = {0};
    *name = (struct bytes_view){0};
    for (size_t i = 0; i <= MULTIPART_FORM_LINES_MAX; i++) {
        if (!take_line(rest, &line)) {
            return false;
        }
        if (line.len == 0) {
            return name->len > 0;
        }
        if (!read_name(line, name)) {
            return false;
        }
    }
    return false;
}

/* The content up to the next CR LF, two dashes and boundary, which are taken too. */
static bool take_content(struct bytes_view *rest, struct bytes_view boundary,
                         struct bytes_view *content)
{
    const struct bytes_view lead = bytes_view_of_text("\r\n--");
    for (size_t at = 0; at < rest->len; at++) {
        const uint8_t *cr = memchr(rest->data + at, '\r', rest->len - at);
        if (cr == NULL) {
            return false;
        }
        at = (size_t)(cr - rest->data);
        struct bytes_view behind = from(*rest, at);
        if (take(&behind, lead) && take(&behind, boundary)) {
            *content = bytes_view_of(rest->data, at);
            *rest = behind;
            return true;
        }
    }
    return false;
}

/* --- the form --------------------------------------------------------------------------------- */

bool multipart_form_find(const struct multipart_form *form, const char *name,
                         struct bytes_view *out_content)
{
    for (size_t i = 0; i < form->count; i++) {
        if (bytes_equal(form->part[i].name, bytes_view_of_text(name))) {
            *out_content = form->part[i].content;
            return true;
        }
    }
    return false;
}

static bool has_part(const struct multipart_form *form, struct bytes_view name)
{
    for (size_t i = 0; i < form->count; i++) {
        if (bytes_equal(form->part[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* Blanks behind a boundary (RFC 2046: transport-padding) say nothing. */
static void skip_padding(struct bytes_view *rest)
{
    size_t len = 0;
    while (len < rest->len && (rest->data[len] == ' ' || rest->data[len] == '\t')) {
        len++;
    }
    *rest = from(*rest, len);
}

/* Whether a boundary of the form begins here: it goes on with a line's end or two dashes. */
static bool is_boundary_end(struct bytes_view rest)
{
    struct bytes_view after = rest;
    skip_padding(&after);
    return take(&rest, bytes_view_of_text("--")) || take(&after, bytes_view_of_text("\r\n"));
}

/* Takes the preamble, two dashes and boundary: the first that begin a line. */
static bool take_first_boundary(struct bytes_view *body, struct bytes_view boundary)
{
    const size_t look =
        body->len < MULTIPART_FORM_AROUND_BYTES_MAX ? body->len : MULTIPART_FORM_AROUND_BYTES_MAX;
    for (size_t at = 0; at <= look; at++) {
        struct bytes_view behind = from(*body, at);
        const bool begins_line = at == 0 || (at >= 2 && memcmp(behind.data - 2, "\r\n", 2) == 0);
        if (begins_line && take(&behind, bytes_view_of_text("--")) && take(&behind, boundary) &&
            is_boundary_end(behind)) {
            *body = behind;
            return true;
        }
    }
    return false;
}

/* Behind the last boundary: blanks, and after a line's end whatever it likes. */
static bool is_epilogue(struct bytes_view rest)
{
    const bool is_short = rest.len <= MULTIPART_FORM_AROUND_BYTES_MAX;
    skip_padding(&rest);
    return is_short && (rest.len == 0 || take(&rest, bytes_view_of_text("\r\n")));
}

bool multipart_form_read(struct bytes_view content_type, struct bytes_view body,
                         struct multipart_form *out)
{
    const struct bytes_view dashes = bytes_view_of_text("--");
    const struct bytes_view line_end = bytes_view_of_text("\r\n");
    struct bytes_view boundary = {0};
    *out = (struct multipart_form){0};
    if (body.len == 0 || !read_boundary(content_type, &boundary) ||
        !take_first_boundary(&body, boundary)) {
        return false;
    }
    while (!take(&body, dashes)) {
        struct multipart_form_part part;
        skip_padding(&body);
        if (!take(&body, line_end) || out->count == MULTIPART_FORM_PARTS_MAX ||
            !take_header(&body, &part.name) || !take_content(&body, boundary, &part.content) ||
            has_part(out, part.name)) {
            return false;
        }
        out->part[out->count++] = part;
    }
    return is_epilogue(body);
}
