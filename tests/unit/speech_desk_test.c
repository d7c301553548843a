/* speech_desk_test.c - a sentence is made once for all who want it, in the order of asking */
#include "tests/testing.h"

#include "services/inference-stub/sound/speech_desk.h"

#include <stdio.h>
#include <stdlib.h>

static struct speech_desk *desk;

static int set_up(void **state)
{
    (void)state;
    desk = speech_desk_create();
    return desk == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    speech_desk_destroy(desk);
    return 0;
}

static struct sound *make_sound(size_t count)
{
    return sound_create((struct pcm_view){calloc(count, sizeof(int16_t)), count}, 16000);
}

static void make_next(const char *text, size_t count)
{
    struct speech_work work;
    assert_true(speech_desk_take_work(desk, &work));
    assert_string_equal(work.text, text);
    speech_desk_finish_work(desk, make_sound(count));
}

static bool has_work(void)
{
    struct speech_work work;
    const bool has = speech_desk_take_work(desk, &work);
    if (has) {
        speech_desk_finish_work(desk, NULL);
    }
    return has;
}

static void two_orders_of_one_sentence_share_its_sound(void **state)
{
    (void)state;
    struct sound *first = NULL;
    struct sound *second = NULL;
    const uint32_t a = speech_desk_order(desk, "hello", 16000);
    const uint32_t b = speech_desk_order(desk, "hello", 16000);
    assert_int_equal(speech_desk_fetch(desk, a, &first), SPEECH_WAITING);
    make_next("hello", 10);
    assert_false(has_work());
    assert_int_equal(speech_desk_fetch(desk, a, &first), SPEECH_READY);
    assert_int_equal(speech_desk_fetch(desk, b, &second), SPEECH_READY);
    assert_ptr_equal(first, second);
    assert_int_equal(first->holders, 3);
    sound_destroy(first);
    sound_destroy(second);
}

static void a_sentence_that_was_made_is_ready_at_once(void **state)
{
    (void)state;
    struct sound *sound = NULL;
    speech_desk_cancel(desk, speech_desk_order(desk, "kept", 16000));
    assert_false(has_work()); /* nobody wants it */
    const uint32_t a = speech_desk_order(desk, "kept", 16000);
    make_next("kept", 10);
    speech_desk_cancel(desk, a);
    const uint32_t b = speech_desk_order(desk, "kept", 16000);
    assert_int_equal(speech_desk_fetch(desk, b, &sound), SPEECH_READY);
    sound_destroy(sound);
}

static void assert_counts(uint64_t made, uint64_t failed, uint64_t waiting)
{
    const struct speech_desk_counts counts = speech_desk_counts(desk);
    assert_int_equal(counts.made, made);
    assert_int_equal(counts.failed, failed);
    assert_int_equal(counts.waiting, waiting);
}

static void it_counts_what_waits_is_made_and_fails(void **state)
{
    (void)state;
    struct speech_work work;
    (void)speech_desk_order(desk, "one", 16000);
    (void)speech_desk_order(desk, "one", 16000);
    (void)speech_desk_order(desk, "two", 16000);
    speech_desk_cancel(desk, speech_desk_order(desk, "three", 16000));
    assert_counts(0, 0, 2);
    assert_true(speech_desk_take_work(desk, &work));
    assert_counts(0, 0, 2);
    speech_desk_finish_work(desk, make_sound(1));
    assert_counts(1, 0, 1);
    assert_true(has_work());
    assert_counts(1, 1, 0);
}

static void another_rate_is_another_sound(void **state)
{
    (void)state;
    (void)speech_desk_order(desk, "hello", 16000);
    (void)speech_desk_order(desk, "hello", 24000);
    make_next("hello", 10);
    make_next("hello", 15);
    assert_false(has_work());
}

static void who_asked_first_is_served_first(void **state)
{
    (void)state;
    (void)speech_desk_order(desk, "one", 16000);
    (void)speech_desk_order(desk, "two", 16000);
    (void)speech_desk_order(desk, "three", 16000);
    make_next("one", 1);
    make_next("two", 1);
    make_next("three", 1);
}

static void an_order_ends_when_it_is_fetched_or_cancelled(void **state)
{
    (void)state;
    struct sound *sound = NULL;
    const uint32_t a = speech_desk_order(desk, "hello", 16000);
    make_next("hello", 10);
    assert_int_equal(speech_desk_fetch(desk, a, &sound), SPEECH_READY);
    sound_destroy(sound);
    assert_int_equal(speech_desk_fetch(desk, a, &sound), SPEECH_FAILED);
    speech_desk_cancel(desk, a);
    assert_int_equal(speech_desk_fetch(desk, 0, &sound), SPEECH_FAILED);
    assert_int_equal(speech_desk_fetch(desk, UINT32_MAX, &sound), SPEECH_FAILED);
}

static void a_sentence_that_can_not_be_made_fails_and_may_be_asked_for_again(void **state)
{
    (void)state;
    struct sound *sound = NULL;
    const uint32_t a = speech_desk_order(desk, "?", 16000);
    assert_true(has_work());
    assert_int_equal(speech_desk_fetch(desk, a, &sound), SPEECH_FAILED);
    (void)speech_desk_order(desk, "?", 16000);
    make_next("?", 1);
}

static uint32_t order_numbered(size_t number)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "sentence %zu", number);
    return speech_desk_order(desk, text, 16000);
}

static void a_full_desk_refuses_until_a_place_is_spare(void **state)
{
    (void)state;
    uint32_t first = 0;
    for (size_t i = 0; i < SPEECH_DESK_PLACES; i++) {
        const uint32_t order = order_numbered(i);
        assert_int_not_equal(order, 0);
        first = i == 0 ? order : first;
    }
    assert_int_equal(order_numbered(SPEECH_DESK_PLACES), 0);
    speech_desk_cancel(desk, first);
    assert_int_not_equal(order_numbered(SPEECH_DESK_PLACES), 0);
    struct sound *sound = NULL;
    assert_int_equal(speech_desk_fetch(desk, first, &sound), SPEECH_FAILED); /* another's place */
}

static void what_was_used_longest_ago_is_given_up(void **state)
{
    (void)state;
    const size_t half = SPEECH_DESK_SAMPLES / 2;
    for (size_t i = 0; i < 3; i++) {
        char text[32];
        struct sound *sound = NULL;
        const uint32_t order = order_numbered(i);
        (void)snprintf(text, sizeof(text), "sentence %zu", i);
        make_next(text, half);
        assert_int_equal(speech_desk_fetch(desk, order, &sound), SPEECH_READY);
        sound_destroy(sound);
    }
    (void)order_numbered(2);
    (void)order_numbered(1);
    assert_false(has_work());
    (void)order_numbered(0);
    assert_true(has_work());
}

static void a_sentence_under_way_is_made_even_if_nobody_wants_it_any_more(void **state)
{
    (void)state;
    struct speech_work work;
    const uint32_t a = speech_desk_order(desk, "hello", 16000);
    assert_true(speech_desk_take_work(desk, &work));
    speech_desk_cancel(desk, a);
    for (size_t i = 0; i + 1 < SPEECH_DESK_PLACES; i++) {
        assert_int_not_equal(order_numbered(i), 0);
    }
    assert_int_equal(order_numbered(SPEECH_DESK_PLACES), 0); /* its place is not taken from it */
    speech_desk_finish_work(desk, make_sound(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_orders_of_one_sentence_share_its_sound, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_sentence_that_was_made_is_ready_at_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(it_counts_what_waits_is_made_and_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(another_rate_is_another_sound, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_asked_first_is_served_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_order_ends_when_it_is_fetched_or_cancelled, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_sentence_that_can_not_be_made_fails_and_may_be_asked_for_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_desk_refuses_until_a_place_is_spare, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_was_used_longest_ago_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_sentence_under_way_is_made_even_if_nobody_wants_it_any_more, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
