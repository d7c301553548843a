/* session_test.c - one call between a client and a scripted backend: how it begins and ends */
#include "tests/testing.h"

#include "services/transceiver/core/datagram_kind.h"
#include "services/transceiver/core/session/session.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "tests/support/sim_answer.h"
#include "tests/support/sim_link.h"
#include "tests/virtual_time.h"

#include <malloc.h>
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

static int start_libraries(void **state)
{
    struct fault fault = {0};
    (void)state;
    return srtp_transport_init(&fault) && voice_silences_make(&silences) ? 0 : -1;
}

static void take_events(struct world *w)
{
    while (session_poll_event(w->session, &w->event[w->event_count])) {
        w->event_count++;
        assert_in_range(w->event_count, 1, COUNT_OF(w->event) - 1);
    }
}

static void take_frames(struct world *w)
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
static void drain(struct world *w)
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

static void open_world(struct world *w, const struct wanted *wanted)
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

static void close_world(struct world *w)
{
    session_destroy(w->session);
    sim_client_destroy(w->client);
    outbox_destroy(w->outbox);
    dtls_identity_destroy(w->identity);
}

static void run_to(struct world *w, uint64_t until_us)
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

static void run_for(struct world *w, uint64_t us)
{
    run_to(w, w->now_us + us);
}

static void hear(struct world *w, enum backend_frame_type type, const char *json)
{
    const struct backend_frame frame = {
        .type = (uint8_t)type, .session = ID, .payload = bytes_view_of_text(json)};
    assert_true(session_input_frame(w->session, &frame, w->now_us));
    drain(w);
}

static void accept(struct world *w)
{
    hear(w, BACKEND_SESSION_ACCEPT,
         "{\"in\":\"pcm16/16000\",\"out\":\"pcm16/16000\",\"progress_ms\":0}");
}

static void hear_audio(struct world *w, uint32_t utterance, size_t ms, bool is_last)
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

static void assert_said(const struct world *w, size_t index, enum backend_frame_type type,
                        const char *what)
{
    assert_true(index < w->said_count);
    assert_int_equal(w->said[index].type, type);
    if (strstr(w->said[index].json, what) == NULL) {
        fail_msg("%s is not in %s", what, w->said[index].json);
    }
}

/* It ended once, for this reason, and `type` is the last thing that was said; 0 = nothing. */
static void assert_ended(const struct world *w, enum session_end_reason reason, unsigned type)
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

static void open_running(struct world *w)
{
    open_world(w, &plain);
    accept(w);
    run_for(w, US_PER_S);
    assert_true(session_is_connected(w->session));
}

/* --- begin ------------------------------------------------------------------------------------ */

static void a_call_begins_with_start_then_connected_then_voice_both_ways(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain);
    assert_said(&w, 0, BACKEND_SESSION_START, "rtc_test");
    assert_int_equal(session_id(w.session), ID);
    assert_string_equal(session_call_id(w.session), "rtc_test");
    assert_int_equal(session_tenant(w.session)[1], 2);
    accept(&w);
    hear_audio(&w, 1, 100, true); /* allowed at once: it waits for the client */
    assert_int_equal(w.said_count, 1);
    run_for(&w, US_PER_S);
    assert_said(&w, 1, BACKEND_CONNECTED, "udp");
    assert_said(&w, 2, BACKEND_PLAYBACK, "started");
    assert_said(&w, 3, BACKEND_PLAYBACK, "played");
    assert_int_equal(w.said_count, 4);
    assert_in_range(w.audio_in_count, 40, 50);
    assert_true(sim_client_heard(w.client)->packets > 40);
    assert_int_equal(w.event_count, 1);
    assert_int_equal(w.event[0].kind, SESSION_EVENT_CONNECTED);
    const struct session_timeline *t = session_timeline(w.session);
    assert_true(t->created_us == BEGIN_US);
    assert_true(t->created_us < t->first_check_us);
    assert_true(t->first_check_us < t->connected_us);
    assert_true(t->connected_us <= t->first_audio_in_us);
    assert_true(t->connected_us <= t->first_audio_out_us);
    assert_true(t->ended_us == 0);
    close_world(&w);
}

static void a_client_that_speaks_pauses_the_reply_if_the_backend_wants_it(void **state)
{
    (void)state;
    for (int pauses = 0; pauses <= 1; pauses++) {
        struct world w;
        open_world(&w, &plain);
        hear(&w, BACKEND_SESSION_ACCEPT,
             pauses == 1 ? "{\"in\":\"pcm16/16000\",\"out\":\"pcm16/16000\",\"progress_ms\":0,"
                           "\"on_speech\":\"pause\"}"
                         : "{\"in\":\"pcm16/16000\",\"out\":\"pcm16/16000\",\"progress_ms\":0}");
        hear_audio(&w, 1, 1000, false);
        run_for(&w, 500 * US_PER_MS);
        assert_int_equal(w.speech_count, 1);
        assert_int_equal(w.said_count, 3 + pauses);
        assert_said(&w, 2, BACKEND_PLAYBACK, "started");
        if (pauses == 1) {
            assert_said(&w, 3, BACKEND_PLAYBACK, "paused");
        }
        close_world(&w);
    }
}

static void voice_flows_only_where_the_clients_direction_lets_it(void **state)
{
    (void)state;
    static const struct {
        const char *direction;
        bool up;
        bool down;
    } c[] = {{"sendrecv", true, true},
             {"sendonly", true, false},
             {"recvonly", false, true},
             {"inactive", false, false}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        const struct wanted wanted = {.direction = c[i].direction};
        open_world(&w, &wanted);
        accept(&w);
        run_for(&w, US_PER_S); /* the client speaks, whatever it offered */
        assert_true(session_is_connected(w.session));
        assert_int_equal(w.audio_in_count > 0, c[i].up);
        assert_int_equal(sim_client_heard(w.client)->packets > 0, c[i].down);
        assert_int_equal(w.rtcp_count > 0, c[i].up || c[i].down);
        close_world(&w);
    }
}

/* --- deadlines -------------------------------------------------------------------------------- */

static void each_deadline_ends_the_call_at_its_microsecond(void **state)
{
    (void)state;
    static const struct {
        struct wanted wanted;
        bool is_accepted;
        uint64_t after_us;
        enum session_end_reason reason;
    } c[] = {
        {{.stays_away = true}, false, 2 * US_PER_S, SESSION_END_BACKEND_UNAVAILABLE},
        {{0}, false, 2 * US_PER_S, SESSION_END_BACKEND_UNAVAILABLE},
        {{.stays_away = true, .setup_timeout_us = 9 * US_PER_S},
         true,
         9 * US_PER_S,
         SESSION_END_SETUP_TIMEOUT},
        {{.setup_timeout_us = US_PER_S, .duration_max_us = 7 * US_PER_S},
         true,
         7 * US_PER_S,
         SESSION_END_DURATION},
        {{.stays_away = true, .duration_max_us = 7 * US_PER_S},
         true,
         7 * US_PER_S,
         SESSION_END_DURATION},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w, &c[i].wanted);
        if (c[i].is_accepted) {
            accept(&w);
        }
        run_to(&w, BEGIN_US + c[i].after_us - 1);
        assert_true(session_timeline(w.session)->ended_us == 0);
        run_for(&w, 1);
        assert_ended(&w, c[i].reason, BACKEND_SESSION_END);
        assert_true(session_timeline(w.session)->ended_us == w.now_us);
        close_world(&w);
    }
}

static void a_client_that_falls_silent_is_lost_and_gets_no_goodbye(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    w.link.config.loss_per_mille = SIM_LINK_PER_MILLE;
    run_for(&w, 29 * US_PER_S);
    assert_int_equal(w.event_count, 1);
    const size_t rtcp_before = w.rtcp_count;
    run_for(&w, US_PER_S);
    assert_ended(&w, SESSION_END_CLIENT_LOST, BACKEND_SESSION_END);
    assert_true(session_is_over(w.session));
    assert_in_range(w.rtcp_count, rtcp_before, rtcp_before + 1); /* a report, perhaps, no BYE */
    assert_false(sim_client_heard(w.client)->was_closed);
    close_world(&w);
}

/* --- the backend ends it ---------------------------------------------------------------------- */

static void what_the_backend_says_ends_the_call_for_its_reason(void **state)
{
    (void)state;
    static const struct {
        bool is_accepted;
        enum backend_frame_type type;
        const char *json;
        enum session_end_reason reason;
        unsigned last_word; /* 0 = nothing more is said */
    } c[] = {
        {false, BACKEND_SESSION_REJECT, "{}", SESSION_END_BACKEND_UNAVAILABLE, 0},
        {false, BACKEND_SESSION_ACCEPT, "{\"in\":\"pcmu/8000\"}", SESSION_END_BACKEND_UNAVAILABLE,
         BACKEND_SESSION_END},
        {false, BACKEND_SESSION_ACCEPT, "{\"out\":\"pcma/8000\"}", SESSION_END_BACKEND_UNAVAILABLE,
         BACKEND_SESSION_END},
        {false, BACKEND_SESSION_END, "{}", SESSION_END_BACKEND_ENDED, BACKEND_SESSION_ENDED},
        {false, BACKEND_SESSION_ENDED, "{}", SESSION_END_BACKEND_ENDED, 0},
        {true, BACKEND_SESSION_END, "{}", SESSION_END_BACKEND_ENDED, BACKEND_SESSION_ENDED},
        {true, BACKEND_ERROR, "{\"fatal\":true}", SESSION_END_BACKEND_ENDED, BACKEND_SESSION_END},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w, &plain);
        if (c[i].is_accepted) {
            accept(&w);
        }
        hear(&w, c[i].type, c[i].json);
        assert_ended(&w, c[i].reason, c[i].last_word);
        run_for(&w, 3 * US_PER_S);
        assert_true(session_is_over(w.session));
        assert_int_equal(w.event_count, 1);
        close_world(&w);
    }
}

static void done_is_said_before_ended_and_nothing_after_it(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    hear_audio(&w, 1, 1000, true);
    run_for(&w, 100000);
    hear_audio(&w, 2, 100, false);
    const size_t before = w.said_count;
    hear(&w, BACKEND_SESSION_END, "{\"reason\":\"bye\"}");
    assert_said(&w, before, BACKEND_PLAYBACK, "session_end");
    assert_said(&w, before + 1, BACKEND_PLAYBACK, "session_end");
    assert_said(&w, before + 2, BACKEND_SESSION_ENDED, "backend_ended");
    const size_t audio_before = w.audio_in_count;
    hear_audio(&w, 3, 100, true);
    hear(&w, BACKEND_FLUSH, "");
    hear(&w, BACKEND_SESSION_END, "{}");
    run_for(&w, US_PER_S);
    assert_int_equal(w.said_count, before + 3);
    assert_int_equal(w.audio_in_count, audio_before);
    assert_true(sim_client_heard(w.client)->was_closed);
    close_world(&w);
}

static void an_end_when_drained_plays_the_rest_and_lets_it_reach_the_ear(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    hear_audio(&w, 1, 500, true);
    const uint64_t said_us = w.now_us;
    hear(&w, BACKEND_SESSION_END, "{\"when\":\"drained\"}");
    run_to(&w, said_us + 480000 + 200000 - 1);
    assert_int_equal(w.event_count, 1);
    assert_said(&w, w.said_count - 1, BACKEND_PLAYBACK, "played");
    run_to(&w, said_us + 500000 + 200000); /* the slot it began in, and the last word's way */
    assert_ended(&w, SESSION_END_BACKEND_ENDED, BACKEND_SESSION_ENDED);
    close_world(&w);
}

static void an_end_when_drained_waits_for_nobody_who_does_not_listen(void **state)
{
    (void)state;
    static const struct {
        struct wanted wanted;
        size_t ms; /* of speech that waits */
    } c[] = {{{.stays_away = true}, 0}, {{.direction = "sendonly"}, 500}, {{0}, 0}};
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct world w;
        open_world(&w, &c[i].wanted);
        accept(&w);
        run_for(&w, 300000);
        hear_audio(&w, 1, c[i].ms, true);
        const uint64_t said_us = w.now_us;
        hear(&w, BACKEND_SESSION_END, "{\"when\":\"drained\"}");
        run_to(&w, said_us + 199999);
        assert_true(session_timeline(w.session)->ended_us == 0);
        run_for(&w, 1 + 20000); /* an empty utterance is done in its slot */
        assert_ended(&w, SESSION_END_BACKEND_ENDED, BACKEND_SESSION_ENDED);
        close_world(&w);
    }
}

static void a_backend_that_stays_away_ends_the_call_after_five_seconds(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    const size_t before = w.said_count;
    session_backend_lost(w.session, w.now_us);
    const uint64_t lost_us = w.now_us;
    drain(&w);
    assert_int_equal(w.event[1].kind, SESSION_EVENT_BACKEND_LOST);
    assert_true(session_wants_backend(w.session));
    run_to(&w, lost_us + 5 * US_PER_S - 1);
    assert_true(session_timeline(w.session)->ended_us == 0);
    run_for(&w, 1);
    assert_int_equal(w.said_count, before); /* nobody would hear it */
    assert_int_equal(w.event[2].reason, SESSION_END_BACKEND_LOST);
    assert_false(session_wants_backend(w.session));
    run_for(&w, US_PER_S);
    assert_true(session_is_over(w.session));
    assert_true(sim_client_heard(w.client)->was_closed);
    close_world(&w);
}

static void a_backend_that_listens_hears_of_the_network_each_second(void **state)
{
    (void)state;
    struct world w;
    open_world(&w, &plain);
    run_for(&w, 1500000); /* within the two seconds that an ACCEPT may take */
    assert_int_equal(w.net_stats_count, 0);
    accept(&w);
    run_for(&w, 3 * US_PER_S);
    assert_int_equal(w.net_stats_count, 3);
    session_backend_lost(w.session, w.now_us);
    run_for(&w, 3 * US_PER_S);
    assert_int_equal(w.net_stats_count, 3);
    close_world(&w);
}

static void a_payload_that_is_no_json_is_the_connections_fault_and_the_call_lives(void **state)
{
    (void)state;
    struct world w;
    const struct backend_frame nonsense = {
        .type = BACKEND_SESSION_END, .session = ID, .payload = bytes_view_of_text("now")};
    open_running(&w);
    assert_false(session_input_frame(w.session, &nonsense, w.now_us));
    session_backend_lost(w.session, w.now_us);
    drain(&w);
    assert_true(session_wants_backend(w.session));
    assert_true(session_timeline(w.session)->ended_us == 0);
    close_world(&w);
}

/* --- our end ---------------------------------------------------------------------------------- */

static void a_hang_up_tells_both_ends_once(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    const size_t rtcp_before = w.rtcp_count;
    session_end(w.session, SESSION_END_HANGUP, w.now_us);
    session_end(w.session, SESSION_END_SHUTDOWN, w.now_us);
    session_backend_lost(w.session, w.now_us);
    drain(&w);
    assert_ended(&w, SESSION_END_HANGUP, BACKEND_SESSION_END);
    assert_int_equal(w.rtcp_count, rtcp_before + 1); /* BYE */
    assert_false(session_is_over(w.session));
    assert_false(session_is_connected(w.session));
    run_for(&w, 149999);
    assert_false(session_is_over(w.session));
    run_for(&w, 1);
    assert_true(session_is_over(w.session));
    assert_true(sim_client_heard(w.client)->was_closed);
    assert_int_equal(w.rtcp_count, rtcp_before + 1);
    close_world(&w);
}

static void an_end_before_there_is_a_client_is_over_at_once(void **state)
{
    (void)state;
    struct world w;
    const struct wanted wanted = {.stays_away = true};
    open_world(&w, &wanted);
    session_end(w.session, SESSION_END_SHUTDOWN, w.now_us);
    drain(&w);
    assert_ended(&w, SESSION_END_SHUTDOWN, BACKEND_SESSION_END);
    assert_true(session_is_over(w.session));
    assert_true(session_next_timeout(w.session) == TIME_NEVER);
    close_world(&w);
}

static void a_client_that_hangs_up_ends_the_call(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    sim_client_close(w.client, w.now_us);
    run_for(&w, 100000);
    assert_ended(&w, SESSION_END_CLIENT_CLOSED, BACKEND_SESSION_END);
    assert_true(session_is_over(w.session));
    close_world(&w);
}

/* --- bounds ----------------------------------------------------------------------------------- */

/* A socket that takes nothing: the clocks run on, and voice is there again when it does. */
static void a_full_outbox_stops_no_clock(void **state)
{
    (void)state;
    struct world w;
    open_running(&w);
    const struct net_path path = {0};
    while (outbox_reserve(w.outbox) != NULL) {
        outbox_commit(w.outbox, 1, ID, &path);
    }
    const struct backend_frame large = {.session = ID,
                                        .payload = bytes_view_of(w.said, sizeof(w.said))};
    while (outbox_frame_bytes(w.outbox) + sizeof(w.said) < 60000) {
        outbox_add_frame(w.outbox, ID, &large);
    }
    const uint64_t packets_before = session_stats(w.session).voice.packets;
    const uint64_t until_us = w.now_us + 5 * US_PER_S;
    while (w.now_us < until_us) {
        w.now_us = virtual_time_us = session_next_timeout(w.session);
        session_tick(w.session, w.now_us);
        assert_true(session_next_timeout(w.session) > w.now_us);
    }
    assert_in_range(session_stats(w.session).voice.packets - packets_before, 250, 251);
    assert_int_equal(session_stats(w.session).voice.skipped_slots, 0);
    outbox_clear(w.outbox);
    const uint64_t heard_before = sim_client_heard(w.client)->packets;
    run_for(&w, US_PER_S);
    assert_in_range(sim_client_heard(w.client)->packets - heard_before, 49, 51);
    close_world(&w);
}

static void a_start_that_is_too_long_makes_no_session(void **state)
{
    (void)state;
    static char json[BACKEND_MESSAGE_BYTES_MAX];
    struct world w;
    open_world(&w, &plain);
    const struct session_config config = {
        .event_label = "oai-events",
        .session_id = ID,
        .offer = &w.answer.offer,
        .ice_ufrag = w.answer.ufrag,
        .ice_pwd = w.answer.pwd,
        .identity = w.identity,
        .backend_start = {.call_id = "",
                          .credit_us = US_PER_S,
                          .session_json = bytes_view_of(json, sizeof(json))},
        .silences = &silences,
        .outbox = w.outbox,
        .random = random_seeded(&w.random),
    };
    memset(json, ' ', sizeof(json));
    assert_null(session_create(&config, w.now_us));
    drain(&w);
    assert_int_equal(w.said_count, 1); /* of the other one */
    session_destroy(NULL);
    close_world(&w);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A connected call in which nobody has spoken yet, and whose TLS is gone. */
#define IDLE_BYTES_MAX 16384
/* The same with a data channel, whose TLS stays. */
#define IDLE_DATA_BYTES_MAX (90 * 1024)
/* The allocator keeps some freed pieces of each size; of many calls these are few. */
#define IDLE_CALLS 40

static size_t allocated_bytes(void)
{
    const struct mallinfo2 m = mallinfo2(); /* zeros below a sanitizer */
    return m.uordblks + m.hblkhd;
}

static size_t bytes_of_an_idle_call(struct world w[IDLE_CALLS], const struct wanted *wanted)
{
    for (size_t i = 0; i < IDLE_CALLS; i++) {
        open_world(&w[i], wanted);
        if (wanted->has_data) {
            (void)sim_data_open(sim_client_data(w[i].client), "oai-events", w[i].now_us);
        }
        run_for(&w[i], 1900 * US_PER_MS);
        assert_true(session_is_connected(w[i].session));
        assert_int_equal(session_stats(w[i].session).channels.opened, wanted->has_data);
    }
    const size_t before = allocated_bytes();
    for (size_t i = 0; i < IDLE_CALLS; i++) {
        session_destroy(w[i].session);
        w[i].session = NULL;
    }
    const size_t taken = (before - allocated_bytes()) / IDLE_CALLS;
    print_message("%zu bytes\n", taken);
    assert_true(taken > 1000 || before == 0);
    for (size_t i = 0; i < IDLE_CALLS; i++) {
        close_world(&w[i]);
    }
    return taken;
}

static void an_idle_call_takes_at_most_16_kilobytes(void **state)
{
    (void)state;
    static struct world w[IDLE_CALLS];
    const struct wanted listens = {.direction = "recvonly"};
    assert_true(bytes_of_an_idle_call(w, &listens) <= IDLE_BYTES_MAX);
}

static void one_with_a_data_channel_takes_at_most_90_kilobytes(void **state)
{
    (void)state;
    static struct world w[IDLE_CALLS];
    const struct wanted wanted = {.direction = "recvonly", .has_data = true};
    assert_true(bytes_of_an_idle_call(w, &wanted) <= IDLE_DATA_BYTES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_begins_with_start_then_connected_then_voice_both_ways),
        cmocka_unit_test(a_client_that_speaks_pauses_the_reply_if_the_backend_wants_it),
        cmocka_unit_test(voice_flows_only_where_the_clients_direction_lets_it),
        cmocka_unit_test(each_deadline_ends_the_call_at_its_microsecond),
        cmocka_unit_test(a_client_that_falls_silent_is_lost_and_gets_no_goodbye),
        cmocka_unit_test(what_the_backend_says_ends_the_call_for_its_reason),
        cmocka_unit_test(done_is_said_before_ended_and_nothing_after_it),
        cmocka_unit_test(an_end_when_drained_plays_the_rest_and_lets_it_reach_the_ear),
        cmocka_unit_test(an_end_when_drained_waits_for_nobody_who_does_not_listen),
        cmocka_unit_test(a_backend_that_stays_away_ends_the_call_after_five_seconds),
        cmocka_unit_test(a_backend_that_listens_hears_of_the_network_each_second),
        cmocka_unit_test(a_payload_that_is_no_json_is_the_connections_fault_and_the_call_lives),
        cmocka_unit_test(a_hang_up_tells_both_ends_once),
        cmocka_unit_test(an_end_before_there_is_a_client_is_over_at_once),
        cmocka_unit_test(a_client_that_hangs_up_ends_the_call),
        cmocka_unit_test(a_full_outbox_stops_no_clock),
        cmocka_unit_test(a_start_that_is_too_long_makes_no_session),
        cmocka_unit_test(an_idle_call_takes_at_most_16_kilobytes),
        cmocka_unit_test(one_with_a_data_channel_takes_at_most_90_kilobytes),
    };
    return cmocka_run_group_tests(tests, start_libraries, NULL);
}
