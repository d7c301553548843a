/* control_plane.c - see control_plane.h */
#include "services/signaling/control_plane.h"

#include "common/control/control_event.h"
#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "common/runtime/message_port.h"

#include <stdio.h>
#include <stdlib.h>

#define ANNOUNCEMENT_TAG FLEET_INSTANCES_MAX
/* Announcements handled in one turn: HTTP goes on under a flood of them. */
#define ANNOUNCEMENTS_MAX 4096
/* An instance in a line of the log. */
#define WHO_CAP (LOG_ESCAPED_CAP + 100)

struct control_plane {
    struct control_plane *next_left;
    struct http_server *loop;
    struct control_plane_counts counts;
    struct control_decoder *decoder;
    struct message_port *announcements;
    struct http_watch *announcements_watch;
    struct fleet *fleet;
    struct call_watch *watched_calls;
    /* By slot of the fleet; NULL where its URL can not be dialled. */
    struct session_client *client[FLEET_INSTANCES_MAX];
    struct http_watch *watch[FLEET_INSTANCES_MAX];
    bool has_input[FLEET_INSTANCES_MAX];
    bool is_outdated[FLEET_INSTANCES_MAX]; /* its instance is at another URL by now */
    bool is_lost[FLEET_INSTANCES_MAX];     /* its lease ran out, and the log said so */
    struct log_limit news_limit;
    struct log_limit impostor_limit;
    struct log_limit unreachable_limit;
};

/* --- life ------------------------------------------------------------------------------------- */

static bool listen_for_announcements(struct control_plane *p, const struct net_addr *listen,
                                     struct fault *fault)
{
    char address[NET_ADDR_TEXT_CAP];
    char url[NET_ADDR_TEXT_CAP + 8];
    (void)snprintf(url, sizeof(url), "tcp://%s", net_addr_format(listen, address, sizeof(address)));
    p->announcements = message_port_open(MESSAGE_PORT_SUB, fault);
    if (p->announcements == NULL ||
        !message_port_subscribe(p->announcements, (struct bytes_view){0}) ||
        !message_port_listen(p->announcements, url, fault)) {
        return false;
    }
    p->announcements_watch =
        http_server_watch(p->loop, message_port_receive_fd(p->announcements), ANNOUNCEMENT_TAG);
    return p->announcements_watch != NULL ||
           fault_set(fault, FAULT_SYSTEM, "listen %s: can not be watched", url);
}

struct control_plane *control_plane_create(struct http_server *loop, const struct net_addr *listen,
                                           uint16_t cluster_id, struct fault *fault)
{
    struct control_plane *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "control plane: out of memory");
        return NULL;
    }
    p->loop = loop;
    p->news_limit.lines_per_s = LOG_EVENTS_PER_S;
    p->decoder = control_decoder_create();
    p->fleet = fleet_create(cluster_id);
    p->watched_calls = call_watch_create();
    if (p->decoder == NULL || p->fleet == NULL || p->watched_calls == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "control plane: out of memory");
        control_plane_destroy(p);
        return NULL;
    }
    if (!listen_for_announcements(p, listen, fault)) {
        control_plane_destroy(p);
        return NULL;
    }
    return p;
}

static void close_client(struct control_plane *p, size_t slot)
{
    http_server_unwatch(p->watch[slot]);
    session_client_destroy(p->client[slot]);
    p->watch[slot] = NULL;
    p->client[slot] = NULL;
    p->has_input[slot] = false;
    p->is_outdated[slot] = false;
}

/* Every request has its outcome first; and NNG 1.5 may wait for ever in the close of a socket with
 * a request under way. */
static bool may_be_closed(const struct control_plane *p, size_t slot)
{
    return p->client[slot] == NULL || session_client_is_idle(p->client[slot]);
}

/* Planes with a client that could not be closed: they stay reachable until the process ends. */
static struct control_plane *planes_left;

void control_plane_destroy(struct control_plane *p)
{
    bool is_left = false;
    if (p == NULL) {
        return;
    }
    for (size_t slot = 0; slot < FLEET_INSTANCES_MAX; slot++) {
        if (may_be_closed(p, slot)) {
            close_client(p, slot);
        } else {
            http_server_unwatch(p->watch[slot]);
            is_left = true;
        }
    }
    http_server_unwatch(p->announcements_watch);
    message_port_close(p->announcements);
    call_watch_destroy(p->watched_calls);
    fleet_destroy(p->fleet);
    control_decoder_destroy(p->decoder);
    if (is_left) {
        p->next_left = planes_left;
        planes_left = p;
        return;
    }
    free(p);
}

const struct control_plane_counts *control_plane_counts(const struct control_plane *p)
{
    return &p->counts;
}

struct fleet *control_plane_fleet(struct control_plane *p)
{
    return p->fleet;
}

struct call_watch *control_plane_watch(struct control_plane *p)
{
    return p->watched_calls;
}

/* --- announcements ---------------------------------------------------------------------------- */

static void open_client(struct control_plane *p, size_t slot, uint64_t now_us)
{
    const struct control_announcement *said = &fleet_at(p->fleet, slot)->said;
    struct fault fault = {0};
    p->client[slot] = session_client_create(said->instance_id, said->control_url, &fault);
    if (p->client[slot] != NULL) {
        p->watch[slot] = http_server_watch(p->loop, session_client_fd(p->client[slot]), slot);
    }
    if (p->watch[slot] != NULL) {
        return;
    }
    close_client(p, slot);
    metric_add(&p->counts.unreachable_total, 1);
    if (log_limit_pass(&p->unreachable_limit, now_us)) {
        log_error("transceiver.unreachable instance=%08x reason=\"%s\"", said->instance_id,
                  fault.text);
    }
}

/* Whose news it is, as a line says it; false when there were too many of late. */
static bool may_tell(struct control_plane *p, const struct control_announcement *a,
                     char who[WHO_CAP], uint64_t now_us)
{
    char name[LOG_ESCAPED_CAP];
    if (!log_limit_pass(&p->news_limit, now_us)) {
        return false;
    }
    (void)snprintf(who, WHO_CAP, "instance=%08x name=%s state=%s held_back=%llu", a->instance_id,
                   log_escape(bytes_view_of_text(a->name), name, sizeof(name)),
                   control_state_name(a->state), (unsigned long long)p->news_limit.held_back);
    return true;
}

static void note_impostor(struct control_plane *p, const struct control_announcement *a,
                          uint64_t now_us)
{
    char name[LOG_ESCAPED_CAP];
    if (log_limit_pass(&p->impostor_limit, now_us)) {
        log_error("transceiver.impostor instance=%08x name=%s", a->instance_id,
                  log_escape(bytes_view_of_text(a->name), name, sizeof(name)));
    }
}

static void note_news(struct control_plane *p, enum fleet_news news,
                      const struct control_announcement *a, size_t slot, uint64_t now_us)
{
    char who[WHO_CAP];
    switch (news) {
    case FLEET_ADDED:
        open_client(p, slot, now_us);
        if (may_tell(p, a, who, now_us)) {
            log_info("transceiver.known %s", who);
        }
        break;
    case FLEET_UPDATED:
        if (p->is_lost[slot] && may_tell(p, a, who, now_us)) {
            log_info("transceiver.back %s", who);
        }
        p->is_lost[slot] = false;
        break;
    case FLEET_IMPOSTOR_OUT:
        p->is_outdated[slot] = true;
        p->is_lost[slot] = false;
        note_impostor(p, a, now_us);
        break;
    case FLEET_IMPOSTOR:
        note_impostor(p, a, now_us);
        break;
    case FLEET_STALE:
    case FLEET_FOREIGN:
    case FLEET_FULL:
    case FLEET_NEWS_COUNT:
        break;
    }
}

static void take_session_event(struct control_plane *p, struct bytes_view message)
{
    struct control_session_event event;
    if (!control_decode_session_event(p->decoder, message, &event)) {
        metric_add(&p->counts.malformed_total, 1);
        return;
    }
    metric_add(&p->counts.session_events_total, 1);
    if (event.kind == CONTROL_SESSION_EVENT_ENDED) {
        call_watch_note_ended(p->watched_calls, event.call_id, event.reason);
    }
}

static void hear_announcements(struct control_plane *p, uint64_t now_us)
{
    struct bytes_view message;
    for (int i = 0; i < ANNOUNCEMENTS_MAX && message_port_receive(p->announcements, &message);
         i++) {
        struct control_announcement announcement;
        if (!control_decode_announcement(p->decoder, message, &announcement)) {
            take_session_event(p, message);
            continue;
        }
        size_t slot = 0;
        const enum fleet_news news = fleet_hear(p->fleet, &announcement, &slot, now_us);
        metric_add(&p->counts.announcements_total[news], 1);
        note_news(p, news, &announcement, slot, now_us);
    }
}

void control_plane_readable(struct control_plane *p, size_t tag, uint64_t now_us)
{
    if (tag == ANNOUNCEMENT_TAG) {
        hear_announcements(p, now_us);
    } else {
        p->has_input[tag] = true;
    }
}

/* --- requests --------------------------------------------------------------------------------- */

/* NULL when we have none. */
static struct session_client *client_of(struct control_plane *p, uint32_t instance_id)
{
    const size_t slot = fleet_find(p->fleet, instance_id);
    if (slot == FLEET_INSTANCES_MAX || p->client[slot] == NULL) {
        return NULL;
    }
    p->has_input[slot] = true; /* so that it is sent in this turn */
    return p->client[slot];
}

bool control_plane_submit(struct control_plane *p, uint32_t instance_id, uint64_t ticket,
                          const struct control_request *request, uint64_t deadline_us)
{
    struct session_client *c = client_of(p, instance_id);
    return c != NULL && session_client_submit(c, ticket, request, deadline_us);
}

bool control_plane_submit_operation(struct control_plane *p, uint32_t instance_id, uint64_t ticket,
                                    const struct control_request *request, uint64_t deadline_us)
{
    struct session_client *c = client_of(p, instance_id);
    return c != NULL && session_client_submit_operation(c, ticket, request, deadline_us);
}

bool control_plane_next(struct control_plane *p, struct session_outcome *out, uint64_t now_us)
{
    const size_t slot_end = fleet_slot_end(p->fleet);
    for (size_t slot = 0; slot < slot_end; slot++) {
        struct session_client *client = p->client[slot];
        if (client == NULL ||
            (!p->has_input[slot] && session_client_next_timeout(client) > now_us)) {
            continue;
        }
        if (session_client_next(client, p->decoder, out, now_us)) {
            return true;
        }
        p->has_input[slot] = false;
    }
    return false;
}

uint64_t control_plane_next_timeout(const struct control_plane *p)
{
    uint64_t first_us = TIME_NEVER;
    const size_t slot_end = fleet_slot_end(p->fleet);
    for (size_t slot = 0; slot < slot_end; slot++) {
        if (p->client[slot] != NULL) {
            first_us = time_earlier(first_us, session_client_next_timeout(p->client[slot]));
        }
    }
    return first_us;
}

/* --- housekeeping ----------------------------------------------------------------------------- */

static void note_silence(struct control_plane *p, size_t slot, uint64_t now_us)
{
    const struct fleet_instance *i = fleet_at(p->fleet, slot);
    char who[WHO_CAP];
    if (p->is_lost[slot] || fleet_instance_is_live(i, now_us)) {
        return;
    }
    p->is_lost[slot] = true;
    if (may_tell(p, &i->said, who, now_us)) {
        log_warn("transceiver.lost %s", who);
    }
}

/* Its client and its slot are free for another one. */
static void forget(struct control_plane *p, size_t slot, uint64_t now_us)
{
    char who[WHO_CAP];
    if (may_tell(p, &fleet_at(p->fleet, slot)->said, who, now_us)) {
        log_info("transceiver.forgotten %s", who);
    }
    close_client(p, slot);
    fleet_remove(p->fleet, slot);
    p->is_lost[slot] = false;
}

void control_plane_tick(struct control_plane *p, uint64_t now_us)
{
    uint64_t in_state[CONTROL_PLANE_STATE_COUNT] = {0};
    for (size_t slot = 0; slot < fleet_slot_end(p->fleet); slot++) {
        const struct fleet_instance *i = fleet_at(p->fleet, slot);
        if (i == NULL) {
            continue;
        }
        if (p->is_outdated[slot] && may_be_closed(p, slot)) {
            close_client(p, slot);
            open_client(p, slot, now_us);
        }
        note_silence(p, slot, now_us);
        if (fleet_instance_is_forgotten(i, now_us) && may_be_closed(p, slot)) {
            forget(p, slot, now_us);
            continue;
        }
        in_state[fleet_instance_is_live(i, now_us) ? (int)i->said.state : CONTROL_PLANE_SILENT]++;
    }
    for (size_t state = 0; state < CONTROL_PLANE_STATE_COUNT; state++) {
        metric_set(&p->counts.transceivers[state], in_state[state]);
    }
}
