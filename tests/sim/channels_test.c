/* channels_test.c - whole calls with data channels, over links that lose, repeat and reorder */
#include "tests/sim/fleet_world.h"

#include <stdio.h>
#include <stdlib.h>

#define STEP_US       (5 * US_PER_MS)
#define MESSAGE_BYTES 262144
#define ANSWERS_MAX   64

/* A call with a scripted agent that says every event back, and what the client heard. */
struct world {
    struct sim_journal *journal;
    struct sim_backend *agent;
    struct sim_fleet *fleet;
    struct sim_data *data;
    uint16_t events;
    uint32_t heard_by_agent;
    bool is_agent_mute;
    uint32_t count; /* of texts that came to the client */
    size_t bytes;
    struct bytes_view wanted; /* the text that must come; NULL: any */
    char latest[512];         /* its beginning */
    uint64_t latest_us;
};

static void hear_event(void *context, struct bytes_view text, uint64_t now_us)
{
    struct world *w = context;
    w->heard_by_agent++;
    if (!w->is_agent_mute) {
        assert_true(sim_backend_say_event(w->agent, text, now_us));
    }
}

static struct sim_fleet_config network(uint64_t seed)
{
    return (struct sim_fleet_config){
        .seed = seed, .link.delay_us = 15000, .client.has_data = true, .client.is_cheap = true};
}

static void take_texts(struct world *w)
{
    struct sim_data_message m;
    while (sim_data_take(w->data, &m)) {
        if (w->wanted.data != NULL) {
            assert_true(bytes_equal(m.data, w->wanted));
        }
        w->count++;
        w->bytes += m.data.len;
        w->latest_us = sim_fleet_now(w->fleet);
        (void)snprintf(w->latest, sizeof(w->latest), "%.*s", (int)m.data.len,
                       (const char *)m.data.data);
    }
}

static void world_run_for(struct world *w, uint64_t us)
{
    const uint64_t until_us = sim_fleet_now(w->fleet) + us;
    while (sim_fleet_now(w->fleet) < until_us) {
        sim_fleet_run(w->fleet, time_earlier(until_us, sim_fleet_now(w->fleet) + STEP_US));
        take_texts(w);
    }
    if (sim_journal_first_fault(w->journal) != NULL) {
        sim_journal_print(w->journal);
        fail();
    }
}

static void place(struct world *w, struct sim_fleet_config config, bool resumes)
{
    *w = (struct world){.journal = sim_journal_create(false, SIM_FLEET_START_US)};
    w->agent = sim_backend_create(&(struct sim_backend_config){.seed = config.seed,
                                                               .start_us = SIM_FLEET_START_US,
                                                               .format = {BACKEND_CODEC_PCM16, 16},
                                                               .prebuffer_ms = 20,
                                                               .resumes = resumes,
                                                               .hear_event = hear_event,
                                                               .context = w,
                                                               .journal = w->journal});
    config.cluster.agent = w->agent;
    config.cluster.journal = w->journal;
    w->fleet = sim_fleet_create(&config);
    w->data = sim_client_data(sim_fleet_client(w->fleet));
    w->events = sim_data_open(w->data, "oai-events", sim_fleet_now(w->fleet));
}

static void open_world(struct world *w, struct sim_fleet_config config)
{
    place(w, config, true);
    world_run_for(w, SECOND);
    assert_int_equal(sim_data_state(w->data, w->events), SIM_DATA_OPEN);
}

static void close_world(struct world *w)
{
    sim_fleet_destroy(w->fleet);
    sim_backend_destroy(w->agent);
    sim_journal_destroy(w->journal);
}

static uint64_t world_ended(const struct world *w, enum session_end_reason reason)
{
    return metric_get(&sim_fleet_counters(w->fleet)->sessions_ended[reason]);
}

static void say(struct world *w, const char *text)
{
    assert_true(
        sim_data_send(w->data, w->events, true, bytes_view_of_text(text), sim_fleet_now(w->fleet)));
}

/* --- messages --------------------------------------------------------------------------------- */

static void texts_of_all_sizes_come_back_in_both_dtls_roles(void **state)
{
    static uint8_t text[MESSAGE_BYTES];
    static const size_t size[] = {0, 1, 1200, 65536, MESSAGE_BYTES};
    (void)state;
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = (uint8_t)('a' + i % 23);
    }
    for (int is_dtls_client = 0; is_dtls_client <= 1; is_dtls_client++) {
        struct world w;
        struct sim_fleet_config config = network(31);
        config.client.is_dtls_client = is_dtls_client != 0;
        open_world(&w, config);
        assert_int_equal(w.events, is_dtls_client != 0 ? 0 : 1);
        for (size_t i = 0; i < COUNT_OF(size); i++) {
            w.wanted = bytes_view_of(text, size[i]);
            assert_true(sim_data_send(w.data, w.events, true, w.wanted, sim_fleet_now(w.fleet)));
            world_run_for(&w, 3 * SECOND);
            assert_int_equal(w.count, i + 1);
        }
        close_world(&w);
    }
}

static void texts_come_once_and_in_order_over_a_bad_link(void **state)
{
    (void)state;
    for (uint64_t seed = 40; seed < 44; seed++) {
        struct world w;
        char text[32];
        struct sim_fleet_config config = network(seed);
        config.link.loss_per_mille = 50;
        config.link.repeat_per_mille = 20;
        config.link.jitter_us = 30000;
        place(&w, config, true);
        world_run_for(&w, 5 * SECOND);
        for (unsigned i = 0; i < 200; i++) {
            (void)snprintf(text, sizeof(text), "%u", i);
            say(&w, text);
            const uint32_t before = w.count;
            world_run_for(&w, 20 * US_PER_MS);
            assert_true(w.count == before || (unsigned)atoi(w.latest) == w.count - 1);
        }
        world_run_for(&w, 15 * SECOND);
        assert_int_equal(w.count, 200);
        assert_string_equal(w.latest, "199");
        close_world(&w);
    }
}

static void other_channels_open_close_and_are_refused(void **state)
{
    struct world w;
    uint16_t stream[100];
    size_t open = 0;
    size_t closed = 0;
    (void)state;
    open_world(&w, network(32));
    for (int i = 0; i < 100; i++) {
        const uint16_t one = sim_data_open(w.data, "chat", sim_fleet_now(w.fleet));
        world_run_for(&w, SECOND / 10);
        assert_int_equal(sim_data_state(w.data, one), SIM_DATA_OPEN);
        sim_data_close(w.data, one, sim_fleet_now(w.fleet));
        world_run_for(&w, SECOND / 10);
        assert_int_equal(sim_data_state(w.data, one), SIM_DATA_CLOSED);
    }
    for (size_t i = 0; i < COUNT_OF(stream); i++) {
        stream[i] = sim_data_open(w.data, "chat", sim_fleet_now(w.fleet));
    }
    world_run_for(&w, 10 * SECOND);
    for (size_t i = 0; i < COUNT_OF(stream); i++) {
        open += sim_data_state(w.data, stream[i]) == SIM_DATA_OPEN;
        closed += sim_data_state(w.data, stream[i]) == SIM_DATA_CLOSED;
    }
    assert_int_equal(open, DATA_CHANNELS_MAX - 1);
    assert_int_equal(closed, COUNT_OF(stream) - open);
    say(&w, "still there");
    world_run_for(&w, SECOND);
    assert_string_equal(w.latest, "still there");
    close_world(&w);
}

/* --- one end that is slow, or away ------------------------------------------------------------ */

static void what_a_client_says_while_its_backend_is_away_is_kept(void **state)
{
    (void)state;
    for (int resumes = 0; resumes <= 1; resumes++) {
        struct world w;
        char text[32];
        place(&w, network(33), resumes != 0);
        world_run_for(&w, SECOND);
        const uint64_t lost_us = sim_fleet_now(w.fleet);
        sim_fleet_lose_backend(w.fleet, 3 * SECOND);
        world_run_for(&w, SECOND / 2);
        assert_int_equal(w.count, 1);
        assert_non_null(strstr(w.latest, "\"code\":\"backend_lost\""));
        assert_true(w.latest_us - lost_us < 500000);
        for (unsigned i = 0; i < 50; i++) {
            (void)snprintf(text, sizeof(text), "%u", i);
            say(&w, text);
        }
        world_run_for(&w, 2 * SECOND);
        assert_int_equal(w.heard_by_agent, 0);
        world_run_for(&w, 3 * SECOND);
        assert_int_equal(w.heard_by_agent, 50);
        assert_int_equal(w.count, 51);
        assert_string_equal(w.latest, "49");
        close_world(&w);
    }
}

static void a_flood_to_an_agent_that_does_not_read_loses_nothing(void **state)
{
    static uint8_t text[65536];
    struct world w;
    size_t said = 0;
    (void)state;
    open_world(&w, network(34));
    w.is_agent_mute = true;
    sim_backend_stall(w.agent, sim_fleet_now(w.fleet) + 2 * SECOND);
    for (int i = 0; i < 400; i++) {
        while (sim_data_send(w.data, w.events, true, bytes_view_of(text, sizeof(text)),
                             sim_fleet_now(w.fleet))) {
            said++;
        }
        world_run_for(&w, 20 * US_PER_MS);
    }
    world_run_for(&w, 10 * SECOND);
    assert_true(said > 200); /* 13 MB in 8 s: at most 2 MB each second, and the burst */
    assert_in_range(said, 0, (4000000 + 8 * 2000000 + 2 * 1048576) / sizeof(text));
    assert_int_equal(w.heard_by_agent, said);
    close_world(&w);
}

static void a_client_that_reads_nothing_is_ended_as_too_slow(void **state)
{
    static uint8_t text[65536];
    struct world w;
    (void)state;
    open_world(&w, network(35));
    sim_data_set_reading(w.data, false);
    for (int i = 0; i < 40 && sim_fleet_session(w.fleet) != NULL; i++) {
        (void)sim_backend_say_event(w.agent, bytes_view_of(text, sizeof(text)),
                                    sim_fleet_now(w.fleet));
        world_run_for(&w, 50 * US_PER_MS);
    }
    world_run_for(&w, SECOND);
    assert_int_equal(world_ended(&w, SESSION_END_SLOW_READER), 1);
    assert_null(sim_fleet_session(w.fleet));
    close_world(&w);
}

static void events_before_the_channel_wait_for_it(void **state)
{
    struct world w;
    struct sim_fleet_config config = network(36);
    (void)state;
    config.link.delay_us = 200000;
    place(&w, config, true);
    world_run_for(&w, 100 * US_PER_MS);
    assert_true(
        sim_backend_say_event(w.agent, bytes_view_of_text("early"), sim_fleet_now(w.fleet)));
    world_run_for(&w, 4 * SECOND);
    assert_int_equal(w.count, 1);
    assert_string_equal(w.latest, "early");
    close_world(&w);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void a_client_hears_thirty_seconds_before_its_time_is_up(void **state)
{
    struct world w;
    struct sim_fleet_config config = network(37);
    (void)state;
    config.cluster.duration_max_us = 40 * SECOND;
    open_world(&w, config);
    world_run_for(&w, 8900 * US_PER_MS);
    assert_int_equal(w.count, 0);
    world_run_for(&w, 200 * US_PER_MS);
    assert_int_equal(w.count, 1);
    assert_non_null(strstr(w.latest, "\"code\":\"session_expiring\""));
    world_run_for(&w, 31 * SECOND);
    assert_int_equal(world_ended(&w, SESSION_END_DURATION), 1);
    assert_int_equal(w.count, 1);
    close_world(&w);
}

/* The last event comes, then the channel closes, then the alert. */
static void the_servers_end_is_quiet(void **state)
{
    (void)state;
    for (int is_agents = 0; is_agents <= 1; is_agents++) {
        struct world w;
        open_world(&w, network(38));
        const uint16_t chat = sim_data_open(w.data, "chat", sim_fleet_now(w.fleet));
        world_run_for(&w, SECOND);
        assert_true(
            sim_backend_say_event(w.agent, bytes_view_of_text("goodbye"), sim_fleet_now(w.fleet)));
        if (is_agents != 0) {
            assert_true(sim_backend_end(w.agent, false, sim_fleet_now(w.fleet)));
        } else {
            sim_fleet_run(w.fleet, sim_fleet_now(w.fleet) + US_PER_MS);
            sim_fleet_hang_up(w.fleet);
        }
        const uint64_t end_us = sim_fleet_now(w.fleet);
        world_run_for(&w, 80 * US_PER_MS);
        assert_string_equal(w.latest, "goodbye");
        assert_int_equal(sim_data_state(w.data, w.events), SIM_DATA_CLOSED);
        assert_int_equal(sim_data_state(w.data, chat), SIM_DATA_CLOSED);
        assert_false(sim_client_heard(sim_fleet_client(w.fleet))->was_closed);
        while (!sim_client_heard(sim_fleet_client(w.fleet))->was_closed) {
            world_run_for(&w, STEP_US);
            assert_true(sim_fleet_now(w.fleet) < end_us + SECOND);
        }
        assert_true(sim_fleet_now(w.fleet) >= end_us + 100000);
        world_run_for(&w, SECOND);
        assert_null(sim_fleet_session(w.fleet));
        close_world(&w);
    }
}

enum leaving { LEAVES_BY_RESET, LEAVES_BY_ABORT, LEAVES_BY_SHUTDOWN, LEAVES_BY_ALERT, LEAVINGS };

static void leave(struct world *w, enum leaving how)
{
    const uint64_t now_us = sim_fleet_now(w->fleet);
    switch (how) {
    case LEAVES_BY_RESET:
        sim_data_close(w->data, w->events, now_us);
        break;
    case LEAVES_BY_ABORT:
        sctp_association_abort(sim_data_sctp(w->data), now_us);
        break;
    case LEAVES_BY_SHUTDOWN:
        sctp_association_shutdown(sim_data_sctp(w->data), now_us);
        break;
    default:
        sim_client_close(sim_fleet_client(w->fleet), now_us);
        break;
    }
}

static void however_a_client_leaves_the_call_is_gone_within_a_second(void **state)
{
    (void)state;
    for (int how = 0; how < LEAVINGS; how++) {
        struct world w;
        open_world(&w, network(39));
        leave(&w, (enum leaving)how);
        world_run_for(&w, SECOND);
        assert_int_equal(world_ended(&w, SESSION_END_CLIENT_CLOSED), 1);
        assert_null(sim_fleet_session(w.fleet));
        close_world(&w);
    }
}

static void so_is_one_of_whom_something_still_waits_for_a_backend(void **state)
{
    (void)state;
    for (int how = 0; how < LEAVINGS; how++) {
        struct world w;
        open_world(&w, network(41));
        sim_fleet_lose_backend(w.fleet, 20 * SECOND);
        world_run_for(&w, SECOND / 2);
        say(&w, "nobody hears this");
        say(&w, "nor this");
        world_run_for(&w, SECOND / 2);
        leave(&w, (enum leaving)how);
        world_run_for(&w, SECOND);
        assert_int_equal(world_ended(&w, SESSION_END_CLIENT_CLOSED), 1);
        assert_null(sim_fleet_session(w.fleet));
        close_world(&w);
    }
}

static void a_client_that_closes_another_channel_stays(void **state)
{
    struct world w;
    (void)state;
    open_world(&w, network(40));
    const uint16_t chat = sim_data_open(w.data, "chat", sim_fleet_now(w.fleet));
    world_run_for(&w, SECOND);
    sim_data_close(w.data, chat, sim_fleet_now(w.fleet));
    world_run_for(&w, SECOND);
    assert_non_null(sim_fleet_session(w.fleet));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_all_sizes_come_back_in_both_dtls_roles),
        cmocka_unit_test(texts_come_once_and_in_order_over_a_bad_link),
        cmocka_unit_test(other_channels_open_close_and_are_refused),
        cmocka_unit_test(what_a_client_says_while_its_backend_is_away_is_kept),
        cmocka_unit_test(a_flood_to_an_agent_that_does_not_read_loses_nothing),
        cmocka_unit_test(a_client_that_reads_nothing_is_ended_as_too_slow),
        cmocka_unit_test(events_before_the_channel_wait_for_it),
        cmocka_unit_test(a_client_hears_thirty_seconds_before_its_time_is_up),
        cmocka_unit_test(the_servers_end_is_quiet),
        cmocka_unit_test(however_a_client_leaves_the_call_is_gone_within_a_second),
        cmocka_unit_test(so_is_one_of_whom_something_still_waits_for_a_backend),
        cmocka_unit_test(a_client_that_closes_another_channel_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
