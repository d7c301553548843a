/* relay_self_test.c - the golden vectors of docs/wire-formats.md, section 8, and SipHash-1-3 */
#include "services/relay/relay_self_test.h"

#include "common/routing/relay_shim.h"
#include "common/routing/routing_token.h"
#include "services/relay/core/flow_hash.h"

#define GOLDEN_KEY_ID   7
#define GOLDEN_INSTANCE 0x5eed0001
#define GOLDEN_SESSION  0x2a03

static bool token_opens(struct key_ring *ring)
{
    struct routing_token token;
    uint8_t key_id = 0;
    return routing_token_open(ring, bytes_view_of_text("H5NdZDc2lJmCIcFu0G39oFA"), &token,
                              &key_id) == ROUTING_TOKEN_OK &&
           key_id == GOLDEN_KEY_ID && token.cluster_id == 1 &&
           token.instance_id == GOLDEN_INSTANCE && token.session_id == GOLDEN_SESSION;
}

static bool shim_is_right(struct key_ring *ring)
{
    static const char golden[] = "e51000645eed000100002a03ca9e0700"
                                 "00000000000000000000ffffcb00714d"
                                 "91693fa1ba7c60f6";
    uint8_t wanted[RELAY_SHIM_BYTES];
    uint8_t written[RELAY_SHIM_BYTES];
    struct relay_shim shim = {
        .datagram_bytes = 100, .instance_id = GOLDEN_INSTANCE, .session_id = GOLDEN_SESSION};
    if (!bytes_from_hex(bytes_view_of_text(golden), wanted, sizeof(wanted)) ||
        !net_addr_parse("203.0.113.77:51870", &shim.client)) {
        return false;
    }
    relay_shim_write(ring, &shim, written);
    return memcmp(written, wanted, sizeof(wanted)) == 0;
}

static bool hash_is_right(void)
{
    uint8_t bytes[FLOW_HASH_SEED_BYTES];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    const struct flow_hash_seed seed = flow_hash_seed_of(bytes);
    return flow_hash(&seed, bytes, 15) == UINT64_C(0xd320d86d2a519956);
}

bool relay_self_test(struct fault *fault)
{
    uint8_t secret[KEY_RING_SECRET_BYTES];
    for (size_t i = 0; i < sizeof(secret); i++) {
        secret[i] = (uint8_t)i;
    }
    struct key_ring *ring = key_ring_from_secret(GOLDEN_KEY_ID, secret);
    const bool opens = ring != NULL && token_opens(ring);
    const bool signs = ring != NULL && shim_is_right(ring);
    key_ring_destroy(ring);
    if (!opens || !signs || !hash_is_right()) {
        return fault_set(fault, FAULT_LIBRARY, "self-test: token %s, shim %s, hash %s",
                         opens ? "good" : "wrong", signs ? "good" : "wrong",
                         hash_is_right() ? "good" : "wrong");
    }
    return true;
}
