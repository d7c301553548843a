/*
 * sim_uplink_rules.h - the client's voice: what was said, what came, and what was given on
 *
 * Takes:   packets as the client says them and as the transceiver authenticates them, and AUDIO_IN
 *          as it leaves the session.
 * Tells:   the journal, when a rule is broken:
 *          - a frame without a flag is of a packet that has arrived, and is given once
 *          - what has arrived, also as a copy, is not concealed; silence is not either
 *          - a packet whose turn it is is given in the same instant; none waits longer than the
 *            reorder window
 *          - everything that arrived in time is given on
 */
#ifndef EARSHOT_SIM_UPLINK_RULES_H
#define EARSHOT_SIM_UPLINK_RULES_H

#include "common/backend_link/backend_frame.h"
#include "common/base/time_us.h"
#include "tests/support/sim_journal.h"
#include "tests/support/sim_speaker.h"

struct sim_uplink_rules;

/* is_fixed: the client says the fixed packets of sim_voice.h. */
struct sim_uplink_rules *sim_uplink_rules_create(struct sim_journal *journal, bool is_fixed);
void sim_uplink_rules_destroy(struct sim_uplink_rules *r);

void sim_uplink_rules_said(struct sim_uplink_rules *r, const struct sim_said *said,
                           uint64_t now_us);
void sim_uplink_rules_arrived(struct sim_uplink_rules *r, uint32_t ssrc, uint16_t sequence_number,
                              uint64_t now_us);
void sim_uplink_rules_given(struct sim_uplink_rules *r, const struct backend_frame *audio_in,
                            uint64_t now_us);
/* Somebody listens from now on, or nobody does. */
void sim_uplink_rules_attach(struct sim_uplink_rules *r, bool is_attached, uint64_t now_us);
/* The transceiver does nothing until then: what comes waits in its socket. */
void sim_uplink_rules_excuse(struct sim_uplink_rules *r, uint64_t until_us);
/* The call is over: what is still owed is a fault. */
void sim_uplink_rules_finish(struct sim_uplink_rules *r, uint64_t now_us);

#endif
