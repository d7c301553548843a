/*
 * sim_ear.h - listens to the packets of a call: how loud is a tone in each of them
 *
 * Takes:   Opus payloads in order.
 * Gives:   the amplitude of a tone in this packet's 20 ms, of full scale.
 */
#ifndef EARSHOT_SIM_EAR_H
#define EARSHOT_SIM_EAR_H

#include "common/base/bytes.h"

struct sim_ear;

struct sim_ear *sim_ear_create(void);
void sim_ear_destroy(struct sim_ear *e);

double sim_ear_hear(struct sim_ear *e, struct bytes_view payload, double hz);

#endif
