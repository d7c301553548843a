/* backend_side_test.c - what a call tells of itself at its end, over all its backends */
#include "tests/unit/voice_downlink_world.h"

#include "services/transceiver/core/session/backend_side.h"

static const struct sdp_offer offer = {.has_audio = true, .audio_payload_type = 96};

struct side_world {
    struct world voice;
    struct voice_uplink *uplink;
    struct backend_side side;
};

static void open_side(struct side_world *w)
{
    world_open_early(&w->voice);
    w->uplink = voice_uplink_create(&(struct voice_uplink_config){.session_id = WORLD_ID,
                                                                  .offer = &offer,
                                                                  .start_us = WORLD_START_US,
                                                                  .outbox = w->voice.outbox});
    assert_non_null(w->uplink);
    const struct backend_start start = {.call_id = "rtc_x",
                                        .in = {{BACKEND_CODEC_PCM16, WORLD_RATE_KHZ}},
                                        .in_count = 1,
                                        .out = {{BACKEND_CODEC_PCM16, WORLD_RATE_KHZ}},
                                        .out_count = 1};
    const struct backend_leg_config config = {.session_id = WORLD_ID,
                                              .start = &start,
                                              .random = random_seeded(&w->voice.random),
                                              .outbox = w->voice.outbox};
    w->side = (struct backend_side){0};
    assert_true(
        backend_side_init(&w->side, &config, w->uplink, w->voice.downlink, w->voice.now_us));
}

static void close_side(struct side_world *w)
{
    backend_side_deinit(&w->side);
    voice_uplink_destroy(w->uplink);
    world_close(&w->voice);
}

static enum backend_side_event say(struct side_world *w, enum backend_frame_type type,
                                   const char *json)
{
    const struct backend_frame frame = {
        .type = (uint8_t)type, .session = WORLD_ID, .payload = bytes_view_of_text(json)};
    return backend_side_input(&w->side, &frame, w->voice.now_us);
}

/* 100 ms of an utterance. */
static void speak(struct side_world *w)
{
    const struct backend_frame frame = world_audio(1, 100, true);
    (void)backend_side_input(&w->side, &frame, w->voice.now_us);
}

/* The call has begun anew with another backend, one that can not resume, or does not know it. */
static void the_totals_are_of_all_backends(void **state)
{
    (void)state;
    for (int can_resume = 0; can_resume < 2; can_resume++) {
        struct side_world w;
        open_side(&w);
        assert_int_equal(say(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_SIDE_ACCEPTED);
        speak(&w);
        assert_true(backend_side_lost(&w.side, w.voice.now_us));
        backend_side_found(&w.side, can_resume != 0, w.voice.now_us);
        if (can_resume != 0) {
            (void)say(&w, BACKEND_SESSION_REJECT, "{\"code\":\"no_session\",\"message\":\"\"}");
        }
        assert_int_equal(say(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_SIDE_RESTARTED);
        speak(&w);
        assert_int_equal(say(&w, BACKEND_SESSION_END, "{}"), BACKEND_SIDE_ENDED);
        world_ignore_frames(&w.voice);
        backend_side_end(&w.side, "backend_ended", false, w.voice.now_us);
        world_expect_done(&w.voice, 1, "session_end");
        const struct backend_frame ended =
            outbox_frames_expect(&w.voice.frames, BACKEND_SESSION_ENDED);
        outbox_frames_assert_holds(&ended, "\"audio_out_us\":200000");
        close_side(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_totals_are_of_all_backends)};
    return cmocka_run_group_tests(tests, world_prepare, NULL);
}
