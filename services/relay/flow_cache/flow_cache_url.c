/* flow_cache_url.c - see flow_cache_url.h */
#include "services/relay/flow_cache/flow_cache_url.h"

#include <assert.h>
#include <stdlib.h>

static_assert(FLOW_CACHE_DATABASE_MAX == 15, "as the faults say");

static bool copy(const char *from, size_t len, char *to, size_t cap)
{
    if (len >= cap) {
        return false;
    }
    memcpy(to, from, len);
    to[len] = '\0';
    return true;
}

static bool read_number(const char *text, unsigned long max, unsigned *out)
{
    const size_t digits = strspn(text, "0123456789");
    const unsigned long number = digits > 0 && digits <= 5 ? strtoul(text, NULL, 10) : max + 1;
    *out = (unsigned)number;
    return text[digits] == '\0' && number <= max;
}

/* "host:port", "[ip]:port" */
static const char *check_address(const char *text)
{
    unsigned port = 0;
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || text[strlen(text) - 1] == ']') {
        return "no host:port";
    }
    if (!read_number(colon + 1, UINT16_MAX, &port) || port == 0) {
        return "its port is not 1..65535";
    }
    const bool is_in_brackets = text[0] == '[' && colon[-1] == ']';
    return memchr(text, ':', (size_t)(colon - text)) == NULL || is_in_brackets
               ? NULL
               : "an IPv6 address stands in brackets";
}

static const char *read_secrets(const char *text, size_t len, struct flow_cache_url *out)
{
    const char *colon = memchr(text, ':', len);
    if (colon == NULL) {
        return "user and password have a colon between them, also without a user";
    }
    const size_t user_len = (size_t)(colon - text);
    if (!copy(text, user_len, out->user, sizeof(out->user))) {
        return "its user is too long";
    }
    return copy(colon + 1, len - user_len - 1, out->password, sizeof(out->password))
               ? NULL
               : "its password is too long";
}

static const char *read_place(const char *text, struct flow_cache_url *out)
{
    const size_t len = strcspn(text, "/");
    if (text[len] == '/' && text[len + 1] != '\0' &&
        !read_number(text + len + 1, FLOW_CACHE_DATABASE_MAX, &out->database)) {
        return "its database is not 0..15";
    }
    return copy(text, len, out->address, sizeof(out->address)) ? check_address(out->address)
                                                               : "its address is too long";
}

static const char *read_url(const char *text, struct flow_cache_url *out)
{
    static const char scheme[] = "redis://";
    if (strncmp(text, "rediss://", 9) == 0) {
        return "TLS is not spoken here: use a tunnel, and redis://";
    }
    if (strncmp(text, scheme, sizeof(scheme) - 1) != 0) {
        return "it does not begin with redis://";
    }
    const char *rest = text + sizeof(scheme) - 1;
    const char *at = strrchr(rest, '@');
    const char *wrong = at == NULL ? NULL : read_secrets(rest, (size_t)(at - rest), out);
    return wrong != NULL ? wrong : read_place(at == NULL ? rest : at + 1, out);
}

const char *flow_cache_url_parse(const char *text, struct flow_cache_url *out)
{
    *out = (struct flow_cache_url){0};
    const char *wrong = read_url(text, out);
    if (wrong != NULL) {
        explicit_bzero(out, sizeof(*out));
    }
    return wrong;
}
