/*
 * data_channels.h - the data channels of one client: SCTP, and DCEP in its streams
 *
 * Takes:   SCTP packets out of DTLS, messages to send.
 * Gives:   packets for DTLS, whole messages, what became of the event channel.
 * Order:   create; start when DTLS is connected; then one change (input, tick, send, close), drain
 *          messages and events, then packets, sleep until next_timeout.
 * Set-up:  the client sends INIT, as every WebRTC client does behind its handshake.
 * Events:  the first channel with the configured label is the event channel; or the stream that was
 *          agreed before (`?dcid=N`), which needs no OPEN.
 *          Its messages are text: binary ones are dropped.
 * Bounds:  DATA_CHANNELS_MAX open; the next one is refused: its stream is reset, without an ACK.
 *          DATA_CHANNELS_MESSAGE_BYTES_MAX a message; a longer one is dropped and told, once a
 *          second.
 *          message_budget.h; who says more, or is not polled, finds the SCTP window closed.
 * Full:    DATA_SEND_FULL: 1 MB was not acknowledged by the client.
 * Source:  RFC 8831, RFC 8832; docs/client-contract.md, "Media and data channel", "Ending a call".
 * Not here: what events mean, and where they go (data_side.h).
 */
#ifndef EARSHOT_DATA_CHANNELS_H
#define EARSHOT_DATA_CHANNELS_H

#include "common/base/random.h"
#include "common/base/time_us.h"
#include "services/transceiver/core/session/channel_table.h"

#define DATA_CHANNELS_MAX               CHANNEL_TABLE_MAX
#define DATA_CHANNELS_MESSAGE_BYTES_MAX 262144
#define DATA_CHANNELS_PACKETS_AT_ONCE   64

struct data_channels_config {
    const char *event_label;         /* at most DCEP_NAME_BYTES_MAX bytes; read by create only */
    bool has_event_stream;           /* the event channel is event_stream, from the start */
    uint16_t event_stream;           /* below SCTP_STREAMS */
    uint32_t peer_message_bytes_max; /* 0 = any */
    uint16_t packet_bytes_max;
    struct random_source random; /* must outlive the channels */
};

/* Each once until it is polled, in this order. */
enum data_channels_event {
    DATA_CHANNELS_EVENTS_OPEN,   /* the event channel takes messages */
    DATA_CHANNELS_TOO_LONG,      /* messages of the client were dropped; once a second */
    DATA_CHANNELS_EVENTS_CLOSED, /* by the client */
    DATA_CHANNELS_ENDED          /* the association, by the client or its silence. The last */
};

struct data_channels_stats {
    uint64_t opened;
    uint64_t refused;          /* one too many, or an OPEN that is none */
    uint64_t messages_in;      /* that were polled */
    uint64_t messages_out;     /* that were taken for sending */
    uint64_t messages_dropped; /* too long, of no channel, of a wrong kind, too late */
};

struct data_message {
    uint16_t stream; /* of its channel; tells two of one label apart */
    bool is_event;   /* of the event channel */
    bool is_text;
    bool is_ordered;
    const char *label;
    struct bytes_view data;
};

enum data_send_result {
    DATA_SEND_OK,
    DATA_SEND_FULL,
    DATA_SEND_TOO_LONG, /* for the client */
    DATA_SEND_CLOSED    /* there is no such channel, or not yet, or no longer */
};

struct data_channels;

/* NULL without memory. */
MUST_USE struct data_channels *data_channels_create(const struct data_channels_config *config,
                                                    uint64_t now_us);
void data_channels_destroy(struct data_channels *d);

void data_channels_start(struct data_channels *d, uint64_t now_us);
void data_channels_input(struct data_channels *d, struct bytes_view packet, uint64_t now_us);
void data_channels_tick(struct data_channels *d, uint64_t now_us);
uint64_t data_channels_next_timeout(const struct data_channels *d);

/* Each false when there is nothing more. A packet counts as sent, and is borrowed until the next
 * call; a burst leaves in parts, DATA_CHANNELS_PACKETS_AT_ONCE in a millisecond. */
MUST_USE bool data_channels_poll_packet(struct data_channels *d, struct bytes_view *out,
                                        uint64_t now_us);
MUST_USE bool data_channels_poll_event(struct data_channels *d, enum data_channels_event *out);
/* The next message, borrowed until the next call but send; it stays the next one until it is
 * taken. */
MUST_USE bool data_channels_peek_message(struct data_channels *d, struct data_message *out,
                                         uint64_t now_us);
void data_channels_take_message(struct data_channels *d, uint64_t now_us);

/* The client has ended the association, or closed its event channel, behind messages that wait. */
bool data_channels_has_ended(const struct data_channels *d);
bool data_channels_has_closed_events(struct data_channels *d);

/* One of the client's channels, by its stream and its label. */
bool data_channels_find(struct data_channels *d, uint16_t stream, const char *label);
enum data_send_result data_channels_send(struct data_channels *d, uint16_t stream, bool is_text,
                                         struct bytes_view data, uint64_t now_us);
enum data_send_result data_channels_send_event(struct data_channels *d, struct bytes_view text,
                                               uint64_t now_us);

/* The end of the call, as browsers notice it quietly: every open channel's stream is reset by its
 * number, then the client's own reset is awaited, and a moment more. Messages are neither taken nor
 * given from now on. */
void data_channels_close(struct data_channels *d, uint64_t now_us);
/* Nothing more will be sent. */
bool data_channels_is_over(const struct data_channels *d);

/* Zeros for NULL. */
struct data_channels_stats data_channels_stats(const struct data_channels *d);

#endif
