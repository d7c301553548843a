/* udp_train.c - see udp_train.h */
#include "common/udp/udp_train.h"

static enum udp_length_class class_of(size_t bytes)
{
    if (bytes <= UDP_TRAIN_SHORT_BYTES) {
        return UDP_SHORT;
    }
    return bytes <= UDP_TRAIN_LONG_BYTES ? UDP_LONG : UDP_ALONE;
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t shorter(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool may_join(const struct udp_train *train, const struct udp_packet *packet)
{
    const size_t longest = longer(train->longest, packet->bytes.len);
    return train->length_class == class_of(packet->bytes.len) && train->length_class != UDP_ALONE &&
           longest <= shorter(train->room, packet->bytes.cap) &&
           (train->count + 1) * longest <= UDP_TRAIN_BYTES_MAX &&
           net_addr_equal(&train->to, &packet->to);
}

static void join(struct udp_train *train, const struct udp_packet *packet)
{
    train->count++;
    train->longest = longer(train->longest, packet->bytes.len);
    train->room = shorter(train->room, packet->bytes.cap);
}

#define BUCKETS 64

/* Trains by the hash of their destination, for a batch that goes to many: an index and one; 0 is
 * none. */
struct chains {
    uint8_t newest[BUCKETS];
    uint8_t older[UDP_TRAIN_PACKETS_MAX];
};

/* Destinations are our own processes: nobody chooses them so that they fall together. */
static size_t bucket_of(const struct net_addr *to)
{
    uint64_t host = 0;
    memcpy(&host, to->ip + 8, sizeof(host));
    return (size_t)((host ^ to->port) * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

static size_t begin_train(struct udp_trains *t, const struct udp_packet *packet)
{
    t->train[t->count] = (struct udp_train){
        .to = packet->to, .length_class = class_of(packet->bytes.len), .room = packet->bytes.cap};
    return t->count++;
}

/* From the newest: most batches go to one destination, and a train that was full is not asked
 * again. */
static size_t train_for(struct udp_trains *t, struct chains *c, const struct udp_packet *packet)
{
    if (t->count > 0 && may_join(&t->train[t->count - 1], packet)) {
        return t->count - 1;
    }
    const size_t bucket = bucket_of(&packet->to);
    for (size_t i = c->newest[bucket]; i != 0; i = c->older[i - 1]) {
        if (may_join(&t->train[i - 1], packet)) {
            return i - 1;
        }
    }
    const size_t train = begin_train(t, packet);
    c->older[train] = c->newest[bucket];
    c->newest[bucket] = (uint8_t)(train + 1);
    return train;
}

void udp_trains_form(struct udp_trains *t, const struct udp_packet *packet, size_t count)
{
    struct chains chains = {.newest = {0}};
    uint8_t train_of[UDP_TRAIN_PACKETS_MAX];
    assert(count >= 1 && count <= UDP_TRAIN_PACKETS_MAX);
    t->count = 0;
    for (size_t i = 0; i < count; i++) {
        assert(packet[i].bytes.len <= packet[i].bytes.cap);
        const size_t train = train_for(t, &chains, &packet[i]);
        join(&t->train[train], &packet[i]);
        train_of[i] = (uint8_t)train;
    }
    size_t first = 0;
    for (size_t i = 0; i < t->count; i++) {
        t->train[i].first = first;
        first += t->train[i].count;
        t->train[i].count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct udp_train *train = &t->train[train_of[i]];
        t->order[train->first + train->count++] = (uint8_t)i;
    }
}

void udp_trains_form_none(struct udp_trains *t, size_t count)
{
    assert(count <= UDP_TRAIN_PACKETS_MAX);
    t->count = 0;
    for (size_t i = 0; i < count; i++) {
        t->order[i] = (uint8_t)i;
    }
}
