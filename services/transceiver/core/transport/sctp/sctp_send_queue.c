/* sctp_send_queue.c - see sctp_send_queue.h */
#include "services/transceiver/core/transport/sctp/sctp_send_queue.h"

#include <assert.h>

static struct sctp_outgoing *find_head(const struct sctp_send_queue *q, uint16_t stream)
{
    struct sctp_outgoing *head = q->first_head;
    while (head != NULL && head->stream != stream) {
        head = head->next_head;
    }
    return head;
}

static void append_head(struct sctp_send_queue *q, struct sctp_outgoing *head)
{
    head->next_head = NULL;
    *(q->last_head != NULL ? &q->last_head->next_head : &q->first_head) = head;
    q->last_head = head;
}

void sctp_send_queue_destroy(struct sctp_send_queue *q)
{
    while (q->first_head != NULL) {
        sctp_outgoing_destroy(sctp_send_queue_take(q));
    }
}

void sctp_send_queue_put(struct sctp_send_queue *q, struct sctp_outgoing *m)
{
    struct sctp_outgoing *head = find_head(q, m->stream);
    m->next = NULL;
    q->cost_bytes += sctp_outgoing_cost(m);
    if (head != NULL) {
        head->tail->next = m;
        head->tail = m;
    } else {
        m->tail = m;
        append_head(q, m);
    }
}

struct sctp_outgoing *sctp_send_queue_peek(const struct sctp_send_queue *q)
{
    return q->first_head;
}

struct sctp_outgoing *sctp_send_queue_take(struct sctp_send_queue *q)
{
    struct sctp_outgoing *m = q->first_head;
    assert(m != NULL);
    q->first_head = m->next_head;
    if (q->first_head == NULL) {
        q->last_head = NULL;
    }
    if (m->next != NULL) {
        m->next->tail = m->tail;
        append_head(q, m->next);
    }
    m->next = m->next_head = m->tail = NULL;
    q->cost_bytes -= sctp_outgoing_cost(m);
    return m;
}

bool sctp_send_queue_has(const struct sctp_send_queue *q, uint16_t stream)
{
    return find_head(q, stream) != NULL;
}
