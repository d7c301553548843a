/*
 * call_sideband.h - AttachSideband and InjectEvent, for a call that was found
 *
 * Gives:   the reply; true when something was new: a side-band, an event for the backend.
 * Fails:   refusals: bad_offer for an id of 0, full, not_found for a side-band that is not
 *          attached, backend_unavailable while nobody listens (once more, later).
 */
#ifndef EARSHOT_CALL_SIDEBAND_H
#define EARSHOT_CALL_SIDEBAND_H

#include "common/control/control_message.h"
#include "services/transceiver/core/session/session.h"

bool call_sideband_attach(struct session *s, const struct control_attach_sideband *request,
                          struct control_reply *out, uint64_t now_us);
bool call_sideband_inject(struct session *s, const struct control_inject_event *request,
                          struct control_reply *out, uint64_t now_us);

#endif
