/* train_bench.c - what forming trains costs a packet, by how many destinations a batch has */
#include "common/udp/udp_train.h"
#include "tests/bench/bench.h"

#include <assert.h>

#define PACKET_BYTES 140
#define COUNT        (2000 * UDP_TRAIN_PACKETS_MAX)

static uint8_t memory[PACKET_BYTES];

struct batch {
    struct udp_packet packet[UDP_TRAIN_PACKETS_MAX];
    struct udp_trains trains;
    size_t destinations;
};

/* One shard after the other, so that no packet follows one of its own train. */
static void make(struct batch *b, size_t destinations)
{
    struct net_addr to;
    const bool is_address = net_addr_parse("10.0.0.5:4000", &to);
    assert(is_address);
    b->destinations = destinations;
    for (size_t i = 0; i < UDP_TRAIN_PACKETS_MAX; i++) {
        b->packet[i] = (struct udp_packet){.bytes = {memory, PACKET_BYTES, PACKET_BYTES}, .to = to};
        b->packet[i].to.port = (uint16_t)(to.port + i % destinations);
    }
}

static void run(void *context, size_t count)
{
    struct batch *b = context;
    for (size_t i = 0; i < count; i += UDP_TRAIN_PACKETS_MAX) {
        udp_trains_form(&b->trains, b->packet, UDP_TRAIN_PACKETS_MAX);
        assert(b->trains.count == b->destinations);
    }
}

int main(int argc, char **argv)
{
    static struct batch one;
    static struct batch some;
    static struct batch many;
    make(&one, 1);
    make(&some, 16);
    make(&many, UDP_TRAIN_PACKETS_MAX);
    const struct bench_case cases[] = {
        {.figure = "to_1", .run = run, .context = &one, .count = COUNT},
        {.figure = "to_16", .run = run, .context = &some, .count = COUNT, .baseline = "to_1"},
        {.figure = "to_64",
         .run = run,
         .context = &many,
         .count = COUNT,
         .baseline = "to_1",
         .ratio_goal = 3},
    };
    return bench_run("train", cases, COUNT_OF(cases), argc, argv);
}
