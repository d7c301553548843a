/* backend_port.c - see backend_port.h */
#include "services/transceiver/port/backend_port.h"

#include "common/runtime/log.h"

#include <assert.h>
#include <stdlib.h>

#define REDIAL_US_MIN (100 * US_PER_MS)
#define REDIAL_US_MAX (2 * US_PER_S)
/* Calls that lost their backend wait for it so long, and are to sound again within a second. */
#define CALLS_WAIT_US  (5 * US_PER_S)
#define HURRIED_US_MAX (500 * US_PER_MS)
/* Dials to the backend that holds them, before another is asked. */
#define HOME_DIALS 2

struct backend_port {
    struct backend_port_config config;
    struct net_addr address[BACKEND_PORT_ADDRESSES_MAX];
    size_t address_count;
    size_t address_next;               /* to be dialled */
    struct net_addr dialled;           /* by current */
    struct net_addr home;              /* greeted last */
    unsigned home_dials;               /* that are left, for calls that wait */
    struct backend_connection current; /* takes new sessions */
    struct backend_connection leaving; /* said GOAWAY */
    struct backend_connection *polled; /* gave the last frame */
    uint64_t dial_us;                  /* when CLOSED */
    uint64_t redial_us;
    uint64_t calls_wait_until_us;
    bool was_complained; /* one line for a backend that can not be reached, not one each 2 s */
    struct backend_port_counters counters;
};

struct backend_port *backend_port_create(const struct backend_port_config *config)
{
    struct backend_port *p = calloc(1, sizeof(*p));
    assert(config->unix_path == NULL || strlen(config->unix_path) <= BACKEND_PORT_UNIX_PATH_MAX);
    if (p != NULL) {
        p->config = *config;
        p->redial_us = REDIAL_US_MIN;
        backend_connection_init(&p->current);
        backend_connection_init(&p->leaving);
    }
    return p;
}

void backend_port_destroy(struct backend_port *p)
{
    if (p == NULL) {
        return;
    }
    backend_connection_close(&p->current);
    backend_connection_close(&p->leaving);
    free(p);
}

const struct backend_port_counters *backend_port_counters(const struct backend_port *p)
{
    return &p->counters;
}

/* It begins somewhere in the list, so that shards and hosts spread over several backends. */
void backend_port_set_addresses(struct backend_port *p, const struct net_addr *address,
                                size_t count)
{
    assert(count >= 1);
    p->address_count = count < BACKEND_PORT_ADDRESSES_MAX ? count : BACKEND_PORT_ADDRESSES_MAX;
    memcpy(p->address, address, p->address_count * sizeof(*address));
    p->address_next = random_u32(p->config.random) % p->address_count;
}

static bool is_open(const struct backend_connection *c)
{
    return c->state == BACKEND_CONNECTION_OPEN;
}

bool backend_port_is_up(const struct backend_port *p)
{
    return is_open(&p->current) && backend_stream_is_up(p->current.stream);
}

size_t backend_port_room(const struct backend_port *p)
{
    return is_open(&p->current) ? backend_stream_room(p->current.stream) : 0;
}

bool backend_port_can_resume(const struct backend_port *p)
{
    return backend_port_is_up(p) && backend_stream_can_resume(p->current.stream);
}

/* --- the connections -------------------------------------------------------------------------- */

/* Only the backend that has them can resume calls, whatever its name says meanwhile. */
static void choose_address(struct backend_port *p, uint64_t now_us)
{
    if (p->home_dials > 0 && now_us < p->calls_wait_until_us) {
        p->home_dials--;
        p->dialled = p->home;
        return;
    }
    p->dialled = p->address[p->address_next];
    p->address_next = (p->address_next + 1) % p->address_count;
}

static void dial(struct backend_port *p, uint64_t now_us)
{
    const struct net_addr *address = NULL;
    if (p->config.unix_path == NULL) {
        if (p->address_count == 0) {
            p->dial_us = now_us + REDIAL_US_MIN; /* the name is still being looked up */
            return;
        }
        choose_address(p, now_us);
        address = &p->dialled;
    }
    backend_connection_dial(&p->current, p->config.unix_path, address, now_us);
}

/* Half to the whole delay, so that shards and hosts do not dial in step. */
static void plan_dial(struct backend_port *p, uint64_t now_us)
{
    const bool is_hurried = now_us < p->calls_wait_until_us;
    const uint64_t delay_us =
        is_hurried ? time_earlier(p->redial_us, HURRIED_US_MAX) : p->redial_us;
    const uint64_t half_us = delay_us / 2;
    p->dial_us = now_us + half_us + random_u32(p->config.random) % (half_us + 1);
    p->redial_us = time_earlier(p->redial_us * 2, REDIAL_US_MAX);
}

static void watch_greeting(struct backend_port *p)
{
    char name[BACKEND_TEXT_CAP + 1];
    struct backend_connection *c = &p->current;
    if (!is_open(c) || c->was_greeted || !backend_stream_is_greeted(c->stream)) {
        return;
    }
    c->was_greeted = true;
    p->home = p->dialled;
    p->home_dials = 0;
    p->was_complained = false;
    p->redial_us = REDIAL_US_MIN;
    metric_add(&p->counters.connects, 1);
    const char *peer = backend_stream_peer_name(c->stream);
    log_info("backend.up name=%s resume=%s",
             log_escape(bytes_view_of_text(peer), name, sizeof(name)),
             backend_stream_can_resume(c->stream) ? "true" : "false");
}

/* GOAWAY: its sessions go on there, and new ones elsewhere. Of two the older one breaks, and its
 * place is free when its sessions were told. */
static void watch_leaving(struct backend_port *p, uint64_t now_us)
{
    struct backend_connection *leaving = &p->leaving;
    const bool is_next = is_open(&p->current) && backend_stream_is_leaving(p->current.stream);
    if (is_next && is_open(leaving)) {
        backend_connection_break(leaving, "another goes away");
    }
    if (is_next && leaving->state == BACKEND_CONNECTION_CLOSED) {
        *leaving = p->current;
        backend_connection_init(&p->current);
        p->polled = p->polled == &p->current ? leaving : p->polled;
        metric_add(&p->counters.go_aways, 1);
        log_info("backend.leaving");
        plan_dial(p, now_us);
    }
    if (is_open(leaving) && !backend_stream_has_sessions(leaving->stream)) {
        log_info("backend.left");
        backend_connection_close(leaving);
    }
}

static size_t session_count(const struct backend_connection *c)
{
    size_t cursor = 0;
    size_t count = 0;
    uint32_t id = 0;
    while (c->stream != NULL && backend_stream_next_session(c->stream, &cursor, &id)) {
        count++;
    }
    return count;
}

static void complain(struct backend_port *p, const struct backend_connection *c)
{
    if (c->was_greeted) {
        metric_add(&p->counters.losses, 1);
        log_warn("backend.lost reason=\"%s\" sessions=%zu", c->reason, session_count(c));
    } else if (!p->was_complained) {
        p->was_complained = true;
        log_warn("backend.unreachable reason=\"%s\" effect=\"no calls until it answers\"",
                 c->reason);
    }
}

/* A broken connection stays until its sessions were told. */
static void bury(struct backend_port *p, struct backend_connection *c, uint64_t now_us)
{
    if (c->state != BACKEND_CONNECTION_BROKEN || c->is_mourned) {
        return;
    }
    complain(p, c);
    c->is_mourned = true;
    if (session_count(c) > 0) {
        p->calls_wait_until_us = now_us + CALLS_WAIT_US;
        p->home_dials = c == &p->current ? HOME_DIALS : p->home_dials;
    }
    if (c == &p->current) {
        plan_dial(p, now_us);
    }
    if (session_count(c) == 0) {
        backend_connection_close(c);
    }
}

/* After each change. */
static void watch(struct backend_port *p, uint64_t now_us)
{
    watch_greeting(p);
    watch_leaving(p, now_us);
    bury(p, &p->current, now_us);
    bury(p, &p->leaving, now_us);
    metric_set(&p->counters.is_up, backend_port_is_up(p));
}

static bool next_lost(struct backend_connection *c, uint32_t *session_id)
{
    if (c->state != BACKEND_CONNECTION_BROKEN) {
        return false;
    }
    if (c->stream != NULL && backend_stream_next_session(c->stream, &c->lost_cursor, session_id)) {
        return true;
    }
    backend_connection_close(c);
    return false;
}

bool backend_port_poll_lost(struct backend_port *p, uint32_t *session_id)
{
    return next_lost(&p->current, session_id) || next_lost(&p->leaving, session_id);
}

/* --- frames ----------------------------------------------------------------------------------- */

void backend_port_want(const struct backend_port *p, struct pollfd fds[BACKEND_PORT_CONNECTIONS])
{
    backend_connection_want(&p->current, &fds[0]);
    backend_connection_want(&p->leaving, &fds[1]);
}

void backend_port_service(struct backend_port *p, const struct pollfd fds[BACKEND_PORT_CONNECTIONS],
                          uint64_t now_us)
{
    backend_connection_service(&p->current, fds[0].revents, &p->config.stream, &p->counters.stream,
                               now_us);
    backend_connection_service(&p->leaving, fds[1].revents, &p->config.stream, &p->counters.stream,
                               now_us);
}

bool backend_port_poll_frame(struct backend_port *p, struct backend_frame *out, uint64_t now_us)
{
    struct backend_connection *const turn[] = {&p->current, &p->leaving};
    for (size_t i = 0; i < COUNT_OF(turn); i++) {
        if (backend_connection_poll_frame(turn[i], out, now_us)) {
            p->polled = turn[i];
            return true;
        }
    }
    watch(p, now_us);
    return false;
}

bool backend_port_has_frames(const struct backend_port *p)
{
    return p->current.has_unread || p->leaving.has_unread;
}

void backend_port_refuse(struct backend_port *p, const struct backend_frame *frame, uint64_t now_us)
{
    if (p->polled != NULL && is_open(p->polled)) {
        backend_stream_refuse(p->polled->stream, frame, now_us);
    }
}

bool backend_port_send(struct backend_port *p, const struct backend_frame *frame, uint64_t now_us)
{
    const bool is_on_leaving =
        is_open(&p->leaving) && backend_stream_has_session(p->leaving.stream, frame->session);
    const struct backend_connection *c = is_on_leaving ? &p->leaving : &p->current;
    return is_open(c) && backend_stream_send(c->stream, frame, now_us);
}

static size_t message_room(const struct backend_connection *c)
{
    return is_open(c) ? backend_stream_message_room(c->stream) : SIZE_MAX;
}

size_t backend_port_message_room(const struct backend_port *p)
{
    const size_t current = message_room(&p->current);
    const size_t leaving = message_room(&p->leaving);
    return current < leaving ? current : leaving;
}

void backend_port_go_away(struct backend_port *p, uint64_t deadline_us, uint64_t now_us)
{
    if (is_open(&p->current)) {
        backend_stream_go_away(p->current.stream, deadline_us, now_us);
    }
}

void backend_port_flush(struct backend_port *p, uint64_t now_us)
{
    backend_connection_flush(&p->current, now_us);
    backend_connection_flush(&p->leaving, now_us);
    watch(p, now_us);
}

/* --- time ------------------------------------------------------------------------------------- */

void backend_port_tick(struct backend_port *p, uint64_t now_us)
{
    backend_connection_tick(&p->current, now_us);
    backend_connection_tick(&p->leaving, now_us);
    watch(p, now_us);
    if (p->current.state == BACKEND_CONNECTION_CLOSED && now_us >= p->dial_us) {
        dial(p, now_us);
        watch(p, now_us);
    }
}

uint64_t backend_port_next_timeout(const struct backend_port *p)
{
    const uint64_t dial_us =
        p->current.state == BACKEND_CONNECTION_CLOSED ? p->dial_us : TIME_NEVER;
    return time_earlier(dial_us, time_earlier(backend_connection_next_timeout(&p->current),
                                              backend_connection_next_timeout(&p->leaving)));
}
