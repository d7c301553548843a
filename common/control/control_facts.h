/*
 * control_facts.h - named numbers, which several messages carry
 *
 * Private to control_reply.c and control_event.c.
 */
#ifndef EARSHOT_CONTROL_FACTS_H
#define EARSHOT_CONTROL_FACTS_H

#include "common/control/control_wire.h"
#include "session.pb-c.h"

/* What facts on the wire point to. */
struct control_fact_parts {
    Earshot__Session__Fact fact[CONTROL_FACTS_MAX];
    Earshot__Session__Fact *list[CONTROL_FACTS_MAX];
};

void control_facts_read(struct control_decoder *d, Earshot__Session__Fact *const *in,
                        size_t in_count, struct control_facts *out);
/* Borrows the names. */
void control_facts_fill(const struct control_facts *in, struct control_fact_parts *out);

#endif
