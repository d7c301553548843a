/*
 * message_outbox.h - messages that wait to leave a session, in chunks
 *
 * Takes:   EVENT and CHANNEL_DATA of any length the protocol allows.
 * Gives:   their frames, one message after another, at most BACKEND_CHUNK_BYTES each.
 * Owns:    copies of OUTBOX_MESSAGES messages and OUTBOX_BYTES at most.
 * Full:    put says false and keeps nothing of the message.
 */
#ifndef EARSHOT_MESSAGE_OUTBOX_H
#define EARSHOT_MESSAGE_OUTBOX_H

#include "common/backend_link/backend_frame.h"
#include "common/backend_link/backend_message.h"

#include <sys/queue.h>

#define OUTBOX_MESSAGES 32
#define OUTBOX_BYTES    (1024 * 1024)

struct outbox_message {
    uint8_t type;           /* BACKEND_EVENT or BACKEND_CHANNEL_DATA */
    bool is_of_one;         /* an EVENT for one side-band, */
    uint32_t sideband;      /* this one */
    struct bytes_view head; /* the first chunk of CHANNEL_DATA */
    struct bytes_view bytes;
};

struct outbox_entry;
STAILQ_HEAD(outbox_list, outbox_entry);

struct message_outbox {
    struct outbox_list waiting;
    size_t count;
    size_t waiting_bytes;
    bool has_current;
    struct outbox_message current; /* being sent */
    struct outbox_entry *copy;     /* of current, unless it is borrowed */
    bool is_head_sent;
    size_t sent_bytes;
};

void message_outbox_init(struct message_outbox *o);
void message_outbox_clear(struct message_outbox *o);

MUST_USE bool message_outbox_put(struct message_outbox *o, const struct outbox_message *message);
/* True: nothing waits, and no message is under way. */
bool message_outbox_is_empty(const struct message_outbox *o);
/* Only when empty: sends a message without copying it; its bytes stay until take says false. */
void message_outbox_lend(struct message_outbox *o, const struct outbox_message *message);

/* The next frame, but for session and sequence; its payload is borrowed until the next call. */
MUST_USE bool message_outbox_take(struct message_outbox *o, struct backend_frame *out);
/* Another connection: a message under way begins anew. */
void message_outbox_rewind(struct message_outbox *o);

#endif
