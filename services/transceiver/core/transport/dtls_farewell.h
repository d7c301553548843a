/*
 * dtls_farewell.h - what is left of DTLS without data: to hear the peer's end, and to say ours
 *
 * A call with audio alone needs TLS for its handshake; afterwards 66 KB would wait for one alert
 * each way. The keys of the two are enough (dtls_alert.h).
 * Takes:   datagrams of the peer. Records that are newer than all before are opened, others are not
 *          looked at; of an authentic one only an alert means anything.
 * Gives:   our alert, DTLS_FAREWELL_ALERTS times within 150 ms: alerts are not retransmitted.
 * Owns:    its keys; wipe it.
 * Not here: data, handshakes (dtls_transport.h). OpenSSL must write nothing any more.
 */
#ifndef EARSHOT_DTLS_FAREWELL_H
#define EARSHOT_DTLS_FAREWELL_H

#include "common/base/time_us.h"
#include "services/transceiver/core/transport/dtls_alert.h"

#define DTLS_FAREWELL_ALERTS 3

struct dtls_farewell {
    struct dtls_alert_key ours;
    struct dtls_alert_key theirs;
    uint16_t sent_epoch;
    uint64_t sent_sequence_number; /* of the last record that was written */
    uint64_t next_sequence_number; /* above those of all records that were read */
    uint64_t closing_since_us;
    uint64_t next_alert_us; /* TIME_NEVER: nothing is said, or all was */
    size_t alerts_sent;
};

enum dtls_farewell_input {
    DTLS_FAREWELL_REFUSED, /* forged, old, or no record */
    DTLS_FAREWELL_AUTHENTIC,
    DTLS_FAREWELL_CLOSED /* authentic, and the end: *out_alert says how */
};

enum dtls_farewell_input dtls_farewell_input(struct dtls_farewell *f, struct bytes_view datagram,
                                             uint8_t *out_alert);

/* The first alert is due now. */
void dtls_farewell_close(struct dtls_farewell *f, uint64_t now_us);
/* An alert that is due, for the peer; false: none, or OpenSSL refused. Call until false. */
MUST_USE bool dtls_farewell_poll_alert(struct dtls_farewell *f,
                                       uint8_t out[DTLS_ALERT_RECORD_BYTES], uint64_t now_us);
uint64_t dtls_farewell_next_timeout(const struct dtls_farewell *f);
void dtls_farewell_wipe(struct dtls_farewell *f);

#endif
