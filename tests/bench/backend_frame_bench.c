/* backend_frame_bench.c - frames of the backend link, from a buffer and from a stream */
#include "common/backend_link/backend_frame.h"
#include "tests/bench/bench.h"

#include <assert.h>
#include <stdlib.h>

#define OPUS_BYTES  80    /* 20 ms at 32 kb/s */
#define PCM_BYTES   960   /* 20 ms at 24 kHz */
#define FRAME_COUNT 10000 /* in memory */
#define COUNT       (10 * FRAME_COUNT)

/* FRAME_COUNT frames, one behind the other. */
struct stream {
    size_t payload_bytes;
    struct backend_frame frame;
    struct backend_frame_reader *reader;
    uint8_t *data;
    size_t len;
};

static void write_frames(struct stream *s, enum backend_codec codec)
{
    static const uint8_t payload[PCM_BYTES];
    const size_t frame_bytes = BACKEND_FRAME_HEADER_BYTES + s->payload_bytes;
    s->frame = (struct backend_frame){.type = BACKEND_AUDIO_IN,
                                      .session = 7,
                                      .time_us = 1,
                                      .codec = (uint8_t)codec,
                                      .rate_khz = 24,
                                      .channels = 1,
                                      .payload = bytes_view_of(payload, s->payload_bytes)};
    s->data = calloc(FRAME_COUNT, frame_bytes);
    s->reader = backend_frame_reader_create();
    assert(s->data != NULL && s->reader != NULL);
    for (; s->len < FRAME_COUNT * frame_bytes; s->len += frame_bytes) {
        s->frame.sequence++;
        backend_frame_encode_header(&s->frame, s->data + s->len);
    }
}

static void run_encode(void *context, size_t count)
{
    struct stream *s = context;
    uint8_t header[BACKEND_FRAME_HEADER_BYTES];
    for (size_t i = 0; i < count; i++) {
        s->frame.sequence++;
        backend_frame_encode_header(&s->frame, header);
        assert(header[0] != 0);
    }
}

static void decode_all(const struct stream *s)
{
    struct bytes_view left = bytes_view_of(s->data, s->len);
    struct backend_frame frame;
    size_t frame_bytes = 0;
    while (left.len > 0) {
        const enum backend_frame_result result = backend_frame_decode(left, &frame, &frame_bytes);
        assert(result == BACKEND_FRAME_OK && frame.payload.len == s->payload_bytes);
        left = bytes_view_of(left.data + frame_bytes, left.len - frame_bytes);
    }
}

static void run_decode(void *context, size_t count)
{
    for (size_t done = 0; done < count; done += FRAME_COUNT) {
        decode_all(context);
    }
}

/* As from a socket: as much as the reader has room for, then what it makes of it. */
static void read_all(const struct stream *s)
{
    struct backend_frame frame;
    size_t given = 0;
    size_t frames = 0;
    while (given < s->len) {
        const struct bytes_span room = backend_frame_reader_reserve(s->reader);
        const size_t len = room.cap < s->len - given ? room.cap : s->len - given;
        memcpy(room.data, s->data + given, len);
        backend_frame_reader_commit(s->reader, len);
        given += len;
        while (backend_frame_reader_poll(s->reader, &frame) == BACKEND_FRAME_OK) {
            assert(frame.payload.len == s->payload_bytes);
            frames++;
        }
    }
    assert(frames == FRAME_COUNT);
}

static void run_read(void *context, size_t count)
{
    for (size_t done = 0; done < count; done += FRAME_COUNT) {
        read_all(context);
    }
}

int main(int argc, char **argv)
{
    struct stream opus = {.payload_bytes = OPUS_BYTES};
    struct stream pcm = {.payload_bytes = PCM_BYTES};
    write_frames(&opus, BACKEND_CODEC_OPUS);
    write_frames(&pcm, BACKEND_CODEC_PCM16);
    const struct bench_case cases[] = {
        {.figure = "encode_header",
         .run = run_encode,
         .context = &opus,
         .count = COUNT,
         .unit = BENCH_PER_S},
        {.figure = "decode_opus",
         .run = run_decode,
         .context = &opus,
         .count = COUNT,
         .unit = BENCH_PER_S,
         .goal = 10e6},
        {.figure = "decode_pcm",
         .run = run_decode,
         .context = &pcm,
         .count = COUNT,
         .unit = BENCH_PER_S,
         .goal = 10e6},
        {.figure = "read_opus",
         .run = run_read,
         .context = &opus,
         .count = COUNT,
         .unit = BENCH_PER_S},
        {.figure = "read_pcm",
         .run = run_read,
         .context = &pcm,
         .count = COUNT,
         .unit = BENCH_PER_S},
    };
    const int status = bench_run("backend_frame", cases, COUNT_OF(cases), argc, argv);
    backend_frame_reader_destroy(opus.reader);
    backend_frame_reader_destroy(pcm.reader);
    free(opus.data);
    free(pcm.data);
    return status;
}
