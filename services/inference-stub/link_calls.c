/* link_calls.c - see link_calls.h */
#include "services/inference-stub/link_calls.h"

#include "services/inference-stub/session_shelf.h"

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

static struct call *adopt(struct link_calls *c, struct stub_session *session, uint32_t handle)
{
    struct call *call = c->count == LINK_CALLS_MAX ? NULL : calloc(1, sizeof(*call));
    if (call == NULL) {
        stub_session_destroy(session);
        return NULL;
    }
    call->handle = handle;
    call->session = session;
    LIST_INSERT_HEAD(bucket_of(c, handle), call, bucket);
    c->count++;
    return call;
}

struct call *link_calls_add(struct link_calls *c, const struct stub_behaviour *behaviour,
                            uint32_t handle, uint64_t now_us)
{
    struct stub_session *session =
        c->count == LINK_CALLS_MAX ? NULL : stub_session_create(behaviour, handle, now_us);
    return session == NULL ? NULL : adopt(c, session, handle);
}

struct call *link_calls_resume(struct link_calls *c, const struct stub_behaviour *behaviour,
                               const struct backend_frame *frame, uint64_t now_us)
{
    struct backend_resume resume;
    struct stub_session *session = NULL;
    if (behaviour->shelf != NULL && backend_resume_decode(frame->payload, &resume)) {
        session = session_shelf_take(behaviour->shelf, resume.token, now_us);
    }
    if (session == NULL) {
        return link_calls_add(c, behaviour, frame->session, now_us);
    }
    stub_session_resume(session, frame->session, &resume, now_us);
    return adopt(c, session, frame->session);
}

static struct stub_session *remove_call(struct link_calls *c, struct call *call)
{
    struct stub_session *session = call->session;
    for (size_t i = 0; i < FRAME_CLASSES; i++) {
        if (call->is_waiting[i]) {
            TAILQ_REMOVE(&c->waiting[i], call, waiting[i]);
        }
    }
    LIST_REMOVE(call, bucket);
    c->count--;
    free(call);
    return session;
}

void link_calls_remove(struct link_calls *c, struct call *call)
{
    stub_session_destroy(remove_call(c, call));
}

void link_calls_shelve(struct link_calls *c, struct session_shelf *shelf, uint64_t now_us)
{
    for (size_t i = 0; i < LINK_CALLS_BUCKETS; i++) {
        while (!LIST_EMPTY(&c->bucket[i])) {
            struct stub_session *session = remove_call(c, LIST_FIRST(&c->bucket[i]));
            if (stub_session_can_resume(session)) {
                session_shelf_put(shelf, session, now_us);
            } else {
                stub_session_destroy(session);
            }
        }
    }
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
