/* http_site.c - see http_site.h */
#include "services/signaling/http_site.h"

#include <stdio.h>

/* The page is made of its own files and speaks to this origin alone. */
#define PAGE_POLICY                                                                                \
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "                 \
    "frame-ancestors 'none'"

static struct http_response not_allowed(enum http_resource resource)
{
    struct http_response r =
        http_response_error(405, "method_not_allowed",
                            bytes_view_of_text("This resource has no such method: see Allow."));
    r.allow = http_route_allow(resource);
    return r;
}

/* OPTIONS: of a browser before it sends the real request, or of a WHIP client (RFC 9725). */
static struct http_response preflight(const struct http_route *route)
{
    return (struct http_response){
        .status = route->is_whip ? 200 : 204,
        .allow = http_route_allow(route->resource),
        .accept_post = route->resource == HTTP_CALLS ? "application/sdp" : NULL,
        .accept_patch = route->resource == HTTP_CALL ? CALL_PATCH_TYPE : NULL,
        .is_preflight = true,
    };
}

static struct http_response readiness(const struct http_site *site)
{
    char text[HTTP_OWN_BODY_BYTES_MAX] = "";
    size_t len = 0;
    bool is_ready = true;
    for (size_t i = 0; i < site->condition_count; i++) {
        const bool holds = metric_get(site->condition[i].holds) != 0;
        is_ready = is_ready && holds;
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%.48s: %s\n",
                                site->condition[i].name, holds ? "yes" : "no");
    }
    struct http_response r = http_response_text(is_ready ? 200 : 503, text);
    r.cache_control = "no-store";
    return r;
}

static struct http_response page(const struct http_site *site, struct bytes_view path)
{
    const struct web_file *file = site->files != NULL ? web_files_find(site->files, path) : NULL;
    if (file == NULL) {
        return http_response_error(404, "not_found",
                                   bytes_view_of_text("There is nothing at this path."));
    }
    return (struct http_response){.status = 200,
                                  .content_type = file->content_type,
                                  .cache_control = "no-cache",
                                  .page_policy = PAGE_POLICY,
                                  .body = file->content};
}

/* The answers that need nobody else; false when calls_api answers. */
static bool answer_at_once(const struct http_site *site, const struct http_request *request,
                           const struct http_route *route, struct http_response *out)
{
    const bool is_there =
        route->resource != HTTP_FILE ||
        (site->files != NULL && web_files_find(site->files, request->path) != NULL);
    if (request->method == HTTP_OPTIONS && is_there) {
        *out = preflight(route);
    } else if (is_there && !http_route_allows(route->resource, request->method)) {
        *out = not_allowed(route->resource);
    } else if (route->resource == HTTP_HEALTH) {
        *out = http_response_text(200, "ok\n");
    } else if (route->resource == HTTP_READY) {
        *out = readiness(site);
    } else if (route->resource == HTTP_FILE) {
        *out = page(site, request->path);
    } else if (request->method == HTTP_GET || request->method == HTTP_HEAD) {
        *out = (struct http_response){.status = 204}; /* WHIP: success without content */
    } else {
        return false;
    }
    return true;
}

void http_site_request(const struct http_site *site, uint64_t exchange,
                       const struct http_request *request, uint64_t now_us)
{
    const struct http_route route = http_route_find(request->path);
    struct http_response response;
    if (answer_at_once(site, request, &route, &response)) {
        http_server_answer(site->server, exchange, &response);
    } else if (route.resource == HTTP_CALLS) {
        calls_api_offer(site->calls, exchange, request, now_us);
    } else if (request->method == HTTP_PATCH) {
        calls_api_patch(site->calls, exchange, request, route.call_id, now_us);
    } else {
        calls_api_hang_up(site->calls, exchange, route.call_id, now_us);
    }
}
