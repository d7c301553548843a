/* event_loop.c - see event_loop.h */
#include "services/transceiver/port/event_loop.h"

#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "services/transceiver/port/backend_target.h"
#include "services/transceiver/port/call_drain.h"
#include "services/transceiver/port/datagram_train.h"
#include "services/transceiver/port/frame_scheduler.h"
#include "services/transceiver/port/shard_mailbox.h"
#include "services/transceiver/port/thread_load.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

/* The outbox is emptied when it holds this much, so that one turn never overflows it. */
#define FLUSH_AT_DATAGRAMS   64
#define FLUSH_AT_FRAME_BYTES (1u << 20)
#define TURN_US_MAX          US_PER_S
/* For a backend's frames in one turn: while it pushes a burst, others have their slots. */
#define FRAMES_US_MAX 500
#define BEGINS_MAX    8 /* calls that begin to speak in one turn: each costs an encode */
/* An encode lasts longer than this, a silent slot does not: reading costs system calls. */
#define READ_EACH_US 50
#define PHASE_US     (SLOT_CLOCK_SLOT_US / SLOT_CLOCK_PHASES)
/* Voice is late when the thread waits for a CPU. */
#define SHARD_NICE (-15)

_Static_assert(OUTBOX_UNIT_BYTES == FRAME_BLOCK_BYTES, "room is counted in the same units");

struct event_loop {
    struct event_loop_config config;
    struct shard_calls calls;
    struct udp_port *udp;
    struct shard_uplink uplink;
    struct backend_port *backend;
    struct backend_target target;
    struct key_ring *key_ring;
    struct shard_mailbox mailbox;
    struct event_loop_counters counters;
    pthread_t thread;
    bool has_thread;
    bool is_stopping;
    struct thread_load load;
};

static const uint32_t lag_bound_us[] = {100, 250, 500, 1000, 2000, 5000, 10000, 20000, 50000};

/* --- life ------------------------------------------------------------------------------------- */

static bool open_backend(struct event_loop *loop, struct fault *fault)
{
    struct backend_port_config config = {
        .stream = {.name = loop->config.config->name,
                   .instance_id = loop->config.instance_id,
                   .session_capacity = call_setup_capacity(loop->config.config)},
        .random = random_system(),
    };
    if (!backend_target_open(&loop->target, loop->config.config->backend, fault)) {
        return false;
    }
    config.unix_path = loop->target.unix_path;
    loop->backend = backend_port_create(&config);
    return loop->backend != NULL || fault_set(fault, FAULT_SYSTEM, "backend: out of memory");
}

static bool open_parts(struct event_loop *loop, struct fault *fault)
{
    const struct event_loop_config *config = &loop->config;
    loop->key_ring = key_ring_copy(config->key_ring);
    const struct shard_calls_config calls = {
        .config = config->config,
        .shard = config->shard,
        .instance_id = config->instance_id,
        .key_ring = loop->key_ring,
        .identity = config->identity,
        .silences = config->silences,
        .random = random_system(),
        .unix_offset_us = clock_unix_us() - clock_now_us(),
    };
    if (loop->key_ring == NULL || !shard_calls_init(&loop->calls, &calls)) {
        return fault_set(fault, FAULT_SYSTEM, "shard %u: out of memory", config->shard);
    }
    loop->udp = udp_port_open(&config->media_address, config->config->udp_buffer_bytes, fault);
    loop->uplink = (struct shard_uplink){.udp = loop->udp,
                                         .registry = loop->calls.registry,
                                         .instance_id = config->instance_id,
                                         .inboxes = config->inboxes,
                                         .shard = config->shard,
                                         .shard_count = config->config->shard_count};
    return loop->udp != NULL && open_backend(loop, fault) &&
           shard_mailbox_open(&loop->mailbox, fault);
}

struct event_loop *event_loop_create(const struct event_loop_config *config, struct fault *fault)
{
    struct event_loop *loop = calloc(1, sizeof(*loop));
    if (loop == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "shard %u: out of memory", config->shard);
        return NULL;
    }
    loop->config = *config;
    loop->mailbox.letter_fd = loop->mailbox.answer_fd = -1;
    loop->counters.lag.bound_us = lag_bound_us;
    loop->counters.lag.bound_count = COUNT_OF(lag_bound_us);
    if (!open_parts(loop, fault)) {
        event_loop_destroy(loop);
        return NULL;
    }
    return loop;
}

void event_loop_destroy(struct event_loop *loop)
{
    if (loop == NULL) {
        return;
    }
    shard_calls_deinit(&loop->calls);
    backend_port_destroy(loop->backend);
    backend_target_close(&loop->target);
    udp_port_close(loop->udp);
    shard_mailbox_close(&loop->mailbox);
    key_ring_destroy(loop->key_ring);
    free(loop);
}

/* --- out -------------------------------------------------------------------------------------- */

/* Who can not begin there, as the connection broke, goes away or is full since, tries again. Of no
 * use is then the rest of its START. */
static void send_frames(struct event_loop *loop, uint64_t now_us)
{
    size_t cursor = 0;
    uint32_t id = 0;
    uint32_t refused_id = 0;
    struct backend_frame frame;
    while (outbox_next_frame(loop->calls.outbox, &cursor, &id, &frame)) {
        const bool begins =
            frame.type == BACKEND_SESSION_START || frame.type == BACKEND_SESSION_RESUME;
        if (id != refused_id && !backend_port_send(loop->backend, &frame, now_us) && begins) {
            refused_id = id;
            shard_calls_backend_refused(&loop->calls, id, now_us);
        }
    }
    outbox_clear_frames(loop->calls.outbox);
    backend_port_flush(loop->backend, now_us);
    outbox_set_message_room(loop->calls.outbox, backend_port_message_room(loop->backend));
}

static void flush_outbox(struct event_loop *loop, uint64_t now_us)
{
    datagram_train_send(loop->udp, loop->key_ring, loop->config.instance_id, loop->calls.outbox);
    send_frames(loop, now_us);
    outbox_clear(loop->calls.outbox);
}

static void settle(struct event_loop *loop, struct session *s, uint64_t now_us)
{
    shard_calls_settle(&loop->calls, s, now_us);
    if (outbox_datagram_count(loop->calls.outbox) >= FLUSH_AT_DATAGRAMS ||
        outbox_frame_bytes(loop->calls.outbox) >= FLUSH_AT_FRAME_BYTES) {
        flush_outbox(loop, now_us);
    }
}

static void end_all(struct event_loop *loop, enum session_end_reason reason, uint64_t now_us)
{
    size_t cursor = 0;
    struct session *s = NULL;
    while ((s = session_registry_next(loop->calls.registry, &cursor)) != NULL) {
        session_end(s, reason, now_us);
        settle(loop, s, now_us);
    }
}

/* --- in --------------------------------------------------------------------------------------- */

static void take_datagrams(struct event_loop *loop, bool has_inbox)
{
    const uint64_t now_us = clock_now_us();
    struct relay_leg_uplink uplink;
    struct session *s = NULL;
    shard_uplink_receive(&loop->uplink, has_inbox);
    while ((s = shard_uplink_next(&loop->uplink, loop->key_ring, &uplink)) != NULL) {
        const enum client_leg_result result =
            session_input_datagram(s, &uplink.datagram, &uplink.path, now_us);
        metric_add(&loop->counters.datagrams[result], 1);
        settle(loop, s, now_us);
    }
}

/* True when speech begins: the next slot of the call is now. */
static bool take_frame(struct event_loop *loop, const struct backend_frame *frame, uint64_t now_us)
{
    struct session *s = session_registry_find(loop->calls.registry, frame->session);
    if (s == NULL) {
        return false;
    }
    const bool was_due = session_next_timeout(s) <= now_us;
    if (!session_input_frame(s, frame, now_us)) {
        backend_port_refuse(loop->backend, frame, now_us);
    }
    const bool begins = !was_due && session_next_timeout(s) <= now_us;
    settle(loop, s, now_us);
    return begins;
}

/* Speech that begins waits neither for those whose slots are due nor for their train; but for all
 * frames that came with it, since a FLUSH may be among them. Returns the time. */
static uint64_t begin_speech(struct event_loop *loop, const uint32_t *id, size_t count,
                             uint64_t now_us)
{
    for (size_t i = 0; i < count; i++) {
        struct session *s = session_registry_find(loop->calls.registry, id[i]);
        if (s != NULL && session_next_timeout(s) <= now_us) {
            session_tick(s, now_us);
            settle(loop, s, now_us);
            now_us = clock_now_us();
        }
    }
    if (count > 0) {
        flush_outbox(loop, now_us);
    }
    return now_us;
}

static void move_sessions(struct event_loop *loop, uint64_t now_us)
{
    uint32_t id = 0;
    while (backend_port_poll_lost(loop->backend, &id)) {
        shard_calls_backend_lost(&loop->calls, id, now_us);
    }
    if (shard_calls_next_move(&loop->calls) <= now_us && backend_port_is_up(loop->backend)) {
        shard_calls_backend_found(&loop->calls, backend_port_can_resume(loop->backend),
                                  backend_port_room(loop->backend), now_us);
        send_frames(loop, now_us); /* so that its room is known */
    }
}

static void take_frames(struct event_loop *loop)
{
    const uint64_t begin_us = clock_now_us();
    uint64_t now_us = begin_us;
    uint32_t begins[BEGINS_MAX];
    size_t begin_count = 0;
    struct backend_frame frame;
    while (now_us - begin_us < FRAMES_US_MAX && begin_count < BEGINS_MAX &&
           backend_port_poll_frame(loop->backend, &frame, now_us)) {
        const uint32_t session_id = frame.session;
        if (take_frame(loop, &frame, now_us)) {
            begins[begin_count++] = session_id;
        }
        now_us = clock_now_us();
    }
    now_us = begin_speech(loop, begins, begin_count, now_us);
    move_sessions(loop, now_us);
}

static void replace_key_ring(struct event_loop *loop, const struct key_ring *ring)
{
    struct key_ring *copy = key_ring_copy(ring);
    if (copy == NULL) {
        log_error("shard.key_ring shard=%u error=\"out of memory\"", loop->config.shard);
        return;
    }
    shard_calls_set_key_ring(&loop->calls, copy);
    key_ring_destroy(loop->key_ring);
    loop->key_ring = copy;
}

static void take_letter(struct event_loop *loop)
{
    const uint64_t now_us = clock_now_us();
    struct shard_letter letter;
    if (!shard_mailbox_take(&loop->mailbox, &letter)) {
        return;
    }
    switch (letter.kind) {
    case SHARD_LETTER_REQUEST:
        shard_calls_answer(&loop->calls, letter.request, backend_port_is_up(loop->backend),
                           letter.reply, now_us);
        break;
    case SHARD_LETTER_KEY_RING:
        replace_key_ring(loop, letter.key_ring);
        break;
    case SHARD_LETTER_DRAIN:
        call_drain_begin(&loop->calls, now_us + loop->config.config->drain_timeout_us);
        backend_port_go_away(loop->backend, now_us + loop->config.config->drain_timeout_us, now_us);
        break;
    case SHARD_LETTER_STOP:
        loop->calls.is_draining = loop->is_stopping = true;
        end_all(loop, SESSION_END_SHUTDOWN, now_us);
        break;
    }
    shard_mailbox_answer(&loop->mailbox);
}

/* --- the turn --------------------------------------------------------------------------------- */

/* Encoding takes time. What came meanwhile is read between two encodes, so that a FLUSH comes
 * before the next slot of its call, and what a client said goes to the backend at once. Packets to
 * clients wait for those of their phase: together they are a train. */
static void read_between(struct event_loop *loop, uint64_t now_us)
{
    struct pollfd fds[BACKEND_PORT_CONNECTIONS];
    take_datagrams(loop, false);
    backend_port_want(loop->backend, fds);
    if (poll(fds, BACKEND_PORT_CONNECTIONS, 0) > 0) {
        backend_port_service(loop->backend, fds, now_us);
    }
    take_frames(loop);
    if (outbox_frame_bytes(loop->calls.outbox) > 0) {
        send_frames(loop, now_us);
    }
}

/* What is due, also what becomes so meanwhile: speech that begins waits for no phase. But not for
 * longer than a phase lasts: then packets leave, and under overload the control plane still has its
 * turns. */
static void serve_timers(struct event_loop *loop)
{
    const uint64_t begin_us = clock_now_us();
    uint64_t now_us = begin_us;
    uint64_t read_us = begin_us;
    const uint64_t due_us = session_registry_next_deadline(loop->calls.registry);
    if (due_us <= begin_us) {
        metric_observe(&loop->counters.lag, begin_us - due_us);
    }
    uint32_t id = 0;
    while (now_us - begin_us < PHASE_US &&
           (id = session_registry_take_due(loop->calls.registry, now_us)) != 0) {
        struct session *s = session_registry_find(loop->calls.registry, id);
        session_tick(s, now_us);
        settle(loop, s, now_us);
        now_us = clock_now_us();
        if (now_us - read_us >= READ_EACH_US) {
            read_between(loop, now_us);
            read_us = now_us = clock_now_us();
        }
    }
    if (backend_port_next_timeout(loop->backend) <= now_us) {
        backend_port_tick(loop->backend, now_us);
    }
}

static void measure_load(struct event_loop *loop, uint64_t now_us)
{
    uint64_t cpu_permille = 0;
    uint64_t busy_permille = 0;
    if (thread_load_measure(&loop->load, &cpu_permille, &busy_permille, now_us)) {
        metric_set(&loop->counters.load_permille, cpu_permille);
        shard_calls_note_load(&loop->calls, busy_permille, now_us);
        call_drain_tick(&loop->calls, now_us);
    }
}

/* Four fds of our own, then the backend's. */
#define OWN_FDS  4
#define LOOP_FDS (OWN_FDS + BACKEND_PORT_CONNECTIONS)

static void wait_for_work(struct event_loop *loop, struct pollfd fds[LOOP_FDS])
{
    const uint64_t due_us = time_earlier(session_registry_next_deadline(loop->calls.registry),
                                         backend_port_next_timeout(loop->backend));
    const uint64_t move_us =
        backend_port_is_up(loop->backend) ? shard_calls_next_move(&loop->calls) : TIME_NEVER;
    const uint64_t begin_us = clock_now_us();
    const bool has_work =
        backend_port_has_frames(loop->backend) || udp_port_has_received(loop->udp);
    const uint64_t until_us = has_work ? 0 : time_earlier(due_us, move_us);
    const uint64_t wait_us = time_earlier(time_since(begin_us, until_us), TURN_US_MAX);
    const struct timespec wait = {.tv_sec = (time_t)(wait_us / US_PER_S),
                                  .tv_nsec = (long)(wait_us % US_PER_S * 1000)};
    fds[0] = (struct pollfd){.fd = udp_port_fd(loop->udp), .events = POLLIN};
    fds[1] = (struct pollfd){.fd = loop->mailbox.letter_fd, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = backend_target_fd(&loop->target), .events = POLLIN};
    fds[3] =
        (struct pollfd){.fd = loop->config.inboxes[loop->config.shard].take_fd, .events = POLLIN};
    backend_port_want(loop->backend, fds + OWN_FDS);
    if (ppoll(fds, LOOP_FDS, &wait, NULL) < 0) {
        for (size_t i = 0; i < LOOP_FDS; i++) {
            fds[i].revents = 0;
        }
    }
    thread_load_note_sleep(&loop->load, clock_now_us() - begin_us);
}

static void turn(struct event_loop *loop)
{
    struct pollfd fds[LOOP_FDS];
    wait_for_work(loop, fds);
    if (fds[0].revents != 0 || fds[3].revents != 0 || udp_port_has_received(loop->udp)) {
        take_datagrams(loop, fds[3].revents != 0);
    }
    if (fds[2].revents != 0) {
        backend_target_take(&loop->target, loop->backend);
    }
    backend_port_service(loop->backend, fds + OWN_FDS, clock_now_us());
    take_frames(loop);
    if (fds[1].revents != 0) {
        take_letter(loop);
    }
    serve_timers(loop);
    const uint64_t now_us = clock_now_us();
    flush_outbox(loop, now_us);
    shard_calls_post(&loop->calls);
    metric_set(loop->config.beat, now_us);
    measure_load(loop, now_us);
}

static void *event_loop_thread(void *context)
{
    struct event_loop *loop = context;
    if (setpriority(PRIO_PROCESS, 0, SHARD_NICE) != 0) {
        log_info("shard.priority shard=%u nice=0 remedy=\"CAP_SYS_NICE makes voice steadier\"",
                 loop->config.shard);
    }
    while (!loop->is_stopping || session_registry_count(loop->calls.registry) > 0) {
        turn(loop);
    }
    return NULL;
}

bool event_loop_start(struct event_loop *loop, struct fault *fault)
{
    metric_set(loop->config.beat, clock_now_us());
    const int error = pthread_create(&loop->thread, NULL, event_loop_thread, loop);
    if (error != 0) {
        return fault_set(fault, FAULT_SYSTEM, "shard %u: thread: %s", loop->config.shard,
                         strerror(error));
    }
    loop->has_thread = true;
    return true;
}

void event_loop_stop(struct event_loop *loop)
{
    if (loop->has_thread) {
        shard_mailbox_send(&loop->mailbox, &(struct shard_letter){.kind = SHARD_LETTER_STOP});
        (void)pthread_join(loop->thread, NULL);
        loop->has_thread = false;
    }
}

void event_loop_call(struct event_loop *loop, const struct control_request *request,
                     struct control_reply *out)
{
    shard_mailbox_send(
        &loop->mailbox,
        &(struct shard_letter){.kind = SHARD_LETTER_REQUEST, .request = request, .reply = out});
}

void event_loop_set_key_ring(struct event_loop *loop, const struct key_ring *ring)
{
    shard_mailbox_send(&loop->mailbox,
                       &(struct shard_letter){.kind = SHARD_LETTER_KEY_RING, .key_ring = ring});
}

void event_loop_drain(struct event_loop *loop)
{
    shard_mailbox_send(&loop->mailbox, &(struct shard_letter){.kind = SHARD_LETTER_DRAIN});
}

struct event_mail *event_loop_mail(const struct event_loop *loop)
{
    return loop->calls.mail;
}

const struct event_loop_counters *event_loop_counters(const struct event_loop *loop)
{
    return &loop->counters;
}

const struct shard_uplink_counters *event_loop_uplink(const struct event_loop *loop)
{
    return &loop->uplink.counters;
}

const struct shard_counters *event_loop_calls(const struct event_loop *loop)
{
    return &loop->calls.counters;
}

const struct udp_port_counters *event_loop_udp(const struct event_loop *loop)
{
    return udp_port_counters(loop->udp);
}

const struct udp_sender_counters *event_loop_trains(const struct event_loop *loop)
{
    return udp_port_trains(loop->udp);
}

const struct backend_port_counters *event_loop_backend(const struct event_loop *loop)
{
    return backend_port_counters(loop->backend);
}
