/* udp_train_test.c - which datagrams travel together: rules and both sides of each bound */
#include "tests/testing.h"

#include "common/udp/udp_train.h"

static uint8_t memory[2000];
static struct udp_packet packet[UDP_TRAIN_PACKETS_MAX];
static struct udp_trains trains;

static struct net_addr shard(unsigned number)
{
    struct net_addr address;
    assert_true(net_addr_parse("10.0.0.5:4000", &address));
    address.port = (uint16_t)(address.port + number);
    return address;
}

static struct udp_packet packet_of(size_t len, size_t cap, unsigned to)
{
    return (struct udp_packet){.bytes = {memory, len, cap}, .to = shard(to)};
}

static void form(size_t count)
{
    udp_trains_form(&trains, packet, count);
}

/* One packet after another, of these lengths, to one place, with room enough. */
static size_t trains_of(const size_t *len, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        packet[i] = packet_of(len[i], sizeof(memory), 0);
    }
    form(count);
    return trains.count;
}

static void one_packet_is_a_train_of_one(void **state)
{
    (void)state;
    assert_int_equal(trains_of((const size_t[]){100}, 1), 1);
    assert_int_equal(trains.train[0].count, 1);
    assert_int_equal(trains.train[0].longest, 100);
}

static void mixed_lengths_make_one_train_as_long_as_the_longest(void **state)
{
    (void)state;
    assert_int_equal(trains_of((const size_t[]){113, 212, 140, 120}, 4), 1);
    assert_int_equal(trains.train[0].count, 4);
    assert_int_equal(trains.train[0].longest, 212);
}

static void a_class_ends_where_it_says(void **state)
{
    static const struct {
        size_t a;
        size_t b;
        bool is_together;
    } row[] = {
        {0, UDP_TRAIN_SHORT_BYTES, true},
        {0, UDP_TRAIN_SHORT_BYTES + 1, false},
        {UDP_TRAIN_SHORT_BYTES + 1, UDP_TRAIN_LONG_BYTES, true},
        {UDP_TRAIN_SHORT_BYTES + 1, UDP_TRAIN_LONG_BYTES + 1, false},
        {UDP_TRAIN_LONG_BYTES + 1, UDP_TRAIN_LONG_BYTES + 1, false},
        {1540, 1540, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        const size_t forward[] = {row[i].a, row[i].b};
        const size_t backward[] = {row[i].b, row[i].a};
        assert_int_equal(trains_of(forward, 2), row[i].is_together ? 1 : 2);
        assert_int_equal(trains_of(backward, 2), row[i].is_together ? 1 : 2);
    }
}

static void each_destination_has_its_train_and_keeps_its_order(void **state)
{
    static const uint8_t order[] = {0, 2, 4, 1, 3, 5};
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        packet[i] = packet_of(100 + i, sizeof(memory), i % 2);
    }
    form(6);
    assert_int_equal(trains.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct net_addr to = shard((unsigned)i);
        assert_true(net_addr_equal(&trains.train[i].to, &to));
        assert_int_equal(trains.train[i].first, 3 * i);
        assert_int_equal(trains.train[i].count, 3);
    }
    assert_memory_equal(trains.order, order, sizeof(order));
}

/* A long one between short ones does not end their train. */
static void classes_do_not_end_each_others_trains(void **state)
{
    (void)state;
    assert_int_equal(trains_of((const size_t[]){100, 1400, 101, 900, 102, 901}, 6), 3);
    assert_int_equal(trains.train[0].count, 3);
    assert_int_equal(trains.train[1].count, 1);
    assert_int_equal(trains.train[2].count, 2);
}

static void nothing_is_filled_up_beyond_its_room(void **state)
{
    (void)state;
    packet[0] = packet_of(100, 150, 0);
    packet[1] = packet_of(150, 150, 0);
    packet[2] = packet_of(151, 200, 0); /* too long for the first two */
    packet[3] = packet_of(100, 150, 0); /* too small for the third */
    form(4);
    assert_int_equal(trains.count, 2);
    assert_int_equal(trains.train[0].count, 3);
    assert_int_equal(trains.train[0].longest, 150);
    assert_int_equal(trains.train[1].count, 1);
}

static void a_train_is_no_longer_than_one_datagram_of_ip(void **state)
{
    const size_t fits = UDP_TRAIN_BYTES_MAX / UDP_TRAIN_LONG_BYTES;
    (void)state;
    for (size_t i = 0; i <= fits; i++) {
        packet[i] = packet_of(UDP_TRAIN_LONG_BYTES, sizeof(memory), 0);
    }
    form(fits);
    assert_int_equal(trains.count, 1);
    form(fits + 1);
    assert_int_equal(trains.count, 2);
    assert_int_equal(trains.train[0].count, fits);
    /* Nor when the last one makes all others longer. */
    for (size_t i = 0; i < fits; i++) {
        packet[i] = packet_of(UDP_TRAIN_SHORT_BYTES + 1, sizeof(memory), 0);
    }
    form(fits + 1);
    assert_int_equal(trains.count, 2);
    assert_int_equal(trains.train[1].longest, UDP_TRAIN_LONG_BYTES);
}

static void a_full_batch_of_strangers_to_each_other_makes_no_train(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDP_TRAIN_PACKETS_MAX; i++) {
        packet[i] = packet_of(100, sizeof(memory), (unsigned)i);
    }
    form(UDP_TRAIN_PACKETS_MAX);
    assert_int_equal(trains.count, UDP_TRAIN_PACKETS_MAX);
    for (size_t i = 0; i < UDP_TRAIN_PACKETS_MAX; i++) {
        assert_int_equal(trains.train[i].count, 1);
        assert_int_equal(trains.order[i], i);
    }
}

/* Their hashes fall together here and there, and each still finds its own: two rounds of shards,
 * and of hosts. */
static void each_of_many_destinations_finds_its_train_again(void **state)
{
    enum { MANY = UDP_TRAIN_PACKETS_MAX / 2 };
    (void)state;
    for (unsigned by_host = 0; by_host < 2; by_host++) {
        for (size_t i = 0; i < UDP_TRAIN_PACKETS_MAX; i++) {
            packet[i] = packet_of(100, sizeof(memory), by_host ? 0 : i % MANY);
            packet[i].to.ip[15] = (uint8_t)(by_host ? i % MANY : 5);
        }
        form(UDP_TRAIN_PACKETS_MAX);
        assert_int_equal(trains.count, MANY);
        for (size_t i = 0; i < MANY; i++) {
            assert_int_equal(trains.train[i].count, 2);
            assert_int_equal(trains.order[2 * i], i);
            assert_int_equal(trains.order[2 * i + 1], i + MANY);
            assert_true(net_addr_equal(&trains.train[i].to, &packet[i].to));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_packet_is_a_train_of_one),
        cmocka_unit_test(mixed_lengths_make_one_train_as_long_as_the_longest),
        cmocka_unit_test(a_class_ends_where_it_says),
        cmocka_unit_test(each_destination_has_its_train_and_keeps_its_order),
        cmocka_unit_test(classes_do_not_end_each_others_trains),
        cmocka_unit_test(nothing_is_filled_up_beyond_its_room),
        cmocka_unit_test(a_train_is_no_longer_than_one_datagram_of_ip),
        cmocka_unit_test(each_of_many_destinations_finds_its_train_again),
        cmocka_unit_test(a_full_batch_of_strangers_to_each_other_makes_no_train),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
