/* worker_sockets.c - see worker_sockets.h */
#include "services/relay/worker_sockets.h"

#include "services/relay/relay_socket.h"

#include <time.h>
#include <unistd.h>

void worker_sockets_watch(struct worker_sockets *s, int fd, unsigned number)
{
    assert(number < WORKER_WATCHED_MAX);
    s->watched[number] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static bool wait_for_any(struct worker_sockets *s, int timeout_ms)
{
    const int ready = poll(s->watched, COUNT_OF(s->watched), timeout_ms);
    for (size_t i = 0; ready < 0 && i < COUNT_OF(s->watched); i++) {
        s->watched[i].revents = 0; /* a signal came: this is what it said the last time */
    }
    return ready > 0;
}

void worker_sockets_wait(struct worker_sockets *s, int timeout_ms)
{
    if (s->is_busy_polling || s->gather_us == 0) {
        (void)wait_for_any(s, s->is_busy_polling ? 0 : timeout_ms);
        return;
    }
    /* Where more is there already, nothing needs to be gathered. */
    if (!wait_for_any(s, 0) && wait_for_any(s, timeout_ms)) {
        const struct timespec pause = {.tv_nsec = (long)s->gather_us * 1000};
        (void)nanosleep(&pause, NULL);
        (void)wait_for_any(s, 0);
    }
}

static bool add(struct worker_sockets *s, int fd, enum relay_direction direction)
{
    if (fd < 0) {
        return false;
    }
    const size_t i = s->count++;
    s->socket[i] =
        (struct worker_socket){.fd = fd, .direction = direction, .public_index = (uint8_t)i};
    worker_sockets_watch(s, fd, (unsigned)i);
    return true;
}

bool worker_sockets_open(struct worker_sockets *s, struct relay_keep *keep, unsigned index,
                         unsigned worker_count, struct fault *fault)
{
    const size_t public_count = keep->config->forwarder.listen_count;
    *s = (struct worker_sockets){.public_count = public_count,
                                 .has_no_trains = keep->config->has_no_trains,
                                 .gather_us = keep->config->gather_us,
                                 .is_busy_polling = keep->config->is_busy_polling};
    for (size_t i = 0; i < COUNT_OF(s->watched); i++) {
        s->watched[i].fd = -1; /* which poll passes over */
    }
    for (unsigned i = 0; i < public_count; i++) {
        if (!add(s, relay_keep_public(keep, index, i, fault), RELAY_UP)) {
            return false;
        }
    }
    for (unsigned i = index; i < FORWARDER_INTERNAL_PORTS; i += worker_count) {
        const int fd = relay_keep_internal(keep, i, fault);
        if (!add(s, fd, RELAY_DOWN)) {
            return false;
        }
        (void)udp_receiver_accept_trains(fd, !s->has_no_trains);
    }
    return true;
}

void worker_sockets_close(struct worker_sockets *s)
{
    for (size_t i = 0; i < s->count; i++) {
        (void)close(s->socket[i].fd);
    }
    s->count = 0;
}
