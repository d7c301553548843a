/* sim_client.c - see sim_client.h */
#include "tests/support/sim_client.h"

#include "common/crypto/hmac_sha1.h"
#include "common/stun/stun_integrity.h"
#include "services/transceiver/core/datagram_kind.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/rtp/rtp_sender.h"
#include "services/transceiver/core/session/voice_rtcp.h"
#include "services/transceiver/core/transport/dtls_transport.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "tests/speech_like.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK_FAST_US (50 * US_PER_MS)
#define CHECK_SLOW_US (2500 * US_PER_MS)
#define SLOT_US       (20 * US_PER_MS)
#define SLOT_SAMPLES  (SIM_CLIENT_RATE_HZ / 50)
#define QUEUE_CAP     64
/* 50 ms: a lost packet spoils the phase of one window, not of the whole second. */
#define WINDOW_SAMPLES 800
#define PAYLOAD_TYPE   111
/* -54 dBov: quieter is silence. */
#define SOUND_MIN 64

struct packet {
    size_t len;
    uint8_t data[SIM_CLIENT_PACKET_CAP];
};

struct sim_client {
    struct sim_client_config config;
    struct random_generator random;
    struct net_addr address;
    struct net_addr server;
    char ufrag[9];
    char pwd[25];
    char remote_ufrag[257];
    char offer[SIM_CLIENT_OFFER_CAP];
    struct hmac_sha1_key remote_password;
    uint64_t check_us;
    bool has_path;
    struct dtls_identity *identity;
    struct dtls_transport *dtls;
    struct srtp_transport *srtp;
    struct voice_encoder *encoder;
    struct voice_decoder *decoder;
    struct rtp_sender *sender;
    struct rtp_receiver *receiver;
    struct voice_rtcp rtcp;
    uint64_t slot_us;
    uint64_t spoken_samples;
    bool speaks;
    bool has_sequence;
    uint16_t highest_sequence;
    struct sim_client_heard heard;
    int16_t last_second[SIM_CLIENT_RATE_HZ];
    size_t last_second_next;
    struct packet *queue;
    size_t queue_count;
};

static void write_offer(struct sim_client *c)
{
    static const char setup[2][8] = {"actpass", "active"};
    char fingerprint[3 * DTLS_IDENTITY_FINGERPRINT_BYTES + 1];
    const uint8_t *digest = dtls_identity_fingerprint(c->identity);
    for (size_t i = 0; i < DTLS_IDENTITY_FINGERPRINT_BYTES; i++) {
        const unsigned lie = c->config.lies_about_fingerprint ? 1 : 0;
        (void)snprintf(fingerprint + 3 * i, 4, "%02X:", digest[i] ^ lie);
    }
    fingerprint[3 * DTLS_IDENTITY_FINGERPRINT_BYTES - 1] = '\0';
    (void)snprintf(c->offer, sizeof(c->offer),
                   "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n"
                   "m=audio 9 UDP/TLS/RTP/SAVPF %d\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n"
                   "a=ice-ufrag:%s\r\na=ice-pwd:%s\r\na=fingerprint:sha-256 %s\r\n"
                   "a=setup:%s\r\na=%s\r\na=rtcp-mux\r\na=rtpmap:%d opus/48000/2\r\n",
                   PAYLOAD_TYPE, c->ufrag, c->pwd, fingerprint, setup[c->config.is_dtls_client],
                   c->config.direction == NULL ? "sendrecv" : c->config.direction, PAYLOAD_TYPE);
}

struct sim_client *sim_client_create(const struct sim_client_config *config)
{
    struct sim_client *c = calloc(1, sizeof(*c));
    struct fault fault = {0};
    c->config = *config;
    c->config.tone_hz = config->tone_hz == 0 ? SIM_CLIENT_TONE_HZ : config->tone_hz;
    c->address = config->address;
    c->check_us = c->slot_us = TIME_NEVER;
    c->speaks = true;
    random_generator_init(&c->random, config->seed);
    random_ice_chars(random_seeded(&c->random), c->ufrag, sizeof(c->ufrag) - 1);
    random_ice_chars(random_seeded(&c->random), c->pwd, sizeof(c->pwd) - 1);
    c->identity = dtls_identity_create(&fault);
    c->encoder = voice_encoder_create(VOICE_CODEC_OPUS, SIM_CLIENT_RATE_HZ);
    c->decoder = voice_decoder_create(VOICE_CODEC_OPUS, SIM_CLIENT_RATE_HZ);
    c->sender = rtp_sender_create(
        &(struct rtp_sender_config){.random = random_seeded(&c->random), .clock_hz = 48000});
    c->receiver = rtp_receiver_create();
    voice_rtcp_init(&c->rtcp, &(struct voice_rtcp_config){.receiver = c->receiver,
                                                          .sender = c->sender,
                                                          .seed = config->seed});
    c->queue = calloc(QUEUE_CAP, sizeof(*c->queue));
    write_offer(c);
    return c;
}

void sim_client_destroy(struct sim_client *c)
{
    dtls_transport_destroy(c->dtls);
    dtls_identity_destroy(c->identity);
    srtp_transport_destroy(c->srtp);
    voice_encoder_destroy(c->encoder);
    voice_decoder_destroy(c->decoder);
    rtp_sender_destroy(c->sender);
    rtp_receiver_destroy(c->receiver);
    free(c->queue);
    free(c);
}

const char *sim_client_offer(const struct sim_client *c)
{
    return c->offer;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* What stands between `before` and the next blank or line end. */
static bool find_word(const char *text, const char *before, char *word, size_t cap)
{
    const char *found = strstr(text, before);
    if (found == NULL) {
        return false;
    }
    found += strlen(before);
    const size_t len = strcspn(found, " \r\n");
    if (len >= cap) {
        return false;
    }
    memcpy(word, found, len);
    word[len] = '\0';
    return true;
}

static bool read_candidate(const char *text, struct net_addr *out)
{
    char ip[64];
    unsigned port = 0;
    const char *found = strstr(text, "a=candidate:");
    return found != NULL &&
           sscanf(found, "a=candidate:%*s 1 udp %*u %63s %u typ host", ip, &port) == 2 &&
           net_addr_parse_ip(ip, (uint16_t)port, out);
}

static bool read_fingerprint(const char *text, struct dtls_fingerprint *out)
{
    const char *found = strstr(text, "a=fingerprint:sha-256 ");
    if (found == NULL) {
        return false;
    }
    found += strlen("a=fingerprint:sha-256 ");
    out->hash = DTLS_HASH_SHA256;
    for (size_t i = 0; i < DTLS_IDENTITY_FINGERPRINT_BYTES; i++) {
        if (!bytes_from_hex(bytes_view_of(found + 3 * i, 2), &out->digest[i], 1)) {
            return false;
        }
    }
    return true;
}

bool sim_client_answer(struct sim_client *c, struct bytes_view sdp, uint64_t now_us)
{
    char text[16384];
    char pwd[257];
    char setup[16];
    struct dtls_transport_config dtls = {
        .identity = c->identity, .fingerprint_count = 1, .mtu_bytes = DTLS_MTU_BYTES};
    assert(sdp.len < sizeof(text));
    memcpy(text, sdp.data, sdp.len);
    text[sdp.len] = '\0';
    if (!find_word(text, "a=ice-ufrag:", c->remote_ufrag, sizeof(c->remote_ufrag)) ||
        !find_word(text, "a=ice-pwd:", pwd, sizeof(pwd)) ||
        !find_word(text, "a=setup:", setup, sizeof(setup)) || !read_candidate(text, &c->server) ||
        !read_fingerprint(text, &dtls.fingerprint[0])) {
        return false;
    }
    hmac_sha1_key_init(&c->remote_password, bytes_view_of_text(pwd));
    dtls.role = strcmp(setup, "active") == 0 ? DTLS_ROLE_PASSIVE : DTLS_ROLE_ACTIVE;
    c->dtls = dtls_transport_create(&dtls);
    c->check_us = now_us;
    return c->dtls != NULL;
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
    *to = c->server;
    return len;
}

static void send_check(struct sim_client *c)
{
    struct packet *p = queue_packet(c);
    struct byte_writer w;
    uint8_t id[STUN_TRANSACTION_ID_BYTES];
    char username[300];
    random_fill(random_seeded(&c->random), id, sizeof(id));
    (void)snprintf(username, sizeof(username), "%s:%s", c->remote_ufrag, c->ufrag);
    byte_writer_init(&w, p->data, sizeof(p->data));
    stun_message_begin(&w, STUN_BINDING_REQUEST, id);
    stun_message_add(&w, STUN_USERNAME, bytes_view_of_text(username));
    stun_message_add_u64(&w, STUN_ICE_CONTROLLING, 1);
    stun_message_add(&w, STUN_USE_CANDIDATE, (struct bytes_view){0});
    stun_message_add_u32(&w, STUN_PRIORITY, 1);
    stun_integrity_append(&w, &c->remote_password);
    stun_fingerprint_append(&w);
    p->len = w.len;
}

static void drain_dtls(struct sim_client *c, uint64_t now_us)
{
    struct bytes_view datagram;
    struct dtls_event event;
    while (dtls_transport_poll_datagram(c->dtls, &datagram)) {
        struct packet *p = queue_packet(c);
        memcpy(p->data, datagram.data, datagram.len);
        p->len = datagram.len;
    }
    while (dtls_transport_poll_event(c->dtls, &event)) {
        if (event.kind == DTLS_EVENT_CONNECTED && event.srtp.profile != SRTP_PROFILE_NONE) {
            c->srtp = srtp_transport_create(&event.srtp, rtp_sender_ssrc(c->sender));
            c->slot_us = now_us;
        } else if (event.kind == DTLS_EVENT_CLOSED) {
            c->heard.was_closed = true;
            c->slot_us = c->check_us = TIME_NEVER;
        }
    }
}

static void make_tone(unsigned hz, uint64_t first, int16_t frame[SLOT_SAMPLES])
{
    for (size_t i = 0; i < SLOT_SAMPLES; i++) {
        const double t = (double)(first + i) / SIM_CLIENT_RATE_HZ;
        frame[i] = (int16_t)(8000.0 * sin(2 * M_PI * hz * t));
    }
}

static void speak(struct sim_client *c, uint64_t now_us)
{
    int16_t frame[SLOT_SAMPLES] = {0};
    struct packet *p = queue_packet(c);
    if (c->speaks && c->config.has_voice) {
        speech_like_voice(&c->random, -20, SIM_CLIENT_RATE_HZ, c->spoken_samples, frame,
                          SLOT_SAMPLES);
    } else if (c->speaks) {
        make_tone(c->config.tone_hz, c->spoken_samples, frame);
    }
    c->spoken_samples += SLOT_SAMPLES;
    rtp_sender_next_slot(c->sender, 960, now_us);
    const size_t payload =
        voice_encoder_encode(c->encoder, frame, p->data + RTP_PACKET_HEADER_BYTES);
    rtp_sender_write_header(c->sender, PAYLOAD_TYPE, payload, !c->speaks, p->data);
    struct bytes_span packet = {p->data, RTP_PACKET_HEADER_BYTES + payload, sizeof(p->data)};
    const enum srtp_transport_result result = srtp_transport_protect_rtp(c->srtp, &packet);
    assert(result == SRTP_TRANSPORT_OK);
    p->len = packet.len;
    voice_rtcp_note_sent(&c->rtcp, now_us);
    c->slot_us += SLOT_US;
}

static void report(struct sim_client *c, uint64_t now_us)
{
    uint8_t plain[VOICE_RTCP_BYTES_MAX];
    const size_t len = voice_rtcp_poll_report(&c->rtcp, plain, now_us);
    if (len > 0) {
        struct packet *p = queue_packet(c);
        memcpy(p->data, plain, len);
        struct bytes_span packet = {p->data, len, sizeof(p->data)};
        const enum srtp_transport_result result = srtp_transport_protect_rtcp(c->srtp, &packet);
        assert(result == SRTP_TRANSPORT_OK);
        (void)result;
        p->len = packet.len;
    }
}

struct net_addr sim_client_address(const struct sim_client *c)
{
    return c->address;
}

void sim_client_move(struct sim_client *c, const struct net_addr *address, uint64_t now_us)
{
    c->address = *address;
    c->check_us = now_us;
}

void sim_client_set_voice(struct sim_client *c, bool speaks)
{
    c->speaks = speaks;
}

void sim_client_close(struct sim_client *c, uint64_t now_us)
{
    dtls_transport_close(c->dtls, now_us);
    drain_dtls(c, now_us);
    c->slot_us = c->check_us = TIME_NEVER;
}

/* --- in --------------------------------------------------------------------------------------- */

static void hear_samples(struct sim_client *c, const int16_t *pcm, size_t samples, uint64_t now_us)
{
    for (size_t i = 0; i < samples; i++) {
        if (pcm[i] > SOUND_MIN || pcm[i] < -SOUND_MIN) {
            c->heard.latest_sound_us = now_us;
        }
        c->last_second[c->last_second_next] = pcm[i];
        c->last_second_next = (c->last_second_next + 1) % SIM_CLIENT_RATE_HZ;
    }
}

static void hear(struct sim_client *c, const struct rtp_packet *packet, uint64_t now_us)
{
    static int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
    size_t samples = 0;
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
    c->has_sequence = true;
    c->highest_sequence = packet->sequence_number;
    if (voice_decoder_decode(c->decoder, packet->payload, pcm, &samples, now_us) ==
        VOICE_DECODER_OK) {
        hear_samples(c, pcm, samples, now_us);
    }
}

static void input_srtp(struct sim_client *c, struct bytes_view datagram, uint64_t now_us)
{
    uint8_t copy[SIM_CLIENT_PACKET_CAP];
    struct rtp_packet packet;
    bool is_newest = false;
    assert(datagram.len <= sizeof(copy));
    memcpy(copy, datagram.data, datagram.len);
    struct bytes_span span = {copy, datagram.len, sizeof(copy)};
    if (c->srtp == NULL ||
        srtp_transport_unprotect_rtp(c->srtp, &span, &is_newest, now_us) != SRTP_TRANSPORT_OK) {
        return;
    }
    if (rtp_packet_parse(bytes_view_of(span.data, span.len), &packet) == RTP_PACKET_OK) {
        hear(c, &packet, now_us);
    }
}

static void input_srtcp(struct sim_client *c, struct bytes_view datagram, uint64_t now_us)
{
    uint8_t copy[SIM_CLIENT_PACKET_CAP];
    struct byte_reader reader;
    struct rtcp_packet packet;
    bool is_newest = false;
    assert(datagram.len <= sizeof(copy));
    memcpy(copy, datagram.data, datagram.len);
    struct bytes_span span = {copy, datagram.len, sizeof(copy)};
    if (c->srtp == NULL ||
        srtp_transport_unprotect_rtcp(c->srtp, &span, &is_newest, now_us) != SRTP_TRANSPORT_OK) {
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
    struct stun_message message;
    if (stun_message_parse(datagram, &message) != STUN_OK || message.type != STUN_BINDING_SUCCESS ||
        !stun_integrity_verify(&message, &c->remote_password)) {
        return;
    }
    if (!c->has_path) {
        c->has_path = true;
        dtls_transport_start(c->dtls, 0, now_us);
        drain_dtls(c, now_us);
    }
    c->check_us = c->heard.was_closed ? TIME_NEVER : now_us + CHECK_SLOW_US;
}

void sim_client_input(struct sim_client *c, struct bytes_view datagram, uint64_t now_us)
{
    switch (datagram_kind_of(datagram)) {
    case DATAGRAM_STUN:
        input_stun(c, datagram, now_us);
        break;
    case DATAGRAM_DTLS:
        if (c->has_path) {
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
    if (now_us >= c->check_us) {
        send_check(c);
        c->check_us = now_us + CHECK_FAST_US;
    }
    if (c->has_path) {
        dtls_transport_tick(c->dtls, now_us);
        drain_dtls(c, now_us);
    }
    if (now_us >= c->slot_us) {
        speak(c, now_us);
    }
    if (c->slot_us != TIME_NEVER) {
        report(c, now_us);
    }
}

uint64_t sim_client_next_timeout(const struct sim_client *c)
{
    const uint64_t dtls_us = c->has_path ? dtls_transport_next_timeout(c->dtls) : TIME_NEVER;
    const uint64_t report_us =
        c->slot_us == TIME_NEVER ? TIME_NEVER : voice_rtcp_next_timeout(&c->rtcp);
    return time_earlier(time_earlier(c->check_us, c->slot_us), time_earlier(dtls_us, report_us));
}

/* --- what was heard --------------------------------------------------------------------------- */

bool sim_client_is_connected(const struct sim_client *c)
{
    return c->srtp != NULL;
}

const struct sim_client_heard *sim_client_heard(const struct sim_client *c)
{
    return &c->heard;
}

struct rtp_sender_stats sim_client_reported(const struct sim_client *c)
{
    return rtp_sender_stats(c->sender);
}

static double sample_at(const struct sim_client *c, size_t index)
{
    return c->last_second[(c->last_second_next + index) % SIM_CLIENT_RATE_HZ];
}

double sim_client_level(const struct sim_client *c)
{
    double sum = 0;
    for (size_t i = 0; i < SIM_CLIENT_RATE_HZ; i++) {
        sum += sample_at(c, i) * sample_at(c, i);
    }
    return sqrt(sum / SIM_CLIENT_RATE_HZ) / 32768;
}

double sim_client_tone_share(const struct sim_client *c, double hz)
{
    double tone = 0;
    double all = 0;
    for (size_t start = 0; start < SIM_CLIENT_RATE_HZ; start += WINDOW_SAMPLES) {
        double real = 0;
        double imaginary = 0;
        for (size_t i = 0; i < WINDOW_SAMPLES; i++) {
            const double sample = sample_at(c, start + i);
            const double angle = 2 * M_PI * hz * (double)i / SIM_CLIENT_RATE_HZ;
            real += sample * cos(angle);
            imaginary += sample * sin(angle);
            all += sample * sample;
        }
        tone += (real * real + imaginary * imaginary) * 2 / WINDOW_SAMPLES;
    }
    return all > 0 ? tone / all : 0;
}
