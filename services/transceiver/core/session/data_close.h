/*
 * data_close.h - the end of a call as browsers notice it quietly
 *
 * Order:   begin; run after each change; over says that the alert may be sent.
 * Phases:  what waits is flushed, at most DATA_CLOSE_FLUSH_US, and dropped then, so that the reset
 *          that names every open channel leaves; the client's own resets are awaited, at most
 *          DATA_CLOSE_RESET_US. A client that knows no resets gets the flush only.
 * Linger:  after a reset by the client, whenever it came, DATA_CLOSE_LINGER_US go by: an alert
 *          right behind it is a fatal error in Firefox.
 * Source:  docs/client-contract.md, "The end of a call".
 * Not here: which channels there are (data_channels.h), the alert (client_leg.h).
 */
#ifndef EARSHOT_DATA_CLOSE_H
#define EARSHOT_DATA_CLOSE_H

#include "services/transceiver/core/transport/sctp/sctp_association.h"

#define DATA_CLOSE_FLUSH_US  (200 * US_PER_MS)
#define DATA_CLOSE_RESET_US  (500 * US_PER_MS)
#define DATA_CLOSE_LINGER_US (100 * US_PER_MS)

enum data_close_phase { DATA_CLOSE_NONE, DATA_CLOSE_FLUSHING, DATA_CLOSE_AWAITING };

/* Starts as zeros. */
struct data_close {
    enum data_close_phase phase;
    bool has_asked; /* for resets, of a client that knows them */
    uint64_t until_us;
    uint64_t linger_us; /* the end of it */
};

/* At any time: the client has reset a channel. */
void data_close_note_reset(struct data_close *c, uint64_t now_us);
/* stream: of all open channels. */
void data_close_begin(struct data_close *c, struct sctp_association *a, const uint16_t *stream,
                      size_t count, uint64_t now_us);
/* has_channels: that the client has not reset. True: it is over. */
MUST_USE bool data_close_run(struct data_close *c, struct sctp_association *a, bool has_channels,
                             uint64_t now_us);
/* TIME_NEVER before begin. */
uint64_t data_close_next_timeout(const struct data_close *c);

#endif
