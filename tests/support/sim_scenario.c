/* sim_scenario.c - see sim_scenario.h */
#include "tests/support/sim_scenario.h"

#include <inttypes.h>
#include <stdlib.h>

#define MS      US_PER_MS
#define REAL_IN 10 /* one seed of so many is real Opus */

static const char *const deed_name[SIM_DEED_COUNT] = {
    [SIM_DEED_SPEAK] = "agent speaks",
    [SIM_DEED_SPEAK_SLOWLY] = "agent speaks slower than it is heard",
    [SIM_DEED_SPEAK_OPEN] = "agent speaks, no LAST",
    [SIM_DEED_FLUSH] = "agent flushes the newest",
    [SIM_DEED_FLUSH_ALL] = "agent flushes all",
    [SIM_DEED_FLUSH_OLD] = "agent flushes an old one",
    [SIM_DEED_PAUSE] = "agent pauses the newest",
    [SIM_DEED_PAUSE_NEXT] = "agent pauses what it has not said yet",
    [SIM_DEED_GO_ON] = "agent goes on",
    [SIM_DEED_NONSENSE] = "agent talks nonsense",
    [SIM_DEED_STALL_AGENT] = "agent does not read",
    [SIM_DEED_STALL_TRANSCEIVER] = "transceiver does nothing",
    [SIM_DEED_HOLD_LINK] = "link holds",
    [SIM_DEED_REBIND] = "NAT gives another port",
    [SIM_DEED_MOVE] = "client moves to another network",
    [SIM_DEED_RESTART_ICE] = "client restarts its ICE",
    [SIM_DEED_RESTART_ICE_UNHEARD] = "client restarts its ICE and hears no answer",
    [SIM_DEED_RESTART_RELAY] = "relay restarts",
    [SIM_DEED_LOSE_BACKEND] = "backend is lost",
    [SIM_DEED_GO_AWAY] = "backend goes away",
    [SIM_DEED_FALL_SILENT] = "client falls silent",
    [SIM_DEED_SPEAK_UP] = "client speaks",
    [SIM_DEED_MUTE] = "client sends nothing",
    [SIM_DEED_UNMUTE] = "client sends again",
    [SIM_DEED_CHANGE_SSRC] = "client changes its track",
    [SIM_DEED_GARBAGE] = "client says what is no Opus",
    [SIM_DEED_AGENT_SAYS] = "the agent says an event",
    [SIM_DEED_CLIENT_SAYS] = "the client says an event",
    [SIM_DEED_HANG_UP] = "signaling hangs up",
    [SIM_DEED_CLIENT_CLOSES] = "client closes",
    [SIM_DEED_AGENT_ENDS] = "agent ends the call",
    [SIM_DEED_AGENT_ENDS_DRAINED] = "agent ends the call when it has spoken",
};

const char *sim_deed_name(enum sim_deed deed)
{
    return deed_name[deed];
}

static uint64_t draw(struct sim_scenario *s, uint64_t from, uint64_t to)
{
    return from + random_generator_next(&s->random) % (to - from + 1);
}

static bool draws_one_in(struct sim_scenario *s, uint64_t count)
{
    return random_generator_next(&s->random) % count == 0;
}

static void draw_network(struct sim_scenario *s)
{
    static const unsigned loss_per_mille[] = {0, 0, 10, 50, 100, 200, 300};
    struct sim_link_config *link = &s->fleet.link;
    link->delay_us = draw(s, 0, 120) * MS;
    link->loss_per_mille = loss_per_mille[draw(s, 0, COUNT_OF(loss_per_mille) - 1)];
    link->burst_mean = draws_one_in(s, 2) ? (unsigned)draw(s, 2, 6) : 1;
    link->jitter_us = draws_one_in(s, 2) ? draw(s, 0, 60) * MS : 0;
    link->keeps_order = draws_one_in(s, 2);
    link->repeat_per_mille = draws_one_in(s, 3) ? 50 : 0;
    link->stray_per_mille = draws_one_in(s, 3) ? 30 : 0;
    link->stray_us = draw(s, 5, 200) * MS;
}

static void draw_ends(struct sim_scenario *s)
{
    static const struct backend_format format[] = {
        {BACKEND_CODEC_PCM16, 16}, {BACKEND_CODEC_PCM16, 24}, {BACKEND_CODEC_PCM16, 48},
        {BACKEND_CODEC_PCM16, 8},  {BACKEND_CODEC_OPUS, 48},  {BACKEND_CODEC_OPUS, 48}};
    const size_t pcm_formats = 4; /* who speaks no real Opus is not listened to */
    struct sim_client_config *client = &s->fleet.client;
    s->is_real = draws_one_in(s, REAL_IN);
    client->is_cheap = !s->is_real;
    client->is_dtls_client = draws_one_in(s, 3);
    client->has_red = draws_one_in(s, 2);
    client->has_nack = draws_one_in(s, 3);
    client->uses_dtx = draws_one_in(s, 3);
    client->wraps_soon = draws_one_in(s, 3);
    s->fleet.cluster.bitrate_bps = 32000;
    s->fleet.cluster.complexity = s->is_real ? 5 : 0;
    s->agent.format = format[draw(s, 0, (s->is_real ? pcm_formats : COUNT_OF(format)) - 1)];
    s->agent.prebuffer_ms = (unsigned)draw(s, 0, 3) * 20;
    s->agent.progress_ms = draws_one_in(s, 2) ? 200 : 0;
    s->agent.accept_us = draw(s, 0, 5) * 300 * MS;
    s->agent.ignores_flushes = draws_one_in(s, 3);
    s->agent.resumes = !draws_one_in(s, 4);
    s->agent.pauses_on_speech = draws_one_in(s, 4);
    s->agent.answers_no_end = draws_one_in(s, 6);
}

static void plan(struct sim_scenario *s, uint64_t at_us, enum sim_deed deed, uint64_t amount_us)
{
    if (s->plan_count < SIM_SCENARIO_DEEDS_MAX) {
        s->plan[s->plan_count++] =
            (struct sim_plan){.at_us = at_us, .deed = deed, .amount_us = amount_us};
    }
}

/* At random moments between the set-up and the end. */
static void plan_some(struct sim_scenario *s, enum sim_deed deed, uint64_t count, uint64_t from_us,
                      uint64_t to_us)
{
    for (uint64_t i = 0; i < count; i++) {
        plan(s, draw(s, 500 * MS, SIM_SCENARIO_CALL_US - 200 * MS), deed, draw(s, from_us, to_us));
    }
}

static void plan_pair(struct sim_scenario *s, enum sim_deed begin, enum sim_deed end,
                      uint64_t to_us)
{
    const uint64_t at_us = draw(s, US_PER_S, SIM_SCENARIO_CALL_US - 8 * US_PER_S);
    plan(s, at_us, begin, 0);
    plan(s, at_us + draw(s, 20 * MS, to_us), end, 0);
}

static void plan_agent(struct sim_scenario *s)
{
    plan_some(s, SIM_DEED_SPEAK, draw(s, 1, 8), 20 * MS, 6 * US_PER_S);
    if (draws_one_in(s, 3)) {
        plan_some(s, SIM_DEED_SPEAK_SLOWLY, draw(s, 1, 3), 200 * MS, 2 * US_PER_S);
    }
    if (draws_one_in(s, 3)) {
        plan_some(s, SIM_DEED_SPEAK_OPEN, draw(s, 1, 3), 20 * MS, US_PER_S);
    }
    if (draws_one_in(s, 2)) {
        plan_some(s, SIM_DEED_FLUSH, draw(s, 1, 12), 0, 0);
    }
    if (draws_one_in(s, 3)) {
        plan_some(s, SIM_DEED_FLUSH_ALL, draw(s, 1, 4), 0, 0);
        plan_some(s, SIM_DEED_FLUSH_OLD, draw(s, 0, 4), 0, 0);
    }
    if (draws_one_in(s, 3)) {
        plan_some(s, SIM_DEED_PAUSE, draw(s, 1, 4), 0, 0);
        plan_some(s, SIM_DEED_PAUSE_NEXT, draw(s, 0, 2), 0, 0);
        plan_some(s, SIM_DEED_GO_ON, draw(s, 1, 6), 0, 0);
    }
    if (draws_one_in(s, 4)) {
        plan_some(s, SIM_DEED_NONSENSE, draw(s, 1, 4), 0, 0);
    }
    if (draws_one_in(s, 4)) {
        plan_some(s, SIM_DEED_STALL_AGENT, 1, 50 * MS, 2500 * MS);
    }
}

static void plan_client(struct sim_scenario *s)
{
    if (draws_one_in(s, 3)) {
        plan_pair(s, SIM_DEED_FALL_SILENT, SIM_DEED_SPEAK_UP, 4 * US_PER_S);
    }
    if (draws_one_in(s, 5)) {
        plan_pair(s, SIM_DEED_MUTE, SIM_DEED_UNMUTE, 5 * US_PER_S);
    }
    if (draws_one_in(s, 6)) {
        plan_some(s, SIM_DEED_CHANGE_SSRC, 1, 0, 0);
    }
    if (draws_one_in(s, 5)) {
        plan_some(s, SIM_DEED_GARBAGE, draw(s, 1, 3), 0, 0);
    }
    if (draws_one_in(s, 3)) {
        plan_some(s, SIM_DEED_REBIND, draw(s, 1, 2), 0, 0);
    }
    if (draws_one_in(s, 6)) {
        plan_some(s, SIM_DEED_MOVE, 1, 0, 0);
    }
    if (draws_one_in(s, 3)) {
        plan_some(s, SIM_DEED_HOLD_LINK, draw(s, 1, 4), 30 * MS, 1500 * MS);
    }
}

static void plan_cluster(struct sim_scenario *s)
{
    static const enum sim_deed end[] = {SIM_DEED_HANG_UP, SIM_DEED_CLIENT_CLOSES,
                                        SIM_DEED_AGENT_ENDS, SIM_DEED_AGENT_ENDS_DRAINED};
    if (draws_one_in(s, 4)) {
        plan_some(s, SIM_DEED_RESTART_RELAY, draw(s, 1, 2), 0, 0);
    }
    if (draws_one_in(s, 5)) {
        plan_some(s, SIM_DEED_STALL_TRANSCEIVER, draw(s, 1, 2), 5 * MS, 400 * MS);
    }
    if (draws_one_in(s, 6)) {
        plan_some(s, SIM_DEED_LOSE_BACKEND, draw(s, 1, 3), 0, 0);
    }
    if (draws_one_in(s, 8)) {
        plan_some(s, SIM_DEED_GO_AWAY, 1, 100 * MS, 2 * US_PER_S);
    }
    plan(s, SIM_SCENARIO_CALL_US, end[draw(s, 0, COUNT_OF(end) - 1)], 0);
    if (draws_one_in(s, 3)) { /* both ends, or one that does not know of the other */
        plan(s, SIM_SCENARIO_CALL_US + draw(s, 0, 300) * MS, end[draw(s, 0, COUNT_OF(end) - 1)], 0);
    }
}

/* A page tries again, with fresh credentials, until it hears an answer. */
static void plan_repair(struct sim_scenario *s)
{
    if (!draws_one_in(s, 4)) {
        return;
    }
    uint64_t at_us = draw(s, 500 * MS, SIM_SCENARIO_CALL_US - 10 * US_PER_S);
    for (uint64_t unheard = draw(s, 0, 3); unheard > 0; unheard--) {
        plan(s, at_us, SIM_DEED_RESTART_ICE_UNHEARD, 0);
        at_us += draw(s, 100 * MS, 3 * US_PER_S);
    }
    if (draws_one_in(s, 2)) {
        plan(s, at_us, SIM_DEED_RESTART_ICE, 0);
    }
}

/* What there is no room for in the plan is not said. */
static void plan_events(struct sim_scenario *s)
{
    s->fleet.client.has_data = draws_one_in(s, 2);
    if (s->fleet.client.has_data) {
        plan_some(s, SIM_DEED_AGENT_SAYS, draw(s, 0, 20), 0, 0);
        plan_some(s, SIM_DEED_CLIENT_SAYS, draw(s, 0, 20), 0, 0);
    }
}

static int by_time(const void *a, const void *b)
{
    const struct sim_plan *x = a;
    const struct sim_plan *y = b;
    if (x->at_us != y->at_us) {
        return x->at_us < y->at_us ? -1 : 1;
    }
    return x->deed < y->deed ? -1 : x->deed > y->deed;
}

void sim_scenario_draw(struct sim_scenario *s, uint64_t seed)
{
    *s = (struct sim_scenario){.fleet = {.seed = seed}, .agent = {.seed = seed}};
    random_generator_init(&s->random, seed);
    draw_network(s);
    draw_ends(s);
    plan_agent(s);
    plan_client(s);
    plan_cluster(s);
    s->fleet.cluster.idle_sparse = draws_one_in(s, 4);
    plan_repair(s);
    plan_events(s);
    qsort(s->plan, s->plan_count, sizeof(s->plan[0]), by_time);
}

void sim_scenario_tell(const struct sim_scenario *s, struct sim_journal *j, uint64_t now_us)
{
    const struct sim_link_config *link = &s->fleet.link;
    const struct sim_client_config *client = &s->fleet.client;
    if (s->fleet.cluster.idle_sparse) {
        sim_journal_note(j, now_us, "transceiver: silence each 400 ms");
    }
    sim_journal_note(j, now_us,
                     "link: delay %" PRIu64 " ms, jitter %" PRIu64 " ms%s, loss %u/1000 in bursts "
                     "of %u, twice %u/1000, strays %u/1000 by %" PRIu64 " ms",
                     link->delay_us / MS, link->jitter_us / MS,
                     link->keeps_order ? " in order" : "", link->loss_per_mille, link->burst_mean,
                     link->repeat_per_mille, link->stray_per_mille, link->stray_us / MS);
    sim_journal_note(
        j, now_us, "client: %s%s%s%s%s%s%s", client->is_cheap ? "fixed packets" : "Opus",
        client->has_red ? ", RED" : "", client->has_nack ? ", NACK" : "",
        client->uses_dtx ? ", DTX" : "", client->wraps_soon ? ", wraps soon" : "",
        client->is_dtls_client ? ", DTLS client" : "", client->has_data ? ", event channel" : "");
    sim_journal_note(
        j, now_us,
        "agent: likes %s, prebuffer %u ms, progress %u ms, accepts after %" PRIu64 " ms%s%s%s%s",
        backend_format_name(s->agent.format), s->agent.prebuffer_ms, s->agent.progress_ms,
        s->agent.accept_us / MS, s->agent.ignores_flushes ? ", talks on after a flush" : "",
        s->agent.resumes ? "" : ", resumes nothing",
        s->agent.pauses_on_speech ? ", is paused by speech" : "",
        s->agent.answers_no_end ? ", answers no end" : "");
}
