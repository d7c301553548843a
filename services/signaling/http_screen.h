/*
 * http_screen.h - whether libwebsockets may see the head of a request
 *
 * libwebsockets 4.1 answers what it does not like by itself, in HTML and without CORS fields, or
 * hangs up. So each head is looked at whole, before it reads the first byte: what passes here it
 * takes, and what does not is answered by us.
 * Pure. Takes what has come so far of a head, from its first byte on.
 * Bounds:  HTTP_SCREEN_*_MAX, each within what libwebsockets has room for.
 * Source:  RFC 9112 s.2 to 5; docs/client-contract.md.
 * Not here: what a field means to us (http_connection.h, http_field.h).
 */
#ifndef EARSHOT_HTTP_SCREEN_H
#define EARSHOT_HTTP_SCREEN_H

#include "services/signaling/http_response.h"

#define HTTP_SCREEN_BYTES_MAX      16384
#define HTTP_SCREEN_FIELDS_MAX     64
#define HTTP_SCREEN_SEPARATORS_MAX 24 /* '&' and ';' in a target: each a part to libwebsockets */

enum http_screen_verdict {
    HTTP_SCREEN_PASS,
    HTTP_SCREEN_MORE,     /* a good beginning, the rest has not come */
    HTTP_SCREEN_ASTERISK, /* OPTIONS *: good, but libwebsockets would refuse it */
    HTTP_SCREEN_REQUEST_LINE,
    HTTP_SCREEN_LINE_END,
    HTTP_SCREEN_METHOD,
    HTTP_SCREEN_TARGET,
    HTTP_SCREEN_ESCAPE,
    HTTP_SCREEN_VERSION,
    HTTP_SCREEN_LONG_TARGET,
    HTTP_SCREEN_FIELD,
    HTTP_SCREEN_FOLDED_FIELD,
    HTTP_SCREEN_LARGE,
    HTTP_SCREEN_EXPECT, /* libwebsockets would wait for a body that waits for us */
    HTTP_SCREEN_VERDICT_COUNT
};

/* Empty lines ahead of a request, which a server should ignore (RFC 9112 s.2.2): their bytes. */
size_t http_screen_empty_lines(struct bytes_view input);
enum http_screen_verdict http_screen_look(struct bytes_view head);

/* To a head that neither passed nor waits for more. */
struct http_response http_screen_answer(enum http_screen_verdict verdict);
/* The value of the first field of this name, without blanks around it, as far as it has come; empty
 * when absent. Nothing behind the head counts. */
struct bytes_view http_screen_field(struct bytes_view head, const char *name);
/* The same of the one behind `index` others of this name. */
struct bytes_view http_screen_field_at(struct bytes_view head, const char *name, size_t index);
/* How many fields of this name have come. */
size_t http_screen_count(struct bytes_view head, const char *name);
bool http_screen_is_head_request(struct bytes_view head);

#endif
