/* sctp_association_test.c - two ends of an association over a network without faults */
#include "tests/testing.h"

#include "tests/support/sctp_pair.h"

#include <stdlib.h>

#define NOTES_MAX 256

struct note {
    int end;
    bool is_event;
    struct sctp_event event;
    struct sctp_message message; /* data: the length alone */
    uint8_t first_byte;
};

static struct note note[NOTES_MAX];
static size_t notes;

static void note_message(void *context, int end, const struct sctp_message *message)
{
    (void)context;
    assert_true(notes < NOTES_MAX);
    note[notes++] =
        (struct note){.end = end, .message = *message, .first_byte = message->data.data[0]};
}

static void note_event(void *context, int end, const struct sctp_event *event)
{
    (void)context;
    assert_true(notes < NOTES_MAX);
    note[notes++] = (struct note){.end = end, .is_event = true, .event = *event};
}

static struct sctp_pair *pair(void)
{
    const struct sctp_pair_config config = {
        .link = {.seed = 1, .delay_us = 10 * US_PER_MS, .keeps_order = true},
        .hooks = {.message = note_message, .event = note_event},
        .first_tsn = {1000, 2000},
        .begin_us = US_PER_S,
    };
    notes = 0;
    return sctp_pair_create(&config);
}

static size_t count_events(enum sctp_event_kind kind, int end)
{
    size_t count = 0;
    for (size_t i = 0; i < notes; i++) {
        count += note[i].is_event && note[i].event.kind == kind && note[i].end == end;
    }
    return count;
}

static enum sctp_send_result send_bytes(struct sctp_pair *p, int end, uint16_t stream,
                                        const void *data, size_t len)
{
    const struct sctp_message message = {
        .stream = stream, .ppid = 51, .data = bytes_view_of(data, len)};
    return sctp_association_send(p->end[end], &message, NULL, p->now_us);
}

static void either_side_may_begin_and_both_at_once(void **state)
{
    (void)state;
    for (int who = 1; who < 4; who++) {
        struct sctp_pair *p = pair();
        sctp_pair_connect(p, (who & 1) != 0, (who & 2) != 0);
        assert_int_equal(count_events(SCTP_EVENT_CONNECTED, 0), 1);
        assert_int_equal(count_events(SCTP_EVENT_CONNECTED, 1), 1);
        assert_int_equal(notes, 2);
        sctp_pair_destroy(p);
    }
}

static void messages_of_every_size_arrive_whole(void **state)
{
    (void)state;
    static const size_t size[] = {1, 2, 3, 4, 1131, 1132, 1133, 2264, 2265, 65536, 262144};
    struct sctp_pair *p = pair();
    uint8_t *bytes = calloc(1, SCTP_PAIR_MESSAGE_BYTES);
    sctp_pair_connect(p, true, true);
    notes = 0;
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        bytes[0] = (uint8_t)i;
        assert_int_equal(send_bytes(p, 0, 3, bytes, size[i]), SCTP_SEND_OK);
    }
    sctp_pair_run_until(p, p->now_us + 10 * US_PER_S);
    assert_int_equal(notes, COUNT_OF(size));
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        assert_int_equal(note[i].message.data.len, size[i]);
        assert_int_equal(note[i].message.stream, 3);
        assert_int_equal(note[i].message.ppid, 51);
        assert_int_equal(note[i].first_byte, i);
    }
    assert_int_equal(sctp_association_buffered_bytes(p->end[0]), 0);
    sctp_pair_destroy(p);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(either_side_may_begin_and_both_at_once),
        cmocka_unit_test(messages_of_every_size_arrive_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
