/*
 * realtime_rules.h - what every client of the Realtime API insists on, applied to each event
 *
 * Takes:   the events of one call in the order in which they were sent to everybody.
 * Gives:   the first rule that was broken, with the event; then nothing more.
 * Source:  docs/client-contract.md: required fields and types, statuses, one response at a time,
 *          added before done, turns and playback in pairs, ids that never repeat.
 */
#ifndef EARSHOT_REALTIME_RULES_H
#define EARSHOT_REALTIME_RULES_H

#include "common/base/bytes.h"

#include <jansson.h>

struct realtime_rules {
    json_t *event_ids; /* a set of names */
    json_t *items;     /* names: added, not deleted */
    json_t *responses; /* names: created */
    json_t *calls;     /* names: completed */
    size_t events;
    size_t message_bytes_max;
    char active[64]; /* response; empty: none */
    char playing[64];
    char heard[64]; /* item of the turn that goes on */
    double heard_from_ms;
    char broken[512]; /* empty: nothing */
};

void realtime_rules_init(struct realtime_rules *rules, size_t message_bytes_max);
void realtime_rules_clear(struct realtime_rules *rules);
/* An event for one side-band alone counts for its own form, not for the order. */
void realtime_rules_check(struct realtime_rules *rules, struct bytes_view text, bool is_for_all);
/* Nothing may be open. */
void realtime_rules_check_end(struct realtime_rules *rules);

#endif
