/*
 * reply_store.h - replies by the id of their request, for who asks the same again
 *
 * Why:     NNG sends a request again when its answer is late: what it does is done once.
 * Owns:    a copy of each, wiped before it is freed: it may hold the ICE password of a call.
 * Bounds:  REPLY_STORE_MAX, the oldest is forgotten; each for REPLY_STORE_US.
 */
#ifndef EARSHOT_REPLY_STORE_H
#define EARSHOT_REPLY_STORE_H

#include "common/base/time_us.h"
#include "common/control/control_message.h"

#define REPLY_STORE_MAX 4096
#define REPLY_STORE_US  (30 * US_PER_S)

struct reply_store;

/* NULL without memory. */
MUST_USE struct reply_store *reply_store_create(void);
void reply_store_destroy(struct reply_store *s);

/* Borrowed until the next put. False: none. */
MUST_USE bool reply_store_find(const struct reply_store *s,
                               const uint8_t id[CONTROL_REQUEST_ID_BYTES], struct bytes_view *out,
                               uint64_t now_us);
/* Without memory it is not kept. */
void reply_store_put(struct reply_store *s, const uint8_t id[CONTROL_REQUEST_ID_BYTES],
                     struct bytes_view reply, uint64_t now_us);

#endif
