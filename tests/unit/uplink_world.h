/*
 * uplink_world.h - a client's packets on one side of the uplink, the backend's frames on the other
 *
 * Slot n is 20 ms at time_of(n). The numbering begins where it wraps soon.
 */
#ifndef EARSHOT_UPLINK_WORLD_H
#define EARSHOT_UPLINK_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/rtp/red.h"
#include "services/transceiver/core/session/voice_uplink.h"
#include "tests/outbox_frames.h"

#define ID           0x00000101
#define OPUS         111
#define RED          63
#define DTMF         110
#define SSRC         0xabcd0001
#define START_US     UINT64_C(7000000) /* the session began here */
#define BEGIN_US     (START_US + 300000)
#define FIRST_TIME   UINT32_C(4294919296) /* 2^32 - 48,000 */
#define FIRST_NUMBER 65000
#define SLOT_US      20000
#define RATE_KHZ     16

#define LEVEL_ID 1
#define MID_ID   4

struct world {
    struct outbox *outbox;
    struct outbox_frames frames;
    struct voice_uplink *uplink;
    uint32_t ssrc;
    uint8_t opus[VOICE_PACKET_BYTES_MAX]; /* 20 ms of a tone */
    size_t opus_bytes;
};

static inline struct bytes_view tone(const struct world *w)
{
    return bytes_view_of(w->opus, w->opus_bytes);
}

static inline void make_opus(struct world *w)
{
    int16_t pcm[320];
    struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, 16000);
    for (int i = 0; i < 320; i++) {
        pcm[i] = (int16_t)(i % 40 * 400 - 8000);
    }
    w->opus_bytes = voice_encoder_encode(e, pcm, w->opus);
    voice_encoder_destroy(e);
}

static inline bool attach(struct world *w, uint8_t codec, uint8_t rate_khz, uint64_t from_us,
                          uint64_t now_us)
{
    return voice_uplink_attach(w->uplink, (struct backend_format){codec, rate_khz}, from_us,
                               now_us);
}

static inline void open_world_of(struct world *w, const struct sdp_offer *offer)
{
    *w = (struct world){.outbox = outbox_create(1, 1u << 20), .ssrc = SSRC};
    w->frames = (struct outbox_frames){.outbox = w->outbox};
    make_opus(w);
    w->uplink = voice_uplink_create(&(struct voice_uplink_config){
        .session_id = ID, .offer = offer, .start_us = START_US, .outbox = w->outbox});
    assert_non_null(w->uplink);
}

/* rate_khz 0: no backend yet. */
static inline void open_world(struct world *w, uint8_t rate_khz)
{
    static const struct sdp_offer offer = {
        .section = {{.media = SDP_MEDIA_AUDIO, .mid = "voice", .is_accepted = true}},
        .section_count = 1,
        .has_audio = true,
        .audio_payload_type = OPUS,
        .has_red = true,
        .red_payload_type = RED,
        .has_telephone_event = true,
        .telephone_event_payload_type = DTMF,
        .extmap_audio_level = LEVEL_ID,
        .extmap_mid = MID_ID,
    };
    open_world_of(w, &offer);
    if (rate_khz != 0) {
        assert_true(attach(w, BACKEND_CODEC_PCM16, rate_khz, 0, START_US));
    }
}

static inline void close_world(struct world *w)
{
    outbox_frames_end(&w->frames);
    voice_uplink_destroy(w->uplink);
    outbox_destroy(w->outbox);
}

static inline void forget_frames(struct world *w)
{
    outbox_clear(w->outbox);
    w->frames.cursor = 0;
}

static inline uint64_t time_of(uint32_t slot)
{
    return BEGIN_US + (uint64_t)slot * SLOT_US;
}

static inline struct rtp_packet packet_of(const struct world *w, uint32_t slot, uint32_t sequence,
                                          struct bytes_view payload, uint8_t payload_type)
{
    return (struct rtp_packet){
        .payload_type = payload_type,
        .sequence_number = (uint16_t)(FIRST_NUMBER + sequence),
        .timestamp = FIRST_TIME + 960 * slot,
        .ssrc = w->ssrc,
        .payload = payload,
    };
}

static inline enum voice_uplink_result input(struct world *w, uint32_t slot, uint32_t sequence,
                                             struct bytes_view payload, uint8_t payload_type)
{
    const struct rtp_packet packet = packet_of(w, slot, sequence, payload, payload_type);
    return voice_uplink_input(w->uplink, &packet, time_of(slot));
}

/* The packet of a slot, on time. */
static inline enum voice_uplink_result speak(struct world *w, uint32_t slot)
{
    return input(w, slot, slot, tone(w), OPUS);
}

/* The same, and with a copy of the slot before. */
static inline enum voice_uplink_result speak_red(struct world *w, uint32_t slot)
{
    uint8_t payload[2 * VOICE_PACKET_BYTES_MAX];
    const struct red_block old = {OPUS, 960, tone(w)};
    const struct red_block new = {OPUS, 0, tone(w)};
    const size_t len = red_write(&old, &new, payload, sizeof(payload));
    assert_true(len > 0);
    return input(w, slot, slot, bytes_view_of(payload, len), RED);
}

/* The next AUDIO_IN; false when there is none. Whether it is taken for speech is the matter of
 * voice_uplink_hint_test. */
static inline bool next_voice(struct world *w, struct backend_frame *out)
{
    while (outbox_frames_next(&w->frames, out)) {
        if (out->type != BACKEND_SPEECH) {
            assert_int_equal(out->type, BACKEND_AUDIO_IN);
            out->flags &= (uint16_t)~BACKEND_AUDIO_SPEECH;
            return true;
        }
    }
    return false;
}

/* The next AUDIO_IN is of this slot. */
static inline struct backend_frame expect(struct world *w, uint32_t slot, uint16_t flags)
{
    struct backend_frame frame = {0};
    assert_true(next_voice(w, &frame));
    assert_int_equal(frame.utterance, (uint32_t)(FIRST_TIME + 960 * slot));
    assert_int_equal(frame.flags, flags);
    return frame;
}

#endif
