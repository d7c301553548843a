/*
 * shard_mailbox.h - how the control thread and a shard talk: one letter at a time, and its answer
 *
 * The control thread drops a letter and waits until the shard has answered it, so what a letter
 * points to needs no copy and no lock. A shard that does not answer stops the announcements, and
 * with them new calls; /healthz then fails.
 */
#ifndef EARSHOT_SHARD_MAILBOX_H
#define EARSHOT_SHARD_MAILBOX_H

#include "common/base/status.h"
#include "common/control/control_message.h"

struct key_ring;

enum shard_letter_kind {
    SHARD_LETTER_REQUEST,  /* answer `request` in `reply` */
    SHARD_LETTER_KEY_RING, /* copy `key_ring` and use it from now on */
    SHARD_LETTER_DRAIN,    /* no new calls */
    SHARD_LETTER_STOP      /* end all calls, then the thread */
};

struct shard_letter {
    enum shard_letter_kind kind;
    const struct control_request *request;
    struct control_reply *reply;
    const struct key_ring *key_ring;
};

struct shard_mailbox {
    int letter_fd; /* eventfds */
    int answer_fd;
    struct shard_letter letter;
};

MUST_USE bool shard_mailbox_open(struct shard_mailbox *m, struct fault *fault);
void shard_mailbox_close(struct shard_mailbox *m);

/* The control thread. Blocks until the answer. */
void shard_mailbox_send(struct shard_mailbox *m, const struct shard_letter *letter);

/* The shard: poll letter_fd, take, act, answer. */
MUST_USE bool shard_mailbox_take(struct shard_mailbox *m, struct shard_letter *out);
void shard_mailbox_answer(struct shard_mailbox *m);

#endif
