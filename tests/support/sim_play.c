/* sim_play.c - see sim_play.h */
#include "tests/support/sim_play.h"

#include "tests/support/sim_events.h"
#include "tests/support/sim_scenario.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STEP_US    (50 * US_PER_MS)
#define REDIAL_US  (150 * US_PER_MS)
#define GOODBYE_US US_PER_S
#define AFTER_US   (3 * US_PER_S)
#define CONSENT_US (6 * US_PER_S)
/* What is queued is spoken first; and a client whose close got lost is given up after 30 s. */
#define GOODBYES_MAX 35
/* Of each 100 ms, when it speaks slower than it is heard. */
#define SLOW_PACE_US (150 * US_PER_MS)

struct world {
    struct sim_scenario scenario;
    struct sim_journal *journal;
    struct sim_backend *agent;
    struct sim_wire_rules *wire;
    struct sim_uplink_rules *uplink;
    struct sim_fleet *fleet;
    struct sim_events events;
    uint16_t event_stream;
    uint64_t start_us;
};

static uint64_t now(const struct world *w)
{
    return sim_fleet_now(w->fleet);
}

static bool is_broken(const struct world *w)
{
    return sim_journal_first_fault(w->journal) != NULL;
}

static void take_events(struct world *w)
{
    struct sim_data *data = sim_client_data(sim_fleet_client(w->fleet));
    struct sim_data_message m;
    while (data != NULL && sim_data_take(data, &m)) {
        sim_events_came(&w->events, SIM_EVENTS_DOWN, m.data, now(w));
    }
}

static void run_to(struct world *w, uint64_t until_us)
{
    while (now(w) < until_us && !is_broken(w)) {
        sim_fleet_run(w->fleet, time_earlier(until_us, now(w) + STEP_US));
        take_events(w);
    }
}

/* --- deeds ------------------------------------------------------------------------------------ */

static void hear_event(void *context, struct bytes_view text, uint64_t now_us)
{
    struct world *w = context;
    sim_events_came(&w->events, SIM_EVENTS_UP, text, now_us);
}

static void say_event(struct world *w, enum sim_events_way way)
{
    const struct bytes_view text = sim_events_next(&w->events, way);
    struct sim_data *data = sim_client_data(sim_fleet_client(w->fleet));
    const bool was_taken = way == SIM_EVENTS_UP
                               ? sim_data_send(data, w->event_stream, true, text, now(w))
                               : sim_backend_say_event(w->agent, text, now(w));
    if (was_taken) {
        sim_events_said(&w->events, way);
    }
}

static bool do_agent(struct world *w, const struct sim_plan *plan)
{
    struct sim_backend *agent = w->agent;
    const uint32_t newest = sim_backend_newest(agent);
    switch (plan->deed) {
    case SIM_DEED_SPEAK:
        (void)sim_backend_speak(agent, plan->amount_us, 0, true, now(w));
        return true;
    case SIM_DEED_SPEAK_SLOWLY:
        (void)sim_backend_speak(agent, plan->amount_us, SLOW_PACE_US, true, now(w));
        return true;
    case SIM_DEED_SPEAK_OPEN:
        (void)sim_backend_speak(agent, plan->amount_us, 0, false, now(w));
        return true;
    case SIM_DEED_FLUSH:
        sim_backend_flush(agent, newest, now(w));
        return true;
    case SIM_DEED_FLUSH_ALL:
        sim_backend_flush(agent, 0, now(w));
        return true;
    case SIM_DEED_FLUSH_OLD:
        sim_backend_flush(agent, newest > 2 ? newest - 2 : 1, now(w));
        return true;
    case SIM_DEED_PAUSE:
        sim_backend_pause(agent, newest, now(w));
        return true;
    case SIM_DEED_PAUSE_NEXT:
        sim_backend_pause(agent, newest + 1, now(w));
        return true;
    case SIM_DEED_GO_ON:
        sim_backend_go_on(agent, now(w));
        return true;
    case SIM_DEED_NONSENSE:
        sim_backend_talk_nonsense(agent, now(w));
        return true;
    case SIM_DEED_STALL_AGENT:
        sim_backend_stall(agent, now(w) + plan->amount_us);
        return true;
    case SIM_DEED_AGENT_SAYS:
        say_event(w, SIM_EVENTS_DOWN);
        return true;
    case SIM_DEED_GO_AWAY:
        sim_events_lost_backend(&w->events);
        sim_backend_go_away(agent, plan->amount_us, now(w));
        return true;
    case SIM_DEED_AGENT_ENDS:
        return sim_backend_end(agent, false, now(w)); /* else signaling does */
    case SIM_DEED_AGENT_ENDS_DRAINED:
        return sim_backend_end(agent, true, now(w));
    default:
        return false;
    }
}

static bool do_client(struct world *w, const struct sim_plan *plan)
{
    struct sim_client *client = sim_fleet_client(w->fleet);
    struct net_addr address = sim_client_address(client);
    switch (plan->deed) {
    case SIM_DEED_FALL_SILENT:
    case SIM_DEED_SPEAK_UP:
        sim_client_set_voice(client, plan->deed == SIM_DEED_SPEAK_UP);
        return true;
    case SIM_DEED_MUTE:
    case SIM_DEED_UNMUTE:
        sim_client_mute(client, plan->deed == SIM_DEED_MUTE);
        return true;
    case SIM_DEED_CHANGE_SSRC:
        if (sim_client_is_connected(client)) {
            sim_client_change_ssrc(client);
        }
        return true;
    case SIM_DEED_CLIENT_SAYS:
        say_event(w, SIM_EVENTS_UP);
        return true;
    case SIM_DEED_GARBAGE:
        sim_client_talk_garbage(client, 2);
        return true;
    case SIM_DEED_REBIND:
        address.port++;
        sim_client_rebind(client, &address);
        return true;
    case SIM_DEED_MOVE:
        address.ip[15]++;
        sim_client_move(client, &address, now(w));
        return true;
    case SIM_DEED_RESTART_ICE:
    case SIM_DEED_RESTART_ICE_UNHEARD:
        (void)sim_fleet_restart_ice(w->fleet, plan->deed == SIM_DEED_RESTART_ICE);
        return true;
    case SIM_DEED_CLIENT_CLOSES:
        sim_client_close(client, now(w));
        return true;
    default:
        return false;
    }
}

static void do_cluster(struct world *w, const struct sim_plan *plan)
{
    switch (plan->deed) {
    case SIM_DEED_STALL_TRANSCEIVER:
        sim_fleet_stall(w->fleet, now(w) + plan->amount_us);
        sim_wire_rules_excuse(w->wire, now(w) + plan->amount_us);
        sim_uplink_rules_excuse(w->uplink, now(w) + plan->amount_us);
        break;
    case SIM_DEED_HOLD_LINK:
        sim_fleet_hold_link(w->fleet, now(w) + plan->amount_us);
        break;
    case SIM_DEED_RESTART_RELAY:
        sim_fleet_restart_relay(w->fleet);
        break;
    case SIM_DEED_LOSE_BACKEND:
        sim_events_lost_backend(&w->events);
        sim_fleet_lose_backend(w->fleet, REDIAL_US);
        break;
    default:
        sim_fleet_hang_up(w->fleet);
        break;
    }
}

static void do_deed(struct world *w, const struct sim_plan *plan)
{
    sim_journal_note(w->journal, now(w), "%s (%" PRIu64 " ms)", sim_deed_name(plan->deed),
                     plan->amount_us / US_PER_MS);
    if (!do_agent(w, plan) && !do_client(w, plan)) {
        do_cluster(w, plan);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static void open_world(struct world *w, uint64_t seed, bool is_loud, const size_t *allocations)
{
    struct sim_scenario *s = &w->scenario;
    sim_scenario_draw(s, seed);
    w->start_us = SIM_FLEET_START_US;
    w->journal = sim_journal_create(is_loud, w->start_us);
    sim_scenario_tell(s, w->journal, w->start_us);
    sim_events_init(&w->events, w->journal);
    s->agent.hear_event = hear_event;
    s->agent.context = w;
    s->agent.journal = w->journal;
    s->agent.start_us = w->start_us;
    w->agent = sim_backend_create(&s->agent);
    w->wire = sim_wire_rules_create(w->journal, s->is_real, s->fleet.cluster.idle_sparse,
                                    s->fleet.client.is_dtls_client);
    w->uplink = sim_uplink_rules_create(w->journal, !s->is_real);
    s->fleet.wire = w->wire;
    s->fleet.uplink = w->uplink;
    s->fleet.cluster.agent = w->agent;
    s->fleet.cluster.journal = w->journal;
    s->fleet.cluster.allocations = allocations;
    w->fleet = sim_fleet_create(&s->fleet);
    if (s->fleet.client.has_data) {
        w->event_stream =
            sim_data_open(sim_client_data(sim_fleet_client(w->fleet)), "oai-events", now(w));
    }
}

static void close_world(struct world *w)
{
    sim_fleet_destroy(w->fleet);
    sim_backend_destroy(w->agent);
    sim_uplink_rules_destroy(w->uplink);
    sim_wire_rules_destroy(w->wire);
    sim_journal_destroy(w->journal);
}

/* Each call ends, once, with one reason. */
static void check_ends(struct world *w)
{
    const struct shard_counters *counters = sim_fleet_counters(w->fleet);
    uint64_t ends = 0;
    for (size_t i = 0; i < SESSION_END_REASON_COUNT; i++) {
        ends += metric_get(&counters->sessions_ended[i]);
    }
    if (ends != 1 || sim_fleet_session(w->fleet) != NULL ||
        metric_get(&counters->sessions_active) != 0 ||
        metric_get(&counters->sessions_pending) != 0) {
        sim_journal_fault(w->journal, now(w), "a call ends once, and is gone: %" PRIu64 " ends",
                          ends);
    }
}

/* RFC 7675: a client whose checks are not answered must stop sending. On a bad link it asks again
 * each 50 ms. */
static void check_consent(struct world *w)
{
    const struct sim_client *client = sim_fleet_client(w->fleet);
    const uint64_t answered_us = sim_client_heard(client)->answered_us;
    if (sim_client_is_connected(client) && time_since(answered_us, now(w)) > CONSENT_US) {
        sim_journal_fault(w->journal, now(w), "checks of a call that lives are answered");
    }
}

static void tell_result(struct world *w, uint64_t seed, struct sim_play_result *out)
{
    struct sim_client *client = sim_fleet_client(w->fleet);
    out->was_real = w->scenario.is_real;
    out->was_connected = sim_client_is_connected(client);
    out->packets = sim_client_heard(client)->packets;
    out->copies = sim_wire_rules_copies(w->wire);
    out->repeats = sim_wire_rules_repeats(w->wire);
    out->is_broken = is_broken(w);
    if (out->is_broken) {
        (void)snprintf(out->fault, sizeof(out->fault), "%s", sim_journal_first_fault(w->journal));
        (void)printf("seed %" PRIu64 " is broken:%s\n", seed, out->fault);
        sim_journal_print(w->journal);
    }
}

struct sim_play_result sim_play(uint64_t seed, bool is_loud, const size_t *allocations)
{
    struct world *w = calloc(1, sizeof(*w));
    struct sim_play_result result = {0};
    bool has_ended = false;
    assert(w != NULL);
    open_world(w, seed, is_loud, allocations);
    for (size_t i = 0; i < w->scenario.plan_count && !is_broken(w); i++) {
        const struct sim_plan *plan = &w->scenario.plan[i];
        const bool is_end = plan->deed >= SIM_DEED_HANG_UP && !has_ended;
        has_ended = has_ended || is_end;
        run_to(w, w->start_us + plan->at_us);
        if (is_end && !is_broken(w) && sim_fleet_session(w->fleet) != NULL) {
            sim_wire_rules_finish(w->wire, now(w));
            sim_uplink_rules_finish(w->uplink, now(w));
            check_consent(w);
        }
        do_deed(w, plan);
    }
    for (int i = 0; i < GOODBYES_MAX && sim_fleet_session(w->fleet) != NULL; i++) {
        run_to(w, now(w) + GOODBYE_US);
    }
    run_to(w, now(w) + AFTER_US); /* an agent that did not read reads the rest */
    if (!is_broken(w)) {
        sim_agent_rules_finish(sim_backend_rules(w->agent), now(w));
        check_ends(w);
    }
    tell_result(w, seed, &result);
    close_world(w);
    free(w);
    return result;
}
