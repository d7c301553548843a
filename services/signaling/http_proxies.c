/* http_proxies.c - see http_proxies.h */
#include "services/signaling/http_proxies.h"

#include "services/signaling/http_screen.h"

#define FIELD "x-forwarded-for"

bool http_proxies_trust(const struct http_proxies *proxies, const struct net_addr *peer)
{
    for (size_t i = 0; i < proxies->count; i++) {
        if (net_block_contains(&proxies->block[i], peer)) {
            return true;
        }
    }
    return false;
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static struct bytes_view trim(struct bytes_view text)
{
    while (text.len > 0 && is_blank(text.data[0])) {
        text = bytes_view_of(text.data + 1, text.len - 1);
    }
    while (text.len > 0 && is_blank(text.data[text.len - 1])) {
        text.len--;
    }
    return text;
}

/* Cuts the last element off a list. */
static struct bytes_view take_last(struct bytes_view *list)
{
    size_t begin = list->len;
    while (begin > 0 && list->data[begin - 1] != ',') {
        begin--;
    }
    const struct bytes_view last = bytes_view_of(list->data + begin, list->len - begin);
    list->len = begin > 0 ? begin - 1 : 0;
    return trim(last);
}

/* An address; some proxies add the port. */
static bool read_address(struct bytes_view text, struct net_addr *out)
{
    char copy[NET_ADDR_TEXT_CAP];
    if (text.len == 0 || text.len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    if (strlen(copy) != text.len || strchr(copy, '%') != NULL) {
        return false; /* a scope means something on his machine, not on ours */
    }
    if (!net_addr_parse_ip(copy, 0, out) && !net_addr_parse(copy, out)) {
        return false;
    }
    out->port = 0;
    return true;
}

struct net_addr http_proxies_client(const struct http_proxies *proxies, const struct net_addr *peer,
                                    struct bytes_view head)
{
    struct net_addr client = *peer;
    if (!http_proxies_trust(proxies, peer)) {
        return client;
    }
    size_t lines = http_screen_count(head, FIELD);
    struct bytes_view list = {0};
    for (size_t hop = 0; hop < HTTP_PROXIES_HOPS_MAX && http_proxies_trust(proxies, &client);
         hop++) {
        if (list.len == 0 && lines > 0) {
            list = http_screen_field_at(head, FIELD, --lines);
        }
        struct net_addr before;
        if (!read_address(take_last(&list), &before)) {
            break;
        }
        client = before;
    }
    return client;
}
