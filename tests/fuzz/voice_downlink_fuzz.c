/* voice_downlink_fuzz.c - a backend's frames about speech, its coming and going, and time
 *
 * Input: a byte (bit 0: Opus packets, bit 1: on_speech pause), then steps: kind (1 byte), ms that
 * pass before it (1), utterance (2), offset in ms (1), flags (1: LAST), length (2), bytes. What
 * comes out: one packet a slot; FLUSHED for each FLUSH; done once for each utterance, in order,
 * never more sent than supplied; credit that only rises, until another backend begins anew.
 */
#include "common/backend_link/backend_report.h"
#include "services/transceiver/core/session/voice_downlink.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BEGIN_US  (100 * US_PER_S)
#define CREDIT_US US_PER_S

static struct voice_silences silences;

struct world {
    uint64_t now_us;
    bool is_attached;
    bool is_opus;
    struct backend_accept accept;
    struct random_generator random;
    struct outbox *outbox;
    struct voice_downlink *downlink;
    uint32_t last_done;
    uint64_t limit_us;
    uint64_t flushed_count;
};

static void check_playback(struct world *w, const struct backend_frame *frame)
{
    struct backend_playback playback;
    const bool good = backend_playback_decode(frame->payload, &playback);
    assert(good);
    assert(playback.heard_us <= playback.sent_us);
    assert(playback.utterance == frame->utterance);
    if (strcmp(playback.state, "done") == 0) {
        assert(playback.utterance > w->last_done);
        assert(playback.queued_us == 0);
        w->last_done = playback.utterance;
    } else {
        assert(playback.utterance > w->last_done);
    }
    (void)good;
}

static void check_frames(struct world *w)
{
    size_t cursor = 0;
    uint32_t id = 0;
    struct backend_frame frame;
    while (outbox_next_frame(w->outbox, &cursor, &id, &frame)) {
        struct byte_reader r;
        assert(w->is_attached);
        switch (frame.type) {
        case BACKEND_PLAYBACK:
            check_playback(w, &frame);
            break;
        case BACKEND_CREDIT:
            byte_reader_init(&r, frame.payload);
            const uint64_t limit_us = byte_reader_u64_le(&r);
            assert(limit_us >= w->limit_us + CREDIT_US / 4);
            w->limit_us = limit_us;
            break;
        case BACKEND_FLUSHED:
            w->flushed_count++;
            break;
        default:
            assert(frame.type == BACKEND_ERROR);
            break;
        }
    }
    assert(outbox_dropped(w->outbox) == 0);
    outbox_clear(w->outbox);
}

static void run_until(struct world *w, uint64_t end_us)
{
    uint8_t packet[OUTBOX_DATAGRAM_BYTES];
    while (voice_downlink_next_timeout(w->downlink) <= end_us) {
        const uint64_t due_us = voice_downlink_next_timeout(w->downlink);
        w->now_us = due_us > w->now_us ? due_us : w->now_us;
        while (voice_downlink_poll_packet(w->downlink, packet, w->now_us) > 0) {
        }
        assert(voice_downlink_next_timeout(w->downlink) > w->now_us);
        check_frames(w);
    }
    w->now_us = end_us;
}

static void attach(struct world *w)
{
    /* Repeats begin again from an earlier id. */
    w->last_done = 0;
    w->is_attached = true;
    const bool good = voice_downlink_attach(w->downlink, &w->accept, w->now_us);
    assert(good);
    (void)good;
    check_frames(w);
}

static void restart(struct world *w)
{
    voice_downlink_restart(w->downlink, w->now_us);
    w->limit_us = CREDIT_US;
    attach(w);
    w->last_done = 0;
    assert(voice_downlink_position(w->downlink).utterance == 0);
}

static void input(struct world *w, struct byte_reader *script, uint8_t type)
{
    struct backend_frame frame = {.type = type, .channels = 1};
    frame.codec = w->is_opus ? BACKEND_CODEC_OPUS : BACKEND_CODEC_PCM16;
    frame.rate_khz = w->is_opus ? 48 : 16;
    frame.utterance = byte_reader_u16(script);
    frame.time_us = byte_reader_u8(script) * US_PER_MS;
    const uint8_t flags = byte_reader_u8(script);
    frame.flags = (flags & 1) != 0 ? BACKEND_FLAG_LAST : 0;
    frame.codec = (flags & 0x80) != 0 ? (uint8_t)(flags >> 1 & 7) : frame.codec;
    const size_t len = byte_reader_u16(script);
    const size_t left = byte_reader_left(script);
    frame.payload = byte_reader_bytes(script, len < left ? len : left);
    const uint64_t flushed_before = w->flushed_count;
    const struct backend_position before = voice_downlink_position(w->downlink);
    (void)voice_downlink_input(w->downlink, &frame, w->now_us);
    const struct backend_position after = voice_downlink_position(w->downlink);
    check_frames(w);
    const bool is_flush = type == BACKEND_FLUSH && w->is_attached;
    assert(w->flushed_count - flushed_before == is_flush);
    assert(after.utterance >= before.utterance);
    assert(after.received_total_us >= before.received_total_us);
    assert(after.received_total_us <= before.credit_us);
    assert(after.sent_us <= after.received_us);
    (void)flushed_before;
    (void)before;
    (void)after;
    (void)is_flush;
}

static void step(struct world *w, struct byte_reader *script)
{
    static const uint8_t type[] = {BACKEND_AUDIO_OUT, BACKEND_AUDIO_OUT, BACKEND_AUDIO_OUT,
                                   BACKEND_FLUSH,     BACKEND_PAUSE,     BACKEND_RESUME,
                                   BACKEND_EVENT};
    const uint8_t kind = byte_reader_u8(script);
    run_until(w, w->now_us + byte_reader_u8(script) * US_PER_MS);
    switch (kind % 12) {
    case 7:
        voice_downlink_speech_started(w->downlink, w->now_us);
        break;
    case 8:
        w->is_attached = false;
        voice_downlink_detach(w->downlink);
        break;
    case 9:
        attach(w);
        break;
    case 10:
        restart(w);
        break;
    case 11:
        run_until(w, w->now_us + kind * 20 * US_PER_MS);
        break;
    default:
        input(w, script, type[kind % 12]);
        break;
    }
    check_frames(w);
}

static void open_world(struct world *w, uint8_t options)
{
    w->is_opus = (options & 1) != 0;
    w->accept = (struct backend_accept){
        .out = w->is_opus ? (struct backend_format){BACKEND_CODEC_OPUS, 48}
                          : (struct backend_format){BACKEND_CODEC_PCM16, 16},
        .prebuffer_ms = 20,
        .progress_ms = 100,
        .pauses_on_speech = (options & 2) != 0,
    };
    random_generator_init(&w->random, 1);
    w->outbox = outbox_create(1, 4u << 20);
    w->downlink = voice_downlink_create(&(struct voice_downlink_config){
        .session_id = 1,
        .start_us = BEGIN_US,
        .credit_us = CREDIT_US,
        .outbox = w->outbox,
        .voice = {.session_id = 1,
                  .payload_type = 111,
                  .silences = &silences,
                  .rtp = {.random = random_seeded(&w->random)}},
    });
    attach(w);
    voice_downlink_start(w->downlink, w->now_us);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_ready;
    is_ready = is_ready || voice_silences_make(&silences);
    assert(is_ready);
    struct byte_reader script;
    byte_reader_init(&script, bytes_view_of(data, size));
    struct world w = {.now_us = BEGIN_US, .limit_us = CREDIT_US};
    open_world(&w, byte_reader_u8(&script));
    while (byte_reader_left(&script) > 0) {
        step(&w, &script);
    }
    voice_downlink_end(w.downlink, false, w.now_us);
    check_frames(&w);
    voice_downlink_destroy(w.downlink);
    outbox_destroy(w.outbox);
    return 0;
}
