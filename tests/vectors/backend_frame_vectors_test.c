/* backend_frame_vectors_test.c - example frames of the backend protocol, bit for bit */
#include "tests/testing.h"

#include "common/backend_link/backend_frame.h"

/* AUDIO_IN: session 7, sequence 9, captured at 123.456 ms, RTP timestamp 0x1774, speech, 20 ms of
 * PCM16 at 24 kHz. */
#define AUDIO_IN_HEX                                                                               \
    "dc030000a1200800070000000900000040e201000000000074170000"                                     \
    "01180108"
/* FLUSH: session 7, sequence 41, utterance 5. */
#define FLUSH_HEX                                                                                  \
    "1c000000a123000007000000290000000000000000000000050000000"                                    \
    "0000000"
/* FLUSHED: session 7, sequence 212, at 9.876543 s, utterance 5. */
#define FLUSHED_HEX                                                                                \
    "65000000a124000007000000d40000003fb496000000000005000000"                                     \
    "00000000"
#define FLUSHED_JSON                                                                               \
    "{\"utterance\":5,\"sent_us\":1240000,\"heard_us\":1130000,\"dropped_us\":2760000}"

static const uint8_t pcm_20_ms[960] = {1, 2, 3};

static const struct vector {
    const char *header_hex;
    struct backend_frame frame;
} vectors[] = {
    {AUDIO_IN_HEX,
     {.type = BACKEND_AUDIO_IN,
      .flags = BACKEND_AUDIO_SPEECH,
      .session = 7,
      .sequence = 9,
      .time_us = 123456,
      .utterance = 0x1774,
      .codec = BACKEND_CODEC_PCM16,
      .rate_khz = 24,
      .channels = 1,
      .duration_2500us = 8,
      .payload = {pcm_20_ms, sizeof(pcm_20_ms)}}},
    {FLUSH_HEX, {.type = BACKEND_FLUSH, .session = 7, .sequence = 41, .utterance = 5}},
    {FLUSHED_HEX,
     {.type = BACKEND_FLUSHED,
      .session = 7,
      .sequence = 212,
      .time_us = 9876543,
      .utterance = 5,
      .payload = {(const uint8_t *)FLUSHED_JSON, sizeof(FLUSHED_JSON) - 1}}},
};

static void the_examples_encode_to_their_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        uint8_t header[BACKEND_FRAME_HEADER_BYTES];
        char hex[2 * sizeof(header) + 1];
        backend_frame_encode_header(&vectors[i].frame, header);
        assert_true(bytes_to_hex(bytes_view_of(header, sizeof(header)), hex, sizeof(hex)));
        assert_string_equal(hex, vectors[i].header_hex);
    }
}

static void the_examples_decode_to_their_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        const struct backend_frame *want = &vectors[i].frame;
        uint8_t bytes[BACKEND_FRAME_HEADER_BYTES + 1024];
        assert_true(bytes_from_hex(bytes_view_of_text(vectors[i].header_hex), bytes,
                                   BACKEND_FRAME_HEADER_BYTES));
        memset(bytes + BACKEND_FRAME_HEADER_BYTES, 0, 1024);
        if (want->payload.len > 0) {
            memcpy(bytes + BACKEND_FRAME_HEADER_BYTES, want->payload.data, want->payload.len);
        }
        struct backend_frame got;
        size_t got_bytes = 0;
        assert_int_equal(
            backend_frame_decode(bytes_view_of(bytes, sizeof(bytes)), &got, &got_bytes),
            BACKEND_FRAME_OK);
        assert_int_equal(got_bytes, BACKEND_FRAME_HEADER_BYTES + want->payload.len);
        assert_int_equal(got.type, want->type);
        assert_int_equal(got.flags, want->flags);
        assert_int_equal(got.session, want->session);
        assert_int_equal(got.sequence, want->sequence);
        assert_int_equal(got.time_us, want->time_us);
        assert_int_equal(got.utterance, want->utterance);
        assert_int_equal(got.codec, want->codec);
        assert_int_equal(got.rate_khz, want->rate_khz);
        assert_int_equal(got.channels, want->channels);
        assert_int_equal(got.duration_2500us, want->duration_2500us);
        assert_true(bytes_equal(got.payload, want->payload));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_encode_to_their_bytes),
        cmocka_unit_test(the_examples_decode_to_their_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
