/* audio_in.c - see audio_in.h */
#include "services/transceiver/core/session/audio_in.h"

#include "common/backend_link/backend_report.h"
#include "services/transceiver/core/media/speech_detector.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/rtp/rtp_clock.h"

#include <stdlib.h>

#define DURATION_2500US 120 /* at 48 kHz */
#define JSON_CAP        64

struct audio_in {
    struct audio_in_config config;
    struct voice_decoder *decoder; /* NULL until prepared; never with payloads as they are */
    bool has_hole;                 /* something is missing before the next frame */
    struct speech_detector speech;
    uint64_t unheard_number; /* slots before it were heard: a replay tells nothing twice */
    bool has_onset;          /* not taken yet */
};

static bool is_passthrough(const struct audio_in_config *config)
{
    return config->codec == VOICE_CODEC_OPUS && config->format.codec == BACKEND_CODEC_OPUS;
}

struct audio_in *audio_in_create(const struct audio_in_config *config)
{
    if (!is_passthrough(config) && config->format.codec != BACKEND_CODEC_PCM16) {
        return NULL;
    }
    struct audio_in *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        return NULL;
    }
    a->config = *config;
    a->config.before = NULL;
    speech_detector_init(&a->speech, config->format.rate_khz * 1000u);
    if (config->before != NULL &&
        backend_format_equal(config->before->config.format, config->format)) {
        a->speech = config->before->speech; /* who was told of a voice is told of its end */
        a->unheard_number = config->before->unheard_number;
    }
    a->has_hole = config->is_continued;
    return a;
}

void audio_in_destroy(struct audio_in *a)
{
    if (a == NULL) {
        return;
    }
    voice_decoder_destroy(a->decoder);
    free(a);
}

/* Who never speaks needs no decoder. */
bool audio_in_prepare(struct audio_in *a)
{
    if (a->decoder == NULL && !is_passthrough(&a->config)) {
        a->decoder = voice_decoder_create(a->config.codec, a->config.format.rate_khz * 1000u);
        return a->decoder != NULL;
    }
    return true;
}

/* --- speech ----------------------------------------------------------------------------------- */

static void send_speech(struct audio_in *a, bool is_replayed)
{
    struct speech_event event;
    while (speech_detector_poll(&a->speech, &event)) {
        char json[JSON_CAP];
        const struct backend_speech speech = {event.is_started, event.level_dbov};
        const size_t len = backend_speech_encode(&speech, json, sizeof(json));
        const struct backend_frame frame = {
            .type = BACKEND_SPEECH,
            .session = a->config.session_id,
            .time_us = event.time_us,
            .payload = bytes_view_of(json, len),
        };
        outbox_add_frame(a->config.outbox, a->config.session_id, &frame);
        a->has_onset = a->has_onset || (event.is_started && !is_replayed);
    }
}

/* What the client's encoder heard; of what was invented or is of another codec nothing is known. */
static enum voice_packet_voice encoder_heard(const struct audio_in *a,
                                             const struct voice_history_slot *slot)
{
    const bool is_packet = slot->kind == REORDER_SLOT_PACKET || slot->kind == REORDER_SLOT_COPY;
    return is_packet && a->config.codec == VOICE_CODEC_OPUS ? voice_packet_voice(slot->payload)
                                                            : VOICE_PACKET_VOICE_UNKNOWN;
}

static bool is_unheard(struct audio_in *a, const struct voice_history_slot *slot)
{
    if (slot->number < a->unheard_number) {
        return false;
    }
    a->unheard_number = slot->number + 1;
    return true;
}

bool audio_in_take_onset(struct audio_in *a)
{
    const bool has_onset = a->has_onset;
    a->has_onset = false;
    return has_onset;
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint16_t flags_of(const struct audio_in *a, const struct voice_history_slot *slot,
                         bool is_replayed)
{
    static const uint16_t flag[] = {
        [REORDER_SLOT_PACKET] = 0,
        [REORDER_SLOT_COPY] = BACKEND_AUDIO_RED,
        [REORDER_SLOT_FEC] = BACKEND_AUDIO_FEC,
        [REORDER_SLOT_CONCEAL] = BACKEND_AUDIO_CONCEALED,
        [REORDER_SLOT_SILENCE] = BACKEND_AUDIO_SILENCE,
    };
    const bool is_speech =
        slot->kind != REORDER_SLOT_SILENCE && speech_detector_is_speech(&a->speech);
    return (uint16_t)(flag[slot->kind] | (a->has_hole ? BACKEND_AUDIO_DISCONTINUITY : 0) |
                      (is_speech ? BACKEND_AUDIO_SPEECH : 0) |
                      (is_replayed || slot->is_late ? BACKEND_AUDIO_LATE : 0));
}

/* An empty payload only tells the time. What was heard in it goes ahead. */
static void send_frame(struct audio_in *a, const struct voice_history_slot *slot, bool is_replayed,
                       struct bytes_view payload)
{
    send_speech(a, is_replayed);
    const struct backend_frame frame = {
        .type = BACKEND_AUDIO_IN,
        .flags = flags_of(a, slot, is_replayed),
        .session = a->config.session_id,
        .time_us = slot->time_us,
        .utterance = slot->rtp_timestamp,
        .codec = a->config.format.codec,
        .rate_khz = a->config.format.rate_khz,
        .channels = 1,
        .duration_2500us = (uint8_t)(slot->duration / DURATION_2500US),
        .payload = payload,
    };
    outbox_add_frame(a->config.outbox, a->config.session_id, &frame);
    a->has_hole = false;
}

static enum voice_decoder_result decode(struct audio_in *a, const struct voice_history_slot *slot,
                                        int16_t *pcm, size_t *out_samples, uint64_t now_us)
{
    const uint32_t duration =
        slot->duration / (RTP_CLOCK_HZ / voice_codec_clock_hz(a->config.codec));
    switch (slot->kind) {
    case REORDER_SLOT_CONCEAL:
        return voice_decoder_conceal(a->decoder, duration, pcm, out_samples, now_us);
    case REORDER_SLOT_FEC:
        return voice_decoder_decode_fec(a->decoder, slot->payload, duration, pcm, out_samples,
                                        now_us);
    default:
        return voice_decoder_decode(a->decoder, slot->payload, pcm, out_samples, now_us);
    }
}

/* In place: the backend reads the low byte first. */
static struct bytes_view little_endian(int16_t *pcm, size_t samples)
{
    uint8_t *bytes = (uint8_t *)pcm;
    for (size_t i = 0; i < samples; i++) {
        const uint16_t sample = (uint16_t)pcm[i];
        bytes[2 * i] = (uint8_t)sample;
        bytes[2 * i + 1] = (uint8_t)(sample >> 8);
    }
    return bytes_view_of(bytes, 2 * samples);
}

static enum audio_in_result put_decoded(struct audio_in *a, const struct voice_history_slot *slot,
                                        bool is_replayed, uint64_t now_us)
{
    int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
    size_t samples = 0;
    if (a->decoder == NULL || decode(a, slot, pcm, &samples, now_us) != VOICE_DECODER_OK) {
        a->has_hole = true;
        return AUDIO_IN_UNDECODED;
    }
    if (is_unheard(a, slot)) {
        speech_detector_hear(&a->speech, pcm, samples, encoder_heard(a, slot), slot->time_us);
    }
    send_frame(a, slot, is_replayed, little_endian(pcm, samples));
    return AUDIO_IN_SOUND;
}

static enum audio_in_result put_as_it_is(struct audio_in *a, const struct voice_history_slot *slot,
                                         bool is_replayed)
{
    if (slot->kind == REORDER_SLOT_CONCEAL || slot->kind == REORDER_SLOT_FEC) {
        a->has_hole = true; /* its own decoder conceals, and knows of FEC */
        return AUDIO_IN_GAP;
    }
    if (is_unheard(a, slot)) {
        speech_detector_hear_coded(&a->speech, encoder_heard(a, slot), slot->end_us - slot->time_us,
                                   slot->time_us);
    }
    send_frame(a, slot, is_replayed, slot->payload);
    return AUDIO_IN_SOUND;
}

enum audio_in_result audio_in_put(struct audio_in *a, const struct voice_history_slot *slot,
                                  bool is_replayed, uint64_t now_us)
{
    a->has_hole = a->has_hole || slot->is_discontinuity;
    if (slot->is_new_stream && a->decoder != NULL) {
        voice_decoder_reset(a->decoder);
    }
    if (slot->kind == REORDER_SLOT_SILENCE) {
        if (is_unheard(a, slot)) {
            speech_detector_hear_nothing(&a->speech, slot->end_us - slot->time_us, slot->time_us);
        }
        send_frame(a, slot, is_replayed, (struct bytes_view){0});
        return AUDIO_IN_SILENCE;
    }
    return is_passthrough(&a->config) ? put_as_it_is(a, slot, is_replayed)
                                      : put_decoded(a, slot, is_replayed, now_us);
}
