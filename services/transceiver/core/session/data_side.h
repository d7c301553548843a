/*
 * data_side.h - the data channels of a call: what passes between them and the backend
 *
 * Takes:   messages of the client and of the backend, word that the backend was lost or that the
 *          call ends soon.
 * Gives:   each text of the event channel as an EVENT, messages of other channels as CHANNEL_DATA,
 *          and back; events to side-bands too; the three events that the transceiver writes itself
 *          (server_error.h).
 * Order:   run after each change of the client or the backend.
 * Queues:  events for the client wait here until its event channel is open (client_queue.h: beyond,
 *          the newest is dropped), later in SCTP; a client for which that is full is too slow.
 *          Messages of the client wait in SCTP while there is no backend, or no room for them in
 *          the outbox: then its window closes.
 * Bounds:  no message to the client is longer than message_bytes_max: it is dropped.
 * Not here: channels and SCTP (data_channels.h), frames (backend_leg.h), when a call ends
 *          (session.c).
 */
#ifndef EARSHOT_DATA_SIDE_H
#define EARSHOT_DATA_SIDE_H

#include "services/transceiver/core/session/backend_leg.h"
#include "services/transceiver/core/session/client_queue.h"
#include "services/transceiver/core/session/data_channels.h"
#include "services/transceiver/core/session/server_error.h"
#include "services/transceiver/core/session/sidebands.h"

struct data_side_config {
    struct data_channels *channels; /* borrowed; NULL: the client has none */
    struct backend_leg *backend;    /* borrowed */
    struct sidebands *sidebands;    /* borrowed: they hear every event for the client */
    uint32_t message_bytes_max;     /* to the client */
};

enum data_side_event {
    DATA_SIDE_NOTHING,
    DATA_SIDE_CLOSED,     /* the client has closed its event channel, or SCTP; what waits is lost */
    DATA_SIDE_SLOW_READER /* 1 MB waits for the client */
};

struct data_side_stats {
    uint64_t events_in;         /* of the client, to the backend */
    uint64_t events_out;        /* to the client, those of the transceiver too */
    uint64_t ignored;           /* of the backend, for a client without an event channel */
    uint64_t dropped_to_client; /* too long, of no channel, or the queue was full */
};

struct data_side {
    struct data_channels *channels;
    struct backend_leg *backend;
    struct sidebands *sidebands;
    uint32_t message_bytes_max;
    bool is_open;     /* the event channel */
    bool is_closed;   /* nothing more comes or goes */
    bool is_too_slow; /* told by the next run */
    struct client_queue queue;
    uint64_t room_us; /* when to look for room again; TIME_NEVER: nothing waits for it */
    struct data_side_stats stats;
};

void data_side_init(struct data_side *d, const struct data_side_config *config);
/* Also of zeros. */
void data_side_deinit(struct data_side *d);

/* A whole message of the backend. */
void data_side_take_backend_message(struct data_side *d, const struct backend_message *message,
                                    uint64_t now_us);
/* To the client, as if the backend had said it. */
void data_side_say(struct data_side *d, enum server_error error, uint64_t now_us);

enum data_side_event data_side_run(struct data_side *d, uint64_t now_us);
/* The call ends: nothing more comes or goes. */
void data_side_close(struct data_side *d);
uint64_t data_side_next_timeout(const struct data_side *d);

#endif
