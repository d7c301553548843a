/*
 * sim_wire_rules.h - what a call may send to its client, watched where it leaves
 *
 * Takes:   every RTP packet, as it is on the wire and in the clear, and the frames of the backend
 *          that change what may be in it.
 * Tells:   the journal, when a rule is broken:
 *          - one SSRC; sequence + 1 a packet, timestamp + 960 a slot, in step with the clock
 *          - an SRTP index is used once, or again for the same bytes
 *          - something leaves in each slot; at most two packets back to back
 *          - after FLUSHED: one ramp and what the encoder still held, then nothing of the old
 *            utterance, in no copy
 *          - what is paused does not start
 *          - speech that passes through uncoded: in order, whole, none of it twice
 *          - FLUSHED tells what was sent, to a frame
 */
#ifndef EARSHOT_SIM_WIRE_RULES_H
#define EARSHOT_SIM_WIRE_RULES_H

#include "common/backend_link/backend_payload.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/rtp/rtp_packet.h"
#include "tests/support/sim_journal.h"
#include "tests/support/sim_red.h"

struct sim_wire_rules;

/* is_heard: the packets are Opus of a real encoder, listen to them. may_begin_late: the client gets
 * its keys after the transceiver, and can not be overheard before. */
struct sim_wire_rules *sim_wire_rules_create(struct sim_journal *journal, bool is_heard,
                                             bool is_sparse, bool may_begin_late);
void sim_wire_rules_destroy(struct sim_wire_rules *r);

/* A packet leaves: on the wire. Then, when it can be read, in the clear, its oldest block first. */
void sim_wire_rules_packet(struct sim_wire_rules *r, struct bytes_view wire, uint64_t now_us);
void sim_wire_rules_payload(struct sim_wire_rules *r, const struct rtp_packet *packet,
                            const struct sim_red_block *block, size_t count, uint64_t now_us);
/* A frame that the session takes, or gives. */
void sim_wire_rules_frame(struct sim_wire_rules *r, const struct backend_frame *frame,
                          bool is_from_backend, uint64_t now_us);
/* The transceiver does nothing until then: its packets will be late. */
void sim_wire_rules_excuse(struct sim_wire_rules *r, uint64_t until_us);
/* The call ends here: no silence is owed. */
void sim_wire_rules_finish(struct sim_wire_rules *r, uint64_t now_us);

/* How often a packet carried the one before (RED), or left again (NACK). */
uint64_t sim_wire_rules_copies(const struct sim_wire_rules *r);
uint64_t sim_wire_rules_repeats(const struct sim_wire_rules *r);

#endif
