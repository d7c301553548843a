/* session_client.c - see session_client.h */
#include "services/signaling/session_client.h"

#include "common/runtime/message_port.h"

#include <assert.h>
#include <stdlib.h>

/* NNG takes no request before it is connected: how often we try. */
#define SEND_AGAIN_US (20 * US_PER_MS)

struct pending {
    uint64_t ticket;
    uint64_t deadline_us;
    uint8_t request_id[CONTROL_REQUEST_ID_BYTES];
    uint8_t *message;
    size_t message_len;
    bool is_operation;
};

struct session_client {
    uint32_t instance_id;
    struct message_port *port;
    struct pending queue[SESSION_CLIENT_QUEUE_MAX]; /* a ring; the first one may be in flight */
    size_t first;
    size_t count;
    size_t operation_count; /* of these */
    bool is_in_flight;
    uint64_t send_again_us;
};

struct session_client *session_client_create(uint32_t instance_id, const char *control_url,
                                             struct fault *fault)
{
    struct session_client *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "transceiver %s: out of memory", control_url);
        return NULL;
    }
    c->instance_id = instance_id;
    c->port = message_port_open(MESSAGE_PORT_REQ, fault);
    /* NNG would take ipc:// and others too; an announcement may not choose them. */
    const bool is_tcp = strncmp(control_url, "tcp://", 6) == 0;
    if (!is_tcp) {
        (void)fault_set(fault, FAULT_CONFIG, "transceiver url is not tcp://");
    }
    if (c->port == NULL || !is_tcp || !message_port_dial(c->port, control_url, fault)) {
        session_client_destroy(c);
        return NULL;
    }
    return c;
}

static void pop(struct session_client *c)
{
    free(c->queue[c->first].message);
    c->operation_count -= c->queue[c->first].is_operation;
    c->first = (c->first + 1) % SESSION_CLIENT_QUEUE_MAX;
    c->count--;
    c->is_in_flight = false;
}

void session_client_destroy(struct session_client *c)
{
    if (c == NULL) {
        return;
    }
    while (c->count > 0) {
        pop(c);
    }
    message_port_close(c->port);
    free(c);
}

int session_client_fd(const struct session_client *c)
{
    return message_port_receive_fd(c->port);
}

bool session_client_is_idle(const struct session_client *c)
{
    return c->count == 0;
}

static const struct pending *last(const struct session_client *c)
{
    return &c->queue[(c->first + c->count - 1) % SESSION_CLIENT_QUEUE_MAX];
}

/* Enough for the request on the wire: its long fields, and all the short ones at their longest. */
static size_t message_room(const struct control_request *request)
{
    size_t room = 8192;
    if (request->kind == CONTROL_CREATE_SESSION) {
        room += request->body.create_session.offer_sdp.len;
        room += request->body.create_session.session_json.len;
    } else if (request->kind == CONTROL_UPDATE_SESSION) {
        room += request->body.update_session.sdpfrag.len;
    } else if (request->kind == CONTROL_INJECT_EVENT) {
        room += request->body.inject_event.event.len;
    }
    return room;
}

/* NULL when there is no place for it. */
static struct pending *append(struct session_client *c, uint64_t ticket,
                              const struct control_request *request, uint64_t deadline_us)
{
    if (c->count == SESSION_CLIENT_QUEUE_MAX) {
        return NULL;
    }
    assert(c->count == 0 || deadline_us >= last(c)->deadline_us);
    const struct bytes_span room = {.data = malloc(message_room(request)),
                                    .cap = message_room(request)};
    const size_t len = room.data == NULL ? 0 : control_encode_request(request, room);
    if (len == 0) {
        free(room.data);
        return NULL;
    }
    struct pending *p = &c->queue[(c->first + c->count) % SESSION_CLIENT_QUEUE_MAX];
    *p = (struct pending){
        .ticket = ticket, .deadline_us = deadline_us, .message = room.data, .message_len = len};
    memcpy(p->request_id, request->request_id, sizeof(p->request_id));
    c->count++;
    return p;
}

bool session_client_submit(struct session_client *c, uint64_t ticket,
                           const struct control_request *request, uint64_t deadline_us)
{
    return append(c, ticket, request, deadline_us) != NULL;
}

bool session_client_submit_operation(struct session_client *c, uint64_t ticket,
                                     const struct control_request *request, uint64_t deadline_us)
{
    struct pending *p = c->operation_count < SESSION_CLIENT_OPERATIONS_MAX
                            ? append(c, ticket, request, deadline_us)
                            : NULL;
    if (p == NULL) {
        return false;
    }
    p->is_operation = true;
    c->operation_count++;
    return true;
}

uint64_t session_client_next_timeout(const struct session_client *c)
{
    if (c->count == 0) {
        return TIME_NEVER;
    }
    const uint64_t deadline_us = c->queue[c->first].deadline_us;
    return c->is_in_flight ? deadline_us : time_earlier(deadline_us, c->send_again_us);
}

/* A reply to the request in flight; any other is of one that was given up. */
static bool receive(struct session_client *c, struct control_decoder *decoder,
                    struct session_outcome *out)
{
    struct bytes_view message;
    while (message_port_receive(c->port, &message)) {
        const struct pending *p = &c->queue[c->first];
        if (c->is_in_flight && control_decode_reply(decoder, message, &out->reply) &&
            memcmp(out->reply.request_id, p->request_id, sizeof(p->request_id)) == 0) {
            return true;
        }
    }
    return false;
}

static void send_first(struct session_client *c, uint64_t now_us)
{
    if (c->count == 0 || c->is_in_flight) {
        return;
    }
    const struct pending *p = &c->queue[c->first];
    c->is_in_flight = message_port_send(c->port, bytes_view_of(p->message, p->message_len));
    c->send_again_us = now_us + SEND_AGAIN_US;
}

bool session_client_next(struct session_client *c, struct control_decoder *decoder,
                         struct session_outcome *out, uint64_t now_us)
{
    out->instance_id = c->instance_id;
    const bool is_replied = receive(c, decoder, out);
    if (!is_replied && c->count > 0 && c->queue[c->first].deadline_us > now_us) {
        send_first(c, now_us);
    }
    if (c->count == 0 || (!is_replied && c->queue[c->first].deadline_us > now_us)) {
        return false;
    }
    out->ticket = c->queue[c->first].ticket;
    out->kind = is_replied ? SESSION_REPLIED : c->is_in_flight ? SESSION_SILENT : SESSION_UNSENT;
    pop(c);
    return true;
}
