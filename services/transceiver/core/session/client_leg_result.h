/*
 * client_leg_result.h - what became of a datagram of a client
 */
#ifndef EARSHOT_CLIENT_LEG_RESULT_H
#define EARSHOT_CLIENT_LEG_RESULT_H

/* The index of a counter. */
enum client_leg_result {
    CLIENT_LEG_STUN,
    CLIENT_LEG_DTLS,
    CLIENT_LEG_RTP,              /* the datagram is now a plain RTP packet */
    CLIENT_LEG_RTCP,             /* the datagram is now a plain RTCP compound */
    CLIENT_LEG_UNKNOWN_KIND,     /* RFC 7983: none of ours */
    CLIENT_LEG_STUN_REFUSED,     /* not authentic, or over the budget of checks */
    CLIENT_LEG_DTLS_UNVALIDATED, /* from an address that passed no check */
    CLIENT_LEG_DTLS_REFUSED,
    CLIENT_LEG_SRTP_TOO_EARLY, /* no keys yet */
    CLIENT_LEG_SRTP_REFUSED,   /* forged, replayed, too short, one SSRC too many */
    CLIENT_LEG_ENDED,          /* the leg is closed */
    CLIENT_LEG_RESULT_COUNT
};

/* "stun_refused": the label of the counter. */
const char *client_leg_result_name(enum client_leg_result result);

#endif
