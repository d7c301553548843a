/* data_close.c - see data_close.h */
#include "services/transceiver/core/session/data_close.h"

#include <assert.h>

void data_close_note_reset(struct data_close *c, uint64_t now_us)
{
    c->linger_us = now_us + DATA_CLOSE_LINGER_US;
}

void data_close_begin(struct data_close *c, struct sctp_association *a, const uint16_t *stream,
                      size_t count, uint64_t now_us)
{
    assert(c->phase == DATA_CLOSE_NONE);
    c->phase = DATA_CLOSE_FLUSHING;
    c->until_us = now_us + (count > 0 ? DATA_CLOSE_FLUSH_US : 0);
    c->has_asked = count > 0 && sctp_association_reset_streams(a, stream, count, now_us);
}

bool data_close_run(struct data_close *c, struct sctp_association *a, bool has_channels,
                    uint64_t now_us)
{
    if (c->phase == DATA_CLOSE_FLUSHING &&
        (now_us >= c->until_us || sctp_association_buffered_bytes(a) == 0)) {
        c->phase = DATA_CLOSE_AWAITING;
        c->until_us = time_earlier(c->until_us, now_us) + (c->has_asked ? DATA_CLOSE_RESET_US : 0);
        sctp_association_drop_unsent(a, now_us);
    }
    if (!has_channels) {
        c->phase = DATA_CLOSE_AWAITING;
        c->until_us = now_us;
    }
    return c->phase == DATA_CLOSE_AWAITING && now_us >= data_close_next_timeout(c);
}

uint64_t data_close_next_timeout(const struct data_close *c)
{
    switch (c->phase) {
    case DATA_CLOSE_FLUSHING:
        return c->until_us;
    case DATA_CLOSE_AWAITING:
        return time_later(c->until_us, c->linger_us);
    default:
        return TIME_NEVER;
    }
}
