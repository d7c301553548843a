/* forwarder_downlink_test.c - what comes from a transceiver: whom it reaches and what it teaches */
#include "tests/unit/forwarder_world.h"

#define CLIENT_V6 "[2001:db8:77::7]:51870"

/* --- From a transceiver ---------------------------------------------------------------------- */

static void a_downlink_from_outside_the_networks_is_dropped_unread(void **state)
{
    (void)state;
    static const char *const outside[] = {"11.0.0.1:4000", "127.0.0.1:4000", "192.0.2.1:4000",
                                          "[2001:db8::5]:4000"};
    struct world w = world_open();
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        const struct net_addr from = addr(outside[i]);
        const struct bytes_view packet = shim_of(&w, RELAY_SHIM_DOWNLINK, owner_a, CLIENT, 60);
        assert_int_equal(forwarder_from_transceiver(w.forwarder, packet, &from, w.now_us).reason,
                         FORWARD_DOWN_SOURCE);
    }
    assert_int_equal(flow_count(&w, FLOW_CONFIRMED), 0);
    world_close(&w);
}

static void a_shim_cut_or_bent_anywhere_teaches_nothing(void **state)
{
    (void)state;
    struct world w = world_open();
    const struct bytes_view whole = shim_of(&w, RELAY_SHIM_DOWNLINK, owner_a, CLIENT, 60);
    for (size_t len = 0; len < whole.len; len++) {
        assert_int_equal(from_shard_of(&w, owner_a, bytes_view_of(whole.data, len)).reason,
                         FORWARD_DOWN_SHORT);
    }
    for (size_t bit = 0; bit < 8 * RELAY_SHIM_BYTES; bit++) {
        w.packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
        const struct verdict v = from_shard_of(&w, owner_a, whole);
        assert_int_equal(v.action, FORWARD_DROP);
        w.packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_int_equal(flow_count(&w, FLOW_CONFIRMED), 0);
    w.packet[39] ^= 1;
    assert_int_equal(from_shard_of(&w, owner_a, whole).reason, FORWARD_DOWN_TAG);
    w.packet[39] ^= 1;
    w.packet[0] ^= 1;
    assert_int_equal(from_shard_of(&w, owner_a, whole).reason, FORWARD_DOWN_VERSION);
    w.packet[0] ^= 1;
    w.packet[14] ^= 1;
    assert_int_equal(from_shard_of(&w, owner_a, whole).reason, FORWARD_DOWN_KEY);
    w.packet[14] ^= 1;
    assert_int_equal(from_shard_of(&w, owner_a, whole).reason, FORWARD_DOWN_SHIM);
    world_close(&w);
}

static void only_downlinks_to_clients_of_its_transport_pass(void **state)
{
    (void)state;
    for (uint8_t flags = 0; flags < 32; flags++) {
        struct forwarder_config config = world_config();
        config.is_tcp = flags >= 16;
        struct world w = world_open_silent(&config);
        const uint8_t said = flags & 15;
        const bool is_announcement = (said & RELAY_SHIM_ANNOUNCEMENT) != 0;
        const struct verdict v = from_shard_of(
            &w, owner_a, shim_of(&w, said, owner_a, CLIENT, is_announcement ? 0 : 60));
        const uint8_t good = RELAY_SHIM_DOWNLINK | (config.is_tcp ? RELAY_SHIM_TCP : 0);
        const bool passes = said == good || said == (good | RELAY_SHIM_ANNOUNCEMENT);
        assert_int_equal(v.reason == FORWARD_DOWN_FLAGS, !passes);
        assert_int_equal(flow_count(&w, FLOW_CONFIRMED), passes);
        world_close(&w);
    }
}

static void an_uplink_says_by_which_transport_it_came(void **state)
{
    (void)state;
    for (int is_tcp = 0; is_tcp <= 1; is_tcp++) {
        struct forwarder_config config = world_config();
        config.is_tcp = is_tcp;
        struct world w = world_open_silent(&config);
        world_announce(&w, owner_a, "10.0.0.5:4000");
        const struct verdict v = from_client(&w, CLIENT, request(&w, owner_a));
        const struct net_addr client = addr(CLIENT);
        uint8_t packet[RELAY_SHIM_BYTES + 256];
        forwarder_write_shim(w.forwarder, &v, &client, packet);
        struct relay_shim shim;
        assert_int_equal(relay_shim_read(w.ring,
                                         bytes_view_of(packet, RELAY_SHIM_BYTES + v.datagram.len),
                                         &shim),
                         RELAY_SHIM_OK);
        assert_int_equal(shim.flags, is_tcp ? RELAY_SHIM_TCP : 0);
        world_close(&w);
    }
}

static void a_datagram_of_0_or_1501_bytes_is_not_sent(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        enum forward_reason reason;
        uint8_t flags;
    } table[] = {
        {0, FORWARD_DOWN_LENGTH, RELAY_SHIM_DOWNLINK},
        {1, FORWARD_DOWN_SHIM, RELAY_SHIM_DOWNLINK},
        {1500, FORWARD_DOWN_SHIM, RELAY_SHIM_DOWNLINK},
        {1501, FORWARD_DOWN_LENGTH, RELAY_SHIM_DOWNLINK},
        {1, FORWARD_DOWN_LENGTH, RELAY_SHIM_DOWNLINK | RELAY_SHIM_ANNOUNCEMENT},
    };
    struct world w = world_open();
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct verdict v =
            from_shard_of(&w, owner_a, shim_of(&w, table[i].flags, owner_a, CLIENT, table[i].len));
        assert_int_equal(v.reason, table[i].reason);
    }
    world_close(&w);
}

static void the_padding_of_a_train_is_not_sent(void **state)
{
    (void)state;
    struct world w = world_open();
    struct bytes_view packet = shim_of(&w, RELAY_SHIM_DOWNLINK, owner_a, CLIENT, 60);
    packet.len += 40;
    const struct verdict v = from_shard_of(&w, owner_a, packet);
    assert_int_equal(v.reason, FORWARD_DOWN_SHIM);
    assert_int_equal(v.datagram.len, 60);
    assert_ptr_equal(v.datagram.data, packet.data + RELAY_SHIM_BYTES);
    world_close(&w);
}

static void nobody_is_sent_to_a_forbidden_address(void **state)
{
    (void)state;
    enum { NEVER, PRIVATE, ALWAYS };
    static const struct {
        const char *client;
        int allowed;
    } table[] = {
        {"198.51.100.7:51870", ALWAYS},   {"[2001:db8:77::7]:51870", ALWAYS},
        {"127.0.0.1:51870", PRIVATE},     {"[::1]:51870", PRIVATE},
        {"10.1.2.3:51870", PRIVATE},      {"172.31.255.255:51870", PRIVATE},
        {"192.168.1.1:51870", PRIVATE},   {"169.254.169.254:80", PRIVATE},
        {"100.64.0.1:51870", PRIVATE},    {"[fd00::1]:51870", PRIVATE},
        {"[fe80::1]:51870", PRIVATE},     {"198.51.100.7:0", NEVER},
        {"0.0.0.0:51870", NEVER},         {"[::]:51870", NEVER},
        {"224.0.0.1:51870", NEVER},       {"239.255.255.255:51870", NEVER},
        {"255.255.255.255:51870", NEVER}, {"[ff02::1]:51870", NEVER},
        {"203.0.113.1:3478", NEVER},      {"[2001:db8::1]:3478", NEVER},
        {"203.0.113.1:51870", PRIVATE},   {"[2001:db8::1]:51870", PRIVATE}, /* the relay's host */
        {"10.0.0.1:3500", NEVER},         {"10.0.0.1:3515", NEVER},
        {"10.0.0.1:3516", PRIVATE},       {"10.0.0.1:3499", PRIVATE},
        {"10.0.0.1:3563", NEVER},         {"10.0.0.1:3562", PRIVATE}, /* the TCP thread's */
    };
    for (int allow_private = 0; allow_private <= 1; allow_private++) {
        struct forwarder_config config = world_config();
        config.allow_private_clients = allow_private;
        struct world w = world_open_silent(&config);
        for (size_t i = 0; i < COUNT_OF(table); i++) {
            const bool allowed =
                table[i].allowed == ALWAYS || (table[i].allowed == PRIVATE && allow_private);
            assert_int_equal(downlink(&w, owner_a, table[i].client).reason,
                             allowed ? FORWARD_DOWN_SHIM : FORWARD_DOWN_FORBIDDEN);
        }
        world_close(&w);
    }
}

/* A request from a private address may be forwarded; the answer goes nowhere, and the flow is never
 * confirmed. */
static void a_half_open_flow_does_not_make_its_client_an_allowed_one(void **state)
{
    (void)state;
    struct world w = world_open();
    assert_int_equal(from_client(&w, "10.9.9.9:5000", request(&w, owner_a)).reason,
                     FORWARD_UP_TOKEN);
    assert_int_equal(downlink(&w, owner_a, "10.9.9.9:5000").reason, FORWARD_DOWN_FORBIDDEN);
    assert_int_equal(flow_count(&w, FLOW_CONFIRMED), 0);
    world_close(&w);
}

static void an_answer_leaves_from_the_socket_that_the_request_came_in_on(void **state)
{
    (void)state;
    struct forwarder_config config = world_config();
    config.allow_private_clients = true;
    config.listen_count = 3;
    config.listen[0] = addr("203.0.113.1:3478");
    config.listen[1] = addr("127.0.0.1:3478");
    config.listen[2] = addr("203.0.113.2:3478");
    struct world w = world_open_silent(&config);
    world_announce(&w, owner_a, "10.0.0.5:4000");
    const struct net_addr from = addr(CLIENT);
    /* Not heard yet: by the destination. */
    assert_int_equal(downlink(&w, owner_a, CLIENT).socket, 0);
    assert_int_equal(downlink(&w, owner_a, "127.0.0.1:5000").socket, 1);
    assert_int_equal(downlink(&w, owner_a, CLIENT_V6).reason, FORWARD_DOWN_NO_SOCKET);
    /* A request tells. */
    const struct net_addr other = addr("198.51.100.8:51870");
    (void)forwarder_from_client(w.forwarder, request(&w, owner_a), &other, 2, w.now_us);
    assert_int_equal(downlink(&w, owner_a, "198.51.100.8:51870").socket, 2);
    /* The first datagram of a learned flow tells. */
    (void)forwarder_from_client(w.forwarder, rtp(&w), &from, 2, w.now_us);
    assert_int_equal(downlink(&w, owner_a, CLIENT).socket, 2);
    /* Later ones do not, as anyone can forge them. */
    (void)forwarder_from_client(w.forwarder, rtp(&w), &from, 0, w.now_us);
    assert_int_equal(downlink(&w, owner_a, CLIENT).socket, 2);
    world_close(&w);
}

/* security: a check of the client was recorded and comes again, from its address, to another of
 * ours. A client that really goes there is silent on the old one. */
static void a_replayed_check_does_not_move_a_call_to_another_socket(void **state)
{
    (void)state;
    struct forwarder_config config = world_config();
    config.listen[1] = addr("203.0.113.2:3478");
    struct world w = world_open_silent(&config);
    world_announce(&w, owner_a, "10.0.0.5:4000");
    const struct net_addr from = addr(CLIENT);
    (void)forwarder_from_client(w.forwarder, request(&w, owner_a), &from, 0, w.now_us);
    assert_int_equal(downlink(&w, owner_a, CLIENT).socket, 0);
    for (unsigned s = 0; s < 10; s++) {
        (void)forwarder_from_client(w.forwarder, request(&w, owner_a), &from, 1, w.now_us);
        assert_int_equal(downlink(&w, owner_a, CLIENT).socket, 0);
        (void)forwarder_from_client(w.forwarder, rtp(&w), &from, 0, w.now_us);
        w.now_us += US_PER_S;
    }
    w.now_us += FORWARDER_SOCKET_KEEPS_US - US_PER_S;
    (void)downlink(&w, owner_a, CLIENT);
    (void)forwarder_from_client(w.forwarder, request(&w, owner_a), &from, 1, w.now_us);
    assert_int_equal(downlink(&w, owner_a, CLIENT).socket, 1);
    world_close(&w);
}

static void a_relay_on_loopback_alone_still_has_a_socket_for_others(void **state)
{
    (void)state;
    struct forwarder_config config = world_config();
    config.listen[0] = addr("[::1]:3478");
    config.listen[1] = addr("127.0.0.1:3478");
    config.listen[2] = addr("127.0.0.2:3478");
    config.listen_count = 3;
    struct world w = world_open_silent(&config);
    assert_int_equal(downlink(&w, owner_a, CLIENT).socket, 1);
    world_close(&w);
}

static void a_relay_with_one_family_has_no_socket_for_the_other(void **state)
{
    (void)state;
    struct forwarder_config config = world_config();
    config.listen_count = 1;
    struct world w = world_open_silent(&config);
    assert_int_equal(downlink(&w, owner_a, CLIENT_V6).reason, FORWARD_DOWN_NO_SOCKET);
    assert_int_equal(flow_count(&w, FLOW_CONFIRMED), 0);
    world_close(&w);
}

/* --- After a restart ------------------------------------------------------------------------- */

/* No announcement, no request: the first downlink is forwarded and teaches flow and route. */
static void a_downlink_alone_restores_both_directions(void **state)
{
    (void)state;
    const struct forwarder_config config = world_config();
    struct world w = world_open_silent(&config);
    assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason, FORWARD_UP_NO_FLOW);
    struct verdict v = downlink(&w, owner_a, CLIENT);
    assert_to(&v, FORWARD_DOWN_SHIM, CLIENT);
    assert_true(v.is_news);
    v = from_client(&w, CLIENT, rtp(&w));
    assert_to(&v, FORWARD_UP_FLOW, "10.0.0.5:4001");
    assert_false(downlink(&w, owner_a, CLIENT).is_news);
    world_close(&w);
}

static void an_announced_flow_does_the_same(void **state)
{
    (void)state;
    const struct forwarder_config config = world_config();
    struct world w = world_open_silent(&config);
    const uint8_t flags = RELAY_SHIM_DOWNLINK | RELAY_SHIM_ANNOUNCEMENT;
    struct verdict v = from_shard_of(&w, owner_a, shim_of(&w, flags, owner_a, CLIENT, 0));
    assert_int_equal(v.action, FORWARD_NOTHING);
    assert_true(v.is_news);
    v = from_client(&w, CLIENT, rtp(&w));
    assert_to(&v, FORWARD_UP_FLOW, "10.0.0.5:4001");
    world_close(&w);
}

/* The downlink reached one worker, the client's datagrams reach another. */
static void a_lesson_restores_the_uplink_at_another_worker(void **state)
{
    (void)state;
    const struct forwarder_config config = world_config();
    struct world first = world_open_silent(&config);
    struct world second = world_open_silent(&config);
    const struct net_addr shard = addr("10.0.0.5:4001");
    struct verdict v = downlink(&first, owner_a, CLIENT);
    const struct forwarder_lesson lesson = forwarder_lesson_of(&v, &shard);
    forwarder_learn(second.forwarder, &lesson, second.now_us);
    v = from_client(&second, CLIENT, rtp(&second));
    assert_to(&v, FORWARD_UP_FLOW, "10.0.0.5:4001");
    /* An active owner is not put out by a lesson either. */
    const struct forwarder_lesson other = {
        .client = addr(CLIENT), .media_address = addr("10.0.0.6:4000"), .owner = owner_b};
    forwarder_learn(second.forwarder, &other, second.now_us);
    assert_true(flow_owner_equal(from_client(&second, CLIENT, rtp(&second)).owner, owner_a));
    world_close(&first);
    world_close(&second);
}

/* The sender's port less the shard would be no port: nothing to learn a route from. */
static void a_sender_below_its_own_shard_gets_no_route(void **state)
{
    (void)state;
    const struct forwarder_config config = world_config();
    struct world w = world_open_silent(&config);
    const struct net_addr from = addr("10.0.0.5:1");
    const struct bytes_view packet = shim_of(&w, RELAY_SHIM_DOWNLINK, owner_a, CLIENT, 60);
    (void)forwarder_from_transceiver(w.forwarder, packet, &from, w.now_us);
    assert_int_equal(route_table_count(forwarder_routes(w.forwarder)), 0);
    assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason, FORWARD_UP_FLOW_INSTANCE);
    world_close(&w);
}

/* Media goes on while the control plane is away, because downlinks keep the route. */
static void downlinks_keep_a_route_that_nobody_announces(void **state)
{
    (void)state;
    struct world w = world_open();
    for (unsigned i = 0; i < 10; i++) {
        w.now_us += 50 * US_PER_S;
        forwarder_tick(w.forwarder, w.now_us);
        (void)downlink(&w, owner_a, CLIENT);
        assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason, FORWARD_UP_FLOW);
    }
    assert_int_equal(from_client(&w, CLIENT, request(&w, owner_b)).reason,
                     FORWARD_UP_TOKEN_INSTANCE);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_downlink_from_outside_the_networks_is_dropped_unread),
        cmocka_unit_test(a_shim_cut_or_bent_anywhere_teaches_nothing),
        cmocka_unit_test(only_downlinks_to_clients_of_its_transport_pass),
        cmocka_unit_test(an_uplink_says_by_which_transport_it_came),
        cmocka_unit_test(a_datagram_of_0_or_1501_bytes_is_not_sent),
        cmocka_unit_test(the_padding_of_a_train_is_not_sent),
        cmocka_unit_test(nobody_is_sent_to_a_forbidden_address),
        cmocka_unit_test(a_half_open_flow_does_not_make_its_client_an_allowed_one),
        cmocka_unit_test(an_answer_leaves_from_the_socket_that_the_request_came_in_on),
        cmocka_unit_test(a_replayed_check_does_not_move_a_call_to_another_socket),
        cmocka_unit_test(a_relay_on_loopback_alone_still_has_a_socket_for_others),
        cmocka_unit_test(a_relay_with_one_family_has_no_socket_for_the_other),
        cmocka_unit_test(a_downlink_alone_restores_both_directions),
        cmocka_unit_test(an_announced_flow_does_the_same),
        cmocka_unit_test(a_lesson_restores_the_uplink_at_another_worker),
        cmocka_unit_test(a_sender_below_its_own_shard_gets_no_route),
        cmocka_unit_test(downlinks_keep_a_route_that_nobody_announces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
