/* forwarder_test.c - what comes from a client: the order of checks, their bounds, the verdict */
#include "tests/unit/forwarder_world.h"

/* --- From a client -------------------------------------------------------------------------- */

static void a_datagram_of_12_to_1500_bytes_passes(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        enum forward_reason reason;
    } table[] = {{0, FORWARD_UP_LENGTH},   {1, FORWARD_UP_LENGTH},  {11, FORWARD_UP_LENGTH},
                 {12, FORWARD_UP_FLOW},    {1500, FORWARD_UP_FLOW}, {1501, FORWARD_UP_LENGTH},
                 {1968, FORWARD_UP_LENGTH}};
    struct world w = world_open();
    (void)downlink(&w, owner_a, CLIENT);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_int_equal(from_client(&w, CLIENT, bytes_of(&w, 0x80, table[i].len)).reason,
                         table[i].reason);
    }
    world_close(&w);
}

static void only_stun_dtls_and_rtp_pass_by_their_first_byte(void **state)
{
    (void)state;
    struct world w = world_open();
    (void)downlink(&w, owner_a, CLIENT);
    for (unsigned first = 0; first < 256; first++) {
        const bool is_media = (first >= 20 && first <= 63) || (first >= 128 && first <= 191);
        enum forward_reason wanted = is_media ? FORWARD_UP_FLOW : FORWARD_UP_KIND;
        wanted = first <= 3 ? FORWARD_UP_STUN : wanted;
        assert_int_equal(from_client(&w, CLIENT, bytes_of(&w, (uint8_t)first, 100)).reason, wanted);
    }
    world_close(&w);
}

static void a_request_cut_at_any_byte_is_dropped(void **state)
{
    (void)state;
    struct world w = world_open();
    const struct bytes_view whole = request(&w, owner_a);
    for (size_t len = 0; len < whole.len; len++) {
        const enum forward_reason reason =
            from_client(&w, CLIENT, bytes_view_of(whole.data, len)).reason;
        assert_int_equal(reason, len < 12 ? FORWARD_UP_LENGTH : FORWARD_UP_STUN);
    }
    assert_int_equal(from_client(&w, CLIENT, whole).reason, FORWARD_UP_TOKEN);
    world_close(&w);
}

/* A keep-alive indication has no USERNAME: it follows its flow like media. */
static void stun_that_is_no_request_follows_its_flow(void **state)
{
    (void)state;
    struct world w = world_open();
    const uint8_t id[STUN_TRANSACTION_ID_BYTES] = {0};
    struct byte_writer writer;
    byte_writer_init(&writer, w.packet, sizeof(w.packet));
    stun_message_begin(&writer, STUN_BINDING_INDICATION, id);
    uint8_t indication[STUN_HEADER_BYTES];
    memcpy(indication, w.packet, sizeof(indication));
    const struct bytes_view datagram = bytes_view_of(indication, sizeof(indication));
    assert_int_equal(from_client(&w, CLIENT, datagram).reason, FORWARD_UP_NO_FLOW);
    (void)downlink(&w, owner_a, CLIENT);
    assert_int_equal(from_client(&w, CLIENT, datagram).reason, FORWARD_UP_FLOW);
    world_close(&w);
}

static enum forward_reason reason_of_username(struct world *w, const char *username)
{
    return from_client(w, CLIENT, request_of(w, username, strlen(username))).reason;
}

static void each_wrong_username_has_its_reason(void **state)
{
    (void)state;
    static const struct {
        const char *username;
        enum forward_reason reason;
    } table[] = {
        {"", FORWARD_UP_USERNAME},
        {"no-colon", FORWARD_UP_USERNAME},
        {":peer", FORWARD_UP_TOKEN_FORM},
        {"H:peer", FORWARD_UP_TOKEN_FORM},
        {"HAAAAAAAAAAAAAAAAAAAAA:peer", FORWARD_UP_TOKEN_FORM},    /* 22 characters */
        {"HAAAAAAAAAAAAAAAAAAAAAAA:peer", FORWARD_UP_TOKEN_FORM},  /* 24 */
        {"HAAAAAAAAAAAAAAAAAAAAA!:peer", FORWARD_UP_TOKEN_FORM},   /* no ice-char */
        {"HAAAAAAAAAAAAAAAAAAAAAB:peer", FORWARD_UP_TOKEN_FORM},   /* spare bits set */
        {"GAAAAAAAAAAAAAAAAAAAAAA:peer", FORWARD_UP_TOKEN_KEY},    /* key 6 */
        {"HAAAAAAAAAAAAAAAAAAAAAA:peer", FORWARD_UP_TOKEN_FORGED}, /* key 7 */
    };
    struct world w = world_open();
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_int_equal(reason_of_username(&w, table[i].username), table[i].reason);
    }
    world_close(&w);
}

static void a_token_must_name_our_cluster_and_a_known_shard(void **state)
{
    (void)state;
    static const struct {
        struct routing_token token;
        enum forward_reason reason;
    } table[] = {
        {{WORLD_CLUSTER, 0x5eed0001, 0, 0}, FORWARD_UP_TOKEN},
        {{WORLD_CLUSTER, 0x5eed0001, 1u << 26, 255}, FORWARD_UP_TOKEN},
        {{WORLD_CLUSTER, 0x5eed0001, 2u << 26, 0}, FORWARD_UP_TOKEN_INSTANCE}, /* it has two */
        {{WORLD_CLUSTER, 0x5eed0003, 0, 0}, FORWARD_UP_TOKEN_INSTANCE},
        {{WORLD_CLUSTER + 1, 0x5eed0001, 0, 0}, FORWARD_UP_TOKEN_CLUSTER},
    };
    struct world w = world_open();
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        char username[ROUTING_TOKEN_CHARS + 2] = {0};
        routing_token_seal(w.ring, &table[i].token, username);
        username[ROUTING_TOKEN_CHARS] = ':';
        assert_int_equal(reason_of_username(&w, username), table[i].reason);
    }
    world_close(&w);
}

static void a_token_of_an_instance_that_fell_silent_is_dropped(void **state)
{
    (void)state;
    struct world w = world_open();
    w.now_us += ROUTE_LIFE_US - 1;
    assert_int_equal(from_client(&w, CLIENT, request(&w, owner_a)).reason, FORWARD_UP_TOKEN);
    w.now_us += 1;
    assert_int_equal(from_client(&w, CLIENT, request(&w, owner_a)).reason,
                     FORWARD_UP_TOKEN_INSTANCE);
    assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason, FORWARD_UP_FLOW_INSTANCE);
    world_close(&w);
}

static void a_block_of_sources_opens_400_flows_at_once_and_no_more(void **state)
{
    (void)state;
    struct forwarder_config config = world_config();
    config.flow_cap = 16384;
    struct world w = world_open_silent(&config);
    world_announce(&w, owner_a, "10.0.0.5:4000");
    struct net_addr from = addr("198.51.100.0:1000");
    for (unsigned i = 0; i < 500; i++) {
        from.ip[15] = (uint8_t)i;
        from.port = (uint16_t)(1000 + i);
        const struct flow_owner owner = {owner_a.instance_id, i};
        const struct verdict v =
            forwarder_from_client(w.forwarder, request(&w, owner), &from, 0, w.now_us);
        assert_int_equal(v.reason, i < 400 ? FORWARD_UP_TOKEN : FORWARD_UP_SOURCE_RATE);
    }
    /* Flows that are there, and other blocks, are not held up. */
    assert_int_equal(from_client(&w, "198.51.100.0:1000",
                                 request(&w, (struct flow_owner){owner_a.instance_id, 0}))
                         .reason,
                     FORWARD_UP_TOKEN);
    assert_int_equal(from_client(&w, "198.51.100.0:1000", request(&w, owner_a)).reason,
                     FORWARD_UP_TOKEN);
    assert_int_equal(from_client(&w, "198.51.101.0:1000", request(&w, owner_a)).reason,
                     FORWARD_UP_TOKEN);
    world_close(&w);
}

/* Strangers with a leaked token use up its session's 32 flows: the genuine client gets through. */
static void a_client_without_room_is_forwarded_and_its_answer_confirms(void **state)
{
    (void)state;
    struct world w = world_open();
    struct net_addr from = addr("198.51.0.9:1000");
    for (unsigned i = 0; i < 100; i++) {
        from.ip[14] = (uint8_t)i;
        const struct verdict v =
            forwarder_from_client(w.forwarder, request(&w, owner_a), &from, 0, w.now_us);
        assert_to(&v, i < 32 ? FORWARD_UP_TOKEN : FORWARD_UP_TOKEN_NO_ROOM, "10.0.0.5:4001");
    }
    assert_int_equal(flow_count(&w, FLOW_HALF_OPEN), 32);
    struct verdict v = from_client(&w, CLIENT, request(&w, owner_a));
    assert_to(&v, FORWARD_UP_TOKEN_NO_ROOM, "10.0.0.5:4001");
    assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason, FORWARD_UP_NO_FLOW);
    assert_int_equal(downlink(&w, owner_a, CLIENT).reason, FORWARD_DOWN_SHIM);
    assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason, FORWARD_UP_FLOW);
    world_close(&w);
}

static void sixteen_datagrams_a_second_pass_until_the_flow_is_confirmed(void **state)
{
    (void)state;
    struct world w = world_open();
    (void)from_client(&w, CLIENT, request(&w, owner_a));
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason,
                         i < 16 ? FORWARD_UP_FLOW : FORWARD_UP_UNPROVEN_RATE);
    }
    assert_int_equal(from_client(&w, CLIENT, request(&w, owner_a)).reason, FORWARD_UP_TOKEN);
    (void)downlink(&w, owner_a, CLIENT);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(from_client(&w, CLIENT, rtp(&w)).reason, FORWARD_UP_FLOW);
    }
    world_close(&w);
}

static void the_shim_names_session_client_and_length(void **state)
{
    (void)state;
    struct world w = world_open();
    const struct net_addr client = addr(CLIENT);
    (void)from_client(&w, CLIENT, request(&w, owner_a));
    const struct verdict v = from_client(&w, CLIENT, rtp(&w));
    uint8_t packet[RELAY_SHIM_BYTES + 60];
    forwarder_write_shim(w.forwarder, &v, &client, packet);
    memcpy(packet + RELAY_SHIM_BYTES, v.datagram.data, v.datagram.len);
    struct relay_shim shim;
    assert_int_equal(relay_shim_read(w.ring, bytes_view_of(packet, sizeof(packet)), &shim),
                     RELAY_SHIM_OK);
    assert_int_equal(shim.flags, 0);
    assert_int_equal(shim.key_id, WORLD_KEY_ID);
    assert_int_equal(shim.datagram_bytes, 60);
    assert_int_equal(shim.instance_id, owner_a.instance_id);
    assert_int_equal(shim.session_id, owner_a.session_id);
    assert_true(net_addr_equal(&shim.client, &client));
    world_close(&w);
}

/* --- Keys ------------------------------------------------------------------------------------ */

static void a_new_ring_takes_the_place_of_the_old(void **state)
{
    (void)state;
    struct world w = world_open();
    forwarder_set_ring(w.forwarder, key_ring_from_secret(WORLD_KEY_ID + 1, world_secret));
    assert_int_equal(from_client(&w, CLIENT, request(&w, owner_a)).reason, FORWARD_UP_TOKEN_KEY);
    assert_int_equal(downlink(&w, owner_a, CLIENT).reason, FORWARD_DOWN_KEY);
    forwarder_set_ring(w.forwarder, key_ring_from_secret(WORLD_KEY_ID, world_secret));
    assert_int_equal(from_client(&w, CLIENT, request(&w, owner_a)).reason, FORWARD_UP_TOKEN);
    world_close(&w);
}

static void every_reason_has_a_name_of_its_own_in_its_direction(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FORWARD_REASON_COUNT; i++) {
        assert_non_null(forward_reason_name((enum forward_reason)i));
        assert_int_equal(forward_reason_is_down((enum forward_reason)i), i >= FORWARD_DOWN_SHIM);
        for (unsigned j = 0; j < i; j++) {
            const bool same_direction = forward_reason_is_down((enum forward_reason)i) ==
                                        forward_reason_is_down((enum forward_reason)j);
            assert_false(same_direction &&
                         strcmp(forward_reason_name((enum forward_reason)i),
                                forward_reason_name((enum forward_reason)j)) == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datagram_of_12_to_1500_bytes_passes),
        cmocka_unit_test(only_stun_dtls_and_rtp_pass_by_their_first_byte),
        cmocka_unit_test(a_request_cut_at_any_byte_is_dropped),
        cmocka_unit_test(stun_that_is_no_request_follows_its_flow),
        cmocka_unit_test(each_wrong_username_has_its_reason),
        cmocka_unit_test(a_token_must_name_our_cluster_and_a_known_shard),
        cmocka_unit_test(a_token_of_an_instance_that_fell_silent_is_dropped),
        cmocka_unit_test(a_block_of_sources_opens_400_flows_at_once_and_no_more),
        cmocka_unit_test(a_client_without_room_is_forwarded_and_its_answer_confirms),
        cmocka_unit_test(sixteen_datagrams_a_second_pass_until_the_flow_is_confirmed),
        cmocka_unit_test(the_shim_names_session_client_and_length),
        cmocka_unit_test(a_new_ring_takes_the_place_of_the_old),
        cmocka_unit_test(every_reason_has_a_name_of_its_own_in_its_direction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
