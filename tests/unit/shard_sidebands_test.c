/* shard_sidebands_test.c - side-bands and news of calls, asked and heard as by the control port */
#include "tests/unit/shard_calls_world.h"

#include <stdlib.h>

#define SIDEBAND UINT32_C(0x51de0007)

static struct control_decoder *decoder;

static void accept_call(struct world *w, uint32_t session_id)
{
    const struct backend_frame accept = {
        .type = BACKEND_SESSION_ACCEPT, .session = session_id, .payload = bytes_view_of_text("{}")};
    struct session *s = session_registry_find(w->calls.registry, session_id);
    assert_true(session_input_frame(s, &accept, NOW_US));
}

static struct control_request attach_request(const char *call_id, uint8_t tenant, uint32_t lease_ms)
{
    struct control_request request = {.request_id = {5}, .kind = CONTROL_ATTACH_SIDEBAND};
    struct control_attach_sideband *a = &request.body.attach_sideband;
    (void)snprintf(a->call.call_id, sizeof(a->call.call_id), "%s", call_id);
    a->call.tenant[0] = tenant;
    a->sideband_id = SIDEBAND;
    a->lease_ms = lease_ms;
    return request;
}

static struct control_request inject_request(const char *call_id, uint8_t tenant)
{
    struct control_request request = {.request_id = {6}, .kind = CONTROL_INJECT_EVENT};
    struct control_inject_event *i = &request.body.inject_event;
    (void)snprintf(i->call.call_id, sizeof(i->call.call_id), "%s", call_id);
    i->call.tenant[0] = tenant;
    i->sideband_id = SIDEBAND;
    i->event = bytes_view_of_text("{\"type\":\"response.create\"}");
    return request;
}

static enum control_refusal attach(struct world *w, uint8_t tenant, uint32_t lease_ms)
{
    const struct control_request request = attach_request("rtc_a", tenant, lease_ms);
    return ask(w, &request);
}

static enum control_refusal inject(struct world *w, uint8_t tenant)
{
    const struct control_request request = inject_request("rtc_a", tenant);
    return ask(w, &request);
}

/* The oldest letter; false when there is none. */
static bool take_letter(struct world *w, enum event_mail_kind *kind, struct bytes_view *out)
{
    static uint8_t letter[8192];
    struct bytes_view view;
    if (!event_mail_peek(w->calls.mail, kind, &view)) {
        return false;
    }
    assert_true(view.len <= sizeof(letter));
    memcpy(letter, view.data, view.len);
    *out = bytes_view_of(letter, view.len);
    event_mail_drop(w->calls.mail);
    return true;
}

static struct control_session_event expect_news(struct world *w,
                                                enum control_session_event_kind wanted)
{
    struct control_session_event event;
    struct bytes_view letter;
    enum event_mail_kind kind;
    assert_true(take_letter(w, &kind, &letter));
    assert_int_equal(kind, EVENT_MAIL_SESSION);
    assert_true(control_decode_session_event(decoder, letter, &event));
    assert_int_equal(event.kind, wanted);
    assert_string_equal(event.call_id, "rtc_a");
    return event;
}

static void a_side_band_is_attached_renewed_and_detached_by_its_tenant(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    accept_call(&w, id);
    assert_int_equal(attach(&w, 2, 15000), CONTROL_NOT_FOUND);
    assert_int_equal(attach(&w, 1, 15000), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.kind, CONTROL_ATTACH_SIDEBAND);
    assert_true(w.reply.is_new_sideband);
    assert_int_equal(w.reply.sideband_sequence, 0);
    const struct backend_frame told = outbox_frames_expect(&w.frames, BACKEND_SIDEBAND);
    outbox_frames_assert_holds(&told, "\"state\":\"attached\"");
    assert_int_equal(attach(&w, 1, 15000), CONTROL_REFUSAL_NONE);
    assert_false(w.reply.is_new_sideband);
    assert_int_equal(attach(&w, 2, 0), CONTROL_NOT_FOUND);
    assert_int_equal(attach(&w, 1, 0), CONTROL_REFUSAL_NONE);
    const struct backend_frame gone = outbox_frames_expect(&w.frames, BACKEND_SIDEBAND);
    outbox_frames_assert_holds(&gone, "\"state\":\"gone\"");
    outbox_frames_end(&w.frames);
    assert_int_equal(metric_get(&w.calls.counters.sidebands_attached), 1);
    close_world(&w);
}

static void a_side_band_of_id_0_and_a_ninth_are_refused(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    (void)place(&w, "rtc_a", 1);
    struct control_request request = attach_request("rtc_a", 1, 15000);
    for (uint32_t id = 0; id <= SIDEBANDS_MAX + 1; id++) {
        request.body.attach_sideband.sideband_id = id;
        assert_int_equal(ask(&w, &request), id == 0               ? CONTROL_BAD_OFFER
                                            : id <= SIDEBANDS_MAX ? CONTROL_REFUSAL_NONE
                                                                  : CONTROL_FULL);
    }
    close_world(&w);
}

static void an_event_is_taken_from_an_attached_side_band_of_the_tenant_only(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    assert_int_equal(inject(&w, 1), CONTROL_NOT_FOUND);
    assert_int_equal(attach(&w, 1, 15000), CONTROL_REFUSAL_NONE);
    assert_int_equal(inject(&w, 1), CONTROL_BACKEND_UNAVAILABLE);
    assert_true(w.reply.retry_after_ms > 0);
    accept_call(&w, id);
    outbox_frames_expect(&w.frames, BACKEND_SIDEBAND);
    assert_int_equal(inject(&w, 2), CONTROL_NOT_FOUND);
    assert_int_equal(inject(&w, 1), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.kind, CONTROL_INJECT_EVENT);
    const struct backend_frame event = outbox_frames_expect(&w.frames, BACKEND_EVENT);
    assert_int_equal(event.flags, BACKEND_FLAG_LAST);
    assert_true(bytes_equal(event.payload, bytes_view_of_text("{\"type\":\"response.create\"}")));
    outbox_frames_end(&w.frames);
    assert_int_equal(metric_get(&w.calls.counters.events_injected), 1);
    close_world(&w);
}

static void a_call_that_is_over_has_no_side_bands(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    (void)place(&w, "rtc_a", 1);
    assert_int_equal(attach(&w, 1, 15000), CONTROL_REFUSAL_NONE);
    const struct control_request end = end_request("rtc_a", 1, false);
    assert_int_equal(ask(&w, &end), CONTROL_REFUSAL_NONE);
    assert_int_equal(attach(&w, 1, 15000), CONTROL_NOT_FOUND);
    assert_int_equal(inject(&w, 1), CONTROL_NOT_FOUND);
    close_world(&w);
}

static void the_life_of_a_call_is_told_with_its_reason_and_totals(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    (void)place(&w, "rtc_a", 1);
    assert_int_equal(attach(&w, 1, 15000), CONTROL_REFUSAL_NONE);
    const struct control_request end = end_request("rtc_a", 1, false);
    assert_int_equal(ask(&w, &end), CONTROL_REFUSAL_NONE);
    shard_calls_post(&w.calls);
    const struct control_session_event created = expect_news(&w, CONTROL_SESSION_EVENT_CREATED);
    assert_int_equal(created.timeline.count + created.totals.count, 0);
    const struct control_session_event ended = expect_news(&w, CONTROL_SESSION_EVENT_ENDED);
    assert_true(bytes_equal(ended.reason, bytes_view_of_text("hangup")));
    assert_true(ended.timeline.count > 0 && ended.totals.count > 0);

    struct control_sideband_event event;
    struct bytes_view letter;
    enum event_mail_kind kind;
    assert_true(take_letter(&w, &kind, &letter));
    assert_int_equal(kind, EVENT_MAIL_SIDEBAND);
    assert_true(control_decode_sideband_event(decoder, letter, &event));
    assert_true(event.is_end);
    assert_int_equal(event.sequence, 1);
    assert_true(bytes_equal(event.text, bytes_view_of_text("hangup")));
    assert_false(take_letter(&w, &kind, &letter));
    assert_int_equal(metric_get(&w.calls.counters.post.sideband_messages), 1);
    close_world(&w);
}

/* The control thread takes nothing: the shard goes on, and counts. */
static void a_full_mail_loses_messages_and_counts_them(void **state)
{
    (void)state;
    static uint8_t text[CONTROL_EVENT_BYTES_MAX];
    struct world w;
    open_world(&w);
    const struct sideband_message m = {
        .call_id = "rtc_a", .sequence = 1, .text = bytes_view_of(text, sizeof(text))};
    const size_t sent = 2 * EVENT_MAIL_BYTES / sizeof(text);
    for (size_t i = 0; i < sent; i++) {
        assert_true(sideband_outbox_add(w.calls.sidebands, &m));
        shard_calls_post(&w.calls);
    }
    const uint64_t taken = metric_get(&w.calls.counters.post.sideband_messages);
    assert_in_range(taken, 1, sent - 1);
    assert_int_equal(taken + metric_get(&w.calls.counters.post.sideband_messages_lost), sent);
    while (event_mail_reserve(w.calls.mail, 1000) != NULL) {
        event_mail_commit(w.calls.mail, EVENT_MAIL_SIDEBAND, 1000);
    }
    (void)place(&w, "rtc_a", 1);
    assert_int_equal(metric_get(&w.calls.counters.post.news_lost), 1);
    close_world(&w);
}

static int begin(void **state)
{
    decoder = control_decoder_create();
    return decoder == NULL ? -1 : make_identity(state);
}

static int finish(void **state)
{
    control_decoder_destroy(decoder);
    return drop_identity(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_side_band_is_attached_renewed_and_detached_by_its_tenant),
        cmocka_unit_test(a_side_band_of_id_0_and_a_ninth_are_refused),
        cmocka_unit_test(an_event_is_taken_from_an_attached_side_band_of_the_tenant_only),
        cmocka_unit_test(a_call_that_is_over_has_no_side_bands),
        cmocka_unit_test(the_life_of_a_call_is_told_with_its_reason_and_totals),
        cmocka_unit_test(a_full_mail_loses_messages_and_counts_them),
    };
    return cmocka_run_group_tests(tests, begin, finish);
}
