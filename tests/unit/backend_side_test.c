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
        backend_side_init(&w->side, &config, w->uplink, w->voice.downlink, NULL, w->voice.now_us));
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

/* --- side-bands ------------------------------------------------------------------------------- */

/* The next SIDEBAND frame; other frames before it do not count. */
static void expect_sideband(struct side_world *w, const char *json)
{
    struct backend_frame frame = {0};
    while (frame.type != BACKEND_SIDEBAND) {
        assert_true(outbox_frames_next(&w->voice.frames, &frame));
    }
    outbox_frames_assert_holds(&frame, json);
}

static void expect_no_sideband(struct side_world *w)
{
    struct backend_frame frame = {0};
    while (outbox_frames_next(&w->voice.frames, &frame)) {
        assert_int_not_equal(frame.type, BACKEND_SIDEBAND);
    }
}

static enum sidebands_result attach_sideband(struct side_world *w, uint32_t id)
{
    return backend_side_attach_sideband(&w->side, id, SIDEBANDS_LEASE_US, w->voice.now_us);
}

static void a_backend_hears_of_side_bands_when_it_has_accepted(void **state)
{
    (void)state;
    struct side_world w;
    open_side(&w);
    assert_int_equal(attach_sideband(&w, 7), SIDEBANDS_ATTACHED);
    expect_no_sideband(&w);
    assert_int_equal(say(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_SIDE_ACCEPTED);
    expect_sideband(&w, "{\"id\":7,\"state\":\"attached\"}");
    assert_int_equal(attach_sideband(&w, 8), SIDEBANDS_ATTACHED);
    assert_int_equal(attach_sideband(&w, 8), SIDEBANDS_RENEWED);
    expect_sideband(&w, "{\"id\":8,\"state\":\"attached\"}");
    backend_side_detach_sideband(&w.side, 7, w.voice.now_us);
    expect_sideband(&w, "{\"id\":7,\"state\":\"gone\"}");
    expect_no_sideband(&w);
    close_side(&w);
}

static void a_lease_that_ends_is_told_in_time(void **state)
{
    (void)state;
    struct side_world w;
    open_side(&w);
    assert_int_equal(say(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_SIDE_ACCEPTED);
    assert_int_equal(attach_sideband(&w, 7), SIDEBANDS_ATTACHED);
    world_ignore_frames(&w.voice);
    w.voice.now_us += SIDEBANDS_LEASE_US;
    assert_true(backend_side_next_timeout(&w.side) <= w.voice.now_us);
    assert_int_equal(backend_side_tick(&w.side, w.voice.now_us), BACKEND_SIDE_NOTHING);
    expect_sideband(&w, "{\"id\":7,\"state\":\"gone\"}");
    expect_no_sideband(&w);
    close_side(&w);
}

/* The next backend goes on where the last one was, or knows nothing: it greets in both cases. */
static void who_waits_for_a_greeting_is_told_again_after_a_loss(void **state)
{
    (void)state;
    for (int can_resume = 0; can_resume < 2; can_resume++) {
        struct side_world w;
        open_side(&w);
        assert_int_equal(say(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_SIDE_ACCEPTED);
        assert_int_equal(attach_sideband(&w, 7), SIDEBANDS_ATTACHED);
        world_ignore_frames(&w.voice);
        assert_true(backend_side_lost(&w.side, w.voice.now_us));
        assert_int_equal(attach_sideband(&w, 8), SIDEBANDS_ATTACHED);
        expect_no_sideband(&w);
        backend_side_found(&w.side, can_resume != 0, w.voice.now_us);
        expect_no_sideband(&w);
        assert_int_equal(say(&w, BACKEND_SESSION_ACCEPT, "{}"),
                         can_resume != 0 ? BACKEND_SIDE_RESUMED : BACKEND_SIDE_RESTARTED);
        expect_sideband(&w, "\"id\":7");
        expect_sideband(&w, "\"id\":8");
        expect_no_sideband(&w);
        close_side(&w);
    }
}

static void what_a_side_band_says_is_an_event_in_chunks(void **state)
{
    (void)state;
    static uint8_t event[BACKEND_CHUNK_BYTES + 1];
    struct side_world w;
    open_side(&w);
    const struct bytes_view whole = bytes_view_of(event, sizeof(event));
    assert_int_equal(backend_side_inject(&w.side, 7, whole, w.voice.now_us),
                     BACKEND_SIDE_NO_SIDEBAND);
    assert_int_equal(attach_sideband(&w, 7), SIDEBANDS_ATTACHED);
    assert_int_equal(backend_side_inject(&w.side, 7, whole, w.voice.now_us), BACKEND_SIDE_AWAY);
    assert_int_equal(say(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_SIDE_ACCEPTED);
    world_ignore_frames(&w.voice);
    assert_int_equal(backend_side_inject(&w.side, 7, whole, w.voice.now_us), BACKEND_SIDE_INJECTED);
    const struct backend_frame first = outbox_frames_expect(&w.voice.frames, BACKEND_EVENT);
    const struct backend_frame second = outbox_frames_expect(&w.voice.frames, BACKEND_EVENT);
    outbox_frames_end(&w.voice.frames);
    assert_int_equal(first.payload.len, BACKEND_CHUNK_BYTES);
    assert_int_equal(first.flags, 0);
    assert_int_equal(second.payload.len, 1);
    assert_int_equal(second.flags, BACKEND_FLAG_LAST);
    close_side(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_totals_are_of_all_backends),
        cmocka_unit_test(a_backend_hears_of_side_bands_when_it_has_accepted),
        cmocka_unit_test(a_lease_that_ends_is_told_in_time),
        cmocka_unit_test(who_waits_for_a_greeting_is_told_again_after_a_loss),
        cmocka_unit_test(what_a_side_band_says_is_an_event_in_chunks),
    };
    return cmocka_run_group_tests(tests, world_prepare, NULL);
}
