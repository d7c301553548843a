/* session_command_test.c - calls of a transceiver as an operator sees them, over real NNG */
#include "tests/testing.h"

#include "common/control/control_message.h"
#include "common/runtime/message_port.h"
#include "tests/capture.h"
#include "tests/far_end.h"
#include "tools/earshotctl/session_command.h"

#include <pthread.h>
#include <stdlib.h>

#define CALL_ID "rtc_H0-PHtjQYoeTQjD284teUfQ"

/* A transceiver: answers `answer_count` requests with the replies, in a thread of its own. */
static struct {
    char url[96];
    struct message_port *port;
    pthread_t thread;
    struct control_reply reply[2];
    size_t reply_count;
    struct control_request asked[2]; /* without views */
    size_t asked_count;
} far;

static struct capture printed;

static void *answer(void *context)
{
    static uint8_t message[CONTROL_MESSAGE_BYTES_MAX];
    struct control_decoder *decoder = control_decoder_create();
    (void)context;
    for (; far.asked_count < far.reply_count; far.asked_count++) {
        struct bytes_view request;
        struct pollfd wait = {.fd = message_port_receive_fd(far.port), .events = POLLIN};
        struct control_request *asked = &far.asked[far.asked_count];
        struct control_reply *reply = &far.reply[far.asked_count];
        if (poll(&wait, 1, FAR_END_PATIENCE_MS) != 1 || !message_port_receive(far.port, &request) ||
            !control_decode_request(decoder, request, asked)) {
            break;
        }
        memcpy(reply->request_id, asked->request_id, sizeof(reply->request_id));
        const size_t len = control_encode_reply(
            reply, (struct bytes_span){.data = message, .cap = sizeof(message)});
        if (!message_port_send(far.port, bytes_view_of(message, len))) {
            break;
        }
    }
    control_decoder_destroy(decoder);
    return NULL;
}

static void open_far(const struct control_reply *reply, size_t count)
{
    struct fault fault = {0};
    char text[NET_ADDR_TEXT_CAP];
    const struct net_addr address = far_end_free_address(SOCK_STREAM);
    memset(&far, 0, sizeof(far));
    memcpy(far.reply, reply, count * sizeof(*reply));
    far.reply_count = count;
    (void)snprintf(far.url, sizeof(far.url), "tcp://%s",
                   net_addr_format(&address, text, sizeof(text)));
    far.port = message_port_open(MESSAGE_PORT_REP, &fault);
    assert_true(message_port_listen(far.port, far.url, &fault));
    assert_int_equal(pthread_create(&far.thread, NULL, answer, NULL), 0);
}

static void close_far(void)
{
    assert_int_equal(pthread_join(far.thread, NULL), 0);
    assert_int_equal(far.asked_count, far.reply_count);
    message_port_close(far.port);
}

static int run(const char *verb, const char *url, const char *call_id)
{
    char *argv[] = {(char *)"earshotctl", (char *)"session", (char *)verb, (char *)url,
                    (char *)call_id};
    capture_begin(&printed);
    const int status = command_run(call_id == NULL ? 4 : 5, argv);
    capture_end(&printed);
    return status;
}

static bool says(const char *text)
{
    return strstr(printed.text, text) != NULL;
}

static void a_call_is_shown_with_all_that_is_known(void **state)
{
    (void)state;
    const struct control_reply reply = {
        .kind = CONTROL_GET_SESSION,
        .row = {CALL_ID, 0x2a03, CONTROL_SESSION_ENDED, UINT64_C(1790000000000000)},
        .end_reason = bytes_view_of_text("client_lost"),
        .timeline = {.fact = {{"answer", 3100}}, .count = 1},
        .counters = {.fact = {{"out_packets", 1500}}, .count = 1},
    };
    open_far(&reply, 1);
    assert_int_equal(run("show", far.url, CALL_ID), COMMAND_YES);
    close_far();
    assert_int_equal(far.asked[0].kind, CONTROL_GET_SESSION);
    assert_string_equal(far.asked[0].body.get_session.call.call_id, CALL_ID);
    assert_true(far.asked[0].body.get_session.call.is_operator);
    assert_true(says("call      " CALL_ID "\n"));
    assert_true(says("session   00002a03\n"));
    assert_true(says("state     ended client_lost\n"));
    assert_true(says("offer     2026-09-21 14:13:20 UTC\n"));
    assert_true(says("answer                                   3.1\n"));
    assert_true(says("out_packets                             1500\n"));
}

static void a_list_goes_from_page_to_page(void **state)
{
    (void)state;
    static const struct control_session_row row[] = {
        {"rtc_a", 7, CONTROL_SESSION_CONNECTED, UINT64_C(1790000000000000)},
        {"rtc_b", 8, CONTROL_SESSION_CHECKING, UINT64_C(1790000000000000)}};
    const struct control_reply page[] = {
        {.kind = CONTROL_LIST_SESSIONS, .rows = &row[0], .row_count = 1, .next_session_id = 8},
        {.kind = CONTROL_LIST_SESSIONS, .rows = &row[1], .row_count = 1}};
    open_far(page, 2);
    assert_int_equal(run("list", far.url, NULL), COMMAND_YES);
    close_far();
    assert_int_equal(far.asked[0].body.list_sessions.from_session_id, 0);
    assert_true(far.asked[0].body.list_sessions.is_operator);
    assert_int_equal(far.asked[1].body.list_sessions.from_session_id, 8);
    assert_true(says("CALL"));
    assert_true(says("rtc_a                         connected"));
    assert_true(says("rtc_b                         checking"));
}

/* It would be asked for again without end. */
static void a_page_that_leads_back_is_the_last(void **state)
{
    (void)state;
    const struct control_reply page[] = {{.kind = CONTROL_LIST_SESSIONS, .next_session_id = 8},
                                         {.kind = CONTROL_LIST_SESSIONS, .next_session_id = 8}};
    open_far(page, 2);
    assert_int_equal(run("list", far.url, NULL), COMMAND_YES);
    close_far();
}

static void a_call_that_is_not_there_is_a_no(void **state)
{
    (void)state;
    const struct control_reply reply = {.refusal = CONTROL_NOT_FOUND,
                                        .message = bytes_view_of_text("no such call")};
    open_far(&reply, 1);
    assert_int_equal(run("show", far.url, CALL_ID), COMMAND_NO);
    close_far();
    assert_true(says("not_found: no such call\n"));
}

static void wrong_arguments_and_urls_are_told(void **state)
{
    (void)state;
    char long_id[CONTROL_CALL_ID_CHARS_MAX + 2];
    memset(long_id, 'x', sizeof(long_id) - 1);
    long_id[sizeof(long_id) - 1] = '\0';
    assert_int_equal(run("show", "tcp://127.0.0.1:1", NULL), COMMAND_USAGE);
    assert_int_equal(run("show", "tcp://127.0.0.1:1", long_id), COMMAND_USAGE);
    assert_int_equal(run("list", "tcp://127.0.0.1:1", "more"), COMMAND_USAGE);
    assert_int_equal(run("show", "nonsense", CALL_ID), COMMAND_NO);
    assert_true(says("nonsense"));
}

static void nobody_there_is_unreachable(void **state)
{
    (void)state;
    char url[96];
    char text[NET_ADDR_TEXT_CAP];
    const struct net_addr address = far_end_free_address(SOCK_STREAM);
    (void)snprintf(url, sizeof(url), "tcp://%s", net_addr_format(&address, text, sizeof(text)));
    assert_int_equal(run("list", url, NULL), COMMAND_UNREACHABLE);
    assert_true(says("does not answer\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_shown_with_all_that_is_known),
        cmocka_unit_test(a_list_goes_from_page_to_page),
        cmocka_unit_test(a_page_that_leads_back_is_the_last),
        cmocka_unit_test(a_call_that_is_not_there_is_a_no),
        cmocka_unit_test(wrong_arguments_and_urls_are_told),
        cmocka_unit_test(nobody_there_is_unreachable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
