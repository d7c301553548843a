/* shard_calls_world.h - the calls of one shard, asked as the control port asks */
#ifndef EARSHOT_SHARD_CALLS_WORLD_H
#define EARSHOT_SHARD_CALLS_WORLD_H

#include "tests/testing.h"

#include "common/runtime/log.h"
#include "services/transceiver/port/shard_calls.h"
#include "tests/outbox_frames.h"
#include "tests/sdp_samples.h"

#include <stdio.h>

#define NOW_US         UINT64_C(60000000)
#define UNIX_OFFSET_US UINT64_C(1790000000000000)
#define OFFER          SESSION AUDIO

static struct dtls_identity *identity;
static struct voice_silences silences;

struct world {
    struct random_generator random;
    struct transceiver_config config;
    struct key_ring *ring;
    struct shard_calls calls;
    struct outbox_frames frames;
    struct control_reply reply;
};

static inline int make_identity(void **state)
{
    struct fault fault = {0};
    (void)state;
    log_open("test", LOG_ERROR, LOG_TEXT);
    identity = dtls_identity_create(&fault);
    return identity != NULL && voice_silences_make(&silences) ? 0 : -1;
}

static inline int drop_identity(void **state)
{
    (void)state;
    dtls_identity_destroy(identity);
    return 0;
}

static inline void open_world(struct world *w)
{
    static const uint8_t secret[KEY_RING_SECRET_BYTES] = {7};
    *w = (struct world){.config = {.shard_count = 1,
                                   .session_count_max = 2400, /* a quarter may be pending */
                                   .call_duration_max_us = 3600 * US_PER_S,
                                   .setup_timeout_us = 30 * US_PER_S,
                                   .credit_us = 5 * US_PER_S},
                        .ring = key_ring_from_secret(5, secret)};
    random_generator_init(&w->random, 51);
    const struct shard_calls_config calls = {.config = &w->config,
                                             .key_ring = w->ring,
                                             .identity = identity,
                                             .silences = &silences,
                                             .random = random_seeded(&w->random),
                                             .unix_offset_us = UNIX_OFFSET_US};
    assert_true(shard_calls_init(&w->calls, &calls));
    w->frames.outbox = w->calls.outbox;
}

static inline void close_world(struct world *w)
{
    shard_calls_deinit(&w->calls);
    key_ring_destroy(w->ring);
}

static inline struct control_request create_request(const char *call_id, uint8_t tenant)
{
    struct control_request request = {.request_id = {9, 8, 7}, .kind = CONTROL_CREATE_SESSION};
    struct control_create_session *create = &request.body.create_session;
    (void)snprintf(create->call_id, sizeof(create->call_id), "%s", call_id);
    create->tenant[0] = tenant;
    create->offer_sdp = bytes_view_of_text(OFFER);
    return request;
}

static inline struct control_request end_request(const char *call_id, uint8_t tenant,
                                                 bool is_operator)
{
    struct control_request request = {.request_id = {6, 5, 4}, .kind = CONTROL_END_SESSION};
    struct control_end_session *end = &request.body.end_session;
    (void)snprintf(end->call.call_id, sizeof(end->call.call_id), "%s", call_id);
    end->call.tenant[0] = tenant;
    end->call.is_operator = is_operator;
    return request;
}

static inline enum control_refusal ask(struct world *w, const struct control_request *request)
{
    memset(&w->reply, 0xee, sizeof(w->reply));
    shard_calls_answer(&w->calls, request, true, &w->reply, NOW_US);
    assert_memory_equal(w->reply.request_id, request->request_id, CONTROL_REQUEST_ID_BYTES);
    return w->reply.refusal;
}

static inline uint32_t place(struct world *w, const char *call_id, uint8_t tenant)
{
    const struct control_request request = create_request(call_id, tenant);
    assert_int_equal(ask(w, &request), CONTROL_REFUSAL_NONE);
    outbox_frames_expect(&w->frames, BACKEND_SESSION_START);
    return w->reply.session_id;
}

#endif
