/* steady_stream.c - datagrams at a steady rate, and which of them did not arrive
 *
 * usage: steady_stream PER_SECOND MILLISECONDS DESCRIPTOR...
 * Its arguments are followed by the descriptors to read from. Each line of its input is a stream: a
 * descriptor to send from, "ip:port" to send to, the shim that stands before each datagram in hex,
 * or "-". Datagrams of 60 bytes are sent over all streams in turn, and read with a shim or without.
 * It prints a line of numbers:
 *      sent=N lost=N twice=N missed=N gap_us=N
 * Of the lost ones it missed some itself: its own sockets were full. The gap is the longest time in
 * which nothing arrived.
 */
#include "common/base/net_addr.h"
#include "common/runtime/clock.h"

#include <linux/sock_diag.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define STREAMS_MAX    64
#define DATAGRAM_BYTES 60
#define SHIM_BYTES     40
#define NUMBER_AT      12             /* in the datagram, behind what looks like an RTP header */
#define PATIENCE_US    (3 * US_PER_S) /* nothing more will arrive */

struct stream {
    int fd;
    struct sockaddr_storage to;
    unsigned to_len;
    uint8_t packet[SHIM_BYTES + DATAGRAM_BYTES];
    size_t packet_len;
};

static struct stream stream[STREAMS_MAX];
static size_t stream_count;
static uint8_t *arrivals; /* of each number: how often */
static uint32_t sent;
static uint32_t arrived; /* once or more */
static uint64_t heard_us;
static uint64_t gap_us;

static bool read_stream(struct stream *s)
{
    char address[NET_ADDR_TEXT_CAP];
    char shim[2 * SHIM_BYTES + 1];
    struct net_addr to;
    if (scanf("%d %71s %80s", &s->fd, address, shim) != 3 || !net_addr_parse(address, &to)) {
        return false;
    }
    s->to_len = net_addr_to_sockaddr(&to, &s->to);
    const size_t shim_bytes = shim[0] == '-' ? 0 : SHIM_BYTES;
    if (shim_bytes > 0 && !bytes_from_hex(bytes_view_of_text(shim), s->packet, SHIM_BYTES)) {
        return false;
    }
    s->packet[shim_bytes] = 0x80;
    s->packet[shim_bytes + 1] = 0x6f;
    s->packet_len = shim_bytes + DATAGRAM_BYTES;
    return true;
}

static void send_next(void)
{
    struct stream *s = &stream[sent % stream_count];
    memcpy(s->packet + s->packet_len - DATAGRAM_BYTES + NUMBER_AT, &sent, sizeof(sent));
    if (sendto(s->fd, s->packet, s->packet_len, 0, (const struct sockaddr *)&s->to, s->to_len) <
        0) {
        perror("steady_stream: sendto");
        exit(EXIT_FAILURE);
    }
    sent++;
}

static void note(const uint8_t *packet, size_t len, uint64_t now_us)
{
    const size_t at = len > 0 && packet[0] == 0xe5 ? SHIM_BYTES : 0;
    uint32_t number = UINT32_MAX;
    if (len >= at + DATAGRAM_BYTES) {
        memcpy(&number, packet + at + NUMBER_AT, sizeof(number));
    }
    if (number < sent && arrivals[number] < UINT8_MAX) {
        arrived += arrivals[number] == 0;
        arrivals[number]++;
    }
    gap_us = now_us - heard_us > gap_us ? now_us - heard_us : gap_us;
    heard_us = now_us;
}

static void read_all(char *const *descriptor)
{
    uint8_t packet[2048];
    for (; *descriptor != NULL; descriptor++) {
        const int fd = (int)strtol(*descriptor, NULL, 10);
        ssize_t len = 0;
        while ((len = recv(fd, packet, sizeof(packet), MSG_DONTWAIT)) >= 0) {
            note(packet, (size_t)len, clock_now_us());
        }
    }
}

/* A machine that does not let it send in time lets it send more at once. */
static void run(uint64_t per_second, uint64_t duration_us, char *const *descriptor)
{
    const uint64_t begin_us = clock_now_us();
    uint64_t now_us = begin_us;
    const uint64_t wanted = duration_us * per_second / US_PER_S;
    heard_us = begin_us;
    while (sent < wanted || (arrived < sent && now_us < heard_us + PATIENCE_US)) {
        const uint64_t sending_us =
            now_us - begin_us < duration_us ? now_us - begin_us : duration_us;
        while (sent < sending_us * per_second / US_PER_S) {
            send_next();
        }
        read_all(descriptor);
        (void)poll(NULL, 0, 1);
        now_us = clock_now_us();
    }
}

static uint32_t dropped_by(char *const *descriptor)
{
    uint32_t total = 0;
    for (; *descriptor != NULL; descriptor++) {
        uint32_t fact[SK_MEMINFO_VARS] = {0};
        socklen_t len = sizeof(fact);
        (void)getsockopt((int)strtol(*descriptor, NULL, 10), SOL_SOCKET, SO_MEMINFO, fact, &len);
        total += fact[SK_MEMINFO_DROPS];
    }
    return total;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return EXIT_FAILURE;
    }
    const uint64_t per_second = strtoul(argv[1], NULL, 10);
    const uint64_t duration_us = strtoul(argv[2], NULL, 10) * US_PER_MS;
    while (stream_count < STREAMS_MAX && read_stream(&stream[stream_count])) {
        stream_count++;
    }
    arrivals = calloc(1, per_second * duration_us / US_PER_S + 1);
    if (arrivals == NULL || stream_count == 0) {
        return EXIT_FAILURE;
    }
    const uint32_t dropped_before = dropped_by(argv + 3);
    run(per_second, duration_us, argv + 3);
    uint32_t lost = 0;
    uint32_t twice = 0;
    for (uint32_t i = 0; i < sent; i++) {
        lost += arrivals[i] == 0;
        twice += arrivals[i] > 1;
    }
    (void)printf("sent=%u lost=%u twice=%u missed=%u gap_us=%llu\n", sent, lost, twice,
                 dropped_by(argv + 3) - dropped_before, (unsigned long long)gap_us);
    free(arrivals);
    return EXIT_SUCCESS;
}
