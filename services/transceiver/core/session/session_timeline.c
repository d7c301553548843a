/* session_timeline.c - see session_timeline.h */
#include "services/transceiver/core/session/session_timeline.h"

#include <assert.h>

const char *session_end_reason_name(enum session_end_reason reason)
{
    static const char *const name[SESSION_END_REASON_COUNT] = {
        [SESSION_END_HANGUP] = "hangup",
        [SESSION_END_CLIENT_CLOSED] = "client_closed",
        [SESSION_END_CLIENT_LOST] = "client_lost",
        [SESSION_END_SETUP_TIMEOUT] = "setup_timeout",
        [SESSION_END_DURATION] = "duration",
        [SESSION_END_FINGERPRINT] = "fingerprint",
        [SESSION_END_DTLS] = "dtls",
        [SESSION_END_SRTP] = "srtp",
        [SESSION_END_BACKEND_UNAVAILABLE] = "backend_unavailable",
        [SESSION_END_BACKEND_ENDED] = "backend_ended",
        [SESSION_END_BACKEND_LOST] = "backend_lost",
        [SESSION_END_SHUTDOWN] = "shutdown",
        [SESSION_END_SLOW_READER] = "slow_reader",
    };
    assert(reason < SESSION_END_REASON_COUNT);
    return name[reason];
}

void session_timeline_note(uint64_t *moment_us, uint64_t now_us)
{
    if (*moment_us == 0) {
        *moment_us = now_us;
    }
}

enum session_state session_timeline_state(const struct session_timeline *t)
{
    if (t->ended_us != 0) {
        return SESSION_ENDED;
    }
    if (t->connected_us != 0) {
        return SESSION_CONNECTED;
    }
    return t->first_check_us != 0 ? SESSION_HANDSHAKE : SESSION_CHECKING;
}
