/* http_listener.c - see http_listener.h */
#include "services/signaling/http_listener.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

bool http_listener_has_descriptors(unsigned clients, unsigned need, struct fault *fault)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < need) {
        return fault_set(fault, FAULT_LIMIT,
                         "http: %u connections need %u descriptors, the limit is %llu", clients,
                         need, (unsigned long long)limit.rlim_cur);
    }
    return true;
}

int http_listener_open(const struct net_addr *address, struct fault *fault)
{
    char text[NET_ADDR_TEXT_CAP];
    (void)net_addr_format(address, text, sizeof(text));
    struct sockaddr_storage to;
    const socklen_t to_len = net_addr_to_sockaddr(address, &to);
    const int on = 1;
    const int fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(fd, (const struct sockaddr *)&to, to_len) == 0 && listen(fd, SOMAXCONN) == 0) {
        return fd;
    }
    (void)fault_set(fault, FAULT_SYSTEM, "listen http %s: %s%s", text, strerror(errno),
                    errno == EADDRINUSE ? " (stop what has it or change http.listen)" : "");
    if (fd >= 0) {
        (void)close(fd);
    }
    return -1;
}

static bool is_of_this_client(int error)
{
    return error == EINTR || error == ECONNABORTED;
}

enum http_arrival http_listener_accept(int listen_fd, int *fd, struct net_addr *peer)
{
    struct sockaddr_storage from = {0};
    socklen_t from_len;
    do {
        from_len = sizeof(from);
        *fd = accept4(listen_fd, (struct sockaddr *)&from, &from_len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (*fd < 0 && is_of_this_client(errno));
    if (*fd >= 0 && net_addr_from_sockaddr(&from, peer)) {
        return HTTP_ARRIVAL_CLIENT;
    }
    if (*fd >= 0) {
        (void)close(*fd); /* of no family that we know */
        return HTTP_ARRIVAL_NONE;
    }
    const bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return is_short ? HTTP_ARRIVAL_NO_DESCRIPTORS : HTTP_ARRIVAL_NONE;
}

bool http_listener_is_same_client(const struct net_addr *a, const struct net_addr *b)
{
    return memcmp(a->ip, b->ip, net_addr_is_ipv4(a) ? 16 : 8) == 0;
}

struct http_connection *http_listener_admit(const struct http_server_config *config,
                                            struct http_connection *connection,
                                            const struct net_addr *peer,
                                            struct http_server_counts *counts)
{
    struct http_connection *found = NULL;
    unsigned of_same_client = 0;
    for (size_t i = 0; i < config->connections_max; i++) {
        struct http_connection *c = &connection[i];
        if (c->state == HTTP_CONNECTION_FREE) {
            found = found == NULL ? c : found;
        } else if (http_listener_is_same_client(&c->peer, peer)) {
            of_same_client++;
        }
    }
    if (found == NULL) {
        metric_add(&counts->refused_full_total, 1);
    } else if (of_same_client >= config->connections_per_address_max &&
               !http_proxies_trust(&config->proxies, peer)) {
        metric_add(&counts->refused_address_total, 1);
        found = NULL;
    }
    return found;
}
