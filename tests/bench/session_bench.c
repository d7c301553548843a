/* session_bench.c - 100 live calls: latency, pacing, CPU, beside a sleeper and the codec alone */
#include "common/runtime/clock.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "tests/bench/cpu_clock.h"
#include "tests/bench/live_shard.h"
#include "tests/speech_like.h"
#include "tests/support/sim_voice.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define CALLS          LIVE_SHARD_CALLS_MAX
#define ROUNDS_DEFAULT 7
#define ROUNDS_MAX     99
#define TRIES          3 /* for each round that is wanted */
#define STREAM_US      (2 * US_PER_S)
#define TALK_US        (2400 * US_PER_MS) /* in 7 rounds 1,000 flushes */
#define SLEEP_US       2000
#define SLEEPER_US_MAX 500 /* p99 beyond this is the machine's doing */
#define FRAMES_PER_S   50
#define FRAME_SAMPLES  (LIVE_AGENT_RATE_HZ / FRAMES_PER_S)
#define CODEC_CALL_S   20 /* of the codec alone in a round */

enum figure {
    SLEEPER_P99,
    RESIDENCE_P50,
    RESIDENCE_P99,
    FIRST_PACKET_P50,
    FIRST_PACKET_P99,
    FLUSH_P50,
    FLUSH_P99,
    DEPARTURE_P99,
    PER_TRAIN,
    CODEC_RATE,
    SESSION_RATE,
    BESIDES_CODEC,
    FIGURES
};

static const struct {
    const char *name;
    const char *unit;
    double goal; /* 0: none */
} figure[FIGURES] = {
    [SLEEPER_P99] = {"sleeper_p99", "ms", 0.5},
    [RESIDENCE_P50] = {"residence_p50", "ms", 0.3},
    [RESIDENCE_P99] = {"residence_p99", "ms", 2},
    [FIRST_PACKET_P50] = {"first_packet_p50", "ms", 0.5},
    [FIRST_PACKET_P99] = {"first_packet_p99", "ms", 3},
    [FLUSH_P50] = {"flush_p50", "ms", 0.2},
    [FLUSH_P99] = {"flush_p99", "ms", 2},
    [DEPARTURE_P99] = {"departure_p99", "ms", 2},
    [PER_TRAIN] = {"per_train", "datagrams", 0},
    [CODEC_RATE] = {"codec_alone", "calls_per_cpu", 0},
    [SESSION_RATE] = {"session", "calls_per_cpu", 120},
    [BESIDES_CODEC] = {"besides_codec", "ratio", 0.25},
};

/* --- a thread that does nothing but wake up in time ------------------------------------------- */

struct sleeper {
    pthread_t thread;
    atomic_bool is_stopping;
    struct samples late;
};

static void *sleep_and_wake(void *context)
{
    struct sleeper *s = context;
    uint64_t next_us = clock_now_us();
    while (!atomic_load(&s->is_stopping)) {
        next_us += SLEEP_US;
        const struct timespec at = {.tv_sec = (time_t)(next_us / US_PER_S),
                                    .tv_nsec = (long)(next_us % US_PER_S * 1000)};
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        const uint64_t now_us = clock_now_us();
        samples_add(&s->late, (double)time_since(next_us, now_us));
        next_us = time_later(next_us, now_us);
    }
    return NULL;
}

static void start_sleeper(struct sleeper *s)
{
    s->late.count = 0;
    atomic_store(&s->is_stopping, false);
    const int error = pthread_create(&s->thread, NULL, sleep_and_wake, s);
    assert(error == 0);
}

static double stop_sleeper(struct sleeper *s)
{
    atomic_store(&s->is_stopping, true);
    (void)pthread_join(s->thread, NULL);
    return samples_percentile_ms(&s->late, 99);
}

/* --- the codec alone -------------------------------------------------------------------------- */

struct codecs {
    struct voice_encoder *encoder[CALLS];
    struct voice_decoder *decoder[CALLS];
    int16_t speech[LIVE_AGENT_RATE_HZ * 10];
    uint64_t frame;
};

static struct codecs *create_codecs(void)
{
    struct codecs *c = calloc(1, sizeof(*c));
    struct random_generator random;
    assert(c != NULL);
    random_generator_init(&random, 1);
    speech_like_voice(&random, -20, LIVE_AGENT_RATE_HZ, 0, c->speech, COUNT_OF(c->speech));
    for (size_t i = 0; i < CALLS; i++) {
        c->encoder[i] = voice_encoder_create(VOICE_CODEC_OPUS, LIVE_AGENT_RATE_HZ);
        c->decoder[i] = voice_decoder_create(VOICE_CODEC_OPUS, LIVE_AGENT_RATE_HZ);
        assert(c->encoder[i] != NULL && c->decoder[i] != NULL);
    }
    return c;
}

static void destroy_codecs(struct codecs *c)
{
    for (size_t i = 0; i < CALLS; i++) {
        voice_encoder_destroy(c->encoder[i]);
        voice_decoder_destroy(c->decoder[i]);
    }
    free(c);
}

/* CPU seconds of a second of a call: what live calls decode and encode, in turn. */
static double codec_cpu_s(struct codecs *c)
{
    const double before_s = cpu_clock_thread_s();
    for (size_t i = 0; i < FRAMES_PER_S * CODEC_CALL_S; i++, c->frame++) {
        const size_t call = c->frame % CALLS;
        const size_t word = (c->frame / CALLS * FRAME_SAMPLES + call * 1234) %
                            (COUNT_OF(c->speech) - FRAME_SAMPLES);
        int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
        uint8_t packet[VOICE_PACKET_BYTES_MAX];
        size_t samples = 0;
        const enum voice_decoder_result result =
            voice_decoder_decode(c->decoder[call], sim_voice_fixed(c->frame / CALLS + call), pcm,
                                 &samples, c->frame / CALLS * (US_PER_S / FRAMES_PER_S));
        assert(result == VOICE_DECODER_OK);
        (void)voice_encoder_encode(c->encoder[call], c->speech + word, packet);
    }
    return (cpu_clock_thread_s() - before_s) / CODEC_CALL_S;
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* Datagrams that left, and ways through the kernel that they took. */
struct departures {
    uint64_t datagrams;
    uint64_t ways;
};

static struct departures departures(const struct live_shard *l)
{
    const struct udp_sender_counters *c = live_shard_trains(l);
    const uint64_t singles = metric_get(&c->singles);
    return (struct departures){metric_get(&c->train_datagrams) + singles,
                               metric_get(&c->trains) + singles};
}

/* False: the machine was not free enough. */
static bool run_round(struct live_shard *l, struct codecs *codecs, double out[FIGURES])
{
    static struct live_figures f;
    static struct sleeper sleeper;
    f.residence.count = f.departure.count = f.first_packet.count = f.flush.count = 0;
    f.frames_in = f.packets_out = 0;
    const double codec_s = codec_cpu_s(codecs);
    start_sleeper(&sleeper);
    const struct departures before = departures(l);
    live_shard_stream(l, STREAM_US, &f);
    const struct departures after = departures(l);
    live_shard_talk(l, TALK_US, &f);
    out[SLEEPER_P99] = stop_sleeper(&sleeper);
    out[RESIDENCE_P50] = samples_percentile_ms(&f.residence, 50);
    out[RESIDENCE_P99] = samples_percentile_ms(&f.residence, 99);
    out[FIRST_PACKET_P50] = samples_percentile_ms(&f.first_packet, 50);
    out[FIRST_PACKET_P99] = samples_percentile_ms(&f.first_packet, 99);
    out[FLUSH_P50] = samples_percentile_ms(&f.flush, 50);
    out[FLUSH_P99] = samples_percentile_ms(&f.flush, 99);
    out[DEPARTURE_P99] = samples_percentile_ms(&f.departure, 99);
    out[PER_TRAIN] =
        (double)(after.datagrams - before.datagrams) / (double)(after.ways - before.ways);
    out[CODEC_RATE] = 1 / codec_s;
    out[SESSION_RATE] = f.call_s / f.cpu_s;
    out[BESIDES_CODEC] = f.cpu_s / f.call_s / codec_s - 1;
    fprintf(stderr, "session_bench: round of %zu flushes, %zu sentences:", f.flush.count,
            f.first_packet.count);
    for (size_t i = 0; i < FIGURES; i++) {
        fprintf(stderr, " %s %.2f", figure[i].name, out[i]);
    }
    fputs("\n", stderr);
    return out[SLEEPER_P99] * 1000 <= SLEEPER_US_MAX;
}

struct options {
    size_t rounds;
    size_t calls;
    size_t complexity_min; /* 5: without steps down, which flatter the CPU figures */
};

static void print_figures(double value[FIGURES][ROUNDS_MAX], size_t good, size_t discarded,
                          const struct options *options)
{
    if (good == 0) {
        printf("{\"bench\":\"session\",\"repeats\":0,\"discarded\":%zu}\n", discarded);
    }
    for (size_t i = 0; i < FIGURES && good > 0; i++) {
        const double median = samples_percentile(value[i], good, 50);
        printf("{\"bench\":\"session\",\"figure\":\"%s\",\"unit\":\"%s\",\"median\":%.3f,"
               "\"min\":%.3f,\"max\":%.3f,\"repeats\":%zu,\"discarded\":%zu,\"calls\":%zu,"
               "\"complexity_min\":%zu",
               figure[i].name, figure[i].unit, median, value[i][0], value[i][good - 1], good,
               discarded, options->calls, options->complexity_min);
        if (figure[i].goal > 0) {
            printf(",\"goal\":%.3f", figure[i].goal);
        }
        puts("}");
    }
}

/* False: usage. */
static bool read_options(int argc, char **argv, struct options *out)
{
    *out = (struct options){.rounds = ROUNDS_DEFAULT, .calls = CALLS, .complexity_min = 5};
    const struct {
        const char *name;
        size_t *value;
        size_t max;
    } option[] = {{"--repeats", &out->rounds, ROUNDS_MAX},
                  {"--calls", &out->calls, CALLS},
                  {"--complexity-min", &out->complexity_min, 5}};
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        const size_t value = i + 1 < argc ? strtoul(argv[i + 1], &end, 10) : 0;
        size_t which = 0;
        while (which < COUNT_OF(option) && strcmp(argv[i], option[which].name) != 0) {
            which++;
        }
        if (which == COUNT_OF(option) || end == NULL || *end != '\0' || value < 1 ||
            value > option[which].max) {
            return false;
        }
        *option[which].value = value;
    }
    return true;
}

int main(int argc, char **argv)
{
    static double value[FIGURES][ROUNDS_MAX];
    struct fault fault;
    struct options options;
    size_t good = 0;
    size_t discarded = 0;
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr,
                "usage: session_bench [--repeats 1..%d] [--calls 1..%d] [--complexity-min 1..5]\n",
                ROUNDS_MAX, CALLS);
        return 2;
    }
    /* As the shard's own thread: what else runs on the machine is not what is measured. */
    (void)setpriority(PRIO_PROCESS, 0, -15);
    const bool is_ready = srtp_transport_init(&fault);
    assert(is_ready);
    struct codecs *codecs = create_codecs();
    struct live_shard *l =
        live_shard_create(options.calls, (unsigned)options.complexity_min, false);
    double round[FIGURES];
    (void)run_round(l, codecs, round); /* warm */
    while (good < options.rounds && good + discarded < TRIES * options.rounds) {
        if (run_round(l, codecs, round)) {
            for (size_t i = 0; i < FIGURES; i++) {
                value[i][good] = round[i];
            }
            good++;
        } else {
            discarded++;
        }
    }
    print_figures(value, good, discarded, &options);
    live_shard_destroy(l);
    destroy_codecs(codecs);
    return 0;
}
