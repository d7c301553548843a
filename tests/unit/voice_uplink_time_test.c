/* voice_uplink_time_test.c - silence, stalls, bursts and clocks that jump: the time stays right */
#include "tests/unit/uplink_world.h"

#include "services/transceiver/core/media/reorder_buffer.h"
#include "services/transceiver/core/rtp/rtp_clock.h"

static const uint8_t dtx[] = {0x08};

/* Ticks up to and including until_us, as the loop does. */
static void run_timers(struct world *w, uint64_t until_us)
{
    uint64_t due_us = voice_uplink_next_timeout(w->uplink);
    while (due_us <= until_us) {
        voice_uplink_tick(w->uplink, due_us);
        assert_true(voice_uplink_next_timeout(w->uplink) > due_us);
        due_us = voice_uplink_next_timeout(w->uplink);
    }
}

static void silence_is_told_60_ms_behind_the_clock(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    (void)speak(&w, 0);
    (void)input(&w, 1, 1, bytes_view_of(dtx, 1), OPUS);
    expect(&w, 0, 0);
    const struct backend_frame first = expect(&w, 1, BACKEND_AUDIO_SILENCE);
    assert_int_equal(first.payload.len, 0);
    assert_int_equal(first.duration_2500us, 8);
    for (uint32_t slot = 2; slot < 52; slot += 5) {
        const uint64_t due_us = time_of(slot + 5) + 60000; /* 100 ms are over since 60 ms */
        run_timers(&w, due_us - 1);
        outbox_frames_end(&w.frames);
        assert_true(voice_uplink_next_timeout(w.uplink) == due_us);
        run_timers(&w, due_us);
        const struct backend_frame frame = expect(&w, slot, BACKEND_AUDIO_SILENCE);
        assert_int_equal(frame.duration_2500us, 40);
        assert_int_equal(frame.time_us, time_of(slot) - START_US);
    }
    (void)input(&w, 53, 2, tone(&w), OPUS); /* the last 20 ms are told with it */
    assert_int_equal(expect(&w, 52, BACKEND_AUDIO_SILENCE).duration_2500us, 8);
    expect(&w, 53, 0);
    close_world(&w);
}

/* libwebrtc: a packet of a byte each 400 ms, and nothing between. */
static void ten_minutes_of_dtx_conceal_nothing_and_keep_the_time(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    uint64_t told = 0; /* timestamp units behind the first */
    uint32_t sequence = 0;
    (void)input(&w, 0, sequence++, tone(&w), OPUS);
    for (uint32_t slot = 1; slot < 10 * 60 * 50; slot += 20) {
        run_timers(&w, time_of(slot));
        (void)input(&w, slot, sequence++, bytes_view_of(dtx, 1), OPUS);
        struct backend_frame frame;
        while (next_voice(&w, &frame)) {
            assert_int_equal(frame.flags & ~BACKEND_AUDIO_SILENCE, 0);
            const uint64_t begin = (uint32_t)(frame.utterance - FIRST_TIME);
            /* Each begins where the one before ended, or overlaps silence. */
            assert_true(begin == told || (begin < told && frame.flags == BACKEND_AUDIO_SILENCE));
            told = begin + frame.duration_2500us * 120u;
        }
        forget_frames(&w);
    }
    const uint32_t last = 10 * 60 * 50 + 1;
    run_timers(&w, time_of(last));
    (void)input(&w, last, sequence, tone(&w), OPUS);
    struct backend_frame frame = {0};
    while (next_voice(&w, &frame)) {
    }
    assert_int_equal(frame.flags, 0);
    assert_int_equal(frame.utterance, (uint32_t)(FIRST_TIME + 960 * last));
    assert_int_equal(frame.time_us, time_of(last) - START_US);
    const struct voice_uplink_quality q = voice_uplink_quality(w.uplink);
    assert_int_equal(q.concealed_us, 0);
    assert_int_equal(q.jitter_us, 0);
    assert_int_equal(voice_uplink_stats(w.uplink)->concealed, 0);
    close_world(&w);
}

/* The call's first packet was 50 ms slower than the first of another track. */
static void a_new_stream_does_not_go_back_in_time(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    struct rtp_packet packet = packet_of(&w, 0, 0, tone(&w), OPUS);
    (void)voice_uplink_input(w.uplink, &packet, time_of(0) + 50000);
    packet = packet_of(&w, 1, 1, tone(&w), OPUS);
    (void)voice_uplink_input(w.uplink, &packet, time_of(1));
    assert_int_equal(expect(&w, 0, 0).time_us, time_of(0) + 50000 - START_US);
    const struct backend_frame last = expect(&w, 1, 0);
    w.ssrc++;
    (void)speak(&w, 2); /* 50 ms before the end of what was heard */
    const struct backend_frame first = expect(&w, 2, BACKEND_AUDIO_DISCONTINUITY);
    assert_int_equal(first.time_us, last.time_us + SLOT_US);
    (void)speak(&w, 3);
    assert_int_equal(expect(&w, 3, 0).time_us, first.time_us + SLOT_US);
    close_world(&w);
}

static void nothing_for_500_ms_is_said_once(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    (void)speak(&w, 0);
    expect(&w, 0, 0);
    run_timers(&w, time_of(0) + 500000 - 1);
    outbox_frames_end(&w.frames);
    run_timers(&w, time_of(0) + 500000);
    const struct backend_frame frame =
        expect(&w, 1, BACKEND_AUDIO_SILENCE | BACKEND_AUDIO_DISCONTINUITY);
    assert_int_equal(frame.payload.len, 0);
    run_timers(&w, time_of(500));
    outbox_frames_end(&w.frames);
    assert_true(voice_uplink_next_timeout(w.uplink) == TIME_NEVER);
    close_world(&w);
}

/* The radio held everything for 400 ms. */
static void a_late_burst_is_delivered_at_once_and_flagged(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    for (uint32_t slot = 0; slot < 50; slot++) {
        (void)speak(&w, slot);
        expect(&w, slot, 0);
    }
    const uint64_t burst_us = time_of(70);
    for (uint32_t slot = 50; slot < 71; slot++) {
        const struct rtp_packet p = packet_of(&w, slot, slot, tone(&w), OPUS);
        assert_int_equal(voice_uplink_input(w.uplink, &p, burst_us), VOICE_UPLINK_TAKEN);
        /* 60 ms above the fastest is not late, more is. */
        expect(&w, slot, slot < 67 ? BACKEND_AUDIO_LATE : 0);
    }
    outbox_frames_end(&w.frames);
    assert_int_equal(voice_uplink_stats(w.uplink)->packets[VOICE_UPLINK_TAKEN], 71);
    assert_int_equal(voice_uplink_quality(w.uplink).concealed_us, 0);
    close_world(&w);
}

static void a_clock_that_jumps_is_anchored_anew(void **state)
{
    (void)state;
    static const int64_t jump_s[] = {11, 3600 * 5, -1, -3600 * 5};
    for (size_t i = 0; i < COUNT_OF(jump_s); i++) {
        struct world w;
        open_world(&w, RATE_KHZ);
        (void)speak(&w, 0);
        (void)speak(&w, 1);
        for (uint32_t slot = 2; slot < 5; slot++) {
            struct rtp_packet p = packet_of(&w, slot, slot, tone(&w), OPUS);
            p.timestamp += (uint32_t)(jump_s[i] * 48000);
            assert_int_equal(voice_uplink_input(w.uplink, &p, time_of(slot)), VOICE_UPLINK_TAKEN);
        }
        for (uint32_t slot = 0; slot < 5; slot++) {
            struct backend_frame frame = {0};
            assert_true(next_voice(&w, &frame));
            assert_int_equal(frame.flags, slot == 2 ? BACKEND_AUDIO_DISCONTINUITY : 0);
            assert_int_equal(frame.time_us, time_of(slot) - START_US);
        }
        close_world(&w);
    }
}

/* 9.9 s ahead is still the same clock; then another jump of it. */
static void a_clock_that_ran_ahead_is_anchored_to_the_arrival_again(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    (void)speak(&w, 0);
    for (uint32_t slot = 1; slot < 100; slot++) {
        struct rtp_packet p = packet_of(&w, slot, slot, tone(&w), OPUS);
        p.timestamp += slot < 5 ? 475200 : 475200 + 48000;
        assert_int_equal(voice_uplink_input(w.uplink, &p, time_of(slot)), VOICE_UPLINK_TAKEN);
    }
    struct backend_frame frame = {0};
    unsigned discontinuities = 0;
    while (next_voice(&w, &frame)) {
        discontinuities += (frame.flags & BACKEND_AUDIO_DISCONTINUITY) != 0;
    }
    assert_int_equal(discontinuities, 1);
    assert_true(frame.time_us == time_of(99) - START_US);
    close_world(&w);
}

/* Authentic, overtaken, and hours off: neither it nor what comes behind it moves in time. */
static void an_overtaken_packet_with_a_lying_time_moves_nothing(void **state)
{
    (void)state;
    static const int64_t lie_s[] = {3600 * 5, 9, -1, -9, -3600 * 5};
    for (size_t i = 0; i < COUNT_OF(lie_s); i++) {
        struct world w;
        open_world(&w, RATE_KHZ);
        (void)speak(&w, 0);
        expect(&w, 0, 0);
        (void)speak(&w, 2);
        expect(&w, 1, BACKEND_AUDIO_CONCEALED);
        expect(&w, 2, 0);
        (void)input(&w, 1, 1, tone(&w), OPUS); /* late: from here a gap is waited for */
        (void)speak(&w, 4);                    /* held */
        struct rtp_packet p = packet_of(&w, 3, 3, tone(&w), OPUS);
        p.timestamp += (uint32_t)(lie_s[i] * 48000);
        assert_int_equal(voice_uplink_input(w.uplink, &p, time_of(4)), VOICE_UPLINK_MISPLACED);
        (void)speak(&w, 5);
        expect(&w, 3, BACKEND_AUDIO_CONCEALED);
        for (uint32_t slot = 4; slot < 50; slot++) {
            assert_int_equal(expect(&w, slot, 0).time_us, time_of(slot) - START_US);
            (void)speak(&w, slot + 2);
        }
        forget_frames(&w);
        close_world(&w);
    }
}

static void sequence_and_timestamp_wrap_unseen(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    for (uint32_t slot = 0; slot < 1200; slot++) {
        (void)speak(&w, slot);
        assert_int_equal(expect(&w, slot, 0).time_us, time_of(slot) - START_US);
    }
    close_world(&w);
}

static void drift_of_the_clients_clock_is_seen(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, RATE_KHZ);
    for (uint32_t slot = 0; slot < 2000; slot++) {
        const struct rtp_packet p = packet_of(&w, slot, slot, tone(&w), OPUS);
        /* Its second is shorter than ours by 500 ppm. */
        (void)voice_uplink_input(w.uplink, &p, time_of(slot) - (uint64_t)slot * 10);
        forget_frames(&w);
    }
    assert_in_range(voice_uplink_quality(w.uplink).drift_ppm, 495, 505);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_told_60_ms_behind_the_clock),
        cmocka_unit_test(ten_minutes_of_dtx_conceal_nothing_and_keep_the_time),
        cmocka_unit_test(a_new_stream_does_not_go_back_in_time),
        cmocka_unit_test(nothing_for_500_ms_is_said_once),
        cmocka_unit_test(a_late_burst_is_delivered_at_once_and_flagged),
        cmocka_unit_test(a_clock_that_jumps_is_anchored_anew),
        cmocka_unit_test(a_clock_that_ran_ahead_is_anchored_to_the_arrival_again),
        cmocka_unit_test(an_overtaken_packet_with_a_lying_time_moves_nothing),
        cmocka_unit_test(sequence_and_timestamp_wrap_unseen),
        cmocka_unit_test(drift_of_the_clients_clock_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
