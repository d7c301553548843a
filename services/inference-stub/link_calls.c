/* link_calls.c - see link_calls.h */
#include "services/inference-stub/link_calls.h"

#include <stdlib.h>

void link_calls_init(struct link_calls *c)
{
    c->count = 0;
    for (size_t i = 0; i < LINK_CALLS_BUCKETS; i++) {
        LIST_INIT(&c->bucket[i]);
    }
    for (size_t i = 0; i < FRAME_CLASSES; i++) {
        TAILQ_INIT(&c->waiting[i]);
    }
}

void link_calls_clear(struct link_calls *c)
{
    for (size_t i = 0; i < LINK_CALLS_BUCKETS; i++) {
        while (!LIST_EMPTY(&c->bucket[i])) {
            link_calls_remove(c, LIST_FIRST(&c->bucket[i]));
        }
    }
}

static struct call_list *bucket_of(struct link_calls *c, uint32_t handle)
{
    return &c->bucket[handle % LINK_CALLS_BUCKETS];
}

struct call *link_calls_find(struct link_calls *c, uint32_t handle)
{
    struct call *call = LIST_FIRST(bucket_of(c, handle));
    while (call != NULL && call->handle != handle) {
        call = LIST_NEXT(call, bucket);
    }
    return call;
}

struct call *link_calls_add(struct link_calls *c, const struct stub_behaviour *behaviour,
                            uint32_t handle, uint64_t now_us)
{
    struct call *call = c->count == LINK_CALLS_MAX ? NULL : calloc(1, sizeof(*call));
    if (call == NULL) {
        return NULL;
    }
    call->handle = handle;
    call->session = stub_session_create(behaviour, handle, now_us);
    if (call->session == NULL) {
        free(call);
        return NULL;
    }
    LIST_INSERT_HEAD(bucket_of(c, handle), call, bucket);
    c->count++;
    return call;
}

void link_calls_remove(struct link_calls *c, struct call *call)
{
    for (size_t i = 0; i < FRAME_CLASSES; i++) {
        if (call->is_waiting[i]) {
            TAILQ_REMOVE(&c->waiting[i], call, waiting[i]);
        }
    }
    LIST_REMOVE(call, bucket);
    c->count--;
    stub_session_destroy(call->session);
    free(call);
}

void link_calls_let_wait(struct link_calls *c, struct call *call)
{
    for (size_t i = 0; i < FRAME_CLASSES; i++) {
        if (!call->is_waiting[i]) {
            call->is_waiting[i] = true;
            TAILQ_INSERT_TAIL(&c->waiting[i], call, waiting[i]);
        }
    }
}

struct call *link_calls_take(struct link_calls *c, struct backend_frame *out)
{
    for (size_t i = 0; i < FRAME_CLASSES; i++) {
        struct call *call;
        while ((call = TAILQ_FIRST(&c->waiting[i])) != NULL) {
            TAILQ_REMOVE(&c->waiting[i], call, waiting[i]);
            if (stub_session_take(call->session, (enum frame_class)i, out)) {
                TAILQ_INSERT_TAIL(&c->waiting[i], call, waiting[i]);
                return call;
            }
            call->is_waiting[i] = false;
        }
    }
    return NULL;
}

void link_calls_tick(struct link_calls *c, uint64_t now_us)
{
    for (size_t i = 0; i < LINK_CALLS_BUCKETS; i++) {
        struct call *call;
        for (call = LIST_FIRST(&c->bucket[i]); call != NULL; call = LIST_NEXT(call, bucket)) {
            stub_session_tick(call->session, now_us);
            link_calls_let_wait(c, call);
        }
    }
}
