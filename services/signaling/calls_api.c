/* calls_api.c - see calls_api.h */
#include "services/signaling/calls_api.h"

#include "common/runtime/clock.h"
#include "services/signaling/calls_state.h"
#include "services/signaling/http_field.h"
#include "services/signaling/placement.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLS_PATH "/v1/realtime/calls/"

static_assert(sizeof(CALLS_PATH) + CALL_ID_CHARS <= HTTP_LOCATION_CHARS, "a Location fits");
static_assert(CALL_ID_BLOCK_BYTES == CONTROL_REQUEST_ID_BYTES, "a call id is its request's id");

static const uint32_t placement_bound_us[] = {1000,   2500,   5000,   10000,   25000,   50000,
                                              100000, 250000, 500000, 1000000, 2500000, 5000000};

/* --- life ------------------------------------------------------------------------------------- */

struct calls_api *calls_api_create(struct http_server *server, struct control_plane *plane,
                                   struct secret_calls *live, struct key_ring *ring,
                                   const struct signaling_config *config)
{
    struct calls_api *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        key_ring_destroy(ring);
        return NULL;
    }
    a->server = server;
    a->plane = plane;
    a->live = live;
    a->config = config;
    a->random = random_system();
    a->created_limit.lines_per_s = LOG_EVENTS_PER_S;
    a->refused_limit.lines_per_s = LOG_EVENTS_PER_S;
    a->hangup_limit.lines_per_s = LOG_EVENTS_PER_S;
    a->counts.placement.bound_us = placement_bound_us;
    a->counts.placement.bound_count = COUNT_OF(placement_bound_us);
    calls_api_set_ring(a, ring);
    /* Beside one for each connection, one for each client that has just left. */
    if (!call_works_init(&a->works, 2 * (size_t)config->http.connections_max)) {
        calls_api_destroy(a);
        return NULL;
    }
    return a;
}

void calls_api_destroy(struct calls_api *a)
{
    if (a == NULL) {
        return;
    }
    call_works_deinit(&a->works);
    key_ring_destroy(a->ring);
    free(a);
}

const struct calls_counts *calls_api_counts(const struct calls_api *a)
{
    return &a->counts;
}

void calls_api_set_ring(struct calls_api *a, struct key_ring *ring)
{
    key_ring_destroy(a->ring);
    a->ring = ring;
    uint64_t ids = 0;
    for (uint8_t id = 0; id < KEY_RING_IDS; id++) {
        ids |= (uint64_t)key_ring_has(ring, id) << id;
    }
    metric_set(&a->counts.key_ids, ids);
    metric_set(&a->counts.key_id_active, key_ring_active_id(ring));
}

void calls_api_set_teller(struct calls_api *a, calls_teller teller, void *context)
{
    a->teller = teller;
    a->teller_context = context;
}

void calls_api_drain(struct calls_api *a)
{
    a->is_draining = true;
}

bool calls_api_is_idle(const struct calls_api *a)
{
    return call_works_is_empty(&a->works);
}

/* --- calls of client secrets ------------------------------------------------------------------ */

/* An offer that has come to nothing. */
static void finish_offer(struct calls_api *a, struct call_work *w)
{
    secret_calls_give_back(a->live, w->secret_place);
    call_works_finish(&a->works, w);
}

/* Its client has the answer: the call counts until it ends. One that can not be watched does not:
 * it would count for ever. */
static void keep_count(struct calls_api *a, const struct call_work *w, uint64_t now_us)
{
    const struct control_call call = call_operations_call_of(w);
    if (w->secret_place != SECRET_CALLS_NONE &&
        call_watch_add(control_plane_watch(a->plane), &call, w->instance_id, CALL_WATCH_SECRET,
                       w->secret_place, now_us) == 0) {
        secret_calls_give_back(a->live, w->secret_place);
    }
}

void calls_api_news(struct calls_api *a, const struct call_news *news)
{
    if (news->kind == CALL_NEWS_ENDED) {
        secret_calls_give_back(a->live, news->owner);
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

void calls_state_answer(struct calls_api *a, uint64_t asker, const struct http_response *r)
{
    if (asker == 0 || a->teller == NULL || !a->teller(a->teller_context, asker, r)) {
        http_server_answer(a->server, asker, r);
        return;
    }
    struct http_response told = *r;
    http_response_discard(&told);
}

static void answer_error(struct calls_api *a, uint64_t exchange, unsigned status, const char *code,
                         const char *message)
{
    struct http_response r = http_response_error(status, code, bytes_view_of_text(message));
    r.retry_after_s = status == 503 ? 1 : 0;
    calls_state_answer(a, exchange, &r);
}

static void refuse_offer(struct calls_api *a, struct call_work *w, struct bytes_view said,
                         uint64_t now_us)
{
    const struct http_response r = offer_refusal_response(w->refusal, said, w->retry_after_ms);
    metric_add(&a->counts.offers_total[w->refusal->outcome], 1);
    if (r.status >= 500 && log_limit_pass(&a->refused_limit, now_us)) {
        log_warn("call.refused reason=%s tried=%zu held_back=%llu", w->refusal->reason,
                 w->tried.count, (unsigned long long)a->refused_limit.held_back);
    }
    calls_state_answer(a, w->exchange, &r);
    finish_offer(a, w);
}

/* r holds the answer. */
static void answer_offer(struct calls_api *a, struct call_work *w, struct http_response *r,
                         uint64_t now_us)
{
    r->status = 201;
    r->content_type = "application/sdp";
    r->accept_patch = CALL_PATCH_TYPE;
    (void)snprintf(r->etag, sizeof(r->etag), "\"0\"");
    (void)snprintf(r->location, sizeof(r->location), CALLS_PATH "%s", w->id.text);
    w->kind = CALL_WORK_ANSWERED;
    metric_add(&a->counts.offers_total[OFFER_ANSWERED], 1);
    metric_observe(&a->counts.placement, time_since(w->started_us, now_us));
    if (log_limit_pass(&a->created_limit, now_us)) {
        log_info("call.created call=%s instance=%08x tried=%zu ms=%llu held_back=%llu", w->id.text,
                 w->instance_id, w->tried.count,
                 (unsigned long long)(time_since(w->started_us, now_us) / US_PER_MS),
                 (unsigned long long)a->created_limit.held_back);
    }
    calls_state_answer(a, w->exchange, r);
}

/* --- offers ----------------------------------------------------------------------------------- */

static bool submit_create(struct calls_api *a, struct call_work *w, uint64_t now_us)
{
    struct control_request request = {.kind = CONTROL_CREATE_SESSION};
    struct control_create_session *create = &request.body.create_session;
    memcpy(request.request_id, w->id.block, sizeof(request.request_id));
    memcpy(create->call_id, w->id.text, sizeof(w->id.text));
    memcpy(create->tenant, w->tenant, sizeof(create->tenant));
    create->offer_sdp = w->offer.sdp;
    create->session_json =
        bytes_view_of(w->offer.session, w->offer.session != NULL ? strlen(w->offer.session) : 0);
    create->has_event_stream = w->offer.has_event_stream;
    create->event_stream = w->offer.event_stream;
    memcpy(create->ingress, a->config->ingress, sizeof(create->ingress));
    create->ingress_count = a->config->ingress_count;
    create->duration_s_max = a->config->call_duration_s_max;
    create->client_agent = http_field_note(w->client_agent, "");
    create->client_language = http_field_note(w->client_language, ",;");
    create->placement_reason = bytes_view_of_text("least_loaded");
    create->offer_unix_us = clock_unix_us() - time_since(w->started_us, now_us);
    return control_plane_submit(a->plane, w->instance_id, call_works_ticket(&a->works, w), &request,
                                now_us + a->config->answer_timeout_us);
}

/* The session that w may have at its transceiver: nobody will ever use it. */
static void end_orphan(struct calls_api *a, const struct call_work *w, uint64_t now_us)
{
    if (call_operations_submit_end(a, w, CALL_WORKS_NO_TICKET, "client_gone", now_us)) {
        metric_add(&a->counts.orphans_total, 1);
    }
}

/* Nobody can be asked (any more): why? The word of the last one who was asked counts. */
static const struct offer_refusal *why_nobody(enum placement_result result,
                                              const struct offer_refusal *last)
{
    if (result == PLACEMENT_NO_BACKEND) {
        return offer_refusal_of(CONTROL_BACKEND_UNAVAILABLE);
    }
    if (last != NULL) {
        return last;
    }
    return result == PLACEMENT_NO_TRANSCEIVER ? offer_refusal_no_transceiver()
                                              : offer_refusal_of(CONTROL_FULL);
}

/* Asks the next transceiver, or refuses when there is none. */
static void place(struct calls_api *a, struct call_work *w, uint64_t now_us)
{
    struct fleet *fleet = control_plane_fleet(a->plane);
    while (w->tried.count < PLACEMENT_TRIES_MAX) {
        size_t slot = 0;
        const enum placement_result result =
            placement_choose(fleet, &w->tried, random_u32(a->random), &slot, now_us);
        if (result != PLACEMENT_FOUND) {
            w->refusal = why_nobody(result, w->refusal);
            break;
        }
        w->instance_id = fleet_at(fleet, slot)->said.instance_id;
        w->tried.instance_id[w->tried.count++] = w->instance_id;
        const struct call_id id = {a->config->cluster_id, w->instance_id};
        call_id_seal(a->ring, &id, a->random, &w->id);
        if (submit_create(a, w, now_us)) {
            fleet_note_placed(fleet, w->instance_id);
            return;
        }
        w->refusal = offer_refusal_no_answer(); /* its queue is full of those who wait for one */
    }
    refuse_offer(a, w, (struct bytes_view){0}, now_us);
}

void calls_api_place(struct calls_api *a, const struct calls_visitor *visitor,
                     struct offer_request *offer, uint64_t now_us)
{
    struct call_work *w =
        a->is_draining ? NULL
                       : call_works_begin(&a->works, CALL_WORK_OFFER, visitor->asker, now_us);
    if (w == NULL) {
        offer_request_discard(offer);
        metric_add(&a->counts.offers_total[OFFER_SERVER_OVERLOADED], 1);
        answer_error(a, visitor->asker, 503, "server_overloaded",
                     "This server takes no new call. Try again soon.");
        return;
    }
    memcpy(w->tenant, visitor->who->tenant, sizeof(w->tenant));
    w->secret_place = secret_calls_take(a->live, visitor->who->secret_id);
    w->client_agent = visitor->agent;
    w->client_language = visitor->language;
    w->offer = *offer;
    place(a, w, now_us);
}

void calls_api_offer(struct calls_api *a, uint64_t exchange, const struct http_request *request,
                     const struct auth_identity *who, uint64_t now_us)
{
    const struct calls_visitor visitor = {exchange, who, request->user_agent, request->language};
    struct offer_request offer;
    struct http_response refusal;
    if (!offer_request_read(request, who->session, &offer, &refusal)) {
        metric_add(&a->counts.offers_total[OFFER_BAD_REQUEST], 1);
        calls_state_answer(a, exchange, &refusal);
        return;
    }
    calls_api_place(a, &visitor, &offer, now_us);
}

/* A transceiver has made the session. */
static void take_created(struct calls_api *a, struct call_work *w,
                         const struct control_reply *reply, uint64_t now_us)
{
    if (w->exchange == 0) {
        metric_add(&a->counts.offers_total[OFFER_CLIENT_GONE], 1);
        end_orphan(a, w, now_us);
        finish_offer(a, w);
        return;
    }
    struct http_response r = {0};
    if (reply->instance_id != w->instance_id || !http_response_own_body(&r, reply->answer_sdp)) {
        http_response_discard(&r);
        end_orphan(a, w, now_us);
        w->refusal = offer_refusal_of(CONTROL_INTERNAL);
        refuse_offer(a, w, (struct bytes_view){0}, now_us);
        return;
    }
    answer_offer(a, w, &r, now_us);
}

static const struct offer_refusal *refusal_of(const struct session_outcome *outcome)
{
    if (outcome->kind != SESSION_REPLIED) {
        return offer_refusal_no_answer(); /* busy, or gone: another one may have time */
    }
    /* Neither a refusal nor a session (a reply to something else) is internal too. */
    return offer_refusal_of(outcome->reply.refusal);
}

/* It has not, or we do not know. */
static void take_failure(struct calls_api *a, struct call_work *w,
                         const struct session_outcome *outcome, uint64_t now_us)
{
    const bool is_replied = outcome->kind == SESSION_REPLIED;
    w->refusal = refusal_of(outcome);
    w->retry_after_ms = is_replied ? outcome->reply.retry_after_ms : 0;
    if (outcome->kind == SESSION_SILENT) {
        end_orphan(a, w, now_us); /* it may still make one when it wakes up */
    } else {
        fleet_note_freed(control_plane_fleet(a->plane), w->instance_id);
    }
    if (w->exchange == 0) {
        metric_add(&a->counts.offers_total[OFFER_CLIENT_GONE], 1);
        finish_offer(a, w);
    } else if (offer_refusal_is_local(w->refusal)) {
        place(a, w, now_us);
    } else {
        refuse_offer(a, w, is_replied ? outcome->reply.message : (struct bytes_view){0}, now_us);
    }
}

/* --- outcomes and ends ------------------------------------------------------------------------ */

void calls_api_outcome(struct calls_api *a, const struct session_outcome *outcome, uint64_t now_us)
{
    const bool is_of_orphan = outcome->ticket == CALL_WORKS_NO_TICKET;
    if (call_operations_is_ended(outcome) || (is_of_orphan && outcome->kind == SESSION_REPLIED)) {
        fleet_note_freed(control_plane_fleet(a->plane), outcome->instance_id);
    }
    if (is_of_orphan) {
        return;
    }
    struct call_work *w = call_works_at_ticket(&a->works, outcome->ticket);
    if (w->kind != CALL_WORK_OFFER) {
        call_operations_outcome(a, w, outcome, now_us);
    } else if (outcome->kind == SESSION_REPLIED && outcome->reply.refusal == CONTROL_REFUSAL_NONE &&
               outcome->reply.kind == CONTROL_CREATE_SESSION) {
        take_created(a, w, &outcome->reply, now_us);
    } else {
        take_failure(a, w, outcome, now_us);
    }
}

void calls_api_end(struct calls_api *a, uint64_t exchange, bool is_delivered, uint64_t now_us)
{
    struct call_work *w = call_works_of_exchange(&a->works, exchange);
    if (w == NULL) {
        return;
    }
    w->exchange = 0;                       /* the outcome that is under way finishes the others */
    w->offer.sdp = (struct bytes_view){0}; /* it went with the request */
    if (w->kind != CALL_WORK_ANSWERED) {
        return;
    }
    if (is_delivered) {
        keep_count(a, w, now_us);
        call_works_finish(&a->works, w);
    } else {
        end_orphan(a, w, now_us);
        finish_offer(a, w);
    }
}
