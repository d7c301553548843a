/*
 * http_proxies.h - whose request a proxy passes on
 *
 * Takes:   the address that a connection came from; the head of a request, which may bring
 *          X-Forwarded-For in one line or several.
 * Gives:   the address of the client: the rightmost that is no proxy of ours. Whatever stands left
 *          of it was said by a stranger and is not read.
 * Rule:    without a trusted proxy at the other end the field means nothing. Where a trusted one
 *          wrote what is no address, or where all are proxies, the last one that is known counts.
 * Bounds:  HTTP_PROXIES_MAX blocks; HTTP_PROXIES_HOPS_MAX proxies in a row.
 */
#ifndef EARSHOT_HTTP_PROXIES_H
#define EARSHOT_HTTP_PROXIES_H

#include "common/base/net_addr.h"

#define HTTP_PROXIES_MAX      16
#define HTTP_PROXIES_HOPS_MAX 16

struct http_proxies {
    struct net_block block[HTTP_PROXIES_MAX];
    size_t count; /* 0: nobody is trusted */
};

bool http_proxies_trust(const struct http_proxies *proxies, const struct net_addr *peer);
struct net_addr http_proxies_client(const struct http_proxies *proxies, const struct net_addr *peer,
                                    struct bytes_view head);

#endif
