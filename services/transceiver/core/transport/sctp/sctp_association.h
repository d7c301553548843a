/*
 * sctp_association.h - SCTP over DTLS, one end: messages in streams, each once and in order
 *
 * Takes:   SCTP packets out of DTLS records; messages to send.
 * Gives:   packets for DTLS, whole messages, events.
 * Order:   one change (connect, input, tick, send, reset_streams, shutdown, abort), then drain
 *          messages and events, then packets, then sleep until next_timeout.
 * Owns:    some 4 KB while idle. Messages that wait are on the heap, within the bounds.
 * Bounds:  SCTP_RECEIVE_BYTES_MAX of what has come and was not polled, then the window is closed;
 *          SCTP_SEND_BYTES_MAX of what was sent and is not acknowledged, then send is refused;
 *          SCTP_TSN_WINDOW chunks ahead of a gap, what is beyond comes again.
 * Fails:   the peer answers nothing SCTP_RETRANSMISSIONS_MAX times, or there is no memory: FAILED.
 * Source:  RFC 9260 as RFC 8831 uses it; RFC 3758, 6525, 9653. docs/rfc-coverage.md says what is
 *          left out.
 * Not here: channels (dcep.h), DTLS (dtls_transport.h), finding the path's MTU: packets have one
 *          size for good.
 */
#ifndef EARSHOT_SCTP_ASSOCIATION_H
#define EARSHOT_SCTP_ASSOCIATION_H

#include "common/base/bytes.h"
#include "common/base/random.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/transport/sctp/sctp_message.h"

#define SCTP_PORT_DEFAULT     5000
#define SCTP_PACKET_BYTES_MIN 512  /* RFC 9260 s.6.9: room for control and some data */
#define SCTP_PACKET_BYTES_MAX 1200 /* sent; what is taken is a record of any length */

struct sctp_config {
    uint16_t port; /* of both sides (RFC 8841: a=sctp-port) */
    uint16_t packet_bytes_max;
    uint32_t message_bytes_max;      /* that we take; a longer one is dropped and told */
    uint32_t peer_message_bytes_max; /* of the SDP; 0 = any */
    bool zero_checksum;              /* offer RFC 9653; used if the peer offers it as well */
    struct random_source random;     /* must outlive the association */
};

enum sctp_event_kind {
    SCTP_EVENT_CONNECTED, /* once, before all messages: both sides may send */
    /* The peer's side of `stream`. SCTP_STREAMS, which no stream has: of all, used or not
     * (RFC 6525 s.4.1: a request that names none). */
    SCTP_EVENT_STREAM_RESET_BY_PEER,
    SCTP_EVENT_RESET_DONE,    /* our side of `stream`: it begins anew */
    SCTP_EVENT_RESET_REFUSED, /* by the peer: nothing of `stream` has changed */
    /* One for `stream` was longer than message_bytes_max, or came in so small pieces that
     * SCTP_RECEIVE_BYTES_MAX does not hold them. */
    SCTP_EVENT_MESSAGE_DROPPED,
    /* SHUTDOWN or ABORT of the peer has come, or its answer to ours. The last: no message follows.
     * Packets may: the hand-shake is the association's. */
    SCTP_EVENT_CLOSED,
    SCTP_EVENT_FAILED /* no answer, no memory. The last. */
};

struct sctp_event {
    enum sctp_event_kind kind;
    uint16_t stream;
};

struct sctp_association;

/* NULL without memory. */
MUST_USE struct sctp_association *sctp_association_create(const struct sctp_config *config,
                                                          uint64_t now_us);
void sctp_association_destroy(struct sctp_association *a);

/* Begins with an INIT. Both sides may; who does not is connected by the other. Once. */
void sctp_association_connect(struct sctp_association *a, uint64_t now_us);

void sctp_association_input(struct sctp_association *a, struct bytes_view packet, uint64_t now_us);
void sctp_association_tick(struct sctp_association *a, uint64_t now_us);
uint64_t sctp_association_next_timeout(const struct sctp_association *a);

/* False when there is nothing to send. The packet counts as sent: take one only when it can leave.
 * Borrowed until the next call. */
MUST_USE bool sctp_association_poll_packet(struct sctp_association *a, struct bytes_view *out,
                                           uint64_t now_us);

/* False when there is nothing more, or when an event stands before the next message. Borrowed until
 * the next poll_message. */
MUST_USE bool sctp_association_poll_message(struct sctp_association *a, struct sctp_message *out);

/* STREAM_RESET_BY_PEER and MESSAGE_DROPPED keep their place among the messages: they come when
 * those before them have been polled. */
MUST_USE bool sctp_association_poll_event(struct sctp_association *a, struct sctp_event *out);

/* The last event, or the peer's reset of this stream, stands behind what was not polled. */
bool sctp_association_has_ended(const struct sctp_association *a);
bool sctp_association_has_reset(const struct sctp_association *a, uint16_t stream);

/* Copies the message. NULL is SCTP_RELIABLE, and so is everything to a peer without RFC 3758. */
enum sctp_send_result sctp_association_send(struct sctp_association *a,
                                            const struct sctp_message *message,
                                            const struct sctp_reliability *reliability,
                                            uint64_t now_us);

/* Sent or waiting, and not acknowledged; each message counts some bytes more than it has. */
size_t sctp_association_buffered_bytes(const struct sctp_association *a);

/* What waits without a TSN is not sent, whatever its reliability: a reset or a shutdown that is
 * wanted need not wait for it. A message of which a part has left is given up if the peer knows
 * RFC 3758, else its rest still leaves. What is whole under way goes on. */
void sctp_association_drop_unsent(struct sctp_association *a, uint64_t now_us);

/* Our side of these streams ends, when what waits for them has been sent (RFC 6525); nothing more
 * is taken for them before RESET_DONE. One request is under way at a time, more wait; a stream that
 * is in it is then reset once more. False: not connected, or the peer knows no resets: nothing will
 * happen. */
MUST_USE bool sctp_association_reset_streams(struct sctp_association *a, const uint16_t *stream,
                                             size_t count, uint64_t now_us);

/* Nothing more is taken; what waits is sent, then SHUTDOWN. CLOSED follows, before all of that if
 * the peer says SHUTDOWN as well. */
void sctp_association_shutdown(struct sctp_association *a, uint64_t now_us);
/* One ABORT, and no event. */
void sctp_association_abort(struct sctp_association *a, uint64_t now_us);

#endif
