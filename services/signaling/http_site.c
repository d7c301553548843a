/* http_site.c - see http_site.h */
#include "services/signaling/http_site.h"

#include "services/signaling/call_operations.h"
#include "services/signaling/client_secrets_api.h"

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

static bool is_for_offers(enum http_resource resource)
{
    return resource == HTTP_CALLS || resource == HTTP_REALTIME;
}

/* OPTIONS: of a browser before it sends the real request, or of a WHIP client (RFC 9725). */
static struct http_response preflight(const struct http_route *route)
{
    return (struct http_response){
        .status = route->is_whip ? 200 : 204,
        .allow = http_route_allow(route->resource),
        .accept_post = is_for_offers(route->resource) ? "application/sdp" : NULL,
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

static struct http_response not_found(void)
{
    return http_response_error(404, "not_found",
                               bytes_view_of_text("There is nothing at this path."));
}

/* Of a path that is there. */
static struct http_response page(const struct http_site *site, struct bytes_view path)
{
    const struct web_file *file = web_files_find(site->files, path);
    return (struct http_response){.status = 200,
                                  .content_type = file->content_type,
                                  .cache_control = "no-cache",
                                  .page_policy = PAGE_POLICY,
                                  .body = file->content};
}

static bool is_there(const struct http_site *site, const struct http_request *request,
                     const struct http_route *route)
{
    switch (route->resource) {
    case HTTP_FILE:
        return site->files != NULL && web_files_find(site->files, request->path) != NULL;
    case HTTP_DEMO_SECRET:
        return site->has_demo;
    default:
        return true;
    }
}

static bool is_look(const struct http_request *request)
{
    return request->method == HTTP_GET || request->method == HTTP_HEAD;
}

/* The answers that need nobody else; false when the request is somebody's business. */
static bool answer_at_once(const struct http_site *site, const struct http_request *request,
                           const struct http_route *route, struct http_response *out)
{
    if (!is_there(site, request, route)) {
        *out = not_found();
    } else if (request->method == HTTP_OPTIONS) {
        *out = preflight(route);
    } else if (!http_route_allows(route->resource, request->method)) {
        *out = not_allowed(route->resource);
    } else if (route->resource == HTTP_HEALTH) {
        *out = http_response_text(200, "ok\n");
    } else if (route->resource == HTTP_READY) {
        *out = readiness(site);
    } else if (route->resource == HTTP_FILE) {
        *out = page(site, request->path);
    } else if (route->resource == HTTP_CALLS && is_look(request)) {
        *out = (struct http_response){.status = 204}; /* WHIP: success without content */
    } else {
        return false;
    }
    return true;
}

static enum access_need need_of(enum http_resource resource)
{
    switch (resource) {
    case HTTP_CALLS:
    case HTTP_REALTIME:
        return ACCESS_OFFER;
    case HTTP_CLIENT_SECRETS:
        return ACCESS_ISSUE;
    case HTTP_DEMO_SECRET:
        return ACCESS_DEMO;
    default:
        return ACCESS_OPERATE;
    }
}

/* A request on a call that is there. */
static void operate(const struct http_site *site, const struct call_operation *operation,
                    const struct http_request *request, uint64_t now_us)
{
    if (request->method == HTTP_PATCH) {
        call_operations_patch(site->calls, operation, request, now_us);
    } else if (is_look(request)) {
        call_operations_look(site->calls, operation, now_us);
    } else {
        call_operations_hang_up(site->calls, operation, now_us);
    }
}

static void serve(const struct http_site *site, uint64_t exchange,
                  const struct http_request *request, const struct http_route *route,
                  const struct auth_identity *who, uint64_t now_us)
{
    const struct call_operation operation = {exchange, route->call_id, who};
    struct auth *auth = access_gate_auth(site->access);
    struct http_response response;
    switch (route->resource) {
    case HTTP_CALLS:
    case HTTP_REALTIME:
        calls_api_offer(site->calls, exchange, request, who, now_us);
        break;
    case HTTP_CLIENT_SECRETS:
        response = client_secrets_api_issue(auth, request, who);
        http_server_answer(site->server, exchange, &response);
        break;
    case HTTP_DEMO_SECRET:
        response = client_secrets_api_demo(auth, who);
        http_server_answer(site->server, exchange, &response);
        break;
    default:
        operate(site, &operation, request, now_us);
        break;
    }
}

void http_site_request(const struct http_site *site, uint64_t exchange,
                       const struct http_request *request, uint64_t now_us)
{
    const struct http_route route = http_route_find(request->path);
    struct http_response response;
    struct auth_identity who;
    if (answer_at_once(site, request, &route, &response) ||
        !access_gate_check(site->access, request, need_of(route.resource), &who, &response,
                           now_us)) {
        http_server_answer(site->server, exchange, &response);
        return;
    }
    serve(site, exchange, request, &route, &who, now_us);
}
