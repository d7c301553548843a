/* conversation.c - see conversation.h */
#include "services/inference-stub/realtime/conversation.h"

#include <assert.h>

void conversation_clear(struct conversation *c)
{
    for (size_t i = 0; i < c->count; i++) {
        conversation_item_destroy(c->items[i]);
    }
    c->count = 0;
}

static size_t index_of(const struct conversation *c, const char *id)
{
    size_t i = 0;
    while (i < c->count && strcmp(c->items[i]->id, id) != 0) {
        i++;
    }
    return i;
}

struct conversation_item *conversation_find(const struct conversation *c, const char *id)
{
    const size_t i = index_of(c, id);
    return i < c->count ? c->items[i] : NULL;
}

struct conversation_item *conversation_last(const struct conversation *c)
{
    return c->count == 0 ? NULL : c->items[c->count - 1];
}

const char *conversation_previous_id(const struct conversation *c,
                                     const struct conversation_item *item)
{
    const size_t i = index_of(c, item->id);
    assert(i < c->count);
    return i == 0 ? NULL : c->items[i - 1]->id;
}

static void remove_at(struct conversation *c, size_t index)
{
    conversation_item_destroy(c->items[index]);
    c->count--;
    for (size_t i = index; i < c->count; i++) {
        c->items[i] = c->items[i + 1];
    }
}

static size_t bytes_of(const struct conversation *c)
{
    size_t bytes = 0;
    for (size_t i = 0; i < c->count; i++) {
        bytes += c->items[i]->cost_bytes;
    }
    return bytes;
}

/* Until `bytes` more in one item more are within the bounds. */
static void make_room(struct conversation *c, size_t bytes)
{
    size_t all = bytes_of(c);
    size_t first = 0;
    while (first < c->count &&
           (c->count == REALTIME_ITEMS_MAX || all + bytes > REALTIME_ITEMS_BYTES_MAX)) {
        if (c->items[first] == c->written) {
            first++;
            continue;
        }
        all -= c->items[first]->cost_bytes;
        remove_at(c, first);
    }
}

/* An item that was forgotten to make room stood before all others. */
static size_t place_after(const struct conversation *c, const char *after)
{
    if (after == NULL) {
        return c->count;
    }
    const size_t i = index_of(c, after);
    return i < c->count ? i + 1 : 0;
}

void conversation_add(struct conversation *c, struct conversation_item *item, const char *after)
{
    make_room(c, item->cost_bytes);
    assert(c->count < REALTIME_ITEMS_MAX);
    const size_t place = place_after(c, after);
    for (size_t i = c->count; i > place; i--) {
        c->items[i] = c->items[i - 1];
    }
    c->items[place] = item;
    c->count++;
}

void conversation_remove(struct conversation *c, struct conversation_item *item)
{
    const size_t i = index_of(c, item->id);
    assert(i < c->count);
    if (item == c->written) {
        c->written = NULL;
    }
    remove_at(c, i);
}
