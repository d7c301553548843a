/*
 * http_site.h - the whole tree of URLs: who answers what
 *
 * Takes:   each request, in any order of exchanges.
 * Gives:   calls go to calls_api and call_operations, once access_gate let them in; all else (page,
 *          probes, CORS preflights, client secrets, errors) is answered at once.
 * Source:  docs/client-contract.md.
 */
#ifndef EARSHOT_HTTP_SITE_H
#define EARSHOT_HTTP_SITE_H

#include "services/signaling/access_gate.h"
#include "services/signaling/calls_api.h"
#include "services/signaling/web_files.h"

/* What /readyz tells; the same values as on the admin port. */
struct http_site_condition {
    const char *name;
    const metric_value *holds;
};

#define HTTP_SITE_CONDITIONS_MAX 4

struct http_site {
    struct http_server *server;
    struct access_gate *access;
    struct calls_api *calls;
    const struct web_files *files; /* NULL: no page */
    bool has_demo;                 /* the page gets client secrets */
    struct http_site_condition condition[HTTP_SITE_CONDITIONS_MAX];
    size_t condition_count;
};

void http_site_request(const struct http_site *site, uint64_t exchange,
                       const struct http_request *request, uint64_t now_us);

#endif
