/* session_command.c - see session_command.h */
#include "tools/earshotctl/session_command.h"

#include "common/base/random.h"
#include "common/base/time_us.h"
#include "common/control/control_message.h"
#include "common/runtime/message_port.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* NNG takes no request before it is connected: how often we try. */
#define SEND_AGAIN_MS 10

/* A conversation with one transceiver. */
struct talk {
    const char *url;
    struct message_port *port;
    struct control_decoder *decoder;
    uint8_t *message;
    bool is_waiting; /* a request is under way */
};

static enum command_exit talk_open(struct talk *t, const char *url)
{
    struct fault fault = {0};
    *t = (struct talk){.url = url,
                       .decoder = control_decoder_create(),
                       .message = malloc(CONTROL_MESSAGE_BYTES_MAX)};
    if (t->decoder == NULL || t->message == NULL) {
        (void)fault_set(&fault, FAULT_SYSTEM, "out of memory");
        return command_fail(&fault);
    }
    t->port = message_port_open(MESSAGE_PORT_REQ, &fault);
    if (t->port == NULL || !message_port_dial(t->port, url, &fault)) {
        return command_fail(&fault);
    }
    return COMMAND_YES;
}

/* With a request under way NNG 1.5 may wait for ever in close: the port then ends with the process.
 */
static void talk_close(struct talk *t)
{
    if (!t->is_waiting) {
        message_port_close(t->port);
    }
    control_decoder_destroy(t->decoder);
    free(t->message);
}

static bool exchange(struct talk *t, struct bytes_view request, struct bytes_view *answer)
{
    int waited_ms = 0;
    for (; !message_port_send(t->port, request); waited_ms += SEND_AGAIN_MS) {
        if (waited_ms >= SESSION_COMMAND_PATIENCE_MS) {
            return false;
        }
        (void)poll(NULL, 0, SEND_AGAIN_MS);
    }
    struct pollfd wait = {.fd = message_port_receive_fd(t->port), .events = POLLIN};
    t->is_waiting = poll(&wait, 1, SESSION_COMMAND_PATIENCE_MS - waited_ms) != 1 ||
                    !message_port_receive(t->port, answer);
    return !t->is_waiting;
}

/* COMMAND_YES: *out is a reply of the request's kind. Others were said on stderr. */
static enum command_exit ask(struct talk *t, struct control_request *request,
                             struct control_reply *out)
{
    struct bytes_view answer;
    random_fill(random_system(), request->request_id, sizeof(request->request_id));
    const struct bytes_span room = {t->message, 0, CONTROL_MESSAGE_BYTES_MAX};
    const size_t len = control_encode_request(request, room);
    if (!exchange(t, bytes_view_of(t->message, len), &answer) ||
        !control_decode_reply(t->decoder, answer, out)) {
        (void)fprintf(stderr, "earshotctl: %s does not answer\n", t->url);
        return COMMAND_UNREACHABLE;
    }
    if (out->refusal != CONTROL_REFUSAL_NONE || out->kind != request->kind) {
        (void)fprintf(stderr, "earshotctl: %s: %s: %.*s\n", t->url,
                      control_refusal_name(out->refusal), (int)out->message.len,
                      (const char *)out->message.data);
        return COMMAND_NO;
    }
    return COMMAND_YES;
}

static const char *date_of(uint64_t unix_us, char text[32])
{
    const time_t seconds = (time_t)(unix_us / US_PER_S);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc);
    (void)strftime(text, 32, "%Y-%m-%d %H:%M:%S UTC", &utc);
    return text;
}

/* --- list ------------------------------------------------------------------------------------- */

static void print_rows(const struct control_reply *page)
{
    for (size_t i = 0; i < page->row_count; i++) {
        const struct control_session_row *row = &page->rows[i];
        char date[32];
        (void)printf("%-28s  %-9s  %s\n", row->call_id, control_session_state_name(row->state),
                     date_of(row->offer_unix_us, date));
    }
}

enum command_exit session_command_list(struct command_arguments arguments)
{
    struct talk talk;
    struct control_reply reply = {0};
    struct control_request request = {.kind = CONTROL_LIST_SESSIONS,
                                      .body.list_sessions.is_operator = true};
    if (arguments.count != 1) {
        return COMMAND_USAGE;
    }
    enum command_exit result = talk_open(&talk, arguments.text[0]);
    uint32_t *from = &request.body.list_sessions.from_session_id;
    for (bool is_first = true; result == COMMAND_YES && (is_first || *from != 0);
         is_first = false) {
        result = ask(&talk, &request, &reply);
        if (result != COMMAND_YES) {
            break;
        }
        if (is_first) {
            (void)printf("%-28s  %-9s  OFFER\n", "CALL", "STATE");
        }
        print_rows(&reply);
        /* Page after page goes up: one that does not would be asked for without end. */
        *from = reply.next_session_id > *from ? reply.next_session_id : 0;
    }
    talk_close(&talk);
    return result;
}

/* --- show ------------------------------------------------------------------------------------- */

static void print_session(const struct control_reply *reply)
{
    char date[32];
    (void)printf("call      %s\n", reply->row.call_id);
    (void)printf("session   %08x\n", reply->row.session_id);
    (void)printf("state     %s %.*s\n", control_session_state_name(reply->row.state),
                 (int)reply->end_reason.len, (const char *)reply->end_reason.data);
    (void)printf("offer     %s\n\nMOMENT                    MS AFTER THE OFFER\n",
                 date_of(reply->row.offer_unix_us, date));
    for (size_t i = 0; i < reply->timeline.count; i++) {
        const struct control_fact *moment = &reply->timeline.fact[i];
        (void)printf("%-24s  %18.1f\n", moment->name, (double)moment->value / 1000);
    }
    (void)printf("\nCOUNTER                                VALUE\n");
    for (size_t i = 0; i < reply->counters.count; i++) {
        const struct control_fact *counter = &reply->counters.fact[i];
        (void)printf("%-24s  %18llu\n", counter->name, (unsigned long long)counter->value);
    }
}

enum command_exit session_command_show(struct command_arguments arguments)
{
    struct talk talk;
    struct control_reply reply = {0};
    struct control_request request = {.kind = CONTROL_GET_SESSION,
                                      .body.get_session.call.is_operator = true};
    struct control_call *call = &request.body.get_session.call;
    if (arguments.count != 2 || strlen(arguments.text[1]) > CONTROL_CALL_ID_CHARS_MAX) {
        return COMMAND_USAGE;
    }
    (void)snprintf(call->call_id, sizeof(call->call_id), "%s", arguments.text[1]);
    enum command_exit result = talk_open(&talk, arguments.text[0]);
    if (result == COMMAND_YES) {
        result = ask(&talk, &request, &reply);
    }
    if (result == COMMAND_YES) {
        print_session(&reply);
    }
    talk_close(&talk);
    return result;
}
