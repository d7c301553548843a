/* client_reach.c - see client_reach.h */
#include "services/relay/core/client_reach.h"

static bool has_same_ip(const struct net_addr *a, const struct net_addr *b)
{
    return memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

static bool is_internal_port(const struct forwarder_config *config, uint16_t port)
{
    const int above_first = port - config->internal.port;
    return (above_first >= 0 && above_first < FORWARDER_INTERNAL_PORTS) ||
           above_first == FORWARDER_TCP_PORT;
}

/* Where private clients are allowed, a client may share the relay's host: there the ports tell. */
static bool is_own(const struct forwarder_config *config, const struct net_addr *client)
{
    const struct net_addr *internal = &config->internal;
    const bool any_port = !config->allow_private_clients;
    if (has_same_ip(client, internal) && (any_port || is_internal_port(config, client->port))) {
        return true;
    }
    for (size_t i = 0; i < config->listen_count; i++) {
        const struct net_addr *listen = &config->listen[i];
        if (has_same_ip(client, listen) && (any_port || client->port == listen->port)) {
            return true;
        }
    }
    return false;
}

bool client_reach_is_forbidden(const struct forwarder_config *config, const struct net_addr *client)
{
    if (client->port == 0 || net_addr_is_unspecified(client) || net_addr_is_multicast(client) ||
        is_own(config, client)) {
        return true;
    }
    return !config->allow_private_clients &&
           (net_addr_is_loopback(client) || net_addr_is_private(client));
}

uint8_t client_reach_guess_socket(const struct forwarder_config *config,
                                  const struct net_addr *client)
{
    uint8_t second_best = FLOW_SOCKET_UNKNOWN;
    for (uint8_t i = 0; i < config->listen_count; i++) {
        const struct net_addr *listen = &config->listen[i];
        if (net_addr_is_ipv4(listen) != net_addr_is_ipv4(client)) {
            continue;
        }
        if (net_addr_is_loopback(listen) == net_addr_is_loopback(client)) {
            return i;
        }
        second_best = second_best == FLOW_SOCKET_UNKNOWN ? i : second_best;
    }
    return second_best;
}
