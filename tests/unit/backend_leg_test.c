/* backend_leg_test.c - start, accept, end: who has the last word, and that it is the last */
#include "tests/testing.h"

#include "services/transceiver/core/session/backend_leg.h"
#include "tests/outbox_frames.h"

#define ID       0x0000aa01
#define BEGIN_US UINT64_C(5000000)

#define STARTING BACKEND_LEG_STARTING
#define ACCEPTED BACKEND_LEG_ACCEPTED
#define ASKED    BACKEND_LEG_ASKED
#define LEAVING  BACKEND_LEG_LEAVING
#define OVER     BACKEND_LEG_OVER

struct world {
    struct outbox *outbox;
    struct outbox_frames frames;
    struct backend_leg leg;
};

static struct backend_start start_of(const char *call_id)
{
    return (struct backend_start){
        .call_id = call_id, .format = {{BACKEND_CODEC_PCM16, 16}}, .format_count = 1};
}

static void open_world(struct world *w)
{
    const struct backend_start start = start_of("rtc_x");
    w->outbox = outbox_create(1, 65536);
    w->frames = (struct outbox_frames){.outbox = w->outbox};
    assert_true(backend_leg_init(&w->leg, ID, &start, w->outbox, BEGIN_US));
}

static void close_world(struct world *w)
{
    outbox_frames_end(&w->frames);
    outbox_destroy(w->outbox);
}

static enum backend_leg_event hear(struct world *w, enum backend_frame_type type, const char *json)
{
    const struct backend_frame frame = {
        .type = (uint8_t)type, .session = ID, .payload = bytes_view_of_text(json)};
    return backend_leg_input(&w->leg, &frame, BEGIN_US + 1000);
}

/* A leg in each state that it can be in. */
static void enter(struct world *w, enum backend_leg_state state)
{
    open_world(w);
    outbox_frames_expect(&w->frames, BACKEND_SESSION_START);
    if (state == ACCEPTED || state == ASKED) {
        assert_int_equal(hear(w, BACKEND_SESSION_ACCEPT, "{}"), BACKEND_LEG_GOT_ACCEPT);
    }
    if (state == ASKED) {
        assert_int_equal(hear(w, BACKEND_SESSION_END, "{\"when\":\"drained\"}"),
                         BACKEND_LEG_GOT_END_DRAINED);
    } else if (state == LEAVING) {
        backend_leg_end(&w->leg, "hangup", BEGIN_US);
        outbox_frames_expect(&w->frames, BACKEND_SESSION_END);
    } else if (state == OVER) {
        backend_leg_lost(&w->leg);
    }
    assert_int_equal(w->leg.state, state);
}

static void start_is_said_at_once_and_accept_is_waited_for(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const struct backend_frame frame = outbox_frames_expect(&w.frames, BACKEND_SESSION_START);
    assert_int_equal(frame.session, ID);
    assert_int_equal(frame.flags, BACKEND_FLAG_LAST);
    outbox_frames_assert_holds(&frame, "\"call_id\":\"rtc_x\"");
    assert_true(w.leg.accept_deadline_us == BEGIN_US + 2 * US_PER_S);
    close_world(&w);
}

/* To the byte: the text of a START is cut by nobody. */
static void a_start_that_is_too_long_is_refused_and_not_said(void **state)
{
    (void)state;
    static char json[BACKEND_PAYLOAD_BYTES_MAX];
    char text[BACKEND_PAYLOAD_BYTES_MAX];
    struct backend_start start = start_of("rtc_x");
    json[0] = ' ';
    start.session_json = bytes_view_of(json, 1);
    const size_t without = backend_start_encode(&start, text, sizeof(text)) - 1;
    memset(json, ' ', sizeof(json));
    for (size_t over = 0; over <= 1; over++) {
        struct backend_leg leg;
        struct outbox *outbox = outbox_create(1, 65536);
        start.session_json = bytes_view_of(json, BACKEND_PAYLOAD_BYTES_MAX - without + over);
        assert_int_equal(backend_leg_init(&leg, ID, &start, outbox, 0), over == 0);
        assert_int_equal(outbox_frame_bytes(outbox) > 0, over == 0);
        outbox_destroy(outbox);
    }
}

static void an_accept_is_taken_once(void **state)
{
    (void)state;
    struct world w;
    enter(&w, STARTING);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT,
                          "{\"in\":\"pcm16/16000\",\"out\":\"pcm16/24000\",\"prebuffer_ms\":7}"),
                     BACKEND_LEG_GOT_ACCEPT);
    assert_int_equal(w.leg.accept.in.rate_khz, 16);
    assert_int_equal(w.leg.accept.out.rate_khz, 24);
    assert_int_equal(w.leg.accept.prebuffer_ms, 7);
    assert_true(w.leg.accept_deadline_us == TIME_NEVER);
    assert_int_equal(hear(&w, BACKEND_SESSION_ACCEPT, "{\"prebuffer_ms\":9}"), BACKEND_LEG_NOTHING);
    assert_int_equal(w.leg.accept.prebuffer_ms, 7);
    close_world(&w);
}

/* Each frame in each state: what it means and what is said. 0 = nothing is said. */
static void every_frame_in_every_state(void **state)
{
    (void)state;
    static const struct {
        enum backend_leg_state before;
        enum backend_frame_type type;
        const char *json;
        enum backend_leg_event event;
        enum backend_leg_state after;
        unsigned said;
    } c[] = {
        {STARTING, BACKEND_SESSION_ACCEPT, "nonsense", BACKEND_LEG_GOT_NONSENSE, STARTING, 0},
        {STARTING, BACKEND_SESSION_ACCEPT, "{\"in\":\"mp3\"}", BACKEND_LEG_GOT_NONSENSE, STARTING,
         0},
        {STARTING, BACKEND_SESSION_REJECT, "{}", BACKEND_LEG_GOT_REJECT, OVER, 0},
        {STARTING, BACKEND_SESSION_REJECT, "nonsense", BACKEND_LEG_GOT_REJECT, OVER, 0},
        {STARTING, BACKEND_SESSION_END, "{}", BACKEND_LEG_GOT_END, ASKED, 0},
        {STARTING, BACKEND_SESSION_END, "{\"when\":\"drained\"}", BACKEND_LEG_GOT_END, ASKED, 0},
        {STARTING, BACKEND_SESSION_ENDED, "{}", BACKEND_LEG_GOT_END, OVER, 0},
        {ACCEPTED, BACKEND_SESSION_REJECT, "{}", BACKEND_LEG_GOT_REJECT, OVER, 0},
        {ACCEPTED, BACKEND_SESSION_END, "{}", BACKEND_LEG_GOT_END, ASKED, 0},
        {ACCEPTED, BACKEND_SESSION_END, "{\"when\":\"drained\"}", BACKEND_LEG_GOT_END_DRAINED,
         ASKED, 0},
        {ACCEPTED, BACKEND_SESSION_END, "{\"when\":1}", BACKEND_LEG_GOT_NONSENSE, ACCEPTED, 0},
        {ACCEPTED, BACKEND_SESSION_ENDED, "", BACKEND_LEG_GOT_END, OVER, 0},
        {ACCEPTED, BACKEND_ERROR, "{\"fatal\":false}", BACKEND_LEG_NOTHING, ACCEPTED, 0},
        {ACCEPTED, BACKEND_ERROR, "nonsense", BACKEND_LEG_NOTHING, ACCEPTED, 0},
        {ACCEPTED, BACKEND_ERROR, "{\"fatal\":true}", BACKEND_LEG_GOT_END, ACCEPTED, 0},
        {ACCEPTED, BACKEND_AUDIO_OUT, "", BACKEND_LEG_NOTHING, ACCEPTED, 0},
        {ACCEPTED, BACKEND_EVENT, "{}", BACKEND_LEG_NOTHING, ACCEPTED, 0},
        {ACCEPTED, (enum backend_frame_type)0xff, "", BACKEND_LEG_NOTHING, ACCEPTED, 0},
        {ASKED, BACKEND_SESSION_END, "{}", BACKEND_LEG_GOT_END, ASKED, 0},
        {ASKED, BACKEND_SESSION_ACCEPT, "{}", BACKEND_LEG_NOTHING, ASKED, 0},
        {LEAVING, BACKEND_SESSION_END, "{}", BACKEND_LEG_NOTHING, OVER, BACKEND_SESSION_ENDED},
        {LEAVING, BACKEND_SESSION_ENDED, "{}", BACKEND_LEG_NOTHING, OVER, 0},
        {LEAVING, BACKEND_SESSION_ACCEPT, "{}", BACKEND_LEG_NOTHING, LEAVING, 0},
        {LEAVING, BACKEND_SESSION_REJECT, "{}", BACKEND_LEG_NOTHING, LEAVING, 0},
        {OVER, BACKEND_SESSION_END, "{}", BACKEND_LEG_NOTHING, OVER, 0},
        {OVER, BACKEND_SESSION_ACCEPT, "{}", BACKEND_LEG_NOTHING, OVER, 0},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        enter(&w, c[i].before);
        assert_int_equal(hear(&w, c[i].type, c[i].json), c[i].event);
        assert_int_equal(w.leg.state, c[i].after);
        if (c[i].said != 0) {
            outbox_frames_expect(&w.frames, c[i].said);
        }
        close_world(&w);
    }
}

static void the_last_word_is_said_once_and_answers_what_was_asked(void **state)
{
    (void)state;
    static const struct {
        enum backend_leg_state before;
        unsigned said; /* 0 = nothing */
    } c[] = {
        {STARTING, BACKEND_SESSION_END},
        {ACCEPTED, BACKEND_SESSION_END},
        {ASKED, BACKEND_SESSION_ENDED},
        {LEAVING, 0},
        {OVER, 0},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        enter(&w, c[i].before);
        backend_leg_end(&w.leg, "duration", BEGIN_US + 3000);
        if (c[i].said != 0) {
            const struct backend_frame frame = outbox_frames_expect(&w.frames, c[i].said);
            assert_int_equal(frame.time_us, 3000);
            outbox_frames_assert_holds(&frame, "\"reason\":\"duration\"");
        }
        assert_true(w.leg.accept_deadline_us == TIME_NEVER);
        backend_leg_end(&w.leg, "again", BEGIN_US + 4000);
        backend_leg_connected(&w.leg, false, BEGIN_US + 5000);
        close_world(&w);
    }
}

static void a_second_end_of_the_backend_gets_no_second_answer(void **state)
{
    (void)state;
    struct world w;
    enter(&w, LEAVING);
    assert_int_equal(hear(&w, BACKEND_SESSION_END, "{}"), BACKEND_LEG_NOTHING);
    outbox_frames_expect(&w.frames, BACKEND_SESSION_ENDED);
    assert_int_equal(hear(&w, BACKEND_SESSION_END, "{}"), BACKEND_LEG_NOTHING);
    close_world(&w);
}

static void connected_tells_the_transport_and_how_long_it_took(void **state)
{
    (void)state;
    for (int tcp = 0; tcp <= 1; tcp++) {
        struct world w;
        enter(&w, STARTING);
        backend_leg_connected(&w.leg, tcp == 1, BEGIN_US + 184999);
        const struct backend_frame frame = outbox_frames_expect(&w.frames, BACKEND_CONNECTED);
        outbox_frames_assert_holds(&frame, tcp == 1 ? "\"tcp\"" : "\"udp\"");
        outbox_frames_assert_holds(&frame, "\"setup_ms\":184");
        assert_int_equal(frame.time_us, 184999);
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_is_said_at_once_and_accept_is_waited_for),
        cmocka_unit_test(a_start_that_is_too_long_is_refused_and_not_said),
        cmocka_unit_test(an_accept_is_taken_once),
        cmocka_unit_test(every_frame_in_every_state),
        cmocka_unit_test(the_last_word_is_said_once_and_answers_what_was_asked),
        cmocka_unit_test(a_second_end_of_the_backend_gets_no_second_answer),
        cmocka_unit_test(connected_tells_the_transport_and_how_long_it_took),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
