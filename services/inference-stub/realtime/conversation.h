/*
 * conversation.h - the items of a conversation, in order
 *
 * Owns:    its items.
 * Full:    beyond REALTIME_ITEMS_MAX or REALTIME_ITEMS_BYTES_MAX the first item goes that is not
 *          being written. It is forgotten, not deleted: what a client shows stays as it is.
 */
#ifndef EARSHOT_CONVERSATION_H
#define EARSHOT_CONVERSATION_H

#include "services/inference-stub/realtime/conversation_item.h"

struct conversation {
    struct conversation_item *items[REALTIME_ITEMS_MAX];
    size_t count;
    const struct conversation_item *written; /* by the active response; NULL: none */
};

void conversation_clear(struct conversation *c);

/* Borrowed until the next add or remove. NULL: there is none. */
struct conversation_item *conversation_find(const struct conversation *c, const char *id);
struct conversation_item *conversation_last(const struct conversation *c);
/* The id of the one before; NULL for the first. */
const char *conversation_previous_id(const struct conversation *c,
                                     const struct conversation_item *item);

#define CONVERSATION_ROOT "root" /* the place before the first item */

/* after: the id of the item before, CONVERSATION_ROOT, or NULL for the end. The item moves to the
 * conversation. */
void conversation_add(struct conversation *c, struct conversation_item *item, const char *after);
void conversation_remove(struct conversation *c, struct conversation_item *item);

#endif
