/* outbox_test.c - what goes in comes out once, in order; the newest is lost when it is full */
#include "tests/testing.h"

#include "services/transceiver/core/outbox.h"

#include <stdlib.h>

static struct net_path path_of(const char *client, const char *relay, bool is_tcp)
{
    struct net_path path = {.is_tcp = is_tcp};
    assert_true(net_addr_parse(client, &path.client));
    assert_true(net_addr_parse(relay, &path.relay));
    return path;
}

static void paths_are_equal_only_in_all_three(void **state)
{
    (void)state;
    const struct net_path a = path_of("192.0.2.1:5", "10.0.0.1:6", false);
    const struct net_path different[] = {
        path_of("192.0.2.1:7", "10.0.0.1:6", false),
        path_of("192.0.2.1:5", "10.0.0.2:6", false),
        path_of("192.0.2.1:5", "10.0.0.1:6", true),
    };
    const struct net_path same = path_of("192.0.2.1:5", "10.0.0.1:6", false);
    assert_true(net_path_equal(&a, &same));
    for (size_t i = 0; i < COUNT_OF(different); i++) {
        assert_false(net_path_equal(&a, &different[i]));
    }
}

static bool put_datagram(struct outbox *o, uint8_t fill, size_t len, const struct net_path *path)
{
    uint8_t *room = outbox_reserve(o);
    if (room == NULL) {
        return false;
    }
    /* Headroom, room and tailroom are ours to write on. */
    memset(room - OUTBOX_HEADROOM_BYTES, 0xaa, OUTBOX_HEADROOM_BYTES);
    memset(room, fill, OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES);
    outbox_commit(o, len, fill, path);
    return true;
}

static void datagrams_leave_in_order_with_what_they_came_with(void **state)
{
    (void)state;
    static const size_t len[] = {1, OUTBOX_DATAGRAM_BYTES,
                                 OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES, 0};
    struct outbox *o = outbox_create(COUNT_OF(len), 1);
    const struct net_path path = path_of("192.0.2.1:5", "10.0.0.1:6", true);
    for (uint8_t i = 0; i < COUNT_OF(len); i++) {
        assert_true(put_datagram(o, i, len[i], &path));
    }
    assert_int_equal(outbox_datagram_count(o), COUNT_OF(len));
    for (uint8_t i = 0; i < COUNT_OF(len); i++) {
        const struct outbox_datagram *d = outbox_datagram_at(o, i);
        assert_int_equal(d->session_id, i);
        assert_int_equal(d->len, len[i]);
        assert_false(d->is_announcement);
        assert_true(net_path_equal(&d->path, &path));
        assert_int_equal(d->data[0], i);
        assert_int_equal(d->data[OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES - 1], i);
    }
    outbox_destroy(o);
}

static void a_full_outbox_loses_the_newest_datagram_and_counts_it(void **state)
{
    (void)state;
    struct outbox *o = outbox_create(2, 1);
    const struct net_path path = path_of("192.0.2.1:5", "10.0.0.1:6", false);
    assert_true(put_datagram(o, 1, 10, &path));
    outbox_announce(o, 2, &path);
    assert_int_equal(outbox_dropped(o), 0);
    assert_false(put_datagram(o, 3, 10, &path));
    assert_int_equal(outbox_dropped(o), 1);
    outbox_announce(o, 4, &path);
    assert_int_equal(outbox_dropped(o), 2);
    assert_int_equal(outbox_datagram_count(o), 2);
    assert_int_equal(outbox_datagram_at(o, 0)->session_id, 1);
    assert_true(outbox_datagram_at(o, 1)->is_announcement);
    assert_int_equal(outbox_datagram_at(o, 1)->len, 0);
    outbox_clear(o);
    assert_int_equal(outbox_datagram_count(o), 0);
    assert_true(put_datagram(o, 5, 10, &path));
    assert_false(outbox_datagram_at(o, 0)->is_announcement);
    assert_int_equal(outbox_dropped(o), 2);
    outbox_destroy(o);
}

static void a_reserve_without_a_commit_sends_nothing(void **state)
{
    (void)state;
    struct outbox *o = outbox_create(1, 1);
    const uint8_t *first = outbox_reserve(o);
    assert_ptr_equal(outbox_reserve(o), first);
    assert_int_equal(outbox_datagram_count(o), 0);
    assert_int_equal(outbox_dropped(o), 0);
    outbox_destroy(o);
}

static void frames_leave_in_order_with_copies_of_their_payloads(void **state)
{
    (void)state;
    struct outbox *o = outbox_create(1, 4096);
    uint8_t payload[4] = {1, 2, 3, 4};
    for (uint8_t i = 0; i < 5; i++) {
        const struct backend_frame frame = {.type = BACKEND_AUDIO_IN,
                                            .flags = i,
                                            .session = 100u + i,
                                            .time_us = 7u * i,
                                            .payload = bytes_view_of(payload, i)};
        outbox_add_frame(o, frame.session, &frame);
        payload[0]++; /* it was copied */
    }
    size_t cursor = 0;
    uint32_t id = 0;
    struct backend_frame out;
    for (uint8_t i = 0; i < 5; i++) {
        assert_true(outbox_next_frame(o, &cursor, &id, &out));
        assert_int_equal(id, 100 + i);
        assert_int_equal(out.session, 100 + i);
        assert_int_equal(out.flags, i);
        assert_int_equal(out.time_us, 7 * i);
        assert_int_equal(out.payload.len, i);
        assert_true(i == 0 || out.payload.data[0] == 1 + i);
    }
    assert_false(outbox_next_frame(o, &cursor, &id, &out));
    outbox_clear(o);
    cursor = 0;
    assert_false(outbox_next_frame(o, &cursor, &id, &out));
    assert_int_equal(outbox_frame_bytes(o), 0);
    outbox_destroy(o);
}

/* The memory that one frame with a payload of 100 bytes takes. */
static size_t bytes_of_one_frame(void)
{
    struct outbox *o = outbox_create(1, 4096);
    const struct backend_frame frame = {.payload = bytes_view_of("", 0)};
    outbox_add_frame(o, 1, &frame);
    const size_t bytes = outbox_frame_bytes(o) + 100;
    outbox_destroy(o);
    return bytes;
}

static void the_last_frame_fits_to_the_byte_and_the_next_is_lost(void **state)
{
    (void)state;
    static const uint8_t payload[101];
    const size_t one = bytes_of_one_frame();
    for (size_t missing = 0; missing <= 1; missing++) {
        struct outbox *o = outbox_create(1, 2 * one - missing);
        const struct backend_frame frame = {.payload = bytes_view_of(payload, 100)};
        outbox_add_frame(o, 1, &frame);
        outbox_add_frame(o, 2, &frame);
        assert_int_equal(outbox_dropped(o), missing);
        assert_int_equal(outbox_frame_bytes(o), missing == 0 ? 2 * one : one);
        outbox_add_frame(o, 3, &frame);
        assert_int_equal(outbox_dropped(o), missing + 1);
        outbox_destroy(o);
    }
}

static void the_largest_frame_is_carried_whole(void **state)
{
    (void)state;
    uint8_t *payload = calloc(1, BACKEND_FRAME_PAYLOAD_MAX);
    payload[BACKEND_FRAME_PAYLOAD_MAX - 1] = 0x5a;
    struct outbox *o = outbox_create(1, 2 * BACKEND_FRAME_BYTES_MAX);
    const struct backend_frame frame = {.payload =
                                            bytes_view_of(payload, BACKEND_FRAME_PAYLOAD_MAX)};
    outbox_add_frame(o, 1, &frame);
    free(payload);
    size_t cursor = 0;
    uint32_t id = 0;
    struct backend_frame out;
    assert_true(outbox_next_frame(o, &cursor, &id, &out));
    assert_int_equal(out.payload.len, BACKEND_FRAME_PAYLOAD_MAX);
    assert_int_equal(out.payload.data[BACKEND_FRAME_PAYLOAD_MAX - 1], 0x5a);
    outbox_destroy(o);
}

/* How many messages of this length pass into a room, as a session asks. */
static size_t fit(size_t room, unsigned type, size_t bytes)
{
    static const uint8_t payload[16384];
    struct outbox *o = outbox_create(1, 1 << 20);
    size_t count = 0;
    outbox_set_message_room(o, room);
    while (outbox_has_message_room(o, bytes)) {
        for (size_t left = bytes + 1, at = 0; left > 0; left -= at) {
            at = left < sizeof(payload) ? left : sizeof(payload);
            const size_t len = at == left ? at - 1 : at; /* the last one may be empty */
            outbox_add_frame(o, 1,
                             &(struct backend_frame){.type = (uint8_t)type,
                                                     .payload = bytes_view_of(payload, len)});
        }
        count++;
        assert_in_range(count, 1, 5000);
        outbox_clear(o); /* what was taken stays taken */
    }
    outbox_destroy(o);
    return count;
}

static void messages_take_of_the_room_in_whole_units(void **state)
{
    (void)state;
    assert_int_equal(fit(1, BACKEND_EVENT, 0), 0); /* a header may have to go first */
    assert_int_equal(fit(2, BACKEND_EVENT, 0), 1);
    assert_int_equal(fit(100, BACKEND_EVENT, 1), 99);
    assert_int_equal(fit(100, BACKEND_EVENT, OUTBOX_UNIT_BYTES - 32), 99);
    assert_int_equal(fit(100, BACKEND_EVENT, OUTBOX_UNIT_BYTES - 31), 49);
    assert_int_equal(fit(271, BACKEND_CHANNEL_DATA, 262144), 0);
    assert_int_equal(fit(274, BACKEND_CHANNEL_DATA, 262144), 1);
}

static void a_message_needs_room_for_itself_in_the_outbox_too(void **state)
{
    struct outbox *o = outbox_create(1, 300000);
    (void)state;
    assert_true(outbox_has_message_room(o, 262144));
    outbox_add_frame(
        o, 1, &(struct backend_frame){.type = BACKEND_EVENT, .payload = {(const uint8_t *)"", 0}});
    assert_true(outbox_has_message_room(o, 1));
    assert_false(outbox_has_message_room(o, 300000));
    outbox_destroy(o);
}

static void what_is_no_message_takes_no_room(void **state)
{
    struct outbox *o = outbox_create(1, 1 << 20);
    (void)state;
    outbox_set_message_room(o, 2);
    for (int i = 0; i < 100; i++) {
        outbox_add_frame(o, 1, &(struct backend_frame){.type = BACKEND_AUDIO_IN});
    }
    assert_true(outbox_has_message_room(o, 0));
    outbox_destroy(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_equal_only_in_all_three),
        cmocka_unit_test(datagrams_leave_in_order_with_what_they_came_with),
        cmocka_unit_test(a_full_outbox_loses_the_newest_datagram_and_counts_it),
        cmocka_unit_test(a_reserve_without_a_commit_sends_nothing),
        cmocka_unit_test(frames_leave_in_order_with_copies_of_their_payloads),
        cmocka_unit_test(the_last_frame_fits_to_the_byte_and_the_next_is_lost),
        cmocka_unit_test(the_largest_frame_is_carried_whole),
        cmocka_unit_test(messages_take_of_the_room_in_whole_units),
        cmocka_unit_test(a_message_needs_room_for_itself_in_the_outbox_too),
        cmocka_unit_test(what_is_no_message_takes_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
