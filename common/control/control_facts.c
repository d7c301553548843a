/* control_facts.c - see control_facts.h */
#include "common/control/control_facts.h"

#include <assert.h>

void control_facts_read(struct control_decoder *d, Earshot__Session__Fact *const *in,
                        size_t in_count, struct control_facts *out)
{
    out->count = control_decoder_number(d, (uint32_t)in_count, CONTROL_FACTS_MAX);
    for (size_t i = 0; i < out->count; i++) {
        control_decoder_copy_text(d, in[i]->name, out->fact[i].name, sizeof(out->fact[i].name));
        out->fact[i].value = in[i]->value;
    }
}

void control_facts_fill(const struct control_facts *in, struct control_fact_parts *out)
{
    assert(in->count <= CONTROL_FACTS_MAX);
    for (size_t i = 0; i < in->count; i++) {
        earshot__session__fact__init(&out->fact[i]);
        out->fact[i].name = (char *)in->fact[i].name;
        out->fact[i].value = in->fact[i].value;
        out->list[i] = &out->fact[i];
    }
}
