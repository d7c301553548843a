/* speech_worker_test.c - the thread speaks what was ordered and says when, and ends when asked */
#include "tests/testing.h"

#include "services/inference-stub/sound/speech_worker.h"

#include <poll.h>

#define PATIENCE_MS 10000

static struct speech_desk *desk;
static struct speech_worker *worker;

static int set_up(void **state)
{
    (void)state;
    struct fault fault;
    desk = speech_desk_create();
    worker = speech_worker_open(desk, &fault);
    return worker == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    speech_worker_close(worker);
    speech_desk_destroy(desk);
    return 0;
}

static void wait_until_made(void)
{
    do {
        struct pollfd readable = {.fd = speech_worker_fd(worker), .events = POLLIN};
        assert_int_equal(poll(&readable, 1, PATIENCE_MS), 1);
    } while (!speech_worker_serve(worker));
}

static void orders_are_spoken_one_after_another(void **state)
{
    (void)state;
    struct sound *sound = NULL;
    const uint32_t first = speech_desk_order(desk, "One.", 16000);
    const uint32_t second = speech_desk_order(desk, "Two.", 24000);
    assert_false(speech_worker_serve(worker));
    wait_until_made();
    assert_int_equal(speech_desk_fetch(desk, first, &sound), SPEECH_READY);
    assert_int_equal(sound->rate_hz, 16000);
    assert_in_range(sound->pcm.count, 16000 / 10, 16000 * 2);
    sound_destroy(sound);
    wait_until_made();
    assert_int_equal(speech_desk_fetch(desk, second, &sound), SPEECH_READY);
    assert_int_equal(sound->rate_hz, 24000);
    sound_destroy(sound);
}

static void a_sound_that_can_not_be_made_fails(void **state)
{
    (void)state;
    struct sound *sound = NULL;
    const uint32_t order = speech_desk_order(desk, "One.", 0);
    assert_false(speech_worker_serve(worker));
    wait_until_made();
    assert_int_equal(speech_desk_fetch(desk, order, &sound), SPEECH_FAILED);
}

static void an_end_in_the_middle_of_a_sentence_loses_nothing_of_the_heap(void **state)
{
    (void)state;
    (void)speech_desk_order(desk, "Nobody will wait for this one.", 16000);
    assert_false(speech_worker_serve(worker));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(orders_are_spoken_one_after_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_sound_that_can_not_be_made_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            an_end_in_the_middle_of_a_sentence_loses_nothing_of_the_heap, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
