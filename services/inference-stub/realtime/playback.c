/* playback.c - see playback.h */
#include "services/inference-stub/realtime/playback.h"

#include "common/base/time_us.h"

#include <assert.h>

void playback_init(struct playback *p, struct event_queue *events, struct order_queue *orders,
                   struct conversation *conversation)
{
    *p = (struct playback){.events = events, .orders = orders, .conversation = conversation};
}

static struct play *find(struct playback *p, uint32_t utterance)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->plays[i].utterance == utterance) {
            return &p->plays[i];
        }
    }
    return NULL;
}

static void forget(struct playback *p, const struct play *play)
{
    const size_t index = (size_t)(play - p->plays);
    p->count--;
    memmove(&p->plays[index], &p->plays[index + 1], (p->count - index) * sizeof(*play));
}

static void tell_buffer(const struct playback *p, const struct play *play, const char *type)
{
    event_queue_add(p->events, type, json_pack("{s:s}", "response_id", play->response_id));
}

static void remember_heard(const struct playback *p, const struct play *play)
{
    struct conversation_item *item = conversation_find(p->conversation, play->item_id);
    if (item != NULL) {
        item->heard_us = play->heard_us;
    }
}

static void stop(struct playback *p, struct play *play)
{
    remember_heard(p, play);
    if (play->has_started) {
        tell_buffer(p, play, "output_audio_buffer.stopped");
    }
    forget(p, play);
}

/* An item that is gone can not be truncated. */
static void cut(struct playback *p, struct play *play)
{
    remember_heard(p, play);
    if (play->has_started) {
        tell_buffer(p, play, "output_audio_buffer.cleared");
    }
    struct conversation_item *item = conversation_find(p->conversation, play->item_id);
    if (item != NULL) {
        conversation_item_truncate(item);
        event_queue_add(p->events, "conversation.item.truncated",
                        json_pack("{s:s, s:i, s:I}", "item_id", play->item_id, "content_index", 0,
                                  "audio_end_ms", (json_int_t)(play->heard_us / US_PER_MS)));
    }
    forget(p, play);
}

void playback_clear(struct playback *p)
{
    bool is_any_alive = false;
    for (size_t i = 0; i < p->count; i++) {
        is_any_alive = is_any_alive || !p->plays[i].is_flushing;
        p->plays[i].is_flushing = true;
    }
    if (is_any_alive) {
        playback_clear_again(p);
    }
}

void playback_clear_again(struct playback *p)
{
    uint32_t newest = 0;
    for (size_t i = 0; i < p->count; i++) {
        newest = p->plays[i].is_flushing ? p->plays[i].utterance : newest;
    }
    if (newest != 0) {
        order_queue_add(p->orders, &(struct queued_order){
                                       .order = {.type = REALTIME_FLUSH, .utterance = newest}});
    }
}

static void make_room(struct playback *p)
{
    if (p->count == PLAYS_MAX) {
        cut(p, p->plays[0].has_started ? &p->plays[1] : &p->plays[0]);
    }
}

void playback_open(struct playback *p, uint32_t utterance, const char *response_id,
                   const char *item_id)
{
    assert(utterance > p->newest);
    p->newest = utterance;
    playback_clear(p);
    make_room(p);
    struct play *play = &p->plays[p->count++];
    *play = (struct play){.utterance = utterance};
    memcpy(play->response_id, response_id, strlen(response_id) + 1);
    memcpy(play->item_id, item_id, strlen(item_id) + 1);
}

static void start(struct playback *p, struct play *play)
{
    if (play->has_started) {
        return;
    }
    /* One voice at a time: whatever played before was not told to be over. */
    const uint32_t utterance = play->utterance;
    while (p->plays[0].utterance != utterance) {
        stop(p, &p->plays[0]);
    }
    p->plays[0].has_started = true;
    tell_buffer(p, &p->plays[0], "output_audio_buffer.started");
}

void playback_hear(struct playback *p, enum realtime_playback_state state, uint32_t utterance,
                   uint64_t heard_us)
{
    struct play *play = find(p, utterance);
    if (play == NULL) {
        return; /* told again after a resume, or no utterance of ours */
    }
    play->heard_us = heard_us > play->heard_us ? heard_us : play->heard_us;
    switch (state) {
    case REALTIME_PLAYBACK_STARTED:
        start(p, play);
        break;
    case REALTIME_PLAYBACK_PROGRESS:
        remember_heard(p, play);
        break;
    case REALTIME_PLAYBACK_DONE:
        stop(p, play);
        break;
    case REALTIME_PLAYBACK_FLUSHED:
        cut(p, play);
        break;
    }
}

void playback_flushed(struct playback *p, const struct realtime_flushed *flushed)
{
    while (p->count > 0 && p->plays[0].utterance <= flushed->flush) {
        struct play *play = &p->plays[0];
        if (play->utterance == flushed->utterance) {
            play->heard_us = flushed->heard_us;
        }
        cut(p, play);
    }
}
