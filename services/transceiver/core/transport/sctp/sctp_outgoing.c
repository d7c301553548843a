/* sctp_outgoing.c - see sctp_outgoing.h */
#include "services/transceiver/core/transport/sctp/sctp_outgoing.h"

#include <assert.h>
#include <stdlib.h>

struct sctp_outgoing *sctp_outgoing_create(const struct sctp_message *message,
                                           size_t fragment_bytes)
{
    assert(message->data.len > 0);
    const size_t count = (message->data.len + fragment_bytes - 1) / fragment_bytes;
    const size_t head_bytes = sizeof(struct sctp_outgoing) + count * sizeof(struct sctp_fragment);
    struct sctp_outgoing *m = malloc(head_bytes + message->data.len);
    if (m == NULL) {
        return NULL;
    }
    memset(m, 0, head_bytes);
    memcpy((uint8_t *)m + head_bytes, message->data.data, message->data.len);
    m->data = (uint8_t *)m + head_bytes;
    m->len = message->data.len;
    m->stream = message->stream;
    m->ppid = message->ppid;
    m->is_unordered = message->is_unordered;
    m->repeats_max = UINT8_MAX;
    m->expires_us = TIME_NEVER;
    m->fragment_bytes = fragment_bytes;
    m->fragment_count = (uint32_t)count;
    return m;
}

void sctp_outgoing_destroy(struct sctp_outgoing *m)
{
    free(m);
}

size_t sctp_outgoing_cost(const struct sctp_outgoing *m)
{
    return sizeof(*m) + m->len;
}

struct bytes_view sctp_outgoing_payload(const struct sctp_outgoing *m, uint32_t index)
{
    const size_t offset = index * m->fragment_bytes;
    const size_t left = m->len - offset;
    return bytes_view_of(m->data + offset, left < m->fragment_bytes ? left : m->fragment_bytes);
}
