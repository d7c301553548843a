/* telephone_event_test.c - a key is told once, whatever becomes of its packets */
#include "tests/testing.h"

#include "services/transceiver/core/rtp/telephone_event.h"

#include <stdlib.h>

#define CLOCK_HZ 48000
#define FRAME    960
#define NOW_US   (100 * US_PER_S)
#define FRAME_US (20 * US_PER_MS)

/* What comes, in order. At the end what was told: digits, and milliseconds of the first. */
struct packet {
    uint32_t timestamp;
    bool marker;
    uint8_t key;
    uint16_t duration;
    bool is_end;
    uint32_t after_ms; /* the packet before it */
};

static struct telephone_event events;
static char told[16];
static size_t told_count;
static uint32_t told_ms[16];

static void drain(void)
{
    struct telephone_event_press press;
    while (telephone_event_poll(&events, &press)) {
        assert_in_range(told_count, 0, COUNT_OF(told) - 2);
        told_ms[told_count] = press.duration_ms;
        told[told_count++] = press.digit;
        told[told_count] = '\0';
    }
}

static void begin(uint32_t clock_hz)
{
    telephone_event_init(&events, clock_hz);
    told_count = 0;
    told[0] = '\0';
}

static void input(const struct packet *p, uint64_t now_us)
{
    const uint8_t payload[] = {p->key, (uint8_t)(p->is_end ? 0x8a : 0x0a),
                               (uint8_t)(p->duration >> 8), (uint8_t)p->duration};
    telephone_event_tick(&events, now_us);
    drain();
    telephone_event_input(&events, p->timestamp, p->marker, bytes_view_of(payload, sizeof(payload)),
                          now_us);
    drain();
    const uint64_t timeout_us = telephone_event_next_timeout(&events);
    assert_true(timeout_us > now_us);
}

/* All that come, and silence after them. */
static void play(const struct packet *packets, size_t count)
{
    uint64_t now_us = NOW_US;
    for (size_t i = 0; i < count; i++) {
        now_us += packets[i].after_ms * US_PER_MS;
        input(&packets[i], now_us);
    }
    telephone_event_tick(&events, now_us + TELEPHONE_EVENT_STALL_US);
    drain();
    assert_true(telephone_event_next_timeout(&events) == TIME_NEVER);
}

#define PLAY(...)                                                                                  \
    play((const struct packet[]){__VA_ARGS__}, COUNT_OF(((const struct packet[]){__VA_ARGS__})))

/* RFC 4733 s.5: the end three times. */
static void an_end_that_is_said_three_times_is_one_press(void **state)
{
    (void)state;
    begin(CLOCK_HZ);
    PLAY({1000, true, 5, 960, false, 0}, {1000, false, 5, 1920, false, 20},
         {1000, false, 5, 2880, true, 20}, {1000, false, 5, 2880, true, 20},
         {1000, false, 5, 2880, true, 20});
    assert_string_equal(told, "5");
    assert_int_equal(told_ms[0], 60);
}

static void a_press_is_told_when_its_end_comes_and_not_before(void **state)
{
    (void)state;
    begin(8000);
    input(&(struct packet){7, true, 11, 160, false, 0}, NOW_US);
    assert_string_equal(told, "");
    assert_true(telephone_event_next_timeout(&events) == NOW_US + US_PER_S);
    input(&(struct packet){7, false, 11, 640, true, 0}, NOW_US + 99 * US_PER_MS);
    assert_string_equal(told, "#");
    assert_int_equal(told_ms[0], 80);
    assert_true(telephone_event_next_timeout(&events) == TIME_NEVER);
}

static void without_an_end_a_press_is_told_when_nothing_came_for_a_second(void **state)
{
    (void)state;
    begin(CLOCK_HZ);
    input(&(struct packet){7, true, 0, 960, false, 0}, NOW_US);
    telephone_event_tick(&events, NOW_US + TELEPHONE_EVENT_STALL_US - 1);
    drain();
    assert_string_equal(told, "");
    telephone_event_tick(&events, NOW_US + TELEPHONE_EVENT_STALL_US);
    drain();
    assert_string_equal(told, "0");
    /* What comes of it afterwards, its end too, is no second one. */
    input(&(struct packet){7, false, 0, 9600, true, 0}, NOW_US + US_PER_S);
    assert_string_equal(told, "0");
}

/* A radio holds everything, then lets go: the press is as long as its packets say. */
static void a_stall_of_the_network_does_not_cut_a_press_short(void **state)
{
    (void)state;
    begin(CLOCK_HZ);
    PLAY({1000, true, 5, 960, false, 0}, {1000, false, 5, 1920, false, 20},
         {1000, false, 5, 24000, false, 600}, {1000, false, 5, 38400, true, 5},
         {1000, false, 5, 38400, true, 0}, {1000, false, 5, 38400, true, 0});
    assert_string_equal(told, "5");
    assert_int_equal(told_ms[0], 800);
}

/* The voice is back where the press would be: its end was lost. */
static void voice_behind_a_press_ends_it_in_100_ms(void **state)
{
    (void)state;
    for (int is_overtaken = 0; is_overtaken <= 1; is_overtaken++) {
        begin(CLOCK_HZ);
        input(&(struct packet){1000, true, 5, 960, false, 0}, NOW_US);
        telephone_event_note_voice(&events, 1000 + 959, NOW_US); /* beside it, or before it */
        assert_true(telephone_event_next_timeout(&events) == NOW_US + TELEPHONE_EVENT_STALL_US);
        telephone_event_note_voice(&events, 1000 + 960, NOW_US + FRAME_US);
        telephone_event_note_voice(&events, 1000 + 1920, NOW_US + 2 * FRAME_US);
        assert_true(telephone_event_next_timeout(&events) ==
                    NOW_US + FRAME_US + TELEPHONE_EVENT_SILENCE_US);
        if (is_overtaken == 1) {
            input(&(struct packet){1000, false, 5, 2880, false, 0}, NOW_US + 3 * FRAME_US);
            assert_true(telephone_event_next_timeout(&events) ==
                        NOW_US + 3 * FRAME_US + TELEPHONE_EVENT_STALL_US);
            continue;
        }
        telephone_event_tick(&events, NOW_US + FRAME_US + TELEPHONE_EVENT_SILENCE_US);
        drain();
        assert_string_equal(told, "5");
        telephone_event_note_voice(&events, 1000 + 96000, NOW_US + US_PER_S);
        assert_true(telephone_event_next_timeout(&events) == TIME_NEVER);
    }
}

static void the_sixteen_keys_have_their_names_and_other_events_none(void **state)
{
    (void)state;
    begin(CLOCK_HZ);
    char all[256 + 1] = "";
    size_t count = 0;
    for (unsigned key = 0; key < 256; key++) {
        told_count = 0;
        PLAY({key * 9600, true, (uint8_t)key, 960, true, 0});
        if (told_count > 0) {
            all[count++] = told[0];
        }
    }
    assert_string_equal(all, "0123456789*#ABCD");
}

/* RFC 4733 s.2.5.1.3. At 48 kHz a segment is 1.365 s at most; libwebrtc begins the next one at the
 * frame in which it ran over. */
static void a_press_of_two_seconds_in_segments_is_one(void **state)
{
    (void)state;
    begin(CLOCK_HZ);
    const uint32_t first = UINT32_MAX - 1000; /* and the timestamps wrap */
    uint64_t now_us = NOW_US;
    uint32_t segment = 0;
    for (uint32_t units = FRAME; units <= 96000; units += FRAME, now_us += FRAME_US) {
        if (units - segment > 0xffff) {
            input(&(struct packet){first + segment, false, 9, 0xffff, false, 0}, now_us);
            segment = units - FRAME;
        }
        const struct packet p = {
            first + segment, units == FRAME, 9, (uint16_t)(units - segment), units == 96000, 0};
        input(&p, now_us);
        if (p.is_end) {
            input(&p, now_us);
            input(&p, now_us);
        }
    }
    assert_string_equal(told, "9");
    assert_int_equal(told_ms[0], 2000);
}

static void a_segment_after_a_pause_of_packets_is_still_the_same_press(void **state)
{
    (void)state;
    begin(CLOCK_HZ);
    PLAY({0, true, 9, 0xf000, false, 0}, {0x10000, false, 9, 960, false, 150},
         {0x10000, false, 9, 1920, true, 20});
    assert_string_equal(told, "9");
}

static void keys_in_a_row_are_each_told(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct packet packet[4];
        size_t count;
        const char *told;
    } row_case[] = {
        {"the same twice", {{0, true, 1, 960, true, 0}, {9600, true, 1, 960, true, 200}}, 2, "11"},
        {"the same twice, the second without its first packet",
         {{0, true, 1, 960, true, 0}, {9600, false, 1, 960, true, 200}},
         2,
         "11"},
        {"the same twice, the first without its end",
         {{0, true, 1, 960, false, 0}, {4000, true, 1, 960, true, 80}},
         2,
         "11"},
        {"another, the first without its end",
         {{0, true, 1, 960, false, 0}, {4000, true, 2, 960, true, 80}},
         2,
         "12"},
        {"another, both without what they lost",
         {{0, true, 1, 960, false, 0}, {4000, false, 2, 960, false, 80}},
         2,
         "12"},
        {"a single packet, the end", {{0, false, 3, 4800, true, 0}}, 1, "3"},
        {"the end of the first comes after the second began",
         {{0, true, 1, 960, false, 0},
          {4000, true, 2, 960, false, 80},
          {0, false, 1, 1920, true, 1},
          {4000, false, 2, 1920, true, 20}},
         4,
         "12"},
        {"the end comes before what was before it",
         {{0, true, 1, 960, false, 0},
          {0, false, 1, 2880, true, 20},
          {0, false, 1, 1920, false, 1}},
         3,
         "1"},
        {"two keys of one timestamp: the second is none",
         {{0, true, 1, 960, false, 0}, {0, false, 2, 1920, true, 20}},
         2,
         "1"},
        {"a segment much later is another press",
         {{0, true, 4, 960, false, 0}, {0xffff + 4801, false, 4, 960, true, 50}},
         2,
         "44"},
        {"a segment just in time is not",
         {{0, true, 4, 960, false, 0}, {0xffff + 4800, false, 4, 960, true, 50}},
         2,
         "4"},
    };
    for (size_t i = 0; i < COUNT_OF(row_case); i++) {
        begin(CLOCK_HZ);
        play(row_case[i].packet, row_case[i].count);
        if (strcmp(told, row_case[i].told) != 0) {
            fail_msg("%s: %s, not %s", row_case[i].what, told, row_case[i].told);
        }
    }
}

static void a_duration_is_the_longest_that_was_told(void **state)
{
    (void)state;
    begin(8000);
    PLAY({0, true, 1, 800, false, 0}, {0, false, 1, 400, false, 20}, {0, false, 1, 640, true, 20});
    assert_int_equal(told_ms[0], 100);
}

static void a_payload_cut_short_says_nothing_and_a_longer_one_its_first_event(void **state)
{
    (void)state;
    static const uint8_t payload[] = {6, 0x80, 0x0f, 0x00, 1, 2, 3, 4};
    for (size_t len = 0; len <= sizeof(payload); len++) {
        uint8_t *copy = malloc(len + 1);
        assert_non_null(copy);
        memcpy(copy, payload, len);
        begin(CLOCK_HZ);
        telephone_event_input(&events, 1, true, bytes_view_of(copy, len), NOW_US);
        drain();
        assert_string_equal(told, len < 4 ? "" : "6");
        free(copy);
    }
}

/* Another SSRC: timestamps begin anew, and may lie before those of the old one. */
static void a_restart_ends_what_is_held_and_forgets_the_timestamps(void **state)
{
    (void)state;
    begin(CLOCK_HZ);
    telephone_event_restart(&events);
    drain();
    assert_string_equal(told, "");
    input(&(struct packet){50000, true, 1, 960, false, 0}, NOW_US);
    telephone_event_restart(&events);
    drain();
    assert_string_equal(told, "1");
    input(&(struct packet){40000, true, 2, 960, true, 0}, NOW_US);
    assert_string_equal(told, "12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_end_that_is_said_three_times_is_one_press),
        cmocka_unit_test(a_press_is_told_when_its_end_comes_and_not_before),
        cmocka_unit_test(without_an_end_a_press_is_told_when_nothing_came_for_a_second),
        cmocka_unit_test(a_stall_of_the_network_does_not_cut_a_press_short),
        cmocka_unit_test(voice_behind_a_press_ends_it_in_100_ms),
        cmocka_unit_test(the_sixteen_keys_have_their_names_and_other_events_none),
        cmocka_unit_test(a_press_of_two_seconds_in_segments_is_one),
        cmocka_unit_test(a_segment_after_a_pause_of_packets_is_still_the_same_press),
        cmocka_unit_test(keys_in_a_row_are_each_told),
        cmocka_unit_test(a_duration_is_the_longest_that_was_told),
        cmocka_unit_test(a_payload_cut_short_says_nothing_and_a_longer_one_its_first_event),
        cmocka_unit_test(a_restart_ends_what_is_held_and_forgets_the_timestamps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
