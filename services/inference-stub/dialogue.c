/* dialogue.c - see dialogue.h */
#include "services/inference-stub/dialogue.h"

#include "services/inference-stub/sound/tone.h"
#include "services/inference-stub/sound/turn_recorder.h"

#include <assert.h>
#include <stdlib.h>

#define ECHO_QUEUE_MS 1000

/* An echo that the transceiver holds longer than this is cut down to ECHO_KEEP_US: clocks drift and
 * lines stall, and a delay once gained would stay for the whole call. */
#define ECHO_BEHIND_US (200 * US_PER_MS)
#define ECHO_KEEP_US   (40 * US_PER_MS)

/* Audio that stops without a word ends a turn as silence does. */
#define AUDIO_GAP_US (VOICE_STOP_MS * US_PER_MS)

#define CHUNK_SAMPLES_MAX (PCM_RATE_HZ_MAX / 1000 * DIALOGUE_CHUNK_MS)
#define STEP_SAMPLES_MAX  (PCM_RATE_HZ_MAX / 1000 * VOICE_STEP_MS)

struct echo {
    int16_t *queue; /* ECHO_QUEUE_MS */
    size_t queue_samples_max;
    size_t queued_samples;
    uint64_t silence_samples; /* to be sent ahead of the queue */
    uint64_t skip_samples;    /* to be left out of what comes in */
};

struct parrot {
    struct turn_recorder *recorder;
    struct pcm_view reply; /* what of the utterance is still unsent */
    bool is_connected;
    uint64_t gap_deadline_us;
    size_t step_fill;
    int16_t step[STEP_SAMPLES_MAX];
};

struct dialogue {
    struct dialogue_config config;
    uint64_t credit_samples; /* that may be sent in all */
    uint64_t sent_samples;
    uint32_t utterance;         /* the newest id, 0 before the first */
    uint64_t utterance_samples; /* of it, sent */
    bool is_resumed;            /* it goes on after a resume */
    bool is_open;               /* more may be appended to it */
    bool is_alive;              /* the transceiver has not said that it is done */
    uint32_t flush;             /* to be sent; 0 = none */
    struct echo echo;
    struct tone tone;
    struct parrot parrot;
    int16_t chunk[CHUNK_SAMPLES_MAX];
};

struct dialogue *dialogue_create(const struct dialogue_config *config)
{
    assert(config->rate_hz <= PCM_RATE_HZ_MAX && config->rate_hz % 1000 == 0);
    struct dialogue *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        return NULL;
    }
    d->config = *config;
    d->parrot.gap_deadline_us = TIME_NEVER;
    dialogue_credit(d, config->credit_us);
    if (config->mode == DIALOGUE_ECHO) {
        d->echo.queue_samples_max = pcm_samples_of_ms(config->rate_hz, ECHO_QUEUE_MS);
        d->echo.queue = calloc(d->echo.queue_samples_max, sizeof(*d->echo.queue));
    }
    if (config->mode == DIALOGUE_PARROT) {
        d->parrot.recorder = turn_recorder_create(config->rate_hz);
    }
    if ((config->mode == DIALOGUE_ECHO && d->echo.queue == NULL) ||
        (config->mode == DIALOGUE_PARROT && d->parrot.recorder == NULL)) {
        dialogue_destroy(d);
        return NULL;
    }
    return d;
}

void dialogue_destroy(struct dialogue *d)
{
    if (d == NULL) {
        return;
    }
    free(d->echo.queue);
    turn_recorder_destroy(d->parrot.recorder);
    free(d);
}

static uint64_t credit_left(const struct dialogue *d)
{
    return d->credit_samples - d->sent_samples;
}

static void open_utterance(struct dialogue *d)
{
    d->utterance++;
    d->utterance_samples = 0;
    d->is_resumed = false;
    d->is_open = true;
    d->is_alive = true;
}

/* --- echo ------------------------------------------------------------------------------------- */

/* The delay is silence at the head of an utterance: the transceiver plays it, so it needs no clock
 * here. What the one before still has queued there is that delay already. */
static void echo_begin(struct dialogue *d)
{
    d->echo.silence_samples =
        d->is_alive ? 0 : pcm_samples_of_us(d->config.rate_hz, d->config.echo_delay_us);
    open_utterance(d);
}

static bool echo_is_behind(struct echo *e, size_t samples, unsigned flags)
{
    if (e->skip_samples >= samples) {
        e->skip_samples -= samples;
        return true;
    }
    return (flags & BACKEND_AUDIO_LATE) != 0;
}

static bool echo_has_room(const struct dialogue *d, size_t samples)
{
    const struct echo *e = &d->echo;
    return samples <= e->queue_samples_max - e->queued_samples &&
           e->silence_samples + e->queued_samples + samples <= credit_left(d);
}

static void echo_audio_in(struct dialogue *d, struct pcm_view pcm, unsigned flags)
{
    struct echo *e = &d->echo;
    if ((flags & BACKEND_AUDIO_DISCONTINUITY) != 0) {
        d->is_open = false;
    }
    const bool is_behind = echo_is_behind(e, pcm.count, flags);
    if (!is_behind && !d->is_open) {
        echo_begin(d);
    }
    if (is_behind || !echo_has_room(d, pcm.count)) {
        metric_add(&d->config.counters->echo_dropped_samples, pcm.count);
        return;
    }
    memcpy(e->queue + e->queued_samples, pcm.samples, pcm.count * sizeof(*pcm.samples));
    e->queued_samples += pcm.count;
}

static struct pcm_view echo_take(struct dialogue *d, size_t room)
{
    struct echo *e = &d->echo;
    size_t count = 0;
    while (count < room && e->silence_samples > 0) {
        d->chunk[count++] = 0;
        e->silence_samples--;
    }
    const size_t left = room - count;
    const size_t moved = left < e->queued_samples ? left : e->queued_samples;
    memcpy(d->chunk + count, e->queue, moved * sizeof(*e->queue));
    e->queued_samples -= moved;
    memmove(e->queue, e->queue + moved, e->queued_samples * sizeof(*e->queue));
    return (struct pcm_view){d->chunk, count + moved};
}

static void echo_playback(struct dialogue *d, const struct backend_playback *playback)
{
    const uint64_t wanted_us = d->config.echo_delay_us;
    if (playback->queued_us > wanted_us + ECHO_BEHIND_US) {
        d->echo.skip_samples =
            pcm_samples_of_us(d->config.rate_hz, playback->queued_us - wanted_us - ECHO_KEEP_US);
    }
}

/* --- tone ------------------------------------------------------------------------------------- */

static struct pcm_view tone_take(struct dialogue *d, size_t room)
{
    if (!d->is_open && room > 0) {
        open_utterance(d);
        tone_init(&d->tone, d->config.tone_hz, d->config.rate_hz);
    }
    tone_generate(&d->tone, d->chunk, room);
    return (struct pcm_view){d->chunk, room};
}

/* --- parrot ----------------------------------------------------------------------------------- */

static void parrot_say(struct dialogue *d, struct pcm_view pcm)
{
    open_utterance(d);
    d->parrot.reply = pcm;
}

static void parrot_fall_silent(struct dialogue *d)
{
    if (d->is_alive) {
        d->flush = d->utterance;
        metric_add(&d->config.counters->barge_ins, 1);
    }
    d->is_alive = false;
    d->is_open = false;
    d->parrot.reply = (struct pcm_view){0};
}

static void parrot_turn_event(struct dialogue *d, enum turn_event event)
{
    switch (event) {
    case TURN_NONE:
        break;
    case TURN_STARTED:
        parrot_fall_silent(d);
        break;
    case TURN_ENDED:
        metric_add(&d->config.counters->turns_said, 1);
        parrot_say(d, turn_recorder_turn(d->parrot.recorder));
        break;
    case TURN_DISMISSED:
        metric_add(&d->config.counters->turns_dismissed, 1);
        break;
    }
}

/* Cuts what comes in frames of any length into steps. */
static void parrot_audio_in(struct dialogue *d, struct pcm_view pcm, uint64_t now_us)
{
    struct parrot *p = &d->parrot;
    const size_t step_samples = pcm_samples_of_ms(d->config.rate_hz, VOICE_STEP_MS);
    for (size_t i = 0; i < pcm.count; i++) {
        p->step[p->step_fill++] = pcm.samples[i];
        if (p->step_fill == step_samples) {
            p->step_fill = 0;
            parrot_turn_event(
                d, turn_recorder_step(p->recorder, (struct pcm_view){p->step, step_samples}));
        }
    }
    p->gap_deadline_us =
        turn_recorder_is_recording(p->recorder) ? now_us + AUDIO_GAP_US : TIME_NEVER;
}

static struct pcm_view parrot_take(struct dialogue *d, size_t room)
{
    struct pcm_view *reply = &d->parrot.reply;
    const size_t count = room < reply->count ? room : reply->count;
    const struct pcm_view pcm = {reply->samples, count};
    if (count > 0) {
        *reply = (struct pcm_view){reply->samples + count, reply->count - count};
        d->is_open = reply->count > 0;
    }
    return pcm;
}

/* --- all modes -------------------------------------------------------------------------------- */

void dialogue_connected(struct dialogue *d)
{
    if (d->config.mode != DIALOGUE_PARROT || d->parrot.is_connected) {
        return;
    }
    d->parrot.is_connected = true;
    if (!d->config.is_restarted && !turn_recorder_is_recording(d->parrot.recorder)) {
        parrot_say(d, d->config.greeting);
    }
}

void dialogue_credit(struct dialogue *d, uint64_t limit_us)
{
    const uint64_t samples = pcm_samples_of_us(d->config.rate_hz, limit_us);
    d->credit_samples = samples > d->credit_samples ? samples : d->credit_samples;
}

/* Only a parrot still has what it said; it says again what did not arrive. */
static void parrot_go_back(struct dialogue *d, uint64_t samples)
{
    struct pcm_view *reply = &d->parrot.reply;
    if (reply->samples != NULL) {
        *reply = (struct pcm_view){reply->samples - samples, reply->count + samples};
        d->is_open = reply->count > 0;
    }
}

void dialogue_resume(struct dialogue *d, const struct backend_position *position)
{
    const uint32_t rate_hz = d->config.rate_hz;
    const bool is_same = position->utterance == d->utterance;
    const uint64_t arrived = is_same ? pcm_samples_of_us(rate_hz, position->received_us) : 0;
    const uint64_t lost = d->utterance_samples > arrived ? d->utterance_samples - arrived : 0;
    d->sent_samples = pcm_samples_of_us(rate_hz, position->received_total_us);
    d->credit_samples = pcm_samples_of_us(rate_hz, position->credit_us);
    if (!d->is_alive) {
        d->flush = is_same ? d->utterance : d->flush; /* the flush may be what was lost */
        return;
    }
    if (d->config.mode == DIALOGUE_PARROT) {
        parrot_go_back(d, lost);
        d->utterance_samples -= lost;
        d->is_resumed = true;
    } else if (lost > 0) {
        d->is_open = false; /* the next sample begins another one */
    }
}

void dialogue_playback(struct dialogue *d, const struct backend_playback *playback)
{
    if (playback->utterance != d->utterance) {
        return;
    }
    if (strcmp(playback->state, "done") == 0) {
        d->is_alive = false;
        d->is_open = false;
        d->parrot.reply = (struct pcm_view){0};
        d->echo.queued_samples = 0;
        d->echo.silence_samples = 0;
    } else if (d->config.mode == DIALOGUE_ECHO) {
        echo_playback(d, playback);
    }
}

void dialogue_audio_in(struct dialogue *d, struct pcm_view pcm, unsigned flags, uint64_t now_us)
{
    switch (d->config.mode) {
    case DIALOGUE_ECHO:
        echo_audio_in(d, pcm, flags);
        break;
    case DIALOGUE_TONE:
        break;
    case DIALOGUE_PARROT:
        parrot_audio_in(d, pcm, now_us);
        break;
    }
}

void dialogue_tick(struct dialogue *d, uint64_t now_us)
{
    if (now_us >= d->parrot.gap_deadline_us) {
        d->parrot.gap_deadline_us = TIME_NEVER;
        d->parrot.step_fill = 0;
        parrot_turn_event(d, turn_recorder_finish(d->parrot.recorder));
    }
}

uint64_t dialogue_next_timeout(const struct dialogue *d)
{
    return d->parrot.gap_deadline_us;
}

bool dialogue_take_flush(struct dialogue *d, uint32_t *utterance)
{
    *utterance = d->flush;
    d->flush = 0;
    return *utterance != 0;
}

bool dialogue_take_audio(struct dialogue *d, struct utterance_audio *out)
{
    const size_t chunk = pcm_samples_of_ms(d->config.rate_hz, DIALOGUE_CHUNK_MS);
    const size_t room = credit_left(d) < chunk ? (size_t)credit_left(d) : chunk;
    struct pcm_view pcm = {0};
    switch (d->config.mode) {
    case DIALOGUE_ECHO:
        pcm = echo_take(d, room);
        break;
    case DIALOGUE_TONE:
        pcm = tone_take(d, room);
        break;
    case DIALOGUE_PARROT:
        pcm = parrot_take(d, room);
        break;
    }
    *out = (struct utterance_audio){d->utterance, pcm, !d->is_open, 0};
    if (d->is_resumed) {
        out->offset_us = d->utterance_samples * US_PER_S / d->config.rate_hz;
    }
    d->sent_samples += pcm.count;
    d->utterance_samples += pcm.count;
    return pcm.count > 0;
}
