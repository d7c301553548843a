/* tcp_roster.c - places in chains by address; those not confirmed also in the order they came */
#include "services/relay/core/tcp_roster.h"

#include <assert.h>
#include <stdlib.h>

#define NONE TCP_ROSTER_NONE

struct place {
    struct net_addr client;
    uint32_t next;  /* in its chain, or among the free */
    uint32_t older; /* among those not confirmed */
    uint32_t newer;
    enum tcp_place_state state;
    struct flow_owner owner; /* of a confirmed one */
};

struct tcp_roster {
    struct flow_hash_seed seed;
    size_t cap;
    size_t address_max;
    uint32_t free;
    uint32_t oldest; /* of those not confirmed */
    uint32_t newest;
    size_t count[TCP_PLACE_STATE_COUNT];
    struct session_tally *confirmed;
    uint32_t chain_count; /* a power of two */
    uint32_t *chain;      /* by the hash of an address: its first place */
    struct place *place;
};

struct tcp_roster *tcp_roster_create(size_t cap, size_t address_max, struct flow_hash_seed seed)
{
    assert(cap >= 1 && cap <= TCP_ROSTER_CAP_MAX);
    assert(address_max >= 1);
    struct tcp_roster *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return NULL;
    }
    r->seed = seed;
    r->cap = cap;
    r->address_max = address_max;
    r->oldest = NONE;
    r->newest = NONE;
    r->count[TCP_PLACE_FREE] = cap;
    r->chain_count = 1;
    while (r->chain_count < cap) {
        r->chain_count *= 2;
    }
    r->chain = calloc(r->chain_count, sizeof(r->chain[0]));
    r->place = calloc(cap, sizeof(r->place[0]));
    r->confirmed = session_tally_create(cap, seed);
    if (r->chain == NULL || r->place == NULL || r->confirmed == NULL) {
        tcp_roster_destroy(r);
        return NULL;
    }
    for (uint32_t i = 0; i < r->chain_count; i++) {
        r->chain[i] = NONE;
    }
    for (uint32_t i = 0; i < cap; i++) {
        r->place[i].next = i + 1 < cap ? i + 1 : NONE;
    }
    return r;
}

void tcp_roster_destroy(struct tcp_roster *r)
{
    if (r == NULL) {
        return;
    }
    free(r->chain);
    free(r->place);
    session_tally_destroy(r->confirmed);
    free(r);
}

static size_t source_bytes(const struct net_addr *client)
{
    return net_addr_is_ipv4(client) ? 16 : 8;
}

static uint32_t *chain_of(const struct tcp_roster *r, const struct net_addr *client)
{
    const uint64_t hash = flow_hash(&r->seed, client->ip, source_bytes(client));
    return &r->chain[hash & (r->chain_count - 1)];
}

bool tcp_roster_has_share(const struct tcp_roster *r, const struct net_addr *client)
{
    size_t count = 0;
    for (uint32_t i = *chain_of(r, client); i != NONE; i = r->place[i].next) {
        count += memcmp(r->place[i].client.ip, client->ip, source_bytes(client)) == 0;
    }
    return count < r->address_max;
}

static void append_unconfirmed(struct tcp_roster *r, uint32_t i)
{
    r->place[i].older = r->newest;
    r->place[i].newer = NONE;
    *(r->newest == NONE ? &r->oldest : &r->place[r->newest].newer) = i;
    r->newest = i;
}

static void remove_unconfirmed(struct tcp_roster *r, uint32_t i)
{
    const struct place *p = &r->place[i];
    *(p->older == NONE ? &r->oldest : &r->place[p->older].newer) = p->newer;
    *(p->newer == NONE ? &r->newest : &r->place[p->newer].older) = p->older;
}

static void set_state(struct tcp_roster *r, struct place *p, enum tcp_place_state state)
{
    r->count[p->state]--;
    p->state = state;
    r->count[state]++;
}

uint32_t tcp_roster_enter(struct tcp_roster *r, const struct net_addr *client)
{
    const uint32_t i = r->free;
    if (i == NONE) {
        return NONE;
    }
    struct place *p = &r->place[i];
    uint32_t *chain = chain_of(r, client);
    r->free = p->next;
    p->client = *client;
    set_state(r, p, TCP_PLACE_NEW);
    p->next = *chain;
    *chain = i;
    append_unconfirmed(r, i);
    return i;
}

uint32_t tcp_roster_oldest_unconfirmed(const struct tcp_roster *r)
{
    return r->oldest;
}

void tcp_roster_half_open(struct tcp_roster *r, uint32_t place)
{
    struct place *p = &r->place[place];
    assert(p->state == TCP_PLACE_NEW);
    assert(tcp_roster_find(r, &p->client) == NONE);
    set_state(r, p, TCP_PLACE_HALF_OPEN);
}

bool tcp_roster_confirm(struct tcp_roster *r, uint32_t place, struct flow_owner owner)
{
    struct place *p = &r->place[place];
    assert(p->state == TCP_PLACE_HALF_OPEN);
    if (!session_tally_add(r->confirmed, owner)) {
        return false;
    }
    p->owner = owner;
    remove_unconfirmed(r, place);
    set_state(r, p, TCP_PLACE_CONFIRMED);
    return true;
}

/* A chain begins with its newest place. */
static uint32_t find(const struct tcp_roster *r, const struct net_addr *client, bool is_new)
{
    uint32_t i = *chain_of(r, client);
    while (i != NONE && ((r->place[i].state == TCP_PLACE_NEW) != is_new ||
                         !net_addr_equal(&r->place[i].client, client))) {
        i = r->place[i].next;
    }
    return i;
}

uint32_t tcp_roster_find(const struct tcp_roster *r, const struct net_addr *client)
{
    return find(r, client, false);
}

uint32_t tcp_roster_find_new(const struct tcp_roster *r, const struct net_addr *client)
{
    return find(r, client, true);
}

void tcp_roster_leave(struct tcp_roster *r, uint32_t place)
{
    struct place *p = &r->place[place];
    assert(p->state != TCP_PLACE_FREE);
    if (p->state == TCP_PLACE_CONFIRMED) {
        session_tally_remove(r->confirmed, p->owner);
    } else {
        remove_unconfirmed(r, place);
    }
    uint32_t *link = chain_of(r, &p->client);
    while (*link != place) {
        link = &r->place[*link].next;
    }
    *link = p->next;
    set_state(r, p, TCP_PLACE_FREE);
    p->next = r->free;
    r->free = place;
}

enum tcp_place_state tcp_roster_state(const struct tcp_roster *r, uint32_t place)
{
    return r->place[place].state;
}

size_t tcp_roster_count(const struct tcp_roster *r, enum tcp_place_state state)
{
    return r->count[state];
}
