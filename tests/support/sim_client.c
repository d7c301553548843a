/* sim_client.c - see sim_client.h */
#include "tests/support/sim_client.h"

#include "services/transceiver/core/datagram_kind.h"
#include "services/transceiver/core/session/voice_rtcp.h"
#include "services/transceiver/core/transport/dtls_transport.h"
#include "tests/support/sim_ice.h"
#include "tests/support/sim_nack.h"
#include "tests/support/sim_srtp.h"

#include <assert.h>
#include <stdlib.h>

#define QUEUE_CAP 256

struct packet {
    size_t len;
    uint8_t data[SIM_CLIENT_PACKET_CAP];
};

struct sim_client {
    struct sim_client_config config;
    struct random_generator random;
    struct net_addr address;
    char offer[SIM_CLIENT_OFFER_CAP];
    struct sim_sdp_answer answer;
    struct sim_ice ice;
    struct dtls_identity *identity;
    struct dtls_transport *dtls;
    struct sim_data *data; /* NULL: none was offered */
    bool is_data_started;
    struct sim_srtp srtp;
    struct sim_voice *voice;
    struct sim_speaker speaker;
    struct rtp_sender *sender; /* counts for the reports */
    struct rtp_receiver *receiver;
    struct voice_rtcp rtcp;
    uint64_t slot_us;
    bool has_sequence;
    uint16_t highest_sequence;
    struct sim_client_heard heard;
    struct packet *queue;
    size_t queue_count;
};

static void write_offer(struct sim_client *c)
{
    uint8_t fingerprint[DTLS_IDENTITY_FINGERPRINT_BYTES];
    memcpy(fingerprint, dtls_identity_fingerprint(c->identity), sizeof(fingerprint));
    fingerprint[0] ^= c->config.lies_about_fingerprint ? 1 : 0;
    const struct sim_sdp_offer offer = {
        .ufrag = c->ice.ufrag,
        .pwd = c->ice.pwd,
        .fingerprint = fingerprint,
        .is_dtls_client = c->config.is_dtls_client,
        .has_red = c->config.has_red,
        .has_nack = c->config.has_nack,
        .has_data = c->config.has_data,
        .direction = c->config.direction,
    };
    sim_sdp_write_offer(&offer, c->offer, sizeof(c->offer));
}

struct sim_client *sim_client_create(const struct sim_client_config *config)
{
    struct sim_client *c = calloc(1, sizeof(*c));
    struct fault fault = {0};
    const struct sim_voice_config voice = {
        .kind = config->is_cheap    ? SIM_VOICE_FIXED
                : config->has_voice ? SIM_VOICE_SPEECH
                                    : SIM_VOICE_TONE,
        .tone_hz = config->tone_hz == 0 ? SIM_CLIENT_TONE_HZ : config->tone_hz,
        .seed = config->seed,
    };
    assert(c != NULL);
    c->config = *config;
    c->address = config->address;
    c->slot_us = TIME_NEVER;
    random_generator_init(&c->random, config->seed);
    sim_ice_init(&c->ice, random_seeded(&c->random));
    c->identity = dtls_identity_create(&fault);
    c->voice = sim_voice_create(&voice);
    c->sender = rtp_sender_create(
        &(struct rtp_sender_config){.random = random_seeded(&c->random), .clock_hz = 48000});
    c->receiver = rtp_receiver_create(48000, RTP_RECEIVER_NO_TYPE);
    voice_rtcp_init(&c->rtcp, &(struct voice_rtcp_config){.receiver = c->receiver,
                                                          .sender = c->sender,
                                                          .seed = config->seed});
    c->queue = calloc(QUEUE_CAP, sizeof(*c->queue));
    sim_speaker_init(&c->speaker, c->voice, rtp_sender_ssrc(c->sender), config->seed,
                     config->wraps_soon);
    c->speaker.uses_dtx = config->uses_dtx;
    write_offer(c);
    return c;
}

void sim_client_destroy(struct sim_client *c)
{
    sim_data_destroy(c->data);
    dtls_transport_destroy(c->dtls);
    dtls_identity_destroy(c->identity);
    sim_srtp_deinit(&c->srtp);
    sim_voice_destroy(c->voice);
    rtp_sender_destroy(c->sender);
    rtp_receiver_destroy(c->receiver);
    free(c->queue);
    free(c);
}

const char *sim_client_offer(const struct sim_client *c)
{
    return c->offer;
}

bool sim_client_answer(struct sim_client *c, struct bytes_view sdp, uint64_t now_us)
{
    if (!sim_sdp_read_answer(sdp, &c->answer)) {
        return false;
    }
    const struct dtls_transport_config dtls = {
        .identity = c->identity,
        .role = c->answer.is_active ? DTLS_ROLE_PASSIVE : DTLS_ROLE_ACTIVE,
        .fingerprint = {c->answer.fingerprint},
        .fingerprint_count = 1,
        .mtu_bytes = DTLS_MTU_BYTES,
    };
    c->dtls = dtls_transport_create(&dtls);
    if (c->config.has_data) {
        c->data = sim_data_create(random_seeded(&c->random), !c->answer.is_active, now_us);
    }
    c->speaker.sends_red = c->answer.prefers_red;
    sim_ice_start(&c->ice, &c->answer, now_us);
    return c->dtls != NULL;
}

const char *sim_client_restart_ice(struct sim_client *c)
{
    return sim_ice_restart(&c->ice);
}

bool sim_client_restarted(struct sim_client *c, struct bytes_view fragment, uint64_t now_us)
{
    if (!sim_sdp_read_credentials(fragment, &c->answer)) {
        return false;
    }
    sim_ice_restarted(&c->ice, &c->answer, now_us);
    return true;
}

/* --- out -------------------------------------------------------------------------------------- */

static struct packet *queue_packet(struct sim_client *c)
{
    assert(c->queue_count < QUEUE_CAP);
    return &c->queue[c->queue_count++];
}

size_t sim_client_take(struct sim_client *c, uint8_t *out, struct net_addr *from,
                       struct net_addr *to)
{
    if (c->queue_count == 0) {
        return 0;
    }
    const size_t len = c->queue[0].len;
    memcpy(out, c->queue[0].data, len);
    c->queue_count--;
    memmove(c->queue, c->queue + 1, c->queue_count * sizeof(*c->queue));
    *from = c->address;
    *to = c->answer.server;
    return len;
}

static void send_check(struct sim_client *c, uint64_t now_us)
{
    struct packet *p = queue_packet(c);
    p->len = sim_ice_write_check(&c->ice, &c->answer, p->data, sizeof(p->data), now_us);
}

static void send_dtls(struct sim_client *c)
{
    struct bytes_view datagram;
    while (dtls_transport_poll_datagram(c->dtls, &datagram)) {
        struct packet *p = queue_packet(c);
        memcpy(p->data, datagram.data, datagram.len);
        p->len = datagram.len;
    }
}

static void drain_data(struct sim_client *c, uint64_t now_us)
{
    struct bytes_view packet;
    if (c->data == NULL || !c->is_data_started) {
        return;
    }
    while (dtls_transport_poll_data(c->dtls, &packet)) {
        sim_data_input(c->data, packet, now_us);
    }
    while (c->queue_count < QUEUE_CAP / 2 && sim_data_poll_packet(c->data, &packet, now_us) &&
           dtls_transport_send(c->dtls, packet)) {
        send_dtls(c);
    }
}

static void drain_dtls(struct sim_client *c, uint64_t now_us)
{
    struct dtls_event event;
    send_dtls(c);
    while (dtls_transport_poll_event(c->dtls, &event)) {
        if (event.kind == DTLS_EVENT_CONNECTED && event.srtp.profile != SRTP_PROFILE_NONE) {
            sim_srtp_start(&c->srtp, &event.srtp, c->speaker.ssrc);
            c->slot_us = now_us;
            c->is_data_started = c->data != NULL && c->answer.has_data;
            if (c->is_data_started) {
                sim_data_start(c->data, now_us);
            }
        } else if (event.kind == DTLS_EVENT_CLOSED) {
            c->heard.was_closed = true;
            c->slot_us = TIME_NEVER;
            sim_ice_end(&c->ice);
        }
    }
    drain_data(c, now_us);
}

struct sim_data *sim_client_data(const struct sim_client *c)
{
    return c->data;
}

static void send_voice(struct sim_client *c, uint64_t now_us)
{
    uint8_t bytes[SIM_SPEAKER_PACKET_CAP];
    uint8_t counted[RTP_PACKET_HEADER_BYTES];
    const size_t len = sim_speaker_next(&c->speaker, bytes);
    c->slot_us += SIM_CLIENT_SLOT_US;
    rtp_sender_next_slot(c->sender, SIM_SPEAKER_SLOT_UNITS, now_us);
    if (len == 0) {
        return;
    }
    rtp_sender_write_header(c->sender, 0, len - RTP_PACKET_HEADER_BYTES, false, counted);
    struct bytes_span packet = {bytes, len, sizeof(bytes)};
    sim_srtp_protect_voice(&c->srtp, &packet);
    struct packet *p = queue_packet(c);
    memcpy(p->data, packet.data, packet.len);
    p->len = packet.len;
    voice_rtcp_note_sent(&c->rtcp, now_us);
}

static void send_rtcp(struct sim_client *c, const uint8_t *plain, size_t len)
{
    struct packet *p = queue_packet(c);
    memcpy(p->data, plain, len);
    struct bytes_span packet = {p->data, len, sizeof(p->data)};
    sim_srtp_protect_rtcp(&c->srtp, &packet);
    p->len = packet.len;
}

static void report(struct sim_client *c, uint64_t now_us)
{
    uint8_t plain[VOICE_RTCP_BYTES_MAX];
    const size_t len = voice_rtcp_poll_report(&c->rtcp, plain, now_us);
    if (len > 0) {
        send_rtcp(c, plain, len);
    }
}

struct net_addr sim_client_address(const struct sim_client *c)
{
    return c->address;
}

void sim_client_move(struct sim_client *c, const struct net_addr *address, uint64_t now_us)
{
    c->address = *address;
    c->ice.check_us = now_us;
}

void sim_client_rebind(struct sim_client *c, const struct net_addr *address)
{
    c->address = *address;
}

void sim_client_set_voice(struct sim_client *c, bool speaks)
{
    c->speaker.is_silent = !speaks;
}

void sim_client_mute(struct sim_client *c, bool is_muted)
{
    c->speaker.is_muted = is_muted;
}

void sim_client_talk_garbage(struct sim_client *c, unsigned packets)
{
    c->speaker.garbage = packets;
}

void sim_client_change_ssrc(struct sim_client *c)
{
    sim_speaker_change_ssrc(&c->speaker);
    sim_srtp_change_ssrc(&c->srtp, c->speaker.ssrc);
}

void sim_client_close(struct sim_client *c, uint64_t now_us)
{
    dtls_transport_close(c->dtls, now_us);
    drain_dtls(c, now_us);
    c->slot_us = TIME_NEVER;
    sim_ice_end(&c->ice);
}

/* --- in --------------------------------------------------------------------------------------- */

size_t sim_client_payloads(const struct rtp_packet *packet,
                           struct sim_red_block out[SIM_RED_BLOCKS_MAX])
{
    if (packet->payload_type == SIM_SDP_RED) {
        return sim_red_read(packet->payload, SIM_SDP_OPUS, out);
    }
    out[0] = (struct sim_red_block){.payload = packet->payload};
    return 1;
}

static void hear(struct sim_client *c, const struct rtp_packet *packet, uint64_t now_us)
{
    struct sim_red_block block[SIM_RED_BLOCKS_MAX];
    const uint16_t step = (uint16_t)(packet->sequence_number - c->highest_sequence);
    struct rtp_arrival arrival;
    c->heard.packets++;
    (void)rtp_receiver_input(c->receiver, packet, &arrival, now_us);
    voice_rtcp_note_received(&c->rtcp, now_us);
    if (c->heard.first_us == 0) {
        c->heard.first_us = now_us;
    } else {
        const uint64_t gap_us = now_us - c->heard.latest_us;
        c->heard.gap_us_max = time_later(c->heard.gap_us_max, gap_us);
    }
    c->heard.latest_us = now_us;
    if (c->has_sequence && step >= 0x8000) {
        c->heard.missing--; /* late: it was counted as missing */
        return;
    }
    c->heard.missing += c->has_sequence ? (uint64_t)step - 1 : 0;
    if (c->has_sequence && step > 1 && c->answer.has_nack && c->slot_us != TIME_NEVER) {
        uint8_t nack[SIM_NACK_BYTES_MAX];
        send_rtcp(c, nack,
                  sim_nack_write(rtp_sender_ssrc(c->sender), packet->ssrc,
                                 (uint16_t)(c->highest_sequence + 1), (uint16_t)(step - 1), nack));
    }
    c->has_sequence = true;
    c->highest_sequence = packet->sequence_number;
    const size_t count = sim_client_payloads(packet, block);
    if (count > 0 && sim_voice_hear(c->voice, block[count - 1].payload, now_us)) {
        c->heard.latest_sound_us = now_us;
    }
}

/* It becomes plain where it is read: other ears may want it as it came. */
static struct bytes_span copy_of(struct bytes_view datagram, uint8_t out[SIM_CLIENT_PACKET_CAP])
{
    assert(datagram.len <= SIM_CLIENT_PACKET_CAP);
    memcpy(out, datagram.data, datagram.len);
    return (struct bytes_span){out, datagram.len, SIM_CLIENT_PACKET_CAP};
}

static void input_srtp(struct sim_client *c, struct bytes_view datagram, uint64_t now_us)
{
    uint8_t copy[SIM_CLIENT_PACKET_CAP];
    struct rtp_packet packet;
    struct bytes_span span = copy_of(datagram, copy);
    if (sim_srtp_read_rtp(&c->srtp, &span, &packet, now_us)) {
        hear(c, &packet, now_us);
    }
}

static void input_srtcp(struct sim_client *c, struct bytes_view datagram, uint64_t now_us)
{
    uint8_t copy[SIM_CLIENT_PACKET_CAP];
    struct byte_reader reader;
    struct rtcp_packet packet;
    struct bytes_span span = copy_of(datagram, copy);
    if (!sim_srtp_read_rtcp(&c->srtp, &span, now_us)) {
        return;
    }
    c->heard.reports++;
    if (c->heard.first_report_us == 0) {
        c->heard.first_report_us = now_us;
    }
    voice_rtcp_input(&c->rtcp, bytes_view_of(span.data, span.len), now_us);
    byte_reader_init(&reader, bytes_view_of(span.data, span.len));
    while (rtcp_packet_next(&reader, &packet) == RTCP_PACKET_OK) {
        c->heard.said_bye = c->heard.said_bye || packet.type == RTCP_BYE;
    }
}

static void input_stun(struct sim_client *c, struct bytes_view datagram, uint64_t now_us)
{
    const bool had_path = c->ice.has_path;
    if (!sim_ice_take_answer(&c->ice, datagram, now_us)) {
        return;
    }
    c->heard.answered_us = now_us;
    if (!had_path) {
        dtls_transport_start(c->dtls, 0, now_us);
        drain_dtls(c, now_us);
    }
}

void sim_client_input(struct sim_client *c, struct bytes_view datagram, uint64_t now_us)
{
    switch (datagram_kind_of(datagram)) {
    case DATAGRAM_STUN:
        input_stun(c, datagram, now_us);
        break;
    case DATAGRAM_DTLS:
        if (c->ice.has_path) {
            (void)dtls_transport_input(c->dtls, datagram, now_us);
            drain_dtls(c, now_us);
        }
        break;
    case DATAGRAM_RTP:
        input_srtp(c, datagram, now_us);
        break;
    case DATAGRAM_RTCP:
        input_srtcp(c, datagram, now_us);
        break;
    default:
        break;
    }
}

void sim_client_tick(struct sim_client *c, uint64_t now_us)
{
    if (now_us >= c->ice.check_us) {
        send_check(c, now_us);
    }
    if (c->ice.has_path) {
        dtls_transport_tick(c->dtls, now_us);
        if (c->is_data_started) {
            sim_data_tick(c->data, now_us);
        }
        drain_dtls(c, now_us);
    }
    if (now_us >= c->slot_us) {
        send_voice(c, now_us);
    }
    if (c->slot_us != TIME_NEVER) {
        report(c, now_us);
    }
}

uint64_t sim_client_next_timeout(const struct sim_client *c)
{
    const uint64_t dtls_us = c->ice.has_path ? dtls_transport_next_timeout(c->dtls) : TIME_NEVER;
    const uint64_t data_us =
        c->is_data_started && !c->heard.was_closed ? sim_data_next_timeout(c->data) : TIME_NEVER;
    const uint64_t report_us =
        c->slot_us == TIME_NEVER ? TIME_NEVER : voice_rtcp_next_timeout(&c->rtcp);
    return time_earlier(time_earlier(time_earlier(c->ice.check_us, c->slot_us), data_us),
                        time_earlier(dtls_us, report_us));
}

/* --- what was heard --------------------------------------------------------------------------- */

bool sim_client_overhear(struct sim_client *c, struct bytes_span *datagram, struct rtp_packet *out,
                         uint64_t now_us)
{
    return sim_srtp_overhear(&c->srtp, datagram, out, now_us);
}

bool sim_client_is_connected(const struct sim_client *c)
{
    return c->srtp.rest != NULL;
}

const struct sim_client_heard *sim_client_heard(const struct sim_client *c)
{
    return &c->heard;
}

const struct sim_said *sim_client_said(const struct sim_client *c)
{
    return &c->speaker.said;
}

struct rtp_sender_stats sim_client_reported(const struct sim_client *c)
{
    return rtp_sender_stats(c->sender);
}

double sim_client_tone_share(const struct sim_client *c, double hz)
{
    return sim_voice_tone_share(c->voice, hz);
}

double sim_client_level(const struct sim_client *c)
{
    return sim_voice_level(c->voice);
}
