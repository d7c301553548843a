/* control_message_world.h - one decoder and its room, and a message of each kind */
#ifndef EARSHOT_TESTS_CONTROL_MESSAGE_WORLD_H
#define EARSHOT_TESTS_CONTROL_MESSAGE_WORLD_H

#include "tests/testing.h"

#include "common/control/control_message.h"

#include <stdlib.h>

static struct {
    struct control_decoder *decoder;
    uint8_t *message; /* room for one byte more than the largest message */
} fixture;

static inline int open_fixture(void **state)
{
    (void)state;
    fixture.decoder = control_decoder_create();
    fixture.message = calloc(1, CONTROL_MESSAGE_BYTES_MAX + 1);
    return fixture.decoder != NULL && fixture.message != NULL ? 0 : -1;
}

static inline int close_fixture(void **state)
{
    (void)state;
    control_decoder_destroy(fixture.decoder);
    free(fixture.message);
    return 0;
}

static inline struct bytes_span room(void)
{
    return (struct bytes_span){.data = fixture.message, .cap = CONTROL_MESSAGE_BYTES_MAX};
}

static inline void assert_view(struct bytes_view view, const char *text)
{
    assert_int_equal(view.len, strlen(text));
    assert_memory_equal(view.data, text, view.len);
}

static inline struct control_announcement sample_announcement(void)
{
    struct control_announcement a = {
        .cluster_id = 65535,
        .instance_id = 0x5eed0001,
        .name = "transceiver-a",
        .control_url = "tcp://127.0.0.1:7001",
        .events_url = "",
        .admin_url = "http://127.0.0.1:7802",
        .capacity = 500,
        .sessions_active = 17,
        .sessions_pending = 3,
        .shard_count = 1,
        .load_permille = 250,
        .state = CONTROL_STATE_DRAINING,
        .backend_up = true,
        .drain_deadline_unix_ms = UINT64_C(1800000000000),
        .key_ids = {0, 7, 63},
        .key_id_count = 3,
        .key_id_active = 7,
        .start_time_unix_us = UINT64_C(1799999999999999),
        .sequence = UINT64_MAX,
        .version = "0.1.0",
    };
    assert_true(net_addr_parse("[2001:db8::10]:4000", &a.media_address));
    return a;
}

static inline struct control_request sample_create_session(void)
{
    struct control_request r = {.request_id = "request id 0001", .kind = CONTROL_CREATE_SESSION};
    struct control_create_session *c = &r.body.create_session;
    *c = (struct control_create_session){
        .call_id = "rtc_H0-PHtjQYoeTQjD284teUfQ",
        .offer_sdp = bytes_view_of("v=0\r\n\0x", 7), /* bytes: a NUL is data */
        .ingress_count = 2,
        .duration_s_max = 3600,
        .backend_name = bytes_view_of_text("default"),
        .session_json = bytes_view_of_text("{}"),
        .client_agent = bytes_view_of_text("agents/0.20.0"),
        .client_language = bytes_view_of_text("de"),
        .client_place = bytes_view_of_text("DE"),
        .tenant = "tenant of 16 by",
        .placement_reason = bytes_view_of_text("least_loaded"),
        .trace_id = bytes_view_of_text("0af7651916cd43dd"),
        .offer_unix_us = UINT64_C(1799999999999998),
    };
    assert_true(net_addr_parse("203.0.113.10:3478", &c->ingress[0].address));
    assert_true(net_addr_parse("203.0.113.10:443", &c->ingress[1].address));
    c->ingress[1].is_tcp = true;
    return r;
}

static inline struct control_request sample_end_session(void)
{
    return (struct control_request){
        .request_id = "request id 0002",
        .kind = CONTROL_END_SESSION,
        .body.end_session = {.call = {.call_id = "rtc_H0-PHtjQYoeTQjD284teUfQ",
                                      .tenant = "tenant of 16 by",
                                      .is_operator = true},
                             .reason = bytes_view_of_text("hangup")},
    };
}

#endif
