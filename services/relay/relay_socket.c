/* relay_socket.c - see relay_socket.h */
#include "services/relay/relay_socket.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

const char *relay_socket_remedy(int error)
{
    switch (error) {
    case EADDRINUSE:
        return " (another relay? stop it or change the address)";
    case EADDRNOTAVAIL:
        return " (no address of this machine: ip addr lists them)";
    case EMFILE:
        return " (raise the limit of open files: ulimit -Hn, LimitNOFILE)";
    case EACCES:
        return " (ports below 1024 need CAP_NET_BIND_SERVICE)";
    default:
        return "";
    }
}

static int close_and_fail(int fd, const struct net_addr *address, struct fault *fault)
{
    char text[NET_ADDR_TEXT_CAP];
    (void)fault_set(fault, FAULT_SYSTEM, "bind udp %s: %s%s",
                    net_addr_format(address, text, sizeof(text)), strerror(errno),
                    relay_socket_remedy(errno));
    if (fd >= 0) {
        (void)close(fd);
    }
    return -1;
}

static bool set_flag(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

/* FORCE passes the sysctl's limit where the process may. */
static void ask_for_buffer(int fd, int forced_option, int option, size_t buffer_bytes)
{
    if (!set_flag(fd, SOL_SOCKET, forced_option, (int)buffer_bytes)) {
        (void)set_flag(fd, SOL_SOCKET, option, (int)buffer_bytes);
    }
}

static void set_options(int fd, size_t buffer_bytes)
{
    ask_for_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, buffer_bytes);
    ask_for_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, buffer_bytes);
    (void)set_flag(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
    (void)set_flag(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
}

static int open_bound(const struct net_addr *address, bool is_shared, size_t buffer_bytes,
                      struct fault *fault)
{
    struct sockaddr_storage name;
    const socklen_t name_len = net_addr_to_sockaddr(address, &name);
    const int fd = socket(name.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || (is_shared && !set_flag(fd, SOL_SOCKET, SO_REUSEPORT, 1)) ||
        (name.ss_family == AF_INET6 && !set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1))) {
        return close_and_fail(fd, address, fault);
    }
    /* Before bind: what arrives first may be many datagrams that waited for a restart. */
    set_options(fd, buffer_bytes);
    if (bind(fd, (const struct sockaddr *)&name, name_len) != 0) {
        return close_and_fail(fd, address, fault);
    }
    return fd;
}

bool relay_socket_probe(struct net_addr *address, struct fault *fault)
{
    const int fd = open_bound(address, false, 0, fault);
    if (fd < 0) {
        return false;
    }
    struct sockaddr_storage bound = {0};
    socklen_t bound_len = sizeof(bound);
    const bool good = getsockname(fd, (struct sockaddr *)&bound, &bound_len) == 0 &&
                      net_addr_from_sockaddr(&bound, address);
    if (!good) {
        (void)close_and_fail(fd, address, fault);
        return false;
    }
    (void)close(fd);
    return true;
}

/* PROBE: IPv4 datagrams leave with DF, whatever a router says of the path. Else the kernel draws an
 * identification for each, one part in twenty of what a packet costs. IPv6 needs none. */
static bool set_public_path(int fd, const struct net_addr *address)
{
    return !net_addr_is_ipv4(address) ||
           set_flag(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
}

int relay_socket_open_public(const struct net_addr *address, size_t buffer_bytes,
                             struct fault *fault)
{
    const int fd = open_bound(address, true, buffer_bytes, fault);
    return fd < 0 || set_public_path(fd, address) ? fd : close_and_fail(fd, address, fault);
}

int relay_socket_open_internal(const struct net_addr *address, size_t buffer_bytes,
                               struct fault *fault)
{
    const int fd = open_bound(address, false, buffer_bytes, fault);
    if (fd < 0) {
        return -1;
    }
    const bool good = net_addr_is_ipv4(address)
                          ? set_flag(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT)
                          : set_flag(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
    return good ? fd : close_and_fail(fd, address, fault);
}

static int option_of(int fd, int option)
{
    int value = -1;
    socklen_t len = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : -1;
}

bool relay_socket_is_bound_to(int fd, const struct net_addr *address)
{
    struct sockaddr_storage bound = {0};
    socklen_t bound_len = sizeof(bound);
    struct net_addr own;
    return option_of(fd, SO_TYPE) == SOCK_DGRAM &&
           getsockname(fd, (struct sockaddr *)&bound, &bound_len) == 0 &&
           net_addr_from_sockaddr(&bound, &own) && net_addr_equal(&own, address);
}

/* One that was discarded, and its supervisor did not hear of it, is connected to itself. */
static void disconnect(int fd)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    (void)connect(fd, &nobody, sizeof(nobody));
}

static bool adopt(int fd, const struct net_addr *address, bool is_shared, size_t buffer_bytes)
{
    disconnect(fd);
    if (!relay_socket_is_bound_to(fd, address) || option_of(fd, SO_REUSEPORT) != is_shared) {
        return false;
    }
    set_options(fd, buffer_bytes);
    return true;
}

bool relay_socket_adopt_public(int fd, const struct net_addr *address, size_t buffer_bytes)
{
    return adopt(fd, address, true, buffer_bytes) && set_public_path(fd, address);
}

bool relay_socket_adopt_internal(int fd, const struct net_addr *address, size_t buffer_bytes)
{
    return adopt(fd, address, false, buffer_bytes);
}

static size_t granted_bytes(int fd, int option)
{
    const int bytes = option_of(fd, option);
    return bytes < 0 ? 0 : (size_t)bytes / 2; /* the kernel doubles it for its own book-keeping */
}

struct relay_socket_buffers relay_socket_buffers(int fd)
{
    return (struct relay_socket_buffers){.receive_bytes = granted_bytes(fd, SO_RCVBUF),
                                         .send_bytes = granted_bytes(fd, SO_SNDBUF)};
}

bool relay_socket_buffers_are_small(const struct relay_socket_buffers *granted, size_t asked_bytes)
{
    /* The kernel counts twice as much in an int: of 1 GB the last byte does not fit. */
    const size_t possible = asked_bytes < INT_MAX / 2 ? asked_bytes : INT_MAX / 2;
    return granted->receive_bytes < possible || granted->send_bytes < possible;
}
