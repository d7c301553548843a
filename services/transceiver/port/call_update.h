/*
 * call_update.h - what a client says later about its ICE: candidates, or a restart
 *
 * Takes:   one UpdateSession of a call that was found.
 * Gives:   the reply. A restart gets a new token, which names the same session, and a new password;
 *          the same restart again gets the same reply. What is refused changes nothing.
 * Source:  RFC 8445 s.9, RFC 9725 s.4.3.
 */
#ifndef EARSHOT_CALL_UPDATE_H
#define EARSHOT_CALL_UPDATE_H

#include "services/transceiver/port/call_setup.h"

/* out->sdpfrag and out->message are borrowed from `setup` until its next call. True after a restart
 * that is new. */
bool call_update(struct call_setup *setup, struct session *s,
                 const struct control_update_session *request, struct control_reply *out,
                 uint64_t now_us);

#endif
