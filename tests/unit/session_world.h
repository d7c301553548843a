/* session_world.h - a session, its client on a link, and a scripted backend, in virtual time */
#ifndef EARSHOT_TESTS_SESSION_WORLD_H
#define EARSHOT_TESTS_SESSION_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/core/datagram_kind.h"
#include "services/transceiver/core/session/session.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "tests/support/sim_answer.h"
#include "tests/support/sim_link.h"
#include "tests/virtual_time.h"

#include <stdio.h>

#define ID         0x00000101
#define BEGIN_US   (10 * US_PER_S)
#define AT_SESSION 0 /* the end of the link */
#define RATE_KHZ   16

/* What the session said to its backend, but AUDIO_IN, PLAYBACK progress and CREDIT. */
struct said {
    uint64_t at_us;
    uint8_t type;
    uint32_t utterance;
    char json[1024];
};

struct world {
    uint64_t now_us;
    struct random_generator random;
    struct dtls_identity *identity;
    struct outbox *outbox;
    struct sim_client *client;
    struct sim_answer answer;
    struct sim_link link;
    struct session *session;
    struct said said[32];
    size_t said_count;
    size_t audio_in_count;
    size_t speech_count;
    size_t net_stats_count;
    size_t rtcp_count; /* datagrams to the client that are RTCP */
    struct session_event event[4];
    size_t event_count;
};

struct wanted {
    bool has_data;             /* a data channel, open */
    const char *direction;     /* of the client; NULL: sendrecv */
    uint64_t setup_timeout_us; /* 0 = 30 s */
    uint64_t duration_max_us;  /* 0 = 1 h */
    bool stays_away;           /* no datagram of the client arrives */
};

static struct voice_silences silences;

static inline int start_libraries(void **state)
{
    struct fault fault = {0};
    (void)state;
    return srtp_transport_init(&fault) && voice_silences_make(&silences) ? 0 : -1;
}

static inline void take_events(struct world *w)
{
    while (session_poll_event(w->session, &w->event[w->event_count])) {
        w->event_count++;
        assert_in_range(w->event_count, 1, COUNT_OF(w->event) - 1);
    }
}

static inline void take_frames(struct world *w)
{
    size_t cursor = 0;
    uint32_t id = 0;
    struct backend_frame frame;
    while (outbox_next_frame(w->outbox, &cursor, &id, &frame)) {
        assert_int_equal(id, ID);
        assert_int_equal(frame.session, ID);
        if (frame.type == BACKEND_AUDIO_IN) {
            w->audio_in_count++;
        } else if (frame.type == BACKEND_SPEECH) {
            w->speech_count++; /* the client's tone begins at some time */
        } else if (frame.type == BACKEND_NET_STATS) {
            w->net_stats_count++;
        } else if (frame.type != BACKEND_CREDIT) {
            struct said *said = &w->said[w->said_count++];
            assert_in_range(w->said_count, 1, COUNT_OF(w->said));
            *said = (struct said){w->now_us, frame.type, frame.utterance, ""};
            (void)snprintf(said->json, sizeof(said->json), "%.*s", (int)frame.payload.len,
                           (const char *)frame.payload.data);
        }
    }
}

/* What was said and sent so far. */
static inline void drain(struct world *w)
{
    uint8_t packet[SIM_CLIENT_PACKET_CAP];
    struct net_addr from;
    struct net_addr to;
    size_t len = 0;
    take_events(w);
    take_frames(w);
    for (size_t i = 0; i < outbox_datagram_count(w->outbox); i++) {
        const struct outbox_datagram *d = outbox_datagram_at(w->outbox, i);
        const struct bytes_view datagram = bytes_view_of(d->data, d->len);
        w->rtcp_count += datagram_kind_of(datagram) == DATAGRAM_RTCP;
        if (!d->is_announcement) {
            sim_client_input(w->client, datagram, w->now_us);
        }
    }
    outbox_clear(w->outbox);
    while ((len = sim_client_take(w->client, packet, &from, &to)) > 0) {
        sim_link_send(&w->link, AT_SESSION, bytes_view_of(packet, len), w->now_us);
    }
}

static inline void open_world(struct world *w, const struct wanted *wanted)
{
    struct fault fault = {0};
    struct sim_client_config client = {
        .seed = 22, .direction = wanted->direction, .has_data = wanted->has_data};
    const struct sim_link_config link = {
        .delay_us = 5000, .loss_per_mille = wanted->stays_away ? SIM_LINK_PER_MILLE : 0};
    memset(w, 0, sizeof(*w));
    w->now_us = virtual_time_us = BEGIN_US;
    random_generator_init(&w->random, 21);
    w->identity = dtls_identity_create(&fault);
    w->outbox = outbox_create(64, 65536);
    sim_link_init(&w->link, &link);
    assert_true(net_addr_parse("203.0.113.9:40000", &client.address));
    w->client = sim_client_create(&client);
    sim_answer_client(&w->answer, w->client, w->identity, random_seeded(&w->random), w->now_us);
    const struct session_config config = {
        .event_label = "oai-events",
        .session_id = ID,
        .tenant = {1, 2, 3},
        .offer = &w->answer.offer,
        .ice_ufrag = w->answer.ufrag,
        .ice_pwd = w->answer.pwd,
        .identity = w->identity,
        .backend_start = {.call_id = "rtc_test",
                          .in = {{BACKEND_CODEC_PCM16, RATE_KHZ}},
                          .in_count = 1,
                          .out = {{BACKEND_CODEC_PCM16, RATE_KHZ}},
                          .out_count = 1,
                          .credit_us = 10 * US_PER_S},
        .silences = &silences,
        .outbox = w->outbox,
        .random = random_seeded(&w->random),
        .setup_timeout_us =
            wanted->setup_timeout_us == 0 ? 30 * US_PER_S : wanted->setup_timeout_us,
        .duration_max_us = wanted->duration_max_us == 0 ? 3600 * US_PER_S : wanted->duration_max_us,
    };
    w->session = session_create(&config, w->now_us);
    assert_non_null(w->session);
    drain(w);
}

static inline void close_world(struct world *w)
{
    session_destroy(w->session);
    sim_client_destroy(w->client);
    outbox_destroy(w->outbox);
    dtls_identity_destroy(w->identity);
}

static inline void run_to(struct world *w, uint64_t until_us)
{
    struct net_path path = {.client = sim_client_address(w->client)};
    struct sim_datagram d;
    drain(w);
    while (w->now_us < until_us) {
        uint64_t next_us = time_earlier(until_us, session_next_timeout(w->session));
        next_us = time_earlier(next_us, sim_client_next_timeout(w->client));
        next_us = time_earlier(next_us, sim_link_next_us(&w->link));
        w->now_us = virtual_time_us = time_later(next_us, w->now_us);
        uint8_t bytes[OUTBOX_DATAGRAM_BYTES + OUTBOX_TAILROOM_BYTES];
        while (sim_link_take(&w->link, bytes, &d, w->now_us)) {
            struct bytes_span datagram = {bytes, d.len, sizeof(bytes)};
            (void)session_input_datagram(w->session, &datagram, &path, w->now_us);
            drain(w);
        }
        sim_client_tick(w->client, w->now_us);
        if (session_next_timeout(w->session) <= w->now_us) { /* as the loop does: not before */
            session_tick(w->session, w->now_us);
            assert_true(session_next_timeout(w->session) > w->now_us);
        }
        drain(w);
    }
}

static inline void run_for(struct world *w, uint64_t us)
{
    run_to(w, w->now_us + us);
}

static inline void hear(struct world *w, enum backend_frame_type type, const char *json)
{
    const struct backend_frame frame = {
        .type = (uint8_t)type, .session = ID, .payload = bytes_view_of_text(json)};
    assert_true(session_input_frame(w->session, &frame, w->now_us));
    drain(w);
}

static inline void accept(struct world *w)
{
    hear(w, BACKEND_SESSION_ACCEPT,
         "{\"in\":\"pcm16/16000\",\"out\":\"pcm16/16000\",\"progress_ms\":0}");
}

static inline void hear_audio(struct world *w, uint32_t utterance, size_t ms, bool is_last)
{
    static const uint8_t pcm[2 * RATE_KHZ * 1000] = {1, 2, 3, 4};
    const struct backend_frame frame = {.type = BACKEND_AUDIO_OUT,
                                        .flags = is_last ? BACKEND_FLAG_LAST : 0,
                                        .session = ID,
                                        .utterance = utterance,
                                        .codec = BACKEND_CODEC_PCM16,
                                        .rate_khz = RATE_KHZ,
                                        .channels = 1,
                                        .payload = bytes_view_of(pcm, 2 * RATE_KHZ * ms)};
    assert_true(session_input_frame(w->session, &frame, w->now_us));
    drain(w);
}

static inline void assert_said(const struct world *w, size_t index, enum backend_frame_type type,
                               const char *what)
{
    assert_true(index < w->said_count);
    assert_int_equal(w->said[index].type, type);
    if (strstr(w->said[index].json, what) == NULL) {
        fail_msg("%s is not in %s", what, w->said[index].json);
    }
}

/* It ended once, for this reason, and `type` is the last thing that was said; 0 = nothing. */
static inline void assert_ended(const struct world *w, enum session_end_reason reason,
                                unsigned type)
{
    const struct session_event *last = &w->event[w->event_count - 1];
    assert_in_range(w->event_count, 1, 2);
    assert_int_equal(last->kind, SESSION_EVENT_ENDED);
    assert_int_equal(last->reason, reason);
    assert_int_equal(w->said[w->said_count - 1].type, type == 0 ? BACKEND_SESSION_START : type);
    if (type != 0) {
        assert_said(w, w->said_count - 1, (enum backend_frame_type)type,
                    session_end_reason_name(reason));
    }
}

static const struct wanted plain = {0};

static inline void open_running(struct world *w)
{
    open_world(w, &plain);
    accept(w);
    run_for(w, US_PER_S);
    assert_true(session_is_connected(w->session));
}

#endif
