/* worker_inbox.c - see worker_inbox.h */
#include "services/relay/worker_inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool worker_inbox_open(struct worker_inbox *inbox, struct fault *fault)
{
    int fd[2];
    *inbox = (struct worker_inbox){.read_fd = -1, .write_fd = -1};
    if (pipe2(fd, O_NONBLOCK | O_CLOEXEC) != 0) {
        return fault_set(fault, FAULT_SYSTEM, "pipe: %s", strerror(errno));
    }
    *inbox = (struct worker_inbox){.read_fd = fd[0], .write_fd = fd[1]};
    /* Less is still a queue: a process whose user has many pipes gets what the kernel likes. */
    (void)fcntl(inbox->write_fd, F_SETPIPE_SZ, INBOX_MESSAGES * sizeof(struct inbox_message));
    return true;
}

void worker_inbox_close(struct worker_inbox *inbox)
{
    if (inbox->read_fd < 0) {
        return;
    }
    struct inbox_message message;
    while (worker_inbox_take(inbox, &message)) {
        if (message.kind == INBOX_RING) {
            key_ring_destroy(message.body.ring);
        }
    }
    (void)close(inbox->read_fd);
    (void)close(inbox->write_fd);
    *inbox = (struct worker_inbox){.read_fd = -1, .write_fd = -1};
}

bool worker_inbox_post(const struct worker_inbox *inbox, const struct inbox_message *message)
{
    ssize_t written = 0;
    do {
        written = write(inbox->write_fd, message, sizeof(*message));
    } while (written < 0 && errno == EINTR);
    assert(written < 0 || written == sizeof(*message)); /* pipe(7): atomic up to PIPE_BUF */
    return written > 0;
}

bool worker_inbox_take(const struct worker_inbox *inbox, struct inbox_message *out)
{
    ssize_t got = 0;
    do {
        got = read(inbox->read_fd, out, sizeof(*out));
    } while (got < 0 && errno == EINTR);
    assert(got <= 0 || got == sizeof(*out));
    return got > 0;
}

void worker_inbox_read(const struct worker_inbox *inbox, struct forwarder *forwarder,
                       uint64_t now_us)
{
    struct inbox_message message;
    for (unsigned i = 0; i < INBOX_MESSAGES && worker_inbox_take(inbox, &message); i++) {
        switch (message.kind) {
        case INBOX_ANNOUNCEMENT:
            (void)forwarder_announce(forwarder, &message.body.announcement, now_us);
            break;
        case INBOX_LESSON:
            forwarder_learn(forwarder, &message.body.lesson, now_us);
            break;
        case INBOX_RING:
            forwarder_set_ring(forwarder, message.body.ring);
            break;
        case INBOX_STOP:
            break;
        }
    }
}
