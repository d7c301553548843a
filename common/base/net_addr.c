/* net_addr.c - see net_addr.h */
#include "common/base/net_addr.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static const uint8_t v4_mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool net_addr_is_ipv4(const struct net_addr *a)
{
    return memcmp(a->ip, v4_mapped_prefix, sizeof(v4_mapped_prefix)) == 0;
}

bool net_addr_is_unspecified(const struct net_addr *a)
{
    static const uint8_t zero[16];
    return net_addr_is_ipv4(a) ? memcmp(a->ip + 12, zero, 4) == 0 : memcmp(a->ip, zero, 16) == 0;
}

/* An IPv4 block lies behind ::ffff:, so its prefix is 96 bits longer. */
static const struct net_block loopback_block[] = {
    {.ip = {[10] = 0xff, 0xff, 127}, .prefix_bits = 96 + 8},
    {.ip = {[15] = 1}, .prefix_bits = 128},
};
static const struct net_block multicast_block[] = {
    {.ip = {[10] = 0xff, 0xff, 224}, .prefix_bits = 96 + 4},
    {.ip = {0xff}, .prefix_bits = 8},
    {.ip = {[10] = 0xff, 0xff, 255, 255, 255, 255}, .prefix_bits = 96 + 32},
};
static const struct net_block private_block[] = {
    {.ip = {[10] = 0xff, 0xff, 10}, .prefix_bits = 96 + 8},
    {.ip = {[10] = 0xff, 0xff, 172, 16}, .prefix_bits = 96 + 12},
    {.ip = {[10] = 0xff, 0xff, 192, 168}, .prefix_bits = 96 + 16},
    {.ip = {[10] = 0xff, 0xff, 169, 254}, .prefix_bits = 96 + 16},
    {.ip = {[10] = 0xff, 0xff, 100, 64}, .prefix_bits = 96 + 10},
    {.ip = {0xfc}, .prefix_bits = 7},
    {.ip = {0xfe, 0x80}, .prefix_bits = 10},
};

static bool is_inside_one_of(const struct net_block *block, size_t count, const struct net_addr *a)
{
    for (size_t i = 0; i < count; i++) {
        if (net_block_contains(&block[i], a)) {
            return true;
        }
    }
    return false;
}

bool net_addr_is_loopback(const struct net_addr *a)
{
    return is_inside_one_of(loopback_block, COUNT_OF(loopback_block), a);
}

bool net_addr_is_multicast(const struct net_addr *a)
{
    return is_inside_one_of(multicast_block, COUNT_OF(multicast_block), a);
}

bool net_addr_is_private(const struct net_addr *a)
{
    return is_inside_one_of(private_block, COUNT_OF(private_block), a);
}

static void set_ipv4(struct net_addr *out, const void *four_bytes)
{
    memcpy(out->ip, v4_mapped_prefix, sizeof(v4_mapped_prefix));
    memcpy(out->ip + 12, four_bytes, 4);
}

static bool is_link_local_ipv6(const struct net_addr *a)
{
    return a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80;
}

bool net_addr_parse_ip(const char *text, uint16_t port, struct net_addr *out)
{
    *out = (struct net_addr){.port = port};
    struct in_addr v4;
    if (inet_pton(AF_INET, text, &v4) == 1) {
        set_ipv4(out, &v4);
        return true;
    }
    char ip[INET6_ADDRSTRLEN];
    const size_t ip_len = strcspn(text, "%");
    if (ip_len >= sizeof(ip)) {
        return false;
    }
    memcpy(ip, text, ip_len);
    ip[ip_len] = '\0';
    struct in6_addr v6;
    if (inet_pton(AF_INET6, ip, &v6) != 1) {
        return false;
    }
    memcpy(out->ip, &v6, 16);
    if (text[ip_len] == '%') {
        out->scope = if_nametoindex(text + ip_len + 1);
        return is_link_local_ipv6(out) && out->scope != 0;
    }
    return true;
}

static bool parse_port(const char *text, uint16_t *out)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0') {
        return false;
    }
    const unsigned long port = strtoul(text, NULL, 10);
    *out = (uint16_t)port;
    return port <= UINT16_MAX;
}

bool net_addr_parse(const char *text, struct net_addr *out)
{
    char ip[NET_ADDR_TEXT_CAP];
    const bool has_brackets = text[0] == '[';
    const char *ip_start = has_brackets ? text + 1 : text;
    const size_t ip_len = strcspn(ip_start, has_brackets ? "]" : ":");
    const char *rest = ip_start + ip_len;
    if (ip_len >= sizeof(ip) || (has_brackets && *rest++ != ']') || *rest++ != ':') {
        return false;
    }
    memcpy(ip, ip_start, ip_len);
    ip[ip_len] = '\0';
    uint16_t port = 0;
    return parse_port(rest, &port) && net_addr_parse_ip(ip, port, out) &&
           has_brackets == !net_addr_is_ipv4(out);
}

const char *net_addr_format_ip(const struct net_addr *a, char *text, size_t text_cap)
{
    char ip[INET6_ADDRSTRLEN];
    if (net_addr_is_ipv4(a)) {
        (void)inet_ntop(AF_INET, a->ip + 12, ip, sizeof(ip));
    } else {
        (void)inet_ntop(AF_INET6, a->ip, ip, sizeof(ip));
    }
    if (a->scope != 0) {
        (void)snprintf(text, text_cap, "%s%%%u", ip, a->scope);
    } else {
        (void)snprintf(text, text_cap, "%s", ip);
    }
    return text;
}

const char *net_addr_format(const struct net_addr *a, char *text, size_t text_cap)
{
    char ip[NET_ADDR_TEXT_CAP];
    (void)net_addr_format_ip(a, ip, sizeof(ip));
    (void)snprintf(text, text_cap, net_addr_is_ipv4(a) ? "%s:%u" : "[%s]:%u", ip, a->port);
    return text;
}

unsigned net_addr_to_sockaddr(const struct net_addr *a, struct sockaddr_storage *out)
{
    if (net_addr_is_ipv4(a)) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)out;
        *v4 = (struct sockaddr_in){0};
        v4->sin_family = AF_INET;
        v4->sin_port = htons(a->port);
        memcpy(&v4->sin_addr, a->ip + 12, 4);
        return sizeof(*v4);
    }
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
    *v6 = (struct sockaddr_in6){0};
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(a->port);
    v6->sin6_scope_id = a->scope;
    memcpy(&v6->sin6_addr, a->ip, 16);
    return sizeof(*v6);
}

bool net_addr_from_sockaddr(const struct sockaddr_storage *in, struct net_addr *out)
{
    *out = (struct net_addr){0};
    if (in->ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)in;
        set_ipv4(out, &v4->sin_addr);
        out->port = ntohs(v4->sin_port);
        return true;
    }
    if (in->ss_family != AF_INET6) {
        return false;
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)in;
    memcpy(out->ip, &v6->sin6_addr, 16);
    out->port = ntohs(v6->sin6_port);
    out->scope = is_link_local_ipv6(out) ? v6->sin6_scope_id : 0;
    return true;
}

bool net_block_parse(const char *text, struct net_block *out)
{
    char ip[INET6_ADDRSTRLEN];
    const size_t ip_len = strcspn(text, "/");
    if (ip_len >= sizeof(ip) || text[ip_len] != '/') {
        return false;
    }
    memcpy(ip, text, ip_len);
    ip[ip_len] = '\0';
    struct net_addr a;
    uint16_t bits = 0;
    if (!net_addr_parse_ip(ip, 0, &a) || !parse_port(text + ip_len + 1, &bits)) {
        return false;
    }
    const unsigned bits_max = net_addr_is_ipv4(&a) ? 32 : 128;
    if (bits > bits_max) {
        return false;
    }
    memcpy(out->ip, a.ip, sizeof(out->ip));
    out->prefix_bits = 128 - bits_max + bits;
    return true;
}

bool net_block_contains(const struct net_block *block, const struct net_addr *a)
{
    const size_t whole = block->prefix_bits / 8;
    const unsigned rest = block->prefix_bits % 8;
    if (memcmp(block->ip, a->ip, whole) != 0) {
        return false;
    }
    const uint8_t mask = (uint8_t)(0xff00u >> rest);
    return rest == 0 || (block->ip[whole] & mask) == (a->ip[whole] & mask);
}
