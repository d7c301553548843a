/* stub_link_world.h - a link of the stub and the transceiver at its other end, in virtual time */
#ifndef EARSHOT_TESTS_STUB_LINK_WORLD_H
#define EARSHOT_TESTS_STUB_LINK_WORLD_H

#include "tests/testing.h"

#include "services/inference-stub/stub_link.h"

#define FRAMES_MAX    4096
#define PAYLOAD_TOTAL (8 << 20)
#define START_JSON                                                                                 \
    "{\"call_id\":\"rtc_1\",\"in\":[\"pcm16/24000\",\"pcm16/16000\"],"                             \
    "\"out\":[\"pcm16/24000\",\"pcm16/16000\"],\"credit_us\":1000000}"

/* A transceiver and the link it talks to; what was read stays until forget(). */
struct peer {
    struct stub_counters counters;
    struct stub_behaviour behaviour;
    struct stub_link *link;
    uint64_t now_us;
    uint32_t sequence[8]; /* of what we send, by handle */
    uint32_t heard_sequence[8];
    struct backend_frame_reader *reader;
    struct backend_frame *frame;
    size_t frame_count;
    uint8_t *payload;
    size_t payload_len;
};

static int16_t greeting[16000];

static inline struct peer *open_peer(enum dialogue_mode mode)
{
    static struct backend_frame frame[FRAMES_MAX];
    static uint8_t payload[PAYLOAD_TOTAL];
    static struct peer p;
    p = (struct peer){.now_us = 1000, .frame = frame, .payload = payload};
    p.behaviour = (struct stub_behaviour){.mode = mode,
                                          .mode_name = "test",
                                          .tone_hz = 1000,
                                          .greeting_16k = {greeting, 16000},
                                          .greeting_24k = {greeting, 16000},
                                          .sessions_max = 5,
                                          .counters = &p.counters};
    p.link = stub_link_create(&p.behaviour, "0badcafe", p.now_us);
    p.reader = backend_frame_reader_create();
    assert_non_null(p.link);
    assert_non_null(p.reader);
    return &p;
}

static inline void close_peer(struct peer *p)
{
    stub_link_destroy(p->link);
    backend_frame_reader_destroy(p->reader);
}

static inline void send_bytes(struct peer *p, const void *bytes, size_t len)
{
    while (len > 0) {
        const struct bytes_span room = stub_link_reserve(p->link);
        assert_true(room.cap > 0);
        const size_t piece = len < room.cap ? len : room.cap;
        memcpy(room.data, bytes, piece);
        stub_link_commit(p->link, piece, p->now_us);
        bytes = (const uint8_t *)bytes + piece;
        len -= piece;
    }
}

static inline void send_frame(struct peer *p, struct backend_frame frame)
{
    uint8_t header[BACKEND_FRAME_HEADER_BYTES];
    frame.sequence = p->sequence[frame.session]++;
    backend_frame_encode_header(&frame, header);
    send_bytes(p, header, sizeof(header));
    send_bytes(p, frame.payload.data, frame.payload.len);
}

static inline void send_text(struct peer *p, uint8_t type, uint32_t session, const char *json)
{
    send_frame(p, (struct backend_frame){.type = type,
                                         .session = session,
                                         .flags = BACKEND_FLAG_LAST,
                                         .payload = bytes_view_of_text(json)});
}

static inline void keep_frame(struct peer *p, struct backend_frame frame)
{
    assert_true(p->frame_count < FRAMES_MAX && p->payload_len + frame.payload.len <= PAYLOAD_TOTAL);
    assert_int_equal(frame.sequence, p->heard_sequence[frame.session]++);
    if (frame.payload.len > 0) {
        memcpy(p->payload + p->payload_len, frame.payload.data, frame.payload.len);
    }
    frame.payload.data = p->payload + p->payload_len;
    p->payload_len += frame.payload.len;
    p->frame[p->frame_count++] = frame;
}

/* Reads what the link writes, at most len_max bytes. */
static inline void hear_some(struct peer *p, size_t len_max)
{
    while (len_max > 0) {
        const struct bytes_view output = stub_link_output(p->link, p->now_us);
        const struct bytes_span room = backend_frame_reader_reserve(p->reader);
        size_t len = output.len < len_max ? output.len : len_max;
        len = len < room.cap ? len : room.cap;
        if (len == 0) {
            return;
        }
        memcpy(room.data, output.data, len);
        backend_frame_reader_commit(p->reader, len);
        stub_link_sent(p->link, len, p->now_us);
        len_max -= len;
        struct backend_frame frame;
        enum backend_frame_result result;
        while ((result = backend_frame_reader_poll(p->reader, &frame)) == BACKEND_FRAME_OK) {
            keep_frame(p, frame);
        }
        assert_int_equal(result, BACKEND_FRAME_MORE);
    }
}

static inline void hear(struct peer *p)
{
    hear_some(p, SIZE_MAX);
}

static inline void forget(struct peer *p)
{
    p->frame_count = 0;
    p->payload_len = 0;
}

static const struct backend_frame *heard(const struct peer *p, uint8_t type)
{
    for (size_t i = 0; i < p->frame_count; i++) {
        if (p->frame[i].type == type) {
            return &p->frame[i];
        }
    }
    return NULL;
}

static inline size_t heard_count(const struct peer *p, uint8_t type)
{
    size_t count = 0;
    for (size_t i = 0; i < p->frame_count; i++) {
        count += p->frame[i].type == type;
    }
    return count;
}

static inline bool says(const struct backend_frame *frame, const char *text)
{
    return frame != NULL &&
           memmem(frame->payload.data, frame->payload.len, text, strlen(text)) != NULL;
}

static inline void pass_time(struct peer *p, uint64_t us)
{
    const uint64_t end_us = p->now_us + us;
    while (!stub_link_is_over(p->link) && stub_link_next_timeout(p->link) <= end_us) {
        p->now_us = time_later(p->now_us, stub_link_next_timeout(p->link));
        stub_link_tick(p->link, p->now_us);
        assert_true(stub_link_next_timeout(p->link) > p->now_us);
    }
    p->now_us = end_us;
}

static inline struct peer *greet(enum dialogue_mode mode)
{
    struct peer *p = open_peer(mode);
    send_text(p, BACKEND_HELLO, 0, "{\"versions\":[1]}");
    hear(p);
    assert_int_equal(p->frame_count, 1);
    assert_true(says(heard(p, BACKEND_HELLO), "\"versions\":[1]"));
    assert_true(says(heard(p, BACKEND_HELLO), "0badcafe"));
    forget(p);
    return p;
}

static inline struct peer *start(enum dialogue_mode mode)
{
    struct peer *p = greet(mode);
    send_text(p, BACKEND_SESSION_START, 1, START_JSON);
    hear(p);
    assert_non_null(heard(p, BACKEND_SESSION_ACCEPT));
    forget(p);
    return p;
}

static inline struct backend_frame audio_frame(uint32_t session, uint8_t rate_khz)
{
    static const uint8_t pcm[960] = {1, 2, 3};
    return (struct backend_frame){.type = BACKEND_AUDIO_IN,
                                  .session = session,
                                  .codec = BACKEND_CODEC_PCM16,
                                  .rate_khz = rate_khz,
                                  .channels = 1,
                                  .payload = {pcm, rate_khz * 40u}};
}

/* The link said code in one last ERROR, waits for it to be read, and goes. */
static inline void assert_failed(struct peer *p, enum stub_close_reason reason, const char *code)
{
    assert_false(stub_link_is_over(p->link));
    hear(p);
    const struct backend_frame *error = &p->frame[p->frame_count - 1];
    assert_true(p->frame_count > 0 && error->type == BACKEND_ERROR && says(error, code));
    assert_true(says(error, "\"fatal\":true"));
    assert_int_equal(stub_link_reason(p->link), reason);
    assert_true(stub_link_is_finished(p->link));
    send_bytes(p, "more", 4); /* is read and ignored */
    pass_time(p, 1001 * US_PER_MS);
    assert_true(stub_link_is_over(p->link));
    assert_int_equal(stub_link_reason(p->link), reason);
}

#endif
