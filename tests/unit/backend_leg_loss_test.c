/* backend_leg_loss_test.c - a connection breaks: who goes on, who starts anew, and until when */
#include "tests/unit/backend_leg_world.h"

static void a_loss_gives_five_seconds_and_says_nothing(void **state)
{
    (void)state;
    struct world w;
    enter(&w, ACCEPTED);
    w.now_us += 700;
    backend_leg_lost(&w.leg, w.now_us);
    assert_true(backend_leg_is_away(&w.leg));
    assert_false(backend_leg_is_attached(&w.leg));
    assert_true(w.leg.deadline_us == w.now_us + 5 * US_PER_S);
    close_world(&w);
}

static void resume_tells_the_token_of_start_and_where_the_call_is(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const struct backend_start_request start = expect_start(&w);
    assert_int_equal(strlen(start.resume_token), 32);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_ACCEPT);
    w.now_us += 3 * US_PER_S;
    backend_leg_lost(&w.leg, w.now_us);
    w.now_us += US_PER_S;
    reconnect(&w, true);
    const struct backend_resume resume = expect_resume(&w);
    assert_string_equal(resume.call_id, "rtc_x");
    assert_string_equal(resume.token, start.resume_token);
    assert_int_equal(strlen(resume.next_token), 32);
    assert_string_not_equal(resume.next_token, resume.token);
    assert_int_equal(resume.position.utterance, position.utterance);
    assert_int_equal(resume.position.received_us, position.received_us);
    assert_int_equal(resume.position.received_total_us, position.received_total_us);
    assert_int_equal(resume.position.sent_us, position.sent_us);
    assert_int_equal(resume.position.credit_us, position.credit_us);
    assert_int_equal(resume.audio_in_from_us, 9000000);
    assert_true(w.leg.deadline_us == w.now_us + 2 * US_PER_S);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_RESUMED);
    assert_true(w.leg.deadline_us == TIME_NEVER);
    close_world(&w);
}

static void each_loss_in_a_call_resumes_with_a_token_of_its_own(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    char expected[BACKEND_TOKEN_CAP];
    memcpy(expected, expect_start(&w).resume_token, sizeof(expected));
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_ACCEPT);
    for (int loss = 0; loss < 4; loss++) {
        backend_leg_lost(&w.leg, w.now_us);
        reconnect(&w, true);
        const struct backend_resume resume = expect_resume(&w);
        assert_string_equal(resume.token, expected);
        memcpy(expected, resume.next_token, sizeof(expected));
        assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_RESUMED);
    }
    close_world(&w);
}

/* What the backend made of the RESUME that was lost nobody knows: the token is tried again. */
static void a_resume_that_was_lost_is_said_again_and_its_time_is_not_renewed(void **state)
{
    (void)state;
    struct world w;
    enter(&w, AWAY);
    const uint64_t lost_us = w.now_us;
    w.now_us += 1000;
    reconnect(&w, true);
    const struct backend_resume first = expect_resume(&w);
    w.now_us += 1000;
    backend_leg_lost(&w.leg, w.now_us);
    assert_true(w.leg.deadline_us == lost_us + 5 * US_PER_S);
    reconnect(&w, true);
    const struct backend_resume second = expect_resume(&w);
    assert_string_equal(second.token, first.token);
    assert_string_not_equal(second.next_token, first.next_token);
    close_world(&w);
}

static void a_backend_that_can_not_resume_gets_a_start_that_says_so(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const struct backend_start_request before = expect_start(&w);
    assert_false(before.is_restarted);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_ACCEPT);
    backend_leg_lost(&w.leg, w.now_us);
    w.now_us += US_PER_S;
    reconnect(&w, false);
    const struct backend_frame frame = outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
    struct backend_start_request after;
    assert_true(backend_start_decode(frame.payload, &after));
    assert_true(after.is_restarted);
    assert_string_equal(after.call_id, "rtc_x");
    assert_string_not_equal(after.resume_token, before.resume_token);
    assert_int_equal(frame.time_us, US_PER_S); /* the session clock goes on */
    outbox_frames_assert_holds(&frame, "\"wall_clock_us\":1001000000");
    assert_true(w.leg.deadline_us == w.now_us + 2 * US_PER_S);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_RESTARTED);
    close_world(&w);
}

static void a_backend_that_does_not_know_the_call_gets_a_start_on_the_same_connection(void **state)
{
    (void)state;
    struct world w;
    enter(&w, RESUMING);
    assert_int_equal(hear(&w, BACKEND_SESSION_REJECT, "{\"code\":\"no_session\"}"),
                     BACKEND_LEG_STARTED_ANEW);
    assert_true(expect_start(&w).is_restarted);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_RESTARTED);
    close_world(&w);
}

static void a_restarted_call_that_is_rejected_is_over(void **state)
{
    (void)state;
    struct world w;
    enter(&w, AWAY);
    reconnect(&w, false);
    (void)expect_start(&w);
    assert_int_equal(hear(&w, BACKEND_SESSION_REJECT, "{\"code\":\"no_session\"}"),
                     BACKEND_LEG_GOT_REJECT);
    close_world(&w);
}

/* What it says has a reason that may pass, or not be true of another. */
static void a_backend_that_will_not_have_the_call_back_leaves_it_its_five_seconds(void **state)
{
    (void)state;
    static const struct {
        bool can_resume;
        const char *reject;
        bool is_away;
    } c[] = {
        {true, "{\"code\":\"overload\"}", true},
        {true, "{\"code\":\"overload\",\"retry_elsewhere\":true}", true},
        {true, "{}", true},
        {false, "{\"code\":\"overload\",\"retry_elsewhere\":true}", true},
        {false, "{\"code\":\"overload\"}", false},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        enter(&w, AWAY);
        const uint64_t until_us = w.now_us + 5 * US_PER_S;
        w.now_us += US_PER_S;
        reconnect(&w, c[i].can_resume);
        outbox_frames_expect(&w.frames,
                             c[i].can_resume ? BACKEND_SESSION_RESUME : BACKEND_SESSION_START);
        w.now_us += US_PER_S;
        assert_int_equal(hear(&w, BACKEND_SESSION_REJECT, c[i].reject),
                         c[i].is_away ? BACKEND_LEG_NOTHING : BACKEND_LEG_GOT_REJECT);
        assert_int_equal(backend_leg_is_away(&w.leg), c[i].is_away);
        assert_true(w.leg.deadline_us == (c[i].is_away ? until_us : TIME_NEVER));
        if (c[i].is_away) {
            reconnect(&w, true);
            (void)expect_resume(&w);
            assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_RESUMED);
        }
        close_world(&w);
    }
}

static void an_unanswered_try_is_taken_back_and_followed_by_another(void **state)
{
    (void)state;
    for (int can_resume = 0; can_resume <= 1; can_resume++) {
        struct world w;
        enter(&w, AWAY);
        const uint64_t lost_us = w.now_us;
        reconnect(&w, can_resume == 1);
        outbox_frames_expect(&w.frames,
                             can_resume == 1 ? BACKEND_SESSION_RESUME : BACKEND_SESSION_START);
        w.now_us += 2 * US_PER_S - 1;
        assert_true(backend_leg_tick(&w.leg, w.now_us));
        assert_false(backend_leg_is_away(&w.leg));
        w.now_us++;
        assert_true(backend_leg_tick(&w.leg, w.now_us));
        assert_true(backend_leg_is_away(&w.leg));
        outbox_frames_expect(&w.frames, BACKEND_SESSION_END);
        assert_true(w.leg.deadline_us == lost_us + 5 * US_PER_S);
        assert_true(backend_leg_tick(&w.leg, lost_us + 5 * US_PER_S - 1));
        assert_false(backend_leg_tick(&w.leg, lost_us + 5 * US_PER_S));
        close_world(&w);
    }
}

/* Neither the first START, nor a try that began late, has another. */
static void who_has_no_time_left_is_overdue(void **state)
{
    (void)state;
    struct world w;
    enter(&w, STARTING);
    assert_true(backend_leg_tick(&w.leg, BEGIN_US + 2 * US_PER_S - 1));
    assert_false(backend_leg_tick(&w.leg, BEGIN_US + 2 * US_PER_S));
    close_world(&w);
    enter(&w, AWAY);
    w.now_us += 3 * US_PER_S;
    reconnect(&w, true);
    (void)expect_resume(&w);
    assert_true(backend_leg_tick(&w.leg, w.now_us + 2 * US_PER_S - 1));
    assert_false(backend_leg_tick(&w.leg, w.now_us + 2 * US_PER_S));
    close_world(&w);
}

/* Nothing was agreed on, so nothing is resumed; and the call still wants an ACCEPT in time. */
static void a_loss_before_the_first_accept_starts_once_more_within_the_same_time(void **state)
{
    (void)state;
    struct world w;
    enter(&w, STARTING);
    w.now_us += 300000;
    backend_leg_lost(&w.leg, w.now_us);
    assert_true(backend_leg_is_away(&w.leg));
    reconnect(&w, true);
    assert_false(expect_start(&w).is_restarted);
    assert_true(w.leg.deadline_us == BEGIN_US + 2 * US_PER_S);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_ACCEPT);
    close_world(&w);
}

static void a_loss_after_the_last_word_is_none(void **state)
{
    (void)state;
    static const enum backend_leg_state before[] = {ASKED, OVER};
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        struct world w;
        enter(&w, before[i]);
        backend_leg_lost(&w.leg, w.now_us);
        assert_int_equal(w.leg.state, OVER);
        assert_true(w.leg.deadline_us == TIME_NEVER);
        close_world(&w);
    }
}

/* Who resumes was told before; who starts anew was not. */
static void connected_is_told_again_only_to_who_does_not_know(void **state)
{
    (void)state;
    for (int can_resume = 0; can_resume <= 1; can_resume++) {
        struct world w;
        enter(&w, ACCEPTED);
        backend_leg_connected(&w.leg, false, w.now_us);
        outbox_frames_expect(&w.frames, BACKEND_CONNECTED);
        backend_leg_lost(&w.leg, w.now_us);
        reconnect(&w, can_resume == 1);
        if (can_resume == 1) {
            (void)expect_resume(&w);
        } else {
            (void)expect_start(&w);
            outbox_frames_expect(&w.frames, BACKEND_CONNECTED);
        }
        hear(&w, BACKEND_SESSION_ACCEPT, "{}");
        close_world(&w);
    }
}

static void a_call_that_connects_while_its_backend_is_away_tells_it_afterwards(void **state)
{
    (void)state;
    struct world w;
    enter(&w, AWAY);
    backend_leg_connected(&w.leg, false, w.now_us);
    reconnect(&w, true);
    (void)expect_resume(&w);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_RESUMED);
    outbox_frames_expect(&w.frames, BACKEND_CONNECTED);
    close_world(&w);
}

/* The caller's texts are gone by then. */
static void what_start_says_is_kept_for_the_next_one(void **state)
{
    (void)state;
    struct world w;
    char call_id[] = "rtc_x";
    char agent[] = "curl";
    char json[] = "{\"voice\":\"slt\"}";
    struct backend_start start = start_of(call_id);
    start.client_agent = bytes_view_of_text(agent);
    start.session_json = bytes_view_of_text(json);
    start.expires_at_s = 4600;
    assert_true(open_world_with(&w, &start));
    (void)expect_start(&w);
    memset(call_id, '?', sizeof(call_id) - 1);
    memset(agent, '?', sizeof(agent) - 1);
    memset(json, '?', sizeof(json) - 1);
    backend_leg_lost(&w.leg, w.now_us);
    reconnect(&w, true);
    const struct backend_frame frame = outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
    outbox_frames_assert_holds(&frame, "\"call_id\":\"rtc_x\"");
    outbox_frames_assert_holds(&frame, "\"agent\":\"curl\"");
    outbox_frames_assert_holds(&frame, "\"session\":{\"voice\":\"slt\"}");
    outbox_frames_assert_holds(&frame, "\"expires_at\":4600");
    close_world(&w);
}

static void a_message_that_was_cut_by_the_loss_is_forgotten(void **state)
{
    (void)state;
    struct world w;
    enter(&w, ACCEPTED);
    const struct backend_frame header = {
        .type = BACKEND_CHANNEL_DATA, .session = ID, .payload = bytes_view_of_text("{}")};
    assert_int_equal(backend_leg_input(&w.leg, &header, w.now_us), BACKEND_LEG_NOTHING);
    backend_leg_lost(&w.leg, w.now_us);
    reconnect(&w, true);
    (void)expect_resume(&w);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_RESUMED);
    /* Else this would be its data. */
    assert_int_equal(backend_leg_input(&w.leg, &header, w.now_us), BACKEND_LEG_NOTHING);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loss_gives_five_seconds_and_says_nothing),
        cmocka_unit_test(resume_tells_the_token_of_start_and_where_the_call_is),
        cmocka_unit_test(each_loss_in_a_call_resumes_with_a_token_of_its_own),
        cmocka_unit_test(a_resume_that_was_lost_is_said_again_and_its_time_is_not_renewed),
        cmocka_unit_test(a_backend_that_can_not_resume_gets_a_start_that_says_so),
        cmocka_unit_test(a_backend_that_does_not_know_the_call_gets_a_start_on_the_same_connection),
        cmocka_unit_test(a_restarted_call_that_is_rejected_is_over),
        cmocka_unit_test(a_backend_that_will_not_have_the_call_back_leaves_it_its_five_seconds),
        cmocka_unit_test(an_unanswered_try_is_taken_back_and_followed_by_another),
        cmocka_unit_test(who_has_no_time_left_is_overdue),
        cmocka_unit_test(a_loss_before_the_first_accept_starts_once_more_within_the_same_time),
        cmocka_unit_test(a_loss_after_the_last_word_is_none),
        cmocka_unit_test(connected_is_told_again_only_to_who_does_not_know),
        cmocka_unit_test(a_call_that_connects_while_its_backend_is_away_tells_it_afterwards),
        cmocka_unit_test(what_start_says_is_kept_for_the_next_one),
        cmocka_unit_test(a_message_that_was_cut_by_the_loss_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
