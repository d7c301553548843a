/*
 * http_listener.h - the socket that clients connect to, and who of them is let in
 *
 * Private to http_server.c.
 */
#ifndef EARSHOT_HTTP_LISTENER_H
#define EARSHOT_HTTP_LISTENER_H

#include "services/signaling/http_connection.h"

/* False and a fault when so many clients need more descriptors than this process may have. */
MUST_USE bool http_listener_has_descriptors(unsigned clients, unsigned need, struct fault *fault);

/* -1 and a fault when the address is taken. */
int http_listener_open(const struct net_addr *listen, struct fault *fault);

enum http_arrival { HTTP_ARRIVAL_NONE, HTTP_ARRIVAL_CLIENT, HTTP_ARRIVAL_NO_DESCRIPTORS };

/* The next client: his socket, which does not block and is the caller's, and where he comes from.
 * Without descriptors the listening socket stays readable. */
enum http_arrival http_listener_accept(int listen_fd, int *fd, struct net_addr *peer);

/* By address; an IPv6 client has a whole /64 to call from. */
bool http_listener_is_same_client(const struct net_addr *a, const struct net_addr *b);

/* A FREE one of the connections, or NULL and the reason counted. */
struct http_connection *http_listener_admit(const struct http_server_config *config,
                                            struct http_connection *connection,
                                            const struct net_addr *peer,
                                            struct http_server_counts *counts);

#endif
