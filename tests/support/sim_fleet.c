/* sim_fleet.c - see sim_fleet.h */
#include "tests/support/sim_fleet.h"

#include "tests/support/sim_link.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define AT_CLIENT 0
#define AT_RELAY  1
#define TONE_STEP 50
#define KINDS     (DATAGRAM_RTCP + 1)
/* More than this many changes at one instant is a loop that makes no progress. */
#define STEPS_AT_ONCE_MAX 10000

/* A client, its way to the relay, and its call. */
struct seat {
    struct sim_client *client;
    struct sim_link link;
    char call_id[32];
    uint32_t session_id;
    size_t overheard_bytes[KINDS];
    uint8_t overheard[KINDS][SIM_CLIENT_PACKET_CAP];
};

struct sim_fleet {
    struct sim_fleet_config config;
    uint64_t now_us;
    struct seat *seat;
    size_t seat_count;
    uint64_t verdicts[CLIENT_LEG_RESULT_COUNT];
    uint64_t strays;
    struct sim_frame frames[SIM_FLEET_FRAMES_MAX];
    size_t frame_count;
    struct sim_cluster *cluster;
};

/* --- what passes ------------------------------------------------------------------------------ */

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

static void watch_packet(struct sim_fleet *f, struct bytes_view datagram)
{
    uint8_t copy[SIM_CLIENT_PACKET_CAP];
    struct bytes_span span = {copy, datagram.len, sizeof(copy)};
    struct rtp_packet packet;
    struct sim_red_block block[SIM_RED_BLOCKS_MAX];
    sim_wire_rules_packet(f->config.wire, datagram, f->now_us);
    memcpy(copy, datagram.data, datagram.len);
    if (sim_client_overhear(f->seat[0].client, &span, &packet, f->now_us)) {
        const size_t count = sim_client_payloads(&packet, block);
        sim_wire_rules_payload(f->config.wire, &packet, block, count, f->now_us);
    }
}

static void to_client(void *context, const struct net_addr *client, struct bytes_view datagram)
{
    struct sim_fleet *f = context;
    struct seat *seat = find_seat(f, client);
    const bool is_rtp = datagram_kind_of(datagram) == DATAGRAM_RTP;
    if (is_rtp && f->config.wire != NULL) {
        watch_packet(f, datagram);
    }
    if (seat == NULL) {
        f->strays++;
        return;
    }
    sim_link_send(&seat->link, AT_CLIENT, datagram, f->now_us);
}

static void watch_frame(struct sim_fleet *f, const struct backend_frame *frame,
                        bool is_from_backend)
{
    if (f->config.wire != NULL) {
        sim_wire_rules_frame(f->config.wire, frame, is_from_backend, f->now_us);
    }
    if (f->config.uplink != NULL && frame->type == BACKEND_AUDIO_IN) {
        sim_uplink_rules_given(f->config.uplink, frame, f->now_us);
    } else if (f->config.uplink != NULL && frame->type == BACKEND_SESSION_ACCEPT) {
        sim_uplink_rules_attach(f->config.uplink, true, f->now_us);
    }
}

static void log_frame(void *context, const struct backend_frame *frame, bool is_from_backend)
{
    struct sim_fleet *f = context;
    watch_frame(f, frame, is_from_backend);
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

static void note_arrived(void *context, uint32_t session_id, struct bytes_view datagram,
                         enum client_leg_result result)
{
    struct sim_fleet *f = context;
    struct rtp_packet packet;
    (void)session_id;
    f->verdicts[result]++;
    if (f->config.uplink != NULL && result == CLIENT_LEG_RTP &&
        rtp_packet_parse(datagram, &packet) == RTP_PACKET_OK) {
        sim_uplink_rules_arrived(f->config.uplink, packet.ssrc, packet.sequence_number, f->now_us);
    }
}

static void note_backend_lost(void *context, uint64_t now_us)
{
    struct sim_fleet *f = context;
    if (f->config.uplink != NULL) {
        sim_uplink_rules_attach(f->config.uplink, false, now_us);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

static void seat_client(struct sim_fleet *f, size_t number)
{
    struct seat *seat = &f->seat[number];
    struct sim_client_config client = f->config.client;
    struct sim_link_config link = f->config.link;
    link.seed = f->config.seed + 1 + 100 * number;
    sim_link_init(&seat->link, &link);
    const bool good = net_addr_parse("203.0.113.77:51870", &client.address);
    assert(good);
    (void)good;
    client.address.port = (uint16_t)(client.address.port + number);
    client.seed = f->config.seed + 2 + 100 * number;
    client.tone_hz = SIM_CLIENT_TONE_HZ + TONE_STEP * (unsigned)number;
    seat->client = sim_client_create(&client);
}

static void place_call(struct sim_fleet *f, size_t number)
{
    struct seat *seat = &f->seat[number];
    struct bytes_view answer;
    (void)snprintf(seat->call_id, sizeof(seat->call_id), "rtc_sim%zu", number);
    seat->session_id = sim_cluster_place_call(f->cluster, seat->call_id,
                                              sim_client_offer(seat->client), &answer, f->now_us);
    const bool good = sim_client_answer(seat->client, answer, f->now_us);
    assert(good);
    (void)good;
}

struct sim_fleet *sim_fleet_create(const struct sim_fleet_config *config)
{
    struct sim_fleet *f = calloc(1, sizeof(*f));
    f->config = *config;
    f->now_us = SIM_FLEET_START_US;
    f->seat_count = config->client_count == 0 ? 1 : config->client_count;
    f->seat = calloc(f->seat_count, sizeof(*f->seat));
    assert(f->seat_count <= SIM_FLEET_CLIENTS_MAX && f->seat != NULL);
    for (size_t i = 0; i < f->seat_count; i++) {
        seat_client(f, i);
    }
    struct sim_cluster_config cluster = config->cluster;
    cluster.seed = config->seed;
    cluster.call_count_max = SIM_FLEET_CLIENTS_MAX;
    cluster.observer = (struct sim_cluster_observer){.context = f,
                                                     .to_client = to_client,
                                                     .frame = log_frame,
                                                     .arrived = note_arrived,
                                                     .backend_lost = note_backend_lost};
    f->cluster = sim_cluster_create(&cluster, f->now_us);
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
    sim_cluster_destroy(f->cluster);
    free(f->seat);
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
        if (f->config.uplink != NULL && kind == DATAGRAM_RTP) {
            sim_uplink_rules_said(f->config.uplink, sim_client_said(seat->client), f->now_us);
        }
        sim_link_send(&seat->link, AT_RELAY, bytes_view_of(packet, len), f->now_us);
    }
}

static void deliver(struct sim_fleet *f, struct seat *seat)
{
    struct sim_datagram d;
    uint8_t bytes[SIM_LINK_BYTES];
    while (sim_link_take(&seat->link, bytes, &d, f->now_us)) {
        const struct bytes_view datagram = bytes_view_of(bytes, d.len);
        if (d.to == AT_CLIENT) {
            sim_client_input(seat->client, datagram, f->now_us);
            drain_client(f, seat);
        } else {
            const struct net_addr from = sim_client_address(seat->client);
            sim_cluster_input(f->cluster, &from, datagram, f->now_us);
        }
    }
}

static void tick(struct sim_fleet *f)
{
    for (size_t i = 0; i < f->seat_count; i++) {
        sim_client_tick(f->seat[i].client, f->now_us);
        drain_client(f, &f->seat[i]);
    }
    sim_cluster_tick(f->cluster, f->now_us);
}

static uint64_t next_us(struct sim_fleet *f)
{
    uint64_t next = sim_cluster_next_timeout(f->cluster);
    for (size_t i = 0; i < f->seat_count; i++) {
        next = time_earlier(next, sim_link_next_us(&f->seat[i].link));
        next = time_earlier(next, sim_client_next_timeout(f->seat[i].client));
    }
    return next;
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
    return sim_cluster_session(f->cluster, f->seat[number].session_id);
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
    return sim_cluster_counters(f->cluster);
}

void sim_fleet_hold_link(struct sim_fleet *f, uint64_t until_us)
{
    sim_link_hold(&f->seat[0].link, until_us);
}

void sim_fleet_stall(struct sim_fleet *f, uint64_t until_us)
{
    sim_cluster_stall(f->cluster, until_us);
}

void sim_fleet_set_loss(struct sim_fleet *f, unsigned loss_per_mille)
{
    f->seat[0].link.config.loss_per_mille = loss_per_mille;
}

void sim_fleet_restart_relay(struct sim_fleet *f)
{
    sim_cluster_restart_relay(f->cluster);
}

void sim_fleet_lose_backend(struct sim_fleet *f, uint64_t away_us)
{
    const uint64_t back_us = away_us == TIME_NEVER ? TIME_NEVER : f->now_us + away_us;
    sim_cluster_lose_backend(f->cluster, back_us, f->now_us);
}

void sim_fleet_hang_up(struct sim_fleet *f)
{
    sim_cluster_end_call(f->cluster, f->seat[0].call_id, f->now_us);
}

enum control_refusal sim_fleet_restart_ice(struct sim_fleet *f, bool hears_answer)
{
    struct sim_client *client = sim_fleet_client(f);
    struct bytes_view answer;
    const enum control_refusal refusal = sim_cluster_restart_ice(
        f->cluster, f->seat[0].call_id, sim_client_restart_ice(client), &answer, f->now_us);
    if (refusal == CONTROL_REFUSAL_NONE && hears_answer) {
        const bool is_whole = sim_client_restarted(client, answer, f->now_us);
        assert(is_whole);
        (void)is_whole;
    }
    return refusal;
}

void sim_fleet_inject(struct sim_fleet *f, const struct net_addr *from, struct bytes_view datagram)
{
    sim_cluster_input(f->cluster, from, datagram, f->now_us);
}
