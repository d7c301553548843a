/* worker_sockets.c - see worker_sockets.h */
#include "services/relay/worker_sockets.h"

#include "services/relay/relay_socket.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

bool worker_sockets_watch(struct worker_sockets *s, int fd, uint32_t number, struct fault *fault)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = number};
    return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ||
           fault_set(fault, FAULT_SYSTEM, "epoll_ctl: %s", strerror(errno));
}

static bool add(struct worker_sockets *s, int fd, enum relay_direction direction,
                struct fault *fault)
{
    if (fd < 0) {
        return false;
    }
    const size_t i = s->count++;
    s->socket[i] =
        (struct worker_socket){.fd = fd, .direction = direction, .public_index = (uint8_t)i};
    return worker_sockets_watch(s, fd, (uint32_t)i, fault);
}

bool worker_sockets_open(struct worker_sockets *s, struct relay_keep *keep, unsigned index,
                         unsigned worker_count, struct fault *fault)
{
    const size_t public_count = keep->config->forwarder.listen_count;
    *s = (struct worker_sockets){.public_count = public_count,
                                 .epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    if (s->epoll_fd < 0) {
        return fault_set(fault, FAULT_SYSTEM, "epoll_create1: %s", strerror(errno));
    }
    for (unsigned i = 0; i < public_count; i++) {
        if (!add(s, relay_keep_public(keep, index, i, fault), RELAY_UP, fault)) {
            return false;
        }
    }
    for (unsigned i = index; i < FORWARDER_INTERNAL_PORTS; i += worker_count) {
        const int fd = relay_keep_internal(keep, i, fault);
        if (!add(s, fd, RELAY_DOWN, fault)) {
            return false;
        }
        (void)udp_receiver_accept_trains(fd);
    }
    return true;
}

void worker_sockets_close(struct worker_sockets *s)
{
    for (size_t i = 0; i < s->count; i++) {
        (void)close(s->socket[i].fd);
    }
    s->count = 0;
    if (s->epoll_fd >= 0) {
        (void)close(s->epoll_fd);
    }
    s->epoll_fd = -1;
}
