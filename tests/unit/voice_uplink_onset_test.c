/* voice_uplink_onset_test.c - a voice is told however it comes: Opus, as it is, G.711, replayed */
#include "tests/unit/uplink_world.h"

#include "tests/speech_like.h"

#define FRAME 480

static uint64_t session_time(uint32_t slot)
{
    return time_of(slot) - START_US;
}

/* A second of a room, then a voice, then the room; packet by packet. What was told of it. */
struct heard {
    uint64_t started_us; /* time_us of the SPEECH frames */
    uint64_t stopped_us;
    uint32_t first_flagged; /* slots whose AUDIO_IN says speech */
    uint32_t last_flagged;
    size_t onsets; /* as voice_uplink_take_onset tells */
};

#define ROOM_SLOTS  50
#define VOICE_SLOTS 100
#define ALL_SLOTS   200

/* No backend from one slot to another. */
struct outage {
    uint32_t from_slot;
    uint32_t to_slot; /* 0: there is none */
    bool is_restart;
};

static void go_and_come(struct world *w, const struct outage *outage, uint32_t slot,
                        struct heard *heard)
{
    if (outage->to_slot == 0) {
        return;
    }
    if (slot == outage->from_slot) {
        voice_uplink_detach(w->uplink);
    }
    if (slot == outage->to_slot) {
        if (outage->is_restart) {
            voice_uplink_restart(w->uplink);
            *heard = (struct heard){0};
        }
        assert_true(attach(w, BACKEND_CODEC_PCM16, 24, voice_uplink_history_from_us(w->uplink),
                           time_of(slot)));
    }
}

static void read_frames(struct world *w, uint32_t slot, struct heard *out)
{
    struct backend_frame frame;
    while (outbox_frames_next(&w->frames, &frame)) {
        if (frame.type == BACKEND_SPEECH) {
            const bool is_start = out->started_us == 0;
            outbox_frames_assert_holds(&frame, is_start ? "\"started\"" : "\"stopped\"");
            outbox_frames_assert_holds(&frame, "\"level_dbov\":-");
            assert_int_equal(out->stopped_us, 0);
            *(is_start ? &out->started_us : &out->stopped_us) = frame.time_us;
        } else if ((frame.flags & BACKEND_AUDIO_SPEECH) != 0) {
            out->first_flagged = out->first_flagged == 0 ? slot : out->first_flagged;
            out->last_flagged = slot;
        }
    }
    outbox_frames_end(&w->frames);
}

static struct heard talk_over(struct world *w, enum voice_codec codec, uint8_t payload_type,
                              const struct outage *outage)
{
    struct heard heard = {0};
    struct random_generator g;
    struct voice_encoder *e = voice_encoder_create(codec, 24000);
    assert_non_null(e);
    voice_encoder_tune(e, 32000, 1);
    random_generator_init(&g, 5);
    const uint32_t slots = outage->to_slot + 60 > ALL_SLOTS ? outage->to_slot + 60 : ALL_SLOTS;
    for (uint32_t slot = 0; slot < slots; slot++) {
        int16_t pcm[FRAME];
        uint8_t data[VOICE_PACKET_BYTES_MAX];
        if (slot >= ROOM_SLOTS && slot < ROOM_SLOTS + VOICE_SLOTS) {
            speech_like_voice(&g, -20, 24000, (slot - ROOM_SLOTS) * FRAME, pcm, FRAME);
        } else {
            speech_like_noise(&g, -70, pcm, FRAME);
        }
        struct rtp_packet packet = packet_of(
            w, slot, slot, bytes_view_of(data, voice_encoder_encode(e, pcm, data)), payload_type);
        packet.timestamp = slot * (voice_codec_clock_hz(codec) / 50);
        go_and_come(w, outage, slot, &heard);
        (void)voice_uplink_input(w->uplink, &packet, time_of(slot));
        heard.onsets += voice_uplink_take_onset(w->uplink);
        read_frames(w, slot, &heard);
    }
    voice_encoder_destroy(e);
    return heard;
}

static struct heard talk(struct world *w, enum voice_codec codec, uint8_t payload_type)
{
    return talk_over(w, codec, payload_type, &(struct outage){0});
}

static void assert_heard(const struct heard *h)
{
    assert_in_range(h->started_us, session_time(ROOM_SLOTS), session_time(ROOM_SLOTS + 3));
    assert_in_range(h->first_flagged, ROOM_SLOTS, ROOM_SLOTS + 3);
    assert_in_range(h->stopped_us, session_time(ROOM_SLOTS + VOICE_SLOTS - 10),
                    session_time(ROOM_SLOTS + VOICE_SLOTS + 2));
    assert_in_range(h->last_flagged, ROOM_SLOTS + VOICE_SLOTS, ROOM_SLOTS + VOICE_SLOTS + 16);
    assert_int_equal(h->onsets, 1);
}

static void a_voice_is_told_and_its_frames_are_flagged(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 24);
    const struct heard heard = talk(&w, VOICE_CODEC_OPUS, OPUS);
    assert_heard(&heard);
    close_world(&w);
}

static void a_voice_that_passes_as_it_is_is_told_by_its_encoder(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 0);
    assert_true(attach(&w, BACKEND_CODEC_OPUS, 48, 0, START_US));
    const struct heard heard = talk(&w, VOICE_CODEC_OPUS, OPUS);
    assert_heard(&heard);
    close_world(&w);
}

static void a_voice_in_g711_is_told_too(void **state)
{
    (void)state;
    static const struct sdp_offer offer = {
        .has_audio = true, .audio_codec = VOICE_CODEC_PCMA, .audio_payload_type = 8};
    struct world w;
    open_world_of(&w, &offer);
    assert_true(attach(&w, BACKEND_CODEC_PCM16, 24, 0, START_US));
    const struct heard heard = talk(&w, VOICE_CODEC_PCMA, 8);
    assert_heard(&heard);
    close_world(&w);
}

/* Who was heard before the backend came interrupts nobody. */
static void a_replayed_voice_is_told_but_is_no_onset(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 0);
    struct heard heard = talk(&w, VOICE_CODEC_OPUS, OPUS);
    assert_int_equal(heard.started_us, 0);
    assert_int_equal(heard.onsets, 0);
    assert_true(attach(&w, BACKEND_CODEC_PCM16, 24, 0, time_of(ALL_SLOTS)));
    for (uint64_t due_us = 0; (due_us = voice_uplink_next_timeout(w.uplink)) != TIME_NEVER;) {
        voice_uplink_tick(w.uplink, due_us);
        read_frames(&w, 1, &heard);
        heard.onsets += voice_uplink_take_onset(w.uplink);
    }
    assert_true(heard.started_us != 0);
    assert_int_equal(heard.onsets, 0);
    close_world(&w);
}

/* Said before the backend was lost, while it was away, or long ago when it is back. */
static void stopped_is_told_to_who_comes_back_and_was_told_started(void **state)
{
    (void)state;
    static const struct outage outage[] = {{100, 120, false}, {100, 200, false}, {100, 270, false}};
    for (size_t i = 0; i < COUNT_OF(outage); i++) {
        struct world w;
        open_world(&w, 24);
        const struct heard heard = talk_over(&w, VOICE_CODEC_OPUS, OPUS, &outage[i]);
        assert_in_range(heard.started_us, session_time(ROOM_SLOTS), session_time(ROOM_SLOTS + 3));
        assert_in_range(heard.stopped_us, session_time(ROOM_SLOTS + VOICE_SLOTS - 10),
                        session_time(outage[i].to_slot + VOICE_SLOTS / 2));
        assert_int_equal(heard.onsets, 1);
        close_world(&w);
    }
}

static void a_backend_that_knows_nothing_is_told_started_anew(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 24);
    const struct heard heard =
        talk_over(&w, VOICE_CODEC_OPUS, OPUS, &(struct outage){100, 140, true});
    assert_in_range(heard.started_us, session_time(ROOM_SLOTS), session_time(ROOM_SLOTS + 5));
    assert_in_range(heard.stopped_us, session_time(ROOM_SLOTS + VOICE_SLOTS - 10),
                    session_time(ROOM_SLOTS + VOICE_SLOTS + 2));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_voice_is_told_and_its_frames_are_flagged),
        cmocka_unit_test(a_voice_that_passes_as_it_is_is_told_by_its_encoder),
        cmocka_unit_test(a_voice_in_g711_is_told_too),
        cmocka_unit_test(a_replayed_voice_is_told_but_is_no_onset),
        cmocka_unit_test(stopped_is_told_to_who_comes_back_and_was_told_started),
        cmocka_unit_test(a_backend_that_knows_nothing_is_told_started_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
