/* tcp_listener.c - see tcp_listener.h */
#include "services/relay/tcp_listener.h"

#include "services/relay/relay_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#define UNACKNOWLEDGED_MS_MAX 10000
#define UNSENT_BYTES_MAX      16384

static bool set_number(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

static bool set_options(int fd, int family)
{
    const struct linger by_reset = {.l_onoff = 1, .l_linger = 0};
    return set_number(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
           (family != AF_INET6 || set_number(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) &&
           set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1) &&
           set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS_MAX) &&
           set_number(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES_MAX) &&
           setsockopt(fd, SOL_SOCKET, SO_LINGER, &by_reset, sizeof(by_reset)) == 0;
}

static bool read_bound(int fd, struct net_addr *address)
{
    struct sockaddr_storage bound = {0};
    socklen_t bound_len = sizeof(bound);
    return getsockname(fd, (struct sockaddr *)&bound, &bound_len) == 0 &&
           net_addr_from_sockaddr(&bound, address);
}

int tcp_listener_open(struct net_addr *address, struct fault *fault)
{
    struct sockaddr_storage name;
    const socklen_t name_len = net_addr_to_sockaddr(address, &name);
    const int fd = socket(name.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && set_options(fd, name.ss_family) &&
        bind(fd, (const struct sockaddr *)&name, name_len) == 0 && listen(fd, SOMAXCONN) == 0 &&
        read_bound(fd, address)) {
        return fd;
    }
    char text[NET_ADDR_TEXT_CAP];
    (void)fault_set(fault, FAULT_SYSTEM, "listen tcp %s: %s%s",
                    net_addr_format(address, text, sizeof(text)), strerror(errno),
                    relay_socket_remedy(errno));
    if (fd >= 0) {
        (void)close(fd);
    }
    return -1;
}

enum tcp_arrival tcp_listener_accept(int listen_fd, int *fd, struct net_addr *client)
{
    struct sockaddr_storage from = {0};
    socklen_t from_len;
    do {
        from_len = sizeof(from);
        *fd = accept4(listen_fd, (struct sockaddr *)&from, &from_len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    } while (*fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (*fd >= 0 && net_addr_from_sockaddr(&from, client)) {
        return TCP_ARRIVAL_CLIENT;
    }
    if (*fd >= 0) {
        (void)close(*fd); /* of no family that we know */
        return TCP_ARRIVAL_NONE;
    }
    const bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return is_short ? TCP_ARRIVAL_NO_DESCRIPTORS : TCP_ARRIVAL_NONE;
}
