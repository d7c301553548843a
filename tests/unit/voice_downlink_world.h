/*
 * voice_downlink_world.h - a session's speech toward the client, in virtual time, without a client
 *
 * The world is accepted with PCM16 at 24 kHz and runs from BEGIN_US, one slot each call of
 * world_slot.
 */
#ifndef EARSHOT_VOICE_DOWNLINK_WORLD_H
#define EARSHOT_VOICE_DOWNLINK_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/core/rtp/rtp_packet.h"
#include "services/transceiver/core/session/voice_downlink.h"
#include "tests/outbox_frames.h"

#define WORLD_ID        0x00000301
#define WORLD_START_US  UINT64_C(9000000)
#define WORLD_BEGIN_US  (WORLD_START_US + 250000)
#define WORLD_CREDIT_US UINT64_C(2000000)
#define WORLD_RATE_KHZ  24

struct world {
    uint64_t now_us; /* of the slot that was served last */
    struct random_generator random;
    struct outbox *outbox;
    struct outbox_frames frames;
    struct voice_downlink *downlink;
    uint8_t bytes[OUTBOX_DATAGRAM_BYTES];
    struct rtp_packet packet; /* the latest that was sent, in `bytes` */
};

static struct voice_silences world_silences;
static uint8_t world_tone[2 * WORLD_RATE_KHZ * 4000]; /* 4 s, not silent */

static inline int world_prepare(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(world_tone); i += 2) {
        world_tone[i + 1] = (uint8_t)(i % 96 < 48 ? 0x10 : 0xf0);
    }
    return voice_silences_make(&world_silences) ? 0 : -1;
}

static inline struct backend_accept world_accept(void)
{
    return (struct backend_accept){.in = {BACKEND_CODEC_PCM16, 16},
                                   .out = {BACKEND_CODEC_PCM16, WORLD_RATE_KHZ},
                                   .prebuffer_ms = 20};
}

static inline struct voice_downlink_config world_config(struct world *w)
{
    return (struct voice_downlink_config){
        .session_id = WORLD_ID,
        .start_us = WORLD_START_US,
        .credit_us = WORLD_CREDIT_US,
        .outbox = w->outbox,
        .voice = {.session_id = WORLD_ID,
                  .payload_type = 96,
                  .silences = &world_silences,
                  .rtp = {.random = random_seeded(&w->random)}},
    };
}

static inline void world_open_idle(struct world *w, bool idle_sparse)
{
    *w = (struct world){.now_us = WORLD_BEGIN_US, .outbox = outbox_create(1, 1u << 20)};
    random_generator_init(&w->random, 5);
    w->frames.outbox = w->outbox;
    struct voice_downlink_config config = world_config(w);
    config.voice.idle_sparse = idle_sparse;
    w->downlink = voice_downlink_create(&config);
    assert_non_null(w->downlink);
}

/* Not accepted yet. */
static inline void world_open_early(struct world *w)
{
    world_open_idle(w, false);
}

static inline void world_open_as(struct world *w, const struct backend_accept *accept)
{
    world_open_early(w);
    assert_true(voice_downlink_attach(w->downlink, accept, WORLD_BEGIN_US));
    voice_downlink_start(w->downlink, WORLD_BEGIN_US);
}

static inline void world_open(struct world *w)
{
    const struct backend_accept accept = world_accept();
    world_open_as(w, &accept);
}

static inline void world_close(struct world *w)
{
    outbox_frames_end(&w->frames);
    voice_downlink_destroy(w->downlink);
    outbox_destroy(w->outbox);
}

/* The packet of the next slot, at its time. */
static inline void world_slot(struct world *w)
{
    w->now_us = voice_downlink_next_timeout(w->downlink);
    const size_t len = voice_downlink_poll_packet(w->downlink, w->bytes, w->now_us);
    assert_int_equal(rtp_packet_parse(bytes_view_of(w->bytes, len), &w->packet), RTP_PACKET_OK);
    uint8_t another[OUTBOX_DATAGRAM_BYTES];
    assert_int_equal(voice_downlink_poll_packet(w->downlink, another, w->now_us), 0);
}

static inline void world_slots(struct world *w, int count)
{
    for (int i = 0; i < count; i++) {
        world_slot(w);
    }
}

/* Forgets what was said so far. */
static inline void world_ignore_frames(struct world *w)
{
    outbox_clear(w->outbox);
    w->frames.cursor = 0;
}

static inline bool world_is_silent(const struct world *w)
{
    return bytes_equal(w->packet.payload, voice_silences_find(&world_silences, VOICE_CODEC_OPUS,
                                                              WORLD_RATE_KHZ * 1000u));
}

static inline struct backend_frame world_audio(uint32_t utterance, size_t ms, bool is_last)
{
    return (struct backend_frame){.type = BACKEND_AUDIO_OUT,
                                  .flags = is_last ? BACKEND_FLAG_LAST : 0,
                                  .session = WORLD_ID,
                                  .utterance = utterance,
                                  .codec = BACKEND_CODEC_PCM16,
                                  .rate_khz = WORLD_RATE_KHZ,
                                  .channels = 1,
                                  .payload = bytes_view_of(world_tone, 2 * WORLD_RATE_KHZ * ms)};
}

static inline enum voice_downlink_result world_hear(struct world *w,
                                                    const struct backend_frame *frame)
{
    return voice_downlink_input(w->downlink, frame, w->now_us);
}

static inline enum voice_downlink_result world_say(struct world *w, uint32_t utterance, size_t ms,
                                                   bool is_last)
{
    const struct backend_frame frame = world_audio(utterance, ms, is_last);
    return world_hear(w, &frame);
}

/* FLUSH, PAUSE or RESUME. */
static inline enum voice_downlink_result world_order(struct world *w, enum backend_frame_type type,
                                                     uint32_t utterance)
{
    const struct backend_frame frame = {
        .type = (uint8_t)type, .session = WORLD_ID, .utterance = utterance};
    return world_hear(w, &frame);
}

static inline struct backend_frame world_expect(struct world *w, uint32_t utterance,
                                                const char *what)
{
    const struct backend_frame frame = outbox_frames_expect(&w->frames, BACKEND_PLAYBACK);
    assert_int_equal(frame.utterance, utterance);
    outbox_frames_assert_holds(&frame, what);
    return frame;
}

static inline void world_expect_done(struct world *w, uint32_t utterance, const char *reason)
{
    const struct backend_frame done = world_expect(w, utterance, "\"state\":\"done\"");
    outbox_frames_assert_holds(&done, reason);
}

#endif
