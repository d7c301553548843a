/* sideband_link.c - see sideband_link.h */
#include "services/signaling/sideband_link.h"

#include "common/runtime/message_port.h"

#include <stdlib.h>

struct sideband_link {
    uint32_t instance_id;
    struct message_port *events;
    struct session_client *client;
    struct http_watch *events_watch;
    struct http_watch *client_watch;
    bool has_events;
    bool has_replies;
    struct sideband_link *next_left;
};

static bool open_events(struct sideband_link *l, const char *url, struct fault *fault)
{
    /* NNG would take ipc:// and others too; an announcement may not choose them. */
    if (strncmp(url, "tcp://", 6) != 0) {
        return fault_set(fault, FAULT_CONFIG, "transceiver events url is not tcp://");
    }
    l->events = message_port_open(MESSAGE_PORT_SUB, fault);
    return l->events != NULL && message_port_dial(l->events, url, fault);
}

struct sideband_link *sideband_link_open(const struct control_announcement *said,
                                         struct http_server *loop, size_t tag, struct fault *fault)
{
    struct sideband_link *l = calloc(1, sizeof(*l));
    if (l == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "transceiver events: out of memory");
        return NULL;
    }
    l->instance_id = said->instance_id;
    if (open_events(l, said->events_url, fault)) {
        l->client = session_client_create(said->instance_id, said->control_url, fault);
    }
    if (l->client != NULL) {
        l->events_watch = http_server_watch(loop, message_port_receive_fd(l->events), tag);
        l->client_watch = http_server_watch(loop, session_client_fd(l->client), tag + 1);
    }
    if (l->events_watch == NULL || l->client_watch == NULL) {
        sideband_link_close(l);
        return NULL;
    }
    return l;
}

bool sideband_link_may_close(const struct sideband_link *l)
{
    return l->client == NULL || session_client_is_idle(l->client);
}

/* Links with a client that could not be closed: they stay reachable until the process ends. */
static struct sideband_link *links_left;

void sideband_link_close(struct sideband_link *l)
{
    if (l == NULL) {
        return;
    }
    http_server_unwatch(l->events_watch);
    http_server_unwatch(l->client_watch);
    message_port_close(l->events);
    if (!sideband_link_may_close(l)) {
        l->next_left = links_left;
        links_left = l;
        return;
    }
    session_client_destroy(l->client);
    free(l);
}

uint32_t sideband_link_instance(const struct sideband_link *l)
{
    return l->instance_id;
}

bool sideband_link_is_connected(const struct sideband_link *l)
{
    return message_port_connections(l->events) > 0;
}

bool sideband_link_hear_call(struct sideband_link *l, const char *call_id)
{
    uint8_t topic[CONTROL_TOPIC_CAP];
    return message_port_subscribe(l->events,
                                  bytes_view_of(topic, control_sideband_topic(call_id, topic)));
}

void sideband_link_forget_call(struct sideband_link *l, const char *call_id)
{
    uint8_t topic[CONTROL_TOPIC_CAP];
    message_port_unsubscribe(l->events,
                             bytes_view_of(topic, control_sideband_topic(call_id, topic)));
}

void sideband_link_readable(struct sideband_link *l, bool is_reply)
{
    l->has_events |= !is_reply;
    l->has_replies |= is_reply;
}

bool sideband_link_submit(struct sideband_link *l, uint64_t ticket,
                          const struct control_request *request, uint64_t deadline_us)
{
    l->has_replies = true; /* so that it is sent in this turn */
    return session_client_submit(l->client, ticket, request, deadline_us);
}

bool sideband_link_next_event(struct sideband_link *l, struct control_decoder *decoder,
                              struct control_sideband_event *out)
{
    struct bytes_view message;
    while (l->has_events && message_port_receive(l->events, &message)) {
        if (control_decode_sideband_event(decoder, message, out)) {
            return true; /* what it is not is a gap, which its number tells */
        }
    }
    l->has_events = false;
    return false;
}

bool sideband_link_next_outcome(struct sideband_link *l, struct control_decoder *decoder,
                                struct session_outcome *out, uint64_t now_us)
{
    if (!l->has_replies && session_client_next_timeout(l->client) > now_us) {
        return false;
    }
    l->has_replies = session_client_next(l->client, decoder, out, now_us);
    return l->has_replies;
}

uint64_t sideband_link_next_timeout(const struct sideband_link *l)
{
    return l->has_events ? 0 : session_client_next_timeout(l->client);
}
