/* load_junk.c - see load_junk.h */
#include "tests/bench/load_junk.h"

#include "common/base/random.h"
#include "common/routing/routing_token.h"
#include "common/stun/stun_message.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRAIN          64
#define TRAINS         16 /* with different tokens */
#define TRAINS_AT_ONCE 4
#define NS_PER_S       UINT64_C(1000000000)

struct load_junk {
    int fd[LOAD_JUNK_SOURCES];
    uint32_t rate_hz;
    uint64_t sent;
    unsigned next;
    uint8_t train[TRAINS][TRAIN][LOAD_JUNK_BYTES];
};

/* 22 ice-chars that are base64 of 16 bytes: the last one has its four low bits zero. */
static void write_token(uint8_t key_id, struct random_source random, char *out)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out[0] = alphabet[key_id];
    random_ice_chars(random, out + 1, ROUTING_TOKEN_CHARS - 1);
    out[ROUTING_TOKEN_CHARS - 1] = 'A';
}

static void write_request(uint8_t key_id, struct random_source random, uint8_t out[LOAD_JUNK_BYTES])
{
    char username[ROUTING_TOKEN_CHARS + 5];
    uint8_t id[STUN_TRANSACTION_ID_BYTES];
    uint8_t integrity[20];
    struct byte_writer w;
    write_token(key_id, random, username);
    memcpy(username + ROUTING_TOKEN_CHARS, ":peer", 5);
    random_fill(random, id, sizeof(id));
    random_fill(random, integrity, sizeof(integrity));
    byte_writer_init(&w, out, LOAD_JUNK_BYTES);
    stun_message_begin(&w, STUN_BINDING_REQUEST, id);
    stun_message_add(&w, STUN_USERNAME, bytes_view_of(username, sizeof(username)));
    stun_message_add_u64(&w, STUN_ICE_CONTROLLING, 1);
    stun_message_add_u32(&w, STUN_PRIORITY, 1);
    stun_message_add(&w, STUN_USE_CANDIDATE, (struct bytes_view){0});
    stun_message_add(&w, STUN_MESSAGE_INTEGRITY, bytes_view_of(integrity, sizeof(integrity)));
    assert(!w.failed && w.len == LOAD_JUNK_BYTES);
}

static void write_trains(struct load_junk *j, uint8_t key_id)
{
    static const uint8_t first_byte[] = {0x80, 0x16, 0, 0x50};
    struct random_generator generator;
    random_generator_init(&generator, 1);
    const struct random_source random = random_seeded(&generator);
    for (size_t i = 0; i < TRAINS; i++) {
        for (size_t k = 0; k < TRAIN; k++) {
            uint8_t *out = j->train[i][k];
            random_fill(random, out, LOAD_JUNK_BYTES);
            out[0] = first_byte[k % COUNT_OF(first_byte)];
            if (out[0] == 0) {
                write_request(key_id, random, out);
            }
        }
    }
}

/* Source i is 127.(200 + i / 8).(i).1: each in a block of its own. */
static int open_source(unsigned i)
{
    const int segment = LOAD_JUNK_BYTES;
    const int buffer = 4 << 20;
    struct net_addr from = {.ip = {[10] = 0xff, 0xff, 127, 0, 0, 1}};
    struct sockaddr_storage name;
    from.ip[13] = (uint8_t)(200 + i / 8);
    from.ip[14] = (uint8_t)i;
    const socklen_t len = net_addr_to_sockaddr(&from, &name);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const bool is_open = fd >= 0 && bind(fd, (struct sockaddr *)&name, len) == 0 &&
                         setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)) == 0;
    assert(is_open);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    return fd;
}

struct load_junk *load_junk_open(uint8_t key_id)
{
    struct load_junk *j = calloc(1, sizeof(*j));
    assert(j != NULL);
    write_trains(j, key_id);
    for (unsigned i = 0; i < LOAD_JUNK_SOURCES; i++) {
        j->fd[i] = open_source(i);
    }
    return j;
}

void load_junk_close(struct load_junk *j)
{
    if (j != NULL) {
        for (unsigned i = 0; i < LOAD_JUNK_SOURCES; i++) {
            (void)close(j->fd[i]);
        }
        free(j);
    }
}

void load_junk_begin(struct load_junk *j, const struct net_addr *relay, uint32_t rate_hz)
{
    struct sockaddr_storage name;
    const socklen_t len = net_addr_to_sockaddr(relay, &name);
    for (unsigned i = 0; i < LOAD_JUNK_SOURCES; i++) {
        const bool is_connected = connect(j->fd[i], (struct sockaddr *)&name, len) == 0;
        assert(is_connected);
    }
    j->rate_hz = rate_hz;
    j->sent = 0;
}

void load_junk_send(struct load_junk *j, uint64_t elapsed_ns)
{
    const uint64_t due = elapsed_ns * j->rate_hz / NS_PER_S;
    for (unsigned i = 0; i < TRAINS_AT_ONCE && j->sent + TRAIN <= due; i++) {
        const unsigned turn = j->next++;
        const ssize_t len = send(j->fd[turn % LOAD_JUNK_SOURCES], j->train[turn % TRAINS],
                                 sizeof(j->train[0]), MSG_DONTWAIT);
        j->sent += len > 0 ? (uint64_t)len / LOAD_JUNK_BYTES : 0;
    }
}

uint64_t load_junk_sent(const struct load_junk *j)
{
    return j->sent;
}
