/* shard_calls.c - see shard_calls.h */
#include "services/transceiver/port/shard_calls.h"

#include "common/runtime/log.h"
#include "services/transceiver/port/call_sideband.h"
#include "services/transceiver/port/call_update.h"
#include "services/transceiver/port/session_facts.h"

#define OUTBOX_DATAGRAMS   1024
#define OUTBOX_FRAME_BYTES (4u << 20)
/* Sessions that are given another connection at once: their STARTs fit into the outbox. */
#define MOVES_MAX 16
/* Who could not begin on a connection that is well is not offered to it in each turn. */
#define MOVE_AGAIN_US (200 * US_PER_MS)
_Static_assert(MOVES_MAX *(CALL_SETUP_SESSION_JSON_MAX + 16384) < OUTBOX_FRAME_BYTES, "they fit");

static const uint32_t setup_bound_us[] = {5000,   10000,  25000,   50000,   100000,  200000,
                                          300000, 500000, 1000000, 1500000, 3000000, 10000000};

static const uint32_t network_bound_us[] = {1000,  2000,   5000,   10000,  20000,
                                            50000, 100000, 200000, 500000, 1000000};

static void init_histograms(struct shard_counters *c)
{
    struct metric_histogram *const setup[] = {&c->setup_ice, &c->setup_dtls, &c->setup_first_audio};
    struct metric_histogram *const network[] = {&c->client_rtt, &c->client_jitter};
    for (size_t i = 0; i < COUNT_OF(setup); i++) {
        setup[i]->bound_us = setup_bound_us;
        setup[i]->bound_count = COUNT_OF(setup_bound_us);
    }
    for (size_t i = 0; i < COUNT_OF(network); i++) {
        network[i]->bound_us = network_bound_us;
        network[i]->bound_count = COUNT_OF(network_bound_us);
    }
}

bool shard_calls_init(struct shard_calls *calls, const struct shard_calls_config *config)
{
    *calls = (struct shard_calls){
        .expire_us = TIME_NEVER,
        .created_limit.lines_per_s = LOG_EVENTS_PER_S,
        .connected_limit.lines_per_s = LOG_EVENTS_PER_S,
        .ended_limit.lines_per_s = LOG_EVENTS_PER_S,
        .backend_limit.lines_per_s = LOG_EVENTS_PER_S,
        .restarted_limit.lines_per_s = LOG_EVENTS_PER_S,
    };
    encoder_effort_init(&calls->effort, config->config->complexity, config->config->complexity_min);
    metric_set(&calls->counters.opus_complexity, calls->effort.complexity);
    calls->outbox = outbox_create(OUTBOX_DATAGRAMS, OUTBOX_FRAME_BYTES);
    calls->sidebands = sideband_outbox_create(SIDEBAND_OUTBOX_BYTES);
    calls->mail = event_mail_create(EVENT_MAIL_BYTES);
    calls->post = (struct event_post){.mail = calls->mail,
                                      .counters = &calls->counters.post,
                                      .instance_id = config->instance_id,
                                      .unix_offset_us = config->unix_offset_us};
    calls->registry = session_registry_create(config->shard, call_setup_capacity(config->config));
    calls->index = call_index_create(call_setup_capacity(config->config));
    calls->setup = (struct call_setup){
        .config = config->config,
        .identity = config->identity,
        .silences = config->silences,
        .effort = &calls->effort,
        .key_ring = config->key_ring,
        .registry = calls->registry,
        .outbox = calls->outbox,
        .sidebands = calls->sidebands,
        .random = config->random,
        .instance_id = config->instance_id,
        .unix_offset_us = config->unix_offset_us,
    };
    init_histograms(&calls->counters);
    return calls->outbox != NULL && calls->sidebands != NULL && calls->mail != NULL &&
           calls->registry != NULL && calls->index != NULL;
}

void shard_calls_deinit(struct shard_calls *calls)
{
    size_t cursor = 0;
    struct session *s = NULL;
    while (calls->registry != NULL &&
           (s = session_registry_next(calls->registry, &cursor)) != NULL) {
        session_destroy(s);
    }
    session_registry_destroy(calls->registry);
    call_index_destroy(calls->index);
    outbox_destroy(calls->outbox);
    sideband_outbox_destroy(calls->sidebands);
    event_mail_destroy(calls->mail);
}

void shard_calls_set_key_ring(struct shard_calls *calls, struct key_ring *ring)
{
    calls->setup.key_ring = ring;
}

/* --- counting --------------------------------------------------------------------------------- */

static uint64_t passed_ms(uint64_t from_us, uint64_t to_us)
{
    return time_since(from_us, to_us) / US_PER_MS;
}

static void note_connected(struct shard_calls *calls, const struct session *s, uint64_t now_us)
{
    const struct session_timeline *t = session_timeline(s);
    calls->setup.pending_count--;
    event_post_news(&calls->post, s, CONTROL_SESSION_EVENT_CONNECTED, now_us);
    metric_observe(&calls->counters.setup_ice, t->first_check_us - t->created_us);
    metric_observe(&calls->counters.setup_dtls, t->connected_us - t->created_us);
    if (log_limit_pass(&calls->connected_limit, now_us)) {
        log_info("session.connected call=%s ice_ms=%llu dtls_ms=%llu held_back=%llu",
                 session_call_id(s),
                 (unsigned long long)passed_ms(t->created_us, t->first_check_us),
                 (unsigned long long)passed_ms(t->created_us, t->connected_us),
                 (unsigned long long)calls->connected_limit.held_back);
    }
}

static void log_ended(struct shard_calls *calls, const struct session *s,
                      enum session_end_reason reason)
{
    const struct session_stats stats = session_stats(s);
    const struct session_timeline *t = session_timeline(s);
    log_info("session.ended call=%s reason=%s life_ms=%llu frames_in=%llu concealed=%llu "
             "packets_out=%llu skipped=%llu rtt_ms=%llu held_back=%llu",
             session_call_id(s), session_end_reason_name(reason),
             (unsigned long long)passed_ms(t->created_us, t->ended_us),
             (unsigned long long)stats.uplink.frames, (unsigned long long)stats.uplink.concealed,
             (unsigned long long)stats.voice.packets, (unsigned long long)stats.voice.skipped_slots,
             (unsigned long long)(stats.sender.rtt_us / US_PER_MS),
             (unsigned long long)calls->ended_limit.held_back);
}

/* What left, and what the client reported of it: while the call lasts, and the rest at its end. One
 * sample of each time in which it reported, so that no client weighs more by reporting more. */
static void note_network(struct shard_counters *c, const struct session *s, uint64_t now_us)
{
    struct rtp_sender *sender = session_rtp_sender(s);
    const struct rtp_sender_news news = rtp_sender_take_news(sender, now_us);
    const struct rtp_sender_stats stats = rtp_sender_stats(sender);
    metric_add(&c->packets_sent, news.packets);
    metric_add(&c->packets_lost, news.lost);
    if (news.reports > 0) {
        metric_observe(&c->client_jitter, stats.jitter_us);
    }
    if (news.reports > 0 && stats.has_rtt) {
        metric_observe(&c->client_rtt, stats.rtt_us);
    }
}

static void note_ended(struct shard_calls *calls, const struct session *s,
                       enum session_end_reason reason, uint64_t now_us)
{
    const struct session_stats stats = session_stats(s);
    const struct session_timeline *t = session_timeline(s);
    struct shard_counters *c = &calls->counters;
    if (t->connected_us == 0) {
        calls->setup.pending_count--;
    }
    if (t->first_audio_out_us != 0) {
        metric_observe(&c->setup_first_audio, t->first_audio_out_us - t->created_us);
    }
    metric_add(&c->sessions_ended[reason], 1);
    metric_add(&c->audio_frames_decoded, stats.uplink.frames - stats.uplink.concealed);
    metric_add(&c->audio_frames_concealed, stats.uplink.concealed);
    for (size_t i = 0; i < VOICE_UPLINK_RESULT_COUNT; i++) {
        metric_add(&c->voice_packets[i], stats.uplink.packets[i]);
    }
    for (size_t i = 0; i < VOICE_DOWNLINK_RESULT_COUNT; i++) {
        metric_add(&c->speech_frames[i], stats.downlink.frames[i]);
    }
    metric_add(&c->speech_underruns, stats.downlink.underruns);
    metric_add(&c->messages_ignored, stats.data.ignored);
    metric_add(&c->events_in, stats.data.events_in);
    metric_add(&c->events_out, stats.data.events_out);
    metric_add(&c->messages_dropped[SHARD_MESSAGES_TO_CLIENT], stats.data.dropped_to_client);
    metric_add(&c->messages_dropped[SHARD_MESSAGES_TO_BACKEND], stats.channels.messages_dropped);
    metric_add(&c->channels_opened, stats.channels.opened);
    metric_add(&c->channels_refused, stats.channels.refused);
    for (size_t i = 0; i < RTCP_PACKET_RESULT_COUNT; i++) {
        metric_add(&c->rtcp_compounds[i], stats.rtcp.compounds[i]);
    }
    metric_add(&c->red_packets_sent, stats.voice.red_packets);
    metric_add(&c->packets_sent_again, stats.sent_again);
    metric_add(&c->slots_skipped, stats.voice.skipped_slots);
    metric_add(&c->post.sideband_messages_lost, session_sidebands(s)->lost);
    note_network(c, s, now_us);
    event_post_news(&calls->post, s, CONTROL_SESSION_EVENT_ENDED, now_us);
    if (log_limit_pass(&calls->ended_limit, now_us)) {
        log_ended(calls, s, reason);
    }
}

static void note_backend(struct shard_calls *calls, const struct session *s,
                         const struct session_event *event, uint64_t now_us)
{
    if (event->kind == SESSION_EVENT_BACKEND_LOST) {
        metric_add(&calls->counters.backend_losses, 1);
        return;
    }
    const bool is_resumed = event->kind == SESSION_EVENT_BACKEND_RESUMED;
    metric_add(is_resumed ? &calls->counters.backend_resumes : &calls->counters.backend_restarts,
               1);
    if (log_limit_pass(&calls->backend_limit, now_us)) {
        log_info("session.backend_back call=%s how=%s away_ms=%llu held_back=%llu",
                 session_call_id(s), is_resumed ? "resumed" : "restarted",
                 (unsigned long long)(event->away_us / US_PER_MS),
                 (unsigned long long)calls->backend_limit.held_back);
    }
}

static void note_event(struct shard_calls *calls, const struct session *s,
                       const struct session_event *event, uint64_t now_us)
{
    switch (event->kind) {
    case SESSION_EVENT_CONNECTED:
        note_connected(calls, s, now_us);
        break;
    case SESSION_EVENT_ENDED:
        note_ended(calls, s, event->reason, now_us);
        break;
    default:
        note_backend(calls, s, event, now_us);
        break;
    }
}

/* Not only who lost its connection is without one: some could not begin on the one they got. */
static void note_homeless(struct shard_calls *calls, uint64_t now_us)
{
    if (!calls->has_homeless) {
        calls->has_homeless = true;
        calls->move_us = now_us + MOVE_AGAIN_US;
    }
    calls->homeless_cursor = 0;
}

void shard_calls_settle(struct shard_calls *calls, struct session *s, uint64_t now_us)
{
    struct session_event event;
    while (session_poll_event(s, &event)) {
        note_event(calls, s, &event, now_us);
    }
    if (rtp_sender_is_news_due(session_rtp_sender(s), now_us)) {
        note_network(&calls->counters, s, now_us);
    }
    if (session_is_over(s)) {
        call_index_remove(calls->index, session_call_id(s), session_id(s));
        session_registry_remove(calls->registry, session_id(s));
        session_destroy(s);
    } else {
        if (session_wants_backend(s)) {
            note_homeless(calls, now_us);
        }
        /* Later than now, so that one session can not keep its shard from all others. */
        session_registry_set_deadline(calls->registry, session_id(s),
                                      time_later(session_next_timeout(s), now_us + 1));
    }
    metric_set(&calls->counters.sessions_active, session_registry_count(calls->registry));
    metric_set(&calls->counters.sessions_pending, calls->setup.pending_count);
    metric_set(&calls->counters.outbox_dropped, outbox_dropped(calls->outbox));
}

void shard_calls_post(struct shard_calls *calls)
{
    event_post_sidebands(&calls->post, calls->sidebands);
}

void shard_calls_note_load(struct shard_calls *calls, uint64_t busy_permille, uint64_t now_us)
{
    encoder_effort_note(&calls->effort, busy_permille, now_us);
    metric_set(&calls->counters.opus_complexity, calls->effort.complexity);
    metric_set(&calls->counters.opus_steps_down, calls->effort.steps_down);
}

/* --- backends that come and go ---------------------------------------------------------------- */

void shard_calls_backend_lost(struct shard_calls *calls, uint32_t session_id, uint64_t now_us)
{
    calls->has_homeless = true;
    calls->homeless_cursor = 0;
    calls->move_us = now_us;
    shard_calls_backend_refused(calls, session_id, now_us);
}

void shard_calls_backend_refused(struct shard_calls *calls, uint32_t session_id, uint64_t now_us)
{
    struct session *s = session_registry_find(calls->registry, session_id);
    if (s != NULL) {
        session_backend_lost(s, now_us);
        shard_calls_settle(calls, s, now_us);
    }
}

uint64_t shard_calls_next_move(const struct shard_calls *calls)
{
    return calls->has_homeless ? calls->move_us : TIME_NEVER;
}

void shard_calls_backend_found(struct shard_calls *calls, bool can_resume, size_t room,
                               uint64_t now_us)
{
    size_t left = room < MOVES_MAX ? room : MOVES_MAX;
    while (calls->has_homeless && left > 0) {
        struct session *s = session_registry_next(calls->registry, &calls->homeless_cursor);
        calls->has_homeless = s != NULL;
        if (s != NULL && session_wants_backend(s)) {
            session_backend_found(s, can_resume, now_us);
            shard_calls_settle(calls, s, now_us);
            left--;
        }
    }
}

/* --- requests --------------------------------------------------------------------------------- */

static void refuse(struct control_reply *out, enum control_refusal code, const char *message)
{
    out->refusal = code;
    out->message = bytes_view_of_text(message);
}

static void create_call(struct shard_calls *calls, const struct control_create_session *request,
                        bool is_backend_up, struct control_reply *out, uint64_t now_us)
{
    if (calls->is_draining) {
        refuse(out, CONTROL_DRAINING, "this transceiver is going away");
        return;
    }
    const uint32_t id = call_setup_create(&calls->setup, request, is_backend_up, out, now_us);
    if (id == 0) {
        return;
    }
    calls->setup.pending_count++;
    metric_add(&calls->counters.sessions_created, 1);
    if (log_limit_pass(&calls->created_limit, now_us)) {
        log_info("session.created call=%s held_back=%llu", request->call_id,
                 (unsigned long long)calls->created_limit.held_back);
    }
    struct session *s = session_registry_find(calls->registry, id);
    call_index_put(calls->index, session_call_id(s), id);
    event_post_news(&calls->post, s, CONTROL_SESSION_EVENT_CREATED, now_us);
    shard_calls_settle(calls, s, now_us);
}

/* A session that this caller may see: its tenant's, or any for an operator. */
static bool is_allowed(const struct session *s, const uint8_t tenant[CONTROL_TENANT_BYTES],
                       bool is_operator)
{
    return is_operator || memcmp(session_tenant(s), tenant, SESSION_TENANT_BYTES) == 0;
}

/* NULL, and refused, when there is none, or it is another tenant's: they get to know no more. */
static struct session *find_call(const struct shard_calls *calls, const struct control_call *call,
                                 struct control_reply *out)
{
    for (uint32_t id = call_index_first(calls->index, call->call_id); id != 0;
         id = call_index_next(calls->index, id)) {
        struct session *s = session_registry_find(calls->registry, id);
        if (strcmp(session_call_id(s), call->call_id) == 0 &&
            is_allowed(s, call->tenant, call->is_operator)) {
            return s;
        }
    }
    refuse(out, CONTROL_NOT_FOUND, "no such call");
    return NULL;
}

static void end_call(struct shard_calls *calls, const struct control_end_session *request,
                     struct control_reply *out, uint64_t now_us)
{
    struct session *s = find_call(calls, &request->call, out);
    if (s == NULL) {
        return;
    }
    out->kind = CONTROL_END_SESSION;
    session_end(s, SESSION_END_HANGUP, now_us);
    shard_calls_settle(calls, s, now_us);
}

/* Likewise when it is saying goodbye. */
static struct session *find_living_call(const struct shard_calls *calls,
                                        const struct control_call *call, struct control_reply *out)
{
    struct session *s = find_call(calls, call, out);
    if (s != NULL && session_timeline_state(session_timeline(s)) == SESSION_ENDED) {
        refuse(out, CONTROL_NOT_FOUND, "the call has ended");
        s = NULL;
    }
    return s;
}

static void update_call(struct shard_calls *calls, const struct control_update_session *request,
                        struct control_reply *out, uint64_t now_us)
{
    struct session *s = find_living_call(calls, &request->call, out);
    if (s != NULL && call_update(&calls->setup, s, request, out, now_us)) {
        metric_add(&calls->counters.ice_restarts, 1);
        if (log_limit_pass(&calls->restarted_limit, now_us)) {
            log_info("session.ice_restarted call=%s generation=%u held_back=%llu",
                     session_call_id(s), out->ice_generation,
                     (unsigned long long)calls->restarted_limit.held_back);
        }
        shard_calls_settle(calls, s, now_us);
    }
}

static void attach_sideband(struct shard_calls *calls,
                            const struct control_attach_sideband *request,
                            struct control_reply *out, uint64_t now_us)
{
    struct session *s = find_living_call(calls, &request->call, out);
    if (s != NULL) {
        metric_add(&calls->counters.sidebands_attached,
                   call_sideband_attach(s, request, out, now_us));
        shard_calls_settle(calls, s, now_us);
    }
}

static void inject_event(struct shard_calls *calls, const struct control_inject_event *request,
                         struct control_reply *out, uint64_t now_us)
{
    struct session *s = find_living_call(calls, &request->call, out);
    if (s != NULL) {
        metric_add(&calls->counters.events_injected, call_sideband_inject(s, request, out, now_us));
        shard_calls_settle(calls, s, now_us);
    }
}

static void tell_call(const struct shard_calls *calls, const struct control_get_session *request,
                      struct control_reply *out, uint64_t now_us)
{
    const struct session *s = find_call(calls, &request->call, out);
    if (s != NULL) {
        session_facts_fill(s, calls->setup.unix_offset_us, out, now_us);
    }
}

/* In the order of session ids, from one on. */
static void list_calls(struct shard_calls *calls, const struct control_list_sessions *request,
                       struct control_reply *out)
{
    size_t cursor = SESSION_ID_SLOT(request->from_session_id);
    const struct session *s = NULL;
    out->kind = CONTROL_LIST_SESSIONS;
    out->rows = calls->rows;
    while ((s = session_registry_next(calls->registry, &cursor)) != NULL) {
        if (!is_allowed(s, request->tenant, request->is_operator)) {
            continue;
        }
        if (out->row_count == CONTROL_ROWS_MAX) {
            out->next_session_id = session_id(s);
            return;
        }
        session_facts_row(s, calls->setup.unix_offset_us, &calls->rows[out->row_count++]);
    }
}

void shard_calls_answer(struct shard_calls *calls, const struct control_request *request,
                        bool is_backend_up, struct control_reply *out, uint64_t now_us)
{
    *out = (struct control_reply){0};
    memcpy(out->request_id, request->request_id, sizeof(out->request_id));
    switch (request->kind) {
    case CONTROL_CREATE_SESSION:
        create_call(calls, &request->body.create_session, is_backend_up, out, now_us);
        break;
    case CONTROL_END_SESSION:
        end_call(calls, &request->body.end_session, out, now_us);
        break;
    case CONTROL_UPDATE_SESSION:
        update_call(calls, &request->body.update_session, out, now_us);
        break;
    case CONTROL_GET_SESSION:
        tell_call(calls, &request->body.get_session, out, now_us);
        break;
    case CONTROL_LIST_SESSIONS:
        list_calls(calls, &request->body.list_sessions, out);
        break;
    case CONTROL_ATTACH_SIDEBAND:
        attach_sideband(calls, &request->body.attach_sideband, out, now_us);
        break;
    case CONTROL_INJECT_EVENT:
        inject_event(calls, &request->body.inject_event, out, now_us);
        break;
    case CONTROL_REQUEST_UNKNOWN:
        refuse(out, CONTROL_NOT_IMPLEMENTED, "this request is not known here");
        break;
    }
}
