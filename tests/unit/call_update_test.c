/* call_update_test.c - ICE restarts and candidates of a call, as UpdateSession asks for them */
#include "tests/unit/shard_calls_world.h"

#define FRAGMENT(ufrag, pwd)                                                                       \
    "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\na=ice-ufrag:" ufrag "\r\na=ice-pwd:" pwd "\r\n"
#define NEW_PWD "0123456789012345678901"

static struct control_request update_request(const char *fragment, bool restarts_ice)
{
    struct control_request request = {
        .request_id = {3},
        .kind = CONTROL_UPDATE_SESSION,
        .body.update_session = {.call = {.call_id = "rtc_a", .tenant = {1}},
                                .sdpfrag = bytes_view_of_text(fragment),
                                .restarts_ice = restarts_ice,
                                .ingress_count = 1},
    };
    assert_true(
        net_addr_parse("198.51.100.7:3478", &request.body.update_session.ingress[0].address));
    return request;
}

static enum control_refusal update(struct world *w, const char *fragment, bool restarts_ice)
{
    const struct control_request request = update_request(fragment, restarts_ice);
    return ask(w, &request);
}

static bool reply_holds(const struct world *w, const char *what)
{
    return memmem(w->reply.sdpfrag.data, w->reply.sdpfrag.len, what, strlen(what)) != NULL;
}

static const struct client_leg_ice *ice_of(const struct world *w, uint32_t id)
{
    return session_ice(session_registry_find(w->calls.registry, id));
}

static void a_restart_gets_a_new_token_of_the_same_session_and_a_new_password(void **state)
{
    (void)state;
    struct world w;
    struct routing_token token;
    uint8_t key_id = 0;
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    const struct client_leg_ice before = *ice_of(&w, id);
    assert_int_equal(update(&w, FRAGMENT("new1", NEW_PWD), true), CONTROL_REFUSAL_NONE);
    const struct client_leg_ice *after = ice_of(&w, id);
    assert_int_equal(w.reply.kind, CONTROL_UPDATE_SESSION);
    assert_int_equal(w.reply.ice_generation, 1);
    assert_int_equal(after->generation, 1);
    assert_string_equal(after->client_ufrag, "new1");
    assert_string_not_equal(after->pwd, before.pwd);
    assert_int_equal(strlen(after->pwd), CLIENT_LEG_PWD_CHARS);
    assert_int_equal(routing_token_open(w.ring, bytes_view_of_text(after->ufrag), &token, &key_id),
                     ROUTING_TOKEN_OK);
    assert_int_equal(token.session_id, id);
    assert_int_equal(token.restart, 1);
    assert_true(reply_holds(&w, after->ufrag));
    assert_true(reply_holds(&w, after->pwd));
    assert_true(reply_holds(&w, "a=ice-lite\r\n"));
    assert_true(reply_holds(&w, "a=mid:0\r\n"));
    assert_true(reply_holds(&w, " 198.51.100.7 3478 typ host"));
    assert_int_equal(metric_get(&w.calls.counters.ice_restarts), 1);
    outbox_frames_end(&w.frames); /* the backend hears nothing of it */
    close_world(&w);
}

static void the_same_restart_again_gets_the_same_reply(void **state)
{
    (void)state;
    struct world w;
    char first[SDP_ANSWER_BYTES_MAX];
    open_world(&w);
    (void)place(&w, "rtc_a", 1);
    (void)update(&w, FRAGMENT("new1", NEW_PWD), true);
    const size_t len = w.reply.sdpfrag.len;
    memcpy(first, w.reply.sdpfrag.data, len);
    assert_int_equal(update(&w, FRAGMENT("new1", NEW_PWD), true), CONTROL_REFUSAL_NONE);
    assert_true(bytes_equal(w.reply.sdpfrag, bytes_view_of(first, len)));
    assert_int_equal(w.reply.ice_generation, 1);
    assert_int_equal(metric_get(&w.calls.counters.ice_restarts), 1);
    /* Half of it is another restart. */
    assert_int_equal(update(&w, FRAGMENT("new1", "x" NEW_PWD), true), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.ice_generation, 2);
    assert_int_equal(update(&w, FRAGMENT("new2", "x" NEW_PWD), true), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.ice_generation, 3);
    close_world(&w);
}

/* The offer's own credentials restart nothing. */
static void the_credentials_of_the_offer_get_those_of_the_answer(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    assert_int_equal(update(&w, FRAGMENT("Ab3+", "0123456789abcdefghij+/"), true),
                     CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.ice_generation, 0);
    assert_true(reply_holds(&w, ice_of(&w, id)->ufrag));
    assert_int_equal(metric_get(&w.calls.counters.ice_restarts), 0);
    close_world(&w);
}

static void the_256th_restart_is_refused_and_the_255th_lives_on(void **state)
{
    (void)state;
    struct world w;
    char fragment[200];
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    for (int i = 1; i <= 255; i++) {
        (void)snprintf(fragment, sizeof(fragment), "a=ice-ufrag:u%03d\r\na=ice-pwd:" NEW_PWD "\r\n",
                       i);
        assert_int_equal(update(&w, fragment, true), CONTROL_REFUSAL_NONE);
        assert_int_equal(w.reply.ice_generation, i);
    }
    assert_int_equal(update(&w, FRAGMENT("u256", NEW_PWD), true), CONTROL_RESTARTS_USED_UP);
    assert_int_equal(ice_of(&w, id)->generation, 255);
    assert_string_equal(ice_of(&w, id)->client_ufrag, "u255");
    assert_int_equal(update(&w, fragment, true), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.ice_generation, 255);
    close_world(&w);
}

static void candidates_are_good_for_the_current_generation_only(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    (void)place(&w, "rtc_a", 1);
    static const char candidates[] = "a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n";
    assert_int_equal(update(&w, candidates, false), CONTROL_REFUSAL_NONE);
    assert_int_equal(w.reply.ice_generation, 0);
    assert_int_equal(w.reply.sdpfrag.len, 0);
    (void)update(&w, FRAGMENT("new1", NEW_PWD), true);
    assert_int_equal(update(&w, candidates, false), CONTROL_OTHER_GENERATION);
    struct control_request request = update_request(candidates, false);
    request.body.update_session.ice_generation = 1;
    assert_int_equal(ask(&w, &request), CONTROL_REFUSAL_NONE);
    static const char *const own[] = {FRAGMENT("new1", NEW_PWD), FRAGMENT("new2", NEW_PWD)};
    for (size_t i = 0; i < COUNT_OF(own); i++) { /* its own credentials, and new ones */
        request.body.update_session.sdpfrag = bytes_view_of_text(own[i]);
        assert_int_equal(ask(&w, &request), i == 0 ? CONTROL_REFUSAL_NONE : CONTROL_BAD_OFFER);
    }
    request.body.update_session.ice_generation = 257;
    assert_int_equal(ask(&w, &request), CONTROL_OTHER_GENERATION);
    close_world(&w);
}

static void what_is_malformed_changes_nothing(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    static const char *const bad[] = {"", "a=ice-ufrag:new1\r\n", "a=candidate:1\r\n",
                                      FRAGMENT("ab", NEW_PWD), FRAGMENT("new1", "short")};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(update(&w, bad[i], true), CONTROL_BAD_OFFER);
        assert_in_range(w.reply.message.len, 10, CONTROL_TEXT_CHARS_MAX);
        assert_int_equal(ice_of(&w, id)->generation, 0);
    }
    close_world(&w);
}

/* wire-formats.md, "Control messages": a mismatch is not_found. */
static void a_restart_is_for_the_tenant_and_for_calls_that_live(void **state)
{
    (void)state;
    struct world w;
    open_world(&w);
    const uint32_t id = place(&w, "rtc_a", 1);
    struct control_request request = update_request(FRAGMENT("new1", NEW_PWD), true);
    request.body.update_session.call.tenant[0] = 2;
    assert_int_equal(ask(&w, &request), CONTROL_NOT_FOUND);
    (void)snprintf(request.body.update_session.call.call_id, CONTROL_CALL_ID_CHARS_MAX, "rtc_b");
    request.body.update_session.call.tenant[0] = 1;
    assert_int_equal(ask(&w, &request), CONTROL_NOT_FOUND);
    assert_int_equal(ice_of(&w, id)->generation, 0);
    /* It has ended, and is not freed yet. */
    session_end(session_registry_find(w.calls.registry, id), SESSION_END_HANGUP, NOW_US);
    assert_int_equal(update(&w, FRAGMENT("new1", NEW_PWD), true), CONTROL_NOT_FOUND);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_gets_a_new_token_of_the_same_session_and_a_new_password),
        cmocka_unit_test(the_same_restart_again_gets_the_same_reply),
        cmocka_unit_test(the_credentials_of_the_offer_get_those_of_the_answer),
        cmocka_unit_test(the_256th_restart_is_refused_and_the_255th_lives_on),
        cmocka_unit_test(candidates_are_good_for_the_current_generation_only),
        cmocka_unit_test(what_is_malformed_changes_nothing),
        cmocka_unit_test(a_restart_is_for_the_tenant_and_for_calls_that_live),
    };
    return cmocka_run_group_tests(tests, make_identity, drop_identity);
}
