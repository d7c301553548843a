/* shim_bench.c - the shim between relay and transceiver, against the SipHash of its tag */
#include "common/crypto/siphash.h"
#include "common/routing/relay_shim.h"
#include "tests/bench/bench.h"

#include <assert.h>

#define KEY_ID         7
#define TAGGED_BYTES   32 /* all of the shim but its tag */
#define DATAGRAM_BYTES 60
#define SHIM_COUNT     100000

struct packet {
    struct key_ring *ring;
    struct relay_shim shim;
    uint8_t valid[RELAY_SHIM_BYTES + DATAGRAM_BYTES];
    uint8_t forged[RELAY_SHIM_BYTES + DATAGRAM_BYTES];
};

static void make(struct packet *p)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};
    p->ring = key_ring_from_secret(KEY_ID, secret);
    assert(p->ring != NULL);
    p->shim = (struct relay_shim){
        .datagram_bytes = DATAGRAM_BYTES, .instance_id = 0x5eed0001, .session_id = 0x2a03};
    const bool is_address = net_addr_parse("203.0.113.7:50000", &p->shim.client);
    assert(is_address);
    relay_shim_write(p->ring, &p->shim, p->valid);
    memcpy(p->forged, p->valid, sizeof(p->forged));
    p->forged[RELAY_SHIM_BYTES - 1] ^= 1;
}

static void read_all(struct packet *p, const uint8_t *packet, size_t count,
                     enum relay_shim_result expected)
{
    struct relay_shim shim;
    for (size_t i = 0; i < count; i++) {
        const enum relay_shim_result result =
            relay_shim_read(p->ring, bytes_view_of(packet, sizeof(p->valid)), &shim);
        assert(result == expected);
    }
}

static void run_tag(void *context, size_t count)
{
    struct packet *p = context;
    const struct siphash_key *key = key_ring_shim_mac(p->ring, KEY_ID);
    uint8_t tagged[TAGGED_BYTES] = {0};
    for (size_t i = 0; i < count; i++) {
        const uint64_t tag = siphash(key, bytes_view_of(tagged, sizeof(tagged)));
        memcpy(tagged, &tag, sizeof(tag)); /* each hashes what the last one gave */
    }
    assert(tagged[0] != 0 || tagged[1] != 0);
}

static void run_write(void *context, size_t count)
{
    struct packet *p = context;
    for (size_t i = 0; i < count; i++) {
        relay_shim_write(p->ring, &p->shim, p->valid);
    }
}

static void run_read(void *context, size_t count)
{
    struct packet *p = context;
    read_all(p, p->valid, count, RELAY_SHIM_OK);
}

static void run_read_forged(void *context, size_t count)
{
    struct packet *p = context;
    read_all(p, p->forged, count, RELAY_SHIM_TAG);
}

int main(int argc, char **argv)
{
    static struct packet p;
    make(&p);
    const struct bench_case cases[] = {
        {.figure = "siphash", .run = run_tag, .context = &p, .count = SHIM_COUNT},
        {.figure = "write",
         .run = run_write,
         .context = &p,
         .count = SHIM_COUNT,
         .baseline = "siphash"},
        {.figure = "read",
         .run = run_read,
         .context = &p,
         .count = SHIM_COUNT,
         .baseline = "siphash"},
        {.figure = "read_forged",
         .run = run_read_forged,
         .context = &p,
         .count = SHIM_COUNT,
         .baseline = "siphash"},
    };
    const int status = bench_run("shim", cases, COUNT_OF(cases), argc, argv);
    key_ring_destroy(p.ring);
    return status;
}
