/*
 * channel_table.h - the open data channels of one client, and the streams that are to be reset
 *
 * Owns:    a slot for each channel, a bit for each stream.
 * Full:    CHANNEL_TABLE_MAX channels: add gives NULL.
 */
#ifndef EARSHOT_CHANNEL_TABLE_H
#define EARSHOT_CHANNEL_TABLE_H

#include "services/transceiver/core/transport/dcep.h"
#include "services/transceiver/core/transport/sctp/sctp_message.h"

#define CHANNEL_TABLE_MAX 16

struct data_channel {
    bool is_used;
    bool is_event;
    bool is_agreed; /* by the call's URL: no OPEN */
    bool wants_ack; /* one that is not agreed is open when that is said */
    bool is_open;   /* it takes messages */
    bool is_unordered;
    uint16_t stream;
    struct sctp_reliability reliability;
    char label[DCEP_NAME_BYTES_MAX + 1];
};

/* Starts as zeros. */
struct channel_table {
    struct data_channel slot[CHANNEL_TABLE_MAX];
    uint8_t reset_wanted[SCTP_STREAMS / 8];
    bool has_resets; /* a bit of those is set */
};

/* NULL when there is none. */
struct data_channel *channel_table_find(struct channel_table *t, uint16_t stream);
struct data_channel *channel_table_find_event(struct channel_table *t);
struct data_channel *channel_table_find_any(struct channel_table *t);
struct data_channel *channel_table_add(struct channel_table *t, uint16_t stream,
                                       struct bytes_view label);
/* What its OPEN says of its messages. */
void channel_table_set_terms(struct data_channel *c, const struct dcep_open *open);
/* The streams of all, in stream[CHANNEL_TABLE_MAX]; returns how many. */
size_t channel_table_streams(const struct channel_table *t, uint16_t *stream);

void channel_table_want_reset(struct channel_table *t, uint16_t stream);
/* Streams that are to be reset, and are forgotten; returns how many, 0 when there are no more. */
size_t channel_table_take_resets(struct channel_table *t, uint16_t *stream, size_t count_max);

#endif
