/* wire_examples_test.c - every example in docs/wire-formats.md is what the code produces */
#include "tests/vectors/documented_examples.h"

#include "common/control/control_event.h"
#include "common/crypto/aes_block.h"
#include "common/crypto/hkdf.h"
#include "common/routing/relay_shim.h"
#include "common/routing/routing_token.h"
#include "services/signaling/call_id.h"

#define DOCUMENT "docs/wire-formats.md"

#define KEY_ID       7
#define CLUSTER_ID   1
#define INSTANCE_ID  0x5eed0001
#define SIDEBAND_ID  0x51de0007
#define SESSION_ID   0x00002a03 /* shard 0, slot 42, generation 3 */
#define CALL_ID_TEXT "rtc_H0-PHtjQYoeTQjD284teUfQ"

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

static const struct example example[] = {
    {"secret", secret},
    {"token key", token_key},
    {"shim key", shim_key},
    {"call id key", call_id_key},
    {"client secret key", client_secret_key},
    {"token block", token_block},
    {"token cipher", token_cipher},
    {"token", token},
    {"shim uplink", shim_uplink},
    {"shim downlink", shim_downlink},
    {"shim announcement", shim_announcement},
    {"call id block", call_id_block},
    {"call id", call_id},
    {"announcement", announcement},
    {"end session", end_session},
    {"attach sideband", attach_sideband},
    {"attached", attached},
    {"inject event", inject_event},
    {"sideband event", sideband_event},
    {"session event", session_event},
    {"refusal", refusal},
};

static void each_example_of_the_code_stands_in_the_document(void **state)
{
    (void)state;
    assert_stand_in(DOCUMENT, example, COUNT_OF(example));
}

static void no_example_stands_there_that_nobody_checks(void **state)
{
    (void)state;
    assert_no_others_in(DOCUMENT, example, COUNT_OF(example));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_example_of_the_code_stands_in_the_document),
        cmocka_unit_test(no_example_stands_there_that_nobody_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
