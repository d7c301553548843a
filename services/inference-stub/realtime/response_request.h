/*
 * response_request.h - a wish for a response: what the session says of it, and what its client
 *                      says otherwise
 */
#ifndef EARSHOT_RESPONSE_REQUEST_H
#define EARSHOT_RESPONSE_REQUEST_H

#include "services/inference-stub/realtime/active_response.h"
#include "services/inference-stub/realtime/order_queue.h"
#include "services/inference-stub/realtime/realtime_session.h"

/* overrides: `response` of response.create, absent or of any shape. */
MUST_USE bool response_request_check(const json_t *overrides, struct client_error *error);

struct response_wish response_request_wish(const struct realtime_session *session,
                                           const json_t *overrides);

/* Orders the response that just began. False without memory. */
MUST_USE bool response_request_order(struct order_queue *orders,
                                     const struct realtime_session *session,
                                     const struct conversation *conversation,
                                     const struct active_response *response, uint32_t spoken_turns,
                                     const json_t *overrides);

#endif
