/*
 * net_addr.h - an IP address and a port as a plain value
 *
 * IPv4 is kept as ::ffff:a.b.c.d, so an address has one form and two addresses are equal when
 * their bytes are. Link-local IPv6 keeps its scope.
 */
#ifndef EARSHOT_NET_ADDR_H
#define EARSHOT_NET_ADDR_H

#include "common/base/bytes.h"

#include <assert.h>

struct net_addr {
    uint8_t ip[16];
    uint16_t port; /* host order */
    uint16_t zero;
    uint32_t scope; /* interface index of a link-local address, else 0 */
};

static_assert(sizeof(struct net_addr) == 24, "net_addr is compared and hashed as 24 bytes");

/* "[" 45 "%4294967295" "]:65535" and a NUL, rounded up. */
#define NET_ADDR_TEXT_CAP 72

static inline bool net_addr_equal(const struct net_addr *a, const struct net_addr *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

bool net_addr_is_ipv4(const struct net_addr *a);
bool net_addr_is_unspecified(const struct net_addr *a); /* 0.0.0.0 or :: */
bool net_addr_is_loopback(const struct net_addr *a);
bool net_addr_is_multicast(const struct net_addr *a); /* and IPv4 limited broadcast */
/* RFC 1918, RFC 4193 (ULA), link-local of both families, RFC 6598. */
bool net_addr_is_private(const struct net_addr *a);

/* "192.0.2.1:80" or "[2001:db8::1]:80"; a port is required, no names. */
MUST_USE bool net_addr_parse(const char *text, struct net_addr *out);
/* The address without a port: "192.0.2.1" or "2001:db8::1"; port is set to `port`. */
MUST_USE bool net_addr_parse_ip(const char *text, uint16_t port, struct net_addr *out);
/* Both forms always fit NET_ADDR_TEXT_CAP; returns text. */
const char *net_addr_format(const struct net_addr *a, char *text, size_t text_cap);
const char *net_addr_format_ip(const struct net_addr *a, char *text, size_t text_cap);

struct sockaddr_storage;
/* The length of the sockaddr written (sockaddr_in for IPv4, sockaddr_in6 else). */
unsigned net_addr_to_sockaddr(const struct net_addr *a, struct sockaddr_storage *out);
/* False for a family that is neither AF_INET nor AF_INET6. v4-mapped IPv6 becomes IPv4. */
MUST_USE bool net_addr_from_sockaddr(const struct sockaddr_storage *in, struct net_addr *out);

/* A block of addresses, as "10.0.0.0/8" or "fc00::/7". */
struct net_block {
    uint8_t ip[16];
    unsigned prefix_bits; /* of the 128-bit form */
};

MUST_USE bool net_block_parse(const char *text, struct net_block *out);
bool net_block_contains(const struct net_block *block, const struct net_addr *a);

#endif
