/* sim_utterances.c - see sim_utterances.h */
#include "tests/support/sim_utterances.h"

#include <assert.h>
#include <string.h>

bool sim_utterances_are_full(const struct sim_utterances *u)
{
    return u->count == SIM_UTTERANCES_MAX;
}

void sim_utterances_add(struct sim_utterances *u, const struct sim_utterance *one)
{
    assert(!sim_utterances_are_full(u));
    u->waiting[u->count++] = *one;
}

void sim_utterances_finish(struct sim_utterances *u)
{
    if (u->sent_count == SIM_UTTERANCES_SENT_MAX) {
        memmove(u->sent, u->sent + 1, --u->sent_count * sizeof(u->sent[0]));
    }
    u->sent[u->sent_count++] = u->waiting[0];
    memmove(u->waiting, u->waiting + 1, --u->count * sizeof(u->waiting[0]));
}

static size_t keep_above(uint32_t id, struct sim_utterance *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (id != 0 && list[i].id > id) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

void sim_utterances_flush(struct sim_utterances *u, uint32_t id)
{
    u->count = keep_above(id, u->waiting, u->count);
    u->sent_count = keep_above(id, u->sent, u->sent_count);
}

void sim_utterances_resume(struct sim_utterances *u, uint64_t id, uint64_t received_us)
{
    while (u->sent_count > 0 && !sim_utterances_are_full(u) &&
           u->sent[u->sent_count - 1].id >= id) {
        memmove(u->waiting + 1, u->waiting, u->count++ * sizeof(u->waiting[0]));
        u->waiting[0] = u->sent[--u->sent_count];
    }
    for (size_t i = 0; i < u->count; i++) {
        if (u->waiting[i].id == id) {
            u->waiting[i].position_us = received_us;
        } else if (u->waiting[i].id > id) {
            u->waiting[i].position_us = 0;
        }
    }
}

void sim_utterances_clear(struct sim_utterances *u)
{
    u->count = u->sent_count = 0;
}
