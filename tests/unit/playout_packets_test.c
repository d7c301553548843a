/* playout_packets_test.c - packets that go to the client as they are have the same life */
#include "tests/testing.h"

#include "services/transceiver/core/media/playout_queue.h"

#define WINDOW_US US_PER_S
#define FRAME_US  (20 * US_PER_MS)

/* First bytes of Opus packets of one frame (RFC 6716 s.3.1), SILK narrowband or CELT. */
#define OPUS_2_5MS 0xe0
#define OPUS_5MS   0xe8
#define OPUS_10MS  0x00
#define OPUS_20MS  0x08
#define OPUS_40MS  0x10
#define OPUS_60MS  0x18

static int setup(void **state)
{
    const struct playout_queue_config config = {.rate_hz = 0, .window_us = WINDOW_US};
    struct playout_queue *q = playout_queue_create(&config);
    assert_non_null(q);
    playout_queue_attach(q, FRAME_US, 0, 0);
    *state = q;
    return 0;
}

static int teardown(void **state)
{
    playout_queue_destroy(*state);
    return 0;
}

static uint8_t data[PLAYOUT_QUEUE_PACKET_BYTES_MAX + 1];
static struct playout_packet packet;

static enum playout_put_result put_sized(struct playout_queue *q, uint32_t utterance, uint8_t toc,
                                         uint8_t mark, size_t len)
{
    memset(data, mark, sizeof(data));
    data[0] = toc;
    const struct playout_piece piece = {.utterance = utterance, .media = bytes_view_of(data, len)};
    return playout_queue_put(q, &piece);
}

static enum playout_put_result put(struct playout_queue *q, uint32_t utterance, uint8_t toc,
                                   uint8_t mark)
{
    return put_sized(q, utterance, toc, mark, 40);
}

static void put_last(struct playout_queue *q, uint32_t utterance)
{
    const struct playout_piece piece = {.utterance = utterance, .is_last = true};
    assert_int_equal(playout_queue_put(q, &piece), PLAYOUT_PUT_OK);
}

static void expect_packet(struct playout_queue *q, enum playout_slot slot, uint8_t mark,
                          uint64_t duration_us)
{
    assert_int_equal(playout_queue_take_packet(q, &packet, 0), slot);
    assert_int_equal(packet.len, 40);
    assert_int_equal(packet.data[39], mark);
    assert_int_equal(packet.duration_us, duration_us);
}

static void expect_silence(struct playout_queue *q, uint64_t now_us)
{
    assert_int_equal(playout_queue_take_packet(q, &packet, now_us), PLAYOUT_SLOT_SILENCE);
}

static struct utterance_event expect_event(struct playout_queue *q, enum utterance_event_type type,
                                           uint32_t utterance)
{
    struct utterance_event event;
    assert_true(playout_queue_poll_event(q, &event));
    assert_int_equal(event.type, type);
    assert_int_equal(event.utterance, utterance);
    return event;
}

static void packets_go_out_as_they_came_each_for_its_duration(void **state)
{
    struct playout_queue *q = *state;
    expect_silence(q, 0);
    (void)put(q, 1, OPUS_20MS, 1);
    assert_true(playout_queue_may_start(q));
    (void)put(q, 1, OPUS_10MS, 2);
    (void)put(q, 1, OPUS_60MS, 3);
    (void)put(q, 2, OPUS_40MS, 4); /* it completes the one before */
    put_last(q, 2);
    expect_packet(q, PLAYOUT_SLOT_FIRST, 1, 20000);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 1);
    expect_packet(q, PLAYOUT_SLOT_SPEECH, 2, 10000);
    expect_packet(q, PLAYOUT_SLOT_SPEECH, 3, 60000);
    assert_int_equal(expect_event(q, UTTERANCE_EVENT_DONE, 1).sent_ticks, 90 * 48);
    expect_packet(q, PLAYOUT_SLOT_SPEECH, 4, 40000);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 2);
    assert_int_equal(expect_event(q, UTTERANCE_EVENT_DONE, 2).reason, UTTERANCE_PLAYED);
    expect_silence(q, 0); /* nothing is held back by an encoder of ours */
}

static void only_packets_of_10_20_40_and_60_ms_are_played(void **state)
{
    (void)state;
    static const struct {
        uint8_t toc;
        size_t len;
        enum playout_put_result result;
    } c[] = {
        {OPUS_10MS, 40, PLAYOUT_PUT_OK},
        {OPUS_20MS, 40, PLAYOUT_PUT_OK},
        {OPUS_20MS, PLAYOUT_QUEUE_PACKET_BYTES_MAX, PLAYOUT_PUT_OK},
        {OPUS_40MS, 40, PLAYOUT_PUT_OK},
        {OPUS_60MS, 40, PLAYOUT_PUT_OK},
        {OPUS_2_5MS, 40, PLAYOUT_PUT_BAD},
        {OPUS_5MS, 40, PLAYOUT_PUT_BAD},
        {OPUS_60MS | 1, 41, PLAYOUT_PUT_BAD}, /* two of them: 120 ms */
        {OPUS_20MS | 3, 1, PLAYOUT_PUT_BAD},  /* cut off before its count of frames */
        {OPUS_20MS, PLAYOUT_QUEUE_PACKET_BYTES_MAX + 1, PLAYOUT_PUT_BAD},
        {OPUS_20MS, 0, PLAYOUT_PUT_OK}, /* a piece of nothing */
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        void *world = NULL;
        assert_int_equal(setup(&world), 0);
        struct playout_queue *q = world;
        assert_int_equal(put_sized(q, 1, c[i].toc, 1, c[i].len), c[i].result);
        assert_int_equal(playout_queue_position(q).utterance, c[i].result == PLAYOUT_PUT_OK);
        (void)teardown(&world);
    }
}

static void a_packet_beyond_the_credit_is_dropped_whole_and_not_counted(void **state)
{
    struct playout_queue *q = *state;
    for (int i = 0; i < 49; i++) {
        assert_int_equal(put(q, 1, OPUS_20MS, 1), PLAYOUT_PUT_OK);
    }
    assert_int_equal(put(q, 1, OPUS_40MS, 2), PLAYOUT_PUT_CREDIT);
    assert_int_equal(put(q, 1, OPUS_20MS, 3), PLAYOUT_PUT_OK);
    assert_int_equal(put(q, 1, OPUS_10MS, 4), PLAYOUT_PUT_CREDIT);
    assert_int_equal(playout_queue_position(q).received_total_us, WINDOW_US);
    for (int i = 0; i < 49; i++) {
        expect_packet(q, i == 0 ? PLAYOUT_SLOT_FIRST : PLAYOUT_SLOT_SPEECH, 1, 20000);
    }
    expect_packet(q, PLAYOUT_SLOT_SPEECH, 3, 20000);
}

static void more_bytes_than_are_held_are_an_overload(void **state)
{
    struct playout_queue *q = *state;
    const size_t len = 1000; /* 400 kb/s */
    size_t taken = 0;
    while (put_sized(q, 1, OPUS_20MS, 1, len) == PLAYOUT_PUT_OK) {
        taken++;
    }
    assert_int_equal(taken, PLAYOUT_QUEUE_BYTES_PER_S / (len + 4));
    /* It was counted, and is consumed. */
    assert_int_equal(playout_queue_position(q).received_total_us, (taken + 1) * FRAME_US);
    assert_int_equal(playout_queue_position(q).queued_us, taken * FRAME_US);
    assert_int_equal(playout_queue_position(q).limit_us, WINDOW_US + FRAME_US);
}

static void a_prebuffer_of_the_window_is_reached_with_any_packets(void **state)
{
    struct playout_queue *q = *state;
    playout_queue_attach(q, WINDOW_US, 0, 0);
    int packets = 0;
    while (!playout_queue_may_start(q)) {
        assert_int_equal(put(q, 1, OPUS_60MS, 1), PLAYOUT_PUT_OK);
        packets++;
    }
    assert_int_equal(packets, 16); /* 960 ms: a 17th would pass the second */
}

static void an_underrun_is_silence_at_once_until_20_ms_are_there(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, OPUS_20MS, 1);
    expect_packet(q, PLAYOUT_SLOT_FIRST, 1, 20000);
    (void)expect_event(q, UTTERANCE_EVENT_STARTED, 1);
    expect_silence(q, 0);
    (void)expect_event(q, UTTERANCE_EVENT_UNDERRUN, 1);
    (void)put(q, 1, OPUS_10MS, 2);
    expect_silence(q, 0);
    (void)put(q, 1, OPUS_10MS, 3);
    expect_packet(q, PLAYOUT_SLOT_FIRST, 2, 10000);
    expect_packet(q, PLAYOUT_SLOT_SPEECH, 3, 10000);
}

static void a_flush_drops_the_packets_of_the_dead_and_no_others(void **state)
{
    struct playout_queue *q = *state;
    for (uint8_t i = 0; i < 10; i++) {
        (void)put(q, 5, OPUS_20MS, i);
    }
    (void)put(q, 6, OPUS_20MS, 60);
    expect_packet(q, PLAYOUT_SLOT_FIRST, 0, 20000);
    const struct playout_flushed flushed = playout_queue_flush(q, 5, 0);
    assert_int_equal(flushed.sent_us, FRAME_US);
    assert_int_equal(flushed.dropped_us, 9 * FRAME_US);
    assert_true(flushed.is_cut);
    expect_packet(q, PLAYOUT_SLOT_SPEECH, 60, 20000);
    expect_silence(q, 0);
}

static void what_starved_leaves_no_packet_behind(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, OPUS_10MS, 1);
    expect_silence(q, 0);
    expect_silence(q, UTTERANCE_STARVE_US);
    (void)expect_event(q, UTTERANCE_EVENT_UNDERRUN, 1);
    assert_int_equal(expect_event(q, UTTERANCE_EVENT_DONE, 1).reason, UTTERANCE_STARVED);
    (void)put(q, 2, OPUS_20MS, 2);
    expect_packet(q, PLAYOUT_SLOT_FIRST, 2, 20000);
}

/* One that comes back sends its packets from where it thinks it was. */
static void after_a_resume_a_packet_is_played_or_dropped_whole(void **state)
{
    struct playout_queue *q = *state;
    (void)put(q, 1, OPUS_20MS, 1);
    (void)put(q, 1, OPUS_20MS, 2); /* 40 ms were received */
    static const struct {
        uint64_t offset_us;
        enum playout_put_result result;
        uint64_t received_us;
    } c[] = {
        {20000, PLAYOUT_PUT_OK, 40000},  /* known */
        {30000, PLAYOUT_PUT_OK, 40000},  /* in part: dropped as well */
        {60000, PLAYOUT_PUT_GAP, 40000}, /* something is missing */
        {40000, PLAYOUT_PUT_OK, 60000},  {60000, PLAYOUT_PUT_OK, 80000},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        memset(data, (int)i + 3, 40);
        data[0] = OPUS_20MS;
        const struct playout_piece piece = {
            .utterance = 1, .media = bytes_view_of(data, 40), .offset_us = c[i].offset_us};
        assert_int_equal(playout_queue_put(q, &piece), c[i].result);
        assert_int_equal(playout_queue_position(q).received_us, c[i].received_us);
    }
    static const uint8_t mark[] = {1, 2, 6, 7};
    for (size_t i = 0; i < COUNT_OF(mark); i++) {
        expect_packet(q, i == 0 ? PLAYOUT_SLOT_FIRST : PLAYOUT_SLOT_SPEECH, mark[i], 20000);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(packets_go_out_as_they_came_each_for_its_duration),
        cmocka_unit_test(only_packets_of_10_20_40_and_60_ms_are_played),
        TEST(a_packet_beyond_the_credit_is_dropped_whole_and_not_counted),
        TEST(more_bytes_than_are_held_are_an_overload),
        TEST(a_prebuffer_of_the_window_is_reached_with_any_packets),
        TEST(an_underrun_is_silence_at_once_until_20_ms_are_there),
        TEST(a_flush_drops_the_packets_of_the_dead_and_no_others),
        TEST(what_starved_leaves_no_packet_behind),
        TEST(after_a_resume_a_packet_is_played_or_dropped_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
