/*
 * session_facts.h - what an operator is told about a call
 *
 * Gives:   the row of a list, and all that is known: when it came to what, and its counters. No
 *          address, name or key of the client.
 * Source:  docs/operations.md, "One call".
 */
#ifndef EARSHOT_SESSION_FACTS_H
#define EARSHOT_SESSION_FACTS_H

#include "common/control/control_message.h"
#include "services/transceiver/core/session/session.h"

/* unix_offset_us: Unix time less now_us. */
void session_facts_row(const struct session *s, uint64_t unix_offset_us,
                       struct control_session_row *out);
void session_facts_fill(const struct session *s, uint64_t unix_offset_us, struct control_reply *out,
                        uint64_t now_us);

#endif
