/*
 * sctp_send_queue.h - messages that have not begun to leave, a turn for each stream
 *
 * How:     the streams that have something stand in a line; the first gives one message and goes to
 *          its end. A stream with a thousand messages delays another one's by one message.
 * Owns:    the messages in it.
 */
#ifndef EARSHOT_SCTP_SEND_QUEUE_H
#define EARSHOT_SCTP_SEND_QUEUE_H

#include "services/transceiver/core/transport/sctp/sctp_outgoing.h"

struct sctp_send_queue {
    struct sctp_outgoing *first_head; /* the first message of each stream that has one */
    struct sctp_outgoing *last_head;
    size_t cost_bytes;
};

/* A queue of zeros is empty and needs no init. */
void sctp_send_queue_destroy(struct sctp_send_queue *q);

void sctp_send_queue_put(struct sctp_send_queue *q, struct sctp_outgoing *m);
/* NULL: empty. */
struct sctp_outgoing *sctp_send_queue_peek(const struct sctp_send_queue *q);
/* The one that peek shows; it is the caller's. */
struct sctp_outgoing *sctp_send_queue_take(struct sctp_send_queue *q);
bool sctp_send_queue_has(const struct sctp_send_queue *q, uint16_t stream);

#endif
