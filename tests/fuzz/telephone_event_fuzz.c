/* telephone_event_fuzz.c - packets, time and restarts in any order: each press is whole and bounded
 */
#include "services/transceiver/core/rtp/telephone_event.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds) {
        abort();
    }
}

static size_t drain(struct telephone_event *t)
{
    struct telephone_event_press press;
    size_t count = 0;
    while (telephone_event_poll(t, &press)) {
        check(memchr("0123456789*#ABCD", press.digit, 16) != NULL);
        count++;
    }
    return count;
}

/* A byte says what: 0 time, 1 a restart, else a packet, whose payload is the rest of its bytes. */
static size_t operate(struct telephone_event *t, struct byte_reader *r, uint64_t *now_us)
{
    const uint8_t operation = byte_reader_u8(r);
    if (operation == 0) {
        *now_us += byte_reader_u16(r) * US_PER_MS;
        telephone_event_tick(t, *now_us);
        check(telephone_event_next_timeout(t) > *now_us);
    } else if (operation == 1) {
        telephone_event_restart(t);
        check(telephone_event_next_timeout(t) == TIME_NEVER);
    } else {
        const uint32_t timestamp = byte_reader_u32(r);
        const size_t left = byte_reader_left(r);
        const size_t len = operation >> 1 & 7;
        telephone_event_input(t, timestamp, (operation & 1) != 0,
                              byte_reader_bytes(r, len < left ? len : left), *now_us);
    }
    return drain(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct byte_reader r;
    struct telephone_event t;
    uint64_t now_us = 0;
    size_t presses = 0;
    size_t operations = 0;
    byte_reader_init(&r, bytes_view_of(data, size));
    telephone_event_init(&t, size % 2 == 0 ? 48000 : 8000);
    while (byte_reader_left(&r) > 0 && !r.failed) {
        presses += operate(&t, &r, &now_us);
        operations++;
    }
    telephone_event_restart(&t);
    presses += drain(&t);
    check(presses <= 2 * operations);
    return 0;
}
