/* flow_cache_url.c - see flow_cache_url.h */
#include "services/relay/flow_cache/flow_cache_url.h"

#include <stdlib.h>

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
static bool is_address(const char *text)
{
    unsigned port = 0;
    const char *colon = strrchr(text, ':');
    return colon != NULL && colon > text && read_number(colon + 1, UINT16_MAX, &port) && port > 0;
}

static bool read_secrets(const char *text, size_t len, struct flow_cache_url *out)
{
    const char *colon = memchr(text, ':', len);
    if (colon == NULL) {
        return false;
    }
    const size_t user_len = (size_t)(colon - text);
    return copy(text, user_len, out->user, sizeof(out->user)) &&
           copy(colon + 1, len - user_len - 1, out->password, sizeof(out->password));
}

static bool read_place(const char *text, struct flow_cache_url *out)
{
    const size_t len = strcspn(text, "/");
    if (text[len] == '/' && text[len + 1] != '\0' &&
        !read_number(text + len + 1, FLOW_CACHE_DATABASE_MAX, &out->database)) {
        return false;
    }
    return copy(text, len, out->address, sizeof(out->address)) && is_address(out->address);
}

bool flow_cache_url_parse(const char *text, struct flow_cache_url *out)
{
    static const char scheme[] = "redis://";
    *out = (struct flow_cache_url){0};
    bool is_good = strncmp(text, scheme, sizeof(scheme) - 1) == 0;
    if (is_good) {
        const char *rest = text + sizeof(scheme) - 1;
        const char *at = strrchr(rest, '@');
        is_good = (at == NULL || read_secrets(rest, (size_t)(at - rest), out)) &&
                  read_place(at == NULL ? rest : at + 1, out);
    }
    if (!is_good) {
        explicit_bzero(out, sizeof(*out));
    }
    return is_good;
}
