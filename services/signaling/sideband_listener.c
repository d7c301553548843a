/* sideband_listener.c - see sideband_listener.h */
#include "services/signaling/sideband_listener.h"

#include <assert.h>

/* What could not be sent, or was refused for now. */
#define AGAIN_US (50 * US_PER_MS)

/* --- life ------------------------------------------------------------------------------------- */

void sideband_listener_init(struct sideband_listener *l, const struct control_call *call,
                            uint32_t id, struct random_source random, uint64_t now_us)
{
    assert(id != 0);
    *l = (struct sideband_listener){
        .call = *call,
        .id = id,
        .random = random,
        .attach_us = now_us,
        .deadline_us = now_us + SIDEBAND_ATTACH_US,
        .late_us = TIME_NEVER,
    };
}

void sideband_listener_deinit(struct sideband_listener *l)
{
    sideband_queue_clear(&l->inbox);
    sideband_queue_clear(&l->outbox);
}

static void say_last(struct sideband_listener *l, enum sideband_news_kind kind)
{
    if (!l->has_last) {
        l->has_last = true;
        l->last = kind;
        l->late_us = TIME_NEVER;
    }
}

bool sideband_listener_send(struct sideband_listener *l, struct bytes_view event)
{
    struct sideband_queued queued = {.text = event};
    if (l->has_last || l->is_closing) {
        return true; /* its application will know soon */
    }
    random_fill(l->random, queued.request_id, sizeof(queued.request_id));
    return event.len <= CONTROL_EVENT_BYTES_MAX && sideband_queue_put(&l->outbox, &queued);
}

void sideband_listener_close(struct sideband_listener *l, uint64_t now_us)
{
    if (!l->is_closing) {
        l->is_closing = true;
        l->deadline_us = now_us + SIDEBAND_LINGER_US;
        sideband_queue_clear(&l->inbox);
        l->has_lent = false;
    }
}

void sideband_listener_lose(struct sideband_listener *l)
{
    say_last(l, SIDEBAND_LOST);
}

bool sideband_listener_is_over(const struct sideband_listener *l)
{
    return l->state == SIDEBAND_LISTENER_OVER;
}

/* --- requests --------------------------------------------------------------------------------- */

static void fill_attach(struct sideband_listener *l, uint32_t lease_ms, struct control_request *out)
{
    *out = (struct control_request){
        .kind = CONTROL_ATTACH_SIDEBAND,
        .body.attach_sideband = {.call = l->call, .sideband_id = l->id, .lease_ms = lease_ms}};
    random_fill(l->random, out->request_id, sizeof(out->request_id));
}

/* Closed, and all was said, or there is no more time or sense in it. */
static bool is_to_leave(const struct sideband_listener *l, uint64_t now_us)
{
    const bool is_silent = l->outbox.count == 0 && !l->is_inject_under_way;
    return l->is_closing && (is_silent || l->has_last || now_us >= l->deadline_us);
}

static bool leave(struct sideband_listener *l, struct control_request *out)
{
    l->state = SIDEBAND_LISTENER_OVER;
    if (l->may_be_attached) {
        fill_attach(l, 0, out);
    }
    return l->may_be_attached;
}

bool sideband_listener_poll_request(struct sideband_listener *l, struct control_request *out,
                                    uint64_t now_us)
{
    if (l->state == SIDEBAND_LISTENER_OVER) {
        return false;
    }
    if (is_to_leave(l, now_us)) {
        return leave(l, out);
    }
    if (l->has_last) {
        return false;
    }
    if (!l->is_attach_under_way && now_us >= l->attach_us) {
        fill_attach(l, SIDEBAND_LEASE_MS, out);
        l->is_attach_under_way = l->may_be_attached = true;
        return true;
    }
    const struct sideband_queued *event = sideband_queue_peek(&l->outbox);
    if (l->state != SIDEBAND_LISTENER_OPEN || l->is_inject_under_way || event == NULL ||
        now_us < l->inject_us) {
        return false;
    }
    *out = (struct control_request){
        .kind = CONTROL_INJECT_EVENT,
        .body.inject_event = {.call = l->call, .sideband_id = l->id, .event = event->text}};
    memcpy(out->request_id, event->request_id, sizeof(out->request_id));
    l->is_inject_under_way = true;
    return true;
}

/* --- outcomes --------------------------------------------------------------------------------- */

/* It must come soon, or else. */
static void expect_by(struct sideband_listener *l, uint64_t sequence,
                      enum sideband_news_kind otherwise, uint64_t now_us)
{
    if (l->late_us == TIME_NEVER && sequence > l->sequence) {
        l->late_us = now_us + SIDEBAND_LATE_US;
        l->late_sequence = sequence;
        l->late_means = otherwise;
    }
}

static void take_attached(struct sideband_listener *l, const struct control_reply *reply,
                          uint64_t now_us)
{
    l->attach_us = now_us + SIDEBAND_RENEW_US;
    if (l->state == SIDEBAND_LISTENER_WAITING) {
        l->state = SIDEBAND_LISTENER_OPEN;
        l->sequence = reply->sideband_sequence;
    } else if (reply->is_new_sideband) {
        say_last(l, SIDEBAND_GAP); /* the lease had ended: who knows what was missed */
    } else {
        expect_by(l, reply->sideband_sequence, SIDEBAND_GAP, now_us);
    }
}

static void take_attach_refused(struct sideband_listener *l, enum control_refusal refusal,
                                uint64_t now_us)
{
    const bool was_open = l->state == SIDEBAND_LISTENER_OPEN;
    l->may_be_attached = false;
    l->attach_us = TIME_NEVER;
    switch (refusal) {
    case CONTROL_NOT_FOUND:
        if (was_open) { /* the event that says why is on its way, if it was not lost */
            expect_by(l, l->sequence + 1, SIDEBAND_CALL_ENDED, now_us);
        } else {
            say_last(l, SIDEBAND_NOT_FOUND);
        }
        break;
    case CONTROL_FULL:
        say_last(l, was_open ? SIDEBAND_GAP : SIDEBAND_FULL);
        break;
    default: /* a transceiver of another version, or a broken one */
        say_last(l, SIDEBAND_LOST);
        break;
    }
}

static void take_attach(struct sideband_listener *l, const struct session_outcome *outcome,
                        uint64_t now_us)
{
    l->is_attach_under_way = false;
    if (outcome->kind != SESSION_REPLIED) {
        l->attach_us = now_us + AGAIN_US;
    } else if (outcome->reply.refusal != CONTROL_REFUSAL_NONE) {
        take_attach_refused(l, outcome->reply.refusal, now_us);
    } else {
        take_attached(l, &outcome->reply, now_us);
    }
}

/* A refusal is kept there under its request id: who asks once more needs another one. */
static void inject_again(struct sideband_listener *l, uint32_t after_ms, uint64_t now_us)
{
    sideband_queue_rename_first(&l->outbox, l->random);
    l->inject_us = now_us + time_later(after_ms * US_PER_MS, AGAIN_US);
}

static void take_inject(struct sideband_listener *l, const struct session_outcome *outcome,
                        uint64_t now_us)
{
    l->is_inject_under_way = false;
    if (outcome->kind != SESSION_REPLIED) {
        l->inject_us = now_us + AGAIN_US; /* the same request: it is not taken twice */
    } else if (outcome->reply.refusal == CONTROL_BACKEND_UNAVAILABLE) {
        inject_again(l, outcome->reply.retry_after_ms, now_us);
    } else {
        sideband_queue_drop(&l->outbox);
        if (outcome->reply.refusal == CONTROL_NOT_FOUND && l->attach_us != TIME_NEVER) {
            l->attach_us = now_us; /* what has become of the call, or of the lease? */
        }
    }
}

void sideband_listener_take_outcome(struct sideband_listener *l, enum control_request_kind kind,
                                    const struct session_outcome *outcome, uint64_t now_us)
{
    if (l->has_last || l->state == SIDEBAND_LISTENER_OVER) {
        l->is_inject_under_way = l->is_inject_under_way && kind != CONTROL_INJECT_EVENT;
    } else if (kind == CONTROL_ATTACH_SIDEBAND) {
        take_attach(l, outcome, now_us);
    } else {
        take_inject(l, outcome, now_us);
    }
}

/* --- events ----------------------------------------------------------------------------------- */

static bool is_for(const struct control_sideband_event *e, uint32_t id)
{
    if (e->is_end || e->sideband_id != 0) {
        return e->is_end || e->sideband_id == id;
    }
    for (size_t i = 0; i < e->waiting_count; i++) {
        if (e->waiting[i] == id) {
            return false;
        }
    }
    return true;
}

void sideband_listener_hear(struct sideband_listener *l, const struct control_sideband_event *e)
{
    const bool is_for_us = is_for(e, l->id);
    const struct sideband_queued queued = {
        .sequence = e->sequence,
        .is_for_us = is_for_us,
        .is_end = e->is_end,
        .text = is_for_us ? e->text : (struct bytes_view){0},
    };
    if (l->may_be_attached && !l->has_last && !l->is_closing &&
        !sideband_queue_put(&l->inbox, &queued)) {
        say_last(l, SIDEBAND_GAP);
    }
}

static void count_event(struct sideband_listener *l)
{
    l->sequence++;
    if (l->sequence >= l->late_sequence) {
        l->late_us = TIME_NEVER;
    }
}

static void drop_lent(struct sideband_listener *l)
{
    if (l->has_lent) {
        sideband_queue_drop(&l->inbox);
        l->has_lent = false;
    }
}

/* The next event that is news; the others on the way to it are counted and dropped. */
static const struct sideband_queued *next_event(struct sideband_listener *l)
{
    const struct sideband_queued *event = NULL;
    while ((event = sideband_queue_peek(&l->inbox)) != NULL) {
        if (event->sequence > l->sequence + 1) {
            say_last(l, SIDEBAND_GAP);
            sideband_queue_clear(&l->inbox);
            return NULL;
        }
        const bool is_next = event->sequence == l->sequence + 1;
        if (is_next) {
            count_event(l);
        }
        if (is_next && event->is_for_us) {
            return event;
        }
        sideband_queue_drop(&l->inbox);
    }
    return NULL;
}

static bool poll_last(struct sideband_listener *l, enum sideband_news_kind *kind)
{
    if (!l->has_last || l->is_last_told) {
        return false;
    }
    l->is_last_told = true;
    *kind = l->last;
    return true;
}

bool sideband_listener_poll_news(struct sideband_listener *l, enum sideband_news_kind *kind,
                                 struct bytes_view *text)
{
    *text = (struct bytes_view){0};
    drop_lent(l);
    if (l->is_closing || l->is_last_told) {
        return false;
    }
    if (l->state == SIDEBAND_LISTENER_WAITING) {
        return poll_last(l, kind);
    }
    if (!l->is_opened_told) {
        l->is_opened_told = true;
        *kind = SIDEBAND_OPENED;
        return true;
    }
    const struct sideband_queued *event = next_event(l);
    if (event == NULL) {
        return poll_last(l, kind);
    }
    l->has_lent = true;
    *text = event->text;
    *kind = SIDEBAND_EVENT;
    if (event->is_end) {
        l->has_last = l->is_last_told = true;
        l->may_be_attached = false;
        *kind = l->last = SIDEBAND_CALL_ENDED;
    }
    return true;
}

/* --- time ------------------------------------------------------------------------------------- */

void sideband_listener_tick(struct sideband_listener *l, uint64_t now_us)
{
    if (l->state == SIDEBAND_LISTENER_WAITING && !l->is_closing && now_us >= l->deadline_us) {
        say_last(l, SIDEBAND_LOST);
    }
    if (now_us >= l->late_us) {
        say_last(l, l->late_means);
    }
}

uint64_t sideband_listener_next_timeout(const struct sideband_listener *l)
{
    uint64_t first_us = l->late_us;
    if (l->state == SIDEBAND_LISTENER_OVER) {
        return TIME_NEVER;
    }
    if (is_to_leave(l, 0) || (l->has_last && !l->is_last_told)) {
        return 0;
    }
    if (l->state == SIDEBAND_LISTENER_WAITING || l->is_closing) {
        first_us = time_earlier(first_us, l->deadline_us);
    }
    if (!l->has_last && !l->is_attach_under_way) {
        first_us = time_earlier(first_us, l->attach_us);
    }
    if (!l->has_last && !l->is_inject_under_way && l->outbox.count > 0 &&
        l->state == SIDEBAND_LISTENER_OPEN) {
        first_us = time_earlier(first_us, l->inject_us);
    }
    return first_us;
}
