/*
 * voice_decoder.h - the client's payloads to PCM at the backend's rate
 *
 * Takes:   payloads in order, each once; authenticated, but not believed.
 * Gives:   mono 16-bit samples at rate_hz: Opus is decoded at it (a stereo packet is mixed down),
 *          G.711 resampled to it, some 5 ms late. A gap of Opus is libopus's to conceal, of G.711
 *          g711_gap.h's.
 * Owns:    the decoder's state, of Opus some 18 KB; no heap after create.
 * Units:   durations at voice_codec_clock_hz, multiples of 2.5 ms up to 120 ms.
 * Rule:    media beyond 1.5 times real time is refused, with 10 s in hand since a stall ends in a
 *          burst: one packet may hold 120 ms, so the rate of packets does not bound the work.
 * Fails:   with a reason and no samples; the decoder stays usable.
 * Not here: order, and which slots are missing (reorder_buffer.h).
 */
#ifndef EARSHOT_VOICE_DECODER_H
#define EARSHOT_VOICE_DECODER_H

#include "common/base/time_us.h"
#include "services/transceiver/core/media/voice_packet.h"

/* 120 ms at 48 kHz: enough for every rate. */
#define VOICE_DECODER_SAMPLES_MAX 5760

enum voice_decoder_result {
    VOICE_DECODER_OK,
    VOICE_DECODER_MALFORMED,  /* empty, too long, or not of the codec */
    VOICE_DECODER_OVER_BUDGET /* decoded too much media for the time that has passed */
};

struct voice_decoder;

/* rate_hz: 8000, 16000, 24000 or 48000. NULL without memory. */
struct voice_decoder *voice_decoder_create(enum voice_codec codec, uint32_t rate_hz);
void voice_decoder_destroy(struct voice_decoder *d);

/* Forget the past: the next packet is of another encoder. The budget stays. */
void voice_decoder_reset(struct voice_decoder *d);

enum voice_decoder_result voice_decoder_decode(struct voice_decoder *d, struct bytes_view payload,
                                               int16_t pcm[VOICE_DECODER_SAMPLES_MAX],
                                               size_t *out_samples, uint64_t now_us);
/* What was lost before the packet `next`, out of the copy that `next` carries of it; `duration` as
 * for voice_decoder_conceal. Comes before voice_decoder_decode(next). Without such a copy it is
 * concealment. */
enum voice_decoder_result voice_decoder_decode_fec(struct voice_decoder *d, struct bytes_view next,
                                                   uint32_t duration,
                                                   int16_t pcm[VOICE_DECODER_SAMPLES_MAX],
                                                   size_t *out_samples, uint64_t now_us);
/* What a listener would expect in place of a lost packet. */
enum voice_decoder_result voice_decoder_conceal(struct voice_decoder *d, uint32_t duration,
                                                int16_t pcm[VOICE_DECODER_SAMPLES_MAX],
                                                size_t *out_samples, uint64_t now_us);

#endif
