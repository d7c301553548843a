/* sideband_outbox.c - see sideband_outbox.h */
#include "services/transceiver/core/sideband_outbox.h"

#include <assert.h>
#include <stdlib.h>

struct sideband_outbox {
    size_t cap;
    size_t len;
    uint8_t *bytes; /* a struct sideband_message, its text, the next one */
};

struct sideband_outbox *sideband_outbox_create(size_t bytes_cap)
{
    struct sideband_outbox *o = calloc(1, sizeof(*o));
    if (o == NULL) {
        return NULL;
    }
    o->cap = bytes_cap;
    o->bytes = malloc(bytes_cap);
    if (o->bytes == NULL) {
        sideband_outbox_destroy(o);
        return NULL;
    }
    return o;
}

void sideband_outbox_destroy(struct sideband_outbox *o)
{
    if (o != NULL) {
        free(o->bytes);
        free(o);
    }
}

bool sideband_outbox_add(struct sideband_outbox *o, const struct sideband_message *m)
{
    assert(m->waiting_count <= SIDEBANDS_MAX);
    const size_t left = o->cap - o->len;
    if (left < sizeof(*m) || left - sizeof(*m) < m->text.len) {
        return false;
    }
    memcpy(o->bytes + o->len, m, sizeof(*m));
    o->len += sizeof(*m);
    if (m->text.len > 0) {
        memcpy(o->bytes + o->len, m->text.data, m->text.len);
        o->len += m->text.len;
    }
    return true;
}

bool sideband_outbox_next(const struct sideband_outbox *o, size_t *cursor,
                          struct sideband_message *out)
{
    if (*cursor >= o->len) {
        return false;
    }
    memcpy(out, o->bytes + *cursor, sizeof(*out));
    *cursor += sizeof(*out);
    out->text.data = o->bytes + *cursor;
    *cursor += out->text.len;
    return true;
}

void sideband_outbox_clear(struct sideband_outbox *o)
{
    o->len = 0;
}
