/* call_sideband.c - see call_sideband.h */
#include "services/transceiver/port/call_sideband.h"

/* A backend that went away is back in about this time, or the call is over. */
#define RETRY_AFTER_MS 200

static bool refuse(struct control_reply *out, enum control_refusal code, const char *message)
{
    out->refusal = code;
    out->message = bytes_view_of_text(message);
    return false;
}

bool call_sideband_attach(struct session *s, const struct control_attach_sideband *request,
                          struct control_reply *out, uint64_t now_us)
{
    enum sidebands_result result = SIDEBANDS_RENEWED;
    if (request->sideband_id == 0) {
        return refuse(out, CONTROL_BAD_OFFER, "a side-band's id is not 0");
    }
    if (request->lease_ms == 0) {
        session_detach_sideband(s, request->sideband_id, now_us);
    } else {
        result =
            session_attach_sideband(s, request->sideband_id, request->lease_ms * US_PER_MS, now_us);
    }
    if (result == SIDEBANDS_FULL) {
        return refuse(out, CONTROL_FULL, "the call has as many side-bands as it may have");
    }
    out->kind = CONTROL_ATTACH_SIDEBAND;
    out->sideband_sequence = session_sidebands(s)->sequence;
    out->is_new_sideband = result == SIDEBANDS_ATTACHED;
    return out->is_new_sideband;
}

bool call_sideband_inject(struct session *s, const struct control_inject_event *request,
                          struct control_reply *out, uint64_t now_us)
{
    switch (session_inject_event(s, request->sideband_id, request->event, now_us)) {
    case BACKEND_SIDE_INJECTED:
        out->kind = CONTROL_INJECT_EVENT;
        return true;
    case BACKEND_SIDE_NO_SIDEBAND:
        return refuse(out, CONTROL_NOT_FOUND, "no such side-band");
    case BACKEND_SIDE_AWAY:
        out->retry_after_ms = RETRY_AFTER_MS;
        return refuse(out, CONTROL_BACKEND_UNAVAILABLE, "no inference backend listens");
    }
    return false;
}
