/*
 * http_response.h - one answer of HTTP/1.1, as a value and as text
 *
 * Every answer carries the CORS fields, errors included: without them a browser hides the message
 * from the page. Every error has the body of the Realtime API.
 * Bounds:  the head of any response fits HTTP_HEAD_BYTES_MAX.
 * Source:  docs/client-contract.md.
 */
#ifndef EARSHOT_HTTP_RESPONSE_H
#define EARSHOT_HTTP_RESPONSE_H

#include "services/signaling/http_route.h"

#define HTTP_HEAD_BYTES_MAX     2048
#define HTTP_OWN_BODY_BYTES_MAX 1024
#define HTTP_ORIGINS_MAX        16
#define HTTP_ORIGIN_CHARS_MAX   255
#define HTTP_LOCATION_CHARS     64
#define HTTP_ETAG_CHARS         8
#define HTTP_ASKED_CHARS_MAX    512 /* of Access-Control-Request-Headers */
#define HTTP_REQUEST_ID_CHARS   20  /* "req_" and 64 random bits */

struct http_response {
    unsigned status;
    const char *content_type; /* static text; NULL without a body */
    char location[HTTP_LOCATION_CHARS];
    char etag[HTTP_ETAG_CHARS]; /* with its quotes; empty = none */
    const char *allow;          /* static text or NULL */
    const char *accept_post;    /* static text or NULL */
    const char *accept_patch;   /* static text or NULL */
    const char *cache_control;  /* static text or NULL */
    const char *page_policy;    /* static text or NULL: Content-Security-Policy */
    unsigned retry_after_s;     /* 0 = do not say */
    bool wants_bearer;          /* of a 401: WWW-Authenticate */
    bool is_preflight;          /* the answer to OPTIONS: with the three fields that it asks for */
    struct bytes_view body;     /* borrowed, unless the response has a body of its own */
    char *owned_body;           /* NULL, or what body shows: freed and cleansed by discard */
    size_t own_body_len;
    char own_body[HTTP_OWN_BODY_BYTES_MAX];
};

/* Whom a browser lets read our answers. */
struct http_origins {
    bool is_any;
    char allowed[HTTP_ORIGINS_MAX][HTTP_ORIGIN_CHARS_MAX + 1];
    size_t allowed_count;
};

/* A new name for a request, to find it in a log. */
void http_response_make_request_id(char id[HTTP_REQUEST_ID_CHARS + 1]);

/* May a page of this origin speak to us? One without an origin is no page of a browser. */
bool http_origins_allow(const struct http_origins *origins, struct bytes_view origin);

/* code: "invalid_offer"; message: one line for a person, cut when it is very long. */
struct http_response http_response_error(unsigned status, const char *code,
                                         struct bytes_view message);
/* A short text/plain body, copied; cut at HTTP_OWN_BODY_BYTES_MAX. */
struct http_response http_response_text(unsigned status, const char *text);
/* Copies a body that would not live as long as the answer. False without memory. */
MUST_USE bool http_response_own_body(struct http_response *r, struct bytes_view body);
/* Of a response that was not given to http_server_answer, which does it otherwise. */
void http_response_discard(struct http_response *r);
struct bytes_view http_response_body(const struct http_response *r);

/* What of the request shapes the head of its answer. */
struct http_head_context {
    const struct http_origins *origins;
    struct bytes_view origin;                /* Origin */
    struct bytes_view asked_request_headers; /* Access-Control-Request-Headers */
    const char *request_id;                  /* NULL = none */
    bool is_last;                            /* the connection closes afterwards */
    uint64_t unix_s;
};

/* Status line, fields and the empty line; returns the length. */
size_t http_response_head(const struct http_response *r, const struct http_head_context *context,
                          char text[HTTP_HEAD_BYTES_MAX]);

#endif
