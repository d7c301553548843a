/*
 * session_timeline.h - when a call came to what, why it ended, and so its state
 *
 * Gives:   moments of now_us; 0 = has not happened. The first time counts.
 * Source:  docs/operations.md, "How a call ended".
 */
#ifndef EARSHOT_SESSION_TIMELINE_H
#define EARSHOT_SESSION_TIMELINE_H

#include "common/base/bytes.h"

enum session_end_reason {
    SESSION_END_HANGUP,        /* signaling was asked to end it */
    SESSION_END_CLIENT_CLOSED, /* the client closed its event channel, SCTP or DTLS */
    SESSION_END_CLIENT_LOST,   /* nothing authentic for 30 s */
    SESSION_END_SETUP_TIMEOUT,
    SESSION_END_DURATION,
    SESSION_END_FINGERPRINT,         /* the certificate is not that of the offer */
    SESSION_END_DTLS,                /* the handshake failed otherwise */
    SESSION_END_SRTP,                /* the client negotiated none */
    SESSION_END_BACKEND_UNAVAILABLE, /* no ACCEPT in time, or a REJECT */
    SESSION_END_BACKEND_ENDED,
    SESSION_END_BACKEND_LOST,
    SESSION_END_SHUTDOWN,
    SESSION_END_SLOW_READER, /* the client let 1 MB of messages pile up */
    SESSION_END_REASON_COUNT
};

/* "client_lost": the word of logs, metrics and messages. */
const char *session_end_reason_name(enum session_end_reason reason);

enum session_state {
    SESSION_CHECKING,  /* no ICE check has passed */
    SESSION_HANDSHAKE, /* DTLS */
    SESSION_CONNECTED, /* media can flow */
    SESSION_ENDED
};

struct session_timeline {
    uint64_t offer_us;       /* signaling had the whole offer, by its own clock */
    uint64_t created_us;     /* the transceiver answered it */
    uint64_t first_check_us; /* an ICE check passed */
    uint64_t connected_us;   /* DTLS is done, media can flow */
    uint64_t accepted_us;    /* the backend took the call */
    uint64_t first_audio_in_us;
    uint64_t first_audio_out_us;
    uint64_t ended_us;
    enum session_end_reason end_reason; /* once ended_us is set */
};

void session_timeline_note(uint64_t *moment_us, uint64_t now_us);
enum session_state session_timeline_state(const struct session_timeline *t);

#endif
