/*
 * fault_caller.c - clients of real calls over real sockets, told what to do by a test of a fault
 *
 *   fault_caller ADDRESS SEED TALKING LISTENED
 *
 * ADDRESS is the clients' own, without a port. The first TALKING calls go both ways, in the other
 * LISTENED nobody talks to the client: it only speaks. Prints `offer N SDP-IN-HEX` for each. Then a
 * line on stdin is a word and its arguments, and each is answered by a line that begins `done`:
 *
 *   answer N SDP-IN-HEX   the call begins
 *   relay ADDRESS         every datagram goes there from now on, wherever the answers point
 *   mark                  gaps are counted anew, from now on
 *   tell                  a line for each call before it: the longest gap since the mark, and the
 *                         one that still lasts: `call N CONNECTED PACKETS MISSING GAP_US AGE_US`
 */
#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "services/transceiver/core/transport/srtp_transport.h"
#include "tests/support/sim_client.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALLS_MAX 64
#define LINE_CAP  (4 * SIM_CLIENT_OFFER_CAP)

struct call {
    struct sim_client *client;
    int fd;
    uint64_t latest_us; /* its last packet of voice, or the mark */
    uint64_t gap_us;
    uint64_t packets;
};

static struct {
    struct call call[CALLS_MAX];
    size_t count;
    struct net_addr relay; /* port 0: where the answers say */
    char line[LINE_CAP];
    size_t line_len;
} caller;

static void give_up(const char *why)
{
    (void)fprintf(stderr, "fault_caller: %s\n", why);
    exit(1);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void open_call(size_t number, const char *ip, uint64_t seed, bool is_talking)
{
    struct call *call = &caller.call[number];
    struct sim_client_config config = {
        .seed = seed, .is_cheap = true, .direction = is_talking ? NULL : "sendonly"};
    struct sockaddr_storage name;
    socklen_t len = sizeof(name);
    if (!net_addr_parse_ip(ip, 0, &config.address)) {
        give_up("ADDRESS is no address");
    }
    const socklen_t bound_len = net_addr_to_sockaddr(&config.address, &name);
    call->fd = socket(name.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (call->fd < 0 || bind(call->fd, (struct sockaddr *)&name, bound_len) != 0 ||
        getsockname(call->fd, (struct sockaddr *)&name, &len) != 0 ||
        !net_addr_from_sockaddr(&name, &config.address)) {
        give_up("no socket");
    }
    call->client = sim_client_create(&config);
    const char *offer = sim_client_offer(call->client);
    char hex[2 * SIM_CLIENT_OFFER_CAP];
    if (!bytes_to_hex(bytes_view_of_text(offer), hex, sizeof(hex))) {
        give_up("an offer is too long");
    }
    (void)printf("offer %zu %s\n", number, hex);
}

static void hear(struct call *call, uint64_t now_us)
{
    uint8_t datagram[SIM_CLIENT_PACKET_CAP];
    ssize_t len = 0;
    while ((len = recv(call->fd, datagram, sizeof(datagram), 0)) > 0) {
        sim_client_input(call->client, bytes_view_of(datagram, (size_t)len), now_us);
        const uint64_t packets = sim_client_heard(call->client)->packets;
        if (packets != call->packets) {
            call->gap_us = time_later(call->gap_us, time_since(call->latest_us, now_us));
            call->latest_us = now_us;
            call->packets = packets;
        }
    }
}

static void speak(struct call *call, uint64_t now_us)
{
    uint8_t datagram[SIM_CLIENT_PACKET_CAP];
    struct net_addr from;
    struct net_addr to;
    size_t len = 0;
    if (now_us >= sim_client_next_timeout(call->client)) {
        sim_client_tick(call->client, now_us);
    }
    while ((len = sim_client_take(call->client, datagram, &from, &to)) > 0) {
        struct sockaddr_storage name;
        const struct net_addr *relay = caller.relay.port != 0 ? &caller.relay : &to;
        const socklen_t name_len = net_addr_to_sockaddr(relay, &name);
        (void)sendto(call->fd, datagram, len, 0, (struct sockaddr *)&name, name_len);
    }
}

/* --- orders ----------------------------------------------------------------------------------- */

static struct call *call_of(const char *number)
{
    const size_t i = strtoul(number, NULL, 10);
    if (i >= caller.count) {
        give_up("no such call");
    }
    return &caller.call[i];
}

static void answer(const char *number, const char *hex, uint64_t now_us)
{
    static uint8_t sdp[LINE_CAP / 2];
    struct call *call = call_of(number);
    const size_t len = strlen(hex) / 2;
    if (len > sizeof(sdp) || !bytes_from_hex(bytes_view_of_text(hex), sdp, len) ||
        !sim_client_answer(call->client, bytes_view_of(sdp, len), now_us)) {
        give_up("an answer can not be used");
    }
    call->latest_us = now_us;
}

static void mark(uint64_t now_us)
{
    for (size_t i = 0; i < caller.count; i++) {
        caller.call[i].gap_us = 0;
        caller.call[i].latest_us = now_us;
    }
}

static void tell(uint64_t now_us)
{
    for (size_t i = 0; i < caller.count; i++) {
        const struct call *call = &caller.call[i];
        const uint64_t age_us = time_since(call->latest_us, now_us);
        (void)printf("call %zu %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", i,
                     sim_client_is_connected(call->client), call->packets,
                     sim_client_heard(call->client)->missing, time_later(call->gap_us, age_us),
                     age_us);
    }
}

static void obey(char *line, uint64_t now_us)
{
    const char *word = strtok(line, " ");
    const char *first = strtok(NULL, " ");
    const char *second = strtok(NULL, " ");
    if (word != NULL && strcmp(word, "answer") == 0 && second != NULL) {
        answer(first, second, now_us);
    } else if (word != NULL && strcmp(word, "relay") == 0 && first != NULL) {
        if (!net_addr_parse(first, &caller.relay)) {
            give_up("no address of a relay");
        }
    } else if (word != NULL && strcmp(word, "mark") == 0) {
        mark(now_us);
    } else if (word != NULL && strcmp(word, "tell") == 0) {
        tell(now_us);
    } else {
        give_up("an order is not understood");
    }
    (void)printf("done\n");
    (void)fflush(stdout);
}

/* False at the end of stdin. */
static bool read_orders(uint64_t now_us)
{
    const size_t room = sizeof(caller.line) - caller.line_len;
    const ssize_t len = read(STDIN_FILENO, caller.line + caller.line_len, room);
    if (len <= 0) {
        return false;
    }
    caller.line_len += (size_t)len;
    char *end = NULL;
    while ((end = memchr(caller.line, '\n', caller.line_len)) != NULL) {
        *end = '\0';
        obey(caller.line, now_us);
        caller.line_len -= (size_t)(end + 1 - caller.line);
        memmove(caller.line, end + 1, caller.line_len);
    }
    if (caller.line_len == sizeof(caller.line)) {
        give_up("an order is too long");
    }
    return true;
}

/* --- the loop --------------------------------------------------------------------------------- */

static int patience_ms(uint64_t now_us)
{
    uint64_t next_us = now_us + US_PER_S;
    for (size_t i = 0; i < caller.count; i++) {
        next_us = time_earlier(next_us, sim_client_next_timeout(caller.call[i].client));
    }
    return (int)((time_since(now_us, next_us) + US_PER_MS - 1) / US_PER_MS);
}

static bool turn(void)
{
    struct pollfd fd[CALLS_MAX + 1];
    for (size_t i = 0; i < caller.count; i++) {
        fd[i] = (struct pollfd){.fd = caller.call[i].fd, .events = POLLIN};
    }
    fd[caller.count] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    (void)poll(fd, caller.count + 1, patience_ms(clock_now_us()));
    const uint64_t now_us = clock_now_us();
    for (size_t i = 0; i < caller.count; i++) {
        if (fd[i].revents != 0) {
            hear(&caller.call[i], now_us);
        }
        speak(&caller.call[i], now_us);
    }
    return fd[caller.count].revents == 0 || read_orders(now_us);
}

int main(int argc, char **argv)
{
    struct fault fault = {0};
    log_open("caller", LOG_ERROR, LOG_TEXT);
    if (argc != 5 || !srtp_transport_init(&fault)) {
        give_up("usage: fault_caller ADDRESS SEED TALKING LISTENED");
    }
    const uint64_t seed = strtoull(argv[2], NULL, 10);
    const size_t talking = strtoul(argv[3], NULL, 10);
    caller.count = talking + strtoul(argv[4], NULL, 10);
    if (caller.count > CALLS_MAX) {
        give_up("too many calls");
    }
    for (size_t i = 0; i < caller.count; i++) {
        open_call(i, argv[1], seed * CALLS_MAX + i, i < talking);
    }
    (void)fflush(stdout);
    while (turn()) {
    }
    for (size_t i = 0; i < caller.count; i++) {
        sim_client_destroy(caller.call[i].client);
        (void)close(caller.call[i].fd);
    }
    return 0;
}
