/* voice_path_test.c - encoder, RTP, a bad link, reorder buffer and decoder, in virtual time */
#include "tests/testing.h"

#include "common/base/random.h"
#include "services/transceiver/core/media/reorder_buffer.h"
#include "services/transceiver/core/media/voice_decoder.h"
#include "services/transceiver/core/media/voice_encoder.h"
#include "services/transceiver/core/rtp/rtp_clock.h"
#include "services/transceiver/core/rtp/rtp_receiver.h"
#include "services/transceiver/core/rtp/rtp_sender.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PACKETS_MAX 3000
#define COPIES_MAX  (2 * PACKETS_MAX)
#define START_US    (1000 * US_PER_S)
#define SLOT_US     (20 * US_PER_MS)
#define TONE_HZ     2040.0 /* 40.8 periods a frame: one sample lost is 0.5 rad, one frame 1.3 */
#define PI          3.14159265358979323846

struct link_model {
    unsigned loss_percent;
    unsigned duplicate_percent;
    uint64_t
        jitter_us; /* each packet's delay is drawn from 0..jitter_us: beyond 20 ms it reorders */
};

/* One copy of a packet on its way. */
struct copy {
    uint64_t arrival_us;
    size_t packet;
};

struct wire_packet {
    uint8_t data[RTP_PACKET_HEADER_BYTES + VOICE_PACKET_BYTES_MAX];
    size_t len;
};

static struct wire_packet sent[PACKETS_MAX];
static struct copy on_the_way[COPIES_MAX];

static int by_arrival(const void *a, const void *b)
{
    const struct copy *x = a;
    const struct copy *y = b;
    if (x->arrival_us != y->arrival_us) {
        return x->arrival_us < y->arrival_us ? -1 : 1;
    }
    return x->packet < y->packet ? -1 : 1;
}

/* The link: which copies of packets 0..count arrive, and when. */
static size_t carry(const struct link_model *link, size_t count, struct random_generator *random)
{
    size_t copies = 0;
    for (size_t n = 0; n < count; n++) {
        const bool is_lost = n > 0 && random_generator_next(random) % 100 < link->loss_percent;
        const bool is_twice = random_generator_next(random) % 100 < link->duplicate_percent;
        for (int i = 0; !is_lost && i < 1 + is_twice; i++) {
            const uint64_t delay_us = random_generator_next(random) % (link->jitter_us + 1);
            on_the_way[copies++] = (struct copy){START_US + n * SLOT_US + delay_us, n};
        }
    }
    qsort(on_the_way, copies, sizeof(on_the_way[0]), by_arrival);
    return copies;
}

/* What the receiving end has seen. */
struct listener {
    struct rtp_receiver *receiver;
    struct reorder_buffer *reorder;
    struct voice_decoder *decoder; /* NULL: payloads are numbers, not Opus */
    bool is_started;
    uint64_t first_timestamp;
    uint64_t next_timestamp;
    uint64_t first_packet;
    uint64_t last_packet;
    uint64_t delivered;
    uint64_t discontinuities;
    uint64_t silence;
    uint64_t wait_us_max;
    uint32_t rate_hz;
    void (*hear)(struct listener *l, const struct reorder_slot *slot, const int16_t *pcm,
                 size_t samples);
    double tone_phase; /* of the first frame that was judged */
    size_t judged;
    double phase_error_max;
};

static void open_listener(struct listener *l, uint32_t rate_hz)
{
    *l = (struct listener){.receiver = rtp_receiver_create(RTP_CLOCK_HZ, RTP_RECEIVER_NO_TYPE),
                           .reorder = reorder_buffer_create(),
                           .decoder =
                               rate_hz > 0 ? voice_decoder_create(VOICE_CODEC_OPUS, rate_hz) : NULL,
                           .rate_hz = rate_hz};
}

static void close_listener(struct listener *l)
{
    rtp_receiver_destroy(l->receiver);
    reorder_buffer_destroy(l->reorder);
    voice_decoder_destroy(l->decoder);
}

/* The timeline has no hole that is not announced and no overlap, and packets come in order. */
static void check_slot(struct listener *l, const struct reorder_slot *slot, uint64_t now_us)
{
    if (!l->is_started) {
        l->is_started = true;
        l->first_timestamp = slot->timestamp;
        l->next_timestamp = slot->timestamp;
    }
    if (slot->kind == REORDER_SLOT_SILENCE && slot->is_discontinuity) {
        assert_true(slot->timestamp == l->next_timestamp);
        return; /* a stall takes no time */
    }
    if (slot->is_discontinuity) {
        assert_true(slot->timestamp > l->next_timestamp);
        l->discontinuities++;
    } else {
        assert_true(slot->timestamp == l->next_timestamp);
    }
    l->next_timestamp = slot->timestamp + slot->duration;
    l->silence += slot->kind == REORDER_SLOT_SILENCE ? slot->duration : 0;
    if (slot->kind == REORDER_SLOT_PACKET) {
        l->delivered++;
        l->wait_us_max = time_later(l->wait_us_max, now_us - slot->arrived_us);
    }
}

static void decode_slot(struct listener *l, const struct reorder_slot *slot, uint64_t now_us)
{
    static int16_t pcm[VOICE_DECODER_SAMPLES_MAX];
    size_t samples = 0;
    if (slot->kind == REORDER_SLOT_PACKET) {
        assert_int_equal(voice_decoder_decode(l->decoder, slot->payload, pcm, &samples, now_us),
                         VOICE_DECODER_OK);
    } else if (slot->kind == REORDER_SLOT_CONCEAL) {
        assert_int_equal(voice_decoder_conceal(l->decoder, slot->duration, pcm, &samples, now_us),
                         VOICE_DECODER_OK);
    }
    assert_true(slot->kind == REORDER_SLOT_SILENCE ||
                samples == slot->duration * (uint64_t)l->rate_hz / 48000);
    if (l->hear != NULL && samples > 0) {
        l->hear(l, slot, pcm, samples);
    }
}

static void poll_slots(struct listener *l, uint64_t now_us)
{
    struct reorder_slot slot;
    while (reorder_buffer_poll(l->reorder, &slot, now_us)) {
        check_slot(l, &slot, now_us);
        if (l->decoder != NULL) {
            decode_slot(l, &slot, now_us);
        } else if (slot.kind == REORDER_SLOT_PACKET) {
            uint64_t n = 0;
            memcpy(&n, slot.payload.data, sizeof(n));
            if (l->delivered == 1) {
                l->first_packet = n;
            }
            assert_true(l->delivered == 1 || n > l->last_packet);
            assert_true(slot.timestamp - l->first_timestamp == (n - l->first_packet) * 960);
            l->last_packet = n;
        }
    }
    assert_true(reorder_buffer_next_timeout(l->reorder) > now_us);
}

static void receive(struct listener *l, const struct wire_packet *wire, uint64_t now_us)
{
    struct rtp_packet p;
    assert_int_equal(rtp_packet_parse(bytes_view_of(wire->data, wire->len), &p), RTP_PACKET_OK);
    struct rtp_arrival arrival;
    const enum rtp_receiver_result result = rtp_receiver_input(l->receiver, &p, &arrival, now_us);
    assert_true(result == RTP_RECEIVER_NEXT || (result == RTP_RECEIVER_NEW_SSRC && !l->is_started));
    const struct reorder_packet numbered = {
        .sequence = arrival.sequence,
        .timestamp = arrival.timestamp,
        .duration = l->decoder != NULL ? voice_packet_duration(VOICE_CODEC_OPUS, p.payload) : 960,
        .payload = p.payload};
    (void)reorder_buffer_insert(l->reorder, &numbered, now_us);
    poll_slots(l, now_us);
}

static void run_timers(struct listener *l, uint64_t until_us)
{
    uint64_t timeout_us = reorder_buffer_next_timeout(l->reorder);
    while (timeout_us < until_us) {
        poll_slots(l, timeout_us);
        timeout_us = reorder_buffer_next_timeout(l->reorder);
    }
}

/* Arrivals and timers in the order of time. */
static void run(struct listener *l, size_t copies)
{
    for (size_t i = 0; i < copies; i++) {
        run_timers(l, on_the_way[i].arrival_us);
        receive(l, &sent[on_the_way[i].packet], on_the_way[i].arrival_us);
    }
    run_timers(l, TIME_NEVER);
}

/* Packets that carry their own number instead of Opus, across both wraps. */
static void send_numbers(size_t count)
{
    for (uint64_t n = 0; n < count; n++) {
        const struct rtp_packet p = {.payload_type = 111,
                                     .sequence_number = (uint16_t)(65000 + n),
                                     .timestamp = (uint32_t)(UINT32_C(4294919296) + n * 960),
                                     .ssrc = 77};
        rtp_packet_write_header(&p, sent[n].data);
        memcpy(sent[n].data + RTP_PACKET_HEADER_BYTES, &n, sizeof(n));
        sent[n].len = RTP_PACKET_HEADER_BYTES + sizeof(n);
    }
}

static void every_packet_is_delivered_in_order_once_or_given_up(void **state)
{
    (void)state;
    static const struct link_model link[] = {
        {0, 0, 0},     {0, 0, 15000},  {10, 0, 15000}, {0, 5, 30000},
        {5, 5, 30000}, {20, 5, 60000}, {50, 0, 5000},  {90, 10, 100000},
    };
    send_numbers(PACKETS_MAX);
    for (size_t i = 0; i < COUNT_OF(link); i++) {
        for (uint64_t seed = 1; seed <= 10; seed++) {
            print_message("link %zu seed %llu\n", i, (unsigned long long)seed);
            struct random_generator random;
            random_generator_init(&random, seed);
            struct listener l;
            open_listener(&l, 0);
            const size_t copies = carry(&link[i], PACKETS_MAX, &random);
            run(&l, copies);
            const struct reorder_stats *stats = reorder_buffer_stats(l.reorder);
            assert_true(stats->delivered == l.delivered);
            assert_true(l.delivered + stats->missing == l.last_packet - l.first_packet + 1);
            assert_true(l.delivered + stats->late + stats->duplicates == copies);
            assert_int_equal(stats->refused, 0);
            assert_true(l.wait_us_max <= REORDER_WINDOW_US_MAX);
            assert_int_equal(l.silence, 0);
            if (link[i].loss_percent == 0 && link[i].jitter_us < SLOT_US) {
                assert_int_equal(l.delivered, PACKETS_MAX);
                assert_int_equal(l.wait_us_max, 0);
            }
            if (link[i].jitter_us <= 30000) {
                /* A packet is overtaken by one at most; after a few such it is waited for. */
                assert_true(stats->late <= 10);
            }
            close_listener(&l);
        }
    }
}

/* `count` frames of a tone through the encoder and RTP; slots from..to are not sent at all. */
static void send_tone(uint32_t rate_hz, size_t count, size_t silent_from, size_t silent_to)
{
    struct random_generator random;
    random_generator_init(&random, 5);
    const struct rtp_sender_config config = {.random = random_seeded(&random), .clock_hz = 48000};
    struct rtp_sender *sender = rtp_sender_create(&config);
    struct voice_encoder *encoder = voice_encoder_create(VOICE_CODEC_OPUS, rate_hz);
    const size_t frame_samples = rate_hz / 50;
    for (size_t n = 0; n < count; n++) {
        int16_t frame[960];
        for (size_t i = 0; i < frame_samples; i++) {
            const double t = (double)(n * frame_samples + i) / rate_hz;
            frame[i] = (int16_t)(8000 * sin(2 * PI * TONE_HZ * t));
        }
        uint8_t *payload = sent[n].data + RTP_PACKET_HEADER_BYTES;
        const size_t len = voice_encoder_encode(encoder, frame, payload);
        rtp_sender_next_slot(sender, 960, START_US + n * SLOT_US);
        sent[n].len = 0;
        if (n < silent_from || n >= silent_to) {
            rtp_sender_write_header(sender, 111, len, false, sent[n].data);
            sent[n].len = RTP_PACKET_HEADER_BYTES + len;
        }
    }
    voice_encoder_destroy(encoder);
    rtp_sender_destroy(sender);
}

/* The tone's phase in this frame, against a tone that runs on the timestamps. */
static void judge_phase(struct listener *l, const struct reorder_slot *slot, const int16_t *pcm,
                        size_t samples)
{
    const uint64_t frame = (slot->timestamp - l->first_timestamp) / 960;
    if (frame % 50 < 30) {
        return; /* the lossy case loses packets here, and then the codec settles */
    }
    assert_int_equal(slot->kind, REORDER_SLOT_PACKET);
    double in_phase = 0;
    double quadrature = 0;
    for (size_t i = 0; i < samples; i++) {
        const double t = (double)frame * 0.02 + (double)i / l->rate_hz;
        in_phase += pcm[i] * sin(2 * PI * TONE_HZ * t);
        quadrature += pcm[i] * cos(2 * PI * TONE_HZ * t);
    }
    const double phase = atan2(quadrature, in_phase);
    if (l->judged++ == 0) {
        l->tone_phase = phase;
    }
    const double error = fabs(remainder(phase - l->tone_phase, 2 * PI));
    l->phase_error_max = error > l->phase_error_max ? error : l->phase_error_max;
}

static const uint32_t backend_rate_hz[] = {16000, 24000};

static void a_tone_keeps_its_phase_over_a_link_without_loss(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(backend_rate_hz); i++) {
        struct random_generator random;
        random_generator_init(&random, 1);
        struct listener l;
        open_listener(&l, backend_rate_hz[i]);
        l.hear = judge_phase;
        send_tone(24000, 500, 0, 0);
        run(&l, carry(&(struct link_model){0, 0, 15000}, 500, &random));
        assert_int_equal(l.delivered, 500);
        assert_int_equal(l.judged, 200);
        assert_true(l.next_timestamp - l.first_timestamp == 500 * 960);
        print_message("phase error %.4f\n", l.phase_error_max);
        assert_true(l.phase_error_max < 0.1);
        close_listener(&l);
    }
}

static void after_a_loss_the_tone_is_where_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(backend_rate_hz); i++) {
        struct listener l;
        open_listener(&l, backend_rate_hz[i]);
        l.hear = judge_phase;
        send_tone(24000, 500, 0, 0);
        size_t copies = 0;
        for (size_t n = 0; n < 500; n++) {
            /* In each second's first 10 frames: single losses, then one too long to conceal. */
            const size_t in_second = n % 50;
            const bool is_lost = n >= 50 && (in_second == 1 || (in_second >= 3 && in_second < 10));
            if (!is_lost) {
                on_the_way[copies++] = (struct copy){START_US + n * SLOT_US, n};
            }
        }
        run(&l, copies);
        assert_int_equal(l.discontinuities, 9);
        assert_int_equal(reorder_buffer_stats(l.reorder)->concealed, 9 * 6 * 960);
        assert_true(l.next_timestamp - l.first_timestamp == 500 * 960);
        assert_int_equal(l.judged, 200);
        print_message("phase error %.4f\n", l.phase_error_max);
        assert_true(l.phase_error_max < 0.1);
        close_listener(&l);
    }
}

static void a_pause_of_the_sender_is_silence_of_its_length(void **state)
{
    (void)state;
    struct listener l;
    open_listener(&l, 24000);
    send_tone(24000, 200, 60, 133);
    size_t copies = 0;
    for (size_t n = 0; n < 200; n++) {
        if (sent[n].len > 0) {
            on_the_way[copies++] = (struct copy){START_US + n * SLOT_US, n};
        }
    }
    run(&l, copies);
    assert_int_equal(l.silence, 73 * 960);
    assert_int_equal(l.discontinuities, 0);
    assert_int_equal(reorder_buffer_stats(l.reorder)->concealed, 0);
    assert_true(l.next_timestamp - l.first_timestamp == 200 * 960);
    close_listener(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_packet_is_delivered_in_order_once_or_given_up),
        cmocka_unit_test(a_tone_keeps_its_phase_over_a_link_without_loss),
        cmocka_unit_test(after_a_loss_the_tone_is_where_it_was),
        cmocka_unit_test(a_pause_of_the_sender_is_silence_of_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
