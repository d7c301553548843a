/* call_operations.c - see call_operations.h */
#include "services/signaling/call_operations.h"

#include "services/signaling/call_patch.h"
#include "services/signaling/calls_state.h"

#include <assert.h>

/* --- asking ----------------------------------------------------------------------------------- */

bool call_operations_find_owner(struct calls_api *a, struct bytes_view call_id,
                                uint32_t *out_instance_id)
{
    struct call_id id;
    if (!call_id_open(a->ring, call_id, &id) || id.cluster_id != a->config->cluster_id ||
        fleet_find(control_plane_fleet(a->plane), id.instance_id) == FLEET_INSTANCES_MAX) {
        return false;
    }
    *out_instance_id = id.instance_id;
    return true;
}

/* NULL when too many wait. */
static struct call_work *begin(struct calls_api *a, enum call_work_kind kind,
                               const struct call_operation *operation, uint32_t instance_id,
                               uint64_t now_us)
{
    struct call_work *w = call_works_begin_for(&a->works, kind, operation->exchange,
                                               operation->call_id, instance_id, now_us);
    if (w != NULL) {
        memcpy(w->tenant, operation->who->tenant, sizeof(w->tenant));
    }
    return w;
}

struct control_call call_operations_call_of(const struct call_work *w)
{
    struct control_call call = {0};
    memcpy(call.call_id, w->id.text, sizeof(w->id.text));
    memcpy(call.tenant, w->tenant, sizeof(call.tenant));
    return call;
}

static bool submit(struct calls_api *a, const struct call_work *w, uint64_t ticket,
                   struct control_request *request, uint64_t now_us)
{
    const uint64_t deadline_us = now_us + a->config->answer_timeout_us;
    random_fill(a->random, request->request_id, sizeof(request->request_id));
    /* What nobody waits for is our own work, the end of an orphan. */
    return ticket == CALL_WORKS_NO_TICKET
               ? control_plane_submit(a->plane, w->instance_id, ticket, request, deadline_us)
               : control_plane_submit_operation(a->plane, w->instance_id, ticket, request,
                                                deadline_us);
}

static bool is_not_found(const struct session_outcome *outcome)
{
    return outcome->kind == SESSION_REPLIED && outcome->reply.refusal == CONTROL_NOT_FOUND;
}

/* --- hang-ups --------------------------------------------------------------------------------- */

static void answer_hangup(struct calls_api *a, uint64_t exchange, enum calls_hangup hangup)
{
    const struct http_response r = hangup == CALLS_ENDED ? (struct http_response){.status = 200}
                                   : hangup == CALLS_NOT_FOUND ? call_patch_not_found()
                                                               : call_patch_no_answer();
    metric_add(&a->counts.hangups_total[hangup], 1);
    calls_state_answer(a, exchange, &r);
}

bool call_operations_submit_end(struct calls_api *a, const struct call_work *w, uint64_t ticket,
                                const char *reason, uint64_t now_us)
{
    struct control_request request = {.kind = CONTROL_END_SESSION};
    request.body.end_session.call = call_operations_call_of(w);
    request.body.end_session.reason = bytes_view_of_text(reason);
    return submit(a, w, ticket, &request, now_us);
}

void call_operations_hang_up(struct calls_api *a, const struct call_operation *operation,
                             uint64_t now_us)
{
    uint32_t instance_id = 0;
    if (!call_operations_find_owner(a, operation->call_id, &instance_id)) {
        answer_hangup(a, operation->exchange, CALLS_NOT_FOUND);
        return;
    }
    struct call_work *w = begin(a, CALL_WORK_HANGUP, operation, instance_id, now_us);
    if (w == NULL) {
        answer_hangup(a, operation->exchange, CALLS_NO_ANSWER);
        return;
    }
    if (!call_operations_submit_end(a, w, call_works_ticket(&a->works, w), "hangup", now_us)) {
        answer_hangup(a, operation->exchange, CALLS_NO_ANSWER);
        call_works_finish(&a->works, w);
    }
}

bool call_operations_is_ended(const struct session_outcome *outcome)
{
    return outcome->kind == SESSION_REPLIED && outcome->reply.kind == CONTROL_END_SESSION &&
           outcome->reply.refusal == CONTROL_REFUSAL_NONE;
}

static void take_hangup(struct calls_api *a, struct call_work *w,
                        const struct session_outcome *outcome, uint64_t now_us)
{
    enum calls_hangup hangup = CALLS_NO_ANSWER;
    if (call_operations_is_ended(outcome)) {
        hangup = CALLS_ENDED;
        if (log_limit_pass(&a->hangup_limit, now_us)) {
            log_info("call.hangup call=%s held_back=%llu", w->id.text,
                     (unsigned long long)a->hangup_limit.held_back);
        }
    } else if (is_not_found(outcome)) {
        hangup = CALLS_NOT_FOUND;
    }
    answer_hangup(a, w->exchange, hangup);
}

/* --- updates ---------------------------------------------------------------------------------- */

static void answer_patch(struct calls_api *a, uint64_t exchange, const struct http_response *r,
                         enum call_patch_outcome outcome)
{
    metric_add(&a->counts.patches_total[outcome], 1);
    calls_state_answer(a, exchange, r);
}

/* Whoever waits for new credentials has no sound meanwhile: a lost transceiver is not asked. */
static bool is_live(struct calls_api *a, uint32_t instance_id, uint64_t now_us)
{
    struct fleet *fleet = control_plane_fleet(a->plane);
    return fleet_instance_is_live(fleet_at(fleet, fleet_find(fleet, instance_id)), now_us);
}

static bool submit_update(struct calls_api *a, const struct call_work *w,
                          struct control_request *request, uint64_t now_us)
{
    struct control_update_session *update = &request->body.update_session;
    request->kind = CONTROL_UPDATE_SESSION;
    update->call = call_operations_call_of(w);
    memcpy(update->ingress, a->config->ingress, sizeof(update->ingress));
    update->ingress_count = a->config->ingress_count;
    return submit(a, w, call_works_ticket(&a->works, w), request, now_us);
}

void call_operations_patch(struct calls_api *a, const struct call_operation *operation,
                           const struct http_request *request, uint64_t now_us)
{
    struct control_request update = {0};
    struct http_response response;
    enum call_patch_outcome outcome;
    uint32_t instance_id = 0;
    if (!call_patch_read(request, &update.body.update_session, &response, &outcome)) {
        answer_patch(a, operation->exchange, &response, outcome);
        return;
    }
    if (!call_operations_find_owner(a, operation->call_id, &instance_id)) {
        response = call_patch_not_found();
        answer_patch(a, operation->exchange, &response, CALL_PATCH_NOT_FOUND);
        return;
    }
    struct call_work *w = is_live(a, instance_id, now_us)
                              ? begin(a, CALL_WORK_PATCH, operation, instance_id, now_us)
                              : NULL;
    if (w != NULL && submit_update(a, w, &update, now_us)) {
        return;
    }
    if (w != NULL) {
        call_works_finish(&a->works, w);
    }
    response = call_patch_no_answer();
    answer_patch(a, operation->exchange, &response, CALL_PATCH_NO_ANSWER);
}

static void take_patched(struct calls_api *a, const struct call_work *w,
                         const struct session_outcome *outcome)
{
    enum call_patch_outcome became;
    struct http_response r = call_patch_response(outcome, &became);
    /* The outcome's body ends with this turn, the answer's with its exchange. */
    if (r.body.len > 0 && !http_response_own_body(&r, r.body)) {
        r = call_patch_no_answer();
        became = CALL_PATCH_NO_ANSWER;
    }
    answer_patch(a, w->exchange, &r, became);
}

/* --- looks ------------------------------------------------------------------------------------ */

void call_operations_look(struct calls_api *a, const struct call_operation *operation,
                          uint64_t now_us)
{
    uint32_t instance_id = 0;
    struct control_request request = {.kind = CONTROL_GET_SESSION};
    struct http_response response = call_patch_not_found();
    if (call_operations_find_owner(a, operation->call_id, &instance_id)) {
        struct call_work *w = begin(a, CALL_WORK_LOOK, operation, instance_id, now_us);
        if (w != NULL) {
            request.body.get_session.call = call_operations_call_of(w);
            if (submit(a, w, call_works_ticket(&a->works, w), &request, now_us)) {
                return;
            }
            call_works_finish(&a->works, w);
        }
        response = call_patch_no_answer();
    }
    calls_state_answer(a, operation->exchange, &response);
}

static bool is_there(const struct session_outcome *outcome)
{
    return outcome->kind == SESSION_REPLIED && outcome->reply.refusal == CONTROL_REFUSAL_NONE &&
           outcome->reply.kind == CONTROL_GET_SESSION;
}

static bool has_ended(const struct session_outcome *outcome)
{
    return is_there(outcome) && outcome->reply.row.state == CONTROL_SESSION_ENDED;
}

/* RFC 9725 leaves GET open: without content it still says that the call is there. */
static void take_look(struct calls_api *a, const struct call_work *w,
                      const struct session_outcome *outcome)
{
    const bool is_over = is_not_found(outcome) || has_ended(outcome);
    const struct http_response r = is_over             ? call_patch_not_found()
                                   : is_there(outcome) ? (struct http_response){.status = 204}
                                                       : call_patch_no_answer();
    calls_state_answer(a, w->exchange, &r);
}

/* --- questions -------------------------------------------------------------------------------- */

/* In one turn: requests of clients come first. */
#define QUESTIONS_MAX 64

static void ask(struct calls_api *a, const struct call_question *question, uint64_t now_us)
{
    struct control_request request = {.kind = CONTROL_GET_SESSION};
    struct call_work *w = call_works_begin_for(&a->works, CALL_WORK_QUESTION, 0,
                                               bytes_view_of_text(question->call.call_id),
                                               question->instance_id, now_us);
    if (w == NULL) {
        return; /* it will be asked again */
    }
    memcpy(w->tenant, question->call.tenant, sizeof(w->tenant));
    request.body.get_session.call = question->call;
    if (!submit(a, w, call_works_ticket(&a->works, w), &request, now_us)) {
        call_works_finish(&a->works, w);
    }
}

void call_operations_ask(struct calls_api *a, uint64_t now_us)
{
    struct call_question question;
    for (int i = 0; i < QUESTIONS_MAX && !a->is_draining &&
                    call_watch_next_question(control_plane_watch(a->plane), &question, now_us);
         i++) {
        if (is_live(a, question.instance_id, now_us)) {
            ask(a, &question, now_us);
        }
    }
}

static void take_answer_to_question(struct calls_api *a, const struct call_work *w,
                                    const struct session_outcome *outcome)
{
    struct call_watch *watch = control_plane_watch(a->plane);
    if (is_not_found(outcome)) {
        call_watch_note_ended(watch, w->id.text, bytes_view_of_text(CALL_WATCH_GONE));
    } else if (has_ended(outcome)) {
        call_watch_note_ended(watch, w->id.text, outcome->reply.end_reason);
    }
}

/* --- outcomes --------------------------------------------------------------------------------- */

void call_operations_outcome(struct calls_api *a, struct call_work *w,
                             const struct session_outcome *outcome, uint64_t now_us)
{
    switch (w->kind) {
    case CALL_WORK_HANGUP:
        take_hangup(a, w, outcome, now_us);
        break;
    case CALL_WORK_PATCH:
        take_patched(a, w, outcome);
        break;
    case CALL_WORK_QUESTION:
        take_answer_to_question(a, w, outcome);
        break;
    default:
        assert(w->kind == CALL_WORK_LOOK);
        take_look(a, w, outcome);
        break;
    }
    call_works_finish(&a->works, w);
}
