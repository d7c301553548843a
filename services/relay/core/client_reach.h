/*
 * client_reach.h - which clients a relay may send to, and out of which public socket
 *
 * Takes:   the address that a downlink names.
 * Rules:   never nowhere, everywhere or to the relay itself; to loopback and private addresses only
 *          where private clients are allowed.
 */
#ifndef EARSHOT_CLIENT_REACH_H
#define EARSHOT_CLIENT_REACH_H

#include "services/relay/core/forwarder.h"

bool client_reach_is_forbidden(const struct forwarder_config *config,
                               const struct net_addr *client);

/* For a client that was not heard yet, since the relay has just started: loopback for loopback,
 * else the first public address of its family. FLOW_SOCKET_UNKNOWN: there is none. */
uint8_t client_reach_guess_socket(const struct forwarder_config *config,
                                  const struct net_addr *client);

#endif
