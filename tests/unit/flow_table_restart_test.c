/* flow_table_restart_test.c - a table that settles where another one lay */
#include "tests/testing.h"

#include "common/base/random.h"
#include "tests/flow_settling.h"

#include <stdlib.h>

#define START_US (1000 * US_PER_S)

enum { CAP = 64, SOCKETS = 2 };

static const struct flow_hash_seed seed = {1, 2};
static const struct flow_hash_seed other_seed = {3, 4};

static struct net_addr client_at(uint32_t i)
{
    struct net_addr a;
    assert_true(net_addr_parse_ip("198.18.0.0", 40000, &a));
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

static void *make_lines(void)
{
    void *lines = aligned_alloc(sizeof(struct flow), flow_table_bytes(CAP));
    assert_non_null(lines);
    memset(lines, 0, flow_table_bytes(CAP));
    return lines;
}

/* A table with `confirmed` flows, then `half_open` ones, one each millisecond; then it is gone. */
static void leave_flows(void *lines, uint32_t confirmed, uint32_t half_open)
{
    struct flow_table *t = flow_table_create(CAP, seed);
    assert_int_equal(flow_table_settle(t, lines, NULL), 0);
    for (uint32_t i = 0; i < confirmed + half_open; i++) {
        const struct net_addr client = client_at(i);
        const uint64_t now_us = START_US + i * US_PER_MS;
        struct flow *flow = i < confirmed ? flow_table_confirm(t, &client, owner_at(i), now_us)
                                          : flow_table_open(t, &client, owner_at(i), now_us);
        assert_non_null(flow);
        flow->socket = (uint8_t)(i % SOCKETS);
        flow->rival = 7;
    }
    flow_table_destroy(t);
}

/* The table of the next process, which draws a seed of its own. */
static struct flow_table *come_back(void *lines, size_t expected, uint64_t now_us)
{
    struct flow_table *t = flow_table_create(CAP, other_seed);
    assert_int_equal(settle_again(t, lines, CAP, SOCKETS, now_us), expected);
    return t;
}

static void flows_are_there_again_under_another_seed(void **state)
{
    (void)state;
    void *lines = make_lines();
    leave_flows(lines, 40, 10);
    const uint64_t now_us = START_US + 100 * US_PER_MS;
    struct flow_table *t = come_back(lines, 50, now_us);
    assert_int_equal(flow_table_count(t, FLOW_CONFIRMED), 40);
    assert_int_equal(flow_table_count(t, FLOW_HALF_OPEN), 10);
    for (uint32_t i = 0; i < 50; i++) {
        const struct flow *flow = find(t, i, now_us);
        assert_non_null(flow);
        assert_true(flow_owner_equal(flow->owner, owner_at(i)));
        assert_int_equal(flow->state, i < 40 ? FLOW_CONFIRMED : FLOW_HALF_OPEN);
        assert_int_equal(flow->socket, i % SOCKETS);
        assert_int_equal(flow->rival, FLOW_RIVAL_NONE);
        assert_int_equal(flow->refreshed_us, START_US + i * US_PER_MS);
        assert_int_equal(flow->owner_sent_us, i < 40 ? START_US + i * US_PER_MS : 0);
    }
    flow_table_destroy(t);
    free(lines);
}

static void the_longest_idle_is_still_the_first_to_go(void **state)
{
    (void)state;
    void *lines = make_lines();
    leave_flows(lines, CAP, 0);
    const uint64_t now_us = START_US + US_PER_S;
    struct flow_table *t = come_back(lines, CAP, now_us);
    for (uint32_t i = 0; i < 5; i++) {
        const struct net_addr client = client_at(1000 + i);
        assert_non_null(flow_table_confirm(t, &client, owner_at(1000 + i), now_us));
        assert_null(find(t, i, now_us));
        assert_non_null(find(t, i + 1, now_us));
    }
    flow_table_destroy(t);
    free(lines);
}

static void the_share_of_a_session_is_counted_on(void **state)
{
    (void)state;
    const uint64_t now_us = START_US + US_PER_S;
    void *lines = aligned_alloc(sizeof(struct flow), flow_table_bytes(256));
    assert_non_null(lines);
    memset(lines, 0, flow_table_bytes(256));
    for (unsigned life = 0; life < 2; life++) {
        struct flow_table *t = flow_table_create(256, seed);
        (void)settle_again(t, lines, 256, SOCKETS, now_us);
        for (uint32_t i = 0; i < SESSION_TALLY_MAX; i++) {
            const struct net_addr client = client_at(100 * life + i);
            const bool has_room = flow_table_open(t, &client, owner_at(1), now_us) != NULL;
            assert_int_equal(has_room, life == 0);
        }
        flow_table_destroy(t);
    }
    free(lines);
}

static void lives_go_on_where_they_were(void **state)
{
    (void)state;
    void *lines = make_lines();
    leave_flows(lines, 1, 0);
    flow_table_destroy(come_back(lines, 1, START_US + FLOW_CONFIRMED_LIFE_US - 1));
    flow_table_destroy(come_back(lines, 0, START_US + FLOW_CONFIRMED_LIFE_US));
    free(lines);

    lines = make_lines();
    leave_flows(lines, 0, 1);
    flow_table_destroy(come_back(lines, 1, START_US + FLOW_HALF_OPEN_LIFE_US - 1));
    flow_table_destroy(come_back(lines, 0, START_US + FLOW_HALF_OPEN_LIFE_US));
    free(lines);
}

static struct flow *only_flow(struct flow *lines)
{
    for (size_t i = 0; i < flow_table_bytes(CAP) / sizeof(*lines); i++) {
        if (lines[i].state != FLOW_FREE) {
            return &lines[i];
        }
    }
    fail_msg("no flow");
    return NULL;
}

static void what_is_not_sound_is_left_out(void **state)
{
    (void)state;
    const uint64_t now_us = START_US + US_PER_S;
    static const struct flow sound = {.client = {.port = 1}, .state = FLOW_CONFIRMED};
    const struct {
        struct flow flow;
        size_t taken;
    } row[] = {
        {sound, 1},
        {{.client = {.port = 1}, .state = FLOW_HALF_OPEN}, 1},
        {{.client = {.port = 1}, .state = FLOW_STATE_COUNT}, 0},
        {{.client = {.port = 1}, .state = 255}, 0},
        {{.client = {.port = 0}, .state = FLOW_CONFIRMED}, 0},
        {{.client = {.port = 1, .zero = 1}, .state = FLOW_CONFIRMED}, 0},
        {{.client = {.port = 1}, .state = FLOW_CONFIRMED, .socket = SOCKETS - 1}, 1},
        {{.client = {.port = 1}, .state = FLOW_CONFIRMED, .socket = SOCKETS}, 0},
        {{.client = {.port = 1}, .state = FLOW_CONFIRMED, .socket = FLOW_SOCKET_UNKNOWN}, 1},
        {{.client = {.port = 1}, .state = FLOW_CONFIRMED, .owner_sent_us = now_us}, 1},
        {{.client = {.port = 1}, .state = FLOW_CONFIRMED, .owner_sent_us = now_us + 1}, 0},
    };
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        struct flow *lines = make_lines();
        lines[17] = row[i].flow;
        lines[17].refreshed_us = now_us;
        lines[17].older = 12345678; /* neighbours and hash of another life */
        lines[17].newer = 87654321;
        lines[17].hash = 99;
        flow_table_destroy(come_back(lines, row[i].taken, now_us));
        free(lines);
    }
    struct flow *lines = make_lines();
    leave_flows(lines, 1, 0);
    only_flow(lines)->refreshed_us = now_us + 1; /* times that have not been */
    flow_table_destroy(come_back(lines, 0, now_us));
    free(lines);
}

static void a_flow_that_lies_there_twice_is_one(void **state)
{
    (void)state;
    struct flow *lines = make_lines();
    leave_flows(lines, 1, 0);
    const struct flow twin = *only_flow(lines);
    lines[0] = lines[5] = twin;
    struct flow_table *t = come_back(lines, 1, START_US + 1);
    assert_int_equal(flow_table_count(t, FLOW_CONFIRMED), 1);
    flow_table_destroy(t);
    free(lines);
}

/* Any bytes at all: nothing is read or written outside, and the table works. */
static void noise_is_survived(void **state)
{
    (void)state;
    struct random_generator random;
    random_generator_init(&random, 26);
    for (unsigned round = 0; round < 200; round++) {
        struct flow *lines = make_lines();
        uint64_t *word = (uint64_t *)(void *)lines;
        for (size_t i = 0; i < flow_table_bytes(CAP) / sizeof(*word); i++) {
            word[i] = random_generator_next(&random);
        }
        for (size_t i = 0; round % 2 == 0 && i < flow_table_bytes(CAP) / sizeof(*lines); i++) {
            lines[i].state = (uint8_t)(1 + lines[i].state % 2);
            lines[i].client.zero = 0;
            lines[i].socket %= SOCKETS;
            lines[i].refreshed_us = START_US - lines[i].refreshed_us % (2 * US_PER_S);
            lines[i].owner_sent_us = 0;
        }
        struct flow_table *t = flow_table_create(CAP, seed);
        const size_t taken = settle_again(t, lines, CAP, SOCKETS, START_US);
        assert_true(taken <= CAP && (round % 2 == 1 || taken >= CAP - CAP / FLOW_HALF_OPEN_SHARE));
        for (uint32_t i = 0; i < 2 * CAP; i++) {
            const struct net_addr client = client_at(i);
            assert_non_null(flow_table_confirm(t, &client, owner_at(i), START_US));
        }
        assert_int_equal(flow_table_count(t, FLOW_CONFIRMED) + flow_table_count(t, FLOW_HALF_OPEN),
                         CAP);
        flow_table_tick(t, START_US + FLOW_CONFIRMED_LIFE_US);
        assert_int_equal(flow_table_count(t, FLOW_CONFIRMED), 0);
        flow_table_destroy(t);
        free(lines);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_are_there_again_under_another_seed),
        cmocka_unit_test(the_longest_idle_is_still_the_first_to_go),
        cmocka_unit_test(the_share_of_a_session_is_counted_on),
        cmocka_unit_test(lives_go_on_where_they_were),
        cmocka_unit_test(what_is_not_sound_is_left_out),
        cmocka_unit_test(a_flow_that_lies_there_twice_is_one),
        cmocka_unit_test(noise_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
