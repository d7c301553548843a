/* data_channels_world.h - data channels on an association that does as it is told */
#ifndef EARSHOT_DATA_CHANNELS_WORLD_H
#define EARSHOT_DATA_CHANNELS_WORLD_H

#include "tests/testing.h"

#include "services/transceiver/core/session/data_channels.h"
#include "tests/fake_sctp.h"

#define BEGIN_US (10 * US_PER_S)

struct world {
    uint64_t now_us;
    struct random_generator random;
    struct data_channels *d;
};

static inline void tick(struct world *w)
{
    data_channels_tick(w->d, w->now_us);
}

static inline void open_world(struct world *w)
{
    *w = (struct world){.now_us = BEGIN_US};
    random_generator_init(&w->random, 1);
    const struct data_channels_config config = {.event_label = "oai-events",
                                                .peer_message_bytes_max = 65536,
                                                .packet_bytes_max = 1163,
                                                .random = random_seeded(&w->random)};
    w->d = data_channels_create(&config, w->now_us);
    assert_non_null(w->d);
    data_channels_start(w->d, w->now_us);
    fake_sctp_event(SCTP_EVENT_CONNECTED, 0);
    tick(w);
}

static inline void close_world(struct world *w)
{
    data_channels_destroy(w->d);
}

static inline void ask_open(uint16_t stream, const struct dcep_open *open)
{
    uint8_t bytes[FAKE_SCTP_TEXT];
    const size_t len = dcep_write_open(open, bytes, sizeof(bytes));
    fake_sctp_message(stream, DCEP_PPID, bytes, len);
}

static inline void open_channel(struct world *w, uint16_t stream, const char *label)
{
    ask_open(stream, &(struct dcep_open){.label = bytes_view_of_text(label)});
    tick(w);
}

static inline void assert_event(struct world *w, enum data_channels_event expected)
{
    enum data_channels_event event;
    assert_true(data_channels_poll_event(w->d, &event));
    assert_int_equal(event, expected);
}

static inline void assert_no_event(struct world *w)
{
    enum data_channels_event event;
    assert_false(data_channels_poll_event(w->d, &event));
}

static inline bool take(struct world *w, struct data_message *out)
{
    if (!data_channels_peek_message(w->d, out, w->now_us)) {
        return false;
    }
    data_channels_take_message(w->d, w->now_us);
    return true;
}

#endif
