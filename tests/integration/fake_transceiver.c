/* fake_transceiver.c - announces itself and answers as it is told, for signaling_test.py
 *
 * usage: fake_transceiver INSTANCE ANNOUNCE_URL CONTROL_URL [ORDER...]
 * It writes a line for each request: `create CALL_ID`, `end CALL_ID REASON`; and two for each
 * offer's other fields, and what it brings. A call answers to its tenant alone. Its orders, also
 * read as lines: `state ready|full|draining`, `backend yes|no`, `mute`, `speak`, `behave WORD`,
 * `retry MS` (said by a refusal), `capacity COUNT`. It ends at the end of its input. An offer may
 * say `behave WORD` itself:
 *      a refusal's name  it is refused so, with the message "as told"
 *      silent            no answer
 *      slow              an answer after 400 ms
 *      impostor          an answer in the name of another instance
 */
#include "common/control/control_message.h"
#include "common/runtime/clock.h"
#include "common/runtime/message_port.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define ANNOUNCE_EACH_US (100 * US_PER_MS)
#define SLOW_MS          400 /* below the time after which NNG sends a request again */
#define CALLS_MAX        1024

static struct control_announcement self;
static struct message_port *pub;
static struct message_port *rep;
static struct control_decoder *decoder;
static uint8_t message[CONTROL_MESSAGE_BYTES_MAX];
static const struct bytes_span room = {.data = message, .cap = sizeof(message)};
static char behaviour[32];
static bool is_mute;
static uint32_t retry_after_ms;
static struct control_call call[CALLS_MAX]; /* and whose it is */
static size_t call_count;

static void announce(void)
{
    self.sequence++;
    const size_t len = control_encode_announcement(&self, room);
    if (!is_mute && !message_port_send(pub, bytes_view_of(message, len))) {
        (void)fprintf(stderr, "fake_transceiver: an announcement was not taken\n");
    }
}

static void reply_with(const struct control_reply *reply)
{
    const size_t len = control_encode_reply(reply, room);
    if (!message_port_send(rep, bytes_view_of(message, len))) {
        (void)fprintf(stderr, "fake_transceiver: a reply was not taken\n");
    }
}

/* The refusal of this name, or NONE. */
static enum control_refusal refusal_named(const char *name)
{
    for (int refusal = 1; refusal < CONTROL_REFUSAL_COUNT; refusal++) {
        if (strcmp(control_refusal_name((enum control_refusal)refusal), name) == 0) {
            return (enum control_refusal)refusal;
        }
    }
    return CONTROL_REFUSAL_NONE;
}

static void read_behaviour(struct bytes_view offer, char word[32])
{
    char text[64] = "";
    memcpy(text, offer.data, offer.len < sizeof(text) ? offer.len : sizeof(text) - 1);
    if (sscanf(text, "behave %31s", word) != 1) {
        (void)snprintf(word, 32, "%s", behaviour);
    }
}

static void describe(const struct control_create_session *c)
{
    (void)printf("offer bytes=%zu duration=%u agent=%.*s language=%.*s ingress=", c->offer_sdp.len,
                 c->duration_s_max, (int)c->client_agent.len, (const char *)c->client_agent.data,
                 (int)c->client_language.len, (const char *)c->client_language.data);
    for (size_t i = 0; i < c->ingress_count; i++) {
        char address[NET_ADDR_TEXT_CAP];
        (void)printf("%s%s/%s", i > 0 ? "," : "",
                     net_addr_format(&c->ingress[i].address, address, sizeof(address)),
                     c->ingress[i].is_tcp ? "tcp" : "udp");
    }
    (void)printf("\nbrings tenant=");
    for (size_t i = 0; i < sizeof(c->tenant); i++) {
        (void)printf("%02x", c->tenant[i]);
    }
    (void)printf(" stream=%d session=%.*s\n", c->has_event_stream ? (int)c->event_stream : -1,
                 (int)c->session_json.len, (const char *)c->session_json.data);
}

static void create_session(const struct control_request *request)
{
    const struct control_create_session *c = &request->body.create_session;
    char word[32];
    read_behaviour(c->offer_sdp, word);
    (void)printf("create %s\n", c->call_id);
    describe(c);
    (void)fflush(stdout);
    struct control_reply reply = {.kind = CONTROL_CREATE_SESSION,
                                  .instance_id = self.instance_id,
                                  .session_id = (uint32_t)call_count,
                                  .answer_sdp = bytes_view_of_text("v=0\r\ns=answer\r\n"),
                                  .refusal = refusal_named(word),
                                  .message = bytes_view_of_text("as told"),
                                  .retry_after_ms = retry_after_ms};
    memcpy(reply.request_id, request->request_id, sizeof(reply.request_id));
    if (strcmp(word, "slow") == 0) {
        (void)poll(NULL, 0, SLOW_MS);
    }
    if (strcmp(word, "impostor") == 0) {
        reply.instance_id++;
    }
    if (reply.refusal == CONTROL_REFUSAL_NONE && call_count < CALLS_MAX) {
        memcpy(call[call_count].call_id, c->call_id, sizeof(c->call_id));
        memcpy(call[call_count++].tenant, c->tenant, sizeof(c->tenant));
    }
    if (strcmp(word, "silent") != 0) {
        reply_with(&reply);
    }
}

/* NULL: there is none, or it is somebody else's. */
static struct control_call *find_call(const struct control_call *wanted)
{
    for (size_t i = 0; i < call_count; i++) {
        if (strcmp(call[i].call_id, wanted->call_id) == 0 &&
            memcmp(call[i].tenant, wanted->tenant, sizeof(wanted->tenant)) == 0) {
            return &call[i];
        }
    }
    return NULL;
}

static void end_session(const struct control_request *request)
{
    const struct control_end_session *e = &request->body.end_session;
    (void)printf("end %s %.*s\n", e->call.call_id, (int)e->reason.len,
                 (const char *)e->reason.data);
    (void)fflush(stdout);
    struct control_reply reply = {.kind = CONTROL_END_SESSION, .refusal = CONTROL_NOT_FOUND};
    memcpy(reply.request_id, request->request_id, sizeof(reply.request_id));
    struct control_call *found = find_call(&e->call);
    if (found != NULL) {
        found->call_id[0] = '\0';
        reply.refusal = CONTROL_REFUSAL_NONE;
    }
    reply_with(&reply);
}

static void get_session(const struct control_request *request)
{
    const struct control_call *found = find_call(&request->body.get_session.call);
    struct control_reply reply = {.kind = CONTROL_GET_SESSION,
                                  .refusal =
                                      found != NULL ? CONTROL_REFUSAL_NONE : CONTROL_NOT_FOUND,
                                  .row = {.state = CONTROL_SESSION_CONNECTED}};
    if (found != NULL) {
        memcpy(reply.row.call_id, found->call_id, sizeof(found->call_id));
    }
    memcpy(reply.request_id, request->request_id, sizeof(reply.request_id));
    reply_with(&reply);
}

/* The first word of the fragment says what becomes of it: a name of a refusal, or "restart". */
static void update_session(const struct control_request *request)
{
    const struct control_update_session *u = &request->body.update_session;
    char word[32] = "";
    char text[64] = "";
    memcpy(text, u->sdpfrag.data, u->sdpfrag.len < sizeof(text) ? u->sdpfrag.len : 63);
    (void)sscanf(text, "%31s", word);
    (void)printf("update %s %s generation=%u ingress=%zu\n", u->call.call_id,
                 u->restarts_ice ? "restart" : "candidates", u->ice_generation, u->ingress_count);
    (void)fflush(stdout);
    struct control_reply reply = {
        .kind = CONTROL_UPDATE_SESSION,
        .ice_generation = u->restarts_ice ? 1 : u->ice_generation,
        .sdpfrag = bytes_view_of_text(u->restarts_ice ? "a=ice-lite\r\n" : ""),
        .refusal = find_call(&u->call) != NULL ? refusal_named(word) : CONTROL_NOT_FOUND,
        .message = bytes_view_of_text("as told"),
    };
    memcpy(reply.request_id, request->request_id, sizeof(reply.request_id));
    reply_with(&reply);
}

static void handle_requests(void)
{
    struct bytes_view bytes;
    struct control_request request;
    while (message_port_receive(rep, &bytes)) {
        if (!control_decode_request(decoder, bytes, &request)) {
            (void)fprintf(stderr, "fake_transceiver: a malformed request\n");
        } else if (request.kind == CONTROL_CREATE_SESSION) {
            create_session(&request);
        } else if (request.kind == CONTROL_END_SESSION) {
            end_session(&request);
        } else if (request.kind == CONTROL_UPDATE_SESSION) {
            update_session(&request);
        } else if (request.kind == CONTROL_GET_SESSION) {
            get_session(&request);
        }
    }
}

static void obey(const char *line)
{
    char word[16] = "";
    char value[32] = "";
    (void)sscanf(line, "%15s %31s", word, value);
    if (strcmp(word, "state") == 0) {
        self.state = strcmp(value, "full") == 0       ? CONTROL_STATE_FULL
                     : strcmp(value, "draining") == 0 ? CONTROL_STATE_DRAINING
                                                      : CONTROL_STATE_READY;
    } else if (strcmp(word, "backend") == 0) {
        self.backend_up = strcmp(value, "yes") == 0;
    } else if (strcmp(word, "mute") == 0) {
        is_mute = true;
    } else if (strcmp(word, "speak") == 0) {
        is_mute = false;
    } else if (strcmp(word, "retry") == 0) {
        retry_after_ms = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(word, "capacity") == 0) {
        self.capacity = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(word, "behave") == 0) {
        (void)snprintf(behaviour, sizeof(behaviour), "%s", value);
    }
}

static void serve(void)
{
    uint64_t announce_us = 0;
    char line[64];
    for (;;) {
        struct pollfd fd[2] = {{.fd = message_port_receive_fd(rep), .events = POLLIN},
                               {.fd = 0, .events = POLLIN}};
        (void)poll(fd, 2, 20);
        if (fd[1].revents != 0 && fgets(line, sizeof(line), stdin) == NULL) {
            return;
        }
        if (fd[1].revents != 0) {
            obey(line);
            announce();
            (void)printf("done %s", line);
            (void)fflush(stdout);
        }
        handle_requests();
        if (clock_now_us() >= announce_us) {
            announce_us = clock_now_us() + ANNOUNCE_EACH_US;
            announce();
        }
    }
}

int main(int argc, char **argv)
{
    struct fault fault = {0};
    if (argc < 4) {
        return 64;
    }
    (void)setvbuf(stdin, NULL, _IONBF, 0); /* poll must see what is left of the input */
    self = (struct control_announcement){.cluster_id = 1,
                                         .instance_id = (uint32_t)strtoul(argv[1], NULL, 16),
                                         .name = "fake",
                                         .capacity = 100,
                                         .shard_count = 1,
                                         .state = CONTROL_STATE_READY,
                                         .backend_up = true,
                                         .start_time_unix_us = clock_unix_us(),
                                         .version = "fake"};
    (void)snprintf(self.control_url, sizeof(self.control_url), "%s", argv[3]);
    decoder = control_decoder_create();
    pub = message_port_open(MESSAGE_PORT_PUB, &fault);
    rep = message_port_open(MESSAGE_PORT_REP, &fault);
    if (decoder == NULL || pub == NULL || rep == NULL ||
        !net_addr_parse("127.0.0.1:4000", &self.media_address) ||
        !message_port_dial(pub, argv[2], &fault) || !message_port_listen(rep, argv[3], &fault)) {
        (void)fprintf(stderr, "fake_transceiver: %s\n", fault.text);
        return 1;
    }
    for (int i = 4; i < argc; i++) {
        obey(argv[i]);
    }
    serve();
    message_port_close(rep);
    message_port_close(pub);
    control_decoder_destroy(decoder);
    return 0;
}
