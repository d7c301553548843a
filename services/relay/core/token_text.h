/*
 * token_text.h - the routing token in the USERNAME of a client's request
 *
 * Takes:   a USERNAME; later the token's text alone.
 * Gives:   FORWARD_UP_TOKEN, or the reason for which the request is dropped. In two steps: what the
 *          text alone tells costs next to nothing, the cipher is the second step.
 */
#ifndef EARSHOT_TOKEN_TEXT_H
#define EARSHOT_TOKEN_TEXT_H

#include "common/routing/routing_token.h"
#include "services/relay/core/forward_reason.h"

/* *out: the text, borrowed. Any other reason than FORWARD_UP_TOKEN: no cipher need look at it. */
enum forward_reason token_text_find(struct key_ring *ring, struct bytes_view username,
                                    struct bytes_view *out);
/* *out is to be trusted only with FORWARD_UP_TOKEN. */
enum forward_reason token_text_open(struct key_ring *ring, struct bytes_view text,
                                    uint16_t cluster_id, struct routing_token *out);

#endif
