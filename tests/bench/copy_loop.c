/* copy_loop.c - see copy_loop.h */
#include "tests/bench/copy_loop.h"

#include "tests/bench/load_socket.h"
#include "tests/bench/pinned.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* As much as the relay asks for. */
#define BUFFER_BYTES (16 << 20)

struct side {
    int fd;
    struct sockaddr_in destination; /* of what is received here */
};

struct batch {
    struct mmsghdr header[LOAD_BATCH];
    struct iovec vector[LOAD_BATCH];
    uint8_t slot[LOAD_BATCH][LOAD_SLOT_BYTES];
};

static struct batch batch;

static struct sockaddr_in sockaddr_of(const struct net_addr *a)
{
    struct sockaddr_storage storage;
    struct sockaddr_in v4;
    (void)net_addr_to_sockaddr(a, &storage);
    memcpy(&v4, &storage, sizeof(v4));
    return v4;
}

static struct side open_side(const struct net_addr *local, const struct net_addr *destination)
{
    const struct sockaddr_in address = sockaddr_of(local);
    struct load_socket *socket =
        load_socket_open(address.sin_addr.s_addr, local->port, BUFFER_BYTES);
    return (struct side){.fd = load_socket_fd(socket), .destination = sockaddr_of(destination)};
}

/* One batch from one side out of the other; how many. */
static int move(struct side *from, const struct side *to)
{
    for (size_t i = 0; i < LOAD_BATCH; i++) {
        batch.vector[i] = (struct iovec){batch.slot[i], LOAD_SLOT_BYTES};
        batch.header[i].msg_hdr = (struct msghdr){.msg_iov = &batch.vector[i], .msg_iovlen = 1};
    }
    const int got = recvmmsg(from->fd, batch.header, LOAD_BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < got; i++) {
        batch.vector[i].iov_len = batch.header[i].msg_len;
        batch.header[i].msg_hdr.msg_name = &from->destination;
        batch.header[i].msg_hdr.msg_namelen = sizeof(from->destination);
    }
    for (int sent = 0; sent < got;) {
        const int more = sendmmsg(to->fd, batch.header + sent, (unsigned)(got - sent), 0);
        sent += more > 0 ? more : 1;
    }
    return got > 0 ? got : 0;
}

static void copy_for_ever(const struct copy_loop_config *c)
{
    struct side public = open_side(&c->listen, &c->media);
    struct side internal = open_side(&c->internal, &c->client);
    struct pollfd ready[] = {{.fd = public.fd, .events = POLLIN},
                             {.fd = internal.fd, .events = POLLIN}};
    for (;;) {
        const int moved = move(&public, &internal) + move(&internal, &public);
        if (moved == 0) {
            (void)poll(ready, COUNT_OF(ready), -1);
        }
    }
}

pid_t copy_loop_start(const struct copy_loop_config *c)
{
    const pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        pinned_enter(c->cpu, c->fifo_priority);
        copy_for_ever(c);
    }
    return pid;
}

void copy_loop_stop(pid_t pid)
{
    if (pid > 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
}
