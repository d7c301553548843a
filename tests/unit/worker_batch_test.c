/* worker_batch_test.c - one batch up and one down, on loopback: in trains, all counted, no heap */
#include "tests/testing.h"

#include "common/routing/relay_shim.h"
#include "services/relay/worker_downlink.h"
#include "services/relay/worker_uplink.h"
#include "tests/allocation_count.h"
#include "tests/far_end.h"

#define INSTANCE     0x5eed0001
#define SHARDS       2
#define DATAGRAM_CAP 1600
#define WORKERS      FORWARDER_INTERNAL_PORTS /* one internal port for ours, the first */
#define BATCH        24

static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};
static const uint32_t session_id[SHARDS] = {0x2a03, 1u << 26 | 0x1101};
static const size_t mixed[] = {73, 172, 60, 1200, 99, 1500, 256, 257, 12, 140, 1201, 80};

static struct {
    struct relay_config config;
    struct relay_keep keep;
    struct worker_sockets sockets;
    struct worker_cache cache;
    struct relay_counters counters;
    struct forwarder *forwarder;
    struct worker_uplink uplink;
    struct worker_downlink downlink;
    struct key_ring *ring; /* the transceiver's */
    int client[SHARDS];    /* one for each session */
    int shard[SHARDS];
    struct udp_sender *sender[SHARDS]; /* the shards' */
    struct udp_receiver *receiver;
} world;

/* --- The world -------------------------------------------------------------------------------- */

static bool bind_shards(void)
{
    struct net_addr address = far_end_free_address(SOCK_DGRAM);
    for (unsigned i = 0; i < SHARDS; i++) {
        struct sockaddr_storage name;
        const socklen_t name_len = net_addr_to_sockaddr(&address, &name);
        world.shard[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (bind(world.shard[i], (struct sockaddr *)&name, name_len) != 0) {
            for (unsigned bound = 0; bound <= i; bound++) {
                (void)close(world.shard[bound]);
            }
            return false;
        }
        address.port++;
    }
    return true;
}

static void configure(void)
{
    struct forwarder_config *f = &world.config.forwarder;
    world.config = (struct relay_config){.socket_buffer_bytes = 1 << 20};
    *f = (struct forwarder_config){.cluster_id = 1,
                                   .flow_cap = FLOW_CAP_MIN,
                                   .source_flows_per_s = 200,
                                   .source_flows_burst = 400,
                                   .allow_private_clients = true,
                                   .transceiver_networks = {.count = 1},
                                   .listen = {far_end_free_address(SOCK_DGRAM)},
                                   .listen_count = 1,
                                   .internal = far_end_free_address(SOCK_DGRAM)};
    assert_true(net_block_parse("127.0.0.0/8", &f->transceiver_networks.block[0]));
}

static int set_up(void **state)
{
    struct fault fault = {0};
    const struct worker_cache_config no_cache = {0};
    (void)state;
    memset(&world, 0, sizeof(world));
    configure();
    relay_keep_open(&world.keep, &world.config);
    while (!bind_shards()) {
    }
    relay_counters_init(&world.counters);
    world.ring = key_ring_from_secret(7, secret);
    world.forwarder =
        forwarder_create(&world.config.forwarder, key_ring_from_secret(7, secret), random_system());
    assert_true(worker_sockets_open(&world.sockets, &world.keep, 0, WORKERS, &fault));
    assert_true(worker_cache_open(&world.cache, &no_cache, world.forwarder, &world.counters));
    assert_true(worker_uplink_open(&world.uplink, &world.sockets, world.forwarder, &world.cache,
                                   &world.counters));
    assert_true(worker_downlink_open(&world.downlink, &world.sockets, world.forwarder, &world.cache,
                                     &world.counters));
    world.receiver = udp_receiver_create(UDP_RECEIVER_SLOTS);
    for (size_t i = 0; i < SHARDS; i++) {
        world.client[i] = far_end_bind(SOCK_DGRAM);
        world.sender[i] = udp_sender_create(world.shard[i], true);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHARDS; i++) {
        udp_sender_destroy(world.sender[i]);
        (void)close(world.shard[i]);
        (void)close(world.client[i]);
    }
    udp_receiver_destroy(world.receiver);
    worker_uplink_close(&world.uplink);
    worker_downlink_close(&world.downlink);
    worker_cache_close(&world.cache);
    worker_sockets_close(&world.sockets);
    relay_keep_close(&world.keep);
    forwarder_destroy(world.forwarder);
    key_ring_destroy(world.ring);
    return 0;
}

/* --- What is sent ----------------------------------------------------------------------------- */

/* RTP by its first byte; the rest tells which one it is. */
static void write_datagram(uint8_t *out, size_t len, size_t number)
{
    memset(out, (int)(number + 1), len);
    out[0] = 0x80;
}

static void clients_send(size_t count)
{
    struct sockaddr_storage to;
    const socklen_t to_len = net_addr_to_sockaddr(&world.config.forwarder.listen[0], &to);
    uint8_t datagram[DATAGRAM_CAP];
    for (size_t i = 0; i < count; i++) {
        const size_t len = mixed[i % COUNT_OF(mixed)];
        write_datagram(datagram, len, i);
        assert_int_equal(
            sendto(world.client[i % SHARDS], datagram, len, 0, (struct sockaddr *)&to, to_len),
            len);
    }
}

/* Each shard to its session's client, as a transceiver does: behind shims, in trains. */
static void shards_send(size_t count)
{
    static uint8_t bytes[BATCH][RELAY_SHIM_BYTES + DATAGRAM_CAP];
    struct udp_packet packet[SHARDS][BATCH];
    size_t packets[SHARDS] = {0};
    assert_true(count <= BATCH);
    for (size_t i = 0; i < count; i++) {
        const size_t shard = i % SHARDS;
        const size_t len = mixed[i % COUNT_OF(mixed)];
        const struct relay_shim shim = {.flags = RELAY_SHIM_DOWNLINK,
                                        .datagram_bytes = (uint16_t)len,
                                        .instance_id = INSTANCE,
                                        .session_id = session_id[shard],
                                        .client = far_end_address_of(world.client[shard])};
        relay_shim_write(world.ring, &shim, bytes[i]);
        write_datagram(bytes[i] + RELAY_SHIM_BYTES, len, i);
        packet[shard][packets[shard]++] =
            (struct udp_packet){.bytes = {bytes[i], RELAY_SHIM_BYTES + len, sizeof(bytes[i])},
                                .to = world.config.forwarder.internal};
    }
    for (size_t i = 0; i < SHARDS; i++) {
        udp_sender_flush(world.sender[i], packet[i], packets[i]);
    }
}

static void serve_up(void)
{
    while (worker_uplink_serve(&world.uplink, &world.sockets.socket[0])) {
    }
}

static void serve_down(void)
{
    while (worker_downlink_serve(&world.downlink, &world.sockets.socket[1])) {
    }
}

static uint64_t counted(enum forward_reason reason)
{
    return metric_get(&world.counters.datagrams[reason]);
}

static uint64_t counted_in_all(void)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < FORWARD_REASON_COUNT; i++) {
        sum += metric_get(&world.counters.datagrams[i]);
    }
    return sum;
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void trains_come_down_and_each_client_gets_its_datagrams_as_they_were(void **state)
{
    uint8_t expected[DATAGRAM_CAP];
    bool has_come[BATCH] = {false};
    (void)state;
    shards_send(BATCH);
    assert_int_equal(metric_get(&udp_sender_counters(world.sender[0])->trains), 1);
    assert_int_equal(metric_get(&udp_sender_counters(world.sender[1])->trains), 2);
    serve_down();
    for (size_t client = 0; client < SHARDS; client++) {
        const struct udp_arrivals arrivals =
            udp_receiver_take(world.receiver, world.client[client]);
        assert_int_equal(arrivals.count, BATCH / SHARDS);
        for (size_t i = 0; i < arrivals.count; i++) {
            const size_t number = arrivals.datagram[i].data[1] - (size_t)1;
            assert_int_equal(number % SHARDS, client);
            assert_int_equal(arrivals.datagram[i].len, mixed[number % COUNT_OF(mixed)]);
            write_datagram(expected, arrivals.datagram[i].len, number);
            assert_memory_equal(arrivals.datagram[i].data, expected, arrivals.datagram[i].len);
            assert_false(has_come[number]);
            has_come[number] = true;
        }
    }
    assert_int_equal(counted(FORWARD_DOWN_SHIM), BATCH);
    assert_int_equal(counted_in_all(), BATCH);
}

static void check_uplink(const struct udp_arrival *arrival, size_t shard)
{
    struct relay_shim shim;
    uint8_t expected[DATAGRAM_CAP];
    assert_int_equal(relay_shim_read(world.ring, bytes_view_of(arrival->data, arrival->len), &shim),
                     RELAY_SHIM_OK);
    const uint8_t *datagram = arrival->data + RELAY_SHIM_BYTES;
    const size_t number = datagram[1] - (size_t)1;
    const struct net_addr client = far_end_address_of(world.client[shard]);
    assert_int_equal(number % SHARDS, shard);
    assert_int_equal(shim.session_id, session_id[shard]);
    assert_true(net_addr_equal(&shim.client, &client));
    assert_int_equal(shim.datagram_bytes, mixed[number % COUNT_OF(mixed)]);
    write_datagram(expected, shim.datagram_bytes, number);
    assert_memory_equal(datagram, expected, shim.datagram_bytes);
    for (size_t at = RELAY_SHIM_BYTES + shim.datagram_bytes; at < arrival->len; at++) {
        assert_int_equal(arrival->data[at], 0);
    }
}

static void mixed_lengths_go_up_in_a_train_for_each_shard_and_class(void **state)
{
    uint64_t bytes = 0;
    (void)state;
    shards_send(SHARDS); /* makes the flows */
    serve_down();
    clients_send(BATCH);
    serve_up();
    for (size_t shard = 0; shard < SHARDS; shard++) {
        const struct udp_arrivals arrivals = udp_receiver_take(world.receiver, world.shard[shard]);
        assert_int_equal(arrivals.count, BATCH / SHARDS);
        for (size_t i = 0; i < arrivals.count; i++) {
            check_uplink(&arrivals.datagram[i], shard);
        }
    }
    for (size_t i = 0; i < BATCH; i++) {
        bytes += mixed[i % COUNT_OF(mixed)];
    }
    const struct udp_sender_counters *sent = udp_sender_counters(world.uplink.sender);
    assert_int_equal(metric_get(&sent->trains), 3); /* shard 0: short ones; shard 1: both classes */
    assert_int_equal(metric_get(&sent->singles), 4); /* 1,500 and 1,201 bytes, twice each */
    assert_int_equal(counted(FORWARD_UP_FLOW), BATCH);
    assert_int_equal(metric_get(&world.counters.bytes[RELAY_UP]), bytes);
}

static void send_down(const void *data, size_t len)
{
    struct sockaddr_storage to;
    const socklen_t to_len = net_addr_to_sockaddr(&world.config.forwarder.internal, &to);
    assert_int_equal(sendto(world.shard[0], data, len, 0, (struct sockaddr *)&to, to_len), len);
}

static void each_datagram_of_either_side_is_counted_once(void **state)
{
    static const uint8_t junk[200] = {0xff};
    (void)state;
    clients_send(BATCH); /* nobody knows them */
    serve_up();
    assert_int_equal(counted(FORWARD_UP_NO_FLOW), BATCH);
    shards_send(BATCH);
    for (size_t len = 0; len < sizeof(junk); len += 50) {
        send_down(junk, len);
    }
    serve_down();
    assert_int_equal(counted(FORWARD_DOWN_SHIM), BATCH);
    assert_int_equal(counted(FORWARD_DOWN_SHORT), 1);
    assert_int_equal(counted(FORWARD_DOWN_VERSION), 3);
    assert_int_equal(counted_in_all(), 2 * BATCH + 4);
}

static void nothing_is_allocated_for_a_datagram(void **state)
{
    (void)state;
    shards_send(BATCH);
    serve_down();
    const size_t before = allocation_count;
    for (unsigned round = 0; round < 8; round++) {
        clients_send(BATCH);
        serve_up();
        shards_send(BATCH);
        serve_down();
    }
    assert_int_equal(allocation_count, before);
    assert_true(counted(FORWARD_UP_FLOW) == 8 * BATCH);
#if ALLOCATIONS_ARE_COUNTED
    free(malloc(1)); /* the count is alive */
    assert_int_equal(allocation_count, before + 1);
#endif
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(trains_come_down_and_each_client_gets_its_datagrams_as_they_were),
        WORLD_TEST(mixed_lengths_go_up_in_a_train_for_each_shard_and_class),
        WORLD_TEST(each_datagram_of_either_side_is_counted_once),
        WORLD_TEST(nothing_is_allocated_for_a_datagram),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
