/* stub_listener.c - see stub_listener.h */
#include "services/inference-stub/stub_listener.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64

static struct sockaddr_un unix_address(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    return address;
}

/* A socket file that nobody listens on any more. */
static bool is_left_behind(const struct sockaddr_un *address)
{
    struct stat file;
    if (lstat(address->sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) {
        return false;
    }
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool is_refused =
        probe >= 0 && connect(probe, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
        errno == ECONNREFUSED;
    if (probe >= 0) {
        (void)close(probe);
    }
    return is_refused;
}

static bool bind_unix(int fd, const char *path)
{
    const struct sockaddr_un address = unix_address(path);
    if (is_left_behind(&address)) {
        (void)unlink(path);
    }
    return bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

static bool bind_tcp(int fd, const struct net_addr *listen_at)
{
    struct sockaddr_storage address;
    const socklen_t len = net_addr_to_sockaddr(listen_at, &address);
    const int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
           bind(fd, (const struct sockaddr *)&address, len) == 0;
}

static int family_of(const struct stub_config *config)
{
    if (config->unix_path[0] != '\0') {
        return AF_UNIX;
    }
    return net_addr_is_ipv4(&config->listen) ? AF_INET : AF_INET6;
}

static void log_address(const struct stub_config *config, int fd)
{
    if (config->unix_path[0] != '\0') {
        log_info("stub.listening path=\"%s\"", config->unix_path);
        return;
    }
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    struct net_addr bound;
    char text[NET_ADDR_TEXT_CAP];
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0 ||
        !net_addr_from_sockaddr(&address, &bound)) {
        bound = config->listen;
    }
    log_info("stub.listening address=%s", net_addr_format(&bound, text, sizeof(text)));
}

int stub_listener_open(const struct stub_config *config, struct fault *fault)
{
    const bool is_unix = config->unix_path[0] != '\0';
    char text[NET_ADDR_TEXT_CAP];
    const char *where =
        is_unix ? config->unix_path : net_addr_format(&config->listen, text, sizeof(text));
    const int fd = socket(family_of(config), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const bool is_bound =
        fd >= 0 && (is_unix ? bind_unix(fd, config->unix_path) : bind_tcp(fd, &config->listen));
    if (!is_bound || listen(fd, BACKLOG) != 0) {
        const int error = errno;
        (void)fault_set(fault, FAULT_SYSTEM, "listen %s: %s%s", where, strerror(error),
                        error == EADDRINUSE ? " (another backend runs there? change listen)" : "");
        if (fd >= 0) {
            (void)close(fd);
        }
        return -1;
    }
    log_address(config, fd);
    return fd;
}

void stub_listener_close(const struct stub_config *config, int fd)
{
    (void)close(fd);
    if (config->unix_path[0] != '\0') {
        (void)unlink(config->unix_path);
    }
}
