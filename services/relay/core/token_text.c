/* token_text.c - see token_text.h */
#include "services/relay/core/token_text.h"

static enum forward_reason reason_of(enum routing_token_result result)
{
    static const enum forward_reason reason[] = {
        [ROUTING_TOKEN_OK] = FORWARD_UP_TOKEN,
        [ROUTING_TOKEN_FORM] = FORWARD_UP_TOKEN_FORM,
        [ROUTING_TOKEN_UNKNOWN_KEY] = FORWARD_UP_TOKEN_KEY,
        [ROUTING_TOKEN_FORGED] = FORWARD_UP_TOKEN_FORGED,
    };
    return reason[result];
}

enum forward_reason token_text_find(struct key_ring *ring, struct bytes_view username,
                                    struct bytes_view *out)
{
    const uint8_t *colon = username.len > 0 ? memchr(username.data, ':', username.len) : NULL;
    if (colon == NULL) {
        return FORWARD_UP_USERNAME;
    }
    *out = bytes_view_of(username.data, (size_t)(colon - username.data));
    return reason_of(routing_token_peek(ring, *out));
}

enum forward_reason token_text_open(struct key_ring *ring, struct bytes_view text,
                                    uint16_t cluster_id, struct routing_token *out)
{
    uint8_t key_id = 0;
    const enum routing_token_result result = routing_token_open(ring, text, out, &key_id);
    if (result != ROUTING_TOKEN_OK) {
        return reason_of(result);
    }
    return out->cluster_id == cluster_id ? FORWARD_UP_TOKEN : FORWARD_UP_TOKEN_CLUSTER;
}
