/* live_shard.c - see live_shard.h */
#include "tests/bench/live_shard.h"

#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "services/transceiver/core/datagram_kind.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "services/transceiver/port/event_loop.h"
#include "tests/bench/cpu_clock.h"
#include "tests/bench/stamped_socket.h"
#include "tests/support/sim_client.h"

#include <assert.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define INSTANCE_ID  0x5eed0001
#define FIRST_PORT   40000 /* of the clients */
#define PATIENCE_US  (30 * US_PER_S)
#define SETTLE_US    (300 * US_PER_MS) /* what began before does not count */
#define RECENT       64                /* packets whose times are remembered */
#define OFFSETS_MAX  2048
#define FRAMES_PER_S 50

struct call {
    struct sim_client *client;
    uint32_t session_id;
    bool is_asked; /* the shard wanted an agent for it */
    uint16_t event_stream;

    /* What its client said, by timestamp. */
    uint32_t up_timestamp[RECENT];
    uint64_t up_us[RECENT];

    /* What left for its client. */
    uint16_t marked_number;   /* of the first packet of the utterance */
    uint64_t down_us[RECENT]; /* by number */
    double offset_us[OFFSETS_MAX];
    size_t offset_count;
    uint32_t first_timestamp;
};

struct live_shard {
    char directory[64];
    struct transceiver_config config;
    unsigned complexity_min;
    struct dtls_identity *identity;
    struct voice_silences silences;
    struct key_ring *ring;
    metric_value beat;
    struct event_loop *loop;
    struct shard_inbox inbox;
    struct net_addr media;
    int relay; /* its UDP socket */
    struct live_agent *agent;
    uint64_t real_offset_us; /* kernel stamps less our clock */
    size_t call_count;
    struct call call[LIVE_SHARD_CALLS_MAX];
    uint64_t event_gap_us;        /* between two events of the first client; 0: none are said */
    uint64_t event_us;            /* the next one */
    uint64_t count_from_us;       /* what is earlier is not counted */
    struct live_figures *figures; /* NULL: nothing is counted */
};

static bool is_counting(const struct live_shard *l, uint64_t now_us)
{
    return l->figures != NULL && now_us >= l->count_from_us;
}

/* --- what the agent observed ------------------------------------------------------------------ */

static void take_heard(struct live_shard *l, const struct live_event *event)
{
    const struct call *c = &l->call[event->call];
    const size_t place = event->timestamp / 960 % RECENT;
    if (c->up_timestamp[place] == event->timestamp && is_counting(l, c->up_us[place])) {
        l->figures->frames_in++;
        samples_add(&l->figures->residence, (double)(event->at_us - c->up_us[place]));
    }
}

/* sent_us tells which packet was the last of the old utterance. */
static void take_flushed(struct live_shard *l, const struct live_event *event)
{
    const struct call *c = &l->call[event->call];
    const uint64_t packets = event->sent_us / SIM_CLIENT_SLOT_US;
    const uint16_t last = (uint16_t)(c->marked_number + packets - 1);
    if (is_counting(l, event->at_us)) {
        samples_add(&l->figures->flush,
                    (double)time_since(event->at_us, c->down_us[last % RECENT]));
    }
}

static void take_events(struct live_shard *l)
{
    struct live_event event;
    while (live_agent_poll_event(l->agent, &event)) {
        if (event.kind == LIVE_HEARD) {
            take_heard(l, &event);
        } else if (event.kind == LIVE_FLUSHED) {
            take_flushed(l, &event);
        } else if (event.kind == LIVE_TOLD) {
            if (is_counting(l, event.sent_us)) {
                samples_add(&l->figures->event_up, (double)time_since(event.sent_us, event.at_us));
            }
        } else {
            l->call[event.call].is_asked = true;
        }
    }
}

/* --- clients and their relay ------------------------------------------------------------------ */

static void send_up(struct live_shard *l, struct call *c)
{
    uint8_t packet[RELAY_SHIM_BYTES + SIM_CLIENT_PACKET_CAP];
    struct net_addr from;
    struct net_addr to;
    uint8_t *datagram = packet + RELAY_SHIM_BYTES;
    struct sockaddr_storage media;
    const socklen_t media_len = net_addr_to_sockaddr(&l->media, &media);
    size_t len = 0;
    while ((len = sim_client_take(c->client, datagram, &from, &to)) > 0) {
        const struct relay_shim shim = {.datagram_bytes = (uint16_t)len,
                                        .instance_id = INSTANCE_ID,
                                        .session_id = c->session_id,
                                        .client = from};
        relay_shim_write(l->ring, &shim, packet);
        struct rtp_packet rtp;
        if (datagram_kind_of(bytes_view_of(datagram, len)) == DATAGRAM_RTP &&
            rtp_packet_parse(bytes_view_of(datagram, len), &rtp) == RTP_PACKET_OK) {
            const size_t place = rtp.timestamp / 960 % RECENT;
            c->up_timestamp[place] = rtp.timestamp;
            c->up_us[place] = clock_now_us();
        }
        (void)sendto(l->relay, packet, RELAY_SHIM_BYTES + len, 0, (struct sockaddr *)&media,
                     media_len);
    }
}

static void take_voice(struct live_shard *l, size_t number, const struct rtp_packet *rtp,
                       uint64_t stamp_us)
{
    struct call *c = &l->call[number];
    const enum live_manner manner = live_agent_manner(l->agent, number);
    c->down_us[rtp->sequence_number % RECENT] = stamp_us;
    if (rtp->marker) {
        const uint64_t begin_us = live_agent_take_begin(l->agent, number);
        c->marked_number = rtp->sequence_number;
        if (begin_us != 0 && manner == LIVE_SHORT_SENTENCES && is_counting(l, begin_us)) {
            samples_add(&l->figures->first_packet, (double)time_since(begin_us, stamp_us));
        }
    }
    if (!is_counting(l, stamp_us)) {
        return;
    }
    l->figures->packets_out++;
    if (manner == LIVE_STREAMING && c->offset_count < OFFSETS_MAX) {
        c->first_timestamp = c->offset_count == 0 ? rtp->timestamp : c->first_timestamp;
        const uint32_t passed = rtp->timestamp - c->first_timestamp;
        c->offset_us[c->offset_count++] =
            (double)(stamp_us - l->count_from_us) - (double)passed * 1000 / 48;
    }
}

static void take_told(struct live_shard *l, struct call *c, uint64_t stamp_us)
{
    struct sim_data *data = sim_client_data(c->client);
    struct sim_data_message message;
    while (data != NULL && sim_data_take(data, &message)) {
        const uint64_t said_us = live_agent_read_event(message.data);
        if (is_counting(l, said_us)) {
            samples_add(&l->figures->event_down, (double)time_since(said_us, stamp_us));
        }
    }
}

/* How far each packet left from where the others of its call did. */
static void add_departures(struct live_shard *l, struct call *c)
{
    double sorted[OFFSETS_MAX];
    memcpy(sorted, c->offset_us, c->offset_count * sizeof(sorted[0]));
    samples_sort(sorted, c->offset_count);
    for (size_t i = 0; i < c->offset_count; i++) {
        samples_add(&l->figures->departure, fabs(c->offset_us[i] - sorted[c->offset_count / 2]));
    }
}

static void take_down(struct live_shard *l, struct bytes_view packet, uint64_t stamp_us)
{
    struct relay_shim shim;
    const enum relay_shim_result result = relay_shim_read(l->ring, packet, &shim);
    assert(result == RELAY_SHIM_OK);
    const size_t number = (size_t)(shim.client.port - FIRST_PORT);
    struct call *c = &l->call[number];
    const struct bytes_view datagram =
        bytes_view_of(packet.data + RELAY_SHIM_BYTES, shim.datagram_bytes);
    struct rtp_packet rtp;
    if (datagram.len == 0) {
        return; /* an announcement */
    }
    if (datagram_kind_of(datagram) == DATAGRAM_RTP) {
        if (rtp_packet_parse(datagram, &rtp) == RTP_PACKET_OK) {
            take_voice(l, number, &rtp, stamp_us);
        }
        return;
    }
    sim_client_input(c->client, datagram, clock_now_us());
    send_up(l, c);
    take_told(l, c, stamp_us);
}

static void hear_relay(struct live_shard *l)
{
    uint8_t packet[2048];
    uint64_t stamp_us = 0;
    size_t len = 0;
    while ((len = stamped_socket_take(l->relay, packet, sizeof(packet), l->real_offset_us,
                                      &stamp_us)) > 0) {
        take_down(l, bytes_view_of(packet, len), stamp_us);
    }
}

/* --- the loop --------------------------------------------------------------------------------- */

static void say_event(struct live_shard *l)
{
    char text[LIVE_AGENT_EVENT_BYTES];
    struct call *c = &l->call[0];
    const uint64_t now_us = clock_now_us();
    live_agent_write_event(text, now_us);
    const bool is_said = sim_data_send(sim_client_data(c->client), c->event_stream, true,
                                       bytes_view_of(text, sizeof(text)), now_us);
    assert(is_said);
    sim_client_tick(c->client, now_us);
    send_up(l, c);
}

static uint64_t serve_events(struct live_shard *l)
{
    if (l->event_gap_us == 0) {
        return TIME_NEVER;
    }
    while (l->event_us <= clock_now_us()) {
        say_event(l);
        l->event_us += l->event_gap_us;
    }
    return l->event_us;
}

static uint64_t serve(struct live_shard *l)
{
    uint64_t next_us = live_agent_speak(l->agent, clock_now_us());
    next_us = time_earlier(next_us, serve_events(l));
    for (size_t i = 0; i < l->call_count; i++) {
        struct call *c = &l->call[i];
        const uint64_t now_us = clock_now_us();
        if (sim_client_next_timeout(c->client) <= now_us) {
            sim_client_tick(c->client, now_us);
            send_up(l, c);
        }
        next_us = time_earlier(next_us, sim_client_next_timeout(c->client));
    }
    return next_us;
}

/* The relay first: what left before the agent was told of it was also received before. */
static void turn(struct live_shard *l)
{
    struct pollfd fds[] = {{.fd = l->relay, .events = POLLIN},
                           {.fd = live_agent_fd(l->agent), .events = POLLIN}};
    const uint64_t next_us = time_earlier(serve(l), clock_now_us() + 10 * US_PER_MS);
    const uint64_t wait_us = time_since(clock_now_us(), next_us);
    const struct timespec wait = {.tv_sec = 0, .tv_nsec = (long)(wait_us * 1000)};
    if (ppoll(fds, COUNT_OF(fds), &wait, NULL) > 0) {
        hear_relay(l);
        if (fds[1].revents != 0) {
            live_agent_hear(l->agent);
        }
    }
    take_events(l);
}

static void run(struct live_shard *l, uint64_t us)
{
    const uint64_t end_us = clock_now_us() + us;
    while (clock_now_us() < end_us) {
        turn(l);
    }
}

static void begin_counting(struct live_shard *l, struct live_figures *out)
{
    l->real_offset_us = clock_unix_us() - clock_now_us();
    l->count_from_us = clock_now_us() + SETTLE_US;
    l->figures = out;
}

static void set_manners(struct live_shard *l, const enum live_manner *manner, size_t count)
{
    for (size_t i = 0; i < l->call_count; i++) {
        live_agent_set_manner(l->agent, i, manner[i % count], clock_now_us());
        l->call[i].offset_count = 0;
    }
}

static void end_counting(struct live_shard *l)
{
    static const enum live_manner manner[] = {LIVE_SILENT};
    l->figures = NULL;
    set_manners(l, manner, COUNT_OF(manner));
    run(l, 100 * US_PER_MS);
}

/* Of all threads but this one: the shard's. */
static double others_cpu_s(void)
{
    return cpu_clock_process_s() - cpu_clock_thread_s();
}

const struct udp_sender_counters *live_shard_trains(const struct live_shard *l)
{
    return event_loop_trains(l->loop);
}

void live_shard_stream(struct live_shard *l, uint64_t us, struct live_figures *out)
{
    static const enum live_manner manner[] = {LIVE_STREAMING};
    set_manners(l, manner, COUNT_OF(manner));
    begin_counting(l, out);
    run(l, SETTLE_US);
    const double before_s = others_cpu_s();
    run(l, us);
    out->cpu_s = others_cpu_s() - before_s;
    /* A shard that is overloaded leaves slots out: they are not work done. */
    out->call_s = (double)(out->frames_in + out->packets_out) / (2 * FRAMES_PER_S);
    for (size_t i = 0; i < l->call_count; i++) {
        add_departures(l, &l->call[i]);
    }
    end_counting(l);
}

void live_shard_talk(struct live_shard *l, uint64_t us, struct live_figures *out)
{
    static const enum live_manner manner[] = {LIVE_STREAMING,       LIVE_STREAMING,
                                              LIVE_SHORT_SENTENCES, LIVE_STREAMING,
                                              LIVE_INTERRUPTED,     LIVE_STREAMING};
    set_manners(l, manner, COUNT_OF(manner));
    begin_counting(l, out);
    run(l, SETTLE_US + us);
    end_counting(l);
}

void live_shard_events(struct live_shard *l, unsigned per_second, uint64_t us,
                       struct live_figures *out)
{
    begin_counting(l, out);
    l->event_gap_us = per_second > 0 ? US_PER_S / per_second : 0;
    l->event_us = clock_now_us();
    run(l, SETTLE_US);
    const double before_s = others_cpu_s();
    run(l, us);
    out->cpu_s = others_cpu_s() - before_s;
    l->event_gap_us = 0;
    run(l, SETTLE_US);
    end_counting(l);
}

/* --- life ------------------------------------------------------------------------------------- */

static void open_agent(struct live_shard *l)
{
    char path[128];
    memcpy(l->directory, "/tmp/live_shard.XXXXXX", sizeof("/tmp/live_shard.XXXXXX"));
    const char *made = mkdtemp(l->directory);
    assert(made != NULL);
    (void)snprintf(path, sizeof(path), "%s/agent", l->directory);
    (void)snprintf(l->config.backend, sizeof(l->config.backend), "unix:%s", path);
    l->agent = live_agent_create(path);
}

static void open_shard(struct live_shard *l)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {1, 2, 3};
    struct fault fault = {0};
    const int probe = stamped_socket_open();
    l->media = stamped_socket_address(probe);
    (void)close(probe);
    l->config.cluster_id = 1;
    l->config.shard_count = 1;
    l->config.udp_buffer_bytes = 4u << 20;
    l->config.session_count_max = 4 * LIVE_SHARD_CALLS_MAX; /* a quarter may be in set-up */
    l->config.call_duration_max_us = 3600 * US_PER_S;
    l->config.setup_timeout_us = 60 * US_PER_S;
    l->config.credit_us = 10 * US_PER_S;
    l->config.bitrate_bps = 32000;
    (void)snprintf(l->config.event_channel, sizeof(l->config.event_channel), "oai-events");
    l->config.complexity = 5;
    l->config.complexity_min = l->complexity_min;
    l->ring = key_ring_from_secret(7, secret);
    l->identity = dtls_identity_create(&fault);
    const bool is_good = l->identity != NULL && voice_silences_make(&l->silences) &&
                         shard_inbox_open(&l->inbox, &fault);
    assert(is_good);
    const struct event_loop_config config = {.config = &l->config,
                                             .inboxes = &l->inbox,
                                             .media_address = l->media,
                                             .instance_id = INSTANCE_ID,
                                             .key_ring = l->ring,
                                             .identity = l->identity,
                                             .silences = &l->silences,
                                             .beat = &l->beat};
    l->loop = event_loop_create(&config, &fault);
    const bool is_running = l->loop != NULL && event_loop_start(l->loop, &fault);
    assert(is_running);
}

static void place_call(struct live_shard *l, size_t number, bool has_data)
{
    struct call *c = &l->call[number];
    struct control_request request = {.kind = CONTROL_CREATE_SESSION};
    struct control_create_session *create = &request.body.create_session;
    struct control_reply reply;
    struct sim_client_config client = {.seed = number + 1, .is_cheap = true, .has_data = has_data};
    const bool is_address =
        net_addr_parse_ip("203.0.113.77", (uint16_t)(FIRST_PORT + number), &client.address);
    assert(is_address);
    c->client = sim_client_create(&client);
    (void)snprintf(create->call_id, sizeof(create->call_id), "rtc_%zu", number);
    create->offer_sdp = bytes_view_of_text(sim_client_offer(c->client));
    create->ingress[0].address = l->media;
    create->ingress_count = 1;
    l->call_count = number + 1;
    event_loop_call(l->loop, &request, &reply);
    assert(reply.refusal == CONTROL_REFUSAL_NONE);
    c->session_id = reply.session_id;
    const bool is_answer = sim_client_answer(c->client, reply.answer_sdp, clock_now_us());
    assert(is_answer);
    if (has_data) {
        c->event_stream =
            sim_data_open(sim_client_data(c->client), l->config.event_channel, clock_now_us());
    }
}

static bool is_ready(const struct live_shard *l)
{
    for (size_t i = 0; i < l->call_count; i++) {
        const struct call *c = &l->call[i];
        const struct sim_data *data = sim_client_data(c->client);
        if (!sim_client_is_connected(c->client) || !c->is_asked ||
            (data != NULL && sim_data_state(data, c->event_stream) != SIM_DATA_OPEN)) {
            return false;
        }
    }
    return true;
}

struct live_shard *live_shard_create(size_t call_count, unsigned complexity_min, bool has_data)
{
    struct live_shard *l = calloc(1, sizeof(*l));
    assert(l != NULL && call_count <= LIVE_SHARD_CALLS_MAX);
    l->complexity_min = complexity_min;
    log_open("bench", LOG_ERROR, LOG_TEXT);
    l->relay = stamped_socket_open();
    open_agent(l);
    open_shard(l);
    const uint64_t end_us = clock_now_us() + PATIENCE_US;
    while (metric_get(&event_loop_backend(l->loop)->is_up) == 0) {
        turn(l);
        assert(clock_now_us() < end_us);
    }
    for (size_t i = 0; i < call_count; i++) {
        place_call(l, i, has_data);
        run(l, 5 * US_PER_MS);
    }
    while (!is_ready(l)) {
        turn(l);
        assert(clock_now_us() < end_us);
    }
    return l;
}

void live_shard_destroy(struct live_shard *l)
{
    char path[128];
    /* The calls end without an answer of the agent: that takes them a moment. */
    event_loop_stop(l->loop);
    event_loop_destroy(l->loop);
    shard_inbox_close(&l->inbox);
    for (size_t i = 0; i < l->call_count; i++) {
        sim_client_destroy(l->call[i].client);
    }
    live_agent_destroy(l->agent);
    dtls_identity_destroy(l->identity);
    key_ring_destroy(l->ring);
    (void)close(l->relay);
    (void)snprintf(path, sizeof(path), "%s/agent", l->directory);
    (void)unlink(path);
    (void)rmdir(l->directory);
    free(l);
}
