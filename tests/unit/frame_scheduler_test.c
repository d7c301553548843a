/* frame_scheduler_test.c - whose turn it is, and what the socket did not take */
#include "tests/unit/frame_scheduler_world.h"

/* --- classes and turns ------------------------------------------------------------------------ */

static void each_type_has_its_class(void **state)
{
    (void)state;
    static const struct {
        uint8_t type;
        enum write_class class;
    } c[] = {
        {BACKEND_FLUSHED, WRITE_URGENT},
        {BACKEND_CREDIT, WRITE_URGENT},
        {BACKEND_ERROR, WRITE_URGENT},
        {BACKEND_PING, WRITE_URGENT},
        {BACKEND_PONG, WRITE_URGENT},
        {BACKEND_SPEECH, WRITE_CONTROL},
        {BACKEND_PLAYBACK, WRITE_CONTROL},
        {BACKEND_SESSION_START, WRITE_CONTROL},
        {BACKEND_SESSION_END, WRITE_CONTROL},
        {BACKEND_SESSION_ENDED, WRITE_CONTROL},
        {BACKEND_SESSION_RESUME, WRITE_CONTROL},
        {BACKEND_CONNECTED, WRITE_CONTROL},
        {BACKEND_DTMF, WRITE_CONTROL},
        {BACKEND_SIDEBAND, WRITE_CONTROL},
        {BACKEND_AUDIO_IN, WRITE_AUDIO},
        {BACKEND_EVENT, WRITE_MESSAGE},
        {BACKEND_CHANNEL_DATA, WRITE_MESSAGE},
        {BACKEND_NET_STATS, WRITE_MESSAGE},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        assert_int_equal(frame_class_of(c[i].type), c[i].class);
    }
}

static void the_higher_class_leaves_first_whoever_it_is_of(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    put(&w, 0, BACKEND_EVENT, 1);
    put(&w, 0, BACKEND_AUDIO_IN, 2);
    put(&w, 1, BACKEND_PLAYBACK, 3);
    put(&w, 2, BACKEND_CREDIT, 4);
    put(&w, CONNECTION, BACKEND_PING, 5);
    expect(&w, 2, BACKEND_CREDIT, 4);
    expect(&w, CONNECTION, BACKEND_PING, 5);
    expect(&w, 1, BACKEND_PLAYBACK, 3);
    expect(&w, 0, BACKEND_AUDIO_IN, 2);
    expect(&w, 0, BACKEND_EVENT, 1);
    assert_nothing_waits(&w);
    close_world(&w);
}

static void within_a_class_sessions_take_turns_and_each_keeps_its_order(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    for (uint32_t i = 0; i < 3; i++) {
        put(&w, 0, BACKEND_AUDIO_IN, i);
    }
    put(&w, 1, BACKEND_AUDIO_IN, 0);
    put(&w, 2, BACKEND_AUDIO_IN, 0);
    put(&w, 2, BACKEND_AUDIO_IN, 1);
    static const struct {
        size_t queue;
        uint32_t mark;
    } order[] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {2, 1}, {0, 2}};
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        expect(&w, order[i].queue, BACKEND_AUDIO_IN, order[i].mark);
    }
    assert_nothing_waits(&w);
    close_world(&w);
}

static void a_start_leaves_first_of_its_session_and_an_end_last(void **state)
{
    (void)state;
    static const unsigned first[] = {BACKEND_SESSION_START, BACKEND_SESSION_RESUME};
    static const unsigned last[] = {BACKEND_SESSION_END, BACKEND_SESSION_ENDED};
    for (size_t i = 0; i < 2; i++) {
        struct world w;
        open_world(&w);
        put(&w, 0, first[i], 0);
        put(&w, 0, first[i], 1); /* the second chunk */
        put(&w, 0, BACKEND_CREDIT, 2);
        put(&w, 0, BACKEND_EVENT, 3);
        put(&w, 0, BACKEND_AUDIO_IN, 4);
        put(&w, 0, BACKEND_PLAYBACK, 5);
        put(&w, 0, last[i], 6);
        expect(&w, 0, first[i], 0);
        expect(&w, 0, first[i], 1);
        expect(&w, 0, BACKEND_CREDIT, 2);
        expect(&w, 0, BACKEND_PLAYBACK, 5);
        expect(&w, 0, BACKEND_AUDIO_IN, 4);
        expect(&w, 0, BACKEND_EVENT, 3);
        expect(&w, 0, last[i], 6);
        assert_nothing_waits(&w);
        close_world(&w);
    }
}

static void an_end_of_a_session_without_anything_else_is_not_held_back(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    put(&w, 1, BACKEND_EVENT, 0);
    put(&w, 0, BACKEND_SESSION_END, 1);
    expect(&w, 0, BACKEND_SESSION_END, 1);
    expect(&w, 1, BACKEND_EVENT, 0);
    close_world(&w);
}

static void a_flushed_overtakes_audio_but_no_playback_of_its_session(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    put(&w, 0, BACKEND_AUDIO_IN, 0);
    put(&w, 1, BACKEND_PLAYBACK, 1);
    put(&w, 0, BACKEND_PLAYBACK, 2); /* started */
    put(&w, 0, BACKEND_FLUSHED, 3);
    put(&w, 0, BACKEND_PLAYBACK, 4); /* done */
    expect(&w, 0, BACKEND_PLAYBACK, 2);
    expect(&w, 0, BACKEND_FLUSHED, 3);
    expect(&w, 1, BACKEND_PLAYBACK, 1);
    expect(&w, 0, BACKEND_PLAYBACK, 4);
    expect(&w, 0, BACKEND_AUDIO_IN, 0);
    assert_nothing_waits(&w);
    close_world(&w);
}

/* 256 KB in chunks of 16 KB: audio that comes meanwhile leaves between two of them. */
static void a_long_event_does_not_delay_audio_by_more_than_a_chunk(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame frame;
    open_world(&w);
    for (uint32_t chunk = 0; chunk < 16; chunk++) {
        assert_int_equal(put_marked(&w, 0, BACKEND_EVENT, chunk, 16384, false), FRAME_PUT_OK);
    }
    write_some(&w, 20000);
    put(&w, 1, BACKEND_AUDIO_IN, 99);
    expect(&w, 0, BACKEND_EVENT, 0);
    expect(&w, 0, BACKEND_EVENT, 1); /* was begun */
    expect(&w, 1, BACKEND_AUDIO_IN, 99);
    for (uint32_t chunk = 2; chunk < 16; chunk++) {
        frame = expect(&w, 0, BACKEND_EVENT, chunk);
        assert_int_equal(frame.sequence, chunk);
        assert_int_equal(frame.payload.len, 16384);
    }
    assert_nothing_waits(&w);
    close_world(&w);
}

/* --- numbers, and what the socket takes ------------------------------------------------------- */

static void numbers_are_given_when_a_frame_is_written(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    put(&w, 0, BACKEND_AUDIO_IN, 0);
    put(&w, 0, BACKEND_AUDIO_IN, 1);
    assert_int_equal(write_some(&w, 0), 0); /* gathered, and not taken */
    put(&w, 0, BACKEND_CREDIT, 2);
    assert_int_equal(expect(&w, 0, BACKEND_CREDIT, 2).sequence, 0);
    assert_int_equal(expect(&w, 0, BACKEND_AUDIO_IN, 0).sequence, 1);
    assert_int_equal(expect(&w, 0, BACKEND_AUDIO_IN, 1).sequence, 2);
    close_world(&w);
}

static void a_queue_that_begins_anew_counts_from_0(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    put(&w, 0, BACKEND_SESSION_START, 0);
    put(&w, 0, BACKEND_SESSION_END, 1);
    assert_false(frame_scheduler_is_idle(w.frames, 0));
    expect(&w, 0, BACKEND_SESSION_START, 0);
    assert_int_equal(expect(&w, 0, BACKEND_SESSION_END, 1).sequence, 1);
    assert_true(frame_scheduler_is_idle(w.frames, 0));
    frame_scheduler_begin(w.frames, 0);
    put(&w, 0, BACKEND_SESSION_START, 2);
    assert_int_equal(expect(&w, 0, BACKEND_SESSION_START, 2).sequence, 0);
    close_world(&w);
}

static void a_frame_that_was_begun_is_finished_before_anything_else(void **state)
{
    (void)state;
    for (size_t begun = 1; begun < 32 + 3 * AUDIO; begun += 31) {
        struct world w;
        open_world(&w);
        assert_int_equal(put_marked(&w, 0, BACKEND_EVENT, 0, 3 * AUDIO, false), FRAME_PUT_OK);
        put(&w, 0, BACKEND_EVENT, 1);
        assert_int_equal(write_some(&w, begun), begun);
        assert_false(frame_scheduler_is_idle(w.frames, 0));
        put(&w, CONNECTION, BACKEND_PING, 2);
        const struct backend_frame frame = expect(&w, 0, BACKEND_EVENT, 0);
        assert_int_equal(frame.payload.len, 3 * AUDIO);
        assert_int_equal(frame.payload.data[2], 3);
        expect(&w, CONNECTION, BACKEND_PING, 2);
        assert_int_equal(expect(&w, 0, BACKEND_EVENT, 1).sequence, 1);
        assert_nothing_waits(&w);
        close_world(&w);
    }
}

/* Any piece, at any time: nothing is lost, doubled or out of order. */
static void output_that_is_taken_in_odd_pieces_stays_in_order(void **state)
{
    (void)state;
    struct world w;
    struct backend_frame frame;
    uint32_t put_count[3] = {0};
    uint32_t heard_count[3] = {0};
    open_world(&w);
    for (uint32_t i = 0; i < 3000; i++) {
        const size_t queue = i % 3;
        put(&w, queue, BACKEND_AUDIO_IN, put_count[queue]++);
        write_some(&w, (i * 7919) % 1990);
        while (backend_frame_reader_poll(w.heard, &frame) == BACKEND_FRAME_OK) {
            assert_int_equal(frame.utterance, heard_count[frame.session]);
            assert_int_equal(frame.sequence, heard_count[frame.session]++);
        }
    }
    while (hear(&w, &frame)) {
        assert_int_equal(frame.sequence, heard_count[frame.session]++);
    }
    for (size_t queue = 0; queue < 3; queue++) {
        assert_int_equal(heard_count[queue], put_count[queue]);
    }
    assert_int_equal(frame_scheduler_audio_dropped(w.frames), 0);
    close_world(&w);
}

static void one_gather_is_bounded(void **state)
{
    (void)state;
    struct world w;
    struct bytes_view piece[FRAME_GATHER_PIECES_MAX];
    open_world(&w);
    for (uint32_t i = 0; i < 299; i++) {
        put(&w, i % 3, BACKEND_AUDIO_IN, i);
    }
    const size_t count = frame_scheduler_gather(w.frames, piece, w.now_us);
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += piece[i].len;
    }
    assert_in_range(bytes, FRAME_GATHER_BYTES_MAX, FRAME_GATHER_BYTES_MAX + 32 + AUDIO);
    assert_int_equal(frame_scheduler_wrote(w.frames, bytes), count);
    close_world(&w);
}

static void clearing_leaves_only_the_rest_of_a_frame_that_was_begun(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    put(&w, 0, BACKEND_AUDIO_IN, 0);
    put(&w, 0, BACKEND_AUDIO_IN, 1);
    put(&w, 1, BACKEND_EVENT, 2);
    put(&w, 1, BACKEND_CHANNEL_DATA, 2);
    write_some(&w, 100);
    frame_scheduler_clear(w.frames);
    assert_int_equal(frame_scheduler_messages_dropped(w.frames), 2);
    put(&w, CONNECTION, BACKEND_ERROR, 3);
    expect(&w, 0, BACKEND_AUDIO_IN, 0);
    expect(&w, CONNECTION, BACKEND_ERROR, 3);
    assert_nothing_waits(&w);
    close_world(&w);
}

static void what_is_abandoned_counts_the_message_that_was_begun_too(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    put(&w, 1, BACKEND_EVENT, 2);
    put(&w, 1, BACKEND_EVENT, 2);
    put(&w, 0, BACKEND_CHANNEL_DATA, 2);
    write_some(&w, 40);
    assert_int_equal(frame_scheduler_messages_dropped(w.frames), 0);
    frame_scheduler_abandon(w.frames);
    assert_int_equal(frame_scheduler_messages_dropped(w.frames), 3);
    assert_nothing_waits(&w);
    assert_int_equal(frame_scheduler_message_room(w.frames), BLOCKS / 2);
    frame_scheduler_abandon(w.frames);
    assert_int_equal(frame_scheduler_messages_dropped(w.frames), 3);
    close_world(&w);
}

/* Half of the memory is for messages, and a promise holds whatever else is put meanwhile. */
static void a_message_that_was_promised_room_is_not_dropped(void **state)
{
    static const size_t bytes[] = {0, 1, AUDIO, AUDIO + 1, 16384};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bytes); i++) {
        struct world w;
        open_world(&w);
        const size_t blocks =
            (BACKEND_FRAME_HEADER_BYTES + bytes[i] + FRAME_BLOCK_BYTES - 1) / FRAME_BLOCK_BYTES;
        assert_int_equal(frame_scheduler_message_room(w.frames), BLOCKS / 2);
        while (frame_scheduler_message_room(w.frames) >= blocks) {
            const size_t room = frame_scheduler_message_room(w.frames);
            assert_int_equal(put_marked(&w, 0, BACKEND_EVENT, 1, bytes[i], false), FRAME_PUT_OK);
            assert_int_equal(frame_scheduler_message_room(w.frames), room - blocks);
        }
        for (size_t n = 0; n < BLOCKS / 4; n++) {
            put(&w, 1, BACKEND_AUDIO_IN, 2);
        }
        assert_int_equal(frame_scheduler_message_room(w.frames), 0);
        assert_int_equal(frame_scheduler_messages_dropped(w.frames), 0);
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_has_its_class),
        cmocka_unit_test(the_higher_class_leaves_first_whoever_it_is_of),
        cmocka_unit_test(within_a_class_sessions_take_turns_and_each_keeps_its_order),
        cmocka_unit_test(a_start_leaves_first_of_its_session_and_an_end_last),
        cmocka_unit_test(an_end_of_a_session_without_anything_else_is_not_held_back),
        cmocka_unit_test(a_flushed_overtakes_audio_but_no_playback_of_its_session),
        cmocka_unit_test(a_long_event_does_not_delay_audio_by_more_than_a_chunk),
        cmocka_unit_test(numbers_are_given_when_a_frame_is_written),
        cmocka_unit_test(a_queue_that_begins_anew_counts_from_0),
        cmocka_unit_test(a_frame_that_was_begun_is_finished_before_anything_else),
        cmocka_unit_test(output_that_is_taken_in_odd_pieces_stays_in_order),
        cmocka_unit_test(one_gather_is_bounded),
        cmocka_unit_test(a_message_that_was_promised_room_is_not_dropped),
        cmocka_unit_test(clearing_leaves_only_the_rest_of_a_frame_that_was_begun),
        cmocka_unit_test(what_is_abandoned_counts_the_message_that_was_begun_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
