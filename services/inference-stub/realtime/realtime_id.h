/*
 * realtime_id.h - names of events, items, responses and calls of functions: a word and 64 random
 * bits
 */
#ifndef EARSHOT_REALTIME_ID_H
#define EARSHOT_REALTIME_ID_H

#include "services/inference-stub/realtime/realtime.h"

/* prefix: with its underscore, at most 16 characters. */
void realtime_id_make(struct random_source random, const char *prefix, char id[REALTIME_ID_CAP]);

#endif
