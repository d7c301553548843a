/* stub_session_test.c - one call: how it starts, what it answers, how it ends, in virtual time */
#include "tests/testing.h"

#include "common/runtime/log.h"
#include "services/inference-stub/message_outbox.h"
#include "services/inference-stub/stub_counters.h"
#include "services/inference-stub/stub_session.h"

#define HANDLE     7
#define RATES      "\"in\":[\"pcm16/16000\"],\"out\":[\"pcm16/16000\"]"
#define START_JSON "{\"call_id\":\"rtc_1\"," RATES ",\"credit_us\":1000000,\"events\":true}"

static struct stub_counters counters;
static struct stub_behaviour behaviour;
static struct stub_session *session;
static struct backend_frame taken;

static int set_up(void **state)
{
    (void)state;
    log_open("test", LOG_ERROR, LOG_TEXT);
    counters = (struct stub_counters){0};
    behaviour = (struct stub_behaviour){
        .mode = DIALOGUE_ECHO, .mode_name = "echo", .sessions_max = 1, .counters = &counters};
    session = stub_session_create(&behaviour, HANDLE, 0);
    return session == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    stub_session_destroy(session);
    assert_int_equal(metric_get(&counters.sessions_open), 0);
    return 0;
}

static bool input_at(unsigned type, unsigned flags, const char *payload, uint64_t now_us)
{
    const struct backend_frame frame = {.type = (uint8_t)type,
                                        .flags = (uint16_t)flags,
                                        .session = HANDLE,
                                        .payload = bytes_view_of_text(payload)};
    return stub_session_input(session, &frame, now_us);
}

static bool input(unsigned type, const char *payload)
{
    return input_at(type, BACKEND_FLAG_LAST, payload, 0);
}

/* The type of the next frame of that class, 0 for none; the frame is in `taken`. */
static unsigned take(enum frame_class wanted)
{
    if (!stub_session_take(session, wanted, &taken)) {
        return 0;
    }
    assert_int_equal(taken.session, HANDLE);
    return taken.type;
}

static bool is_said(const char *text)
{
    return memmem(taken.payload.data, taken.payload.len, text, strlen(text)) != NULL;
}

static void start(void)
{
    assert_true(input(BACKEND_SESSION_START, START_JSON));
    assert_int_equal(take(FRAME_CONTROL), BACKEND_SESSION_ACCEPT);
}

static void assert_rejected(const char *code, enum stub_session_outcome outcome)
{
    assert_int_equal(take(FRAME_CONTROL), BACKEND_SESSION_REJECT);
    assert_true(is_said(code));
    assert_int_equal(metric_get(&counters.sessions[outcome]), 1);
    assert_true(stub_session_is_over(session));
}

static void a_start_is_accepted_with_the_one_rate_it_offers(void **state)
{
    (void)state;
    struct backend_accept accept;
    start();
    assert_true(backend_accept_decode(taken.payload, &accept));
    assert_int_equal(accept.in.rate_khz, 16);
    assert_int_equal(accept.out.rate_khz, 16);
    assert_int_equal(metric_get(&counters.sessions_open), 1);
    assert_int_equal(metric_get(&counters.sessions[STUB_SESSION_ACCEPTED]), 1);
    assert_int_equal(take(FRAME_CONTROL), 0);
    assert_false(stub_session_is_over(session));
}

static void a_start_may_come_split_anywhere(void **state)
{
    (void)state;
    static const char whole[] = START_JSON;
    for (size_t cut = 0; cut < sizeof(whole); cut++) {
        char head[sizeof(whole)] = "";
        memcpy(head, whole, cut);
        assert_true(input_at(BACKEND_SESSION_START, 0, head, 0));
        assert_int_equal(take(FRAME_CONTROL), 0);
        assert_true(input(BACKEND_SESSION_START, whole + cut));
        assert_int_equal(take(FRAME_CONTROL), BACKEND_SESSION_ACCEPT);
        stub_session_destroy(session);
        session = stub_session_create(&behaviour, HANDLE, 0);
    }
}

static void a_start_that_is_no_json_breaks_the_protocol(void **state)
{
    (void)state;
    assert_false(input(BACKEND_SESSION_START, "{\"call_id\":"));
}

static void a_session_without_a_common_rate_is_rejected(void **state)
{
    (void)state;
    assert_true(input(BACKEND_SESSION_START, "{\"call_id\":\"a\",\"in\":[\"pcm16/16000\"],"
                                             "\"out\":[\"pcm16/24000\"],\"credit_us\":1}"));
    assert_rejected("\"codec\"", STUB_SESSION_NO_FORMAT);
}

static void a_session_above_the_bound_is_rejected(void **state)
{
    (void)state;
    metric_set(&counters.sessions_open, 1); /* of sessions_max 1 */
    assert_true(input(BACKEND_SESSION_START, START_JSON));
    assert_rejected("\"overload\"", STUB_SESSION_FULL);
    metric_set(&counters.sessions_open, 0);
}

static void a_session_while_draining_is_rejected(void **state)
{
    (void)state;
    behaviour.is_draining = true;
    assert_true(input(BACKEND_SESSION_START, START_JSON));
    assert_rejected("\"overload\"", STUB_SESSION_DRAINING);
}

static void a_resumed_session_is_rejected(void **state)
{
    (void)state;
    assert_true(input(BACKEND_SESSION_RESUME, "{}"));
    assert_rejected("\"no_session\"", STUB_SESSION_NO_RESUME);
}

static void a_start_has_five_seconds(void **state)
{
    (void)state;
    assert_true(input_at(BACKEND_SESSION_START, 0, "{", 0));
    stub_session_tick(session, 5 * US_PER_S - 1);
    assert_int_equal(take(FRAME_CONTROL), 0);
    stub_session_tick(session, 5 * US_PER_S);
    assert_rejected("\"timeout\"", STUB_SESSION_TIMEOUT);
}

static void a_running_session_has_no_such_deadline(void **state)
{
    (void)state;
    start();
    stub_session_tick(session, 3600 * US_PER_S);
    assert_int_equal(take(FRAME_CONTROL), 0);
}

static void audio_ahead_of_a_start_breaks_the_protocol(void **state)
{
    (void)state;
    assert_true(input(BACKEND_FRAME_TYPE_OPTIONAL_FROM, ""));
    assert_false(input(BACKEND_FRAME_TYPE_OPTIONAL_FROM - 1, ""));
    assert_false(input(BACKEND_AUDIO_IN, ""));
}

static void a_second_start_breaks_the_protocol(void **state)
{
    (void)state;
    start();
    assert_false(input(BACKEND_SESSION_START, START_JSON));
}

static bool audio_in(size_t bytes, uint8_t rate_khz, uint64_t now_us)
{
    static const uint8_t samples[641] = {1, 2, 3};
    const struct backend_frame frame = {.type = BACKEND_AUDIO_IN,
                                        .session = HANDLE,
                                        .codec = BACKEND_CODEC_PCM16,
                                        .rate_khz = rate_khz,
                                        .channels = 1,
                                        .payload = bytes_view_of(samples, bytes)};
    return stub_session_input(session, &frame, now_us);
}

static void samples_come_back_and_half_a_sample_breaks_the_protocol(void **state)
{
    (void)state;
    start();
    assert_true(input(BACKEND_CONNECTED, "{}"));
    assert_true(audio_in(640, 16, 0));
    assert_int_equal(take(FRAME_AUDIO), BACKEND_AUDIO_OUT);
    assert_int_equal(taken.payload.len, 640);
    assert_int_equal(taken.payload.data[0], 1);
    assert_int_equal(taken.payload.data[1], 2);
    assert_int_equal(taken.rate_khz, 16);
    assert_false(audio_in(641, 16, 0));
}

static void an_error_is_told_once_a_second(void **state)
{
    (void)state;
    start();
    assert_true(audio_in(640, 24, 0));
    assert_int_equal(take(FRAME_URGENT), BACKEND_ERROR);
    assert_true(is_said("\"codec\""));
    assert_true(audio_in(640, 24, US_PER_S - 1));
    assert_int_equal(take(FRAME_URGENT), 0);
    assert_true(input_at(0x7f, 0, "", US_PER_S));
    assert_int_equal(take(FRAME_URGENT), BACKEND_ERROR);
    assert_true(is_said("\"unsupported\""));
    assert_true(input_at(BACKEND_FRAME_TYPE_OPTIONAL_FROM, 0, "", 5 * US_PER_S));
    assert_int_equal(take(FRAME_URGENT), 0);
    assert_int_equal(metric_get(&counters.errors_sent), 2);
}

static void credit_is_eight_bytes(void **state)
{
    (void)state;
    start();
    for (size_t len = 0; len <= 9; len++) {
        static const uint8_t bytes[9] = {0};
        const struct backend_frame frame = {.type = BACKEND_CREDIT,
                                            .payload = bytes_view_of(bytes, len)};
        assert_int_equal(stub_session_input(session, &frame, 0), len == 8);
    }
}

static void events_wait_for_their_answers_and_one_too_many_is_dropped(void **state)
{
    (void)state;
    start();
    for (size_t i = 0; i < OUTBOX_MESSAGES + 1; i++) {
        assert_true(input(BACKEND_EVENT, "{\"type\":\"session.update\"}"));
    }
    assert_int_equal(metric_get(&counters.events_answered), OUTBOX_MESSAGES);
    assert_int_equal(metric_get(&counters.events_dropped), 1);
    for (size_t i = 0; i < OUTBOX_MESSAGES; i++) {
        assert_int_equal(take(FRAME_EVENT), BACKEND_EVENT);
    }
    assert_true(is_said("event_32\""));
    assert_int_equal(take(FRAME_EVENT), 0);
    assert_true(input(BACKEND_EVENT, "{}"));
    assert_int_equal(take(FRAME_EVENT), BACKEND_EVENT);
}

static void a_message_of_a_channel_named_echo_goes_back(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        bool goes_back;
    } row[] = {
        {"{\"channel\":3,\"label\":\"echo\",\"binary\":true,\"ordered\":false}", true},
        {"{\"channel\":3,\"label\":\"echoes\"}", false},
        {"{\"channel\":3}", false},
    };
    start();
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_true(input_at(BACKEND_CHANNEL_DATA, 0, row[i].head, 0));
        assert_true(input_at(BACKEND_CHANNEL_DATA, 0, "one ", 0));
        assert_int_equal(take(FRAME_EVENT), 0);
        assert_true(input(BACKEND_CHANNEL_DATA, "two"));
        assert_int_equal(take(FRAME_EVENT), row[i].goes_back ? BACKEND_CHANNEL_DATA : 0);
        if (row[i].goes_back) {
            assert_true(is_said(row[i].head));
            assert_int_equal(take(FRAME_EVENT), BACKEND_CHANNEL_DATA);
            assert_true(is_said("one two"));
            assert_int_equal(taken.flags, BACKEND_FLAG_LAST);
        }
    }
    assert_true(input_at(BACKEND_CHANNEL_DATA, 0, row[0].head, 0));
    assert_true(input(BACKEND_CHANNEL_DATA, "")); /* an empty message */
    assert_int_equal(take(FRAME_EVENT), BACKEND_CHANNEL_DATA);
    assert_int_equal(take(FRAME_EVENT), BACKEND_CHANNEL_DATA);
    assert_int_equal(taken.payload.len, 0);
    assert_false(input(BACKEND_CHANNEL_DATA, row[0].head)); /* nothing behind its head */
}

static void an_end_is_confirmed_and_nothing_else_is_sent(void **state)
{
    (void)state;
    start();
    assert_true(audio_in(640, 16, 0));
    assert_true(audio_in(640, 24, 0));
    assert_true(input(BACKEND_EVENT, "{}"));
    assert_true(input(BACKEND_SESSION_END, "{\"reason\":\"hangup\"}"));
    assert_int_equal(metric_get(&counters.sessions_open), 0);
    assert_int_equal(take(FRAME_URGENT), 0);
    assert_int_equal(take(FRAME_AUDIO), 0);
    assert_int_equal(take(FRAME_EVENT), 0);
    assert_false(stub_session_is_over(session));
    assert_int_equal(take(FRAME_CONTROL), BACKEND_SESSION_ENDED);
    assert_true(stub_session_is_over(session));
    assert_true(audio_in(641, 16, 0)); /* sent before the other end knew */
    assert_int_equal(take(FRAME_CONTROL), 0);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_start_is_accepted_with_the_one_rate_it_offers),
        CLAIM(a_start_may_come_split_anywhere),
        CLAIM(a_start_that_is_no_json_breaks_the_protocol),
        CLAIM(a_session_without_a_common_rate_is_rejected),
        CLAIM(a_session_above_the_bound_is_rejected),
        CLAIM(a_session_while_draining_is_rejected),
        CLAIM(a_resumed_session_is_rejected),
        CLAIM(a_start_has_five_seconds),
        CLAIM(a_running_session_has_no_such_deadline),
        CLAIM(audio_ahead_of_a_start_breaks_the_protocol),
        CLAIM(a_second_start_breaks_the_protocol),
        CLAIM(samples_come_back_and_half_a_sample_breaks_the_protocol),
        CLAIM(an_error_is_told_once_a_second),
        CLAIM(credit_is_eight_bytes),
        CLAIM(events_wait_for_their_answers_and_one_too_many_is_dropped),
        CLAIM(a_message_of_a_channel_named_echo_goes_back),
        CLAIM(an_end_is_confirmed_and_nothing_else_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
