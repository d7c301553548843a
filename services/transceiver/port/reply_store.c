/* reply_store.c - see reply_store.h */
#include "services/transceiver/port/reply_store.h"

#include <stdlib.h>

struct stored_reply {
    uint8_t id[CONTROL_REQUEST_ID_BYTES];
    uint64_t until_us;
    uint8_t *message; /* NULL: nothing stored */
    size_t len;
};

struct reply_store {
    struct stored_reply reply[REPLY_STORE_MAX]; /* a ring */
    size_t next;
};

struct reply_store *reply_store_create(void)
{
    return calloc(1, sizeof(struct reply_store));
}

static void forget(struct stored_reply *reply)
{
    if (reply->message != NULL) {
        explicit_bzero(reply->message, reply->len);
        free(reply->message);
    }
    *reply = (struct stored_reply){0};
}

void reply_store_destroy(struct reply_store *s)
{
    for (size_t i = 0; s != NULL && i < REPLY_STORE_MAX; i++) {
        forget(&s->reply[i]);
    }
    free(s);
}

bool reply_store_find(const struct reply_store *s, const uint8_t id[CONTROL_REQUEST_ID_BYTES],
                      struct bytes_view *out, uint64_t now_us)
{
    for (size_t i = 0; i < REPLY_STORE_MAX; i++) {
        const struct stored_reply *reply = &s->reply[i];
        if (reply->message != NULL && now_us < reply->until_us &&
            memcmp(reply->id, id, sizeof(reply->id)) == 0) {
            *out = bytes_view_of(reply->message, reply->len);
            return true;
        }
    }
    return false;
}

void reply_store_put(struct reply_store *s, const uint8_t id[CONTROL_REQUEST_ID_BYTES],
                     struct bytes_view reply, uint64_t now_us)
{
    struct stored_reply *slot = &s->reply[s->next];
    s->next = (s->next + 1) % REPLY_STORE_MAX;
    forget(slot);
    slot->message = malloc(reply.len);
    if (slot->message == NULL) {
        return;
    }
    memcpy(slot->message, reply.data, reply.len);
    memcpy(slot->id, id, sizeof(slot->id));
    slot->len = reply.len;
    slot->until_us = now_us + REPLY_STORE_US;
}
