/*
 * routing_token.h - the server's ICE ufrag as an encrypted route (docs/wire-formats.md, 2)
 *
 * 23 ice-chars: key id, then one AES block in base64. Says which transceiver of which cluster owns
 * a call; holds no address. Opening is one block cipher call.
 */
#ifndef EARSHOT_ROUTING_TOKEN_H
#define EARSHOT_ROUTING_TOKEN_H

#include "common/routing/key_ring.h"

#define ROUTING_TOKEN_CHARS 23

/* session id = [shard 6 | slot 18 | generation 8] */
#define SESSION_ID_SHARD(id)      ((uint32_t)(id) >> 26)
#define SESSION_ID_SLOT(id)       ((uint32_t)(id) >> 8 & 0x3ffffu)
#define SESSION_ID_GENERATION(id) ((uint32_t)(id)&0xffu)
/* Below every id of the shard. */
#define SESSION_ID_FIRST(shard) ((uint32_t)(shard) << 26)

struct routing_token {
    uint16_t cluster_id;
    uint32_t instance_id;
    uint32_t session_id;
    uint8_t restart; /* ICE restart counter */
};

enum routing_token_result {
    ROUTING_TOKEN_OK,
    ROUTING_TOKEN_FORM,        /* not 23 ice-chars, or spare bits set */
    ROUTING_TOKEN_UNKNOWN_KEY, /* the ring has no such key id */
    ROUTING_TOKEN_FORGED       /* the 40 check bits are not zero */
};

/* What is left to find out by the cipher; ROUTING_TOKEN_OK: all of it. Costs no cipher call. */
enum routing_token_result routing_token_peek(struct key_ring *ring, struct bytes_view text);

/* With the ring's active key. text holds exactly ROUTING_TOKEN_CHARS characters, no NUL. */
void routing_token_seal(struct key_ring *ring, const struct routing_token *token,
                        char text[ROUTING_TOKEN_CHARS]);
/* *out and *out_key_id are set only on ROUTING_TOKEN_OK. */
enum routing_token_result routing_token_open(struct key_ring *ring, struct bytes_view text,
                                             struct routing_token *out, uint8_t *out_key_id);

#endif
