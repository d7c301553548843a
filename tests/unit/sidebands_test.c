/* sidebands_test.c - who hears what, from when on, and until when */
#include "tests/testing.h"

#include "services/transceiver/core/session/sidebands.h"

#include <stdio.h>
#include <stdlib.h>

#define CALL     "rtc_Asideband"
#define START_US (100 * US_PER_S)
#define LEASE_US SIDEBANDS_LEASE_US

static struct {
    struct sideband_outbox *outbox;
    struct sidebands bands;
    struct sideband_message heard; /* the last one that was taken */
    char text[64];
} world;

static int open_world(void **state)
{
    (void)state;
    world.outbox = sideband_outbox_create(4096);
    sidebands_init(&world.bands, CALL, world.outbox);
    return world.outbox != NULL ? 0 : -1;
}

static int close_world(void **state)
{
    (void)state;
    sideband_outbox_destroy(world.outbox);
    return 0;
}

static void attach(uint32_t id, uint64_t now_us)
{
    assert_int_equal(sidebands_attach(&world.bands, id, LEASE_US, now_us), SIDEBANDS_ATTACHED);
}

/* The backend is told of everybody; false when there was nothing to tell. */
static bool tell_backend(uint64_t now_us)
{
    struct backend_sideband change;
    bool is_news = false;
    while (sidebands_poll_change(&world.bands, &change, now_us)) {
        is_news = true;
    }
    return is_news;
}

static void expect_change(uint32_t id, bool is_attached, uint64_t now_us)
{
    struct backend_sideband change = {0};
    assert_true(sidebands_poll_change(&world.bands, &change, now_us));
    assert_int_equal(change.id, id);
    assert_int_equal(change.is_attached, is_attached);
}

static void greet(uint32_t id)
{
    sidebands_tell_one(&world.bands, id, bytes_view_of_text("created"));
}

static void say(const char *event)
{
    sidebands_tell_all(&world.bands, bytes_view_of_text(event));
}

/* The only message that waits; false when there is none. */
static bool take(void)
{
    size_t cursor = 0;
    if (!sideband_outbox_next(world.outbox, &cursor, &world.heard)) {
        return false;
    }
    assert_string_equal(world.heard.call_id, CALL);
    assert_true(world.heard.text.len < sizeof(world.text));
    memcpy(world.text, world.heard.text.data, world.heard.text.len);
    world.text[world.heard.text.len] = '\0';
    struct sideband_message second;
    assert_false(sideband_outbox_next(world.outbox, &cursor, &second));
    sideband_outbox_clear(world.outbox);
    return true;
}

static void expect(uint32_t sideband_id, uint64_t sequence, const char *text)
{
    assert_true(take());
    assert_int_equal(world.heard.sideband_id, sideband_id);
    assert_int_equal(world.heard.sequence, sequence);
    assert_string_equal(world.text, text);
}

/* --- greetings -------------------------------------------------------------------------------- */

static void a_new_one_hears_nothing_before_its_own_greeting(void **state)
{
    (void)state;
    attach(7, START_US);
    say("before the backend knows");
    assert_false(take());
    expect_change(7, true, START_US);
    assert_false(tell_backend(START_US));
    say("before the greeting");
    assert_false(take());
    greet(7);
    expect(7, 1, "created");
    say("after it");
    expect(0, 2, "after it");
    assert_int_equal(world.heard.waiting_count, 0);
}

static void a_greeting_that_does_not_come_is_waited_for_two_seconds(void **state)
{
    (void)state;
    const uint64_t told_us = START_US + US_PER_S;
    attach(7, START_US);
    assert_int_equal(sidebands_next_timeout(&world.bands), START_US + LEASE_US);
    assert_true(tell_backend(told_us));
    assert_int_equal(sidebands_next_timeout(&world.bands), told_us + SIDEBANDS_WAIT_US);
    sidebands_tick(&world.bands, told_us + SIDEBANDS_WAIT_US - 1);
    say("too early");
    assert_false(take());
    sidebands_tick(&world.bands, told_us + SIDEBANDS_WAIT_US);
    assert_int_equal(sidebands_next_timeout(&world.bands), START_US + LEASE_US);
    say("without a greeting");
    expect(0, 1, "without a greeting");
    greet(7);
    expect(7, 2, "created");
}

static void two_side_bands_hear_the_same_and_a_greeting_is_for_one(void **state)
{
    (void)state;
    attach(7, START_US);
    assert_true(tell_backend(START_US));
    greet(7);
    expect(7, 1, "created");
    attach(8, START_US);
    assert_true(tell_backend(START_US));
    say("seven hears");
    expect(0, 2, "seven hears");
    assert_int_equal(world.heard.waiting_count, 1);
    assert_int_equal(world.heard.waiting[0], 8);
    greet(8);
    expect(8, 3, "created");
    say("both hear");
    expect(0, 4, "both hear");
    assert_int_equal(world.heard.waiting_count, 0);
}

static void what_is_for_nobody_here_has_no_number(void **state)
{
    (void)state;
    say("nobody");
    greet(7);
    greet(0);
    assert_false(take());
    assert_int_equal(world.bands.sequence, 0);
}

/* --- leases ----------------------------------------------------------------------------------- */

static void a_lease_ends_unless_it_is_renewed(void **state)
{
    (void)state;
    attach(7, START_US);
    attach(8, START_US);
    assert_true(tell_backend(START_US));
    const uint64_t renewed_us = START_US + 5 * US_PER_S;
    assert_int_equal(sidebands_attach(&world.bands, 8, LEASE_US, renewed_us), SIDEBANDS_RENEWED);
    sidebands_tick(&world.bands, START_US + LEASE_US - 1);
    assert_int_equal(sidebands_count(&world.bands), 2);
    sidebands_tick(&world.bands, START_US + LEASE_US);
    assert_false(sidebands_has(&world.bands, 7));
    assert_true(sidebands_has(&world.bands, 8));
    expect_change(7, false, START_US + LEASE_US);
    assert_false(tell_backend(START_US + LEASE_US));
    sidebands_tick(&world.bands, renewed_us + LEASE_US);
    expect_change(8, false, renewed_us + LEASE_US);
    assert_int_equal(sidebands_next_timeout(&world.bands), TIME_NEVER);
}

static void a_lease_is_cut_at_its_bound(void **state)
{
    (void)state;
    assert_int_equal(sidebands_attach(&world.bands, 7, UINT64_MAX / 2, START_US),
                     SIDEBANDS_ATTACHED);
    sidebands_tick(&world.bands, START_US + LEASE_US);
    assert_false(sidebands_has(&world.bands, 7));
}

static void who_leaves_is_told_and_may_come_back(void **state)
{
    (void)state;
    attach(6, START_US);
    attach(7, START_US);
    assert_true(tell_backend(START_US));
    greet(7);
    expect(7, 1, "created");
    sidebands_detach(&world.bands, 6);
    assert_true(tell_backend(START_US));
    sidebands_detach(&world.bands, 7);
    sidebands_detach(&world.bands, 7);
    sidebands_detach(&world.bands, 99);
    say("nobody");
    assert_false(take());
    attach(7, START_US + 1); /* in the place that 6 had, before that of 7 */
    expect_change(7, false, START_US + 1);
    expect_change(7, true, START_US + 1);
    say("not before the greeting");
    assert_false(take());
}

static void one_too_many_is_refused_and_has_the_place_of_one_that_left(void **state)
{
    (void)state;
    for (uint32_t id = 1; id <= SIDEBANDS_MAX; id++) {
        attach(id, START_US);
    }
    assert_int_equal(sidebands_attach(&world.bands, 9, LEASE_US, START_US), SIDEBANDS_FULL);
    assert_int_equal(sidebands_attach(&world.bands, SIDEBANDS_MAX, LEASE_US, START_US),
                     SIDEBANDS_RENEWED);
    sidebands_detach(&world.bands, 3);
    attach(9, START_US);
    assert_int_equal(sidebands_count(&world.bands), SIDEBANDS_MAX);
}

/* --- a backend that was away ------------------------------------------------------------------ */

static void a_backend_that_is_back_is_told_again_of_those_that_wait(void **state)
{
    (void)state;
    attach(7, START_US);
    attach(8, START_US);
    assert_true(tell_backend(START_US));
    greet(7);
    expect(7, 1, "created");
    sidebands_backend_back(&world.bands);
    expect_change(8, true, START_US + US_PER_S);
    assert_false(tell_backend(START_US + US_PER_S));
    sidebands_tick(&world.bands, START_US + SIDEBANDS_WAIT_US);
    say("eight waits on");
    expect(0, 2, "eight waits on");
    assert_int_equal(world.heard.waiting_count, 1);
    sidebands_tick(&world.bands, START_US + US_PER_S + SIDEBANDS_WAIT_US);
    say("long enough");
    expect(0, 3, "long enough");
    assert_int_equal(world.heard.waiting_count, 0);
}

/* --- the end, and a full outbox --------------------------------------------------------------- */

static void the_end_is_for_all_and_nothing_follows(void **state)
{
    (void)state;
    attach(7, START_US);
    sidebands_end(&world.bands, "hangup");
    expect(0, 1, "hangup");
    assert_true(world.heard.is_end);
    sidebands_end(&world.bands, "again");
    say("late");
    assert_false(take());
    assert_int_equal(sidebands_attach(&world.bands, 8, LEASE_US, START_US), SIDEBANDS_FULL);
    assert_int_equal(sidebands_next_timeout(&world.bands), TIME_NEVER);
    assert_int_equal(sidebands_count(&world.bands), 0);
}

static void an_end_that_nobody_hears_is_not_told(void **state)
{
    (void)state;
    sidebands_end(&world.bands, "hangup");
    assert_false(take());
}

static void a_full_outbox_leaves_a_gap_that_is_counted(void **state)
{
    (void)state;
    static uint8_t event[4096 - sizeof(struct sideband_message)];
    attach(7, START_US);
    assert_true(tell_backend(START_US));
    greet(7);
    expect(7, 1, "created");
    sidebands_tell_all(&world.bands, bytes_view_of(event, sizeof(event)));
    say("no room");
    sideband_outbox_clear(world.outbox);
    say("room again");
    expect(0, 4, "room again");
    assert_int_equal(world.bands.lost, 1);
}

/* --- the outbox ------------------------------------------------------------------------------- */

static void messages_leave_the_outbox_in_order_and_as_they_were(void **state)
{
    (void)state;
    struct sideband_message m = {.sideband_id = 5, .waiting = {1, 2}, .waiting_count = 2};
    for (uint64_t i = 1; i <= 3; i++) {
        m.sequence = i;
        m.text = bytes_view_of("abc", (size_t)i - 1);
        assert_true(sideband_outbox_add(world.outbox, &m));
    }
    size_t cursor = 0;
    for (uint64_t i = 1; i <= 3; i++) {
        assert_true(sideband_outbox_next(world.outbox, &cursor, &world.heard));
        assert_int_equal(world.heard.sequence, i);
        assert_int_equal(world.heard.waiting[1], 2);
        assert_true(bytes_equal(world.heard.text, bytes_view_of("abc", (size_t)i - 1)));
    }
    assert_false(sideband_outbox_next(world.outbox, &cursor, &world.heard));
}

static void the_outbox_takes_what_fits_and_not_a_byte_more(void **state)
{
    (void)state;
    static uint8_t text[4096 - sizeof(struct sideband_message) + 1];
    struct sideband_message m = {.text = bytes_view_of(text, sizeof(text))};
    assert_false(sideband_outbox_add(world.outbox, &m));
    m.text.len--;
    assert_true(sideband_outbox_add(world.outbox, &m));
    m.text.len = 0;
    assert_false(sideband_outbox_add(world.outbox, &m));
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(a_new_one_hears_nothing_before_its_own_greeting),
        IN_A_WORLD(a_greeting_that_does_not_come_is_waited_for_two_seconds),
        IN_A_WORLD(two_side_bands_hear_the_same_and_a_greeting_is_for_one),
        IN_A_WORLD(what_is_for_nobody_here_has_no_number),
        IN_A_WORLD(a_lease_ends_unless_it_is_renewed),
        IN_A_WORLD(a_lease_is_cut_at_its_bound),
        IN_A_WORLD(who_leaves_is_told_and_may_come_back),
        IN_A_WORLD(one_too_many_is_refused_and_has_the_place_of_one_that_left),
        IN_A_WORLD(a_backend_that_is_back_is_told_again_of_those_that_wait),
        IN_A_WORLD(the_end_is_for_all_and_nothing_follows),
        IN_A_WORLD(an_end_that_nobody_hears_is_not_told),
        IN_A_WORLD(a_full_outbox_leaves_a_gap_that_is_counted),
        IN_A_WORLD(messages_leave_the_outbox_in_order_and_as_they_were),
        IN_A_WORLD(the_outbox_takes_what_fits_and_not_a_byte_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
