/* realtime_machine.c - see realtime_machine.h */
#include "services/inference-stub/realtime/realtime_machine.h"

#include "services/inference-stub/realtime/response_request.h"

void realtime_machine_respond(struct realtime *r, const json_t *overrides)
{
    const struct response_wish wish = response_request_wish(&r->session, overrides);
    active_response_begin(&r->response, &wish);
    if (!response_request_order(&r->orders, &r->session, &r->conversation, &r->response,
                                r->input.spoken_turns, overrides)) {
        active_response_fail(&r->response, "server_error", "Out of memory.");
    }
}

void realtime_machine_cancel(struct realtime *r, const char *reason)
{
    if (r->response.state != RESPONSE_IDLE) {
        order_queue_add(&r->orders,
                        &(struct queued_order){
                            .order = {.type = REALTIME_CANCEL, .response = r->response.number}});
        active_response_cancel(&r->response, reason);
    }
}

void realtime_machine_go_on(struct realtime *r)
{
    if (r->answer_waits && r->response.state == RESPONSE_IDLE) {
        r->answer_waits = false;
        realtime_machine_respond(r, NULL);
    }
}

void realtime_machine_detect_turns(struct realtime *r)
{
    const struct realtime_turn_detection wanted = realtime_session_turn_detection(&r->session);
    order_queue_add(&r->orders, &(struct queued_order){.order = {.type = REALTIME_TURN_DETECTION,
                                                                 .turn_detection = wanted}});
}
