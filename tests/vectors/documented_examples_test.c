/* documented_examples_test.c - every example in the documents is what the code produces
 *
 * Examples stand in blocks that open with ```example: a name, two blanks or more, a value. A line
 * that begins with blanks goes on with the value before it. Blanks inside a value mean nothing.
 */
#include "tests/testing.h"

#include "common/backend_link/backend_payload.h"
#include "common/control/control_event.h"
#include "common/crypto/aes_block.h"
#include "common/crypto/hkdf.h"
#include "common/routing/relay_shim.h"
#include "common/routing/routing_token.h"
#include "services/signaling/call_id.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY_ID       7
#define CLUSTER_ID   1
#define INSTANCE_ID  0x5eed0001
#define SIDEBAND_ID  0x51de0007
#define SESSION_ID   0x00002a03 /* shard 0, slot 42, generation 3 */
#define CALL_ID_TEXT "rtc_H0-PHtjQYoeTQjD284teUfQ"
#define TEXT_CAP     2048
#define EXAMPLES_MAX 64
#define WIRE         "docs/wire-formats.md"
#define BACKEND      "docs/backend-protocol.md"

/* --- what the code produces ------------------------------------------------------------------ */

static void write_hex(const void *data, size_t len, char *text)
{
    assert_true(bytes_to_hex(bytes_view_of(data, len), text, TEXT_CAP));
}

static void fill_secret(uint8_t secret[KEY_RING_SECRET_BYTES])
{
    for (size_t i = 0; i < KEY_RING_SECRET_BYTES; i++) {
        secret[i] = (uint8_t)i;
    }
}

static struct key_ring *golden_ring(void)
{
    uint8_t secret[KEY_RING_SECRET_BYTES];
    fill_secret(secret);
    struct key_ring *ring = key_ring_from_secret(KEY_ID, secret);
    assert_non_null(ring);
    return ring;
}

static void secret(char *text)
{
    uint8_t bytes[KEY_RING_SECRET_BYTES];
    fill_secret(bytes);
    write_hex(bytes, sizeof(bytes), text);
}

static void derived(const char *info, size_t len, char *text)
{
    uint8_t bytes[KEY_RING_SECRET_BYTES];
    uint8_t key[32];
    fill_secret(bytes);
    hkdf_sha256(bytes_view_of(bytes, sizeof(bytes)), (struct bytes_view){0},
                bytes_view_of_text(info), key, len);
    write_hex(key, len, text);
}

static void token_key(char *text)
{
    derived("earshot token v1", 16, text);
}

static void shim_key(char *text)
{
    derived("earshot shim v1", 16, text);
}

static void call_id_key(char *text)
{
    derived("earshot call id v1", 16, text);
}

static void client_secret_key(char *text)
{
    derived("earshot client secret v1", 32, text);
}

/* The block as the document draws it, not as the codec writes it. */
static void fill_token_block(uint8_t block[AES_BLOCK_BYTES])
{
    struct byte_writer w;
    byte_writer_init(&w, block, AES_BLOCK_BYTES);
    byte_writer_u16(&w, CLUSTER_ID);
    byte_writer_u32(&w, INSTANCE_ID);
    byte_writer_u32(&w, SESSION_ID);
    byte_writer_u8(&w, 0);
    byte_writer_zeros(&w, 5);
    assert_false(w.failed);
}

static void token_block(char *text)
{
    uint8_t block[AES_BLOCK_BYTES];
    fill_token_block(block);
    write_hex(block, sizeof(block), text);
}

static void token_cipher(char *text)
{
    uint8_t block[AES_BLOCK_BYTES];
    struct key_ring *ring = golden_ring();
    fill_token_block(block);
    aes_block_encrypt(key_ring_token_cipher(ring, KEY_ID), block, block);
    write_hex(block, sizeof(block), text);
    key_ring_destroy(ring);
}

static void token(char *text)
{
    const struct routing_token in = {CLUSTER_ID, INSTANCE_ID, SESSION_ID, 0};
    struct key_ring *ring = golden_ring();
    routing_token_seal(ring, &in, text);
    text[ROUTING_TOKEN_CHARS] = '\0';
    key_ring_destroy(ring);
}

static void shim(uint8_t flags, uint16_t datagram_bytes, char *text)
{
    struct relay_shim in = {.flags = flags,
                            .datagram_bytes = datagram_bytes,
                            .instance_id = INSTANCE_ID,
                            .session_id = SESSION_ID};
    uint8_t out[RELAY_SHIM_BYTES];
    struct key_ring *ring = golden_ring();
    assert_true(net_addr_parse("203.0.113.77:51870", &in.client));
    relay_shim_write(ring, &in, out);
    write_hex(out, sizeof(out), text);
    key_ring_destroy(ring);
}

static void shim_uplink(char *text)
{
    shim(0, 100, text);
}

static void shim_downlink(char *text)
{
    shim(RELAY_SHIM_DOWNLINK, 100, text);
}

static void shim_announcement(char *text)
{
    shim(RELAY_SHIM_DOWNLINK | RELAY_SHIM_ANNOUNCEMENT, 0, text);
}

/* Ten bytes a0 to a9 behind the six that the ids overwrite. */
static void fill_counting(void *context, uint8_t *out, size_t len)
{
    (void)context;
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)(0xa0 + i - 6);
    }
}

static struct call_id_sealed golden_call_id(void)
{
    const struct call_id id = {CLUSTER_ID, INSTANCE_ID};
    struct call_id_sealed sealed;
    struct key_ring *ring = golden_ring();
    call_id_seal(ring, &id, (struct random_source){fill_counting, NULL}, &sealed);
    key_ring_destroy(ring);
    return sealed;
}

static void call_id_block(char *text)
{
    uint8_t block[AES_BLOCK_BYTES];
    struct key_ring *ring = golden_ring();
    const struct call_id_sealed sealed = golden_call_id();
    aes_block_decrypt(key_ring_call_id_cipher(ring, KEY_ID), sealed.block, block);
    write_hex(block, sizeof(block), text);
    key_ring_destroy(ring);
}

static void call_id(char *text)
{
    (void)snprintf(text, TEXT_CAP, "%s", golden_call_id().text);
}

static void encoded(size_t len, const uint8_t *message, char *text)
{
    assert_true(len > 0);
    write_hex(message, len, text);
}

static void announcement(char *text)
{
    static struct control_announcement in = {
        .cluster_id = CLUSTER_ID,
        .instance_id = INSTANCE_ID,
        .name = "t1",
        .control_url = "tcp://10.0.0.9:7001",
        .capacity = 200,
        .sessions_active = 3,
        .shard_count = 1,
        .state = CONTROL_STATE_READY,
        .backend_up = true,
        .key_ids = {KEY_ID},
        .key_id_count = 1,
        .key_id_active = KEY_ID,
        .sequence = 12,
        .version = "0.1.0",
    };
    uint8_t out[512];
    assert_true(net_addr_parse("10.0.0.9:4000", &in.media_address));
    encoded(control_encode_announcement(&in, (struct bytes_span){out, 0, sizeof(out)}), out, text);
}

static void end_session(char *text)
{
    struct control_request in = {.kind = CONTROL_END_SESSION};
    struct control_end_session *end = &in.body.end_session;
    uint8_t out[512];
    for (size_t i = 0; i < CONTROL_REQUEST_ID_BYTES; i++) {
        in.request_id[i] = (uint8_t)i;
    }
    memcpy(end->call.call_id, CALL_ID_TEXT, sizeof(CALL_ID_TEXT));
    end->reason = bytes_view_of_text("hangup");
    encoded(control_encode_request(&in, (struct bytes_span){out, 0, sizeof(out)}), out, text);
}

static void refusal(char *text)
{
    struct control_reply in = {.refusal = CONTROL_NOT_FOUND,
                               .message = bytes_view_of_text("no such call")};
    uint8_t out[512];
    for (size_t i = 0; i < CONTROL_REQUEST_ID_BYTES; i++) {
        in.request_id[i] = (uint8_t)i;
    }
    encoded(control_encode_reply(&in, (struct bytes_span){out, 0, sizeof(out)}), out, text);
}

static void fill_call(struct control_call *call)
{
    memcpy(call->call_id, CALL_ID_TEXT, sizeof(CALL_ID_TEXT));
}

static void attach_sideband(char *text)
{
    struct control_request in = {
        .kind = CONTROL_ATTACH_SIDEBAND,
        .body.attach_sideband = {.sideband_id = SIDEBAND_ID, .lease_ms = 15000}};
    uint8_t out[512];
    fill_call(&in.body.attach_sideband.call);
    encoded(control_encode_request(&in, (struct bytes_span){out, 0, sizeof(out)}), out, text);
}

static void attached(char *text)
{
    const struct control_reply in = {
        .kind = CONTROL_ATTACH_SIDEBAND, .sideband_sequence = 2, .is_new_sideband = true};
    uint8_t out[512];
    encoded(control_encode_reply(&in, (struct bytes_span){out, 0, sizeof(out)}), out, text);
}

static void inject_event(char *text)
{
    struct control_request in = {
        .kind = CONTROL_INJECT_EVENT,
        .body.inject_event = {.sideband_id = SIDEBAND_ID,
                              .event = bytes_view_of_text("{\"type\":\"response.cancel\"}")}};
    uint8_t out[512];
    fill_call(&in.body.inject_event.call);
    encoded(control_encode_request(&in, (struct bytes_span){out, 0, sizeof(out)}), out, text);
}

static void sideband_event(char *text)
{
    const struct control_sideband_event in = {
        .call_id = CALL_ID_TEXT,
        .sequence = 3,
        .waiting = {2},
        .waiting_count = 1,
        .text = bytes_view_of_text("{\"type\":\"response.done\"}"),
    };
    uint8_t out[512];
    encoded(control_encode_sideband_event(&in, (struct bytes_span){out, 0, sizeof(out)}), out,
            text);
}

static void session_event(char *text)
{
    const struct control_session_event in = {
        .instance_id = INSTANCE_ID,
        .call_id = CALL_ID_TEXT,
        .kind = CONTROL_SESSION_EVENT_ENDED,
        .reason = bytes_view_of_text("hangup"),
        .timeline = {.fact = {{"answer", 3000}}, .count = 1},
        .totals = {.fact = {{"in_frames", 150}}, .count = 1},
    };
    uint8_t out[512];
    encoded(control_encode_session_event(&in, (struct bytes_span){out, 0, sizeof(out)}), out, text);
}

static void header(struct backend_frame frame, char *text)
{
    uint8_t out[BACKEND_FRAME_HEADER_BYTES];
    backend_frame_encode_header(&frame, out);
    write_hex(out, sizeof(out), text);
}

/* Only its length counts for a header. */
static const uint8_t pcm[4800];

static void audio_in(char *text)
{
    header((struct backend_frame){.type = BACKEND_AUDIO_IN,
                                  .flags = BACKEND_AUDIO_CONCEALED,
                                  .session = 7,
                                  .sequence = 9,
                                  .time_us = 123456,
                                  .utterance = 0x1774,
                                  .codec = BACKEND_CODEC_PCM16,
                                  .rate_khz = 24,
                                  .channels = 1,
                                  .duration_2500us = 8,
                                  .payload = bytes_view_of(pcm, 960)},
           text);
}

static void audio_out(char *text)
{
    header((struct backend_frame){.type = BACKEND_AUDIO_OUT,
                                  .flags = BACKEND_FLAG_LAST,
                                  .session = 7,
                                  .sequence = 40,
                                  .utterance = 5,
                                  .codec = BACKEND_CODEC_PCM16,
                                  .rate_khz = 24,
                                  .channels = 1,
                                  .payload = bytes_view_of(pcm, 4800)},
           text);
}

static void flush(char *text)
{
    header(
        (struct backend_frame){.type = BACKEND_FLUSH, .session = 7, .sequence = 41, .utterance = 5},
        text);
}

static void flushed_payload(char *text)
{
    const struct backend_flushed in = {5, 1240000, 1130000, 2760000};
    text[backend_flushed_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void flushed(char *text)
{
    char payload[TEXT_CAP];
    flushed_payload(payload);
    header((struct backend_frame){.type = BACKEND_FLUSHED,
                                  .session = 7,
                                  .sequence = 212,
                                  .time_us = 9876543,
                                  .utterance = 5,
                                  .payload = bytes_view_of_text(payload)},
           text);
}

static void credit(char *text)
{
    const uint8_t limit_us[8] = {0x80, 0xba, 0x8c, 0x01}; /* 26,000,000, little-endian */
    header((struct backend_frame){.type = BACKEND_CREDIT,
                                  .session = 7,
                                  .sequence = 213,
                                  .time_us = 9900000,
                                  .payload = bytes_view_of(limit_us, sizeof(limit_us))},
           text);
    const size_t len = strlen(text);
    assert_true(
        bytes_to_hex(bytes_view_of(limit_us, sizeof(limit_us)), text + len, TEXT_CAP - len));
}

static void hello(char *text)
{
    struct backend_hello in = {.name = "t1",
                               .instance = "5eed0001",
                               .format = {{BACKEND_CODEC_PCM16, 24},
                                          {BACKEND_CODEC_PCM16, 16},
                                          {BACKEND_CODEC_PCM16, 48},
                                          {BACKEND_CODEC_PCM16, 8},
                                          {BACKEND_CODEC_OPUS, 48}},
                               .format_count = 5,
                               .session_count_max = 251,
                               .can_resume = true,
                               .heartbeat_ms = 1000};
    text[backend_hello_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_start(char *text)
{
    const struct backend_start in = {.call_id = CALL_ID_TEXT,
                                     .message_bytes_max = BACKEND_MESSAGE_BYTES_MAX,
                                     .has_events = true,
                                     .in = {{BACKEND_CODEC_PCM16, 24},
                                            {BACKEND_CODEC_PCM16, 16},
                                            {BACKEND_CODEC_PCM16, 48},
                                            {BACKEND_CODEC_PCM16, 8},
                                            {BACKEND_CODEC_OPUS, 48}},
                                     .in_count = 5,
                                     .out = {{BACKEND_CODEC_PCM16, 24},
                                             {BACKEND_CODEC_PCM16, 16},
                                             {BACKEND_CODEC_PCM16, 48},
                                             {BACKEND_CODEC_PCM16, 8},
                                             {BACKEND_CODEC_OPUS, 48}},
                                     .out_count = 5,
                                     .credit_us = 10000000,
                                     .wall_clock_us = 1790000000000000,
                                     .resume_token = "00112233445566778899aabbccddeeff",
                                     .expires_at_s = 1790003600,
                                     .client_agent = bytes_view_of_text("curl/7.88.1"),
                                     .client_language = bytes_view_of_text("en")};
    text[backend_start_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_accept(char *text)
{
    const struct backend_format format = {BACKEND_CODEC_PCM16, 24};
    const struct backend_accept in = {format, format, 20, 200, false};
    text[backend_accept_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_reject(char *text)
{
    const struct backend_reject in = {
        .code = "overload", .message = "sessions_max is reached", .retry_elsewhere = true};
    text[backend_reject_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void connected(char *text)
{
    const struct backend_connected in = {.setup_us = 184000};
    text[backend_connected_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void playback(char *text)
{
    const struct backend_playback in = {.utterance = 5,
                                        .state = "done",
                                        .reason = "flushed",
                                        .sent_us = 1240000,
                                        .heard_us = 1130000};
    text[backend_playback_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void speech(char *text)
{
    const struct backend_speech in = {.is_started = true, .level_dbov = -23};
    text[backend_speech_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void dtmf(char *text)
{
    const struct backend_dtmf in = {.digit = '5', .duration_ms = 120};
    text[backend_dtmf_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_resume(char *text)
{
    const struct backend_resume in = {.call_id = CALL_ID_TEXT,
                                      .token = "00112233445566778899aabbccddeeff",
                                      .next_token = "ffeeddccbbaa99887766554433221100",
                                      .position = {.utterance = 5,
                                                   .received_us = 4000000,
                                                   .received_total_us = 16000000,
                                                   .sent_us = 1240000,
                                                   .credit_us = 24000000},
                                      .audio_in_from_us = 61200000};
    text[backend_resume_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void net_stats(char *text)
{
    const struct backend_net_stats in = {.loss_per_mille = 125,
                                         .jitter_us = 1875,
                                         .rtt_us = 48123,
                                         .concealed_ms = 20,
                                         .level_dbov = -31,
                                         .drift_ppm = -12};
    text[backend_net_stats_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_ended(char *text)
{
    const struct backend_ended in = {"backend_ended", 3000, 40000000};
    text[backend_ended_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void session_end(char *text)
{
    const struct backend_end in = {.reason = "client_closed"};
    text[backend_end_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static void error(char *text)
{
    const struct backend_error in = {.code = "sequence", .is_fatal = true};
    text[backend_error_encode(&in, text, TEXT_CAP - 1)] = '\0';
}

static const struct example {
    const char *document;
    const char *name;
    void (*write)(char *text); /* TEXT_CAP */
} example[] = {
    {WIRE, "secret", secret},
    {WIRE, "token key", token_key},
    {WIRE, "shim key", shim_key},
    {WIRE, "call id key", call_id_key},
    {WIRE, "client secret key", client_secret_key},
    {WIRE, "token block", token_block},
    {WIRE, "token cipher", token_cipher},
    {WIRE, "token", token},
    {WIRE, "shim uplink", shim_uplink},
    {WIRE, "shim downlink", shim_downlink},
    {WIRE, "shim announcement", shim_announcement},
    {WIRE, "call id block", call_id_block},
    {WIRE, "call id", call_id},
    {WIRE, "announcement", announcement},
    {WIRE, "end session", end_session},
    {WIRE, "attach sideband", attach_sideband},
    {WIRE, "attached", attached},
    {WIRE, "inject event", inject_event},
    {WIRE, "sideband event", sideband_event},
    {WIRE, "session event", session_event},
    {WIRE, "refusal", refusal},
    {BACKEND, "AUDIO_IN header", audio_in},
    {BACKEND, "AUDIO_OUT header", audio_out},
    {BACKEND, "FLUSH", flush},
    {BACKEND, "FLUSHED header", flushed},
    {BACKEND, "FLUSHED payload", flushed_payload},
    {BACKEND, "CREDIT", credit},
    {BACKEND, "HELLO", hello},
    {BACKEND, "SESSION_START", session_start},
    {BACKEND, "SESSION_ACCEPT", session_accept},
    {BACKEND, "SESSION_REJECT", session_reject},
    {BACKEND, "CONNECTED", connected},
    {BACKEND, "PLAYBACK", playback},
    {BACKEND, "SPEECH", speech},
    {BACKEND, "DTMF", dtmf},
    {BACKEND, "SESSION_END", session_end},
    {BACKEND, "SESSION_ENDED", session_ended},
    {BACKEND, "SESSION_RESUME", session_resume},
    {BACKEND, "NET_STATS", net_stats},
    {BACKEND, "ERROR", error},
};

/* --- what the documents say ------------------------------------------------------------------ */

struct statement {
    char name[64];
    char value[TEXT_CAP]; /* without blanks */
};

struct document {
    struct statement statement[EXAMPLES_MAX];
    size_t count;
};

static void append_without_blanks(char *value, const char *more)
{
    size_t len = strlen(value);
    for (; *more != '\0' && *more != '\n'; more++) {
        if (*more != ' ') {
            assert_true(len + 1 < TEXT_CAP);
            value[len++] = *more;
        }
    }
    value[len] = '\0';
}

static void take_line(struct document *d, const char *line)
{
    const char *value = line;
    if (line[0] != ' ') {
        value = strstr(line, "  ");
        assert_non_null(value);
        assert_true(d->count < EXAMPLES_MAX);
        (void)snprintf(d->statement[d->count++].name, sizeof(d->statement[0].name), "%.*s",
                       (int)(value - line), line);
    }
    assert_true(d->count > 0);
    append_without_blanks(d->statement[d->count - 1].value, value);
}

static struct document *read_document(const char *path)
{
    char line[TEXT_CAP];
    char full_path[512];
    bool is_example = false;
    struct document *d = calloc(1, sizeof(*d));
    assert_non_null(d);
    (void)snprintf(full_path, sizeof(full_path), TEST_DATA "/../%s", path);
    FILE *file = fopen(full_path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "```", 3) == 0) {
            is_example = !is_example && strcmp(line, "```example\n") == 0;
        } else if (is_example) {
            take_line(d, line);
        }
    }
    (void)fclose(file);
    return d;
}

static const char *find_value(const struct document *d, const char *name)
{
    for (size_t i = 0; i < d->count; i++) {
        if (strcmp(d->statement[i].name, name) == 0) {
            return d->statement[i].value;
        }
    }
    return NULL;
}

static bool is_produced(const char *path, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(example); i++) {
        if (strcmp(example[i].document, path) == 0 && strcmp(example[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* --- claims ----------------------------------------------------------------------------------- */

static void each_example_of_the_code_stands_in_its_document(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(example); i++) {
        char written[TEXT_CAP];
        char text[TEXT_CAP] = "";
        struct document *d = read_document(example[i].document);
        const char *value = find_value(d, example[i].name);
        example[i].write(written);
        append_without_blanks(text, written);
        if (value == NULL || strcmp(value, text) != 0) {
            print_error("%s: \"%s\" is\n  %s\n", example[i].document, example[i].name, text);
        }
        assert_non_null(value);
        assert_string_equal(value, text);
        free(d);
    }
}

static void no_example_stands_there_that_nobody_checks(void **state)
{
    (void)state;
    static const char *const path[] = {WIRE, BACKEND};
    for (size_t i = 0; i < COUNT_OF(path); i++) {
        struct document *d = read_document(path[i]);
        for (size_t k = 0; k < d->count; k++) {
            if (!is_produced(path[i], d->statement[k].name)) {
                print_error("%s: nobody checks \"%s\"\n", path[i], d->statement[k].name);
            }
            assert_true(is_produced(path[i], d->statement[k].name));
        }
        free(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_example_of_the_code_stands_in_its_document),
        cmocka_unit_test(no_example_stands_there_that_nobody_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
