/* sim_agent_end.c - see sim_agent_end.h */
#include "tests/support/sim_agent_end.h"

#include <assert.h>
#include <math.h>

/* What the agent of the parrot mode greets with: two seconds that can be told from any client. */
static int16_t greeting[2 * 16000];

static void make_greeting(void)
{
    if (greeting[1] != 0) {
        return; /* by another cluster */
    }
    for (size_t i = 0; i < COUNT_OF(greeting); i++) {
        greeting[i] = (int16_t)(8000 * sin(2 * M_PI * 1000 * (double)i / 16000));
    }
}

void sim_agent_end_init(struct sim_agent_end *e, const struct sim_agent_end_config *config)
{
    *e = (struct sim_agent_end){.script = config->script};
    make_greeting();
    session_shelf_init(&e->shelf);
    e->behaviour = (struct stub_behaviour){.mode = config->mode,
                                           .mode_name = "sim",
                                           .tone_hz = config->tone_hz,
                                           .greeting_16k = {greeting, COUNT_OF(greeting)},
                                           .greeting_24k = {greeting, COUNT_OF(greeting)},
                                           .sessions_max = config->sessions_max,
                                           .is_draining = config->rejects,
                                           .shelf = config->keeps_calls ? &e->shelf : NULL,
                                           .counters = &e->counters};
}

void sim_agent_end_deinit(struct sim_agent_end *e)
{
    stub_link_destroy(e->stub);
    session_shelf_clear(&e->shelf);
}

void sim_agent_end_connect(struct sim_agent_end *e, uint64_t now_us)
{
    if (e->script != NULL) {
        sim_backend_connect(e->script, now_us);
    } else {
        e->stub = stub_link_create(&e->behaviour, "sim", now_us);
        assert(e->stub != NULL);
    }
}

void sim_agent_end_lose(struct sim_agent_end *e, uint64_t now_us)
{
    if (e->stub != NULL) {
        stub_link_shelve(e->stub, now_us);
    }
    stub_link_destroy(e->stub);
    e->stub = NULL;
}

size_t sim_agent_end_input(struct sim_agent_end *e, struct bytes_view bytes, uint64_t now_us)
{
    const struct bytes_span room =
        e->stub != NULL ? stub_link_reserve(e->stub) : sim_backend_reserve(e->script, now_us);
    const size_t len = bytes.len < room.cap ? bytes.len : room.cap;
    if (len == 0) {
        return 0;
    }
    memcpy(room.data, bytes.data, len);
    if (e->stub != NULL) {
        stub_link_commit(e->stub, len, now_us);
    } else {
        sim_backend_commit(e->script, len, now_us);
    }
    return len;
}

struct bytes_view sim_agent_end_output(struct sim_agent_end *e, uint64_t now_us)
{
    return e->stub != NULL ? stub_link_output(e->stub, now_us) : sim_backend_output(e->script);
}

void sim_agent_end_sent(struct sim_agent_end *e, size_t len, uint64_t now_us)
{
    if (e->stub != NULL) {
        stub_link_sent(e->stub, len, now_us);
    } else {
        sim_backend_sent(e->script, len);
    }
}

void sim_agent_end_tick(struct sim_agent_end *e, uint64_t now_us)
{
    if (e->stub != NULL) {
        stub_link_tick(e->stub, now_us);
    } else if (e->script != NULL) {
        sim_backend_tick(e->script, now_us);
    }
}

uint64_t sim_agent_end_next_timeout(const struct sim_agent_end *e)
{
    if (e->stub != NULL) {
        return stub_link_next_timeout(e->stub);
    }
    return e->script != NULL ? sim_backend_next_timeout(e->script) : TIME_NEVER;
}

bool sim_agent_end_has_words(const struct sim_agent_end *e)
{
    return e->script != NULL && sim_backend_output(e->script).len > 0;
}
