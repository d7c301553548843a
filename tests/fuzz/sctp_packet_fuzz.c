/*
 * sctp_packet_fuzz.c - whatever packets come, an association ends, answers and stays in its bounds
 *
 * Input:   a byte that says in which state the association is, then packets: flags, a length, the
 *          bytes behind the common header. Ports, tag and checksum are made right, unless a flag
 *          says not to: else nothing behind them would be reached.
 */
#include "services/transceiver/core/transport/sctp/sctp_association.h"
#include "services/transceiver/core/transport/sctp/sctp_wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGE_BYTES_MAX 65536
#define PACKET_BYTES_MAX  1200

enum {
    STATE_IDLE,
    STATE_COOKIE_WAIT,
    STATE_OPEN,
    STATE_SENDING,
    STATE_RESETTING,
    STATE_CLOSING,
    STATE_COOKIE_COMES, /* with the first packet */
    STATES
};

enum {
    FLAG_RAW = 1,
    FLAG_REFLECT = 2,
    FLAG_NO_TAG = 4,
    FLAG_ZERO_CHECKSUM = 8,
    FLAG_WAIT = 16,
    FLAG_SEND = 32,
    FLAG_DROP = 64
};

struct world {
    struct random_generator random;
    struct sctp_association *end[2]; /* [0] is fuzzed */
    uint32_t tag[2];                 /* that each end takes: seen in the other's packets */
    bool is_connected[2];            /* was told so */
    bool is_over[2];
    uint8_t echo[PACKET_BYTES_MAX]; /* COOKIE ECHO, to come */
    size_t echo_len;
    uint64_t now_us;
};

static void must(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

static struct sctp_association *create(struct world *w)
{
    const struct sctp_config config = {.port = SCTP_PORT_DEFAULT,
                                       .packet_bytes_max = 1163,
                                       .message_bytes_max = MESSAGE_BYTES_MAX,
                                       .zero_checksum = true,
                                       .random = random_seeded(&w->random)};
    struct sctp_association *a = sctp_association_create(&config, w->now_us);
    must(a != NULL);
    return a;
}

/* What is sent must be right, whatever came before. */
static void look_at_packet(struct bytes_view packet, struct sctp_header *header)
{
    struct byte_reader r;
    struct sctp_chunk chunk;
    byte_reader_init(&r, packet);
    must(sctp_wire_checksum(packet) != SCTP_CHECKSUM_WRONG);
    must(sctp_wire_read_header(&r, header));
    while (sctp_wire_next_chunk(&r, &chunk)) {
    }
    must(!r.failed);
}

/* Messages come between CONNECTED and the end, and so does all else. */
static void poll_end(struct world *w, int end)
{
    struct sctp_message message;
    struct sctp_event event;
    for (;;) {
        if (sctp_association_poll_message(w->end[end], &message)) {
            must(w->is_connected[end] && !w->is_over[end]);
            must(message.data.len <= MESSAGE_BYTES_MAX);
        } else if (sctp_association_poll_event(w->end[end], &event)) {
            must(!w->is_over[end]);
            w->is_connected[end] |= event.kind == SCTP_EVENT_CONNECTED;
            w->is_over[end] = event.kind == SCTP_EVENT_CLOSED || event.kind == SCTP_EVENT_FAILED;
        } else {
            return;
        }
    }
}

static void drain(struct world *w, bool is_connected)
{
    struct sctp_header header;
    struct bytes_view packet;
    for (int from = 0; from < 2; from++) {
        poll_end(w, from);
        while (sctp_association_poll_packet(w->end[from], &packet, w->now_us)) {
            look_at_packet(packet, &header);
            w->tag[1 - from] = header.verification_tag;
            if (is_connected) {
                sctp_association_input(w->end[1 - from], packet, w->now_us);
            }
        }
    }
}

static void send_something(struct world *w, uint32_t limit)
{
    static const uint8_t text[3000];
    const struct sctp_message message = {.stream = (uint16_t)(limit % 4),
                                         .is_unordered = limit % 3 == 0,
                                         .data = bytes_view_of(text, 1 + limit * 11)};
    const struct sctp_reliability reliability = {.kind = (enum sctp_reliability_kind)(limit % 3),
                                                 .limit = limit % 5};
    (void)sctp_association_send(w->end[0], &message, &reliability, w->now_us);
}

/* The peer begins; its COOKIE ECHO is kept for the first packet. */
static void reach_cookie(struct world *w)
{
    struct sctp_header header;
    struct bytes_view packet;
    sctp_association_connect(w->end[1], w->now_us);
    must(sctp_association_poll_packet(w->end[1], &packet, w->now_us));
    sctp_association_input(w->end[0], packet, w->now_us);
    must(sctp_association_poll_packet(w->end[0], &packet, w->now_us));
    sctp_association_input(w->end[1], packet, w->now_us);
    must(sctp_association_poll_packet(w->end[1], &packet, w->now_us));
    look_at_packet(packet, &header);
    w->tag[0] = header.verification_tag;
    w->echo_len = packet.len - SCTP_HEADER_BYTES;
    memcpy(w->echo, packet.data + SCTP_HEADER_BYTES, w->echo_len);
}

static void reach(struct world *w, unsigned state)
{
    const uint16_t streams[] = {1, 2, 700};
    if (state == STATE_IDLE) {
        return;
    }
    if (state == STATE_COOKIE_COMES) {
        reach_cookie(w);
        return;
    }
    sctp_association_connect(w->end[0], w->now_us);
    if (state == STATE_COOKIE_WAIT) {
        drain(w, false);
        return;
    }
    for (int i = 0; i < 4; i++) {
        drain(w, true);
    }
    if (state == STATE_SENDING) {
        for (uint32_t i = 0; i < 40; i++) {
            send_something(w, i);
        }
    }
    if (state == STATE_RESETTING) {
        must(sctp_association_reset_streams(w->end[0], streams, 3, w->now_us));
    }
    if (state == STATE_CLOSING) {
        sctp_association_shutdown(w->end[0], w->now_us);
    }
    drain(w, false);
}

static void wait(struct world *w)
{
    const uint64_t next_us = sctp_association_next_timeout(w->end[0]);
    w->now_us = next_us == TIME_NEVER ? w->now_us + US_PER_S : time_later(w->now_us, next_us);
    sctp_association_tick(w->end[0], w->now_us);
    must(sctp_association_next_timeout(w->end[0]) > w->now_us);
}

static void input(struct world *w, unsigned flags, struct bytes_view body)
{
    uint8_t bytes[2 * PACKET_BYTES_MAX + SCTP_HEADER_BYTES];
    struct byte_writer packet;
    const struct sctp_header header = {.source_port = SCTP_PORT_DEFAULT,
                                       .destination_port = SCTP_PORT_DEFAULT,
                                       .verification_tag = (flags & FLAG_NO_TAG) != 0 ? 0
                                                           : (flags & FLAG_REFLECT) != 0
                                                               ? w->tag[1]
                                                               : w->tag[0]};
    byte_writer_init(&packet, bytes, sizeof(bytes));
    if ((flags & FLAG_RAW) == 0) {
        sctp_wire_begin_packet(&packet, &header);
        byte_writer_bytes(&packet, bytes_view_of(w->echo, w->echo_len));
        w->echo_len = 0;
    }
    byte_writer_bytes(&packet, body);
    if ((flags & FLAG_RAW) == 0) {
        sctp_wire_end_packet(&packet, (flags & FLAG_ZERO_CHECKSUM) != 0);
    }
    /* A copy of the exact size: a sanitizer sees each byte that is read beyond it. */
    uint8_t *exact = malloc(packet.len);
    must(exact != NULL || packet.len == 0);
    if (packet.len > 0) {
        memcpy(exact, bytes, packet.len);
    }
    sctp_association_input(w->end[0], bytes_view_of(exact, packet.len), w->now_us);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = {.now_us = US_PER_S};
    struct byte_reader r;
    byte_reader_init(&r, bytes_view_of(data, size));
    random_generator_init(&w.random, 1);
    w.end[0] = create(&w);
    w.end[1] = create(&w);
    reach(&w, byte_reader_u8(&r) % STATES);
    while (byte_reader_left(&r) >= 3) {
        const unsigned flags = byte_reader_u8(&r);
        const size_t wanted = byte_reader_u16(&r) % (PACKET_BYTES_MAX + 1);
        const size_t left = byte_reader_left(&r);
        input(&w, flags, byte_reader_bytes(&r, wanted < left ? wanted : left));
        if ((flags & FLAG_SEND) != 0) {
            send_something(&w, flags);
        }
        if ((flags & FLAG_DROP) != 0) {
            sctp_association_drop_unsent(w.end[0], w.now_us);
        }
        if ((flags & FLAG_WAIT) != 0) {
            wait(&w);
        }
        drain(&w, false);
        must(sctp_association_buffered_bytes(w.end[0]) <= SCTP_SEND_BYTES_MAX + PACKET_BYTES_MAX);
    }
    sctp_association_destroy(w.end[0]);
    sctp_association_destroy(w.end[1]);
    return 0;
}
