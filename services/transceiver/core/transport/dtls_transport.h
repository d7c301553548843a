/*
 * dtls_transport.h - DTLS 1.2 of one session: handshake, SRTP keys, data, and the end of the call
 *
 * Takes:   datagrams from an address that passed an authenticated ICE check of this session, and
 *          from no other.
 * Gives:   datagrams to send to that address, events, application data (SCTP packets).
 * Order:   start, then one change (start, input, tick, send, close), then drain datagrams, data
 *          and events, then sleep until next_timeout. What is not drained before the next input
 *          is lost, as on a network.
 * Safety:  forged records neither end nor stall a handshake: dtls_handshake.h, dtls_filter.h. The
 *          peer's certificate is compared with the SDP's fingerprints before any key is exported.
 * Bounds:  DTLS_HANDSHAKE_BYTES_MAX of plaintext handshake records, DTLS_HANDSHAKE_TIMEOUT_US,
 *          DTLS_OUTGOING_BYTES_MAX waiting to be sent (the newest is dropped and counted: DTLS and
 *          SCTP retransmit).
 * Owns:    the TLS state, some 58 KB of OpenSSL, from start to release, and 8 KB beside it.
 * Source:  RFC 6347, RFC 5764, RFC 8842.
 * Time:    OpenSSL reads the system's clock for the retransmission timer alone; everything else
 *          runs by now_us.
 * Not here: whose address a datagram came from (session.c).
 */
#ifndef EARSHOT_DTLS_TRANSPORT_H
#define EARSHOT_DTLS_TRANSPORT_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/transport/dtls_fingerprint.h"
#include "services/transceiver/core/transport/dtls_identity.h"
#include "services/transceiver/core/transport/srtp_keys.h"

#define DTLS_DATAGRAM_BYTES_MAX   1500 /* taken; longer ones are dropped */
#define DTLS_MTU_BYTES            1200 /* sent */
#define DTLS_HANDSHAKE_BYTES_MAX  16384
#define DTLS_HANDSHAKE_TIMEOUT_US (30 * US_PER_S)
#define DTLS_REMAKES_MAX          3
#define DTLS_OUTGOING_BYTES_MAX   4096

enum dtls_role { DTLS_ROLE_ACTIVE, DTLS_ROLE_PASSIVE }; /* TLS client, TLS server */

struct dtls_transport_config {
    const struct dtls_identity *identity; /* may be destroyed after create */
    enum dtls_role role;
    struct dtls_fingerprint fingerprint[DTLS_FINGERPRINTS_MAX]; /* the peer's: one must match */
    size_t fingerprint_count;                                   /* at least 1 */
    uint16_t mtu_bytes;                                         /* DTLS_MTU_BYTES, or less */
};

enum dtls_failure {
    DTLS_FAILURE_FINGERPRINT, /* the certificate is not that of the SDP */
    DTLS_FAILURE_CERTIFICATE, /* unsuitable: dtls_fingerprint.h */
    DTLS_FAILURE_ALERT,       /* the peer refused, and nothing else came for 3 s */
    DTLS_FAILURE_TIMEOUT,     /* DTLS_HANDSHAKE_TIMEOUT_US */
    DTLS_FAILURE_BUDGET,      /* DTLS_HANDSHAKE_BYTES_MAX */
    DTLS_FAILURE_PROTOCOL,    /* TLS itself gave up */
    DTLS_FAILURE_COUNT
};

enum dtls_event_kind {
    DTLS_EVENT_CONNECTED, /* once */
    DTLS_EVENT_FAILED,    /* the last event */
    DTLS_EVENT_CLOSED     /* by the peer, authenticated: close_notify or a fatal alert. The last. */
};

struct dtls_event {
    enum dtls_event_kind kind;
    struct srtp_keys srtp;     /* CONNECTED: moves to the caller, who cleanses it */
    enum dtls_failure failure; /* FAILED */
    uint8_t alert;             /* FAILED by an alert, CLOSED: its description */
};

enum dtls_input_result {
    DTLS_INPUT_TAKEN,            /* given to TLS: nothing is known about its sender */
    DTLS_INPUT_AUTHENTIC,        /* a record of it is the peer's */
    DTLS_INPUT_AUTHENTIC_NEWEST, /* and newer than all before: the peer is there, now */
    DTLS_INPUT_FILTERED,         /* dropped or held back before TLS saw it */
    DTLS_INPUT_TOO_LONG,         /* dropped */
    DTLS_INPUT_ENDED,            /* dropped: failed, closed or closing */
    DTLS_INPUT_COUNT
};

struct dtls_transport;

MUST_USE struct dtls_transport *dtls_transport_create(const struct dtls_transport_config *config);
void dtls_transport_destroy(struct dtls_transport *t);

/* The path to the peer is open: the active role's ClientHello is ready to be sent. Once, before
 * any input. round_trip_us: 0 when unknown. */
void dtls_transport_start(struct dtls_transport *t, uint64_t round_trip_us, uint64_t now_us);
enum dtls_input_result dtls_transport_input(struct dtls_transport *t, struct bytes_view datagram,
                                            uint64_t now_us);
void dtls_transport_tick(struct dtls_transport *t, uint64_t now_us);
uint64_t dtls_transport_next_timeout(const struct dtls_transport *t);

/* False unless connected and not released, or when DTLS_OUTGOING_BYTES_MAX are waiting. One packet
 * is one record in one datagram: at most DTLS_MTU_BYTES - 37. */
MUST_USE bool dtls_transport_send(struct dtls_transport *t, struct bytes_view packet);

/* No data is needed, and the peer has shown that its handshake is done as well: TLS is freed. Its
 * end is understood, and ours said, all the same; nothing else comes in or out. What was not
 * drained is lost. Ignored unless connected. */
void dtls_transport_release(struct dtls_transport *t);

/* The end of the call as browsers understand it: a fatal alert (internal_error), sent three times
 * within 150 ms, since alerts are not retransmitted. Nothing is sent when not connected. Nothing
 * is taken from now on. */
void dtls_transport_close(struct dtls_transport *t, uint64_t now_us);

/* Each false when there is nothing more. The views are borrowed until the next call but polls of
 * the other kinds. */
bool dtls_transport_poll_datagram(struct dtls_transport *t, struct bytes_view *out);
bool dtls_transport_poll_data(struct dtls_transport *t, struct bytes_view *out);
bool dtls_transport_poll_event(struct dtls_transport *t, struct dtls_event *out);

/* Outgoing datagrams lost to a full buffer. */
uint64_t dtls_transport_dropped(const struct dtls_transport *t);

#endif
