/* http_route.c - see http_route.h */
#include "services/signaling/http_route.h"

#define BIT(method) (1u << (method))

static const struct {
    const char *allow;
    unsigned methods;
} resource_row[] = {
    [HTTP_CALLS] = {"POST, GET, HEAD, OPTIONS",
                    BIT(HTTP_POST) | BIT(HTTP_GET) | BIT(HTTP_HEAD) | BIT(HTTP_OPTIONS)},
    [HTTP_CALL] = {"PATCH, DELETE, GET, HEAD, OPTIONS", BIT(HTTP_PATCH) | BIT(HTTP_DELETE) |
                                                            BIT(HTTP_GET) | BIT(HTTP_HEAD) |
                                                            BIT(HTTP_OPTIONS)},
    [HTTP_HANGUP] = {"POST, OPTIONS", BIT(HTTP_POST) | BIT(HTTP_OPTIONS)},
    [HTTP_REALTIME] = {"POST, OPTIONS", BIT(HTTP_POST) | BIT(HTTP_OPTIONS)},
    [HTTP_CLIENT_SECRETS] = {"POST, OPTIONS", BIT(HTTP_POST) | BIT(HTTP_OPTIONS)},
    [HTTP_DEMO_SECRET] = {"POST, OPTIONS", BIT(HTTP_POST) | BIT(HTTP_OPTIONS)},
    [HTTP_HEALTH] = {"GET, HEAD, OPTIONS", BIT(HTTP_GET) | BIT(HTTP_HEAD) | BIT(HTTP_OPTIONS)},
    [HTTP_READY] = {"GET, HEAD, OPTIONS", BIT(HTTP_GET) | BIT(HTTP_HEAD) | BIT(HTTP_OPTIONS)},
    [HTTP_FILE] = {"GET, HEAD, OPTIONS", BIT(HTTP_GET) | BIT(HTTP_HEAD) | BIT(HTTP_OPTIONS)},
};

static const struct {
    const char *path;
    enum http_resource resource;
} whole_path[] = {
    {"/v1/realtime", HTTP_REALTIME},
    {"/v1/realtime/client_secrets", HTTP_CLIENT_SECRETS},
    {"/demo/secret", HTTP_DEMO_SECRET},
    {"/healthz", HTTP_HEALTH},
    {"/readyz", HTTP_READY},
};

static bool is_text(struct bytes_view v, const char *text)
{
    return bytes_equal(v, bytes_view_of_text(text));
}

/* Takes a prefix off the front of the path. */
static bool take_prefix(struct bytes_view *path, const char *prefix)
{
    const size_t len = strlen(prefix);
    if (path->len < len || memcmp(path->data, prefix, len) != 0) {
        return false;
    }
    *path = bytes_view_of(path->data + len, path->len - len);
    return true;
}

/* What stands behind "/v1/realtime/calls" or "/whip". */
static struct http_route find_call(struct bytes_view rest, bool is_whip)
{
    const struct http_route none = {.resource = HTTP_FILE};
    if (rest.len == 0) {
        return (struct http_route){.resource = HTTP_CALLS, .is_whip = is_whip};
    }
    if (!take_prefix(&rest, "/")) {
        return none;
    }
    const uint8_t *slash = rest.len > 0 ? memchr(rest.data, '/', rest.len) : NULL;
    const size_t call_id_len = slash != NULL ? (size_t)(slash - rest.data) : rest.len;
    struct http_route route = {.resource = HTTP_CALL,
                               .is_whip = is_whip,
                               .call_id = bytes_view_of(rest.data, call_id_len)};
    if (call_id_len == 0) {
        return none;
    }
    if (slash == NULL) {
        return route;
    }
    route.resource = HTTP_HANGUP;
    const struct bytes_view verb = bytes_view_of(slash, rest.len - call_id_len);
    return !is_whip && is_text(verb, "/hangup") ? route : none;
}

struct http_route http_route_find(struct bytes_view path)
{
    struct bytes_view rest = path;
    if (take_prefix(&rest, "/v1/realtime/calls")) {
        return find_call(rest, false);
    }
    if (take_prefix(&rest, "/whip")) {
        return find_call(rest, true);
    }
    for (size_t i = 0; i < COUNT_OF(whole_path); i++) {
        if (is_text(path, whole_path[i].path)) {
            return (struct http_route){.resource = whole_path[i].resource};
        }
    }
    return (struct http_route){.resource = HTTP_FILE};
}

bool http_route_allows(enum http_resource resource, enum http_method method)
{
    return (resource_row[resource].methods & BIT(method)) != 0;
}

const char *http_route_allow(enum http_resource resource)
{
    return resource_row[resource].allow;
}
