/* call_works.c - see call_works.h */
#include "services/signaling/call_works.h"

#include <assert.h>
#include <stdlib.h>

bool call_works_init(struct call_works *works, size_t count_max)
{
    *works = (struct call_works){.work = calloc(count_max, sizeof(*works->work)),
                                 .count_max = count_max};
    return works->work != NULL;
}

void call_works_deinit(struct call_works *works)
{
    for (size_t i = 0; works->work != NULL && i < works->count_max; i++) {
        offer_request_discard(&works->work[i].offer);
    }
    free(works->work);
}

bool call_works_is_empty(const struct call_works *works)
{
    return works->count == 0;
}

struct call_work *call_works_begin(struct call_works *works, enum call_work_kind kind,
                                   uint64_t exchange, uint64_t now_us)
{
    for (size_t i = 0; i < works->count_max; i++) {
        struct call_work *w = &works->work[i];
        if (w->kind == CALL_WORK_NONE) {
            *w = (struct call_work){.kind = kind,
                                    .generation = w->generation + 1,
                                    .exchange = exchange,
                                    .started_us = now_us};
            works->count++;
            return w;
        }
    }
    return NULL;
}

struct call_work *call_works_begin_for(struct call_works *works, enum call_work_kind kind,
                                       uint64_t exchange, struct bytes_view call_id,
                                       uint32_t instance_id, uint64_t now_us)
{
    assert(call_id.len == CALL_ID_CHARS);
    struct call_work *w = call_works_begin(works, kind, exchange, now_us);
    if (w != NULL) {
        w->instance_id = instance_id;
        memcpy(w->id.text, call_id.data, CALL_ID_CHARS);
    }
    return w;
}

void call_works_finish(struct call_works *works, struct call_work *w)
{
    offer_request_discard(&w->offer);
    w->kind = CALL_WORK_NONE;
    works->count--;
}

uint64_t call_works_ticket(const struct call_works *works, const struct call_work *w)
{
    return (uint64_t)w->generation << 32 | (uint64_t)(w - works->work);
}

struct call_work *call_works_at_ticket(struct call_works *works, uint64_t ticket)
{
    struct call_work *w = &works->work[ticket & UINT32_MAX];
    assert(w->kind != CALL_WORK_NONE && w->generation == ticket >> 32);
    return w;
}

struct call_work *call_works_of_exchange(struct call_works *works, uint64_t exchange)
{
    for (size_t i = 0; works->count > 0 && i < works->count_max; i++) {
        if (works->work[i].kind != CALL_WORK_NONE && works->work[i].exchange == exchange) {
            return &works->work[i];
        }
    }
    return NULL;
}
