/* message_outbox.c - see message_outbox.h */
#include "services/inference-stub/message_outbox.h"

#include <assert.h>
#include <stdlib.h>

/* What EVENT's flag says of its receiver. */
#define FLAG_OF_ONE 0x01

struct outbox_entry {
    STAILQ_ENTRY(outbox_entry) next;
    struct outbox_message message;
    uint8_t copied[];
};

void message_outbox_init(struct message_outbox *o)
{
    *o = (struct message_outbox){0};
    STAILQ_INIT(&o->waiting);
}

void message_outbox_clear(struct message_outbox *o)
{
    struct outbox_entry *entry;
    while ((entry = STAILQ_FIRST(&o->waiting)) != NULL) {
        STAILQ_REMOVE_HEAD(&o->waiting, next);
        free(entry);
    }
    free(o->copy);
    message_outbox_init(o);
}

static struct bytes_view copy_bytes(struct bytes_view from, uint8_t *to)
{
    if (from.len > 0) {
        memcpy(to, from.data, from.len);
    }
    return bytes_view_of(to, from.len);
}

bool message_outbox_put(struct message_outbox *o, const struct outbox_message *message)
{
    const size_t len = message->head.len + message->bytes.len;
    if (o->count == OUTBOX_MESSAGES || len > OUTBOX_BYTES - o->waiting_bytes) {
        return false;
    }
    struct outbox_entry *entry = malloc(sizeof(*entry) + len);
    if (entry == NULL) {
        return false;
    }
    entry->message = *message;
    entry->message.head = copy_bytes(message->head, entry->copied);
    entry->message.bytes = copy_bytes(message->bytes, entry->copied + message->head.len);
    STAILQ_INSERT_TAIL(&o->waiting, entry, next);
    o->count++;
    o->waiting_bytes += len;
    return true;
}

bool message_outbox_is_empty(const struct message_outbox *o)
{
    return !o->has_current && o->count == 0;
}

void message_outbox_rewind(struct message_outbox *o)
{
    o->is_head_sent = false;
    o->sent_bytes = 0;
}

void message_outbox_lend(struct message_outbox *o, const struct outbox_message *message)
{
    assert(message_outbox_is_empty(o));
    o->has_current = true;
    o->current = *message;
    message_outbox_rewind(o);
}

/* The message taken last may still be read from: its copy is freed here. */
static bool begin_next(struct message_outbox *o)
{
    free(o->copy);
    o->copy = STAILQ_FIRST(&o->waiting);
    if (o->copy == NULL) {
        return false;
    }
    STAILQ_REMOVE_HEAD(&o->waiting, next);
    o->count--;
    o->waiting_bytes -= o->copy->message.head.len + o->copy->message.bytes.len;
    o->has_current = true;
    o->current = o->copy->message;
    message_outbox_rewind(o);
    return true;
}

bool message_outbox_take(struct message_outbox *o, struct backend_frame *out)
{
    if (!o->has_current && !begin_next(o)) {
        return false;
    }
    const struct outbox_message *m = &o->current;
    *out = (struct backend_frame){.type = m->type, .utterance = m->sideband};
    out->flags = m->is_of_one ? FLAG_OF_ONE : 0;
    if (m->type == BACKEND_CHANNEL_DATA && !o->is_head_sent) {
        o->is_head_sent = true;
        out->payload = m->head;
        return true;
    }
    const size_t left = m->bytes.len - o->sent_bytes;
    const size_t len = left < BACKEND_CHUNK_BYTES ? left : BACKEND_CHUNK_BYTES;
    out->payload = bytes_view_of(m->bytes.data + o->sent_bytes, len);
    o->sent_bytes += len;
    if (len == left) {
        out->flags |= BACKEND_FLAG_LAST;
        o->has_current = false;
    }
    return true;
}
