/* forwarder.c - see forwarder.h; the order of checks is that of docs/wire-formats.md, 4 */
#include "services/relay/core/forwarder.h"

#include "common/stun/stun_message.h"
#include "services/relay/core/client_reach.h"
#include "services/relay/core/stranger_gate.h"
#include "services/relay/core/token_text.h"

#include <stdlib.h>

struct forwarder {
    struct forwarder_config config;
    struct flow_table *flows;
    struct route_table *routes;
    struct flow_rivals *rivals;
    struct stranger_gate *gate;
    struct key_ring *ring;
};

struct forwarder *forwarder_create(const struct forwarder_config *config, struct key_ring *ring,
                                   struct random_source random)
{
    assert(config->listen_count >= 1 && config->listen_count <= FORWARDER_LISTEN_MAX);
    uint8_t seed_bytes[FLOW_HASH_SEED_BYTES];
    random_fill(random, seed_bytes, sizeof(seed_bytes));
    const struct flow_hash_seed seed = flow_hash_seed_of(seed_bytes);
    struct forwarder *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        key_ring_destroy(ring);
        return NULL;
    }
    f->config = *config;
    f->ring = ring;
    f->flows = flow_table_create(config->flow_cap, seed);
    f->routes = route_table_create(config->cluster_id, &config->transceiver_networks);
    f->rivals = flow_rivals_create();
    f->gate = stranger_gate_create(config->source_flows_per_s, config->source_flows_burst, seed);
    if (f->flows == NULL || f->routes == NULL || f->rivals == NULL || f->gate == NULL) {
        forwarder_destroy(f);
        return NULL;
    }
    return f;
}

void forwarder_destroy(struct forwarder *f)
{
    if (f == NULL) {
        return;
    }
    flow_table_destroy(f->flows);
    route_table_destroy(f->routes);
    flow_rivals_destroy(f->rivals);
    stranger_gate_destroy(f->gate);
    key_ring_destroy(f->ring);
    free(f);
}

void forwarder_recall(struct forwarder *f, const struct route_notes *notes, uint64_t now_us)
{
    route_table_recall(f->routes, notes, now_us);
}

size_t forwarder_settle(struct forwarder *f, void *lines, struct flow_remains *remains)
{
    return flow_table_settle(f->flows, lines, remains);
}

static struct verdict dropped(enum forward_reason reason)
{
    return (struct verdict){.reason = reason, .action = FORWARD_DROP};
}

/* --- From a client ---------------------------------------------------------------------------*/

/* What a client sent, and how it came. */
struct arrival {
    struct bytes_view datagram;
    const struct net_addr *from;
    uint8_t socket;
};

/* The client was heard on this socket: is it the one that its downlinks leave from? */
static void note_socket(struct flow *flow, uint8_t socket, uint64_t now_us)
{
    if (flow->state != FLOW_CONFIRMED || flow->socket == FLOW_SOCKET_UNKNOWN) {
        flow->socket = socket;
        return;
    }
    const uint8_t second = flow_second(now_us);
    if (flow->socket != socket &&
        (uint8_t)(second - flow->heard_second) < FORWARDER_SOCKET_KEEPS_US / US_PER_S) {
        return;
    }
    if (flow->socket != socket || flow->heard_second != second) {
        flow->socket = socket;
        flow->heard_second = second;
    }
}

static bool owner_keeps(const struct flow *flow, uint64_t now_us)
{
    return flow->state == FLOW_CONFIRMED &&
           time_since(flow->owner_sent_us, now_us) < FORWARDER_OWNER_KEEPS_US;
}

/* What a valid request does to its sender's flow, if he has one; it is forwarded by its token in
 * any case but two. A re-pointed flow is half-open again, whatever it was: only a downlink
 * confirms. */
static enum forward_reason note_request(struct forwarder *f, const struct arrival *arrival,
                                        struct flow *flow, struct flow_owner owner, uint64_t now_us)
{
    const bool is_own = flow != NULL && flow_owner_equal(flow->owner, owner);
    const bool is_answered = is_own && flow->state == FLOW_CONFIRMED;
    if (!is_answered && !stranger_gate_passes_request(f->gate, owner, now_us)) {
        return FORWARD_UP_SESSION_RATE;
    }
    if (is_own) {
        note_socket(flow, arrival->socket, now_us);
        flow_table_refresh(f->flows, flow, now_us);
        return FORWARD_UP_TOKEN;
    }
    if (flow != NULL && owner_keeps(flow, now_us)) {
        return FORWARD_UP_TOKEN;
    }
    if (flow == NULL && !stranger_gate_opens_flow(f->gate, arrival->from, now_us)) {
        return FORWARD_UP_SOURCE_RATE;
    }
    flow = flow_table_open(f->flows, arrival->from, owner, now_us);
    if (flow == NULL) {
        /* Strangers can use up a session's share; the genuine client must not need it. Its
         * request is forwarded all the same, and the answer makes a confirmed flow. */
        return FORWARD_UP_TOKEN_NO_ROOM;
    }
    note_socket(flow, arrival->socket, now_us);
    return FORWARD_UP_TOKEN;
}

static bool find_shard(const struct forwarder *f, struct flow_owner owner, struct net_addr *out,
                       uint64_t now_us)
{
    return route_table_find(f->routes, owner.instance_id, SESSION_ID_SHARD(owner.session_id), out,
                            now_us);
}

static struct verdict to_transceiver(enum forward_reason reason, struct flow_owner owner,
                                     const struct net_addr *shard, struct bytes_view datagram)
{
    return (struct verdict){
        .reason = reason,
        .action = FORWARD_TO_TRANSCEIVER,
        .destination = *shard,
        .owner = owner,
        .datagram = datagram,
    };
}

/* A request whose token is worth the cipher. */
static struct verdict route_token(struct forwarder *f, const struct arrival *arrival,
                                  struct flow *flow, struct bytes_view text, uint64_t now_us)
{
    struct routing_token token = {0};
    enum forward_reason reason = token_text_open(f->ring, text, f->config.cluster_id, &token);
    if (forward_reason_is_drop(reason)) {
        return dropped(reason);
    }
    const struct flow_owner owner = {token.instance_id, token.session_id};
    struct net_addr shard;
    if (!find_shard(f, owner, &shard, now_us)) {
        return dropped(FORWARD_UP_TOKEN_INSTANCE);
    }
    reason = note_request(f, arrival, flow, owner, now_us);
    if (forward_reason_is_drop(reason)) {
        return dropped(reason);
    }
    return to_transceiver(reason, owner, &shard, arrival->datagram);
}

static struct verdict route_request(struct forwarder *f, const struct arrival *arrival,
                                    struct bytes_view username, uint64_t now_us)
{
    struct bytes_view text;
    const enum forward_reason reason = token_text_find(f->ring, username, &text);
    if (forward_reason_is_drop(reason)) {
        return dropped(reason);
    }
    struct flow *flow = flow_table_find(f->flows, arrival->from, now_us);
    const bool is_stranger = flow == NULL || flow->state != FLOW_CONFIRMED;
    if (is_stranger && !stranger_gate_opens_token(f->gate, arrival->from, now_us)) {
        return dropped(FORWARD_UP_TOKEN_RATE);
    }
    const struct verdict v = route_token(f, arrival, flow, text, now_us);
    if (is_stranger && v.action == FORWARD_DROP) {
        stranger_gate_note_refusal(f->gate, arrival->from, now_us);
    }
    return v;
}

static struct verdict follow_flow(struct forwarder *f, const struct arrival *arrival,
                                  uint64_t now_us)
{
    struct flow *flow = flow_table_find(f->flows, arrival->from, now_us);
    if (flow == NULL) {
        return (struct verdict){.reason = FORWARD_UP_NO_FLOW,
                                .action = f->config.has_cache ? FORWARD_HOLD : FORWARD_DROP};
    }
    if (flow->state == FLOW_HALF_OPEN && !flow_take_unproven(flow, now_us)) {
        return dropped(FORWARD_UP_UNPROVEN_RATE);
    }
    struct net_addr shard;
    if (!find_shard(f, flow->owner, &shard, now_us)) {
        return dropped(FORWARD_UP_FLOW_INSTANCE);
    }
    if (flow->socket == FLOW_SOCKET_UNKNOWN || flow->socket == arrival->socket) {
        note_socket(flow, arrival->socket, now_us);
    }
    struct verdict v = to_transceiver(FORWARD_UP_FLOW, flow->owner, &shard, arrival->datagram);
    v.is_disputed = flow->state == FLOW_CONFIRMED && flow->rival != FLOW_RIVAL_NONE;
    return v;
}

size_t forwarder_to_rivals(struct forwarder *f, const struct verdict *v,
                           const struct net_addr *client, struct verdict out[FORWARDER_RIVALS_MAX],
                           uint64_t now_us)
{
    assert(v->is_disputed);
    struct flow_owner rival[FLOW_RIVALS_OF_CLIENT];
    struct flow *flow = flow_table_find(f->flows, client, now_us);
    const size_t rivals = flow != NULL ? flow_rivals_find(f->rivals, flow, rival, now_us) : 0;
    size_t count = 0;
    for (size_t i = 0; i < rivals; i++) {
        struct net_addr shard;
        if (!find_shard(f, rival[i], &shard, now_us)) {
            continue;
        }
        out[count++] = flow_rivals_take_copy(f->rivals, flow, now_us)
                           ? to_transceiver(FORWARD_UP_FLOW, rival[i], &shard, v->datagram)
                           : dropped(FORWARD_UP_FLOW);
    }
    return count;
}

/* A STUN message that is no Binding request, as a keep-alive indication, carries no token. */
static struct verdict route_stun(struct forwarder *f, const struct arrival *arrival,
                                 uint64_t now_us)
{
    struct bytes_view username;
    const enum stun_parse_result result = stun_message_peek_username(arrival->datagram, &username);
    if (result == STUN_OK) {
        return route_request(f, arrival, username, now_us);
    }
    return result == STUN_NOT_REQUEST ? follow_flow(f, arrival, now_us) : dropped(FORWARD_UP_STUN);
}

void forwarder_prefetch(const struct forwarder *f, const struct net_addr *client)
{
    flow_table_prefetch(f->flows, client);
}

struct verdict forwarder_from_client(struct forwarder *f, struct bytes_view datagram,
                                     const struct net_addr *from, uint8_t socket, uint64_t now_us)
{
    assert(socket < f->config.listen_count);
    const struct arrival arrival = {.datagram = datagram, .from = from, .socket = socket};
    if (datagram.len < FORWARDER_DATAGRAM_BYTES_MIN ||
        datagram.len > FORWARDER_DATAGRAM_BYTES_MAX) {
        return dropped(FORWARD_UP_LENGTH);
    }
    /* RFC 7983 s.7: 0..3 STUN, 20..63 DTLS, 128..191 RTP and RTCP. */
    const uint8_t first = datagram.data[0];
    if (first <= 3) {
        return route_stun(f, &arrival, now_us);
    }
    if ((first >= 20 && first <= 63) || (first >= 128 && first <= 191)) {
        return follow_flow(f, &arrival, now_us);
    }
    return dropped(FORWARD_UP_KIND);
}

void forwarder_write_shim(struct forwarder *f, const struct verdict *v,
                          const struct net_addr *client, uint8_t out[RELAY_SHIM_BYTES])
{
    assert(v->action == FORWARD_TO_TRANSCEIVER);
    const struct relay_shim shim = {
        .flags = f->config.is_tcp ? RELAY_SHIM_TCP : 0,
        .datagram_bytes = (uint16_t)v->datagram.len,
        .instance_id = v->owner.instance_id,
        .session_id = v->owner.session_id,
        .client = *client,
    };
    relay_shim_write(f->ring, &shim, out);
}

/* --- From a transceiver ----------------------------------------------------------------------*/

/* A downlink makes and confirms flows, or claims one that another session keeps. True when it told
 * of a flow, or of a claim, that was not there. */
static bool note_downlink(struct forwarder *f, struct flow *flow, const struct net_addr *client,
                          struct flow_owner owner, uint64_t now_us)
{
    const bool is_owner = flow != NULL && flow_owner_equal(flow->owner, owner);
    if (is_owner && flow->state == FLOW_CONFIRMED) {
        flow_table_owner_sent(f->flows, flow, now_us);
        return false;
    }
    if (flow != NULL && owner_keeps(flow, now_us)) {
        return flow_rivals_claim(f->rivals, flow, owner, now_us);
    }
    (void)flow_table_confirm(f->flows, client, owner, now_us);
    return !is_owner;
}

/* The cache hears of a flow when it is confirmed, and then once in each period while its owner
 * sends; each flow at a moment of its own, since many may have been confirmed at once. */
static bool is_cache_due(const struct flow *flow, struct flow_owner owner, uint64_t now_us)
{
    if (flow == NULL || flow->state != FLOW_CONFIRMED) {
        return true;
    }
    if (!flow_owner_equal(flow->owner, owner)) {
        return !owner_keeps(flow, now_us);
    }
    const uint64_t phase_us = flow->hash;
    return (flow->owner_sent_us + phase_us) / FORWARDER_CACHE_PERIOD_US !=
           (now_us + phase_us) / FORWARDER_CACHE_PERIOD_US;
}

/* Why the packet is no downlink to a client of ours, or FORWARD_DOWN_SHIM. */
static enum forward_reason read_downlink(struct forwarder *f, struct bytes_view packet,
                                         struct relay_shim *out)
{
    switch (relay_shim_read(f->ring, packet, out)) {
    case RELAY_SHIM_SHORT:
        return FORWARD_DOWN_SHORT;
    case RELAY_SHIM_VERSION:
        return FORWARD_DOWN_VERSION;
    case RELAY_SHIM_UNKNOWN_KEY:
        return FORWARD_DOWN_KEY;
    case RELAY_SHIM_TAG:
        return FORWARD_DOWN_TAG;
    case RELAY_SHIM_OK:
        break;
    }
    const unsigned downlink = RELAY_SHIM_DOWNLINK | (f->config.is_tcp ? RELAY_SHIM_TCP : 0);
    const bool is_announcement = out->flags == (downlink | RELAY_SHIM_ANNOUNCEMENT);
    if (out->flags != downlink && !is_announcement) {
        return FORWARD_DOWN_FLAGS;
    }
    if (is_announcement != (out->datagram_bytes == 0) ||
        out->datagram_bytes > FORWARDER_DATAGRAM_BYTES_MAX) {
        return FORWARD_DOWN_LENGTH;
    }
    return FORWARD_DOWN_SHIM;
}

/* Where shard 0 of the sender is, when this came from the session's shard. */
static struct net_addr media_address_of(const struct net_addr *from, struct flow_owner owner)
{
    struct net_addr media_address = *from;
    const uint32_t shard = SESSION_ID_SHARD(owner.session_id);
    media_address.port = from->port > shard ? (uint16_t)(from->port - shard) : 0;
    return media_address;
}

struct verdict forwarder_from_transceiver(struct forwarder *f, struct bytes_view packet,
                                          const struct net_addr *from, uint64_t now_us)
{
    if (!route_table_admits(f->routes, from)) {
        return dropped(FORWARD_DOWN_SOURCE);
    }
    struct relay_shim shim;
    const enum forward_reason reason = read_downlink(f, packet, &shim);
    if (forward_reason_is_drop(reason)) {
        return dropped(reason);
    }
    const struct net_addr *client = &shim.client;
    const struct flow_owner owner = {shim.instance_id, shim.session_id};
    struct flow *flow = flow_table_find(f->flows, client, now_us);
    /* The client of a confirmed flow was looked at when it was confirmed. */
    if ((flow == NULL || flow->state != FLOW_CONFIRMED) &&
        client_reach_is_forbidden(&f->config, client)) {
        return dropped(FORWARD_DOWN_FORBIDDEN);
    }
    const bool has_socket = flow != NULL && flow->socket != FLOW_SOCKET_UNKNOWN;
    const uint8_t socket =
        has_socket ? flow->socket : client_reach_guess_socket(&f->config, client);
    if (socket == FLOW_SOCKET_UNKNOWN) {
        return dropped(FORWARD_DOWN_NO_SOCKET);
    }
    const struct net_addr media_address = media_address_of(from, owner);
    route_table_heard(f->routes, owner.instance_id, &media_address, now_us);
    const bool is_due = f->config.has_cache && is_cache_due(flow, owner, now_us);
    const bool is_news = note_downlink(f, flow, client, owner, now_us);
    const bool is_announcement = (shim.flags & RELAY_SHIM_ANNOUNCEMENT) != 0;
    return (struct verdict){
        .reason = is_announcement ? FORWARD_DOWN_ANNOUNCEMENT : FORWARD_DOWN_SHIM,
        .action = is_announcement ? FORWARD_NOTHING : FORWARD_TO_CLIENT,
        .destination = *client,
        .owner = owner,
        .datagram = bytes_view_of(packet.data + RELAY_SHIM_BYTES, shim.datagram_bytes),
        .socket = socket,
        .is_news = is_news,
        .is_cache_due = is_due,
    };
}

/* --- The flow cache --------------------------------------------------------------------------*/

/* Its block of addresses pays nothing: many clients of one carrier come over at the same time, and
 * look-ups have a budget of their own. */
enum forward_cache_result forwarder_from_cache(struct forwarder *f, const struct net_addr *client,
                                               const struct cached_flow *flow, uint64_t now_us)
{
    const struct flow_owner owner = {flow->instance_id, flow->session_id};
    struct net_addr next_hop;
    if (flow_table_find(f->flows, client, now_us) != NULL) {
        return FORWARD_CACHE_HAS_FLOW;
    }
    if (flow->cluster_id != f->config.cluster_id) {
        return FORWARD_CACHE_CLUSTER;
    }
    if (!route_table_find(f->routes, owner.instance_id, 0, &next_hop, now_us)) {
        return FORWARD_CACHE_INSTANCE;
    }
    if (!net_addr_equal(&next_hop, &flow->next_hop)) {
        return FORWARD_CACHE_NEXT_HOP;
    }
    return flow_table_open(f->flows, client, owner, now_us) != NULL ? FORWARD_CACHE_TAKEN
                                                                    : FORWARD_CACHE_NO_ROOM;
}

bool forwarder_to_cache(const struct forwarder *f, const struct verdict *v, struct cached_flow *out,
                        uint64_t now_us)
{
    assert(v->is_cache_due);
    *out = (struct cached_flow){.cluster_id = f->config.cluster_id,
                                .instance_id = v->owner.instance_id,
                                .session_id = v->owner.session_id};
    return route_table_find(f->routes, v->owner.instance_id, 0, &out->next_hop, now_us);
}

/* --- What main and other workers tell --------------------------------------------------------*/

enum route_result forwarder_announce(struct forwarder *f, const struct route_announcement *a,
                                     uint64_t now_us)
{
    return route_table_announce(f->routes, a, now_us);
}

struct forwarder_lesson forwarder_lesson_of(const struct verdict *v, const struct net_addr *from)
{
    return (struct forwarder_lesson){
        .client = v->destination,
        .media_address = media_address_of(from, v->owner),
        .owner = v->owner,
    };
}

void forwarder_learn(struct forwarder *f, const struct forwarder_lesson *lesson, uint64_t now_us)
{
    route_table_heard(f->routes, lesson->owner.instance_id, &lesson->media_address, now_us);
    struct flow *flow = flow_table_find(f->flows, &lesson->client, now_us);
    (void)note_downlink(f, flow, &lesson->client, lesson->owner, now_us);
}

void forwarder_set_ring(struct forwarder *f, struct key_ring *ring)
{
    key_ring_destroy(f->ring);
    f->ring = ring;
}

void forwarder_tick(struct forwarder *f, uint64_t now_us)
{
    flow_table_tick(f->flows, now_us);
    route_table_tick(f->routes, now_us);
}

const struct flow_table *forwarder_flows(const struct forwarder *f)
{
    return f->flows;
}

const struct route_table *forwarder_routes(const struct forwarder *f)
{
    return f->routes;
}
