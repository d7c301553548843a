/* shard_mailbox.c - see shard_mailbox.h */
#include "services/transceiver/port/shard_mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool shard_mailbox_open(struct shard_mailbox *m, struct fault *fault)
{
    m->letter_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    m->answer_fd = eventfd(0, EFD_CLOEXEC);
    if (m->letter_fd < 0 || m->answer_fd < 0) {
        return fault_set(fault, FAULT_SYSTEM, "eventfd: %s", strerror(errno));
    }
    return true;
}

void shard_mailbox_close(struct shard_mailbox *m)
{
    if (m->letter_fd >= 0) {
        (void)close(m->letter_fd);
    }
    if (m->answer_fd >= 0) {
        (void)close(m->answer_fd);
    }
    m->letter_fd = m->answer_fd = -1;
}

/* An eventfd that holds at most 1 takes every write. */
static void ring(int fd)
{
    const uint64_t one = 1;
    if (write(fd, &one, sizeof(one)) != (ssize_t)sizeof(one)) {
        abort();
    }
}

void shard_mailbox_send(struct shard_mailbox *m, const struct shard_letter *letter)
{
    uint64_t count = 0;
    m->letter = *letter;
    ring(m->letter_fd);
    while (read(m->answer_fd, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
}

bool shard_mailbox_take(struct shard_mailbox *m, struct shard_letter *out)
{
    uint64_t count = 0;
    if (read(m->letter_fd, &count, sizeof(count)) != (ssize_t)sizeof(count)) {
        return false;
    }
    *out = m->letter;
    return true;
}

void shard_mailbox_answer(struct shard_mailbox *m)
{
    ring(m->answer_fd);
}
