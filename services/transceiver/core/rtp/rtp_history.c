/* rtp_history.c - see rtp_history.h */
#include "services/transceiver/core/rtp/rtp_history.h"

#include "services/transceiver/core/rtp/rtp_packet.h"

#include <assert.h>
#include <stdlib.h>

enum entry_state { ENTRY_EMPTY, ENTRY_KEPT, ENTRY_WANTED };

struct entry {
    uint8_t state; /* enum entry_state */
    uint16_t sequence_number;
    uint16_t len;
    uint8_t bytes[RTP_HISTORY_BYTES_MAX];
};

struct rtp_history {
    size_t wanted_count;
    struct entry entry[RTP_HISTORY_PACKETS]; /* by sequence number */
};

struct rtp_history *rtp_history_create(void)
{
    return calloc(1, sizeof(struct rtp_history));
}

void rtp_history_destroy(struct rtp_history *h)
{
    free(h);
}

static void clear(struct rtp_history *h, struct entry *e)
{
    h->wanted_count -= e->state == ENTRY_WANTED;
    e->state = ENTRY_EMPTY;
}

void rtp_history_keep(struct rtp_history *h, struct bytes_view packet)
{
    assert(packet.len >= RTP_PACKET_HEADER_BYTES);
    const uint16_t sequence_number = (uint16_t)(packet.data[2] << 8 | packet.data[3]);
    struct entry *e = &h->entry[sequence_number % RTP_HISTORY_PACKETS];
    clear(h, e);
    if (packet.len <= sizeof(e->bytes)) {
        e->state = ENTRY_KEPT;
        e->sequence_number = sequence_number;
        e->len = (uint16_t)packet.len;
        memcpy(e->bytes, packet.data, packet.len);
    }
}

void rtp_history_forget(struct rtp_history *h)
{
    for (size_t i = 0; i < RTP_HISTORY_PACKETS; i++) {
        clear(h, &h->entry[i]);
    }
}

void rtp_history_want(struct rtp_history *h, uint16_t sequence_number)
{
    struct entry *e = &h->entry[sequence_number % RTP_HISTORY_PACKETS];
    if (e->state == ENTRY_KEPT && e->sequence_number == sequence_number) {
        e->state = ENTRY_WANTED;
        h->wanted_count++;
    }
}

bool rtp_history_poll(struct rtp_history *h, struct bytes_view *out)
{
    for (size_t i = 0; i < RTP_HISTORY_PACKETS && h->wanted_count > 0; i++) {
        struct entry *e = &h->entry[i];
        if (e->state == ENTRY_WANTED) {
            clear(h, e);
            *out = bytes_view_of(e->bytes, e->len);
            return true;
        }
    }
    return false;
}
