/*
 * http_field.h - values of HTTP header fields, read strictly (RFC 9110)
 *
 * Pure. A view of length 0 is an absent field.
 */
#ifndef EARSHOT_HTTP_FIELD_H
#define EARSHOT_HTTP_FIELD_H

#include "common/base/bytes.h"

/* Content-Type: is it `type` ("application/sdp"), in any case, with whatever parameters? */
bool http_field_is_media_type(struct bytes_view field, const char *type);

/* Content-Length: digits and nothing else; a list of lengths is no length. */
MUST_USE bool http_field_content_length(struct bytes_view field, uint64_t *out);

/* Access-Control-Request-Headers: true when each name is one that our clients send. The whole
 * field is then names, commas and blanks, and may be echoed. */
bool http_field_allows_request_headers(struct bytes_view field);

/* The first parameter `name` of a query that was decoded already. False: it is not there. */
MUST_USE bool http_field_query(struct bytes_view query, const char *name, struct bytes_view *out);

/* The value as text for people: printable, of one line, up to the first character of `end`. */
struct bytes_view http_field_note(struct bytes_view field, const char *end);

#endif
