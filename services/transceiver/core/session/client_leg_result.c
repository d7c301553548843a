/* client_leg_result.c - see client_leg_result.h */
#include "services/transceiver/core/session/client_leg_result.h"

const char *client_leg_result_name(enum client_leg_result result)
{
    static const char *const name[CLIENT_LEG_RESULT_COUNT] = {
        [CLIENT_LEG_STUN] = "stun",
        [CLIENT_LEG_DTLS] = "dtls",
        [CLIENT_LEG_RTP] = "rtp",
        [CLIENT_LEG_RTCP] = "rtcp",
        [CLIENT_LEG_UNKNOWN_KIND] = "unknown_kind",
        [CLIENT_LEG_STUN_REFUSED] = "stun_refused",
        [CLIENT_LEG_DTLS_UNVALIDATED] = "dtls_unvalidated",
        [CLIENT_LEG_DTLS_REFUSED] = "dtls_refused",
        [CLIENT_LEG_SRTP_TOO_EARLY] = "srtp_too_early",
        [CLIENT_LEG_SRTP_REFUSED] = "srtp_refused",
        [CLIENT_LEG_ENDED] = "ended",
    };
    return name[result];
}
