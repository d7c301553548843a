/*
 * sctp_flight.h - fragments that have a TSN and are not yet acknowledged for good
 *
 * Takes:   messages in the order in which they leave; what SACKs say; that nothing was said.
 * Gives:   what is lost and must be sent again, or was given up (RFC 3758 s.3.5); how much is under
 *          way.
 * Owns:    its messages. Those behind the cumulative TSN are freed.
 */
#ifndef EARSHOT_SCTP_FLIGHT_H
#define EARSHOT_SCTP_FLIGHT_H

#include "services/transceiver/core/transport/sctp/sctp_outgoing.h"
#include "services/transceiver/core/transport/sctp/sctp_wire.h"

/* RFC 9260 s.7.2.4: the third SACK that misses a chunk says that it is lost. */
#define SCTP_MISSES_MAX 3

#define SCTP_FORWARD_TSN_BYTES 8 /* without streams, with the chunk's header */

struct sctp_flight {
    struct sctp_outgoing *first; /* rising TSNs, without holes */
    struct sctp_outgoing *last;
    struct sctp_outgoing *lost_from; /* no message before it has a fragment to resend */
    uint32_t cumulative_tsn;         /* acknowledged up to here */
    uint32_t next_tsn;
    size_t under_way_bytes; /* of payload */
    size_t lost_count;
    size_t gap_count;      /* fragments acknowledged in gap blocks */
    size_t given_up_count; /* messages */
    size_t cost_bytes;
};

struct sctp_fragment_ref {
    struct sctp_outgoing *message; /* NULL: none */
    uint32_t index;
};

struct sctp_flight_ack {
    size_t bytes;         /* newly acknowledged */
    bool has_highest;     /* some of them in gap blocks */
    uint32_t highest_tsn; /* the highest of those */
};

void sctp_flight_init(struct sctp_flight *f, uint32_t first_tsn);
void sctp_flight_destroy(struct sctp_flight *f);

/* The message that leaves next. The one before has no fragment without a TSN. */
void sctp_flight_add(struct sctp_flight *f, struct sctp_outgoing *m);
/* The next fragment of the message that was added last; none when it has left. */
struct sctp_fragment_ref sctp_flight_next_unsent(const struct sctp_flight *f);
/* The lost fragment with the lowest TSN. */
struct sctp_fragment_ref sctp_flight_next_lost(struct sctp_flight *f);
/* It leaves now, for the first time or again. Its TSN. */
uint32_t sctp_flight_send(struct sctp_flight *f, struct sctp_fragment_ref ref);

/* cumulative_tsn: not before the one of earlier SACKs, and sent. */
struct sctp_flight_ack sctp_flight_acknowledge(struct sctp_flight *f, const struct sctp_sack *sack);
/* Fragments under way before `below` missed another SACK. True: at least one is lost by that. */
bool sctp_flight_miss(struct sctp_flight *f, uint32_t below, uint64_t now_us);
/* All that is under way is lost. */
void sctp_flight_lose_all(struct sctp_flight *f, uint64_t now_us);

/* May no more of it leave? */
bool sctp_flight_is_expired(const struct sctp_outgoing *m, uint64_t now_us);
void sctp_flight_give_up(struct sctp_flight *f, struct sctp_outgoing *m);

/* Advanced.Peer.Ack.Point: up to here all is acknowledged or given up. cumulative_tsn, or ahead. */
uint32_t sctp_flight_advanced_tsn(const struct sctp_flight *f);
/* FORWARD TSN up to there, or as far as the room allows: SCTP_FORWARD_TSN_BYTES at least. */
void sctp_flight_write_forward(const struct sctp_flight *f, struct byte_writer *w);

#endif
