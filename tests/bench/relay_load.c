/* relay_load.c - see relay_load.h */
#include "tests/bench/relay_load.h"

#include "tests/bench/load_clients.h"
#include "tests/bench/load_clock.h"

#include <stdlib.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define WINDOW    1024
/* Below the relay's own limit of checks of new clients (STRANGER_CHECKS_PER_S). */
#define REQUEST_EVERY_NS UINT64_C(12500)
#define REQUEST_PASSES   5
#define SETTLE_NS        (200 * NS_PER_MS)
/* Longer than the kernel keeps a thread of real-time priority off its CPU. */
#define STALL_NS (200 * NS_PER_MS)
#define REST_NS  (NS_PER_MS / 20)
#define QUIET_NS (2 * NS_PER_MS)

struct relay_load {
    struct key_ring *ring;
    struct load_order order;
    struct load_clients *clients;
    struct load_shard *shard;
    bool has_addresses; /* a copy loop sends all to one client */
    uint64_t sequence;  /* of the next packet */
};

struct relay_load *relay_load_open(const struct net_addr *media, struct key_ring *ring)
{
    struct relay_load *l = calloc(1, sizeof(*l));
    assert(l != NULL && ring != NULL);
    l->ring = ring;
    load_order_init(&l->order, 1);
    l->clients = load_clients_open(ring, &l->order);
    l->shard = load_shard_open(media, ring, &l->order);
    return l;
}

void relay_load_close(struct relay_load *l)
{
    if (l != NULL) {
        load_clients_close(l->clients);
        load_shard_close(l->shard);
        key_ring_destroy(l->ring);
        free(l);
    }
}

/* What a burst before this one gave up. */
static void drain(struct relay_load *l)
{
    static struct load_figures ignored;
    uint64_t heard_ns = load_clock_ns();
    while (load_clock_ns() - heard_ns < QUIET_NS) {
        if (load_shard_take(l->shard, false, &ignored) +
                load_clients_take(l->clients, false, &ignored) >
            0) {
            heard_ns = load_clock_ns();
        }
    }
}

void relay_load_aim(struct relay_load *l, const struct load_target *target)
{
    drain(l);
    load_order_init(&l->order, target->clients);
    load_clients_begin(l->clients, &target->listen);
    load_shard_begin(l->shard, target->manner, &target->internal);
    l->has_addresses = target->manner != LOAD_WITHOUT_SHIMS;
}

/* --- connecting ------------------------------------------------------------------------------- */

/* Until so many are connected, or it takes too long. */
static void await_answers(struct relay_load *l, uint32_t wanted, uint64_t patience_ns)
{
    static struct load_figures ignored;
    const uint64_t start_ns = load_clock_ns();
    do {
        (void)load_shard_take(l->shard, true, &ignored);
        (void)load_clients_take(l->clients, true, &ignored);
    } while (load_clients_connected(l->clients) < wanted &&
             load_clock_ns() - start_ns < patience_ns);
}

/* What is answered by the time, whoever it is. */
static void take_answers_until(struct relay_load *l, uint64_t end_ns)
{
    static struct load_figures ignored;
    do {
        (void)load_shard_take(l->shard, true, &ignored);
        (void)load_clients_take(l->clients, true, &ignored);
    } while (load_clock_ns() < end_ns);
}

bool relay_load_connect(struct relay_load *l)
{
    const uint32_t clients = l->order.clients;
    for (int pass = 0; pass < REQUEST_PASSES; pass++) {
        const uint64_t start_ns = load_clock_ns();
        for (uint32_t first = 0; first < clients; first += LOAD_BATCH) {
            load_clients_request(l->clients, first, LOAD_BATCH);
            take_answers_until(l, start_ns + (first + LOAD_BATCH) * REQUEST_EVERY_NS);
        }
        await_answers(l, clients, SETTLE_NS);
        if (load_clients_connected(l->clients) == clients) {
            return true;
        }
    }
    return false;
}

/* --- bursts ----------------------------------------------------------------------------------- */

static uint64_t sent(const struct load_burst *burst, const struct load_figures *f)
{
    return burst->way == LOAD_DOWN ? f->down_sent : f->up_sent;
}

static uint64_t arrived(const struct load_burst *burst, const struct load_figures *f)
{
    return burst->way == LOAD_UP ? f->up_received : f->down_received;
}

static uint64_t on_the_way(const struct load_burst *burst, const struct load_figures *f)
{
    const uint64_t done = arrived(burst, f) + f->given_up;
    return sent(burst, f) > done ? sent(burst, f) - done : 0;
}

/* How many packets are due by now. What is late by more than a window is not sent any more: to
 * hurry would be another load. */
static uint64_t due(const struct load_burst *burst, uint64_t elapsed_ns, struct load_figures *f)
{
    const uint64_t planned = elapsed_ns * burst->rate_hz / NS_PER_S;
    const uint64_t done = sent(burst, f) + f->left_out;
    const uint64_t late = planned > done ? planned - done : 0;
    f->left_out += late > WINDOW ? late - WINDOW : 0;
    return late < WINDOW ? late : WINDOW;
}

/* How many packets may go now. */
static size_t room(const struct load_burst *burst, uint64_t elapsed_ns, struct load_figures *f)
{
    uint64_t count = 0;
    if (burst->rate_hz > 0) {
        count = due(burst, elapsed_ns, f);
        count = burst->rests && count < LOAD_BATCH ? 0 : count;
    } else {
        count = on_the_way(burst, f) + LOAD_BATCH <= WINDOW ? LOAD_BATCH : 0;
    }
    return count < LOAD_BATCH ? count : LOAD_BATCH;
}

static void send_packets(struct relay_load *l, const struct load_burst *burst, size_t count,
                         struct load_figures *f)
{
    if (burst->way == LOAD_DOWN) {
        const size_t taken = load_shard_send(l->shard, l->sequence, count);
        f->down_sent += taken;
        l->sequence += taken;
    } else {
        const size_t taken = load_clients_send(l->clients, l->sequence, count);
        f->up_sent += taken;
        l->sequence += taken;
    }
}

static size_t take_packets(struct relay_load *l, const struct load_burst *burst,
                           struct load_figures *f)
{
    return load_shard_take(l->shard, burst->way == LOAD_BOTH_WAYS, f) +
           load_clients_take(l->clients, l->has_addresses, f);
}

static void rest(void)
{
    const struct timespec nap = {.tv_nsec = REST_NS};
    (void)nanosleep(&nap, NULL);
}

/* Sends nothing any more after `end_ns`, and returns when the last packet is there. */
static void run_until(struct relay_load *l, const struct load_burst *burst, uint64_t start_ns,
                      uint64_t end_ns, struct load_figures *out)
{
    uint64_t progress_ns = start_ns;
    for (uint64_t now_ns = start_ns; now_ns < end_ns || on_the_way(burst, out) > 0;
         now_ns = load_clock_ns()) {
        const size_t count = now_ns < end_ns ? room(burst, now_ns - start_ns, out) : 0;
        if (count > 0) {
            send_packets(l, burst, count, out);
        }
        if (burst->junk != NULL && now_ns - start_ns < burst->duration_ns) {
            load_junk_send(burst->junk, now_ns - start_ns);
        }
        if (take_packets(l, burst, out) > 0) {
            progress_ns = now_ns;
        } else if (now_ns > progress_ns + STALL_NS) {
            out->given_up += on_the_way(burst, out);
            progress_ns = now_ns;
        } else if (burst->rests && count == 0) {
            rest();
        }
    }
}

void relay_load_run(struct relay_load *l, const struct load_burst *burst, struct load_figures *out)
{
    const uint64_t start_ns = load_clock_ns();
    run_until(l, burst, start_ns, start_ns + burst->duration_ns, out);
    out->taken_ns += load_clock_ns() - start_ns;
}

void relay_load_send(struct relay_load *l, size_t count, struct load_figures *out)
{
    for (size_t sent = 0; sent < count; sent += LOAD_BATCH) {
        const size_t taken = load_clients_send(l->clients, l->sequence, LOAD_BATCH);
        out->up_sent += taken;
        l->sequence += taken;
    }
}

void relay_load_await(struct relay_load *l, const struct load_burst *burst,
                      struct load_figures *out)
{
    run_until(l, burst, load_clock_ns(), 0, out);
}
