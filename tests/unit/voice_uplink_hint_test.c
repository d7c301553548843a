/* voice_uplink_hint_test.c - what the backend is told beside the voice: speech, keys */
#include "tests/unit/uplink_world.h"

#include "services/transceiver/core/session/dtmf_in.h"
#include "tests/speech_like.h"

#define LOUD_FROM 50 /* slots */
#define LOUD_TO   150
#define SLOTS     200

static void send_sound(struct world *w, bool is_red)
{
    static int16_t pcm[SLOTS * 320];
    struct random_generator g;
    random_generator_init(&g, 3);
    speech_like_noise(&g, -65, pcm, COUNT_OF(pcm));
    const size_t from = (size_t)LOUD_FROM * 320;
    speech_like_voice(&g, -20, 16000, 0, pcm + from, (size_t)(LOUD_TO - LOUD_FROM) * 320);
    struct voice_encoder *e = voice_encoder_create(VOICE_CODEC_OPUS, 16000);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        w->opus_bytes = voice_encoder_encode(e, pcm + (size_t)slot * 320, w->opus);
        (void)(is_red ? speak_red(w, slot) : speak(w, slot));
    }
    voice_encoder_destroy(e);
}

static void speech_is_told_with_its_onset_and_end(void **state)
{
    (void)state;
    static const struct backend_format format[] = {
        {BACKEND_CODEC_PCM16, 16}, {BACKEND_CODEC_PCM16, 48}, {BACKEND_CODEC_OPUS, 48}};
    for (size_t i = 0; i < COUNT_OF(format); i++) {
        struct world w;
        open_world(&w, 0);
        assert_true(attach(&w, format[i].codec, format[i].rate_khz, 0, START_US));
        assert_false(voice_uplink_take_onset(w.uplink));
        send_sound(&w, i == 1);
        struct backend_frame frame;
        unsigned told = 0;
        uint32_t slot = 0;
        while (outbox_frames_next(&w.frames, &frame)) {
            if (frame.type == BACKEND_SPEECH) {
                outbox_frames_assert_holds(&frame, told == 0 ? "\"started\"" : "\"stopped\"");
                const uint64_t expected_us = time_of(told == 0 ? LOUD_FROM : LOUD_TO) - START_US;
                assert_in_range(frame.time_us, expected_us - 20000, expected_us + 80000);
                told++;
                continue;
            }
            const bool is_flagged = (frame.flags & BACKEND_AUDIO_SPEECH) != 0;
            assert_true(is_flagged == (told == 1));
            slot++;
        }
        assert_int_equal(told, 2);
        assert_int_equal(slot, SLOTS);
        assert_true(voice_uplink_take_onset(w.uplink));
        assert_false(voice_uplink_take_onset(w.uplink));
        forget_frames(&w);
        close_world(&w);
    }
}

static void press(struct world *w, uint32_t slot, uint32_t begun, uint8_t key, bool is_end)
{
    const uint16_t units = (uint16_t)((slot - begun + 1) * 960);
    const uint8_t payload[] = {key, (uint8_t)((is_end ? 0x80 : 0) | 10), (uint8_t)(units >> 8),
                               (uint8_t)units};
    struct rtp_packet p = packet_of(w, begun, slot, bytes_view_of(payload, sizeof(payload)), DTMF);
    p.marker = slot == begun;
    assert_int_equal(voice_uplink_input(w->uplink, &p, time_of(slot)), VOICE_UPLINK_OTHER_PAYLOAD);
}

static void a_key_is_told_once_and_its_time_is_silence(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    (void)speak(&w, 0);
    for (uint32_t slot = 1; slot <= 8; slot++) {
        press(&w, slot, 1, 5, slot >= 6); /* the end is said three times */
    }
    (void)speak(&w, 9);
    expect(&w, 0, 0);
    const struct backend_frame key = outbox_frames_expect(&w.frames, BACKEND_DTMF);
    outbox_frames_assert_holds(&key, "{\"digit\":\"5\",\"duration_ms\":120}");
    assert_int_equal(key.session, ID);
    assert_true(key.time_us == time_of(6) - START_US);
    assert_int_equal(expect(&w, 1, BACKEND_AUDIO_SILENCE).duration_2500us, 40);
    assert_int_equal(expect(&w, 6, BACKEND_AUDIO_SILENCE).duration_2500us, 24);
    expect(&w, 9, 0);
    assert_int_equal(voice_uplink_quality(w.uplink).concealed_us, 0);
    close_world(&w);
}

/* Is there a press among the frames? All are read. */
static bool is_pressed(struct world *w, const char *digit)
{
    struct backend_frame frame;
    bool is_found = false;
    while (outbox_frames_next(&w->frames, &frame)) {
        if (frame.type == BACKEND_DTMF) {
            outbox_frames_assert_holds(&frame, digit);
            is_found = true;
        }
    }
    outbox_frames_end(&w->frames);
    return is_found;
}

static void a_key_whose_end_is_lost_ends_by_the_timer(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    press(&w, 0, 0, 11, false);
    (void)speak(&w, 1); /* where it would be: its end is lost */
    const uint64_t due_us = time_of(1) + TELEPHONE_EVENT_SILENCE_US;
    voice_uplink_tick(w.uplink, due_us - 1);
    assert_false(is_pressed(&w, "#"));
    voice_uplink_tick(w.uplink, due_us);
    assert_true(is_pressed(&w, "\"digit\":\"#\""));
    assert_true(voice_uplink_next_timeout(w.uplink) > due_us);
    close_world(&w);
}

static void keys_wait_for_a_backend(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, 0);
    for (uint32_t n = 0; n < DTMF_IN_WAITING_MAX + 1; n++) {
        press(&w, 2 * n, 2 * n, (uint8_t)(n % 10), false);
        press(&w, 2 * n + 1, 2 * n, (uint8_t)(n % 10), true);
    }
    outbox_frames_end(&w.frames);
    assert_true(attach(&w, BACKEND_CODEC_PCM16, RATE_KHZ, 0, time_of(100)));
    for (uint32_t n = 0; n < DTMF_IN_WAITING_MAX; n++) {
        const struct backend_frame key = outbox_frames_expect(&w.frames, BACKEND_DTMF);
        assert_int_equal(key.payload.data[10], '0' + n % 10);
        assert_true(key.time_us == time_of(2 * n + 1) - START_US);
    }
    voice_uplink_detach(w.uplink);
    press(&w, 101, 101, 1, true);
    outbox_frames_end(&w.frames);
    assert_true(attach(&w, BACKEND_CODEC_PCM16, RATE_KHZ, 0, time_of(102)));
    outbox_frames_expect(&w.frames, BACKEND_DTMF);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speech_is_told_with_its_onset_and_end),
        cmocka_unit_test(a_key_is_told_once_and_its_time_is_silence),
        cmocka_unit_test(a_key_whose_end_is_lost_ends_by_the_timer),
        cmocka_unit_test(keys_wait_for_a_backend),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
