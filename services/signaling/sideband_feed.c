/* sideband_feed.c - see sideband_feed.h */
#include "services/signaling/sideband_feed.h"

#include "common/runtime/log.h"
#include "services/signaling/sideband_link.h"

#include <assert.h>
#include <stdlib.h>

#define CONNECTED_AGAIN_US (10 * US_PER_MS)  /* how often a new link is looked at */
#define ROUTES_AGAIN_US    (250 * US_PER_MS) /* and the routes of all */
/* Events and outcomes handled in one turn: HTTP goes on under a flood of them. */
#define TAKEN_MAX 1024
#define NO_TICKET UINT64_MAX

/* A side-band in its place. */
struct place {
    bool is_used;
    bool is_dirty; /* perhaps it has news */
    uint32_t generation;
    uint64_t owner;
    struct sideband_link *link;
    struct sideband_listener listener;
};

struct sideband_feed {
    struct http_server *loop;
    struct control_plane *plane;
    uint64_t patience_us;
    struct control_decoder *decoder;
    struct random_source random;
    struct log_limit unreachable_limit;
    struct sideband_feed_counts counts;
    size_t place_end; /* places in use lie below */
    size_t link_end;
    unsigned taken;        /* events and outcomes in this turn */
    uint64_t routes_us;    /* when routes are looked at */
    uint64_t connected_us; /* when new links are */
    struct place place[SIDEBAND_FEED_MAX];
    struct sideband_link *link[SIDEBAND_FEED_LINKS_MAX];
};

/* --- life ------------------------------------------------------------------------------------- */

struct sideband_feed *sideband_feed_create(struct http_server *loop, struct control_plane *plane,
                                           uint64_t patience_us)
{
    struct sideband_feed *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return NULL;
    }
    f->loop = loop;
    f->plane = plane;
    f->patience_us = patience_us;
    f->random = random_system();
    f->connected_us = TIME_NEVER;
    f->decoder = control_decoder_create();
    if (f->decoder == NULL) {
        free(f);
        return NULL;
    }
    return f;
}

void sideband_feed_destroy(struct sideband_feed *f)
{
    if (f == NULL) {
        return;
    }
    for (size_t i = 0; i < f->place_end; i++) {
        if (f->place[i].is_used) {
            sideband_listener_deinit(&f->place[i].listener);
        }
    }
    for (size_t i = 0; i < f->link_end; i++) {
        sideband_link_close(f->link[i]);
    }
    control_decoder_destroy(f->decoder);
    free(f);
}

const struct sideband_feed_counts *sideband_feed_counts(const struct sideband_feed *f)
{
    return &f->counts;
}

/* --- links ------------------------------------------------------------------------------------ */

static struct sideband_link *find_link(const struct sideband_feed *f, uint32_t instance_id)
{
    for (size_t i = 0; i < f->link_end; i++) {
        if (f->link[i] != NULL && sideband_link_instance(f->link[i]) == instance_id) {
            return f->link[i];
        }
    }
    return NULL;
}

static struct sideband_link *open_link(struct sideband_feed *f, uint32_t instance_id,
                                       uint64_t now_us)
{
    const struct fleet *fleet = control_plane_fleet(f->plane);
    const struct fleet_instance *instance = fleet_at(fleet, fleet_find(fleet, instance_id));
    struct fault fault = {0};
    size_t i = 0;
    while (i < SIDEBAND_FEED_LINKS_MAX && f->link[i] != NULL) {
        i++;
    }
    if (i == SIDEBAND_FEED_LINKS_MAX || instance == NULL) {
        return NULL;
    }
    f->link[i] =
        sideband_link_open(&instance->said, f->loop, SIDEBAND_FEED_TAG_BEGIN + 2 * i, &fault);
    if (f->link[i] == NULL && log_limit_pass(&f->unreachable_limit, now_us)) {
        log_error("transceiver.events_unreachable instance=%08x reason=\"%s\"", instance_id,
                  fault.text);
    }
    f->link_end = i >= f->link_end ? i + 1 : f->link_end;
    return f->link[i];
}

static bool is_in_use(const struct sideband_feed *f, const struct sideband_link *link)
{
    for (size_t i = 0; i < f->place_end; i++) {
        if (f->place[i].is_used && f->place[i].link == link) {
            return true;
        }
    }
    return false;
}

/* Another side-band of the same call. */
static bool is_heard(const struct sideband_feed *f, const struct sideband_link *link,
                     const char *call_id)
{
    for (size_t i = 0; i < f->place_end; i++) {
        const struct place *p = &f->place[i];
        if (p->is_used && p->link == link && strcmp(p->listener.call.call_id, call_id) == 0) {
            return true;
        }
    }
    return false;
}

/* --- side-bands ------------------------------------------------------------------------------- */

static uint64_t handle_of(const struct sideband_feed *f, const struct place *p)
{
    return (uint64_t)p->generation << 32 | (uint64_t)(p - f->place);
}

static struct place *find_place(struct sideband_feed *f, uint64_t handle)
{
    const size_t i = handle & UINT32_MAX;
    return i < f->place_end && f->place[i].is_used && f->place[i].generation == handle >> 32
               ? &f->place[i]
               : NULL;
}

static struct place *free_place(struct sideband_feed *f)
{
    size_t i = 0;
    while (i < SIDEBAND_FEED_MAX && f->place[i].is_used) {
        i++;
    }
    if (i == SIDEBAND_FEED_MAX) {
        return NULL;
    }
    f->place_end = i >= f->place_end ? i + 1 : f->place_end;
    return &f->place[i];
}

uint64_t sideband_feed_open(struct sideband_feed *f, const struct control_call *call,
                            uint32_t instance_id, uint64_t owner, uint64_t now_us)
{
    struct place *p = free_place(f);
    struct sideband_link *link = find_link(f, instance_id);
    uint32_t id = 0;
    if (link == NULL && p != NULL) {
        link = open_link(f, instance_id, now_us);
    }
    if (link == NULL || p == NULL || !sideband_link_hear_call(link, call->call_id)) {
        return 0;
    }
    while (id == 0) {
        id = random_u32(f->random);
    }
    p->is_used = true;
    p->generation = p->generation == UINT32_MAX ? 1 : p->generation + 1;
    p->owner = owner;
    p->link = link;
    sideband_listener_init(&p->listener, call, id, f->random, now_us);
    metric_add(&f->counts.sidebands, 1);
    return handle_of(f, p);
}

static void free_side(struct sideband_feed *f, struct place *p)
{
    p->is_used = false;
    if (!is_heard(f, p->link, p->listener.call.call_id)) {
        sideband_link_forget_call(p->link, p->listener.call.call_id);
    }
    sideband_listener_deinit(&p->listener);
    metric_set(&f->counts.sidebands, metric_get(&f->counts.sidebands) - 1);
    while (f->place_end > 0 && !f->place[f->place_end - 1].is_used) {
        f->place_end--;
    }
}

bool sideband_feed_send(struct sideband_feed *f, uint64_t handle, struct bytes_view event,
                        uint64_t now_us)
{
    struct place *p = find_place(f, handle);
    (void)now_us;
    return p == NULL || sideband_listener_send(&p->listener, event);
}

void sideband_feed_close(struct sideband_feed *f, uint64_t handle, uint64_t now_us)
{
    struct place *p = find_place(f, handle);
    if (p != NULL) {
        sideband_listener_close(&p->listener, now_us);
    }
}

void sideband_feed_readable(struct sideband_feed *f, size_t tag, uint64_t now_us)
{
    const size_t i = (tag - SIDEBAND_FEED_TAG_BEGIN) / 2;
    (void)now_us;
    if (i < f->link_end && f->link[i] != NULL) {
        sideband_link_readable(f->link[i], (tag - SIDEBAND_FEED_TAG_BEGIN) % 2 == 1);
    }
}

/* --- the turn --------------------------------------------------------------------------------- */

static bool poll_news(struct sideband_feed *f, struct sideband_news *out)
{
    for (size_t i = 0; i < f->place_end; i++) {
        struct place *p = &f->place[i];
        if (!p->is_used || !p->is_dirty) {
            continue;
        }
        p->is_dirty = sideband_listener_poll_news(&p->listener, &out->kind, &out->text);
        if (p->is_dirty) {
            out->handle = handle_of(f, p);
            out->owner = p->owner;
            return true;
        }
    }
    return false;
}

static bool take_event(struct sideband_feed *f)
{
    struct control_sideband_event event;
    for (size_t i = 0; i < f->link_end; i++) {
        if (f->link[i] == NULL || !sideband_link_next_event(f->link[i], f->decoder, &event)) {
            continue;
        }
        for (size_t j = 0; j < f->place_end; j++) {
            struct place *p = &f->place[j];
            if (p->is_used && p->link == f->link[i] &&
                strcmp(p->listener.call.call_id, event.call_id) == 0) {
                sideband_listener_hear(&p->listener, &event);
                p->is_dirty = true;
            }
        }
        return true;
    }
    return false;
}

static uint64_t ticket_of(const struct sideband_feed *f, const struct place *p,
                          enum control_request_kind kind)
{
    return handle_of(f, p) | (kind == CONTROL_INJECT_EVENT ? UINT64_C(1) << 31 : 0);
}

static bool take_outcome(struct sideband_feed *f, uint64_t now_us)
{
    static struct session_outcome outcome;
    for (size_t i = 0; i < f->link_end; i++) {
        if (f->link[i] == NULL ||
            !sideband_link_next_outcome(f->link[i], f->decoder, &outcome, now_us)) {
            continue;
        }
        const bool is_inject = (outcome.ticket >> 31 & 1) != 0;
        struct place *p = outcome.ticket == NO_TICKET
                              ? NULL
                              : find_place(f, outcome.ticket & ~(UINT64_C(1) << 31));
        if (p != NULL) {
            sideband_listener_take_outcome(
                &p->listener, is_inject ? CONTROL_INJECT_EVENT : CONTROL_ATTACH_SIDEBAND, &outcome,
                now_us);
            p->is_dirty = true;
        }
        return true;
    }
    return false;
}

static void submit(struct sideband_feed *f, struct place *p, const struct control_request *request,
                   uint64_t now_us)
{
    const bool is_leaving = sideband_listener_is_over(&p->listener);
    const uint64_t ticket = is_leaving ? NO_TICKET : ticket_of(f, p, request->kind);
    if (!sideband_link_submit(p->link, ticket, request, now_us + f->patience_us)) {
        const struct session_outcome unsent = {.kind = SESSION_UNSENT};
        sideband_listener_take_outcome(&p->listener, request->kind, &unsent, now_us);
    }
}

/* What is due for one side-band. */
static void serve_place(struct sideband_feed *f, struct place *p, uint64_t now_us)
{
    static struct control_request request;
    const bool is_waiting = p->listener.state == SIDEBAND_LISTENER_WAITING;
    sideband_listener_tick(&p->listener, now_us);
    if (p->listener.is_last_told) {
        sideband_listener_close(&p->listener, now_us);
    }
    if (is_waiting && !p->listener.is_closing && !sideband_link_is_connected(p->link)) {
        f->connected_us = now_us + CONNECTED_AGAIN_US;
    } else {
        while (sideband_listener_poll_request(&p->listener, &request, now_us)) {
            submit(f, p, &request, now_us);
        }
    }
    p->is_dirty = true;
    if (sideband_listener_is_over(&p->listener)) {
        free_side(f, p);
    }
}

static void look_at_routes(struct sideband_feed *f, uint64_t now_us)
{
    const struct fleet *fleet = control_plane_fleet(f->plane);
    f->routes_us = now_us + ROUTES_AGAIN_US;
    for (size_t i = 0; i < f->link_end; i++) {
        struct sideband_link *link = f->link[i];
        if (link == NULL) {
            continue;
        }
        const bool is_lost = fleet_find(fleet, sideband_link_instance(link)) == FLEET_INSTANCES_MAX;
        for (size_t j = 0; is_lost && j < f->place_end; j++) {
            if (f->place[j].is_used && f->place[j].link == link) {
                sideband_listener_lose(&f->place[j].listener);
            }
        }
        if (!is_in_use(f, link) && sideband_link_may_close(link)) {
            sideband_link_close(link);
            f->link[i] = NULL;
        }
    }
    while (f->link_end > 0 && f->link[f->link_end - 1] == NULL) {
        f->link_end--;
    }
}

static void serve(struct sideband_feed *f, uint64_t now_us)
{
    f->connected_us = TIME_NEVER;
    if (now_us >= f->routes_us) {
        look_at_routes(f, now_us);
    }
    for (size_t i = 0; i < f->place_end; i++) {
        if (f->place[i].is_used) {
            serve_place(f, &f->place[i], now_us);
        }
    }
}

bool sideband_feed_next(struct sideband_feed *f, struct sideband_news *out, uint64_t now_us)
{
    bool has_more = true;
    while (has_more) {
        if (poll_news(f, out)) {
            return true;
        }
        has_more = f->taken < TAKEN_MAX && (take_event(f) || take_outcome(f, now_us));
        f->taken++;
    }
    f->taken = 0;
    serve(f, now_us);
    return poll_news(f, out);
}

uint64_t sideband_feed_next_timeout(const struct sideband_feed *f)
{
    uint64_t first_us = f->link_end > 0 ? f->routes_us : TIME_NEVER;
    for (size_t i = 0; i < f->link_end; i++) {
        if (f->link[i] != NULL) {
            first_us = time_earlier(first_us, sideband_link_next_timeout(f->link[i]));
        }
    }
    for (size_t i = 0; i < f->place_end; i++) {
        const struct place *p = &f->place[i];
        if (!p->is_used) {
            continue;
        }
        const bool is_connecting =
            p->listener.state == SIDEBAND_LISTENER_WAITING && !sideband_link_is_connected(p->link);
        first_us =
            time_earlier(first_us, is_connecting ? f->connected_us
                                                 : sideband_listener_next_timeout(&p->listener));
    }
    return first_us;
}
