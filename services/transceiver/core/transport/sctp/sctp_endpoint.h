/*
 * sctp_endpoint.h - what the two halves of an association's code share: sctp_association.c, which
 * serves the caller, and sctp_dispatch.c, which serves the peer
 */
#ifndef EARSHOT_SCTP_ENDPOINT_H
#define EARSHOT_SCTP_ENDPOINT_H

#include "services/transceiver/core/transport/sctp/sctp_association.h"
#include "services/transceiver/core/transport/sctp/sctp_heartbeat.h"
#include "services/transceiver/core/transport/sctp/sctp_reset.h"
#include "services/transceiver/core/transport/sctp/sctp_setup.h"
#include "services/transceiver/core/transport/sctp/sctp_shutdown.h"

enum sctp_state {
    SCTP_STATE_SETUP,
    SCTP_STATE_OPEN, /* `in`, `out` and `reset` exist from here on */
    SCTP_STATE_ENDED
};

struct sctp_association {
    struct sctp_config config;
    enum sctp_state state;
    bool is_connected_due; /* events */
    bool is_end_known;
    bool is_end_due;
    enum sctp_event_kind end;
    bool zero_checksum; /* both offered it */
    struct sctp_setup setup;
    struct sctp_inbound *in;
    struct sctp_outbound *out;
    struct sctp_reset reset;
    struct sctp_heartbeat heartbeat;
    struct sctp_shutdown shutdown;
    struct byte_writer control; /* chunks that answer what came, for the next packet */
    uint8_t control_bytes[SCTP_PACKET_BYTES_MAX];
    struct {
        bool sack;
        bool shutdown;
        bool forward_tsn;
    } had;           /* in this packet */
    size_t lone_len; /* `packet` holds one that leaves before all others, and as it is */
    uint8_t packet[SCTP_PACKET_BYTES_MAX];
};

/* Both ends have said what they are. Without memory the association has failed. */
void sctp_endpoint_open(struct sctp_association *a, uint64_t now_us);
/* The caller learns of the end; what the hand-shake needs goes on. The first end counts. */
void sctp_endpoint_tell_end(struct sctp_association *a, enum sctp_event_kind kind);
/* Nothing goes on. */
void sctp_endpoint_end(struct sctp_association *a, enum sctp_event_kind kind);
/* ABORT to the peer, if it is known. */
void sctp_endpoint_abort(struct sctp_association *a, enum sctp_cause cause);

/* A writer with the header of a packet that will leave alone. */
struct byte_writer sctp_endpoint_begin_lone(struct sctp_association *a, uint32_t tag);
void sctp_endpoint_end_lone(struct sctp_association *a, struct byte_writer *w);

/* Empties it. */
void sctp_endpoint_clear_control(struct sctp_association *a);
/* Room for a chunk with so many bytes in it? */
bool sctp_endpoint_has_control_room(const struct sctp_association *a, size_t body_bytes);

#endif
