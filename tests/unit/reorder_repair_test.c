/* reorder_repair_test.c - what stands for a lost packet, and what is silence instead */
#include "tests/unit/reorder_world.h"

static enum reorder_result insert_copy(struct reorder_buffer *b, uint64_t n, uint64_t timestamp,
                                       uint64_t now_us)
{
    const struct reorder_packet p = numbered(&n, timestamp, FRAME);
    return reorder_buffer_insert_copy(b, &p, now_us);
}

static void insert_with_fec(struct reorder_buffer *b, uint64_t n, uint64_t timestamp,
                            uint64_t now_us)
{
    struct reorder_packet p = numbered(&n, timestamp, FRAME);
    p.has_fec = true;
    assert_int_equal(reorder_buffer_insert(b, &p, now_us), REORDER_STORED);
}

static void insert_dtx(struct reorder_buffer *b, uint64_t n, uint64_t timestamp, uint64_t now_us)
{
    struct reorder_packet p = numbered(&n, timestamp, FRAME);
    p.is_dtx = true;
    assert_int_equal(reorder_buffer_insert(b, &p, now_us), REORDER_STORED);
}

static void expect_fec(struct reorder_buffer *b, uint64_t n_behind, uint64_t timestamp,
                       uint32_t duration, uint64_t now_us)
{
    struct reorder_slot slot;
    assert_true(reorder_buffer_poll(b, &slot, now_us));
    assert_int_equal(slot.kind, REORDER_SLOT_FEC);
    assert_true(slot.timestamp == FIRST_TIMESTAMP + timestamp);
    assert_int_equal(slot.duration, duration);
    assert_int_equal(slot.payload.len, sizeof(n_behind));
    assert_memory_equal(slot.payload.data, &n_behind, sizeof(n_behind));
}

static void start(struct reorder_buffer *b)
{
    (void)insert(b, 0, slot_us(0));
    expect_packet(b, 0, false, slot_us(0));
}

static void a_copy_stands_for_a_lost_packet_at_once(void **state)
{
    struct reorder_buffer *b = *state;
    start(b);
    (void)insert(b, 2, slot_us(2));
    assert_int_equal(insert_copy(b, 1, FRAME, slot_us(2)), REORDER_STORED);
    expect_sound(b, REORDER_SLOT_COPY, 1, false, slot_us(2));
    expect_packet(b, 2, false, slot_us(2));
    expect_nothing(b, slot_us(2));
    const struct reorder_stats *stats = reorder_buffer_stats(b);
    assert_int_equal(stats->copies, 1);
    assert_int_equal(stats->copied, FRAME);
    assert_int_equal(stats->missing, 0);
    assert_int_equal(stats->concealed, 0);
}

static void a_copy_fills_an_empty_place_only(void **state)
{
    struct reorder_buffer *b = *state;
    assert_int_equal(insert_copy(b, 0, 0, slot_us(0)), REORDER_DUPLICATE); /* before any packet */
    start(b);
    (void)insert(b, 1, slot_us(1));
    assert_int_equal(insert_copy(b, 0, 0, slot_us(1)), REORDER_DUPLICATE); /* delivered */
    (void)insert(b, 2, slot_us(2));
    assert_int_equal(insert_copy(b, 1, FRAME, slot_us(2)), REORDER_DUPLICATE); /* held */
    (void)insert(b, 4, slot_us(4));
    assert_int_equal(insert_copy(b, 3, 3 * FRAME, slot_us(4)), REORDER_STORED);
    assert_int_equal(insert_copy(b, 3, 3 * FRAME, slot_us(4)), REORDER_DUPLICATE);
}

static void a_packet_replaces_its_copy(void **state)
{
    struct reorder_buffer *b = *state;
    start(b);
    (void)insert(b, 2, slot_us(2));
    expect_filler(b, REORDER_SLOT_CONCEAL, FRAME, FRAME, slot_us(2));
    expect_packet(b, 2, false, slot_us(2));
    (void)insert(b, 1, slot_us(2) + 8000); /* late: from here a gap waits for two packets */
    (void)insert(b, 5, slot_us(5));
    assert_int_equal(insert_copy(b, 4, 4 * FRAME, slot_us(5)), REORDER_STORED);
    expect_nothing(b, slot_us(5)); /* a copy is no second packet */
    assert_int_equal(insert(b, 4, slot_us(5) + 10), REORDER_STORED);
    assert_int_equal(insert(b, 4, slot_us(5) + 10), REORDER_DUPLICATE);
    assert_int_equal(insert(b, 3, slot_us(5) + 20), REORDER_STORED);
    expect_packet(b, 3, false, slot_us(5) + 20);
    expect_packet(b, 4, false, slot_us(5) + 20);
    expect_packet(b, 5, false, slot_us(5) + 20);
    assert_int_equal(reorder_buffer_stats(b)->copies, 0);
}

static void a_copy_that_does_not_lie_between_its_neighbours_is_dropped(void **state)
{
    static const struct {
        uint64_t n;
        uint64_t timestamp;
        enum reorder_result result;
    } copy[] = {
        {2, FRAME - 1, REORDER_MISPLACED}, /* before what was delivered ends */
        {2, FRAME, REORDER_STORED},
        {2, 3 * FRAME, REORDER_STORED},
        {2, 3 * FRAME + 1, REORDER_MISPLACED}, /* into the packet behind */
        {4, 4 * FRAME, REORDER_MISPLACED},     /* into the packet before */
        {4, 5 * FRAME - 1, REORDER_MISPLACED},
        {4, 5 * FRAME, REORDER_STORED},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(copy); i++) {
        struct reorder_buffer *b = reorder_buffer_create();
        start(b);
        (void)insert(b, 9, slot_us(9)); /* held, not polled */
        (void)insert_frame(b, 3, 4 * FRAME, FRAME, slot_us(9));
        assert_int_equal(insert_copy(b, copy[i].n, copy[i].timestamp, slot_us(9)), copy[i].result);
        assert_int_equal(reorder_buffer_stats(b)->misplaced,
                         copy[i].result == REORDER_MISPLACED ? 1 : 0);
        reorder_buffer_destroy(b);
    }
}

static void an_overtaken_packet_that_does_not_lie_between_its_neighbours_is_dropped(void **state)
{
    static const struct {
        uint64_t n;
        uint64_t timestamp;
        uint32_t duration;
        enum reorder_result result;
    } packet[] = {
        {2, FRAME - 1, FRAME, REORDER_MISPLACED}, /* before what was delivered ends */
        {2, FRAME, FRAME, REORDER_STORED},
        {2, 3 * FRAME, FRAME, REORDER_STORED},
        {2, 3 * FRAME + 1, FRAME, REORDER_MISPLACED}, /* into the packet behind */
        {4, 4 * FRAME, FRAME, REORDER_MISPLACED},     /* into the packet before */
        {4, 5 * FRAME, FRAME, REORDER_STORED},
        {4, 0, 0, REORDER_STORED},                 /* a telephone-event looks back */
        {6, 7 * FRAME, FRAME, REORDER_STORED},     /* and does not hold others up */
        {10, 1000 * FRAME, FRAME, REORDER_STORED}, /* the newest: a silence before it */
        {10, 9 * FRAME, FRAME, REORDER_STORED},    /* rtp_receiver.h judges its time */
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(packet); i++) {
        struct reorder_buffer *b = reorder_buffer_create();
        start(b);
        (void)insert(b, 9, slot_us(9)); /* held, not polled */
        (void)insert_frame(b, 3, 4 * FRAME, FRAME, slot_us(9));
        (void)insert_frame(b, 7, 2 * FRAME, 0, slot_us(9));
        assert_int_equal(
            insert_frame(b, packet[i].n, packet[i].timestamp, packet[i].duration, slot_us(9)),
            packet[i].result);
        assert_int_equal(reorder_buffer_stats(b)->misplaced,
                         packet[i].result == REORDER_MISPLACED ? 1 : 0);
        reorder_buffer_destroy(b);
    }
}

static void a_packet_takes_the_place_of_its_own_copy(void **state)
{
    struct reorder_buffer *b = *state;
    start(b);
    (void)insert(b, 5, slot_us(5));
    assert_int_equal(insert_copy(b, 3, 3 * FRAME, slot_us(5)), REORDER_STORED);
    assert_int_equal(insert(b, 3, slot_us(5)), REORDER_STORED);
}

static void fec_of_the_packet_behind_stands_for_a_lost_one(void **state)
{
    struct reorder_buffer *b = *state;
    start(b);
    insert_with_fec(b, 2, 2 * FRAME, slot_us(2));
    expect_fec(b, 2, FRAME, FRAME, slot_us(2));
    expect_packet(b, 2, false, slot_us(2));
    assert_int_equal(reorder_buffer_stats(b)->from_fec, FRAME);
    assert_int_equal(reorder_buffer_stats(b)->missing, 1);
    /* Of three lost it is the last. */
    insert_with_fec(b, 6, 6 * FRAME, slot_us(6));
    expect_filler(b, REORDER_SLOT_CONCEAL, 3 * FRAME, FRAME, slot_us(6));
    expect_filler(b, REORDER_SLOT_CONCEAL, 4 * FRAME, FRAME, slot_us(6));
    expect_fec(b, 6, 5 * FRAME, FRAME, slot_us(6));
    expect_packet(b, 6, false, slot_us(6));
}

/* Two lost in a row and one redundant block: the copy has the second, and its FEC the first. */
static void fec_inside_a_copy_repairs_the_packet_before_it(void **state)
{
    struct reorder_buffer *b = *state;
    start(b);
    (void)insert(b, 3, slot_us(3));
    const uint64_t n = 2;
    struct reorder_packet copy = numbered(&n, 2 * FRAME, FRAME);
    copy.has_fec = true;
    assert_int_equal(reorder_buffer_insert_copy(b, &copy, slot_us(3)), REORDER_STORED);
    expect_fec(b, 2, FRAME, FRAME, slot_us(3));
    expect_sound(b, REORDER_SLOT_COPY, 2, false, slot_us(3));
    expect_packet(b, 3, false, slot_us(3));
    assert_int_equal(reorder_buffer_stats(b)->concealed, 0);
}

static void what_was_repaired_is_not_concealment_in_a_row(void **state)
{
    struct reorder_buffer *b = *state;
    start(b);
    (void)insert(b, 6, slot_us(6));
    for (uint64_t n = 1; n < 6; n++) {
        expect_filler(b, REORDER_SLOT_CONCEAL, n * FRAME, FRAME, slot_us(6));
    }
    expect_packet(b, 6, false, slot_us(6));
    (void)insert(b, 12, slot_us(12));
    (void)insert_copy(b, 9, 9 * FRAME, slot_us(12));
    for (uint64_t n = 7; n < 12; n++) {
        if (n == 9) {
            expect_sound(b, REORDER_SLOT_COPY, 9, false, slot_us(12));
        } else {
            expect_filler(b, REORDER_SLOT_CONCEAL, n * FRAME, FRAME, slot_us(12));
        }
    }
    expect_packet(b, 12, false, slot_us(12));
}

static void silence_in_a_loss_lies_before_the_frame_that_fec_repairs(void **state)
{
    struct reorder_buffer *b = *state;
    start(b);
    insert_with_fec(b, 2, 2 * FRAME + 4800, slot_us(7)); /* one lost, and 100 ms more */
    expect_filler(b, REORDER_SLOT_SILENCE, FRAME, 4800, slot_us(7));
    expect_fec(b, 2, FRAME + 4800, FRAME, slot_us(7));
    expect_packet(b, 2, false, slot_us(7));
}

/* Silence of DTX up to its n-th piece of 100 ms. */
static void take_silence(struct reorder_buffer *b, uint64_t from, int pieces)
{
    for (int i = 0; i < pieces; i++) {
        uint64_t end = 0;
        struct reorder_slot slot;
        assert_true(reorder_buffer_is_silent(b, &end));
        reorder_buffer_take_silence(b, &slot);
        assert_int_equal(slot.kind, REORDER_SLOT_SILENCE);
        assert_false(slot.is_discontinuity);
        assert_true(slot.timestamp == FIRST_TIMESTAMP + from + (uint64_t)i * 4800);
        assert_int_equal(slot.duration, 4800);
        assert_true(end == slot.timestamp + 4800);
    }
}

static void after_dtx_silence_goes_on_until_the_next_packet(void **state)
{
    struct reorder_buffer *b = *state;
    uint64_t end = 0;
    start(b);
    assert_false(reorder_buffer_is_silent(b, &end));
    insert_dtx(b, 1, FRAME, slot_us(1));
    expect_filler(b, REORDER_SLOT_SILENCE, FRAME, FRAME, slot_us(1)); /* it is not decoded */
    expect_nothing(b, slot_us(100));                                  /* silence is no stall */
    assert_true(reorder_buffer_next_timeout(b) == TIME_NEVER);
    take_silence(b, 2 * FRAME, 3);
    /* 60 ms more than was taken: told when the packet comes. */
    (void)insert_frame(b, 2, 2 * FRAME + 3 * 4800 + 2880, FRAME, slot_us(20));
    expect_filler(b, REORDER_SLOT_SILENCE, 2 * FRAME + 3 * 4800, 2880, slot_us(20));
    expect_packet(b, 2, false, slot_us(20));
    assert_false(reorder_buffer_is_silent(b, &end));
    assert_int_equal(reorder_buffer_stats(b)->concealed, 0);
}

static void a_packet_that_overlaps_silence_keeps_its_place(void **state)
{
    static const struct {
        uint64_t timestamp;
        bool is_discontinuity;
    } c[] = {
        {2 * FRAME + 4800, false}, /* just behind the silence that was taken */
        {2 * FRAME + 4799, false},
        {2 * FRAME, false},    /* it had begun to speak at once */
        {2 * FRAME - 1, true}, /* before the end of the DTX packet: no clock of ours */
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct reorder_buffer *b = reorder_buffer_create();
        start(b);
        insert_dtx(b, 1, FRAME, slot_us(1));
        expect_filler(b, REORDER_SLOT_SILENCE, FRAME, FRAME, slot_us(1));
        take_silence(b, 2 * FRAME, 1);
        (void)insert_frame(b, 2, c[i].timestamp, FRAME, slot_us(9));
        struct reorder_slot slot;
        assert_true(reorder_buffer_poll(b, &slot, slot_us(9)));
        assert_int_equal(slot.kind, REORDER_SLOT_PACKET);
        assert_int_equal(slot.is_discontinuity, c[i].is_discontinuity);
        assert_true(slot.timestamp == FIRST_TIMESTAMP + c[i].timestamp);
        (void)insert_frame(b, 3, c[i].timestamp + FRAME, FRAME, slot_us(10));
        expect_packet(b, 3, false, slot_us(10)); /* and time goes on from there */
        reorder_buffer_destroy(b);
    }
}

static void a_loss_in_silence_is_silence_unless_fec_has_it(void **state)
{
    struct reorder_buffer *b = *state;
    start(b);
    insert_dtx(b, 1, FRAME, slot_us(1));
    expect_filler(b, REORDER_SLOT_SILENCE, FRAME, FRAME, slot_us(1));
    insert_dtx(b, 3, FRAME + 2400, slot_us(4)); /* 2 was lost somewhere in the silence */
    expect_filler(b, REORDER_SLOT_SILENCE, 2 * FRAME, 2400 - FRAME, slot_us(4));
    expect_filler(b, REORDER_SLOT_SILENCE, FRAME + 2400, FRAME, slot_us(4));
    /* The onset is lost, and the packet behind it has a copy of it. */
    take_silence(b, 2 * FRAME + 2400, 1);
    insert_with_fec(b, 5, 2 * FRAME + 2400 + 4800, slot_us(9));
    expect_fec(b, 5, FRAME + 2400 + 4800, FRAME, slot_us(9));
    expect_packet(b, 5, false, slot_us(9));
    assert_int_equal(reorder_buffer_stats(b)->concealed, 0);
    assert_int_equal(reorder_buffer_stats(b)->missing, 2);
}

static void a_stall_is_told_once_and_takes_no_time(void **state)
{
    struct reorder_buffer *b = *state;
    struct reorder_slot slot;
    start(b);
    const uint64_t due_us = slot_us(0) + REORDER_BUFFER_STALL_US;
    assert_true(reorder_buffer_next_timeout(b) == due_us);
    expect_nothing(b, due_us - 1);
    assert_true(reorder_buffer_poll(b, &slot, due_us));
    assert_int_equal(slot.kind, REORDER_SLOT_SILENCE);
    assert_true(slot.is_discontinuity);
    assert_true(slot.timestamp == FIRST_TIMESTAMP + FRAME);
    expect_nothing(b, due_us);
    expect_nothing(b, slot_us(3000));
    assert_true(reorder_buffer_next_timeout(b) == TIME_NEVER);
    /* It was the radio: everything comes, and nothing is missing. */
    for (uint64_t n = 1; n < 30; n++) {
        (void)insert(b, n, slot_us(3000));
        expect_packet(b, n, false, slot_us(3000));
    }
    assert_true(reorder_buffer_next_timeout(b) == slot_us(3000) + REORDER_BUFFER_STALL_US);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_copy_stands_for_a_lost_packet_at_once),
        TEST(a_copy_fills_an_empty_place_only),
        TEST(a_packet_replaces_its_copy),
        TEST(a_copy_that_does_not_lie_between_its_neighbours_is_dropped),
        TEST(an_overtaken_packet_that_does_not_lie_between_its_neighbours_is_dropped),
        TEST(a_packet_takes_the_place_of_its_own_copy),
        TEST(fec_of_the_packet_behind_stands_for_a_lost_one),
        TEST(fec_inside_a_copy_repairs_the_packet_before_it),
        TEST(what_was_repaired_is_not_concealment_in_a_row),
        TEST(silence_in_a_loss_lies_before_the_frame_that_fec_repairs),
        TEST(after_dtx_silence_goes_on_until_the_next_packet),
        TEST(a_packet_that_overlaps_silence_keeps_its_place),
        TEST(a_loss_in_silence_is_silence_unless_fec_has_it),
        TEST(a_stall_is_told_once_and_takes_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
