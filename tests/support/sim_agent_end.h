/*
 * sim_agent_end.h - the agent's end of a backend connection: the real stub, or a scripted backend
 *
 * Takes:   bytes of the transceiver, as far as there is room, and time.
 * Gives:   bytes to the transceiver.
 */
#ifndef EARSHOT_SIM_AGENT_END_H
#define EARSHOT_SIM_AGENT_END_H

#include "services/inference-stub/session_shelf.h"
#include "services/inference-stub/stub_link.h"
#include "tests/support/sim_backend.h"

struct sim_agent_end_config {
    struct sim_backend *script; /* borrowed; NULL: the stub, as the rest says */
    enum dialogue_mode mode;
    uint32_t tone_hz;
    unsigned sessions_max;
    bool rejects;     /* every call */
    bool keeps_calls; /* it can resume when its connection breaks */
};

struct sim_agent_end {
    struct sim_backend *script;
    struct stub_counters counters;
    struct stub_behaviour behaviour;
    struct session_shelf shelf;
    struct stub_link *stub; /* NULL with a script, and without a connection */
};

/* It stays where it is: the stub points into it. */
void sim_agent_end_init(struct sim_agent_end *e, const struct sim_agent_end_config *config);
void sim_agent_end_deinit(struct sim_agent_end *e);

void sim_agent_end_connect(struct sim_agent_end *e, uint64_t now_us);
void sim_agent_end_lose(struct sim_agent_end *e, uint64_t now_us);

/* How much of the bytes was taken. */
size_t sim_agent_end_input(struct sim_agent_end *e, struct bytes_view bytes, uint64_t now_us);
/* Borrowed until the next call. Then say how much of it was sent. */
struct bytes_view sim_agent_end_output(struct sim_agent_end *e, uint64_t now_us);
void sim_agent_end_sent(struct sim_agent_end *e, size_t len, uint64_t now_us);

void sim_agent_end_tick(struct sim_agent_end *e, uint64_t now_us);
uint64_t sim_agent_end_next_timeout(const struct sim_agent_end *e);
/* Somebody made the scripted one speak. */
bool sim_agent_end_has_words(const struct sim_agent_end *e);

#endif
