/* backend_port.c - see backend_port.h */
#include "services/transceiver/port/backend_port.h"

#include "common/backend_link/backend_payload.h"
#include "common/base/time_us.h"
#include "common/runtime/log.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HELLO_TIMEOUT_US   (2 * US_PER_S)
#define CONNECT_TIMEOUT_US (2 * US_PER_S)
#define REDIAL_US_MIN      (100 * US_PER_MS)
#define REDIAL_US_MAX      (2 * US_PER_S)
#define HEARTBEAT_MS       1000
#define HEARTBEATS_MISSED  3
#define TCP_TIMEOUT_MS     5000

/* Half a second of 20 ms frames at 24 kHz for each session, and room for control frames. */
#define OUTPUT_BYTES_PER_SESSION (25 * (BACKEND_FRAME_HEADER_BYTES + 960))
#define OUTPUT_BYTES_BASE        (2 * BACKEND_FRAME_BYTES_MAX)

/* session id = [shard 6 | slot 18 | generation 8] */
#define SLOT_OF(session_id) ((session_id) >> 8 & 0x3ffffu)

enum link_state { LINK_WAITING, LINK_CONNECTING, LINK_GREETING, LINK_UP, LINK_GOING_AWAY };

/* One session on the connection; the id tells whether the slot still belongs to it. */
struct handle {
    uint32_t session_id;
    uint32_t next_in;
    uint32_t next_out;
};

struct backend_port {
    struct backend_port_config config;
    struct net_addr address;
    bool has_address;
    enum link_state state;
    int fd;
    uint64_t state_deadline_us; /* redial, connect or HELLO */
    uint64_t redial_us;
    uint64_t heartbeat_us;
    uint64_t last_received_us;
    uint64_t last_sent_us;
    bool was_lost;
    uint32_t next_in; /* frames of the connection itself */
    uint32_t next_out;
    struct backend_frame_reader *reader;
    struct handle *handles;
    uint8_t *output; /* output_start .. output_end wait to be written */
    size_t output_cap;
    size_t output_start;
    size_t output_end;
    struct backend_port_counters counters;
};

struct backend_port *backend_port_create(const struct backend_port_config *config)
{
    struct backend_port *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        return NULL;
    }
    p->config = *config;
    p->fd = -1;
    p->redial_us = REDIAL_US_MIN;
    p->output_cap = OUTPUT_BYTES_BASE + config->session_capacity * OUTPUT_BYTES_PER_SESSION;
    p->output = malloc(p->output_cap);
    p->handles = calloc(config->session_capacity, sizeof(*p->handles));
    p->reader = backend_frame_reader_create();
    if (p->output == NULL || p->handles == NULL || p->reader == NULL) {
        backend_port_destroy(p);
        return NULL;
    }
    return p;
}

void backend_port_destroy(struct backend_port *p)
{
    if (p == NULL) {
        return;
    }
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    backend_frame_reader_destroy(p->reader);
    free(p->handles);
    free(p->output);
    free(p);
}

const struct backend_port_counters *backend_port_counters(const struct backend_port *p)
{
    return &p->counters;
}

void backend_port_set_address(struct backend_port *p, const struct net_addr *address)
{
    p->address = *address;
    p->has_address = true;
}

bool backend_port_is_up(const struct backend_port *p)
{
    return p->state == LINK_UP;
}

static bool is_greeted(const struct backend_port *p)
{
    return p->state == LINK_UP || p->state == LINK_GOING_AWAY;
}

/* --- connection ------------------------------------------------------------------------------ */

static void close_link(struct backend_port *p, const char *reason, uint64_t now_us)
{
    if (is_greeted(p)) {
        p->was_lost = true;
        metric_add(&p->counters.losses, 1);
        log_warn("backend.lost reason=%s", reason);
    }
    if (p->fd >= 0) {
        (void)close(p->fd);
        p->fd = -1;
    }
    /* Half to the whole delay, so that shards and hosts do not dial in step. */
    const uint64_t half_us = p->redial_us / 2;
    p->state = LINK_WAITING;
    p->state_deadline_us = now_us + half_us + random_u32(p->config.random) % (half_us + 1);
    p->redial_us = time_earlier(p->redial_us * 2, REDIAL_US_MAX);
    metric_set(&p->counters.is_up, 0);
}

static int open_socket(const struct backend_port *p, struct sockaddr_storage *address,
                       socklen_t *address_len)
{
    if (p->config.unix_path != NULL) {
        struct sockaddr_un *un = (struct sockaddr_un *)address;
        *un = (struct sockaddr_un){.sun_family = AF_UNIX};
        (void)snprintf(un->sun_path, sizeof(un->sun_path), "%s", p->config.unix_path);
        *address_len = sizeof(*un);
        return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    }
    *address_len = net_addr_to_sockaddr(&p->address, address);
    const int fd = socket(address->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    const int timeout_ms = TCP_TIMEOUT_MS;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
    return fd;
}

static void dial(struct backend_port *p, uint64_t now_us)
{
    if (p->config.unix_path == NULL && !p->has_address) {
        p->state_deadline_us = now_us + REDIAL_US_MIN;
        return;
    }
    struct sockaddr_storage address = {0};
    socklen_t address_len = 0;
    p->fd = open_socket(p, &address, &address_len);
    if (p->fd < 0 || (connect(p->fd, (const struct sockaddr *)&address, address_len) != 0 &&
                      errno != EINPROGRESS)) {
        close_link(p, "connect", now_us);
        return;
    }
    p->state = LINK_CONNECTING;
    p->state_deadline_us = now_us + CONNECT_TIMEOUT_US;
}

static void append(struct backend_port *p, const struct backend_frame *frame, uint64_t now_us);

static void greet(struct backend_port *p, uint64_t now_us)
{
    struct backend_hello hello = {
        .format = {{BACKEND_CODEC_PCM16, 16}, {BACKEND_CODEC_PCM16, 24}},
        .format_count = 2,
        .session_count_max = (uint32_t)p->config.session_capacity,
        .heartbeat_ms = HEARTBEAT_MS,
    };
    (void)snprintf(hello.name, sizeof(hello.name), "%s", p->config.name);
    (void)snprintf(hello.instance, sizeof(hello.instance), "%08x", p->config.instance_id);
    char text[1024];
    const size_t len = backend_hello_encode(&hello, text, sizeof(text));
    backend_frame_reader_destroy(p->reader);
    p->reader = backend_frame_reader_create();
    memset(p->handles, 0, p->config.session_capacity * sizeof(*p->handles));
    p->output_start = p->output_end = 0;
    p->next_in = p->next_out = 0;
    p->last_received_us = p->last_sent_us = now_us;
    p->state = LINK_GREETING;
    p->state_deadline_us = now_us + HELLO_TIMEOUT_US;
    append(p, &(struct backend_frame){.type = BACKEND_HELLO, .payload = bytes_view_of(text, len)},
           now_us);
    if (p->reader == NULL) {
        close_link(p, "memory", now_us);
    }
}

static void finish_connect(struct backend_port *p, uint64_t now_us)
{
    int error = 0;
    socklen_t len = sizeof(error);
    if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
        close_link(p, "connect", now_us);
        return;
    }
    greet(p, now_us);
}

/* --- output ---------------------------------------------------------------------------------- */

static struct handle *find_handle(const struct backend_port *p, uint32_t session_id)
{
    const uint32_t slot = SLOT_OF(session_id);
    if (slot >= p->config.session_capacity || p->handles[slot].session_id != session_id) {
        return NULL;
    }
    return &p->handles[slot];
}

static size_t output_room(struct backend_port *p)
{
    if (p->output_start > 0 && p->output_start == p->output_end) {
        p->output_start = p->output_end = 0;
    }
    return p->output_cap - p->output_end;
}

/* Gives the frame its sequence number and puts it behind what waits. */
static void append(struct backend_port *p, const struct backend_frame *frame, uint64_t now_us)
{
    const size_t need = BACKEND_FRAME_HEADER_BYTES + frame->payload.len;
    if (output_room(p) < need && p->output_start > 0) {
        memmove(p->output, p->output + p->output_start, p->output_end - p->output_start);
        p->output_end -= p->output_start;
        p->output_start = 0;
    }
    if (output_room(p) < need) {
        close_link(p, "slow", now_us);
        return;
    }
    struct backend_frame numbered = *frame;
    struct handle *handle = find_handle(p, frame->session);
    numbered.sequence = handle != NULL ? handle->next_out++ : p->next_out++;
    backend_frame_encode_header(&numbered, p->output + p->output_end);
    p->output_end += BACKEND_FRAME_HEADER_BYTES;
    if (frame->payload.len > 0) {
        memcpy(p->output + p->output_end, frame->payload.data, frame->payload.len);
        p->output_end += frame->payload.len;
    }
    metric_add(&p->counters.frames_sent, 1);
}

void backend_port_send(struct backend_port *p, const struct backend_frame *frame, uint64_t now_us)
{
    assert(frame->session != 0);
    if (!is_greeted(p)) {
        return;
    }
    if (frame->type == BACKEND_SESSION_START) {
        const uint32_t slot = SLOT_OF(frame->session);
        assert(slot < p->config.session_capacity);
        p->handles[slot] = (struct handle){.session_id = frame->session};
    }
    if (find_handle(p, frame->session) == NULL) {
        return; /* the session began on an older connection */
    }
    const size_t waiting = p->output_end - p->output_start;
    if (frame->type == BACKEND_AUDIO_IN && waiting > p->output_cap / 4 * 3) {
        metric_add(&p->counters.audio_dropped, 1);
        return;
    }
    append(p, frame, now_us);
}

void backend_port_flush(struct backend_port *p, uint64_t now_us)
{
    if (p->state < LINK_GREETING || p->output_start == p->output_end) {
        return;
    }
    const ssize_t written =
        send(p->fd, p->output + p->output_start, p->output_end - p->output_start, MSG_NOSIGNAL);
    if (written > 0) {
        p->output_start += (size_t)written;
        p->last_sent_us = now_us;
    } else if (written < 0 && errno != EAGAIN && errno != EINTR) {
        close_link(p, "write", now_us);
    }
}

/* --- input ----------------------------------------------------------------------------------- */

static void fail_link(struct backend_port *p, const char *code, uint64_t now_us)
{
    struct backend_error error = {.is_fatal = true};
    char text[256];
    (void)snprintf(error.code, sizeof(error.code), "%s", code);
    const size_t len = backend_error_encode(&error, text, sizeof(text));
    append(p, &(struct backend_frame){.type = BACKEND_ERROR, .payload = bytes_view_of(text, len)},
           now_us);
    backend_port_flush(p, now_us);
    close_link(p, code, now_us);
}

static void take_hello(struct backend_port *p, const struct backend_frame *frame, uint64_t now_us)
{
    struct backend_hello hello;
    char name[BACKEND_TEXT_CAP + 1];
    if (frame->type != BACKEND_HELLO || !backend_hello_decode(frame->payload, &hello)) {
        fail_link(p, "bad_frame", now_us);
    } else if (!hello.speaks_version_1) {
        fail_link(p, "version", now_us);
    } else {
        const uint32_t heartbeat_ms =
            hello.heartbeat_ms < HEARTBEAT_MS ? hello.heartbeat_ms : HEARTBEAT_MS;
        p->heartbeat_us = time_later(heartbeat_ms, 50) * US_PER_MS;
        p->state = LINK_UP;
        p->state_deadline_us = TIME_NEVER;
        p->redial_us = REDIAL_US_MIN;
        metric_set(&p->counters.is_up, 1);
        metric_add(&p->counters.connects, 1);
        log_info("backend.up name=%s",
                 log_escape(bytes_view_of_text(hello.name), name, sizeof(name)));
    }
}

static void take_connection_frame(struct backend_port *p, const struct backend_frame *frame,
                                  uint64_t now_us)
{
    struct backend_frame answer = {.type = BACKEND_PONG, .time_us = now_us};
    switch (frame->type) {
    case BACKEND_PING:
        answer.payload = frame->payload;
        append(p, &answer, now_us);
        break;
    case BACKEND_GOAWAY:
        p->state = LINK_GOING_AWAY;
        metric_set(&p->counters.is_up, 0);
        log_info("backend.going_away");
        break;
    case BACKEND_ERROR:
        close_link(p, "error", now_us);
        break;
    default: /* PONG, and optional types of a later version */
        break;
    }
}

/* False for a gap: frames were lost in a stream that loses none. */
static bool take_sequence(struct backend_port *p, const struct backend_frame *frame)
{
    uint32_t *next = &p->next_in;
    if (frame->session != 0) {
        struct handle *handle = find_handle(p, frame->session);
        if (handle == NULL) {
            return true;
        }
        next = &handle->next_in;
    }
    return frame->sequence == (*next)++;
}

bool backend_port_poll_frame(struct backend_port *p, struct backend_frame *out, uint64_t now_us)
{
    while (p->state >= LINK_GREETING) {
        const enum backend_frame_result result = backend_frame_reader_poll(p->reader, out);
        if (result == BACKEND_FRAME_MORE) {
            return false;
        }
        if (result != BACKEND_FRAME_OK) {
            fail_link(p, "bad_frame", now_us);
            return false;
        }
        metric_add(&p->counters.frames_received, 1);
        p->last_received_us = now_us;
        if (!take_sequence(p, out)) {
            fail_link(p, "sequence", now_us);
        } else if (p->state == LINK_GREETING) {
            take_hello(p, out, now_us);
        } else if (out->session == 0) {
            take_connection_frame(p, out, now_us);
        } else if (find_handle(p, out->session) != NULL) {
            return true;
        }
    }
    return false;
}

static void read_socket(struct backend_port *p, uint64_t now_us)
{
    const struct bytes_span room = backend_frame_reader_reserve(p->reader);
    if (room.cap == 0) {
        return; /* poll_frame makes room */
    }
    const ssize_t got = recv(p->fd, room.data, room.cap, 0);
    if (got > 0) {
        backend_frame_reader_commit(p->reader, (size_t)got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_link(p, got == 0 ? "closed" : "read", now_us);
    }
}

void backend_port_want(const struct backend_port *p, int *fd, short *events)
{
    *fd = p->fd;
    const bool is_writing = p->state == LINK_CONNECTING || p->output_start < p->output_end;
    *events = (short)(POLLIN | (is_writing ? POLLOUT : 0));
}

void backend_port_service(struct backend_port *p, short revents, uint64_t now_us)
{
    if (p->fd < 0 || revents == 0) {
        return;
    }
    if (p->state == LINK_CONNECTING) {
        finish_connect(p, now_us);
        return;
    }
    if ((revents & POLLOUT) != 0) {
        backend_port_flush(p, now_us);
    }
    if (p->fd >= 0 && (revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        read_socket(p, now_us);
    }
}

/* --- time ------------------------------------------------------------------------------------ */

void backend_port_tick(struct backend_port *p, uint64_t now_us)
{
    if (p->state == LINK_WAITING && now_us >= p->state_deadline_us) {
        dial(p, now_us);
    } else if (p->state < LINK_UP && now_us >= p->state_deadline_us) {
        close_link(p, "timeout", now_us);
    } else if (is_greeted(p)) {
        if (time_since(p->last_received_us, now_us) >= HEARTBEATS_MISSED * p->heartbeat_us) {
            fail_link(p, "timeout", now_us);
        } else if (time_since(p->last_sent_us, now_us) >= p->heartbeat_us) {
            const uint8_t token[8] = {0};
            append(p,
                   &(struct backend_frame){.type = BACKEND_PING,
                                           .time_us = now_us,
                                           .payload = bytes_view_of(token, sizeof(token))},
                   now_us);
            p->last_sent_us = now_us;
            backend_port_flush(p, now_us);
        }
    }
}

uint64_t backend_port_next_timeout(const struct backend_port *p)
{
    if (!is_greeted(p)) {
        return p->state_deadline_us;
    }
    return time_earlier(p->last_received_us + HEARTBEATS_MISSED * p->heartbeat_us,
                        p->last_sent_us + p->heartbeat_us);
}

bool backend_port_poll_lost(struct backend_port *p)
{
    const bool was_lost = p->was_lost;
    p->was_lost = false;
    return was_lost;
}
