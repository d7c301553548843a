/* call_watch.c - see call_watch.h */
#include "services/signaling/call_watch.h"

#include <stdlib.h>

/* How often leases are looked at: a lease that ran out is told within a second. */
#define LOOK_US (250 * US_PER_MS)

struct watched {
    bool is_used;
    bool is_unreachable;
    bool is_ended;
    uint32_t generation; /* of its place, never 0 in use */
    uint32_t instance_id;
    enum call_watch_listener listener;
    uint64_t owner;
    uint64_t ask_us;
    struct control_call call;
    char reason[CONTROL_TEXT_CHARS_MAX + 1];
};

struct call_watch {
    size_t end;    /* places in use lie below */
    size_t cursor; /* whose news are told next */
    bool has_news; /* somebody's, perhaps */
    uint64_t look_us;
    uint64_t ask_us; /* nobody is asked for before */
    struct watched watched[CALL_WATCH_MAX];
};

struct call_watch *call_watch_create(void)
{
    return calloc(1, sizeof(struct call_watch));
}

void call_watch_destroy(struct call_watch *w)
{
    free(w);
}

static uint64_t handle_of(const struct call_watch *w, const struct watched *call)
{
    return (uint64_t)call->generation << 32 | (uint64_t)(call - w->watched);
}

uint64_t call_watch_add(struct call_watch *w, const struct control_call *call, uint32_t instance_id,
                        enum call_watch_listener listener, uint64_t owner, uint64_t now_us)
{
    size_t i = 0;
    while (i < CALL_WATCH_MAX && w->watched[i].is_used) {
        i++;
    }
    if (i == CALL_WATCH_MAX) {
        return 0;
    }
    struct watched *watched = &w->watched[i];
    const uint32_t generation = watched->generation == UINT32_MAX ? 1 : watched->generation + 1;
    *watched = (struct watched){.is_used = true,
                                .generation = generation,
                                .instance_id = instance_id,
                                .listener = listener,
                                .owner = owner,
                                .ask_us = now_us + CALL_WATCH_ASK_US,
                                .call = *call};
    w->end = i >= w->end ? i + 1 : w->end;
    w->ask_us = time_earlier(w->ask_us, watched->ask_us);
    return handle_of(w, watched);
}

static void forget(struct call_watch *w, struct watched *call)
{
    call->is_used = false;
    while (w->end > 0 && !w->watched[w->end - 1].is_used) {
        w->end--;
    }
}

void call_watch_remove(struct call_watch *w, uint64_t handle)
{
    const size_t i = handle & UINT32_MAX;
    if (i < w->end && w->watched[i].is_used && w->watched[i].generation == handle >> 32) {
        forget(w, &w->watched[i]);
    }
}

void call_watch_note_ended(struct call_watch *w, const char *call_id, struct bytes_view reason)
{
    for (size_t i = 0; i < w->end; i++) {
        struct watched *call = &w->watched[i];
        if (call->is_used && !call->is_ended && strcmp(call->call.call_id, call_id) == 0) {
            const size_t len =
                reason.len < CONTROL_TEXT_CHARS_MAX ? reason.len : CONTROL_TEXT_CHARS_MAX;
            call->is_ended = w->has_news = true;
            if (len > 0) {
                memcpy(call->reason, reason.data, len);
            }
            call->reason[len] = '\0';
        }
    }
}

/* What there is to say of a call; false: nothing new. */
static bool judge(struct watched *call, const struct fleet *fleet, enum call_news_kind *out,
                  uint64_t now_us)
{
    const struct fleet_instance *instance = fleet_at(fleet, fleet_find(fleet, call->instance_id));
    if (!call->is_ended && instance == NULL) {
        static const char lost[] = CALL_WATCH_LOST;
        memcpy(call->reason, lost, sizeof(lost));
        call->is_ended = true;
    }
    if (call->is_ended) {
        *out = CALL_NEWS_ENDED;
        return true;
    }
    const bool is_unreachable = !fleet_instance_is_live(instance, now_us);
    const bool has_changed = is_unreachable != call->is_unreachable;
    call->is_unreachable = is_unreachable;
    *out = is_unreachable ? CALL_NEWS_UNREACHABLE : CALL_NEWS_REACHABLE;
    return has_changed;
}

bool call_watch_next(struct call_watch *w, const struct fleet *fleet, struct call_news *out,
                     uint64_t now_us)
{
    if (!w->has_news && now_us < w->look_us) {
        return false;
    }
    while (w->cursor < w->end) {
        struct watched *call = &w->watched[w->cursor++];
        if (!call->is_used || !judge(call, fleet, &out->kind, now_us)) {
            continue;
        }
        out->handle = handle_of(w, call);
        out->listener = call->listener;
        out->owner = call->owner;
        memcpy(out->reason, call->reason, sizeof(out->reason));
        if (out->kind == CALL_NEWS_ENDED) {
            forget(w, call);
        }
        return true;
    }
    w->cursor = 0;
    w->has_news = false;
    w->look_us = now_us + LOOK_US;
    return false;
}

bool call_watch_next_question(struct call_watch *w, struct call_question *out, uint64_t now_us)
{
    uint64_t next_us = TIME_NEVER;
    if (now_us < w->ask_us) {
        return false;
    }
    for (size_t i = 0; i < w->end; i++) {
        struct watched *call = &w->watched[i];
        if (!call->is_used || call->is_ended) {
            continue;
        }
        if (call->ask_us <= now_us) {
            call->ask_us = now_us + CALL_WATCH_ASK_US;
            *out = (struct call_question){call->call, call->instance_id};
            return true;
        }
        next_us = time_earlier(next_us, call->ask_us);
    }
    w->ask_us = next_us;
    return false;
}
