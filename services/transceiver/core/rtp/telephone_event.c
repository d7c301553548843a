/* telephone_event.c - see telephone_event.h */
#include "services/transceiver/core/rtp/telephone_event.h"

#include <assert.h>

/* RFC 4733 s.2.3: event, E R volume, duration. */
#define END_BIT 0x80

/* RFC 4733 s.3.2, table 3. */
static const char digit_of[] = "0123456789*#ABCD";
#define KEYS (sizeof(digit_of) - 1)

/* RFC 4733 s.2.5.1.3: a segment ends where its duration can count no further. */
#define SEGMENT_UNITS_MAX 0xffff

void telephone_event_init(struct telephone_event *t, uint32_t clock_hz)
{
    *t = (struct telephone_event){.clock_hz = clock_hz};
}

static void end_press(struct telephone_event *t, enum telephone_event_state state)
{
    assert(t->press_count < COUNT_OF(t->press));
    t->press[t->press_count++] = (struct telephone_event_press){
        .digit = digit_of[t->key],
        .duration_ms = (uint32_t)((uint64_t)t->units * 1000 / t->clock_hz),
    };
    t->state = state;
}

void telephone_event_restart(struct telephone_event *t)
{
    if (t->state == TELEPHONE_EVENT_HELD) {
        end_press(t, TELEPHONE_EVENT_LOST);
    }
    t->state = TELEPHONE_EVENT_NONE;
}

static bool is_older(const struct telephone_event *t, uint32_t timestamp)
{
    return (int32_t)(timestamp - t->segment_timestamp) < 0;
}

/* The next segment of a press whose end was not said. */
static bool continues(const struct telephone_event *t, uint8_t key, uint32_t timestamp, bool marker)
{
    const uint32_t late_units = (uint32_t)(t->clock_hz * TELEPHONE_EVENT_SILENCE_US / US_PER_S);
    return t->state != TELEPHONE_EVENT_ENDED && key == t->key && !marker &&
           timestamp - t->segment_timestamp <= SEGMENT_UNITS_MAX + late_units;
}

static void begin_press(struct telephone_event *t, uint8_t key, uint32_t timestamp)
{
    if (t->state == TELEPHONE_EVENT_HELD) {
        end_press(t, TELEPHONE_EVENT_ENDED);
    }
    t->state = TELEPHONE_EVENT_HELD;
    t->key = key;
    t->first_timestamp = timestamp;
    t->units = 0;
}

/* True when the packet tells of the press that is held, which it may have begun. */
static bool find_press(struct telephone_event *t, uint8_t key, uint32_t timestamp, bool marker)
{
    const bool is_first = t->state == TELEPHONE_EVENT_NONE;
    if (!is_first && is_older(t, timestamp)) {
        return false;
    }
    if (is_first || (timestamp != t->segment_timestamp && !continues(t, key, timestamp, marker))) {
        begin_press(t, key, timestamp);
    }
    t->segment_timestamp = timestamp;
    return t->state == TELEPHONE_EVENT_HELD && key == t->key;
}

void telephone_event_input(struct telephone_event *t, uint32_t timestamp, bool marker,
                           struct bytes_view payload, uint64_t now_us)
{
    struct byte_reader r;
    byte_reader_init(&r, payload);
    const uint8_t key = byte_reader_u8(&r);
    const uint8_t flags = byte_reader_u8(&r);
    const uint16_t duration = byte_reader_u16(&r);
    if (r.failed || key >= KEYS || !find_press(t, key, timestamp, marker)) {
        return;
    }
    const uint32_t units = timestamp - t->first_timestamp + duration;
    t->units = units > t->units ? units : t->units;
    t->deadline_us = now_us + TELEPHONE_EVENT_STALL_US;
    if ((flags & END_BIT) != 0) {
        end_press(t, TELEPHONE_EVENT_ENDED);
    }
}

void telephone_event_note_voice(struct telephone_event *t, uint32_t timestamp, uint64_t now_us)
{
    if (t->state == TELEPHONE_EVENT_HELD &&
        (int32_t)(timestamp - t->first_timestamp - t->units) >= 0) {
        t->deadline_us = time_earlier(t->deadline_us, now_us + TELEPHONE_EVENT_SILENCE_US);
    }
}

void telephone_event_tick(struct telephone_event *t, uint64_t now_us)
{
    if (now_us >= telephone_event_next_timeout(t)) {
        end_press(t, TELEPHONE_EVENT_LOST);
    }
}

uint64_t telephone_event_next_timeout(const struct telephone_event *t)
{
    return t->state == TELEPHONE_EVENT_HELD ? t->deadline_us : TIME_NEVER;
}

bool telephone_event_poll(struct telephone_event *t, struct telephone_event_press *out)
{
    if (t->press_count == 0) {
        return false;
    }
    *out = t->press[0];
    t->press[0] = t->press[1];
    t->press_count--;
    return true;
}
