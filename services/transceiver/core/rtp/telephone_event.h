/*
 * telephone_event.h - the keys a caller presses, told in the stream itself (RFC 4733)
 *
 * Takes:   payloads of the telephone-event payload type as they arrive: repeated, late, cut short;
 *          and the timestamps of the voice beside them.
 * Gives:   one press for each key: when its end is said; when that was lost, 100 ms after voice
 *          came from behind it, or when another key begins; or when nothing came for a second. How
 *          long the way takes says nothing of the press: its packets say how long it was.
 * Rule:    the end is said three times and counts once. A press longer than a packet can tell goes
 *          on under a new timestamp, the same key without the marker: it stays one press.
 * Units:   timestamps and durations at clock_hz, that of the voice beside it.
 * Owns:    nothing but itself; poll until false after every input, tick and restart.
 * Not here: events that are no key (16 and above): they say nothing.
 */
#ifndef EARSHOT_TELEPHONE_EVENT_H
#define EARSHOT_TELEPHONE_EVENT_H

#include "common/base/bytes.h"
#include "common/base/time_us.h"

#define TELEPHONE_EVENT_SILENCE_US (100 * US_PER_MS) /* for what the voice has overtaken */
#define TELEPHONE_EVENT_STALL_US   US_PER_S

struct telephone_event_press {
    char digit; /* 0..9 * # A..D */
    uint32_t duration_ms;
};

enum telephone_event_state {
    TELEPHONE_EVENT_NONE, /* since the restart */
    TELEPHONE_EVENT_HELD,
    TELEPHONE_EVENT_ENDED, /* its end was said, or another key began */
    TELEPHONE_EVENT_LOST   /* ended because nothing came any more */
};

struct telephone_event {
    uint32_t clock_hz;
    enum telephone_event_state state;
    uint8_t key;
    uint32_t first_timestamp;   /* of the press */
    uint32_t segment_timestamp; /* of its latest segment */
    uint32_t units;             /* of the press, as far as it was told */
    uint64_t deadline_us;       /* while it is held */
    struct telephone_event_press press[2];
    size_t press_count;
};

void telephone_event_init(struct telephone_event *t, uint32_t clock_hz);
/* Another source of packets: its timestamps have nothing to do with those before. */
void telephone_event_restart(struct telephone_event *t);

void telephone_event_input(struct telephone_event *t, uint32_t timestamp, bool marker,
                           struct bytes_view payload, uint64_t now_us);
/* A packet of voice, of that timestamp. */
void telephone_event_note_voice(struct telephone_event *t, uint32_t timestamp, uint64_t now_us);
void telephone_event_tick(struct telephone_event *t, uint64_t now_us);
uint64_t telephone_event_next_timeout(const struct telephone_event *t);
MUST_USE bool telephone_event_poll(struct telephone_event *t, struct telephone_event_press *out);

#endif
