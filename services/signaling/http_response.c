/* http_response.c - see http_response.h */
#include "services/signaling/http_response.h"

#include "common/base/random.h"
#include "services/signaling/http_field.h"

#include <assert.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* An error in words that need no JSON library: for the day that memory runs out. */
static const char plain_error[] =
    "{\"error\":{\"message\":\"The server could not say what went wrong.\","
    "\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"internal\"}}";

static_assert(sizeof(plain_error) <= HTTP_OWN_BODY_BYTES_MAX, "the plain error fits");

static size_t write_error(const char *code, struct bytes_view message, char *text, size_t cap)
{
    json_t *error =
        json_pack("{s:{s:s#, s:s, s:n, s:s}}", "error", "message", (const char *)message.data,
                  message.len, "type", "invalid_request_error", "param", "code", code);
    size_t len = 0;
    if (error != NULL) {
        len = json_dumpb(error, text, cap, JSON_COMPACT);
        json_decref(error);
    }
    if (len == 0 || len > cap) { /* not UTF-8, or too long once escaped */
        len = sizeof(plain_error) - 1;
        memcpy(text, plain_error, len);
    }
    return len;
}

void http_response_make_request_id(char id[HTTP_REQUEST_ID_CHARS + 1])
{
    uint8_t bytes[8];
    random_fill(random_system(), bytes, sizeof(bytes));
    char hex[2 * sizeof(bytes) + 1];
    const bool fits = bytes_to_hex(bytes_view_of(bytes, sizeof(bytes)), hex, sizeof(hex));
    assert(fits);
    (void)fits;
    (void)snprintf(id, HTTP_REQUEST_ID_CHARS + 1, "req_%s", hex);
}

struct http_response http_response_error(unsigned status, const char *code,
                                         struct bytes_view message)
{
    struct http_response r = {.status = status, .content_type = "application/json"};
    r.own_body_len = write_error(code, message, r.own_body, sizeof(r.own_body));
    return r;
}

struct http_response http_response_text(unsigned status, const char *text)
{
    struct http_response r = {.status = status, .content_type = "text/plain; charset=utf-8"};
    r.own_body_len = strnlen(text, sizeof(r.own_body));
    memcpy(r.own_body, text, r.own_body_len);
    return r;
}

bool http_response_own_body(struct http_response *r, struct bytes_view body)
{
    r->owned_body = malloc(body.len + 1);
    if (r->owned_body == NULL) {
        return false;
    }
    if (body.len > 0) {
        memcpy(r->owned_body, body.data, body.len);
    }
    r->body = bytes_view_of(r->owned_body, body.len);
    return true;
}

void http_response_discard(struct http_response *r)
{
    if (r->owned_body != NULL) {
        explicit_bzero(r->owned_body, r->body.len);
        free(r->owned_body);
    }
    r->owned_body = NULL;
    r->body = (struct bytes_view){0};
}

struct bytes_view http_response_body(const struct http_response *r)
{
    return r->own_body_len > 0 ? bytes_view_of(r->own_body, r->own_body_len) : r->body;
}

static const char *reason_phrase(unsigned status)
{
    static const struct {
        unsigned status;
        const char *phrase;
    } row[] = {
        {200, "OK"},
        {201, "Created"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {411, "Length Required"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {428, "Precondition Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        if (row[i].status == status) {
            return row[i].phrase;
        }
    }
    return "Other"; /* RFC 9112 s.4: clients ignore the phrase */
}

struct head {
    char *text;
    size_t len;
};

static void add(struct head *h, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct head *h, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int len = vsnprintf(h->text + h->len, HTTP_HEAD_BYTES_MAX - h->len, format, arguments);
    va_end(arguments);
    /* Each field is bounded by its struct, and all of them together fit: see the header. */
    assert(len >= 0 && (size_t)len < HTTP_HEAD_BYTES_MAX - h->len);
    h->len += (size_t)len;
}

static void add_field(struct head *h, const char *name, const char *value)
{
    if (value != NULL) {
        add(h, "%s: %s\r\n", name, value);
    }
}

/* RFC 9110 s.6.6.1: an origin server with a clock sends the date. */
static void add_date(struct head *h, uint64_t unix_s)
{
    const time_t seconds = (time_t)unix_s;
    struct tm utc;
    char date[40];
    (void)gmtime_r(&seconds, &utc);
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &utc);
    add_field(h, "Date", date);
}

/* The configured origin that equals the request's: never a byte of the request itself. */
static const char *allowed_origin(const struct http_origins *origins, struct bytes_view origin)
{
    for (size_t i = 0; i < origins->allowed_count; i++) {
        if (bytes_equal(origin, bytes_view_of_text(origins->allowed[i]))) {
            return origins->allowed[i];
        }
    }
    return NULL;
}

bool http_origins_allow(const struct http_origins *origins, struct bytes_view origin)
{
    return origins->is_any || origin.len == 0 || allowed_origin(origins, origin) != NULL;
}

static void add_cors(struct head *h, const struct http_response *r,
                     const struct http_head_context *context)
{
    if (context->origins->is_any) {
        add_field(h, "Access-Control-Allow-Origin", "*");
    } else {
        add_field(h, "Access-Control-Allow-Origin",
                  allowed_origin(context->origins, context->origin));
        add_field(h, "Vary", "Origin");
    }
    add_field(h, "Access-Control-Expose-Headers",
              "Location, ETag, Link, Accept-Patch, Retry-After, x-request-id");
    if (!r->is_preflight) {
        return;
    }
    add_field(h, "Access-Control-Allow-Methods", "POST, GET, PATCH, DELETE, OPTIONS");
    const struct bytes_view asked = context->asked_request_headers;
    if (asked.len <= HTTP_ASKED_CHARS_MAX && http_field_allows_request_headers(asked)) {
        add(h, "Access-Control-Allow-Headers: %.*s\r\n", (int)asked.len, (const char *)asked.data);
    }
    add_field(h, "Access-Control-Max-Age", "600");
}

size_t http_response_head(const struct http_response *r, const struct http_head_context *context,
                          char text[HTTP_HEAD_BYTES_MAX])
{
    struct head h = {.text = text};
    add(&h, "HTTP/1.1 %u %s\r\n", r->status, reason_phrase(r->status));
    add_date(&h, context->unix_s);
    if (r->status != 204) { /* RFC 9110 s.8.6: no Content-Length in a 204 */
        add(&h, "Content-Length: %zu\r\n", http_response_body(r).len);
    }
    add_field(&h, "Content-Type", r->content_type);
    add_field(&h, "Location", r->location[0] != '\0' ? r->location : NULL);
    add_field(&h, "ETag", r->etag[0] != '\0' ? r->etag : NULL);
    add_field(&h, "Allow", r->allow);
    add_field(&h, "Accept-Post", r->accept_post);
    add_field(&h, "Accept-Patch", r->accept_patch);
    add_field(&h, "Cache-Control", r->cache_control);
    add_field(&h, "Content-Security-Policy", r->page_policy);
    add_field(&h, "X-Content-Type-Options", "nosniff");
    /* RFC 9110 s.15.5.2: a 401 says how to do better. */
    add_field(&h, "WWW-Authenticate", r->wants_bearer ? "Bearer" : NULL);
    add_field(&h, "x-request-id", context->request_id);
    if (r->retry_after_s > 0) {
        add(&h, "Retry-After: %u\r\n", r->retry_after_s);
    }
    add_cors(&h, r, context);
    add_field(&h, "Connection", context->is_last ? "close" : NULL);
    add(&h, "\r\n");
    return h.len;
}
