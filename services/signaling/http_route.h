/*
 * http_route.h - which resource a path names, and what may be done with it
 *
 * Pure. WHIP (RFC 9725) and the Realtime API name the same resources by two prefixes.
 */
#ifndef EARSHOT_HTTP_ROUTE_H
#define EARSHOT_HTTP_ROUTE_H

#include "common/base/bytes.h"

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_PATCH,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_METHOD_COUNT
};

enum http_resource {
    HTTP_CALLS,          /* /v1/realtime/calls, /whip: an offer makes a call */
    HTTP_CALL,           /* /v1/realtime/calls/<call id>, /whip/<call id> */
    HTTP_HANGUP,         /* /v1/realtime/calls/<call id>/hangup */
    HTTP_REALTIME,       /* /v1/realtime: an offer makes a call, as it did in the beta */
    HTTP_CLIENT_SECRETS, /* /v1/realtime/client_secrets */
    HTTP_DEMO_SECRET,    /* /demo/secret, for the demo page */
    HTTP_HEALTH,         /* /healthz */
    HTTP_READY,          /* /readyz */
    HTTP_FILE            /* every other path: of the demo page, if it names a file of it */
};

struct http_route {
    enum http_resource resource;
    bool is_whip;
    struct bytes_view call_id; /* of HTTP_CALL and HTTP_HANGUP; borrows from the path */
};

struct http_route http_route_find(struct bytes_view path);
bool http_route_allows(enum http_resource resource, enum http_method method);
/* The methods of a resource as the value of an Allow field. */
const char *http_route_allow(enum http_resource resource);

#endif
