/* agent_voice.c - see agent_voice.h */
#include "services/inference-stub/agent/agent_voice.h"

#include <stdlib.h>

struct piece {
    struct sound *sound;
    uint64_t begin; /* in the utterance */
    size_t count;
};

struct agent_voice {
    uint32_t rate_hz;
    uint64_t credit_samples; /* that may be sent in all */
    uint64_t sent_samples;
    uint32_t utterance; /* the newest id, 0 before the first */
    uint32_t flush;     /* to be sent; 0 = none */
    bool is_alive;      /* it is neither flushed nor done */
    bool is_closed;     /* no sound comes behind the last one */
    bool is_last_sent;
    bool is_resumed;
    uint64_t position; /* of it, sent */
    uint64_t added;
    size_t piece_count;
    struct piece piece[AGENT_VOICE_SOUNDS];
};

struct agent_voice *agent_voice_create(uint32_t rate_hz, uint64_t credit_us)
{
    struct agent_voice *v = calloc(1, sizeof(*v));
    if (v != NULL) {
        v->rate_hz = rate_hz;
        agent_voice_credit(v, credit_us);
    }
    return v;
}

static void fall_silent(struct agent_voice *v)
{
    while (v->piece_count > 0) {
        sound_destroy(v->piece[--v->piece_count].sound);
    }
    v->is_alive = false;
}

void agent_voice_destroy(struct agent_voice *v)
{
    if (v != NULL) {
        fall_silent(v);
        free(v);
    }
}

uint32_t agent_voice_open(struct agent_voice *v)
{
    fall_silent(v);
    v->utterance++;
    v->is_alive = true;
    v->is_closed = false;
    v->is_last_sent = false;
    v->is_resumed = false;
    v->position = 0;
    v->added = 0;
    return v->utterance;
}

void agent_voice_add(struct agent_voice *v, struct sound *sound, uint64_t samples_max)
{
    const uint64_t room = pcm_samples_of_ms(v->rate_hz, AGENT_VOICE_MS) - v->added;
    uint64_t count = sound->pcm.count < samples_max ? sound->pcm.count : samples_max;
    count = count < room ? count : room;
    if (!v->is_alive || v->is_closed || v->piece_count == AGENT_VOICE_SOUNDS || count == 0) {
        sound_destroy(sound);
        return;
    }
    v->piece[v->piece_count++] = (struct piece){sound, v->added, (size_t)count};
    v->added += count;
}

void agent_voice_close(struct agent_voice *v)
{
    v->is_closed = true;
}

uint64_t agent_voice_added_samples(const struct agent_voice *v)
{
    return v->added;
}

bool agent_voice_flush(struct agent_voice *v, uint32_t utterance)
{
    v->flush = utterance > v->flush ? utterance : v->flush;
    if (utterance < v->utterance) {
        return false;
    }
    fall_silent(v);
    return true;
}

void agent_voice_credit(struct agent_voice *v, uint64_t limit_us)
{
    const uint64_t samples = pcm_samples_of_us(v->rate_hz, limit_us);
    v->credit_samples = samples > v->credit_samples ? samples : v->credit_samples;
}

void agent_voice_done(struct agent_voice *v, uint32_t utterance)
{
    if (utterance == v->utterance) {
        fall_silent(v);
    }
}

void agent_voice_resume(struct agent_voice *v, const struct backend_position *position)
{
    const bool is_same = position->utterance == v->utterance;
    const uint64_t arrived = is_same ? pcm_samples_of_us(v->rate_hz, position->received_us) : 0;
    v->sent_samples = pcm_samples_of_us(v->rate_hz, position->received_total_us);
    v->credit_samples = pcm_samples_of_us(v->rate_hz, position->credit_us);
    v->position = arrived < v->position ? arrived : v->position;
    v->is_last_sent = false;
    v->is_resumed = true;
}

bool agent_voice_take_flush(struct agent_voice *v, uint32_t *utterance)
{
    *utterance = v->flush;
    v->flush = 0;
    return *utterance != 0;
}

/* What stands at the position, as far as its sound goes. */
static struct pcm_view unsent(const struct agent_voice *v)
{
    for (size_t i = 0; i < v->piece_count; i++) {
        const struct piece *p = &v->piece[i];
        if (v->position < p->begin + p->count) {
            const size_t skip = (size_t)(v->position - p->begin);
            return (struct pcm_view){p->sound->pcm.samples + skip, p->count - skip};
        }
    }
    return (struct pcm_view){0};
}

bool agent_voice_take_audio(struct agent_voice *v, struct utterance_audio *out)
{
    const uint64_t credit =
        v->credit_samples > v->sent_samples ? v->credit_samples - v->sent_samples : 0;
    const size_t chunk = pcm_samples_of_ms(v->rate_hz, AGENT_VOICE_CHUNK_MS);
    struct pcm_view pcm = unsent(v);
    pcm.count = pcm.count < chunk ? pcm.count : chunk;
    pcm.count = pcm.count < credit ? pcm.count : (size_t)credit;
    const bool is_end = v->is_closed && v->position + pcm.count == v->added;
    if (!v->is_alive || v->is_last_sent || (pcm.count == 0 && !is_end)) {
        return false;
    }
    *out = (struct utterance_audio){v->utterance, pcm, is_end, 0};
    if (v->is_resumed) {
        out->offset_us = v->position * US_PER_S / v->rate_hz;
    }
    v->position += pcm.count;
    v->sent_samples += pcm.count;
    v->is_last_sent = is_end;
    return true;
}
