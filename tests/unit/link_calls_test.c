/* link_calls_test.c - sessions are found by handle, and write in turn, urgent things first */
#include "tests/testing.h"

#include "common/runtime/log.h"
#include "services/inference-stub/link_calls.h"

#define START_JSON                                                                                 \
    "{\"call_id\":\"rtc_1\",\"in\":[\"pcm16/16000\"],\"out\":[\"pcm16/16000\"],"                   \
    "\"credit_us\":1000000}"

static struct stub_counters counters;
static const struct stub_behaviour behaviour = {.mode = DIALOGUE_TONE,
                                                .mode_name = "tone",
                                                .tone_hz = 1000,
                                                .sessions_max = LINK_CALLS_MAX,
                                                .counters = &counters};
static struct link_calls calls;

static int set_up(void **state)
{
    (void)state;
    log_open("test", LOG_ERROR, LOG_TEXT);
    counters = (struct stub_counters){0};
    link_calls_init(&calls);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    link_calls_clear(&calls);
    assert_int_equal(calls.count, 0);
    return 0;
}

static void input(struct call *call, unsigned type, const char *json)
{
    const struct backend_frame frame = {
        .type = (uint8_t)type, .flags = BACKEND_FLAG_LAST, .payload = bytes_view_of_text(json)};
    assert_true(stub_session_input(call->session, &frame, 0));
}

/* The type of the next frame; 0 = nothing. Whose it is: *out. */
static unsigned take(struct call **out)
{
    struct backend_frame frame = {0};
    *out = link_calls_take(&calls, &frame);
    return *out == NULL ? 0 : frame.type;
}

static struct call *add_running(uint32_t handle)
{
    struct call *call = link_calls_add(&calls, &behaviour, handle, 0);
    struct call *whose;
    assert_non_null(call);
    input(call, BACKEND_SESSION_START, START_JSON);
    link_calls_let_wait(&calls, call);
    assert_int_equal(take(&whose), BACKEND_SESSION_ACCEPT);
    assert_ptr_equal(whose, call);
    return call;
}

static void a_session_is_found_by_its_handle_and_no_other(void **state)
{
    (void)state;
    /* The last two share a bucket. */
    static const uint32_t handle[] = {0, UINT32_MAX, 1, 1 + LINK_CALLS_BUCKETS};
    struct call *call[COUNT_OF(handle)];
    for (size_t i = 0; i < COUNT_OF(handle); i++) {
        assert_null(link_calls_find(&calls, handle[i]));
        call[i] = link_calls_add(&calls, &behaviour, handle[i], 0);
    }
    for (size_t i = 0; i < COUNT_OF(handle); i++) {
        assert_ptr_equal(link_calls_find(&calls, handle[i]), call[i]);
    }
    assert_null(link_calls_find(&calls, 1 + 2 * LINK_CALLS_BUCKETS));
    link_calls_remove(&calls, call[2]);
    assert_null(link_calls_find(&calls, 1));
    assert_ptr_equal(link_calls_find(&calls, 1 + LINK_CALLS_BUCKETS), call[3]);
    assert_int_equal(calls.count, 3);
}

static void the_last_place_is_given_and_then_none_until_one_is_free(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < LINK_CALLS_MAX; i++) {
        assert_non_null(link_calls_add(&calls, &behaviour, i, 0));
    }
    assert_null(link_calls_add(&calls, &behaviour, LINK_CALLS_MAX, 0));
    assert_null(link_calls_find(&calls, LINK_CALLS_MAX));
    link_calls_remove(&calls, link_calls_find(&calls, 17));
    assert_non_null(link_calls_add(&calls, &behaviour, LINK_CALLS_MAX, 0));
}

static void sessions_write_in_turn(void **state)
{
    (void)state;
    struct call *call[3];
    for (uint32_t i = 0; i < COUNT_OF(call); i++) {
        call[i] = add_running(i);
        link_calls_let_wait(&calls, call[i]);
        link_calls_let_wait(&calls, call[i]); /* twice is once */
    }
    for (size_t i = 0; i < 3 * COUNT_OF(call); i++) {
        struct call *whose;
        assert_int_equal(take(&whose), BACKEND_AUDIO_OUT);
        assert_ptr_equal(whose, call[i % COUNT_OF(call)]);
    }
}

static void a_higher_class_of_one_goes_before_the_audio_of_another(void **state)
{
    (void)state;
    struct call *speaker = add_running(1);
    struct call *ender = add_running(2);
    struct call *stranger = add_running(3);
    struct call *whose;
    input(ender, BACKEND_SESSION_END, "{}");
    input(stranger, 0x7f, ""); /* unsupported: an ERROR */
    link_calls_let_wait(&calls, speaker);
    link_calls_let_wait(&calls, ender);
    link_calls_let_wait(&calls, stranger);
    assert_int_equal(take(&whose), BACKEND_ERROR);
    assert_ptr_equal(whose, stranger);
    assert_int_equal(take(&whose), BACKEND_SESSION_ENDED);
    assert_ptr_equal(whose, ender);
    assert_true(stub_session_is_over(ender->session));
    assert_int_equal(take(&whose), BACKEND_AUDIO_OUT);
    assert_ptr_equal(whose, speaker);
}

static void one_that_has_nothing_waits_no_more_until_it_is_let(void **state)
{
    (void)state;
    struct call *call = link_calls_add(&calls, &behaviour, 1, 0);
    struct call *whose;
    link_calls_let_wait(&calls, call);
    assert_int_equal(take(&whose), 0);
    input(call, BACKEND_SESSION_END, "{}");
    assert_int_equal(take(&whose), 0);
    link_calls_let_wait(&calls, call);
    assert_int_equal(take(&whose), BACKEND_SESSION_ENDED);
}

static void one_that_is_removed_while_it_waits_is_forgotten(void **state)
{
    (void)state;
    struct call *gone = add_running(1);
    struct call *stays = add_running(2);
    struct call *whose;
    input(gone, BACKEND_SESSION_END, "{}");
    input(stays, BACKEND_SESSION_END, "{}");
    link_calls_let_wait(&calls, gone);
    link_calls_let_wait(&calls, stays);
    link_calls_remove(&calls, gone);
    assert_int_equal(take(&whose), BACKEND_SESSION_ENDED);
    assert_ptr_equal(whose, stays);
    assert_int_equal(take(&whose), 0);
}

static void time_passes_for_all_and_lets_them_write(void **state)
{
    (void)state;
    struct call *whose;
    assert_non_null(link_calls_add(&calls, &behaviour, 1, 0));
    assert_non_null(link_calls_add(&calls, &behaviour, 2, 0));
    link_calls_tick(&calls, 5 * US_PER_S - 1);
    assert_int_equal(take(&whose), 0);
    link_calls_tick(&calls, 5 * US_PER_S); /* SESSION_START was not completed */
    assert_int_equal(take(&whose), BACKEND_SESSION_REJECT);
    assert_int_equal(take(&whose), BACKEND_SESSION_REJECT);
    assert_int_equal(take(&whose), 0);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_session_is_found_by_its_handle_and_no_other),
        CLAIM(the_last_place_is_given_and_then_none_until_one_is_free),
        CLAIM(sessions_write_in_turn),
        CLAIM(a_higher_class_of_one_goes_before_the_audio_of_another),
        CLAIM(one_that_has_nothing_waits_no_more_until_it_is_let),
        CLAIM(one_that_is_removed_while_it_waits_is_forgotten),
        CLAIM(time_passes_for_all_and_lets_them_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
