/* voice_uplink_fuzz.c - RTP and RTCP of an authentic client that means no good, and time
 *
 * Input: a byte (the format the backend accepts), then steps: kind (1 byte: RTP, RTCP, time, or the
 * backend goes and comes), milliseconds that pass before it (1), length (2), bytes. What comes out
 * are frames whose fields fit together, and reports that fit.
 */
#include "services/transceiver/core/media/voice_packet.h"
#include "services/transceiver/core/session/voice_rtcp.h"
#include "services/transceiver/core/session/voice_uplink.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BEGIN_US (100 * US_PER_S)

#define SENT_BYTES 90 /* of each packet that can be asked for again */

struct world {
    uint64_t now_us;
    struct backend_format format;
    struct random_generator random;
    struct outbox *outbox;
    struct voice_uplink *uplink;
    struct rtp_sender *sender;
    struct rtp_history *history;
    struct voice_rtcp rtcp;
};

static void check_frames(struct world *w)
{
    size_t cursor = 0;
    uint32_t id = 0;
    struct backend_frame frame;
    while (outbox_next_frame(w->outbox, &cursor, &id, &frame)) {
        if (frame.type == BACKEND_SPEECH || frame.type == BACKEND_DTMF) {
            assert(frame.payload.len > 2 && frame.payload.data[0] == '{');
            continue;
        }
        assert(frame.type == BACKEND_AUDIO_IN);
        assert(frame.codec == w->format.codec && frame.rate_khz == w->format.rate_khz);
        const bool is_opus = frame.codec == BACKEND_CODEC_OPUS;
        const size_t bytes_max =
            is_opus ? VOICE_PACKET_BYTES_MAX : (size_t)frame.duration_2500us * frame.rate_khz * 5;
        if ((frame.flags & BACKEND_AUDIO_SILENCE) != 0) {
            assert(frame.payload.len == 0 && frame.duration_2500us > 0);
        } else {
            assert(frame.payload.len > 0 && frame.payload.len <= bytes_max);
        }
    }
    assert(outbox_dropped(w->outbox) == 0);
    outbox_clear(w->outbox);
}

static void tick(struct world *w)
{
    uint8_t report[VOICE_RTCP_BYTES_MAX];
    voice_uplink_tick(w->uplink, w->now_us);
    assert(voice_uplink_next_timeout(w->uplink) > w->now_us);
    assert(voice_rtcp_poll_report(&w->rtcp, report, w->now_us) <= sizeof(report));
    assert(voice_rtcp_next_timeout(&w->rtcp) > w->now_us);
    check_frames(w);
}

static void attach(struct world *w, uint64_t from_us)
{
    const bool good = voice_uplink_attach(w->uplink, w->format, from_us, w->now_us);
    assert(good);
    (void)good;
}

static void step(struct world *w, struct byte_reader *script)
{
    struct rtp_packet packet;
    const uint8_t kind = byte_reader_u8(script);
    w->now_us += byte_reader_u8(script) * US_PER_MS;
    const size_t len = byte_reader_u16(script);
    const size_t left = byte_reader_left(script);
    const struct bytes_view bytes = byte_reader_bytes(script, len < left ? len : left);
    if (kind % 4 == 0 && rtp_packet_parse(bytes, &packet) == RTP_PACKET_OK) {
        (void)voice_uplink_input(w->uplink, &packet, w->now_us);
        voice_rtcp_note_received(&w->rtcp, w->now_us);
    } else if (kind % 4 == 1) {
        struct bytes_view again;
        size_t sent_again = 0;
        voice_rtcp_input(&w->rtcp, bytes, w->now_us);
        while (rtp_history_poll(w->history, &again)) {
            assert(again.len == SENT_BYTES);
            sent_again++;
        }
        assert(sent_again <= RTP_HISTORY_PACKETS);
    } else if (kind % 4 == 2) {
        w->now_us += len * US_PER_MS;
    } else if (kind % 4 == 3) {
        voice_uplink_detach(w->uplink);
        attach(w, len * US_PER_MS);
    }
    check_frames(w);
    tick(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct byte_reader script;
    byte_reader_init(&script, bytes_view_of(data, size));
    static const struct backend_format format[] = {
        {BACKEND_CODEC_PCM16, 16}, {BACKEND_CODEC_PCM16, 24}, {BACKEND_CODEC_OPUS, 48}};
    static const struct sdp_offer offer = {.audio_payload_type = 111,
                                           .has_red = true,
                                           .red_payload_type = 63,
                                           .has_telephone_event = true,
                                           .telephone_event_payload_type = 110,
                                           .extmap_audio_level = 1,
                                           .extmap_mid = 4};
    struct world w = {.now_us = BEGIN_US,
                      .format = format[byte_reader_u8(&script) % COUNT_OF(format)],
                      .outbox = outbox_create(1, 4u << 20)};
    random_generator_init(&w.random, 1);
    w.uplink = voice_uplink_create(&(struct voice_uplink_config){
        .session_id = 1, .offer = &offer, .start_us = BEGIN_US, .outbox = w.outbox});
    w.sender = rtp_sender_create(
        &(struct rtp_sender_config){.random = random_seeded(&w.random), .clock_hz = 48000});
    attach(&w, 0);
    w.history = rtp_history_create();
    for (uint8_t i = 0; i < RTP_HISTORY_PACKETS; i++) {
        const uint8_t sent[SENT_BYTES] = {0x80, 111, 0, i};
        rtp_history_keep(w.history, bytes_view_of(sent, sizeof(sent)));
    }
    voice_rtcp_init(&w.rtcp,
                    &(struct voice_rtcp_config){.receiver = voice_uplink_receiver(w.uplink),
                                                .sender = w.sender,
                                                .history = w.history});
    while (byte_reader_left(&script) > 0) {
        step(&w, &script);
    }
    voice_uplink_destroy(w.uplink);
    rtp_sender_destroy(w.sender);
    rtp_history_destroy(w.history);
    outbox_destroy(w.outbox);
    return 0;
}
