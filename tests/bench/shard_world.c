/* shard_world.c - see shard_world.h */
#include "tests/bench/shard_world.h"

#include "common/runtime/log.h"
#include "services/inference-stub/stub_link.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "services/transceiver/port/backend_stream.h"
#include "services/transceiver/port/relay_leg.h"
#include "services/transceiver/port/shard_calls.h"
#include "tests/bench/bench.h"
#include "tests/support/sim_client.h"

#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define INSTANCE_ID   0x5eed0001
#define START_US      (10 * US_PER_S)
#define SETUP_US      (2 * US_PER_S)
#define SLICE_US      (20 * US_PER_MS)
#define DATAGRAMS_MAX 1024   /* of a slice, one way */
#define WORDS_MAX     262144 /* bytes of the agent in a slice; the rest waits */
#define FIRST_PORT    40000  /* of the clients */

/* What goes one way in a slice. */
struct parcel {
    uint64_t time_us;
    size_t len;
    uint8_t data[RELAY_SHIM_BYTES + SIM_CLIENT_PACKET_CAP];
};

struct parcels {
    size_t count;
    struct parcel *parcel;
};

struct shard_world {
    uint64_t now_us;
    size_t call_count; /* placed so far */
    bool has_data;
    uint16_t event_stream; /* of each client alike */
    bool is_freed;         /* the shard */
    size_t capacity;
    struct net_addr relay;
    struct key_ring *ring;
    struct random_generator random;
    struct transceiver_config config;
    struct dtls_identity *identity;
    struct voice_silences silences;
    struct shard_calls calls;
    uint32_t session_id[SHARD_WORLD_CALLS_MAX];
    struct sim_client *client[SHARD_WORLD_CALLS_MAX];
    struct parcels up;
    struct parcels down;
    struct backend_stream_counters stream_counters;
    struct backend_stream *stream;
    struct stub_counters stub_counters;
    struct stub_behaviour behaviour;
    struct stub_link *stub;
    size_t words_len;
    uint8_t words[WORDS_MAX]; /* of the agent, for the next slice */
};

static struct net_addr address(const char *text, size_t port)
{
    struct net_addr a;
    const bool is_address = net_addr_parse_ip(text, (uint16_t)port, &a);
    assert(is_address);
    return a;
}

/* --- the world around ------------------------------------------------------------------------- */

/* What a client has to say now, with the relay's shim in front. */
static void take_from_client(struct shard_world *w, size_t index, uint64_t now_us)
{
    struct net_addr from;
    struct net_addr to;
    uint8_t datagram[SIM_CLIENT_PACKET_CAP];
    size_t len = 0;
    while ((len = sim_client_take(w->client[index], datagram, &from, &to)) > 0) {
        assert(w->up.count < DATAGRAMS_MAX);
        struct parcel *p = &w->up.parcel[w->up.count++];
        const struct relay_shim shim = {.datagram_bytes = (uint16_t)len,
                                        .instance_id = INSTANCE_ID,
                                        .session_id = w->session_id[index],
                                        .client = from};
        relay_shim_write(w->ring, &shim, p->data);
        memcpy(p->data + RELAY_SHIM_BYTES, datagram, len);
        p->len = RELAY_SHIM_BYTES + len;
        p->time_us = now_us;
    }
}

static void run_clients(struct shard_world *w, uint64_t until_us)
{
    for (size_t i = 0; i < w->call_count; i++) {
        uint64_t next_us = 0;
        while ((next_us = sim_client_next_timeout(w->client[i])) < until_us) {
            const uint64_t now_us = time_later(next_us, w->now_us);
            sim_client_tick(w->client[i], now_us);
            take_from_client(w, i, now_us);
        }
    }
}

/* What is said to it is of no interest, but it must be heard. */
static void hear_data(struct shard_world *w, size_t index)
{
    struct sim_data_message message;
    while (w->has_data && sim_data_take(sim_client_data(w->client[index]), &message)) {
    }
}

static void tell_clients(struct shard_world *w)
{
    for (size_t i = 0; i < w->down.count; i++) {
        const struct parcel *p = &w->down.parcel[i];
        struct relay_shim shim;
        const enum relay_shim_result result =
            relay_shim_read(w->ring, bytes_view_of(p->data, p->len), &shim);
        assert(result == RELAY_SHIM_OK);
        const size_t index = (size_t)shim.client.port - FIRST_PORT;
        const struct bytes_view datagram =
            bytes_view_of(p->data + RELAY_SHIM_BYTES, shim.datagram_bytes);
        if (datagram.len > 0) { /* else it is an announcement */
            sim_client_input(w->client[index], datagram, w->now_us);
            hear_data(w, index);
            take_from_client(w, index, w->now_us);
        }
    }
    w->down.count = 0;
}

static void tell_piece(struct shard_world *w, struct bytes_view words)
{
    size_t told = 0;
    while (told < words.len) {
        const struct bytes_span room = stub_link_reserve(w->stub);
        const size_t len = room.cap < words.len - told ? room.cap : words.len - told;
        assert(len > 0);
        memcpy(room.data, words.data + told, len);
        stub_link_commit(w->stub, len, w->now_us);
        told += len;
    }
}

static void tell_agent(struct shard_world *w)
{
    struct bytes_view piece[BACKEND_STREAM_PIECES_MAX];
    while (backend_stream_has_output(w->stream)) {
        const size_t count = backend_stream_gather(w->stream, piece, w->now_us);
        size_t told = 0;
        for (size_t i = 0; i < count; i++) {
            tell_piece(w, piece[i]);
            told += piece[i].len;
        }
        backend_stream_sent(w->stream, told, w->now_us);
    }
    stub_link_tick(w->stub, w->now_us);
}

static int compare_time(const void *a, const void *b)
{
    const struct parcel *x = a;
    const struct parcel *y = b;
    return (x->time_us > y->time_us) - (x->time_us < y->time_us);
}

static void hear_agent(struct shard_world *w)
{
    w->words_len = 0;
    struct bytes_view words = stub_link_output(w->stub, w->now_us);
    while (words.len > 0 && w->words_len < WORDS_MAX) {
        const size_t room = WORDS_MAX - w->words_len;
        const size_t len = words.len < room ? words.len : room;
        memcpy(w->words + w->words_len, words.data, len);
        w->words_len += len;
        stub_link_sent(w->stub, len, w->now_us);
        words = stub_link_output(w->stub, w->now_us);
    }
}

/* --- the shard, measured ---------------------------------------------------------------------- */

static void drain(struct shard_world *w)
{
    size_t cursor = 0;
    uint32_t id = 0;
    struct backend_frame frame;
    for (size_t i = 0; i < outbox_datagram_count(w->calls.outbox); i++) {
        assert(w->down.count < DATAGRAMS_MAX);
        struct parcel *p = &w->down.parcel[w->down.count++];
        const struct udp_packet packet =
            relay_leg_wrap(w->ring, INSTANCE_ID, outbox_datagram_at(w->calls.outbox, i));
        p->len = packet.bytes.len;
        memcpy(p->data, packet.bytes.data, p->len);
    }
    while (outbox_next_frame(w->calls.outbox, &cursor, &id, &frame)) {
        assert(frame.type != BACKEND_AUDIO_IN || frame.rate_khz * 1000 == SHARD_WORLD_RATE_HZ);
        backend_stream_send(w->stream, &frame, w->now_us);
    }
    outbox_clear(w->calls.outbox);
}

static void settle(struct shard_world *w, struct session *s)
{
    shard_calls_settle(&w->calls, s, w->now_us);
    drain(w);
}

static void take_frames(struct shard_world *w)
{
    struct backend_frame frame;
    while (backend_stream_poll_frame(w->stream, &frame, w->now_us)) {
        struct session *s = session_registry_find(w->calls.registry, frame.session);
        if (s != NULL) {
            const bool is_good = session_input_frame(s, &frame, w->now_us);
            assert(is_good);
            (void)is_good;
            settle(w, s);
        }
    }
}

static void take_words(struct shard_world *w)
{
    for (size_t taken = 0; taken < w->words_len;) {
        const struct bytes_span room = backend_stream_reserve(w->stream);
        const size_t left = w->words_len - taken;
        const size_t len = room.cap < left ? room.cap : left;
        memcpy(room.data, w->words + taken, len);
        backend_stream_commit(w->stream, len);
        taken += len;
        take_frames(w);
    }
}

static void take_parcel(struct shard_world *w, struct parcel *p)
{
    struct relay_leg_uplink uplink;
    const struct udp_arrival received = {p->data, p->len, w->relay};
    const enum relay_leg_result result = relay_leg_unwrap(w->ring, INSTANCE_ID, &received, &uplink);
    assert(result == RELAY_LEG_OK);
    struct session *s = session_registry_find(w->calls.registry, uplink.session_id);
    assert(s != NULL);
    (void)session_input_datagram(s, &uplink.datagram, &uplink.path, w->now_us);
    settle(w, s);
}

static void tick(struct shard_world *w)
{
    uint32_t id = 0;
    backend_stream_tick(w->stream, w->now_us);
    while ((id = session_registry_take_due(w->calls.registry, w->now_us)) != 0) {
        struct session *s = session_registry_find(w->calls.registry, id);
        session_tick(s, w->now_us);
        settle(w, s);
    }
}

static void run_shard(struct shard_world *w, uint64_t until_us)
{
    size_t taken = 0;
    take_words(w);
    while (w->now_us < until_us) {
        for (; taken < w->up.count && w->up.parcel[taken].time_us <= w->now_us; taken++) {
            take_parcel(w, &w->up.parcel[taken]);
        }
        tick(w);
        uint64_t next_us = taken < w->up.count ? w->up.parcel[taken].time_us : until_us;
        next_us = time_earlier(next_us, session_registry_next_deadline(w->calls.registry));
        next_us = time_earlier(next_us, backend_stream_next_timeout(w->stream));
        assert(next_us > w->now_us);
        w->now_us = time_earlier(next_us, until_us);
    }
    w->up.count = 0;
}

/* --- slices ----------------------------------------------------------------------------------- */

static void run_slice(struct shard_world *w)
{
    const uint64_t until_us = w->now_us + SLICE_US;
    bench_pause();
    tell_clients(w);
    tell_agent(w);
    hear_agent(w);
    run_clients(w, until_us);
    qsort(w->up.parcel, w->up.count, sizeof(w->up.parcel[0]), compare_time);
    bench_resume();
    run_shard(w, until_us);
}

void shard_world_run(struct shard_world *w, uint64_t us)
{
    assert(us % SLICE_US == 0);
    for (uint64_t done_us = 0; done_us < us; done_us += SLICE_US) {
        run_slice(w);
    }
}

uint64_t shard_world_packets(const struct shard_world *w)
{
    uint64_t packets = 0;
    for (size_t i = 0; i < w->call_count; i++) {
        const struct session_stats stats =
            session_stats(session_registry_find(w->calls.registry, w->session_id[i]));
        packets += stats.uplink.frames - stats.uplink.concealed + stats.voice.packets;
    }
    return packets;
}

/* --- life ------------------------------------------------------------------------------------- */

static void create_shard(struct shard_world *w)
{
    struct fault fault = {0};
    w->config = (struct transceiver_config){
        .cluster_id = 1,
        .shard_count = 1,
        .session_count_max = w->capacity,
        .call_duration_max_us = 3600 * US_PER_S,
        .setup_timeout_us = 30 * US_PER_S,
        .credit_us = SHARD_WORLD_CREDIT_US,
        .complexity = 5,
        .event_channel = "oai-events",
        .complexity_min = 5,
    };
    w->identity = dtls_identity_create(&fault);
    bool is_good = w->identity != NULL && voice_silences_make(&w->silences);
    const struct shard_calls_config calls = {
        .config = &w->config,
        .instance_id = INSTANCE_ID,
        .key_ring = w->ring,
        .identity = w->identity,
        .silences = &w->silences,
        .random = random_seeded(&w->random),
    };
    is_good = is_good && shard_calls_init(&w->calls, &calls);
    assert(is_good);
}

static void connect_agent(struct shard_world *w)
{
    const struct backend_stream_config stream = {
        .name = "bench", .instance_id = INSTANCE_ID, .session_capacity = w->capacity};
    w->behaviour = (struct stub_behaviour){.mode = DIALOGUE_ECHO,
                                           .mode_name = "echo",
                                           .sessions_max = SHARD_WORLD_CALLS_MAX,
                                           .counters = &w->stub_counters};
    w->stream = backend_stream_create(&stream, &w->stream_counters, w->now_us);
    w->stub = stub_link_create(&w->behaviour, "bench", w->now_us);
    assert(w->stream != NULL && w->stub != NULL);
    shard_world_run(w, 10 * SLICE_US);
    assert(backend_stream_is_up(w->stream));
}

static void place_call(struct shard_world *w, size_t index)
{
    const struct sim_client_config client = {.address = address("203.0.113.77", FIRST_PORT + index),
                                             .seed = index,
                                             .has_voice = true,
                                             .has_data = w->has_data};
    struct control_request request = {.kind = CONTROL_CREATE_SESSION};
    struct control_create_session *create = &request.body.create_session;
    struct control_reply reply;
    w->client[index] = sim_client_create(&client);
    sim_client_mute(w->client[index], w->has_data);
    (void)snprintf(create->call_id, sizeof(create->call_id), "rtc_%zu", index);
    create->offer_sdp = bytes_view_of_text(sim_client_offer(w->client[index]));
    create->ingress[0].address = address("198.51.100.1", 3478);
    create->ingress_count = 1;
    shard_calls_answer(&w->calls, &request, true, &reply, w->now_us);
    assert(reply.refusal == CONTROL_REFUSAL_NONE);
    w->session_id[index] = reply.session_id;
    const bool is_good = sim_client_answer(w->client[index], reply.answer_sdp, w->now_us);
    assert(is_good);
    if (w->has_data) {
        w->event_stream =
            sim_data_open(sim_client_data(w->client[index]), w->config.event_channel, w->now_us);
    }
    drain(w);
}

struct shard_world *shard_world_create(size_t call_count, bool has_data)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};
    struct shard_world *w = calloc(1, sizeof(*w));
    assert(w != NULL && call_count <= SHARD_WORLD_CALLS_MAX);
    log_open("bench", LOG_ERROR, LOG_TEXT);
    w->now_us = START_US;
    w->capacity = (size_t)4 * SHARD_WORLD_CALLS_MAX; /* a quarter may be in set-up */
    w->has_data = has_data;
    w->relay = address("10.0.0.1", 3500);
    w->ring = key_ring_from_secret(7, secret);
    w->up.parcel = calloc(DATAGRAMS_MAX, sizeof(*w->up.parcel));
    w->down.parcel = calloc(DATAGRAMS_MAX, sizeof(*w->down.parcel));
    assert(w->ring != NULL && w->up.parcel != NULL && w->down.parcel != NULL);
    random_generator_init(&w->random, 1);
    create_shard(w);
    connect_agent(w);
    while (w->call_count < call_count) {
        place_call(w, w->call_count++);
        shard_world_run(w, SLICE_US);
    }
    shard_world_run(w, SETUP_US);
    for (size_t i = 0; w->has_data && i < call_count; i++) {
        const struct sim_data *data = sim_client_data(w->client[i]);
        assert(sim_data_state(data, w->event_stream) == SIM_DATA_OPEN);
    }
    return w;
}

static size_t heap_bytes(void)
{
    const struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
}

size_t shard_world_free_calls(struct shard_world *w)
{
    const size_t before = heap_bytes();
    shard_calls_deinit(&w->calls);
    w->is_freed = true;
    return before - heap_bytes();
}

void shard_world_destroy(struct shard_world *w)
{
    for (size_t i = 0; i < w->call_count; i++) {
        sim_client_destroy(w->client[i]);
    }
    if (!w->is_freed) {
        shard_calls_deinit(&w->calls);
    }
    backend_stream_destroy(w->stream);
    stub_link_destroy(w->stub);
    dtls_identity_destroy(w->identity);
    key_ring_destroy(w->ring);
    free(w->up.parcel);
    free(w->down.parcel);
    free(w);
}
