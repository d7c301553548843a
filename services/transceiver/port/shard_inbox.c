/* shard_inbox.c - see shard_inbox.h */
#include "services/transceiver/port/shard_inbox.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* Records, whole and in order, from any thread; a full buffer refuses the next one. */
bool shard_inbox_open(struct shard_inbox *inbox, struct fault *fault)
{
    int fd[2] = {-1, -1};
    const bool good =
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) == 0;
    *inbox = (struct shard_inbox){fd[0], fd[1]};
    return good || fault_set(fault, FAULT_SYSTEM, "inbox of a shard: %s", strerror(errno));
}

void shard_inbox_close(struct shard_inbox *inbox)
{
    if (inbox->put_fd >= 0) {
        (void)close(inbox->put_fd);
        (void)close(inbox->take_fd);
    }
    inbox->put_fd = inbox->take_fd = -1;
}

bool shard_inbox_put(const struct shard_inbox *inbox, const struct relay_leg_uplink *uplink)
{
    /* Neither call writes through these pointers. */
    struct iovec part[] = {{(void *)(uintptr_t)uplink, sizeof(*uplink)},
                           {uplink->datagram.data, uplink->datagram.len}};
    const struct msghdr message = {.msg_iov = part, .msg_iovlen = COUNT_OF(part)};
    return sendmsg(inbox->put_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

bool shard_inbox_take(const struct shard_inbox *inbox, struct shard_inbox_datagram *out)
{
    struct iovec part[] = {{&out->uplink, sizeof(out->uplink)}, {out->data, sizeof(out->data)}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = COUNT_OF(part)};
    const ssize_t len = recvmsg(inbox->take_fd, &message, MSG_DONTWAIT);
    if (len < (ssize_t)sizeof(out->uplink)) {
        return false;
    }
    out->uplink.datagram = (struct bytes_span){.data = out->data,
                                               .len = (size_t)len - sizeof(out->uplink),
                                               .cap = (size_t)len - sizeof(out->uplink)};
    return true;
}
