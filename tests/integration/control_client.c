/*
 * control_client.c - signaling's side of one request, for tests: asks a transceiver and prints
 *
 *   control_client URL REQUEST_ID create CALL_ID TENANT OFFER_FILE INGRESS
 *   control_client URL REQUEST_ID end CALL_ID TENANT [operator]
 *   control_client URL REQUEST_ID unknown
 *   control_client URL REQUEST_ID garbage
 *
 * REQUEST_ID and TENANT are words. Prints `refused CODE RETRY_MS MESSAGE`, or `ended`, or
 * `created INSTANCE SESSION` and the answer behind it.
 */
#include "common/control/control_message.h"
#include "common/runtime/message_port.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define PATIENCE_MS 10000
#define RETRY_MS    10

static uint8_t message[CONTROL_MESSAGE_BYTES_MAX];
static uint8_t offer[CONTROL_OFFER_BYTES_MAX];

static int give_up(const char *why)
{
    (void)fprintf(stderr, "control_client: %s\n", why);
    return 1;
}

static void copy_word(const char *word, void *out, size_t cap)
{
    const size_t len = strnlen(word, cap);
    memcpy(out, word, len);
}

static bool fill_create(char **words, struct control_create_session *out)
{
    FILE *file = fopen(words[2], "rb");
    if (file == NULL) {
        return false;
    }
    out->offer_sdp = bytes_view_of(offer, fread(offer, 1, sizeof(offer), file));
    (void)fclose(file);
    copy_word(words[0], out->call_id, CONTROL_CALL_ID_CHARS_MAX);
    copy_word(words[1], out->tenant, sizeof(out->tenant));
    out->ingress_count = 1;
    return net_addr_parse(words[3], &out->ingress[0].address);
}

/* words: what comes behind the request id. */
static bool fill_request(char **words, int count, struct control_request *out)
{
    if (strcmp(words[0], "create") == 0 && count == 5) {
        out->kind = CONTROL_CREATE_SESSION;
        return fill_create(words + 1, &out->body.create_session);
    }
    if (strcmp(words[0], "end") == 0 && count >= 3) {
        struct control_end_session *end = &out->body.end_session;
        out->kind = CONTROL_END_SESSION;
        copy_word(words[1], end->call.call_id, CONTROL_CALL_ID_CHARS_MAX);
        copy_word(words[2], end->call.tenant, sizeof(end->call.tenant));
        end->call.is_operator = count == 4;
        return true;
    }
    return strcmp(words[0], "unknown") == 0 || strcmp(words[0], "garbage") == 0;
}

static bool exchange(struct message_port *port, struct bytes_view request, struct bytes_view *reply)
{
    for (int waited_ms = 0; !message_port_send(port, request); waited_ms += RETRY_MS) {
        if (waited_ms >= PATIENCE_MS) {
            return false; /* nobody listens there */
        }
        (void)poll(NULL, 0, RETRY_MS);
    }
    struct pollfd fd = {.fd = message_port_receive_fd(port), .events = POLLIN};
    return poll(&fd, 1, PATIENCE_MS) == 1 && message_port_receive(port, reply);
}

static void print(const struct control_reply *reply)
{
    if (reply->refusal != CONTROL_REFUSAL_NONE) {
        (void)printf("refused %s %u %.*s\n", control_refusal_name(reply->refusal),
                     reply->retry_after_ms, (int)reply->message.len,
                     (const char *)reply->message.data);
    } else if (reply->kind == CONTROL_CREATE_SESSION) {
        (void)printf("created %u %u\n%.*s", reply->instance_id, reply->session_id,
                     (int)reply->answer_sdp.len, (const char *)reply->answer_sdp.data);
    } else {
        (void)printf("ended\n");
    }
}

int main(int argc, char **argv)
{
    struct control_request request = {0};
    struct control_reply reply;
    struct fault fault = {0};
    struct bytes_view answer;
    if (argc < 4 || !fill_request(argv + 3, argc - 3, &request)) {
        return give_up("not understood; see control_client.c");
    }
    copy_word(argv[2], request.request_id, sizeof(request.request_id));
    struct message_port *port = message_port_open(MESSAGE_PORT_REQ, &fault);
    struct control_decoder *decoder = control_decoder_create();
    if (port == NULL || decoder == NULL || !message_port_dial(port, argv[1], &fault)) {
        return give_up(fault.text);
    }
    const struct bytes_span room = {.data = message, .cap = sizeof(message)};
    const size_t len = control_encode_request(&request, room);
    const bool is_garbage = strcmp(argv[3], "garbage") == 0;
    const struct bytes_view asked =
        is_garbage ? bytes_view_of_text("\xff not protobuf") : bytes_view_of(message, len);
    if (!exchange(port, asked, &answer) || !control_decode_reply(decoder, answer, &reply)) {
        return give_up("no answer");
    }
    print(&reply);
    control_decoder_destroy(decoder);
    message_port_close(port);
    return 0;
}
