/*
 * voice_sender_world.h - a voice_sender with its queue in virtual time, and what it sent
 */
#ifndef EARSHOT_VOICE_SENDER_WORLD_H
#define EARSHOT_VOICE_SENDER_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/core/media/playout_queue.h"
#include "services/transceiver/core/outbox.h"
#include "services/transceiver/core/rtp/red.h"
#include "services/transceiver/core/session/voice_sender.h"
#include "tests/speech_like.h"

#define WORLD_ID       0x00000301 /* slot 3: phase 6 ms */
#define WORLD_BEGIN_US UINT64_C(9250000)
#define WORLD_OPUS     96
#define WORLD_RED      63
#define WORLD_RATE_HZ  24000u
#define WORLD_FRAME    (WORLD_RATE_HZ / 50)
#define SLOT_US        SLOT_CLOCK_SLOT_US

struct voice_sender_world {
    struct random_generator random;
    struct voice_silences silences;
    struct encoder_effort effort;
    struct playout_queue *queue;
    struct voice_sender *sender;
    uint64_t now_us;
    int16_t speech[WORLD_RATE_HZ * 2];

    /* The latest packet; the payload is that of the speech or silence, RED taken off. */
    uint8_t bytes[OUTBOX_DATAGRAM_BYTES];
    uint64_t sent_us;
    struct rtp_packet packet;
    struct bytes_view payload;
    bool has_copy; /* it was RED, and this is the redundant block */
    struct red_block copy;
};

static inline struct voice_sender_config voice_sender_world_config(struct voice_sender_world *w)
{
    return (struct voice_sender_config){
        .session_id = WORLD_ID,
        .payload_type = WORLD_OPUS,
        .red_payload_type = WORLD_RED,
        .has_nack = true,
        .effort = &w->effort,
        .silences = &w->silences,
        .rtp = {.random = random_seeded(&w->random)},
    };
}

/* Attached to a queue of 2 s, and running. */
static inline void voice_sender_world_open(struct voice_sender_world *w,
                                           const struct voice_sender_config *config)
{
    const struct playout_queue_config queue = {.rate_hz = WORLD_RATE_HZ, .window_us = 2 * US_PER_S};
    w->now_us = WORLD_BEGIN_US;
    w->queue = playout_queue_create(&queue);
    playout_queue_attach(w->queue, 20 * US_PER_MS, 0, w->now_us);
    w->sender = voice_sender_create(config);
    voice_sender_attach(w->sender, w->queue, WORLD_RATE_HZ);
    voice_sender_start(w->sender, w->now_us);
}

static inline int voice_sender_world_setup(void **state)
{
    static struct voice_sender_world w;
    w = (struct voice_sender_world){.now_us = WORLD_BEGIN_US};
    random_generator_init(&w.random, 5);
    encoder_effort_init(&w.effort, 5, 1);
    assert_true(voice_silences_make(&w.silences));
    struct random_generator noise;
    random_generator_init(&noise, 6);
    speech_like_voice(&noise, -12, WORLD_RATE_HZ, 0, w.speech, COUNT_OF(w.speech));
    const struct voice_sender_config config = voice_sender_world_config(&w);
    voice_sender_world_open(&w, &config);
    *state = &w;
    return 0;
}

static inline void voice_sender_world_close(struct voice_sender_world *w)
{
    voice_sender_destroy(w->sender);
    playout_queue_destroy(w->queue);
}

static inline int voice_sender_world_teardown(void **state)
{
    voice_sender_world_close(*state);
    return 0;
}

static inline void voice_sender_world_reopen(struct voice_sender_world *w,
                                             const struct voice_sender_config *config)
{
    voice_sender_world_close(w);
    voice_sender_world_open(w, config);
}

/* `ms` of speech, from `first_ms` of the fixture. */
static inline void voice_sender_world_say(struct voice_sender_world *w, uint32_t utterance,
                                          size_t first_ms, size_t ms, bool is_last)
{
    const size_t samples_per_ms = WORLD_RATE_HZ / 1000;
    const struct bytes_view pcm = {
        (const uint8_t *)(const void *)(w->speech + first_ms * samples_per_ms),
        2 * ms * samples_per_ms};
    const struct playout_piece piece = {.utterance = utterance, .media = pcm, .is_last = is_last};
    struct utterance_event event;
    (void)playout_queue_put(w->queue, &piece);
    voice_sender_wake(w->sender, w->now_us);
    while (playout_queue_poll_event(w->queue, &event)) {
    }
}

static inline void voice_sender_world_read(struct voice_sender_world *w, size_t len)
{
    struct red_packet red;
    w->sent_us = w->now_us;
    assert_int_equal(rtp_packet_parse(bytes_view_of(w->bytes, len), &w->packet), RTP_PACKET_OK);
    voice_sender_keep(w->sender, bytes_view_of(w->bytes, len));
    w->payload = w->packet.payload;
    w->has_copy = w->packet.payload_type == WORLD_RED;
    if (w->has_copy) {
        assert_int_equal(red_parse(w->packet.payload, WORLD_RED, &red), RED_OK);
        assert_int_equal(red.block_count, 2);
        w->copy = red.block[0];
        w->payload = red.block[1].data;
    }
}

/* The packets that are due at w->now_us; how many. */
static inline size_t voice_sender_world_poll(struct voice_sender_world *w)
{
    struct utterance_event event;
    size_t count = 0;
    size_t len = 0;
    while ((len = voice_sender_poll_packet(w->sender, w->bytes, w->now_us)) > 0) {
        voice_sender_world_read(w, len);
        count++;
    }
    while (playout_queue_poll_event(w->queue, &event)) {
    }
    assert_true(voice_sender_next_timeout(w->sender) > w->now_us);
    return count;
}

/* The next slot, at its time; true when it sent a packet. */
static inline bool voice_sender_world_step(struct voice_sender_world *w)
{
    w->now_us = voice_sender_next_timeout(w->sender);
    const size_t count = voice_sender_world_poll(w);
    assert_in_range(count, 0, 1);
    return count == 1;
}

static inline bool voice_sender_world_is_silence(const struct voice_sender_world *w)
{
    return bytes_equal(w->payload,
                       voice_silences_find(&w->silences, VOICE_CODEC_OPUS, WORLD_RATE_HZ));
}

/* Slots until one is silent; how many were not. */
static inline size_t voice_sender_world_hear_out(struct voice_sender_world *w)
{
    size_t slots = 0;
    for (;;) {
        assert_true(voice_sender_world_step(w));
        if (voice_sender_world_is_silence(w)) {
            return slots;
        }
        slots++;
        assert_true(slots < 1000);
    }
}

#endif
