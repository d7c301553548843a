/* flow_table_test.c - lives, shares, evictions, and a model that must agree */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/relay/core/flow_table.h"

#define START_US (1000 * US_PER_S)

static const struct flow_hash_seed seed = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

static struct net_addr client_at(uint32_t i)
{
    struct net_addr a;
    assert_true(net_addr_parse_ip("198.18.0.0", 40000, &a));
    a.ip[13] = (uint8_t)(i >> 16);
    a.ip[14] = (uint8_t)(i >> 8);
    a.ip[15] = (uint8_t)i;
    return a;
}

static struct flow_owner owner_at(uint32_t i)
{
    return (struct flow_owner){.instance_id = 0x5eed0000 + i % 7, .session_id = i};
}

static struct flow *find(struct flow_table *t, uint32_t i, uint64_t now_us)
{
    const struct net_addr client = client_at(i);
    return flow_table_find(t, &client, now_us);
}

static struct flow *open_flow(struct flow_table *t, uint32_t i, uint32_t session, uint64_t now_us)
{
    const struct net_addr client = client_at(i);
    return flow_table_open(t, &client, owner_at(session), now_us);
}

static struct flow *confirm(struct flow_table *t, uint32_t i, uint32_t session, uint64_t now_us)
{
    const struct net_addr client = client_at(i);
    return flow_table_confirm(t, &client, owner_at(session), now_us);
}

static void address_and_port_are_the_key(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(64, seed);
    struct net_addr client = client_at(1);
    assert_non_null(flow_table_open(t, &client, owner_at(1), START_US));
    client.port++;
    assert_null(flow_table_find(t, &client, START_US));
    client.port--;
    client.ip[10] = 0; /* no longer the v4-mapped form */
    assert_null(flow_table_find(t, &client, START_US));
    assert_non_null(find(t, 1, START_US));
    flow_table_destroy(t);
}

static void a_half_open_flow_lives_5_s_and_a_confirmed_one_60(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(64, seed);
    assert_non_null(open_flow(t, 1, 1, START_US));
    assert_non_null(confirm(t, 2, 2, START_US));
    assert_non_null(find(t, 1, START_US + FLOW_HALF_OPEN_LIFE_US - 1));
    assert_null(find(t, 1, START_US + FLOW_HALF_OPEN_LIFE_US));
    assert_non_null(find(t, 2, START_US + FLOW_CONFIRMED_LIFE_US - 1));
    assert_null(find(t, 2, START_US + FLOW_CONFIRMED_LIFE_US));
    assert_int_equal(flow_table_count(t, FLOW_HALF_OPEN), 0);
    assert_int_equal(flow_table_count(t, FLOW_CONFIRMED), 0);
    flow_table_destroy(t);
}

static void a_refreshed_flow_lives_its_life_again(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(64, seed);
    const uint64_t later_us = START_US + 4 * US_PER_S;
    flow_table_refresh(t, open_flow(t, 1, 1, START_US), later_us);
    assert_non_null(find(t, 1, later_us + FLOW_HALF_OPEN_LIFE_US - 1));
    assert_null(find(t, 1, later_us + FLOW_HALF_OPEN_LIFE_US));

    struct flow *confirmed = confirm(t, 2, 2, START_US);
    flow_table_refresh(t, confirmed, START_US + FLOW_REFRESH_GRAIN_US - 1);
    assert_int_equal(confirmed->refreshed_us, START_US);
    flow_table_owner_sent(t, confirmed, START_US + FLOW_REFRESH_GRAIN_US);
    assert_int_equal(confirmed->refreshed_us, START_US + FLOW_REFRESH_GRAIN_US);
    assert_int_equal(confirmed->owner_sent_us, START_US + FLOW_REFRESH_GRAIN_US);
    flow_table_destroy(t);
}

static void a_tick_frees_what_is_over_a_bounded_number_at_a_time(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(1024, seed);
    for (uint32_t i = 0; i < FLOW_TICK_MAX + 10; i++) {
        (void)confirm(t, i, i, START_US);
    }
    flow_table_tick(t, START_US + FLOW_CONFIRMED_LIFE_US - 1);
    assert_int_equal(flow_table_count(t, FLOW_CONFIRMED), FLOW_TICK_MAX + 10);
    flow_table_tick(t, START_US + FLOW_CONFIRMED_LIFE_US);
    assert_int_equal(flow_table_count(t, FLOW_CONFIRMED), 10);
    flow_table_tick(t, START_US + FLOW_CONFIRMED_LIFE_US);
    assert_int_equal(flow_table_count(t, FLOW_CONFIRMED), 0);
    assert_int_equal(flow_table_evicted(t, FLOW_CONFIRMED), 0);
    flow_table_destroy(t);
}

static void half_open_flows_take_a_quarter_and_the_oldest_goes_first(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(64, seed);
    for (uint32_t i = 0; i < 16; i++) {
        assert_non_null(open_flow(t, i, i, START_US + i));
    }
    assert_int_equal(flow_table_evicted(t, FLOW_HALF_OPEN), 0);
    flow_table_refresh(t, find(t, 0, START_US + 16), START_US + 16);
    assert_non_null(open_flow(t, 16, 16, START_US + 17));
    assert_int_equal(flow_table_count(t, FLOW_HALF_OPEN), 16);
    assert_int_equal(flow_table_evicted(t, FLOW_HALF_OPEN), 1);
    assert_non_null(find(t, 0, START_US + 17)); /* refreshed, so no longer the oldest */
    assert_null(find(t, 1, START_US + 17));
    assert_non_null(find(t, 2, START_US + 17));
    flow_table_destroy(t);
}

static void a_half_open_flow_never_takes_the_place_of_a_confirmed_one(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(64, seed);
    for (uint32_t i = 0; i < 63; i++) {
        (void)confirm(t, i, i, START_US);
    }
    assert_non_null(open_flow(t, 100, 100, START_US)); /* the last place */
    assert_non_null(open_flow(t, 101, 101, START_US)); /* that of the half-open one */
    assert_null(find(t, 100, START_US));
    (void)confirm(t, 101, 101, START_US); /* 64 confirmed: none is left to give way */
    assert_null(open_flow(t, 102, 102, START_US));
    assert_int_equal(flow_table_count(t, FLOW_CONFIRMED), 64);
    assert_int_equal(flow_table_evicted(t, FLOW_CONFIRMED), 0);
    flow_table_destroy(t);
}

static void a_flood_of_half_open_flows_leaves_confirmed_ones_alone(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(256, seed);
    for (uint32_t i = 0; i < 128; i++) {
        (void)confirm(t, i, i, START_US);
    }
    for (uint32_t i = 0; i < 5 * 256; i++) {
        (void)open_flow(t, 1000 + i, 1000 + i, START_US + i);
    }
    for (uint32_t i = 0; i < 128; i++) {
        assert_non_null(find(t, i, START_US + US_PER_S));
    }
    assert_int_equal(flow_table_count(t, FLOW_HALF_OPEN), 64);
    flow_table_destroy(t);
}

static void a_full_table_gives_up_the_longest_idle_confirmed_flow(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(16, seed);
    for (uint32_t i = 0; i < 16; i++) {
        (void)confirm(t, i, i, START_US + i);
    }
    flow_table_owner_sent(t, find(t, 0, START_US + 20), START_US + 2 * US_PER_S);
    assert_non_null(confirm(t, 16, 16, START_US + 2 * US_PER_S));
    assert_int_equal(flow_table_count(t, FLOW_CONFIRMED), 16);
    assert_int_equal(flow_table_evicted(t, FLOW_CONFIRMED), 1);
    assert_non_null(find(t, 0, START_US + 2 * US_PER_S));
    assert_null(find(t, 1, START_US + 2 * US_PER_S));
    flow_table_destroy(t);
}

static void one_session_has_32_half_open_flows_and_no_33rd(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(1024, seed);
    for (uint32_t i = 0; i < SESSION_TALLY_MAX; i++) {
        assert_non_null(open_flow(t, i, 1, START_US));
    }
    assert_null(open_flow(t, 100, 1, START_US));
    assert_non_null(open_flow(t, 101, 2, START_US));
    /* Neither does re-pointing another session's flow get round it. */
    assert_null(open_flow(t, 101, 1, START_US));
    assert_true(flow_owner_equal(find(t, 101, START_US)->owner, owner_at(2)));
    /* A confirmed one no longer counts, nor one whose life is over. */
    (void)confirm(t, 0, 1, START_US);
    assert_non_null(open_flow(t, 100, 1, START_US));
    assert_non_null(open_flow(t, 102, 1, START_US + FLOW_HALF_OPEN_LIFE_US));
    flow_table_destroy(t);
}

static void a_flow_keeps_its_socket_when_its_owner_or_state_changes(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(64, seed);
    assert_int_equal(open_flow(t, 1, 1, START_US)->socket, FLOW_SOCKET_UNKNOWN);
    find(t, 1, START_US)->socket = 3;
    assert_int_equal(confirm(t, 1, 1, START_US)->socket, 3);
    assert_int_equal(open_flow(t, 1, 2, START_US)->socket, 3);
    assert_int_equal(confirm(t, 1, 9, START_US)->socket, 3);
    assert_int_equal(flow_table_count(t, FLOW_HALF_OPEN), 0);
    assert_int_equal(flow_table_count(t, FLOW_CONFIRMED), 1);
    assert_int_equal(flow_table_evicted(t, FLOW_HALF_OPEN), 0);
    flow_table_destroy(t);
}

static void sixteen_datagrams_a_second_pass_a_half_open_flow(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(64, seed);
    struct flow *flow = open_flow(t, 1, 1, START_US);
    for (unsigned i = 0; i < FLOW_UNPROVEN_PER_S; i++) {
        assert_true(flow_take_unproven(flow, START_US + i));
    }
    assert_false(flow_take_unproven(flow, START_US + US_PER_S - 1));
    assert_true(flow_take_unproven(flow, START_US + US_PER_S));
    flow_table_destroy(t);
}

/* --- The table against a model: an array that is searched from end to end --------------------- */

enum { MODEL_CLIENTS = 400, MODEL_SESSIONS = 40, MODEL_CAP = 128, MODEL_STEPS = 200000 };

struct model_flow {
    enum flow_state state;
    uint32_t session;
    uint64_t refreshed_us;
    uint64_t order; /* of the last move to the newest end */
};

struct model {
    struct model_flow flow[MODEL_CLIENTS];
    uint64_t next_order;
};

static uint64_t model_life_us(const struct model_flow *flow)
{
    return flow->state == FLOW_HALF_OPEN ? FLOW_HALF_OPEN_LIFE_US : FLOW_CONFIRMED_LIFE_US;
}

static void model_expire(struct model *m, uint64_t now_us)
{
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        struct model_flow *flow = &m->flow[i];
        if (flow->state != FLOW_FREE && now_us - flow->refreshed_us >= model_life_us(flow)) {
            flow->state = FLOW_FREE;
        }
    }
}

static size_t model_count(const struct model *m, enum flow_state state, uint32_t session)
{
    size_t count = 0;
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        count +=
            m->flow[i].state == state && (session == UINT32_MAX || m->flow[i].session == session);
    }
    return count;
}

static void model_evict(struct model *m, enum flow_state state)
{
    struct model_flow *oldest = NULL;
    for (size_t i = 0; i < MODEL_CLIENTS; i++) {
        struct model_flow *flow = &m->flow[i];
        if (flow->state == state && (oldest == NULL || flow->order < oldest->order)) {
            oldest = flow;
        }
    }
    oldest->state = FLOW_FREE;
}

static void model_put(struct model *m, uint32_t i, enum flow_state state, uint32_t session,
                      uint64_t now_us)
{
    m->flow[i] = (struct model_flow){state, session, now_us, m->next_order++};
}

static bool model_open(struct model *m, uint32_t i, uint32_t session, uint64_t now_us)
{
    const size_t confirmed = model_count(m, FLOW_CONFIRMED, UINT32_MAX);
    if ((m->flow[i].state == FLOW_FREE && confirmed == MODEL_CAP) ||
        model_count(m, FLOW_HALF_OPEN, session) == SESSION_TALLY_MAX) {
        return false;
    }
    m->flow[i].state = FLOW_FREE;
    const size_t half_open = model_count(m, FLOW_HALF_OPEN, UINT32_MAX);
    const size_t total = half_open + model_count(m, FLOW_CONFIRMED, UINT32_MAX);
    if (half_open == MODEL_CAP / FLOW_HALF_OPEN_SHARE || total == MODEL_CAP) {
        model_evict(m, FLOW_HALF_OPEN);
    }
    model_put(m, i, FLOW_HALF_OPEN, session, now_us);
    return true;
}

static void model_confirm(struct model *m, uint32_t i, uint32_t session, uint64_t now_us)
{
    m->flow[i].state = FLOW_FREE;
    const size_t confirmed = model_count(m, FLOW_CONFIRMED, UINT32_MAX);
    if (confirmed + model_count(m, FLOW_HALF_OPEN, UINT32_MAX) == MODEL_CAP) {
        model_evict(m, confirmed > 0 ? FLOW_CONFIRMED : FLOW_HALF_OPEN);
    }
    model_put(m, i, FLOW_CONFIRMED, session, now_us);
}

static void model_refresh(struct model *m, uint32_t i, uint64_t now_us)
{
    struct model_flow *flow = &m->flow[i];
    if (flow->state == FLOW_CONFIRMED && now_us - flow->refreshed_us < FLOW_REFRESH_GRAIN_US) {
        return;
    }
    flow->refreshed_us = now_us;
    flow->order = m->next_order++;
}

static void assert_agrees(const struct model *m, struct flow_table *t, uint64_t now_us)
{
    for (uint32_t i = 0; i < MODEL_CLIENTS; i++) {
        const struct flow *flow = find(t, i, now_us);
        assert_int_equal(flow == NULL ? FLOW_FREE : flow->state, m->flow[i].state);
        assert_true(flow == NULL || flow_owner_equal(flow->owner, owner_at(m->flow[i].session)));
    }
    assert_int_equal(flow_table_count(t, FLOW_HALF_OPEN),
                     model_count(m, FLOW_HALF_OPEN, UINT32_MAX));
    assert_int_equal(flow_table_count(t, FLOW_CONFIRMED),
                     model_count(m, FLOW_CONFIRMED, UINT32_MAX));
}

static void a_model_agrees_with_the_table(void **state)
{
    (void)state;
    struct flow_table *t = flow_table_create(MODEL_CAP, seed);
    struct model m = {0};
    struct random_generator random;
    random_generator_init(&random, 20240607);
    uint64_t now_us = START_US;
    for (unsigned step = 0; step < MODEL_STEPS; step++) {
        const uint64_t draw = random_generator_next(&random);
        const uint32_t i = (uint32_t)(draw >> 8) % MODEL_CLIENTS;
        const uint32_t session = (uint32_t)(draw >> 40) % MODEL_SESSIONS % (1 + i % 5);
        now_us += draw % 97 == 0 ? 3 * US_PER_S : 500;
        model_expire(&m, now_us);
        if (draw % 8 < 4) {
            assert_int_equal(open_flow(t, i, session, now_us) != NULL,
                             model_open(&m, i, session, now_us));
        } else if (draw % 8 < 6) {
            (void)confirm(t, i, session, now_us);
            model_confirm(&m, i, session, now_us);
        } else if (find(t, i, now_us) != NULL) {
            flow_table_refresh(t, find(t, i, now_us), now_us);
            model_refresh(&m, i, now_us);
        }
        flow_table_tick(t, now_us);
        if (step % 512 == 0) {
            assert_agrees(&m, t, now_us);
        }
    }
    flow_table_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_and_port_are_the_key),
        cmocka_unit_test(a_half_open_flow_lives_5_s_and_a_confirmed_one_60),
        cmocka_unit_test(a_refreshed_flow_lives_its_life_again),
        cmocka_unit_test(a_tick_frees_what_is_over_a_bounded_number_at_a_time),
        cmocka_unit_test(half_open_flows_take_a_quarter_and_the_oldest_goes_first),
        cmocka_unit_test(a_half_open_flow_never_takes_the_place_of_a_confirmed_one),
        cmocka_unit_test(a_flood_of_half_open_flows_leaves_confirmed_ones_alone),
        cmocka_unit_test(a_full_table_gives_up_the_longest_idle_confirmed_flow),
        cmocka_unit_test(one_session_has_32_half_open_flows_and_no_33rd),
        cmocka_unit_test(a_flow_keeps_its_socket_when_its_owner_or_state_changes),
        cmocka_unit_test(sixteen_datagrams_a_second_pass_a_half_open_flow),
        cmocka_unit_test(a_model_agrees_with_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
