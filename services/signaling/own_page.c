/* own_page.c - see own_page.h */
#include "services/signaling/own_page.h"

#include "common/base/net_addr.h"

#include <strings.h>

/* "name", "name:port" or "[address]:port" without the port and brackets; false for no such form. */
static bool read_name(struct bytes_view host, char name[OWN_PAGE_NAME_CAP], bool *out_is_bracketed)
{
    const bool is_bracketed = host.len > 0 && host.data[0] == '[';
    const uint8_t *begin = host.data + is_bracketed;
    const uint8_t *end =
        host.len > 0 ? memchr(begin, is_bracketed ? ']' : ':', host.len - is_bracketed) : NULL;
    const size_t len = end != NULL ? (size_t)(end - begin) : host.len;
    if (len == 0 || len >= OWN_PAGE_NAME_CAP || (is_bracketed && end == NULL)) {
        return false;
    }
    memcpy(name, begin, len);
    name[len] = '\0';
    *out_is_bracketed = is_bracketed;
    return strlen(name) == len;
}

static bool is_our_host(struct bytes_view host, const char *ours)
{
    char name[OWN_PAGE_NAME_CAP];
    struct net_addr address;
    bool is_bracketed = false;
    if (!read_name(host, name, &is_bracketed)) {
        return false;
    }
    if (net_addr_parse_ip(name, 0, &address)) {
        return true;
    }
    return !is_bracketed &&
           (strcasecmp(name, "localhost") == 0 || (ours[0] != '\0' && strcasecmp(name, ours) == 0));
}

bool own_page_is_source(struct bytes_view host, struct bytes_view origin, const char *name)
{
    static const char *const scheme[] = {"http://", "https://"};
    for (size_t i = 0; i < COUNT_OF(scheme); i++) {
        const size_t len = strlen(scheme[i]);
        if (host.len > 0 && origin.len == len + host.len &&
            memcmp(origin.data, scheme[i], len) == 0 &&
            strncasecmp((const char *)origin.data + len, (const char *)host.data, host.len) == 0) {
            return is_our_host(host, name);
        }
    }
    return false;
}
