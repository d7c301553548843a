/* sim_fleet.c - see sim_fleet.h */
#include "tests/support/sim_fleet.h"

#include "common/runtime/log.h"
#include "services/inference-stub/stub_link.h"
#include "services/relay/forwarder.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "services/transceiver/port/backend_stream.h"
#include "services/transceiver/port/relay_leg.h"
#include "tests/lossy_link.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define AT_CLIENT   0
#define AT_RELAY    1
#define SLOT_US     (20 * US_PER_MS)
#define TONE_STEP   50
#define KINDS       (DATAGRAM_RTCP + 1)
#define INSTANCE_ID 0x5eed0001
#define CLUSTER_ID  1
#define START_US    (10 * US_PER_S)
/* More than this many changes at one instant is a loop that makes no progress. */
#define STEPS_AT_ONCE_MAX 10000

/* A client, its way to the relay, and its call. */
struct seat {
    struct sim_client *client;
    struct lossy_link link;
    uint32_t session_id;
    uint64_t phase_us;
    size_t overheard_bytes[KINDS];
    uint8_t overheard[KINDS][SIM_CLIENT_PACKET_CAP];
};

struct sim_fleet {
    struct sim_fleet_config config;
    uint64_t now_us;
    struct random_generator random;
    struct seat seat[SIM_FLEET_CLIENTS_MAX];
    size_t seat_count;
    uint64_t verdicts[CLIENT_LEG_RESULT_COUNT];
    uint64_t strays;
    struct sim_frame frames[SIM_FLEET_FRAMES_MAX];
    size_t frame_count;
    struct key_ring *ring;
    struct forwarder_config relay_config;
    struct forwarder *relay;
    struct transceiver_config transceiver;
    struct dtls_identity *identity;
    struct voice_silences silences;
    struct shard_calls calls;
    struct backend_stream_counters stream_counters;
    struct backend_stream *stream;
    struct stub_counters stub_counters;
    struct stub_behaviour behaviour;
    struct stub_link *stub;
};

/* What the agent of the parrot mode greets with: two seconds that can be told from any client. */
static int16_t greeting[2 * 16000];

static const uint8_t ring_secret[KEY_RING_SECRET_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};

static struct net_addr address(const char *text)
{
    struct net_addr a;
    const bool good = net_addr_parse(text, &a);
    assert(good);
    (void)good;
    return a;
}

/* --- backend ---------------------------------------------------------------------------------- */

static bool move_backend_bytes(struct sim_fleet *f)
{
    bool moved = false;
    const struct bytes_view down = backend_stream_output(f->stream);
    if (down.len > 0) {
        const struct bytes_span room = stub_link_reserve(f->stub);
        const size_t len = down.len < room.cap ? down.len : room.cap;
        memcpy(room.data, down.data, len);
        stub_link_commit(f->stub, len, f->now_us);
        backend_stream_sent(f->stream, len, f->now_us);
        moved = len > 0;
    }
    const struct bytes_view up = stub_link_output(f->stub, f->now_us);
    if (up.len > 0) {
        const struct bytes_span room = backend_stream_reserve(f->stream);
        const size_t len = up.len < room.cap ? up.len : room.cap;
        memcpy(room.data, up.data, len);
        backend_stream_commit(f->stream, len, f->now_us);
        stub_link_sent(f->stub, len, f->now_us);
        moved = moved || len > 0;
    }
    return moved;
}

static void connect_backend(struct sim_fleet *f)
{
    const struct backend_stream_config config = {.name = "sim",
                                                 .instance_id = INSTANCE_ID,
                                                 .session_capacity =
                                                     call_setup_capacity(&f->transceiver)};
    f->stream = backend_stream_create(&config, &f->stream_counters, f->now_us);
    f->stub = stub_link_create(&f->behaviour, "sim", f->now_us);
    assert(f->stream != NULL && f->stub != NULL);
}

/* --- transceiver ------------------------------------------------------------------------------ */

static struct seat *find_seat(struct sim_fleet *f, const struct net_addr *client)
{
    for (size_t i = 0; i < f->seat_count; i++) {
        const struct net_addr own = sim_client_address(f->seat[i].client);
        if (net_addr_equal(&own, client)) {
            return &f->seat[i];
        }
    }
    return NULL;
}

static void to_client(struct sim_fleet *f, struct bytes_view packet)
{
    const struct net_addr transceiver = address("10.0.0.2:4000");
    const struct verdict v = forwarder_from_transceiver(f->relay, packet, &transceiver, f->now_us);
    if (v.action != FORWARD_TO_CLIENT) {
        return;
    }
    struct seat *seat = find_seat(f, &v.destination);
    if (seat == NULL) {
        f->strays++;
        return;
    }
    if (datagram_kind_of(v.datagram) == DATAGRAM_RTP) {
        seat->phase_us = f->now_us % SLOT_US;
    }
    lossy_link_send(&seat->link, AT_CLIENT, v.datagram, f->now_us);
}

static void log_frame(struct sim_fleet *f, const struct backend_frame *frame, bool is_from_backend)
{
    if (frame->type == BACKEND_AUDIO_IN || f->frame_count == SIM_FLEET_FRAMES_MAX) {
        return;
    }
    struct sim_frame *out = &f->frames[f->frame_count++];
    *out = (struct sim_frame){.at_us = f->now_us,
                              .is_from_backend = is_from_backend,
                              .type = frame->type,
                              .session = frame->session,
                              .utterance = frame->utterance,
                              .payload_bytes = frame->payload.len};
    const size_t room = sizeof(out->payload) - 1;
    if (frame->payload.len > 0) {
        memcpy(out->payload, frame->payload.data,
               frame->payload.len < room ? frame->payload.len : room);
    }
}

static void drain_outbox(struct sim_fleet *f)
{
    size_t cursor = 0;
    uint32_t id = 0;
    struct backend_frame frame;
    for (size_t i = 0; i < outbox_datagram_count(f->calls.outbox); i++) {
        const struct udp_sending sending =
            relay_leg_wrap(f->ring, INSTANCE_ID, outbox_datagram_at(f->calls.outbox, i));
        to_client(f, sending.datagram);
    }
    while (outbox_next_frame(f->calls.outbox, &cursor, &id, &frame)) {
        log_frame(f, &frame, false);
        backend_stream_send(f->stream, &frame);
    }
    outbox_clear(f->calls.outbox);
}

static void settle(struct sim_fleet *f, struct session *s)
{
    shard_calls_settle(&f->calls, s, f->now_us);
    drain_outbox(f);
}

static void take_frames(struct sim_fleet *f)
{
    struct backend_frame frame;
    while (backend_stream_poll_frame(f->stream, &frame, f->now_us)) {
        if (f->config.backend_accepts_never && frame.type == BACKEND_SESSION_ACCEPT) {
            continue;
        }
        log_frame(f, &frame, true);
        struct session *s = session_registry_find(f->calls.registry, frame.session);
        if (s != NULL) {
            session_input_frame(s, &frame, f->now_us);
            settle(f, s);
        }
    }
}

/* --- relay ------------------------------------------------------------------------------------ */

static void from_client(struct sim_fleet *f, const struct net_addr *from,
                        struct bytes_view datagram)
{
    uint8_t packet[RELAY_SHIM_BYTES + 1500 + UDP_PORT_SPARE_BYTES];
    struct relay_leg_uplink uplink;
    const struct verdict v = forwarder_from_client(f->relay, datagram, from, 0, f->now_us);
    if (v.action != FORWARD_TO_TRANSCEIVER) {
        return;
    }
    forwarder_write_shim(f->relay, &v, from, packet);
    memcpy(packet + RELAY_SHIM_BYTES, v.datagram.data, v.datagram.len);
    const struct udp_received received = {
        .datagram = {packet, RELAY_SHIM_BYTES + v.datagram.len, sizeof(packet)},
        .from = f->relay_config.internal,
    };
    const enum relay_leg_result result = relay_leg_unwrap(f->ring, INSTANCE_ID, &received, &uplink);
    assert(result == RELAY_LEG_OK);
    (void)result;
    struct session *s = session_registry_find(f->calls.registry, uplink.session_id);
    if (s != NULL) {
        f->verdicts[session_input_datagram(s, &uplink.datagram, &uplink.path, f->now_us)]++;
        settle(f, s);
    }
}

static void create_relay(struct sim_fleet *f)
{
    f->relay =
        forwarder_create(&f->relay_config, key_ring_copy(f->ring), random_seeded(&f->random));
    assert(f->relay != NULL);
}

void sim_fleet_restart_relay(struct sim_fleet *f)
{
    forwarder_destroy(f->relay);
    create_relay(f);
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

static void create_transceiver(struct sim_fleet *f)
{
    struct fault fault = {0};
    f->transceiver = (struct transceiver_config){
        .cluster_id = CLUSTER_ID,
        .shard_count = 1,
        .session_count_max = 4 * SIM_FLEET_CLIENTS_MAX, /* a quarter may be in set-up */
        .call_duration_max_us =
            f->config.duration_max_us == 0 ? 3600 * US_PER_S : f->config.duration_max_us,
        .setup_timeout_us = 30 * US_PER_S,
        .credit_us = 10 * US_PER_S,
    };
    f->identity = dtls_identity_create(&fault);
    bool good = init_once(&fault) && voice_silences_make(&f->silences);
    const struct shard_calls_config config = {
        .config = &f->transceiver,
        .instance_id = INSTANCE_ID,
        .key_ring = f->ring,
        .identity = f->identity,
        .silences = &f->silences,
        .random = random_seeded(&f->random),
    };
    good = good && f->identity != NULL && shard_calls_init(&f->calls, &config);
    assert(good);
    (void)good;
}

static void seat_client(struct sim_fleet *f, size_t number)
{
    struct seat *seat = &f->seat[number];
    struct sim_client_config client = f->config.client;
    seat->link = (struct lossy_link){.loss_per_mille = f->config.loss_per_mille,
                                     .repeat_per_mille = f->config.repeat_per_mille,
                                     .delay_us = f->config.delay_us,
                                     .jitter_us = f->config.jitter_us};
    random_generator_init(&seat->link.seed, f->config.seed + 1 + 100 * number);
    client.address = address("203.0.113.77:51870");
    client.address.port = (uint16_t)(client.address.port + number);
    client.seed = f->config.seed + 2 + 100 * number;
    client.tone_hz = SIM_CLIENT_TONE_HZ + TONE_STEP * (unsigned)number;
    seat->client = sim_client_create(&client);
}

static void place_call(struct sim_fleet *f, size_t number)
{
    struct seat *seat = &f->seat[number];
    struct control_request request = {.kind = CONTROL_CREATE_SESSION};
    struct control_create_session *create = &request.body.create_session;
    struct control_reply reply;
    (void)snprintf(create->call_id, sizeof(create->call_id), "rtc_sim%zu", number);
    create->offer_sdp = bytes_view_of_text(sim_client_offer(seat->client));
    create->ingress[0].address = f->relay_config.listen[0];
    create->ingress_count = 1;
    shard_calls_answer(&f->calls, &request, backend_stream_is_up(f->stream), &reply, f->now_us);
    assert(reply.refusal == CONTROL_REFUSAL_NONE);
    seat->session_id = reply.session_id;
    const bool good = sim_client_answer(seat->client, reply.answer_sdp, f->now_us);
    assert(good);
    (void)good;
    drain_outbox(f);
}

static void announce(struct sim_fleet *f)
{
    const struct route_announcement a = {
        .instance_id = INSTANCE_ID,
        .cluster_id = CLUSTER_ID,
        .shard_count = 1,
        .media_address = address("10.0.0.2:4000"),
        .start_time_unix_us = 1,
        .sequence = 1,
    };
    const enum route_result result = forwarder_announce(f->relay, &a, f->now_us);
    assert(route_result_is_taken(result));
    (void)result;
}

static void make_greeting(void)
{
    for (size_t i = 0; i < COUNT_OF(greeting); i++) {
        greeting[i] = (int16_t)(8000 * sin(2 * M_PI * 1000 * (double)i / 16000));
    }
}

struct sim_fleet *sim_fleet_create(const struct sim_fleet_config *config)
{
    struct sim_fleet *f = calloc(1, sizeof(*f));
    f->config = *config;
    f->now_us = START_US;
    random_generator_init(&f->random, config->seed);
    f->ring = key_ring_from_secret(7, ring_secret);
    f->seat_count = config->client_count == 0 ? 1 : config->client_count;
    assert(f->seat_count <= SIM_FLEET_CLIENTS_MAX);
    for (size_t i = 0; i < f->seat_count; i++) {
        seat_client(f, i);
    }
    make_greeting();
    f->relay_config = (struct forwarder_config){
        .cluster_id = CLUSTER_ID,
        .flow_cap = 256,
        .source_flows_per_s = 200,
        .source_flows_burst = 400,
        .listen = {address("198.51.100.1:3478")},
        .listen_count = 1,
        .internal = address("10.0.0.1:3500"),
        .transceiver_networks = {.count = 1},
    };
    const bool good = net_block_parse("10.0.0.0/8", &f->relay_config.transceiver_networks.block[0]);
    assert(good);
    (void)good;
    create_relay(f);
    create_transceiver(f);
    f->behaviour =
        (struct stub_behaviour){.mode = config->mode,
                                .mode_name = "sim",
                                .tone_hz = config->tone_hz,
                                .greeting_16k = {greeting, COUNT_OF(greeting)},
                                .greeting_24k = {greeting, COUNT_OF(greeting)},
                                .sessions_max = config->backend_rejects ? 0 : SIM_FLEET_CLIENTS_MAX,
                                .counters = &f->stub_counters};
    connect_backend(f);
    announce(f);
    while (move_backend_bytes(f)) {
        take_frames(f);
    }
    for (size_t i = 0; i < f->seat_count; i++) {
        place_call(f, i);
    }
    return f;
}

void sim_fleet_destroy(struct sim_fleet *f)
{
    for (size_t i = 0; i < f->seat_count; i++) {
        sim_client_destroy(f->seat[i].client);
    }
    forwarder_destroy(f->relay);
    shard_calls_deinit(&f->calls);
    backend_stream_destroy(f->stream);
    stub_link_destroy(f->stub);
    dtls_identity_destroy(f->identity);
    key_ring_destroy(f->ring);
    free(f);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void drain_client(struct sim_fleet *f, struct seat *seat)
{
    uint8_t packet[SIM_CLIENT_PACKET_CAP];
    struct net_addr from;
    struct net_addr to;
    size_t len = 0;
    while ((len = sim_client_take(seat->client, packet, &from, &to)) > 0) {
        const enum datagram_kind kind = datagram_kind_of(bytes_view_of(packet, len));
        memcpy(seat->overheard[kind], packet, len);
        seat->overheard_bytes[kind] = len;
        lossy_link_send(&seat->link, AT_RELAY, bytes_view_of(packet, len), f->now_us);
    }
}

static void deliver(struct sim_fleet *f, struct seat *seat)
{
    struct lossy_datagram d;
    while (lossy_link_take(&seat->link, f->now_us, &d)) {
        const struct bytes_view datagram = bytes_view_of(d.data, d.len);
        if (d.to == AT_CLIENT) {
            sim_client_input(seat->client, datagram, f->now_us);
            drain_client(f, seat);
        } else {
            const struct net_addr from = sim_client_address(seat->client);
            from_client(f, &from, datagram);
        }
    }
}

static void tick(struct sim_fleet *f)
{
    uint32_t id = 0;
    for (size_t i = 0; i < f->seat_count; i++) {
        sim_client_tick(f->seat[i].client, f->now_us);
        drain_client(f, &f->seat[i]);
    }
    forwarder_tick(f->relay, f->now_us);
    backend_stream_tick(f->stream, f->now_us);
    stub_link_tick(f->stub, f->now_us);
    while ((id = session_registry_take_due(f->calls.registry, f->now_us)) != 0) {
        struct session *s = session_registry_find(f->calls.registry, id);
        session_tick(s, f->now_us);
        settle(f, s);
    }
    for (int steps = 0; move_backend_bytes(f); steps++) {
        assert(steps < STEPS_AT_ONCE_MAX);
        take_frames(f);
    }
}

static uint64_t next_us(struct sim_fleet *f)
{
    uint64_t next = TIME_NEVER;
    for (size_t i = 0; i < f->seat_count; i++) {
        next = time_earlier(next, lossy_link_next_us(&f->seat[i].link));
        next = time_earlier(next, sim_client_next_timeout(f->seat[i].client));
    }
    next = time_earlier(next, session_registry_next_deadline(f->calls.registry));
    next = time_earlier(next, backend_stream_next_timeout(f->stream));
    return time_earlier(next, stub_link_next_timeout(f->stub));
}

void sim_fleet_run(struct sim_fleet *f, uint64_t until_us)
{
    int steps = 0;
    while (f->now_us < until_us) {
        const uint64_t next = time_earlier(next_us(f), until_us);
        steps = next > f->now_us ? 0 : steps + 1;
        assert(steps < STEPS_AT_ONCE_MAX);
        f->now_us = time_later(next, f->now_us);
        sim_fleet_set_time(f->now_us);
        for (size_t i = 0; i < f->seat_count; i++) {
            deliver(f, &f->seat[i]);
        }
        tick(f);
    }
}

uint64_t sim_fleet_now(const struct sim_fleet *f)
{
    return f->now_us;
}

struct sim_client *sim_fleet_client(struct sim_fleet *f)
{
    return f->seat[0].client;
}

struct session *sim_fleet_session(struct sim_fleet *f)
{
    return sim_fleet_session_at(f, 0);
}

struct sim_client *sim_fleet_client_at(struct sim_fleet *f, size_t number)
{
    assert(number < f->seat_count);
    return f->seat[number].client;
}

struct session *sim_fleet_session_at(struct sim_fleet *f, size_t number)
{
    assert(number < f->seat_count);
    return session_registry_find(f->calls.registry, f->seat[number].session_id);
}

uint64_t sim_fleet_phase_us(const struct sim_fleet *f, size_t number)
{
    assert(number < f->seat_count);
    return f->seat[number].phase_us;
}

uint64_t sim_fleet_verdicts(const struct sim_fleet *f, enum client_leg_result result)
{
    return f->verdicts[result];
}

uint64_t sim_fleet_strays(const struct sim_fleet *f)
{
    return f->strays;
}

const struct sim_frame *sim_fleet_frames(const struct sim_fleet *f, size_t *out_count)
{
    *out_count = f->frame_count;
    return f->frames;
}

struct bytes_view sim_fleet_overheard(const struct sim_fleet *f, enum datagram_kind kind)
{
    return bytes_view_of(f->seat[0].overheard[kind], f->seat[0].overheard_bytes[kind]);
}

const struct shard_counters *sim_fleet_counters(const struct sim_fleet *f)
{
    return &f->calls.counters;
}

void sim_fleet_set_loss(struct sim_fleet *f, unsigned loss_per_mille)
{
    f->seat[0].link.loss_per_mille = loss_per_mille;
}

void sim_fleet_lose_backend(struct sim_fleet *f)
{
    size_t cursor = 0;
    struct session *s = NULL;
    backend_stream_destroy(f->stream);
    stub_link_destroy(f->stub);
    connect_backend(f);
    while ((s = session_registry_next(f->calls.registry, &cursor)) != NULL) {
        session_backend_lost(s, f->now_us);
        settle(f, s);
    }
}

void sim_fleet_hang_up(struct sim_fleet *f)
{
    struct control_request request = {.kind = CONTROL_END_SESSION};
    struct control_reply reply;
    (void)snprintf(request.body.end_session.call.call_id,
                   sizeof(request.body.end_session.call.call_id), "rtc_sim0");
    shard_calls_answer(&f->calls, &request, true, &reply, f->now_us);
    drain_outbox(f);
}

void sim_fleet_inject(struct sim_fleet *f, const struct net_addr *from, struct bytes_view datagram)
{
    from_client(f, from, datagram);
}
