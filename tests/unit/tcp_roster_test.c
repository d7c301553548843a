/* tcp_roster_test.c - places for connections: how many, whose, and who goes first */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/relay/core/tcp_roster.h"

static const struct flow_hash_seed seed = {0x0123456789abcdef, 0xfedcba9876543210};

static struct net_addr addr(const char *text)
{
    struct net_addr a;
    if (!net_addr_parse(text, &a)) {
        fail_msg("%s is no address", text);
    }
    return a;
}

static const struct flow_owner owner = {1, 2};

static void confirm(struct tcp_roster *r, uint32_t place)
{
    tcp_roster_half_open(r, place);
    assert_true(tcp_roster_confirm(r, place, owner));
}

static void an_address_has_its_share_and_not_one_more(void **state)
{
    (void)state;
    struct tcp_roster *r = tcp_roster_create(16, 3, seed);
    struct net_addr client = addr("192.0.2.1:1000");
    const struct net_addr other = addr("192.0.2.2:1000");
    uint32_t last = TCP_ROSTER_NONE;
    for (unsigned i = 0; i < 3; i++, client.port++) {
        assert_true(tcp_roster_has_share(r, &client));
        last = tcp_roster_enter(r, &client);
    }
    assert_false(tcp_roster_has_share(r, &client));
    assert_true(tcp_roster_has_share(r, &other));
    confirm(r, last);
    assert_false(tcp_roster_has_share(r, &client));
    tcp_roster_leave(r, last);
    assert_true(tcp_roster_has_share(r, &client));
    tcp_roster_destroy(r);
}

static void an_ipv6_client_is_counted_by_its_64(void **state)
{
    (void)state;
    struct tcp_roster *r = tcp_roster_create(16, 1, seed);
    const struct net_addr client = addr("[2001:db8:0:1::1]:1000");
    const struct net_addr neighbour = addr("[2001:db8:0:1:ffff::2]:2000");
    const struct net_addr stranger = addr("[2001:db8:0:2::1]:1000");
    (void)tcp_roster_enter(r, &client);
    assert_false(tcp_roster_has_share(r, &neighbour));
    assert_true(tcp_roster_has_share(r, &stranger));
    tcp_roster_destroy(r);
}

static void a_connection_is_found_once_it_is_half_open_and_by_its_port(void **state)
{
    (void)state;
    struct tcp_roster *r = tcp_roster_create(16, 16, seed);
    const struct net_addr client = addr("192.0.2.1:1000");
    const struct net_addr same_host = addr("192.0.2.1:1001");
    const uint32_t first = tcp_roster_enter(r, &client);
    const uint32_t second = tcp_roster_enter(r, &same_host);
    assert_int_equal(tcp_roster_find(r, &client), TCP_ROSTER_NONE);
    assert_int_equal(tcp_roster_find_new(r, &client), first);
    tcp_roster_half_open(r, first);
    assert_int_equal(tcp_roster_find_new(r, &client), TCP_ROSTER_NONE);
    assert_int_equal(tcp_roster_find(r, &client), first);
    assert_int_equal(tcp_roster_find(r, &same_host), TCP_ROSTER_NONE);
    confirm(r, second);
    assert_int_equal(tcp_roster_find(r, &same_host), second);
    tcp_roster_leave(r, first);
    assert_int_equal(tcp_roster_find(r, &client), TCP_ROSTER_NONE);
    assert_int_equal(tcp_roster_find(r, &same_host), second);
    tcp_roster_destroy(r);
}

static void a_full_roster_names_its_oldest_connection_that_is_not_confirmed(void **state)
{
    (void)state;
    struct tcp_roster *r = tcp_roster_create(3, 8, seed);
    struct net_addr client = addr("192.0.2.1:1000");
    uint32_t place[3];
    for (unsigned i = 0; i < 3; i++, client.port++) {
        place[i] = tcp_roster_enter(r, &client);
        assert_true(place[i] < 3);
    }
    assert_int_equal(tcp_roster_enter(r, &client), TCP_ROSTER_NONE);
    tcp_roster_half_open(r, place[0]);
    assert_int_equal(tcp_roster_oldest_unconfirmed(r), place[0]);
    assert_true(tcp_roster_confirm(r, place[0], owner));
    assert_int_equal(tcp_roster_oldest_unconfirmed(r), place[1]);
    tcp_roster_leave(r, place[1]);
    assert_int_equal(tcp_roster_enter(r, &client), place[1]);
    assert_int_equal(tcp_roster_oldest_unconfirmed(r), place[2]);
    confirm(r, place[2]);
    confirm(r, place[1]);
    assert_int_equal(tcp_roster_oldest_unconfirmed(r), TCP_ROSTER_NONE);
    assert_int_equal(tcp_roster_count(r, TCP_PLACE_CONFIRMED), 3);
    tcp_roster_destroy(r);
}

static void a_session_has_its_share_of_confirmed_connections(void **state)
{
    (void)state;
    struct tcp_roster *r = tcp_roster_create(64, 64, seed);
    struct net_addr client = addr("192.0.2.1:1000");
    uint32_t place = TCP_ROSTER_NONE;
    for (unsigned i = 0; i < SESSION_TALLY_MAX; i++, client.port++) {
        place = tcp_roster_enter(r, &client);
        confirm(r, place);
    }
    const uint32_t more = tcp_roster_enter(r, &client);
    tcp_roster_half_open(r, more);
    assert_false(tcp_roster_confirm(r, more, owner));
    assert_int_equal(tcp_roster_state(r, more), TCP_PLACE_HALF_OPEN);
    assert_int_equal(tcp_roster_oldest_unconfirmed(r), more);
    tcp_roster_leave(r, place);
    assert_true(tcp_roster_confirm(r, more, owner));
    client.port++;
    const uint32_t others = tcp_roster_enter(r, &client);
    tcp_roster_half_open(r, others);
    assert_true(tcp_roster_confirm(r, others, (struct flow_owner){1, 3}));
    tcp_roster_destroy(r);
}

struct model_place {
    enum tcp_place_state state;
    unsigned entered;
    struct net_addr client;
};

static void check_against(const struct tcp_roster *r, const struct model_place *model, size_t cap)
{
    size_t count[TCP_PLACE_STATE_COUNT] = {0};
    uint32_t oldest = TCP_ROSTER_NONE;
    for (uint32_t i = 0; i < cap; i++) {
        const enum tcp_place_state state = model[i].state;
        count[state]++;
        assert_int_equal(tcp_roster_state(r, i), state);
        if (state == TCP_PLACE_HALF_OPEN || state == TCP_PLACE_CONFIRMED) {
            assert_int_equal(tcp_roster_find(r, &model[i].client), i);
        }
        if (state == TCP_PLACE_NEW || state == TCP_PLACE_HALF_OPEN) {
            oldest =
                oldest == TCP_ROSTER_NONE || model[i].entered < model[oldest].entered ? i : oldest;
        }
    }
    for (unsigned i = 0; i < TCP_PLACE_STATE_COUNT; i++) {
        assert_int_equal(tcp_roster_count(r, (enum tcp_place_state)i), count[i]);
    }
    assert_int_equal(tcp_roster_oldest_unconfirmed(r), oldest);
}

/* Connections come, are confirmed and go at random, against a plain list. */
static void the_roster_is_exact_while_connections_come_and_go(void **state)
{
    (void)state;
    enum { CAP = 40, STEPS = 20000 };
    struct model_place model[CAP] = {0};
    struct tcp_roster *r = tcp_roster_create(CAP, CAP, seed);
    struct random_generator random;
    random_generator_init(&random, 3);
    for (unsigned step = 0; step < STEPS; step++) {
        const uint64_t dice = random_generator_next(&random);
        const uint32_t i = (uint32_t)(dice >> 8) % CAP;
        if (dice % 2 == 0) {
            struct net_addr client = addr("192.0.2.1:1");
            client.ip[15] = (uint8_t)(dice >> 16) % 8;
            client.port = (uint16_t)(step + 1);
            const uint32_t place = tcp_roster_enter(r, &client);
            if (place != TCP_ROSTER_NONE) {
                assert_int_equal(model[place].state, TCP_PLACE_FREE);
                model[place] = (struct model_place){TCP_PLACE_NEW, step, client};
            }
        } else if (model[i].state == TCP_PLACE_NEW && dice % 8 != 1) {
            tcp_roster_half_open(r, i);
            model[i].state = TCP_PLACE_HALF_OPEN;
        } else if (model[i].state == TCP_PLACE_HALF_OPEN && dice % 4 == 1) {
            if (tcp_roster_confirm(r, i, owner)) {
                model[i].state = TCP_PLACE_CONFIRMED;
            }
        } else if (model[i].state != TCP_PLACE_FREE) {
            tcp_roster_leave(r, i);
            model[i].state = TCP_PLACE_FREE;
        }
        check_against(r, model, CAP);
    }
    tcp_roster_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_has_its_share_and_not_one_more),
        cmocka_unit_test(an_ipv6_client_is_counted_by_its_64),
        cmocka_unit_test(a_connection_is_found_once_it_is_half_open_and_by_its_port),
        cmocka_unit_test(a_full_roster_names_its_oldest_connection_that_is_not_confirmed),
        cmocka_unit_test(a_session_has_its_share_of_confirmed_connections),
        cmocka_unit_test(the_roster_is_exact_while_connections_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
