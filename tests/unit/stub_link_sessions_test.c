/* stub_link_sessions_test.c - sessions on a connection: accepted, ended, their sound and events */
#include "tests/unit/stub_link_world.h"

#include "common/runtime/log.h"
#include "services/inference-stub/message_outbox.h"

/* --- sessions --------------------------------------------------------------------------------- */

static void the_accepted_rate_is_the_first_in_common(void **state)
{
    (void)state;
    static const struct {
        enum dialogue_mode mode;
        const char *json;
        const char *answer;
    } cases[] = {
        {DIALOGUE_ECHO, START_JSON, "\"in\":\"pcm16/24000\",\"out\":\"pcm16/24000\""},
        {DIALOGUE_PARROT, START_JSON, "\"in\":\"pcm16/16000\",\"out\":\"pcm16/16000\""},
        {DIALOGUE_PARROT, "{}", "\"out\":\"pcm16/24000\""},
        {DIALOGUE_PARROT, "{\"in\":[\"pcm16/24000\"]}", "\"in\":\"pcm16/24000\""},
        {DIALOGUE_TONE,
         "{\"in\":[\"opus/48000\",\"pcm16/48000\",\"pcm16/16000\"],"
         "\"out\":[\"pcm16/24000\",\"pcm16/16000\"]}",
         "\"in\":\"pcm16/16000\""},
        {DIALOGUE_ECHO, "{\"in\":[\"pcm16/16000\"]}", "\"code\":\"codec\""},
        {DIALOGUE_ECHO, "{\"in\":[\"pcmu/8000\"],\"out\":[\"pcmu/8000\"]}", "\"code\":\"codec\""},
        {DIALOGUE_ECHO, "{\"in\":[],\"out\":[]}", "\"code\":\"codec\""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer *p = greet(cases[i].mode);
        send_text(p, BACKEND_SESSION_START, 3, cases[i].json);
        hear(p);
        assert_true(says(&p->frame[0], cases[i].answer));
        const bool is_rejected = heard(p, BACKEND_SESSION_REJECT) != NULL;
        assert_int_equal(stub_link_session_count(p->link), is_rejected ? 0 : 1);
        close_peer(p);
    }
}

static void a_start_may_come_in_chunks_but_not_for_ever(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_ECHO);
    const struct bytes_view json = bytes_view_of_text(START_JSON);
    for (size_t i = 0; i < json.len; i++) {
        send_frame(p, (struct backend_frame){.type = BACKEND_SESSION_START,
                                             .session = 1,
                                             .flags = i + 1 == json.len ? BACKEND_FLAG_LAST : 0,
                                             .payload = {json.data + i, 1}});
    }
    hear(p);
    assert_non_null(heard(p, BACKEND_SESSION_ACCEPT));
    send_frame(p, (struct backend_frame){.type = BACKEND_SESSION_START,
                                         .session = 2,
                                         .payload = bytes_view_of_text("{")});
    for (int i = 0; i < 7; i++) {
        send_text(p, BACKEND_PONG, 0, "12345678");
        hear(p);
        pass_time(p, 800 * US_PER_MS);
    }
    hear(p);
    assert_true(says(heard(p, BACKEND_SESSION_REJECT), "timeout"));
    assert_int_equal(stub_link_session_count(p->link), 1);
    close_peer(p);
}

static void an_end_is_answered_last_and_frees_the_handle(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_TONE);
    send_text(p, BACKEND_SESSION_END, 1, "{\"reason\":\"hangup\"}");
    hear(p);
    assert_int_equal(p->frame[p->frame_count - 1].type, BACKEND_SESSION_ENDED);
    assert_int_equal(stub_link_session_count(p->link), 0);
    assert_int_equal(metric_get(&p->counters.sessions_open), 0);
    p->sequence[1] = 0;
    p->heard_sequence[1] = 0;
    send_text(p, BACKEND_SESSION_START, 1, START_JSON);
    hear(p);
    assert_int_equal(stub_link_session_count(p->link), 1);
    close_peer(p);
}

static void sessions_beyond_the_maximum_and_while_draining_are_rejected(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_ECHO);
    for (uint32_t session = 1; session <= 6; session++) {
        send_text(p, BACKEND_SESSION_START, session, START_JSON);
    }
    hear(p);
    assert_int_equal(heard_count(p, BACKEND_SESSION_ACCEPT), 5);
    assert_true(says(heard(p, BACKEND_SESSION_REJECT), "overload"));
    assert_true(says(heard(p, BACKEND_SESSION_REJECT), "\"retry_elsewhere\":true"));
    send_frame(p, audio_frame(6, 24)); /* sent before the reject was read */
    send_text(p, BACKEND_SESSION_END, 1, "{}");
    stub_link_go_away(p->link, 10 * US_PER_S);
    p->behaviour.is_draining = true;
    forget(p);
    send_text(p, BACKEND_SESSION_START, 7, START_JSON);
    hear(p);
    assert_true(says(heard(p, BACKEND_GOAWAY), "\"deadline_ms\":10000"));
    assert_non_null(heard(p, BACKEND_SESSION_REJECT));
    assert_int_equal(stub_link_session_count(p->link), 4);
    close_peer(p);
}

static void a_resume_is_rejected(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_ECHO);
    send_text(p, BACKEND_SESSION_RESUME, 1, "{}");
    hear(p);
    assert_true(says(heard(p, BACKEND_SESSION_REJECT), "no_session"));
    assert_int_equal(stub_link_session_count(p->link), 0);
    close_peer(p);
}

static void sessions_end_by_the_thousand_without_a_trace(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_ECHO);
    for (int i = 0; i < 3000; i++) {
        p->sequence[1] = 0;
        p->heard_sequence[1] = 0;
        send_text(p, BACKEND_SESSION_START, 1, START_JSON);
        send_frame(p, audio_frame(1, 24));
        send_text(p, BACKEND_SESSION_END, 1, "{}");
        hear(p);
        forget(p);
    }
    assert_int_equal(stub_link_session_count(p->link), 0);
    assert_int_equal(metric_get(&p->counters.sessions[STUB_SESSION_ACCEPTED]), 3000);
    close_peer(p);
}

/* --- media and events ------------------------------------------------------------------------- */

static void an_echo_comes_back_byte_for_byte(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_ECHO);
    const struct backend_frame in = audio_frame(1, 24);
    send_frame(p, in);
    hear(p);
    const struct backend_frame *out = heard(p, BACKEND_AUDIO_OUT);
    assert_true(out != NULL && bytes_equal(out->payload, in.payload));
    assert_int_equal(out->utterance, 1);
    assert_int_equal(out->codec, BACKEND_CODEC_PCM16);
    assert_int_equal(out->rate_khz, 24);
    assert_int_equal(out->channels, 1);
    assert_int_equal(out->flags, 0);
    assert_int_equal(out->time_us, 0);
    close_peer(p);
}

static void a_silence_frame_is_as_long_as_it_says(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_ECHO);
    send_frame(p, (struct backend_frame){.type = BACKEND_AUDIO_IN,
                                         .session = 1,
                                         .flags = BACKEND_AUDIO_SILENCE,
                                         .duration_2500us = 9});
    hear(p);
    size_t bytes = 0;
    for (size_t i = 0; i < p->frame_count; i++) {
        bytes += p->frame[i].payload.len;
    }
    assert_int_equal(bytes, 9 * 60 * 2);
    close_peer(p);
}

static void credit_opens_the_tone_and_playback_is_understood(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_TONE);
    uint8_t credit[8];
    struct byte_writer w;
    byte_writer_init(&w, credit, sizeof(credit));
    byte_writer_u64_le(&w, 1500000);
    send_text(p, BACKEND_SESSION_START, 1, "{\"credit_us\":500000}");
    hear(p);
    assert_int_equal(p->payload_len - p->frame[0].payload.len, 24000);
    forget(p);
    send_frame(p, (struct backend_frame){
                      .type = BACKEND_CREDIT, .session = 1, .payload = {credit, sizeof(credit)}});
    hear(p);
    assert_int_equal(p->payload_len, 48000);
    assert_int_equal(p->frame[0].utterance, 1);
    forget(p);
    send_text(p, BACKEND_PLAYBACK, 1, "{\"utterance\":1,\"state\":\"done\"}");
    memset(credit, 0xff, sizeof(credit) - 1);
    send_frame(p, (struct backend_frame){
                      .type = BACKEND_CREDIT, .session = 1, .payload = {credit, sizeof(credit)}});
    hear_some(p, 100000);
    assert_int_equal(p->frame[0].utterance, 2);
    close_peer(p);
}

static void a_parrot_greets_when_connected(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_PARROT);
    send_text(p, BACKEND_CONNECTED, 1, "{\"transport\":\"udp\",\"setup_ms\":5}");
    hear(p);
    assert_int_equal(p->frame_count, 10);
    assert_int_equal(p->payload_len, 2 * 16000);
    assert_int_equal(p->frame[8].flags, 0);
    assert_int_equal(p->frame[9].flags, BACKEND_FLAG_LAST);
    assert_int_equal(p->frame[9].rate_khz, 16);
    close_peer(p);
}

/* The stream is stuck with audio of two sessions; what is urgent waits behind LINK_OUTPUT_BYTES at
 * most. */
static void urgent_frames_overtake_audio_and_sessions_take_turns(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_TONE);
    send_text(p, BACKEND_SESSION_START, 1, "{\"credit_us\":3600000000}");
    send_text(p, BACKEND_SESSION_START, 2, "{\"credit_us\":3600000000}");
    (void)stub_link_output(p->link, p->now_us);
    send_text(p, BACKEND_PING, 0, "12345678");
    send_frame(p, audio_frame(1, 16));
    hear_some(p, 2 * LINK_OUTPUT_BYTES);
    size_t bytes[3] = {0};
    size_t at_pong = 0;
    for (size_t i = 0; i < p->frame_count; i++) {
        const struct backend_frame *frame = &p->frame[i];
        at_pong = frame->type == BACKEND_PONG ? i : at_pong;
        bytes[frame->session] += frame->type == BACKEND_AUDIO_OUT ? frame->payload.len : 0;
        if (frame->type == BACKEND_AUDIO_OUT) {
            assert_in_range(bytes[1] + 4800 - bytes[2], 0, 9600);
        }
    }
    assert_in_range(at_pong, 1, LINK_OUTPUT_BYTES / 4832 + 3);
    assert_int_equal(p->frame[at_pong + 1].type, BACKEND_ERROR);
    close_peer(p);
}

static void events_are_answered_with_an_error_event(void **state)
{
    (void)state;
    struct peer *p = start(DIALOGUE_PARROT);
    send_text(p, BACKEND_EVENT, 1, "{\"type\":\"session.update\",\"event_id\":\"e1\"}");
    hear(p);
    const struct backend_frame *answer = heard(p, BACKEND_EVENT);
    assert_true(says(answer, "\"type\":\"error\"") && says(answer, "\"event_id\":\"e1\""));
    assert_int_equal(answer->flags, BACKEND_FLAG_LAST);
    forget(p);
    for (int i = 0; i < OUTBOX_MESSAGES + 2; i++) { /* nobody reads the answers */
        send_text(p, BACKEND_EVENT, 1, "{}");
    }
    hear(p);
    assert_int_equal(heard_count(p, BACKEND_EVENT), OUTBOX_MESSAGES);
    assert_int_equal(metric_get(&p->counters.events_dropped), 2);
    close_peer(p);
}

static void a_call_without_an_event_channel_gets_no_events(void **state)
{
    (void)state;
    struct peer *p = greet(DIALOGUE_PARROT);
    send_text(p, BACKEND_SESSION_START, 1, "{\"events\":false}");
    hear(p);
    forget(p);
    send_text(p, BACKEND_EVENT, 1, "{}");
    hear(p);
    assert_int_equal(p->frame_count, 0);
    close_peer(p);
}

int main(void)
{
    log_open("test", LOG_ERROR, LOG_TEXT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_accepted_rate_is_the_first_in_common),
        cmocka_unit_test(a_start_may_come_in_chunks_but_not_for_ever),
        cmocka_unit_test(an_end_is_answered_last_and_frees_the_handle),
        cmocka_unit_test(sessions_beyond_the_maximum_and_while_draining_are_rejected),
        cmocka_unit_test(a_resume_is_rejected),
        cmocka_unit_test(sessions_end_by_the_thousand_without_a_trace),
        cmocka_unit_test(an_echo_comes_back_byte_for_byte),
        cmocka_unit_test(a_silence_frame_is_as_long_as_it_says),
        cmocka_unit_test(credit_opens_the_tone_and_playback_is_understood),
        cmocka_unit_test(a_parrot_greets_when_connected),
        cmocka_unit_test(urgent_frames_overtake_audio_and_sessions_take_turns),
        cmocka_unit_test(events_are_answered_with_an_error_event),
        cmocka_unit_test(a_call_without_an_event_channel_gets_no_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
