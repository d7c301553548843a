/* sim_cluster.c - see sim_cluster.h */
#include "tests/support/sim_cluster.h"

#include "common/runtime/log.h"
#include "services/transceiver/core/datagram_kind.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "services/transceiver/port/backend_stream.h"
#include "services/transceiver/port/relay_leg.h"
#include "tests/support/sim_agent_end.h"
#include "tests/support/sim_heap.h"
#include "tests/support/sim_relay.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define INSTANCE_ID    0x5eed0001
#define SOCKET_PACKETS 512
#define SOCKET_BYTES   (RELAY_SHIM_BYTES + RELAY_LEG_DATAGRAM_BYTES_MAX)
#define REDIAL_US      (100 * US_PER_MS) /* the first try of backend_port.h */
#define STEPS_MAX      10000

static const uint8_t ring_secret[KEY_RING_SECRET_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};

struct socket_packet {
    size_t len;
    uint8_t data[SOCKET_BYTES];
};

struct sim_cluster {
    struct sim_cluster_config config;
    struct random_generator random;
    struct key_ring *ring;
    struct sim_relay relay;
    struct transceiver_config transceiver;
    struct dtls_identity *identity;
    struct voice_silences silences;
    struct shard_calls calls;
    struct backend_stream_counters stream_counters;
    struct backend_stream *stream; /* NULL: lost */
    uint64_t backend_back_us;      /* when there is another */
    struct sim_agent_end agent;
    uint64_t stalled_until_us;
    struct socket_packet socket[SOCKET_PACKETS]; /* waits while the transceiver is stalled */
    size_t socket_count;
    struct sim_heap heap;
    uint32_t latest_ssrc;     /* of RTP */
    uint32_t latest_reporter; /* of RTCP */
};

/* --- backend ---------------------------------------------------------------------------------- */

static void connect_backend(struct sim_cluster *c, uint64_t now_us)
{
    const struct backend_stream_config config = {.name = "sim",
                                                 .instance_id = INSTANCE_ID,
                                                 .session_capacity =
                                                     call_setup_capacity(&c->transceiver)};
    c->stream = backend_stream_create(&config, &c->stream_counters, now_us);
    assert(c->stream != NULL);
    sim_agent_end_connect(&c->agent, now_us);
}

static bool move_to_backend(struct sim_cluster *c, uint64_t now_us)
{
    struct bytes_view piece[BACKEND_STREAM_PIECES_MAX];
    const size_t count = backend_stream_gather(c->stream, piece, now_us);
    size_t moved = 0;
    bool has_room = true;
    for (size_t i = 0; i < count && has_room; i++) {
        const size_t len = sim_agent_end_input(&c->agent, piece[i], now_us);
        has_room = len == piece[i].len;
        moved += len;
    }
    backend_stream_sent(c->stream, moved, now_us);
    return moved > 0;
}

static bool move_backend_bytes(struct sim_cluster *c, uint64_t now_us)
{
    if (c->stream == NULL) {
        return false;
    }
    bool moved = move_to_backend(c, now_us);
    const struct bytes_view up = sim_agent_end_output(&c->agent, now_us);
    if (up.len > 0) {
        const struct bytes_span room = backend_stream_reserve(c->stream);
        const size_t len = up.len < room.cap ? up.len : room.cap;
        memcpy(room.data, up.data, len);
        backend_stream_commit(c->stream, len);
        sim_agent_end_sent(&c->agent, len, now_us);
        moved = moved || len > 0;
    }
    return moved;
}

/* --- transceiver ------------------------------------------------------------------------------ */

static void to_client(struct sim_cluster *c, struct bytes_view packet, uint64_t now_us)
{
    const struct verdict v = sim_relay_from_transceiver(&c->relay, packet, now_us);
    if (v.action == FORWARD_TO_CLIENT) {
        c->config.observer.to_client(c->config.observer.context, &v.destination, v.datagram);
    }
}

static void drain_outbox(struct sim_cluster *c, uint64_t now_us)
{
    const struct sim_cluster_observer *o = &c->config.observer;
    struct outbox *outbox = c->calls.outbox;
    size_t cursor = 0;
    uint32_t id = 0;
    struct backend_frame frame;
    for (size_t i = 0; i < outbox_datagram_count(outbox); i++) {
        const struct udp_packet packet =
            relay_leg_wrap(c->ring, INSTANCE_ID, outbox_datagram_at(outbox, i));
        to_client(c, bytes_view_of(packet.bytes.data, packet.bytes.len), now_us);
    }
    while (outbox_next_frame(outbox, &cursor, &id, &frame)) {
        if (frame.type == BACKEND_ERROR) {
            sim_heap_excuse(&c->heap); /* once a second, to who asked for it */
        }
        o->frame(o->context, &frame, false);
        if (c->stream != NULL) {
            backend_stream_send(c->stream, &frame, now_us);
        }
    }
    outbox_clear(outbox);
    outbox_set_message_room(outbox,
                            c->stream == NULL ? SIZE_MAX : backend_stream_message_room(c->stream));
    sim_heap_report(&c->heap, c->config.journal, now_us);
}

static void settle(struct sim_cluster *c, struct session *s, uint64_t now_us)
{
    shard_calls_settle(&c->calls, s, now_us);
    drain_outbox(c, now_us);
}

static void take_frames(struct sim_cluster *c, uint64_t now_us)
{
    const struct sim_cluster_observer *o = &c->config.observer;
    struct backend_frame frame;
    while (c->stream != NULL && backend_stream_poll_frame(c->stream, &frame, now_us)) {
        if (c->config.accepts_never && frame.type == BACKEND_SESSION_ACCEPT) {
            continue;
        }
        o->frame(o->context, &frame, true);
        struct session *s = session_registry_find(c->calls.registry, frame.session);
        if (s != NULL) {
            sim_heap_begin(&c->heap);
            if (!session_input_frame(s, &frame, now_us)) {
                backend_stream_refuse(c->stream, &frame, now_us);
            }
            if (frame.type >= BACKEND_AUDIO_IN) {
                sim_heap_end(&c->heap, s, "a frame of the backend", now_us);
                if (frame.type == BACKEND_EVENT) {
                    sim_heap_excuse(&c->heap); /* it may wait for the client's channel */
                }
                if (frame.type == BACKEND_AUDIO_OUT) {
                    sim_heap_excuse_words(&c->heap, now_us);
                }
            }
            settle(c, s, now_us);
        }
    }
}

static void tick_sessions(struct sim_cluster *c, uint64_t now_us)
{
    uint32_t id = 0;
    while ((id = session_registry_take_due(c->calls.registry, now_us)) != 0) {
        struct session *s = session_registry_find(c->calls.registry, id);
        sim_heap_begin(&c->heap);
        session_tick(s, now_us);
        sim_heap_end(&c->heap, s, "a tick", now_us);
        if (session_next_timeout(s) <= now_us) {
            sim_journal_fault(c->config.journal, now_us, "a tick at the deadline makes progress");
        }
        settle(c, s, now_us);
    }
}

/* --- relay ------------------------------------------------------------------------------------ */

/* libsrtp makes a stream for each SSRC. */
static uint32_t ssrc_of(const struct bytes_span *datagram, size_t offset)
{
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(datagram->data, datagram->len));
    byte_reader_skip(&r, offset);
    return byte_reader_u32(&r);
}

/* The SSRC that was taken last, of RTP or RTCP, and where it stands; NULL: it has none. */
static uint32_t *latest_ssrc(struct sim_cluster *c, const struct bytes_span *datagram,
                             size_t *out_offset)
{
    const enum datagram_kind kind = datagram_kind_of(bytes_view_of(datagram->data, datagram->len));
    *out_offset = kind == DATAGRAM_RTP ? 8 : 4;
    return kind == DATAGRAM_RTP    ? &c->latest_ssrc
           : kind == DATAGRAM_RTCP ? &c->latest_reporter
                                   : NULL;
}

static void from_relay(struct sim_cluster *c, uint8_t *packet, size_t len, uint64_t now_us)
{
    const struct sim_cluster_observer *o = &c->config.observer;
    struct relay_leg_uplink uplink;
    const struct udp_arrival received = {packet, len, c->relay.config.internal};
    const enum relay_leg_result result = relay_leg_unwrap(c->ring, INSTANCE_ID, &received, &uplink);
    assert(result == RELAY_LEG_OK);
    (void)result;
    struct session *s = session_registry_find(c->calls.registry, uplink.session_id);
    if (s == NULL) {
        return;
    }
    size_t offset = 0;
    uint32_t *latest = latest_ssrc(c, &uplink.datagram, &offset);
    const uint32_t ssrc = latest == NULL ? 0 : ssrc_of(&uplink.datagram, offset);
    sim_heap_begin(&c->heap);
    const enum client_leg_result taken =
        session_input_datagram(s, &uplink.datagram, &uplink.path, now_us);
    if (taken != CLIENT_LEG_DTLS && (latest == NULL || ssrc == *latest)) {
        sim_heap_end(&c->heap, s, client_leg_result_name(taken), now_us);
    }
    if (taken == CLIENT_LEG_RTP || taken == CLIENT_LEG_RTCP) {
        *latest = ssrc;
    }
    o->arrived(o->context, uplink.session_id,
               bytes_view_of(uplink.datagram.data, uplink.datagram.len), taken);
    settle(c, s, now_us);
}

void sim_cluster_input(struct sim_cluster *c, const struct net_addr *from,
                       struct bytes_view datagram, uint64_t now_us)
{
    struct socket_packet full; /* what does not fit is lost behind the relay */
    struct socket_packet *p =
        c->socket_count < SOCKET_PACKETS ? &c->socket[c->socket_count] : &full;
    p->len = sim_relay_from_client(&c->relay, from, datagram, p->data, now_us);
    if (p->len == 0 || p == &full) {
        return;
    }
    if (now_us < c->stalled_until_us) {
        c->socket_count++;
    } else {
        from_relay(c, p->data, p->len, now_us);
    }
}

void sim_cluster_restart_relay(struct sim_cluster *c)
{
    sim_relay_restart(&c->relay);
}

/* --- life ------------------------------------------------------------------------------------- */

static bool init_once(struct fault *fault)
{
    static bool is_done;
    if (!is_done) {
        log_open("sim", LOG_ERROR, LOG_TEXT);
        is_done = srtp_transport_init(fault);
    }
    return is_done;
}

static void create_transceiver(struct sim_cluster *c)
{
    struct fault fault = {0};
    c->transceiver = (struct transceiver_config){
        .cluster_id = SIM_RELAY_CLUSTER_ID,
        .shard_count = 1,
        .session_count_max = 4 * c->config.call_count_max, /* a quarter may be in set-up */
        .call_duration_max_us =
            c->config.duration_max_us == 0 ? 3600 * US_PER_S : c->config.duration_max_us,
        .setup_timeout_us = 30 * US_PER_S,
        .credit_us = 10 * US_PER_S,
        .has_red = true,
        .bitrate_bps = c->config.bitrate_bps,
        .idle_sparse = c->config.idle_sparse,
        .event_channel = "oai-events",
        .complexity = c->config.complexity,
    };
    bool good = init_once(&fault) && voice_silences_make(&c->silences);
    c->identity = dtls_identity_create(&fault);
    const struct shard_calls_config config = {
        .config = &c->transceiver,
        .instance_id = INSTANCE_ID,
        .key_ring = c->ring,
        .identity = c->identity,
        .silences = &c->silences,
        .random = random_seeded(&c->random),
    };
    good = good && c->identity != NULL && shard_calls_init(&c->calls, &config);
    assert(good);
    (void)good;
}

struct sim_cluster *sim_cluster_create(const struct sim_cluster_config *config, uint64_t now_us)
{
    struct sim_cluster *c = calloc(1, sizeof(*c));
    assert(c != NULL);
    c->config = *config;
    c->heap.allocations = config->allocations;
    random_generator_init(&c->random, config->seed);
    c->ring = key_ring_from_secret(7, ring_secret);
    sim_relay_init(&c->relay, c->ring, random_seeded(&c->random));
    create_transceiver(c);
    const struct sim_agent_end_config agent = {.script = config->agent,
                                               .mode = config->mode,
                                               .tone_hz = config->tone_hz,
                                               .sessions_max = (unsigned)config->call_count_max,
                                               .rejects = config->rejects,
                                               .keeps_calls = config->keeps_calls};
    sim_agent_end_init(&c->agent, &agent);
    connect_backend(c, now_us);
    sim_relay_announce(&c->relay, INSTANCE_ID, now_us);
    while (move_backend_bytes(c, now_us)) {
        take_frames(c, now_us);
    }
    return c;
}

void sim_cluster_destroy(struct sim_cluster *c)
{
    sim_relay_deinit(&c->relay);
    shard_calls_deinit(&c->calls);
    backend_stream_destroy(c->stream);
    sim_agent_end_deinit(&c->agent);
    dtls_identity_destroy(c->identity);
    key_ring_destroy(c->ring);
    free(c);
}

/* --- calls ------------------------------------------------------------------------------------ */

uint32_t sim_cluster_place_call(struct sim_cluster *c, const char *call_id, const char *offer,
                                struct bytes_view *answer, uint64_t now_us)
{
    struct control_request request = {.kind = CONTROL_CREATE_SESSION};
    struct control_create_session *create = &request.body.create_session;
    struct control_reply reply;
    (void)snprintf(create->call_id, sizeof(create->call_id), "%s", call_id);
    create->offer_sdp = bytes_view_of_text(offer);
    create->ingress[0].address = c->relay.config.listen[0];
    create->ingress_count = 1;
    shard_calls_answer(&c->calls, &request, c->stream != NULL && backend_stream_is_up(c->stream),
                       &reply, now_us);
    assert(reply.refusal == CONTROL_REFUSAL_NONE);
    *answer = reply.answer_sdp;
    drain_outbox(c, now_us);
    return reply.session_id;
}

void sim_cluster_end_call(struct sim_cluster *c, const char *call_id, uint64_t now_us)
{
    struct control_request request = {.kind = CONTROL_END_SESSION};
    struct control_reply reply;
    struct control_end_session *end = &request.body.end_session;
    (void)snprintf(end->call.call_id, sizeof(end->call.call_id), "%s", call_id);
    shard_calls_answer(&c->calls, &request, true, &reply, now_us);
    drain_outbox(c, now_us);
}

enum control_refusal sim_cluster_restart_ice(struct sim_cluster *c, const char *call_id,
                                             const char *fragment, struct bytes_view *out,
                                             uint64_t now_us)
{
    struct control_request request = {.kind = CONTROL_UPDATE_SESSION};
    struct control_reply reply;
    struct control_update_session *update = &request.body.update_session;
    (void)snprintf(update->call.call_id, sizeof(update->call.call_id), "%s", call_id);
    update->sdpfrag = bytes_view_of_text(fragment);
    update->restarts_ice = true;
    shard_calls_answer(&c->calls, &request, true, &reply, now_us);
    drain_outbox(c, now_us);
    *out = reply.sdpfrag;
    return reply.refusal;
}

void sim_cluster_lose_backend(struct sim_cluster *c, uint64_t back_us, uint64_t now_us)
{
    size_t cursor = 0;
    uint32_t id = 0;
    struct backend_stream *lost = c->stream;
    c->stream = NULL;
    c->backend_back_us = back_us;
    if (c->config.observer.backend_lost != NULL) {
        c->config.observer.backend_lost(c->config.observer.context, now_us);
    }
    sim_agent_end_lose(&c->agent, now_us);
    while (lost != NULL && backend_stream_next_session(lost, &cursor, &id)) {
        shard_calls_backend_lost(&c->calls, id, now_us);
        drain_outbox(c, now_us);
    }
    backend_stream_destroy(lost);
}

static void return_backend(struct sim_cluster *c, uint64_t now_us)
{
    if (c->stream == NULL && now_us >= c->backend_back_us) {
        connect_backend(c, now_us);
    }
}

/* A backend is there for the calls that lost theirs. */
static void move_sessions(struct sim_cluster *c, uint64_t now_us)
{
    if (c->stream != NULL && c->calls.has_homeless) {
        shard_calls_backend_found(&c->calls, backend_stream_can_resume(c->stream),
                                  backend_stream_room(c->stream), now_us);
        drain_outbox(c, now_us);
    }
}

void sim_cluster_stall(struct sim_cluster *c, uint64_t until_us)
{
    c->stalled_until_us = until_us;
}

/* --- time ------------------------------------------------------------------------------------- */

void sim_cluster_tick(struct sim_cluster *c, uint64_t now_us)
{
    forwarder_tick(c->relay.forwarder, now_us);
    return_backend(c, now_us);
    sim_agent_end_tick(&c->agent, now_us);
    if (now_us < c->stalled_until_us) {
        return;
    }
    for (size_t i = 0; i < c->socket_count; i++) {
        from_relay(c, c->socket[i].data, c->socket[i].len, now_us);
    }
    c->socket_count = 0;
    if (c->stream != NULL) {
        backend_stream_tick(c->stream, now_us);
    }
    tick_sessions(c, now_us);
    for (int steps = 0; move_backend_bytes(c, now_us); steps++) {
        assert(steps < STEPS_MAX);
        take_frames(c, now_us);
        move_sessions(c, now_us);
    }
    if (c->stream != NULL && backend_stream_failure(c->stream) != NULL) {
        sim_cluster_lose_backend(c, now_us + REDIAL_US, now_us);
    }
}

uint64_t sim_cluster_next_timeout(const struct sim_cluster *c)
{
    const uint64_t agent_us = sim_agent_end_next_timeout(&c->agent);
    const uint64_t link_us =
        c->stream == NULL ? c->backend_back_us : backend_stream_next_timeout(c->stream);
    uint64_t own_us = time_earlier(session_registry_next_deadline(c->calls.registry), link_us);
    if (c->stream != NULL && sim_agent_end_has_words(&c->agent)) {
        own_us = 0;
    }
    return time_earlier(agent_us, time_later(own_us, c->stalled_until_us));
}

struct session *sim_cluster_session(const struct sim_cluster *c, uint32_t session_id)
{
    return session_registry_find(c->calls.registry, session_id);
}

const struct shard_counters *sim_cluster_counters(const struct sim_cluster *c)
{
    return &c->calls.counters;
}
