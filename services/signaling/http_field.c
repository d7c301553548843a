/* http_field.c - see http_field.h */
#include "services/signaling/http_field.h"

#include <strings.h>

/* RFC 9110 s.5.6.3: optional blanks around a value. */
static struct bytes_view without_blanks(struct bytes_view v)
{
    while (v.len > 0 && (v.data[0] == ' ' || v.data[0] == '\t')) {
        v.data++;
        v.len--;
    }
    while (v.len > 0 && (v.data[v.len - 1] == ' ' || v.data[v.len - 1] == '\t')) {
        v.len--;
    }
    return v;
}

/* Cuts the part before `separator` off the front of *rest, without blanks around it. */
static struct bytes_view cut(struct bytes_view *rest, char separator)
{
    const uint8_t *end = rest->len > 0 ? memchr(rest->data, separator, rest->len) : NULL;
    const size_t len = end != NULL ? (size_t)(end - rest->data) : rest->len;
    const struct bytes_view part = bytes_view_of(rest->data, len);
    const size_t used = end != NULL ? len + 1 : len;
    *rest = bytes_view_of(rest->data + used, rest->len - used);
    return without_blanks(part);
}

static bool equals_ignoring_case(struct bytes_view v, const char *text)
{
    return v.len == strlen(text) && strncasecmp((const char *)v.data, text, v.len) == 0;
}

bool http_field_is_media_type(struct bytes_view field, const char *type)
{
    return field.len > 0 && equals_ignoring_case(cut(&field, ';'), type);
}

bool http_field_content_length(struct bytes_view field, uint64_t *out)
{
    /* 18 digits are more than any body, and can not overflow. */
    if (field.len == 0 || field.len > 18) {
        return false;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < field.len; i++) {
        if (field.data[i] < '0' || field.data[i] > '9') {
            return false;
        }
        value = value * 10 + (field.data[i] - '0');
    }
    *out = value;
    return true;
}

/* RFC 9110 s.5.6.2, in the letters that header names really use. */
static bool is_name(struct bytes_view v)
{
    for (size_t i = 0; i < v.len; i++) {
        const uint8_t c = v.data[i];
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '_') {
            return false;
        }
    }
    return v.len > 0;
}

static bool is_sent_by_our_clients(struct bytes_view name)
{
    static const char *const whole[] = {"authorization", "content-type", "openai-beta", "if-match"};
    static const char *const prefix[] = {"x-openai-", "x-stainless-"};
    for (size_t i = 0; i < COUNT_OF(whole); i++) {
        if (equals_ignoring_case(name, whole[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < COUNT_OF(prefix); i++) {
        const size_t len = strlen(prefix[i]);
        if (name.len > len && strncasecmp((const char *)name.data, prefix[i], len) == 0) {
            return is_name(name);
        }
    }
    return false;
}

bool http_field_allows_request_headers(struct bytes_view field)
{
    struct bytes_view rest = field;
    while (rest.len > 0) {
        if (!is_sent_by_our_clients(cut(&rest, ','))) {
            return false;
        }
    }
    return field.len > 0;
}

bool http_field_query(struct bytes_view query, const char *name, struct bytes_view *out)
{
    const size_t name_len = strlen(name);
    while (query.len > 0) {
        const struct bytes_view parameter = cut(&query, '&');
        if (parameter.len > name_len && parameter.data[name_len] == '=' &&
            memcmp(parameter.data, name, name_len) == 0) {
            *out = bytes_view_of(parameter.data + name_len + 1, parameter.len - name_len - 1);
            return true;
        }
    }
    return false;
}

struct bytes_view http_field_note(struct bytes_view field, const char *end)
{
    size_t len = 0;
    while (len < field.len && field.data[len] >= 0x20 && field.data[len] < 0x7f &&
           strchr(end, field.data[len]) == NULL) {
        len++;
    }
    return bytes_view_of(field.data, len);
}
