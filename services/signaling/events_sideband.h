/*
 * events_sideband.h - GET /v1/realtime?call_id= as a WebSocket: a call's events for an application
 *
 * Takes:   upgrades to judge; what happens to the sockets that it let in; news of the side-bands.
 * Gives:   to each socket every event of its call, the same bytes in the same order; to the call
 *          every event of its client that is JSON within bounds. One that is not is answered with
 *          an `error` event to this socket alone.
 * Closes:  1000 the call has ended, 1001 this replica ends, 1008 there is no such call, 1011 its
 *          transceiver was given up, 1013 the reader is too slow, events were lost, or the call
 *          has too many side-bands.
 * Bounds:  SIDEBAND_FEED_MAX sockets, CONTROL_SIDEBANDS_MAX of a call: one more is refused with 429
 *          here where this replica has the others, and with 1013 where its transceiver knows of
 *          them; events of 256 KB, 32 deep, 4,096 members; 2,000 events and 2
 *          MB a second, for two seconds twice as much: beyond that the client is not read.
 * Source:  docs/client-contract.md.
 */
#ifndef EARSHOT_EVENTS_SIDEBAND_H
#define EARSHOT_EVENTS_SIDEBAND_H

#include "services/signaling/access_gate.h"
#include "services/signaling/calls_api.h"
#include "services/signaling/sideband_feed.h"

/* Why a side-band ended. */
enum events_sideband_end {
    EVENTS_SIDEBAND_CLIENT_LEFT,
    EVENTS_SIDEBAND_CALL_ENDED,
    EVENTS_SIDEBAND_NOT_FOUND,
    EVENTS_SIDEBAND_LOST,
    EVENTS_SIDEBAND_GAP,
    EVENTS_SIDEBAND_FULL,
    EVENTS_SIDEBAND_END_COUNT
};

/* Written by the loop's thread, read by any. */
struct events_sideband_counts {
    metric_value ends_total[EVENTS_SIDEBAND_END_COUNT];
    metric_value events_to_clients_total;
    metric_value events_from_clients_total;
    metric_value events_refused_total; /* no JSON within bounds, or the call takes no more */
};

struct events_sideband;

/* All are borrowed. */
struct events_sideband *events_sideband_create(struct http_server *server,
                                               struct sideband_feed *feed,
                                               struct access_gate *access, struct calls_api *calls);
void events_sideband_destroy(struct events_sideband *e);
const struct events_sideband_counts *events_sideband_counts(const struct events_sideband *e);
/* "call_ended": the label of a counter. */
const char *events_sideband_end_name(enum events_sideband_end end);

/* out->tag is a slot, until events_sideband_closed. */
void events_sideband_judge(struct events_sideband *e, const struct http_upgrade *upgrade,
                           struct http_judgement *out, uint64_t now_us);
void events_sideband_opened(struct events_sideband *e, size_t slot, uint64_t socket,
                            uint64_t now_us);
void events_sideband_message(struct events_sideband *e, size_t slot, struct bytes_view text,
                             uint64_t now_us);
void events_sideband_closed(struct events_sideband *e, size_t slot, uint64_t now_us);

/* Closes all with 1001. */
void events_sideband_drain(struct events_sideband *e);

/* Brings the news of the feed to the sockets; at events_sideband_next_timeout too. */
void events_sideband_turn(struct events_sideband *e, uint64_t now_us);
uint64_t events_sideband_next_timeout(const struct events_sideband *e);

#endif
