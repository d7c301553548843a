/* tcp_clients.c - see tcp_clients.h */
#include "services/relay/tcp_clients.h"

#include "services/relay/tcp_listener.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* New connections from one listening socket before the others have their turn. */
#define ACCEPTS_PER_TURN 32
/* Descriptors of the process that are not TCP clients, generously. */
#define OTHER_DESCRIPTORS 512

struct tcp_client {
    bool is_open;
    bool waits_to_write;
    bool is_paused; /* not read from until the next sweep */
    uint8_t listener;
    int fd;
    struct tcp_connection connection;
};

/* --- Life ------------------------------------------------------------------------------------- */

static bool watch(const struct tcp_clients *c, int operation, int fd, uint32_t events,
                  uint32_t number)
{
    struct epoll_event event = {.events = events, .data.u32 = number};
    return epoll_ctl(c->epoll_fd, operation, fd, &event) == 0;
}

/* Connections beyond the limit of descriptors could not be opened: fewer places then. */
static size_t places_of(const struct relay_tcp_config *tcp)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur >= tcp->connections_max + OTHER_DESCRIPTORS) {
        return tcp->connections_max;
    }
    return limit.rlim_cur > 2 * OTHER_DESCRIPTORS ? (size_t)limit.rlim_cur - OTHER_DESCRIPTORS
                                                  : (size_t)limit.rlim_cur / 2;
}

static bool open_memory(struct tcp_clients *c, const struct relay_tcp_config *tcp,
                        struct random_source random)
{
    uint8_t seed[FLOW_HASH_SEED_BYTES];
    random_fill(random, seed, sizeof(seed));
    c->cap = places_of(tcp);
    c->roster =
        tcp_roster_create(c->cap, tcp->connections_per_address_max, flow_hash_seed_of(seed));
    c->client = calloc(c->cap, sizeof(*c->client));
    void *rings = mmap(NULL, c->cap * TCP_OUTPUT_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    c->rings = rings == MAP_FAILED ? NULL : rings;
    return c->roster != NULL && c->client != NULL && c->rings != NULL;
}

bool tcp_clients_open(struct tcp_clients *c, const struct tcp_clients_config *config,
                      struct random_source random, struct fault *fault)
{
    *c = (struct tcp_clients){.forwarder = config->forwarder,
                              .cache = config->cache,
                              .counters = config->counters,
                              .tcp_counters = config->tcp_counters,
                              .epoll_fd = config->epoll_fd,
                              .is_accepting = true};
    tcp_uplink_init(&c->uplink, config->forwarder, config->sender, config->counters);
    if (!open_memory(c, config->tcp, random)) {
        return fault_set(fault, FAULT_SYSTEM, "tcp: out of memory");
    }
    for (size_t i = 0; i < config->tcp->listen_count; i++) {
        struct net_addr address = config->tcp->listen[i];
        const int fd = tcp_listener_open(&address, fault);
        if (fd < 0) {
            return false;
        }
        c->listen_fd[c->listen_count++] = fd;
        if (!watch(c, EPOLL_CTL_ADD, fd, EPOLLIN, TCP_ROSTER_CAP_MAX + (uint32_t)i)) {
            return fault_set(fault, FAULT_SYSTEM, "epoll_ctl: %s", strerror(errno));
        }
    }
    return true;
}

void tcp_clients_close(struct tcp_clients *c)
{
    for (size_t i = 0; i < c->listen_count; i++) {
        (void)close(c->listen_fd[i]);
    }
    for (size_t i = 0; c->client != NULL && i < c->cap; i++) {
        if (c->client[i].is_open) {
            (void)close(c->client[i].fd);
        }
    }
    if (c->rings != NULL) {
        (void)munmap(c->rings, c->cap * TCP_OUTPUT_BYTES);
    }
    free(c->client);
    tcp_roster_destroy(c->roster);
    *c = (struct tcp_clients){.epoll_fd = -1};
}

/* --- Connections begin and end ---------------------------------------------------------------- */

static void publish(struct tcp_clients *c)
{
    for (unsigned i = 0; i < TCP_PLACE_STATE_COUNT; i++) {
        metric_set(&c->tcp_counters->connections[i],
                   tcp_roster_count(c->roster, (enum tcp_place_state)i));
    }
}

static void end(struct tcp_clients *c, uint32_t place, enum tcp_end why)
{
    struct tcp_client *client = &c->client[place];
    const size_t unsent = tcp_output_frame_count(&client->connection.out);
    metric_add(&c->counters->datagrams[FORWARD_DOWN_UNSENT], unsent);
    metric_add(&c->tcp_counters->ended[why], 1);
    (void)close(client->fd);
    (void)madvise(client->connection.out.ring, TCP_OUTPUT_BYTES, MADV_DONTNEED);
    client->is_open = false;
    tcp_roster_leave(c->roster, place);
    publish(c);
}

/* A place for a new connection, or why there is none. */
static enum tcp_end find_place(struct tcp_clients *c, const struct net_addr *from, uint32_t *place)
{
    if (!tcp_roster_has_share(c->roster, from)) {
        return TCP_END_ADDRESS_FULL;
    }
    *place = tcp_roster_enter(c->roster, from);
    if (*place == TCP_ROSTER_NONE) {
        const uint32_t oldest = tcp_roster_oldest_unconfirmed(c->roster);
        if (oldest == TCP_ROSTER_NONE) {
            return TCP_END_FULL;
        }
        end(c, oldest, TCP_END_EVICTED);
        *place = tcp_roster_enter(c->roster, from);
    }
    return TCP_END_NONE;
}

static void let_in(struct tcp_clients *c, uint8_t listener, int fd, const struct net_addr *from,
                   uint64_t now_us)
{
    uint32_t place = TCP_ROSTER_NONE;
    metric_add(&c->tcp_counters->opened, 1);
    const enum tcp_end refusal = find_place(c, from, &place);
    if (refusal != TCP_END_NONE) {
        metric_add(&c->tcp_counters->ended[refusal], 1);
        (void)close(fd);
        return;
    }
    struct tcp_client *client = &c->client[place];
    client->is_open = true;
    client->waits_to_write = false;
    client->is_paused = false;
    client->listener = listener;
    client->fd = fd;
    tcp_connection_init(&client->connection, from, c->rings + place * TCP_OUTPUT_BYTES, now_us);
    publish(c);
    if (!watch(c, EPOLL_CTL_ADD, fd, EPOLLIN, place)) {
        end(c, place, TCP_END_CLIENT);
    }
}

/* A listening socket without descriptors stays readable: it is looked at again with the next
 * sweep. */
static void set_accepting(struct tcp_clients *c, bool is_accepting)
{
    c->is_accepting = is_accepting;
    for (size_t i = 0; i < c->listen_count; i++) {
        (void)watch(c, EPOLL_CTL_MOD, c->listen_fd[i], is_accepting ? EPOLLIN : 0,
                    TCP_ROSTER_CAP_MAX + (uint32_t)i);
    }
}

static void accept_clients(struct tcp_clients *c, uint8_t listener, uint64_t now_us)
{
    for (unsigned i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = -1;
        struct net_addr from;
        switch (tcp_listener_accept(c->listen_fd[listener], &fd, &from)) {
        case TCP_ARRIVAL_NONE:
            return;
        case TCP_ARRIVAL_NO_DESCRIPTORS:
            metric_add(&c->tcp_counters->without_descriptors, 1);
            set_accepting(c, false);
            return;
        case TCP_ARRIVAL_CLIENT:
            let_in(c, listener, fd, &from, now_us);
            break;
        }
    }
}

/* --- From a client ---------------------------------------------------------------------------- */

enum passage { PASSAGE_FORWARDED, PASSAGE_HELD, PASSAGE_DROPPED };

static bool hold(struct tcp_clients *c, struct bytes_view datagram, const struct net_addr *from,
                 uint8_t listener, uint64_t now_us)
{
    const struct udp_arrival arrival = {.data = (uint8_t *)datagram.data, /* it is copied */
                                        .len = datagram.len,
                                        .from = *from};
    return worker_cache_hold(c->cache, &arrival, listener, now_us);
}

/* is_held: it has been in the hold queue, once is enough. */
static enum passage forward(struct tcp_clients *c, struct bytes_view datagram,
                            const struct net_addr *from, uint8_t listener, bool is_held,
                            uint64_t now_us)
{
    const struct verdict v = forwarder_from_client(c->forwarder, datagram, from, listener, now_us);
    if (v.action == FORWARD_HOLD && !is_held && hold(c, datagram, from, listener, now_us)) {
        return PASSAGE_HELD;
    }
    if (v.action != FORWARD_TO_TRANSCEIVER) {
        relay_counters_add(c->counters, v.reason);
        return PASSAGE_DROPPED;
    }
    tcp_uplink_add(&c->uplink, &v, from, now_us);
    return PASSAGE_FORWARDED;
}

static void half_open(struct tcp_clients *c, uint32_t place)
{
    const uint32_t before = tcp_roster_find(c->roster, &c->client[place].connection.client);
    if (before != TCP_ROSTER_NONE) {
        end(c, before, TCP_END_REPLACED);
    }
    tcp_roster_half_open(c->roster, place);
    publish(c);
}

/* What a frame means for its connection. TCP_END_NONE, or why that is over. */
static enum tcp_end judge(struct tcp_clients *c, uint32_t place, enum passage passage,
                          uint64_t now_us)
{
    const bool is_new = tcp_roster_state(c->roster, place) == TCP_PLACE_NEW;
    if (passage == PASSAGE_DROPPED && is_new) {
        return TCP_END_FIRST_FRAME;
    }
    if (passage == PASSAGE_FORWARDED) {
        if (is_new) {
            half_open(c, place);
        }
        tcp_connection_heard(&c->client[place].connection, now_us);
    }
    return TCP_END_NONE;
}

static bool watch_client(const struct tcp_clients *c, uint32_t place)
{
    const struct tcp_client *client = &c->client[place];
    const uint32_t events =
        (client->is_paused ? 0 : EPOLLIN) | (client->waits_to_write ? EPOLLOUT : 0);
    return watch(c, EPOLL_CTL_MOD, client->fd, events, place);
}

static enum tcp_end set_paused(struct tcp_clients *c, uint32_t place, bool is_paused)
{
    metric_add(&c->tcp_counters->paused, is_paused);
    c->client[place].is_paused = is_paused;
    return watch_client(c, place) ? TCP_END_NONE : TCP_END_CLIENT;
}

/* What was read, frame by frame. TCP_END_NONE, or why the connection is over. */
static enum tcp_end take_frames(struct tcp_clients *c, uint32_t place, uint64_t now_us)
{
    struct tcp_client *client = &c->client[place];
    enum tcp_end why = TCP_END_NONE;
    while (why == TCP_END_NONE) {
        struct bytes_view datagram;
        switch (tcp_frame_reader_take(&client->connection.in, &datagram)) {
        case TCP_FRAME_INCOMPLETE:
            return TCP_END_NONE;
        case TCP_FRAME_BROKEN:
            return TCP_END_LENGTH;
        case TCP_FRAME_DATAGRAM:
            break;
        }
        const enum passage passage =
            forward(c, datagram, &client->connection.client, client->listener, false, now_us);
        why = judge(c, place, passage, now_us);
        if (why == TCP_END_NONE && !tcp_connection_took_frame(&client->connection, now_us)) {
            return set_paused(c, place, true);
        }
    }
    return why;
}

void tcp_clients_take_held(struct tcp_clients *c, const struct held_batch *held, uint64_t now_us)
{
    for (size_t i = 0; i < held->count; i++) {
        const struct held_datagram *datagram = &held->datagram[i];
        const enum passage passage = forward(c, bytes_view_of(datagram->data, datagram->len),
                                             &held->client, datagram->socket, true, now_us);
        const uint32_t place = tcp_roster_find_new(c->roster, &held->client);
        const enum tcp_end why =
            place != TCP_ROSTER_NONE ? judge(c, place, passage, now_us) : TCP_END_NONE;
        if (why != TCP_END_NONE) {
            end(c, place, why);
        }
    }
}

static enum tcp_end read_frames(struct tcp_clients *c, uint32_t place, uint64_t now_us)
{
    struct tcp_client *client = &c->client[place];
    const struct bytes_span room = tcp_frame_reader_room(&client->connection.in);
    const ssize_t got = recv(client->fd, room.data, room.cap, 0);
    if (got <= 0) {
        const bool is_nothing = got < 0 && (errno == EAGAIN || errno == EINTR);
        return is_nothing ? TCP_END_NONE : TCP_END_CLIENT;
    }
    tcp_frame_reader_filled(&client->connection.in, (size_t)got);
    return take_frames(c, place, now_us);
}

/* --- To a client ------------------------------------------------------------------------------ */

/* Bytes that the kernel took; 0 when it takes none now, -1 when the connection is broken. */
static ssize_t write_some(const struct tcp_client *client)
{
    struct bytes_view piece[TCP_OUTPUT_PIECES];
    struct iovec vector[TCP_OUTPUT_PIECES];
    const size_t count = tcp_output_peek(&client->connection.out, piece);
    for (size_t i = 0; i < count; i++) {
        vector[i] = (struct iovec){.iov_base = (void *)piece[i].data, .iov_len = piece[i].len};
    }
    const struct msghdr message = {.msg_iov = vector, .msg_iovlen = count};
    const ssize_t sent = sendmsg(client->fd, &message, MSG_NOSIGNAL);
    return sent < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : sent;
}

static enum tcp_end write_frames(struct tcp_clients *c, uint32_t place, uint64_t now_us)
{
    struct tcp_client *client = &c->client[place];
    ssize_t sent = 1;
    while (sent > 0 && tcp_output_frame_count(&client->connection.out) > 0) {
        sent = write_some(client);
        if (sent < 0) {
            return TCP_END_CLIENT;
        }
        if (sent > 0) {
            const struct tcp_output_sent done =
                tcp_connection_wrote(&client->connection, (size_t)sent, now_us);
            metric_add(&c->counters->datagrams[FORWARD_DOWN_SHIM], done.frames);
            metric_add(&c->counters->bytes[RELAY_DOWN], done.datagram_bytes);
        }
    }
    const bool has_more = tcp_output_frame_count(&client->connection.out) > 0;
    if (has_more != client->waits_to_write) {
        client->waits_to_write = has_more;
        return watch_client(c, place) ? TCP_END_NONE : TCP_END_CLIENT;
    }
    return TCP_END_NONE;
}

/* A transceiver sends something to the connection's client. False, and it is over, when the
 * session has its share. */
static bool confirm(struct tcp_clients *c, uint32_t place, struct flow_owner owner)
{
    if (tcp_roster_state(c->roster, place) == TCP_PLACE_CONFIRMED) {
        return true;
    }
    if (!tcp_roster_confirm(c->roster, place, owner)) {
        end(c, place, TCP_END_SESSION_FULL);
        return false;
    }
    publish(c);
    return true;
}

bool tcp_clients_send(struct tcp_clients *c, const struct verdict *v, uint64_t now_us)
{
    const uint32_t place = tcp_roster_find(c->roster, &v->destination);
    if (place == TCP_ROSTER_NONE || !confirm(c, place, v->owner)) {
        return false;
    }
    const size_t dropped = tcp_connection_queue(&c->client[place].connection, v->datagram, now_us);
    metric_add(&c->counters->datagrams[FORWARD_DOWN_UNSENT], dropped);
    if (!c->client[place].waits_to_write) {
        const enum tcp_end why = write_frames(c, place, now_us);
        if (why != TCP_END_NONE) {
            end(c, place, why);
        }
    }
    return true;
}

/* --- Events ----------------------------------------------------------------------------------- */

/* The place may have been given to another connection since the kernel told of this event: then
 * there is nothing to read, and nothing is lost. Of one that is neither read from nor written to
 * the kernel tells only that it is broken. */
static void serve_client(struct tcp_clients *c, uint32_t place, uint64_t now_us)
{
    const struct tcp_client *client = &c->client[place];
    if (!client->is_open) {
        return;
    }
    enum tcp_end why = client->is_paused && !client->waits_to_write ? TCP_END_CLIENT : TCP_END_NONE;
    if (client->waits_to_write) {
        why = write_frames(c, place, now_us);
    }
    if (why == TCP_END_NONE && !client->is_paused) {
        why = read_frames(c, place, now_us);
    }
    if (why != TCP_END_NONE) {
        end(c, place, why);
    }
}

void tcp_clients_serve(struct tcp_clients *c, uint32_t number, uint64_t now_us)
{
    if (number >= TCP_ROSTER_CAP_MAX) {
        accept_clients(c, (uint8_t)(number - TCP_ROSTER_CAP_MAX), now_us);
    } else {
        serve_client(c, number, now_us);
    }
}

void tcp_clients_flush(struct tcp_clients *c)
{
    tcp_uplink_flush(&c->uplink);
}

static enum tcp_end look_at(struct tcp_clients *c, uint32_t place, uint64_t now_us)
{
    const struct tcp_client *client = &c->client[place];
    enum tcp_end why =
        tcp_connection_overdue(&client->connection, tcp_roster_state(c->roster, place), now_us);
    if (why == TCP_END_NONE && client->is_paused) {
        why = set_paused(c, place, false);
        why = why == TCP_END_NONE ? take_frames(c, place, now_us) : why;
    }
    return why;
}

void tcp_clients_sweep(struct tcp_clients *c, uint64_t now_us)
{
    for (uint32_t place = 0; place < c->cap; place++) {
        if (c->client[place].is_open) {
            const enum tcp_end why = look_at(c, place, now_us);
            if (why != TCP_END_NONE) {
                end(c, place, why);
            }
        }
    }
    if (!c->is_accepting) {
        set_accepting(c, true);
    }
}
