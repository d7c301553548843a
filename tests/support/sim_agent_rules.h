/*
 * sim_agent_rules.h - what a voice agent may expect of a transceiver (docs/backend-protocol.md)
 *
 * Takes:   every frame of one call as the agent writes and reads it.
 * Tells:   the journal, when a rule is broken:
 *          - frames of a session are numbered without a gap, and nothing follows its last word
 *          - AUDIO_IN is in order of time, and a gap is flagged
 *          - each utterance with an accepted frame is started at most once, then done once, in the
 *            order of ids, for a reason that is true; nothing is told of it afterwards
 *          - sent_us <= what was supplied, heard_us <= sent_us, neither falls
 *          - every FLUSH is answered once, at once, by its own id
 *          - the limit of the credit rises, never beyond what was supplied + the window, and all of
 *            it comes back
 *          - an ERROR has a cause, and there is at most one a second
 */
#ifndef EARSHOT_SIM_AGENT_RULES_H
#define EARSHOT_SIM_AGENT_RULES_H

#include "common/backend_link/backend_payload.h"
#include "common/base/time_us.h"
#include "tests/support/sim_journal.h"

#define SIM_AGENT_UTTERANCES_MAX 256

struct sim_agent_rules;

/* start_us: when the call was placed, the session clock's 0; a new agent does not change it. */
struct sim_agent_rules *sim_agent_rules_create(struct sim_journal *journal, uint64_t start_us);
void sim_agent_rules_destroy(struct sim_agent_rules *r);

/* Its connection broke: what the transceiver would tell reaches nobody. */
void sim_agent_rules_lost(struct sim_agent_rules *r);
/* A new connection; is_resumed: the agent still knows the call. */
void sim_agent_rules_connect(struct sim_agent_rules *r, bool is_resumed);
/* A frame that the agent writes, and how much media is in it. */
void sim_agent_rules_said(struct sim_agent_rules *r, const struct backend_frame *frame,
                          uint64_t media_us, uint64_t now_us);
/* It reads nothing until then. */
void sim_agent_rules_stall(struct sim_agent_rules *r, uint64_t until_us);
/* It has written something that is an error, on purpose. */
void sim_agent_rules_allow_error(struct sim_agent_rules *r);
void sim_agent_rules_heard(struct sim_agent_rules *r, const struct backend_frame *frame,
                           uint64_t now_us);
/* The call is over: what is still owed is a fault. */
void sim_agent_rules_finish(struct sim_agent_rules *r, uint64_t now_us);

/* The credit that is left. */
uint64_t sim_agent_rules_credit_us(const struct sim_agent_rules *r);
/* A number of a JSON payload; 0 when it is not there. */
uint64_t sim_agent_rules_number(const struct backend_frame *frame, const char *key);

#endif
