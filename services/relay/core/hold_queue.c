/* hold_queue.c - HOLD_LOOKUPS_MAX places in hash chains, in the order in which they end */
#include "services/relay/core/hold_queue.h"

#include "services/relay/core/rate_buckets.h"

#include <stdlib.h>

#define NO_PLACE   UINT16_MAX
#define SLOT_BYTES 1600

static_assert(SLOT_BYTES >= HOLD_HEADROOM + HOLD_DATAGRAM_BYTES_MAX, "a datagram fits its slot");
static_assert(HOLD_RATE_MAX <= RATE_BUCKETS_RATE_MAX && HOLD_RATE_MAX <= RATE_BUCKETS_BURST_MAX,
              "a rate fits its bucket");
static_assert(HOLD_LOOKUPS_MAX * HOLD_PER_CLIENT == 1024, "the bound on held datagrams");

/* One look-up that is under way, and what waits for it. */
struct place {
    struct net_addr client;
    uint64_t until_us;
    uint16_t chain; /* the next place of the same hash chain, or of the free ones */
    uint16_t older; /* neighbours in the order of until_us */
    uint16_t newer;
    uint8_t first; /* the oldest datagram's slot of the HOLD_PER_CLIENT that this place has */
    uint8_t count;
    uint8_t socket[HOLD_PER_CLIENT];
    uint16_t len[HOLD_PER_CLIENT];
};

struct absent_client {
    struct net_addr client;
    uint64_t until_us;
};

struct hold_queue {
    struct flow_hash_seed seed;
    struct rate_bucket lookups;
    uint16_t chain[HOLD_LOOKUPS_MAX];
    uint16_t free;
    uint16_t oldest;
    uint16_t newest;
    size_t count;
    struct place place[HOLD_LOOKUPS_MAX];
    struct absent_client absent[HOLD_ABSENT_PLACES];
    uint8_t slot[HOLD_LOOKUPS_MAX * HOLD_PER_CLIENT][SLOT_BYTES];
};

struct hold_queue *hold_queue_create(uint32_t lookups_per_s, uint32_t burst,
                                     struct flow_hash_seed seed)
{
    struct hold_queue *q = calloc(1, sizeof(*q));
    if (q == NULL) {
        return NULL;
    }
    q->seed = seed;
    rate_bucket_init(&q->lookups, lookups_per_s, burst);
    q->oldest = NO_PLACE;
    q->newest = NO_PLACE;
    for (uint16_t i = 0; i < HOLD_LOOKUPS_MAX; i++) {
        q->chain[i] = NO_PLACE;
        q->place[i].chain = i + 1 < HOLD_LOOKUPS_MAX ? (uint16_t)(i + 1) : NO_PLACE;
    }
    return q;
}

void hold_queue_destroy(struct hold_queue *q)
{
    free(q);
}

static uint64_t hash_of(const struct hold_queue *q, const struct net_addr *client)
{
    return flow_hash(&q->seed, client, sizeof(*client));
}

/* What points at the client's place, or at the end of its chain. */
static uint16_t *find(struct hold_queue *q, const struct net_addr *client, uint64_t hash)
{
    uint16_t *link = &q->chain[hash % HOLD_LOOKUPS_MAX];
    while (*link != NO_PLACE && !net_addr_equal(&q->place[*link].client, client)) {
        link = &q->place[*link].chain;
    }
    return link;
}

static struct absent_client *absent_place(struct hold_queue *q, uint64_t hash)
{
    return &q->absent[hash / HOLD_LOOKUPS_MAX % HOLD_ABSENT_PLACES];
}

/* A free place, now the client's, the newest of all and the last of its chain. */
static struct place *begin(struct hold_queue *q, uint16_t *link, const struct net_addr *client,
                           uint64_t now_us)
{
    const uint16_t at = q->free;
    struct place *place = &q->place[at];
    q->free = place->chain;
    *place = (struct place){.client = *client,
                            .until_us = now_us + HOLD_TIME_US,
                            .chain = NO_PLACE,
                            .older = q->newest,
                            .newer = NO_PLACE};
    *link = at;
    *(q->newest == NO_PLACE ? &q->oldest : &q->place[q->newest].newer) = at;
    q->newest = at;
    return place;
}

static size_t slot_of(const struct hold_queue *q, const struct place *place, size_t number)
{
    return (size_t)(place - q->place) * HOLD_PER_CLIENT + (place->first + number) % HOLD_PER_CLIENT;
}

/* False when the client's oldest datagram had to go. */
static bool keep(struct hold_queue *q, struct place *place, struct bytes_view datagram,
                 uint8_t socket)
{
    const bool has_room = place->count < HOLD_PER_CLIENT;
    if (!has_room) {
        place->first = (uint8_t)((place->first + 1) % HOLD_PER_CLIENT);
        place->count--;
        q->count--;
    }
    const size_t slot = slot_of(q, place, place->count);
    memcpy(q->slot[slot] + HOLD_HEADROOM, datagram.data, datagram.len);
    place->len[slot % HOLD_PER_CLIENT] = (uint16_t)datagram.len;
    place->socket[slot % HOLD_PER_CLIENT] = socket;
    place->count++;
    q->count++;
    return has_room;
}

enum hold_result hold_queue_put(struct hold_queue *q, const struct net_addr *client,
                                struct bytes_view datagram, uint8_t socket, uint64_t now_us)
{
    assert(datagram.len <= HOLD_DATAGRAM_BYTES_MAX);
    const uint64_t hash = hash_of(q, client);
    uint16_t *link = find(q, client, hash);
    if (*link != NO_PLACE) {
        return keep(q, &q->place[*link], datagram, socket) ? HOLD_WAIT : HOLD_WAIT_DISPLACED;
    }
    const struct absent_client *absent = absent_place(q, hash);
    if (now_us < absent->until_us && net_addr_equal(&absent->client, client)) {
        return HOLD_REFUSED_ABSENT;
    }
    if (q->free == NO_PLACE) {
        return HOLD_REFUSED_FULL;
    }
    if (!rate_bucket_take(&q->lookups, now_us)) {
        return HOLD_REFUSED_RATE;
    }
    (void)keep(q, begin(q, link, client, now_us), datagram, socket);
    return HOLD_ASK;
}

/* The place that a link points at becomes free; its datagrams stay readable until the next put. */
static void end(struct hold_queue *q, uint16_t *link, struct held_batch *out)
{
    const uint16_t at = *link;
    struct place *place = &q->place[at];
    *out = (struct held_batch){
        .client = place->client, .since_us = place->until_us - HOLD_TIME_US, .count = place->count};
    for (size_t i = 0; i < place->count; i++) {
        const size_t slot = slot_of(q, place, i);
        out->datagram[i] = (struct held_datagram){.data = q->slot[slot] + HOLD_HEADROOM,
                                                  .len = place->len[slot % HOLD_PER_CLIENT],
                                                  .socket = place->socket[slot % HOLD_PER_CLIENT]};
    }
    q->count -= place->count;
    *(place->older == NO_PLACE ? &q->oldest : &q->place[place->older].newer) = place->newer;
    *(place->newer == NO_PLACE ? &q->newest : &q->place[place->newer].older) = place->older;
    *link = place->chain;
    place->chain = q->free;
    q->free = at;
}

bool hold_queue_take(struct hold_queue *q, const struct net_addr *client, struct held_batch *out)
{
    uint16_t *link = find(q, client, hash_of(q, client));
    if (*link == NO_PLACE) {
        return false;
    }
    end(q, link, out);
    return true;
}

void hold_queue_note_absent(struct hold_queue *q, const struct net_addr *client, uint64_t now_us)
{
    *absent_place(q, hash_of(q, client)) =
        (struct absent_client){.client = *client, .until_us = now_us + HOLD_ABSENT_US};
}

bool hold_queue_take_overdue(struct hold_queue *q, struct held_batch *out, uint64_t now_us)
{
    if (now_us < hold_queue_next_timeout(q)) {
        return false;
    }
    const struct net_addr client = q->place[q->oldest].client;
    return hold_queue_take(q, &client, out);
}

uint64_t hold_queue_next_timeout(const struct hold_queue *q)
{
    return q->oldest == NO_PLACE ? TIME_NEVER : q->place[q->oldest].until_us;
}

size_t hold_queue_count(const struct hold_queue *q)
{
    return q->count;
}
