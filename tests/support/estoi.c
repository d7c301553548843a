/* estoi.c - see estoi.h */
#include "tests/support/estoi.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

#define FRAME    256
#define HOP      128
#define FFT      512
#define BINS     (FFT / 2 + 1)
#define BANDS    15
#define SEGMENT  30
#define LOUD_DB  40.0
#define TINY     1e-12
#define RATE_HZ  10000.0
#define BAND0_HZ 150.0

/* 16 to 10 kHz: up by 5, down by 8, through a windowed sinc of this many samples to each side. */
#define UP         5
#define DOWN       8
#define HALF_WIDTH 64

struct band {
    size_t begin; /* bins */
    size_t end;
};

struct estoi {
    size_t samples;
    size_t frames;
    bool *is_loud;
    size_t loud_count;
    double (*envelope)[BANDS]; /* of the loud frames */
    struct band band[BANDS];
    double window[FRAME];
};

/* --- 10 kHz ----------------------------------------------------------------------------------- */

static double sinc(double x)
{
    return fabs(x) < 1e-9 ? 1.0 : sin(PI * x) / (PI * x);
}

/* The value between the samples, at n * DOWN / UP. */
static double interpolate(const int16_t *in, size_t samples, size_t n,
                          const double taps[UP][2 * HALF_WIDTH])
{
    const size_t centre = n * DOWN / UP;
    const double *tap = taps[n * DOWN % UP];
    double sum = 0;
    for (size_t i = 0; i < (size_t)2 * HALF_WIDTH; i++) {
        const size_t at = centre + i; /* less HALF_WIDTH - 1 */
        if (at >= HALF_WIDTH - 1 && at - (HALF_WIDTH - 1) < samples) {
            sum += tap[i] * in[at - (HALF_WIDTH - 1)];
        }
    }
    return sum;
}

static double *to_10_khz(const int16_t *in, size_t samples, size_t *out_count)
{
    double taps[UP][2 * HALF_WIDTH];
    const double cutoff = (double)UP / DOWN;
    for (size_t phase = 0; phase < UP; phase++) {
        for (size_t i = 0; i < (size_t)2 * HALF_WIDTH; i++) {
            const double x = (double)i - (HALF_WIDTH - 1) - (double)phase / UP;
            const double hann = 0.5 + 0.5 * cos(PI * x / HALF_WIDTH);
            taps[phase][i] = fabs(x) < HALF_WIDTH ? cutoff * sinc(cutoff * x) * hann : 0;
        }
    }
    *out_count = samples * UP / DOWN;
    double *out = calloc(*out_count + 1, sizeof(*out));
    for (size_t n = 0; out != NULL && n < *out_count; n++) {
        out[n] = interpolate(in, samples, n, (const double(*)[2 * HALF_WIDTH]) taps) / 32768;
    }
    return out;
}

/* --- envelopes -------------------------------------------------------------------------------- */

/* Radix 2, in place; the input is in bit-reversed order. */
static void transform(double complex x[FFT])
{
    for (size_t half = 1; half < FFT; half *= 2) {
        const double complex turn = cexp(-I * PI / (double)half);
        double complex twiddle = 1;
        for (size_t k = 0; k < half; k++) {
            for (size_t i = k; i < FFT; i += 2 * half) {
                const double complex odd = twiddle * x[i + half];
                x[i + half] = x[i] - odd;
                x[i] += odd;
            }
            twiddle *= turn;
        }
    }
}

static size_t bit_reversed(size_t i)
{
    size_t reversed = 0;
    for (size_t bit = 1; bit < FFT; bit *= 2) {
        reversed = 2 * reversed + ((i & bit) != 0);
    }
    return reversed;
}

static void take_envelope(const struct estoi *e, const double *frame, double out[BANDS])
{
    double complex x[FFT] = {0};
    for (size_t i = 0; i < FRAME; i++) {
        x[bit_reversed(i)] = frame[i] * e->window[i];
    }
    transform(x);
    for (size_t b = 0; b < BANDS; b++) {
        double power = 0;
        for (size_t bin = e->band[b].begin; bin < e->band[b].end; bin++) {
            power += creal(x[bin]) * creal(x[bin]) + cimag(x[bin]) * cimag(x[bin]);
        }
        out[b] = sqrt(power);
    }
}

static double level_db(const struct estoi *e, const double *frame)
{
    double energy = 0;
    for (size_t i = 0; i < FRAME; i++) {
        energy += frame[i] * e->window[i] * frame[i] * e->window[i];
    }
    return 20 * log10(sqrt(energy) + TINY);
}

static size_t nearest_bin(double hz)
{
    const double bin = hz * FFT / RATE_HZ;
    return (size_t)(bin + 0.5) < BINS ? (size_t)(bin + 0.5) : BINS - 1;
}

static void prepare(struct estoi *e)
{
    for (size_t i = 0; i < FRAME; i++) {
        e->window[i] = 0.5 - 0.5 * cos(2 * PI * (double)(i + 1) / (FRAME + 1));
    }
    for (size_t b = 0; b < BANDS; b++) {
        e->band[b].begin = nearest_bin(BAND0_HZ * pow(2, (2 * (double)b - 1) / 6));
        e->band[b].end = nearest_bin(BAND0_HZ * pow(2, (2 * (double)b + 1) / 6));
    }
}

/* Frames 40 dB below the loudest of the reference say nothing about intelligibility. */
static void find_loud(struct estoi *e, const double *sound)
{
    double loudest_db = -1e9;
    for (size_t f = 0; f < e->frames; f++) {
        loudest_db = fmax(loudest_db, level_db(e, sound + f * HOP));
    }
    for (size_t f = 0; f < e->frames; f++) {
        e->is_loud[f] = level_db(e, sound + f * HOP) > loudest_db - LOUD_DB;
        e->loud_count += e->is_loud[f];
    }
}

static double (*envelopes(const struct estoi *e, const double *sound))[BANDS]
{
    double(*out)[BANDS] = calloc(e->loud_count + 1, sizeof(*out));
    size_t n = 0;
    for (size_t f = 0; out != NULL && f < e->frames; f++) {
        if (e->is_loud[f]) {
            take_envelope(e, sound + f * HOP, out[n++]);
        }
    }
    return out;
}

/* --- the score -------------------------------------------------------------------------------- */

/* Mean 0, length 1, of `count` values that lie `stride` apart. */
static void normalise(double *x, size_t count, size_t stride)
{
    double mean = 0;
    double energy = 0;
    for (size_t i = 0; i < count; i++) {
        mean += x[i * stride] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        x[i * stride] -= mean;
        energy += x[i * stride] * x[i * stride];
    }
    for (size_t i = 0; i < count; i++) {
        x[i * stride] /= sqrt(energy) + TINY;
    }
}

static void take_segment(double (*envelope)[BANDS], double out[SEGMENT * BANDS])
{
    memcpy(out, envelope, SEGMENT * sizeof(*envelope));
    for (size_t b = 0; b < BANDS; b++) {
        normalise(out + b, SEGMENT, BANDS);
    }
    for (size_t f = 0; f < SEGMENT; f++) {
        normalise(out + f * BANDS, BANDS, 1);
    }
}

static double correlate(const struct estoi *e, double (*damaged)[BANDS])
{
    double sum = 0;
    for (size_t begin = 0; begin + SEGMENT <= e->loud_count; begin++) {
        double a[SEGMENT * BANDS];
        double b[SEGMENT * BANDS];
        take_segment(e->envelope + begin, a);
        take_segment(damaged + begin, b);
        for (size_t i = 0; i < (size_t)SEGMENT * BANDS; i++) {
            sum += a[i] * b[i] / SEGMENT;
        }
    }
    return sum / (double)(e->loud_count - SEGMENT + 1);
}

struct estoi *estoi_create(const int16_t *reference, size_t samples)
{
    struct estoi *e = calloc(1, sizeof(*e));
    if (e == NULL) {
        return NULL;
    }
    size_t count = 0;
    double *sound = to_10_khz(reference, samples, &count);
    e->samples = samples;
    e->frames = count >= FRAME ? 1 + (count - FRAME) / HOP : 0;
    e->is_loud = calloc(e->frames + 1, sizeof(*e->is_loud));
    prepare(e);
    if (sound != NULL && e->is_loud != NULL) {
        find_loud(e, sound);
        e->envelope = envelopes(e, sound);
    }
    free(sound);
    if (e->envelope == NULL || e->loud_count < SEGMENT) {
        estoi_destroy(e);
        return NULL;
    }
    return e;
}

void estoi_destroy(struct estoi *e)
{
    if (e == NULL) {
        return;
    }
    free(e->is_loud);
    free(e->envelope);
    free(e);
}

double estoi_score(const struct estoi *e, const int16_t *damaged)
{
    size_t count = 0;
    double *sound = to_10_khz(damaged, e->samples, &count);
    double(*envelope)[BANDS] = sound != NULL ? envelopes(e, sound) : NULL;
    const double score = envelope != NULL ? correlate(e, envelope) : -1;
    free(sound);
    free(envelope);
    return score;
}
