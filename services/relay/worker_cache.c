/* worker_cache.c - see worker_cache.h */
#include "services/relay/worker_cache.h"

static_assert(HOLD_HEADROOM >= RELAY_SHIM_BYTES, "a shim fits before a held datagram");
static_assert(HOLD_DATAGRAM_BYTES_MAX >= FORWARDER_DATAGRAM_BYTES_MAX,
              "what the forwarder takes can be held");

bool worker_cache_open(struct worker_cache *c, const struct worker_cache_config *config,
                       struct forwarder *forwarder, struct relay_counters *counters)
{
    uint8_t seed[FLOW_HASH_SEED_BYTES];
    *c = (struct worker_cache){.config = *config, .forwarder = forwarder, .counters = counters};
    if (config->cache == NULL) {
        return true;
    }
    random_fill(random_system(), seed, sizeof(seed));
    c->hold = hold_queue_create(config->budget.lookups_per_s, config->budget.burst,
                                flow_hash_seed_of(seed));
    return c->hold != NULL;
}

void worker_cache_close(struct worker_cache *c)
{
    hold_queue_destroy(c->hold);
    c->hold = NULL;
}

int worker_cache_fd(const struct worker_cache *c)
{
    return c->hold == NULL ? -1 : flow_cache_answer_fd(c->config.cache, c->config.port);
}

static struct flow_cache_key key_of(const struct worker_cache *c, const struct net_addr *client)
{
    return (struct flow_cache_key){
        .client = *client, .cluster_id = c->config.cluster_id, .is_tcp = c->config.is_tcp};
}

bool worker_cache_hold(struct worker_cache *c, const struct udp_arrival *arrival, uint8_t socket,
                       uint64_t now_us)
{
    if (c->hold == NULL || !flow_cache_is_up(c->config.cache)) {
        metric_add(&c->counters->cache_away, 1);
        return false;
    }
    const enum hold_result result = hold_queue_put(
        c->hold, &arrival->from, bytes_view_of(arrival->data, arrival->len), socket, now_us);
    metric_add(&c->counters->held[result], 1);
    if (result == HOLD_WAIT_DISPLACED) {
        relay_counters_add(c->counters, FORWARD_UP_NO_FLOW); /* the one that went */
    }
    const struct flow_cache_key key = key_of(c, &arrival->from);
    if (result == HOLD_ASK && !flow_cache_look_up(c->config.cache, c->config.port, &key, now_us)) {
        metric_add(&c->counters->cache_requests_lost, 1); /* its time will be over */
    }
    metric_set(&c->counters->held_now, hold_queue_count(c->hold));
    return !hold_result_is_refusal(result);
}

void worker_cache_store(struct worker_cache *c, const struct verdict *v, uint64_t now_us)
{
    struct cached_flow flow;
    const struct flow_cache_key key = key_of(c, &v->destination);
    if (c->hold != NULL && forwarder_to_cache(c->forwarder, v, &flow, now_us) &&
        !flow_cache_store(c->config.cache, &key, &flow)) {
        metric_add(&c->counters->cache_requests_lost, 1);
    }
}

/* What the cache said is followed, or remembered as no help; a client is asked for again at once
 * when nothing was said, or when its transceiver may only not have announced itself yet. */
static void judge(struct worker_cache *c, const struct flow_cache_answer *answer, uint64_t now_us)
{
    enum forward_cache_result result = FORWARD_CACHE_RESULT_COUNT;
    switch (answer->result) {
    case FLOW_CACHE_FOUND:
        result = forwarder_from_cache(c->forwarder, &answer->client, &answer->flow, now_us);
        metric_add(&c->counters->from_cache[result], 1);
        if (result == FORWARD_CACHE_CLUSTER || result == FORWARD_CACHE_NEXT_HOP ||
            result == FORWARD_CACHE_NO_ROOM) {
            hold_queue_note_absent(c->hold, &answer->client, now_us);
        }
        break;
    case FLOW_CACHE_ABSENT:
    case FLOW_CACHE_MALFORMED:
        hold_queue_note_absent(c->hold, &answer->client, now_us);
        break;
    case FLOW_CACHE_REFUSED:
    case FLOW_CACHE_RESULT_COUNT:
        break;
    }
}

bool worker_cache_take_answered(struct worker_cache *c, struct held_batch *out, uint64_t now_us)
{
    struct flow_cache_answer answer;
    while (c->hold != NULL && flow_cache_take_answer(c->config.cache, c->config.port, &answer)) {
        judge(c, &answer, now_us);
        if (hold_queue_take(c->hold, &answer.client, out)) {
            metric_observe(&c->counters->cache_wait, time_since(out->since_us, now_us));
            metric_set(&c->counters->held_now, hold_queue_count(c->hold));
            return true;
        }
    }
    return false;
}

bool worker_cache_take_overdue(struct worker_cache *c, struct held_batch *out, uint64_t now_us)
{
    if (c->hold == NULL || !hold_queue_take_overdue(c->hold, out, now_us)) {
        return false;
    }
    metric_add(&c->counters->cache_timeouts, 1);
    metric_set(&c->counters->held_now, hold_queue_count(c->hold));
    return true;
}

/* Rounded up: who wakes before the end turns without a sleep until it is there. HOLD_TIME_US leaves
 * the millisecond. */
int worker_cache_wait_ms(const struct worker_cache *c, int idle_ms, uint64_t now_us)
{
    if (c->hold == NULL) {
        return idle_ms;
    }
    const uint64_t wait_us = time_since(now_us, hold_queue_next_timeout(c->hold));
    return wait_us < (uint64_t)idle_ms * US_PER_MS ? (int)((wait_us + US_PER_MS - 1) / US_PER_MS)
                                                   : idle_ms;
}
