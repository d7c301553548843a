/* call_index.c - see call_index.h */
#include "services/transceiver/core/session/call_index.h"

#include "common/routing/routing_token.h"

#include <assert.h>
#include <stdlib.h>

/* A session, in the place of its slot, and the next one of its row; 0: it is the last. */
struct entry {
    uint32_t session_id;
    uint32_t next_id;
};

struct call_index {
    size_t capacity;
    size_t row_mask;
    uint32_t *row; /* the first of each; 0: empty */
    struct entry *entry;
};

static size_t rows_for(size_t capacity)
{
    size_t rows = 1;
    while (rows < capacity) {
        rows *= 2;
    }
    return rows;
}

struct call_index *call_index_create(size_t capacity)
{
    struct call_index *x = calloc(1, sizeof(*x));
    if (x == NULL) {
        return NULL;
    }
    const size_t rows = rows_for(capacity);
    x->capacity = capacity;
    x->row_mask = rows - 1;
    x->row = calloc(rows, sizeof(*x->row));
    x->entry = calloc(capacity, sizeof(*x->entry));
    if (x->row == NULL || x->entry == NULL) {
        call_index_destroy(x);
        return NULL;
    }
    return x;
}

void call_index_destroy(struct call_index *x)
{
    if (x == NULL) {
        return;
    }
    free(x->row);
    free(x->entry);
    free(x);
}

/* FNV-1a. */
static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261;
    for (size_t i = 0; text[i] != '\0'; i++) {
        hash = (hash ^ (uint8_t)text[i]) * 16777619;
    }
    return hash;
}

static uint32_t *row_of(const struct call_index *x, const char *call_id)
{
    return &x->row[hash_of(call_id) & x->row_mask];
}

static struct entry *entry_of(const struct call_index *x, uint32_t session_id)
{
    const size_t slot = SESSION_ID_SLOT(session_id);
    assert(slot < x->capacity);
    return &x->entry[slot];
}

void call_index_put(struct call_index *x, const char *call_id, uint32_t session_id)
{
    struct entry *e = entry_of(x, session_id);
    uint32_t *row = row_of(x, call_id);
    assert(e->session_id == 0);
    *e = (struct entry){.session_id = session_id, .next_id = *row};
    *row = session_id;
}

void call_index_remove(struct call_index *x, const char *call_id, uint32_t session_id)
{
    struct entry *e = entry_of(x, session_id);
    uint32_t *link = row_of(x, call_id);
    while (*link != session_id) {
        assert(*link != 0);
        link = &entry_of(x, *link)->next_id;
    }
    *link = e->next_id;
    *e = (struct entry){0};
}

uint32_t call_index_first(const struct call_index *x, const char *call_id)
{
    return *row_of(x, call_id);
}

uint32_t call_index_next(const struct call_index *x, uint32_t session_id)
{
    const struct entry *e = entry_of(x, session_id);
    assert(e->session_id == session_id);
    return e->next_id;
}
