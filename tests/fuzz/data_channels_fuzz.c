/* data_channels_fuzz.c - what a client says in its streams, and when; sixteen channels at most */
#include "services/transceiver/core/session/data_channels.h"
#include "tests/fake_sctp.h"

#include <stdlib.h>

#define END_US US_PER_S /* an end takes no longer, whatever the client does */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void say(struct byte_reader *r)
{
    const uint16_t stream = byte_reader_u8(r) % 40;
    const uint32_t ppid = 48 + byte_reader_u8(r) % 12;
    const size_t left = byte_reader_left(r);
    const size_t wanted = 1 + byte_reader_u8(r) % FAKE_SCTP_TEXT;
    const size_t len = wanted < left ? wanted : 1;
    const struct bytes_view text = byte_reader_bytes(r, len);
    if (!r->failed) {
        fake_sctp_message(stream, ppid, text.data, text.len);
    }
}

static void poll(struct data_channels *d, uint8_t how, uint64_t now_us)
{
    struct data_message message;
    enum data_channels_event event;
    while ((how & 1) != 0 && data_channels_peek_message(d, &message, now_us)) {
        require(strlen(message.label) <= DCEP_NAME_BYTES_MAX);
        require(!message.is_event || message.is_text);
        if ((how & 2) != 0) {
            (void)data_channels_send(d, message.stream, message.is_text, message.data, now_us);
        }
        data_channels_take_message(d, now_us);
        fake_sctp.sent_count = 0;
    }
    while ((how & 4) != 0 && data_channels_poll_event(d, &event)) {
        require(event <= DATA_CHANNELS_ENDED);
    }
}

static void step(struct data_channels *d, struct byte_reader *r, uint64_t *now_us)
{
    static const enum sctp_event_kind kind[] = {
        SCTP_EVENT_STREAM_RESET_BY_PEER, SCTP_EVENT_RESET_DONE, SCTP_EVENT_RESET_REFUSED,
        SCTP_EVENT_MESSAGE_DROPPED,      SCTP_EVENT_CONNECTED,
    };
    const uint8_t what = byte_reader_u8(r);
    switch (what % 6) {
    case 0:
    case 1:
        say(r);
        break;
    case 2:
        fake_sctp_event(kind[what / 6 % (COUNT_OF(kind) - 1)], byte_reader_u8(r) % 40);
        break;
    case 3:
        poll(d, what / 6, *now_us);
        break;
    case 4:
        *now_us += (uint64_t)what * US_PER_MS;
        break;
    default:
        fake_sctp.send_result = what / 6 % 5 == 0 ? SCTP_SEND_NO_STREAM : SCTP_SEND_OK;
        break;
    }
    data_channels_tick(d, *now_us);
    fake_sctp.sent_count = 0;
    fake_sctp.reset_count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct random_generator random;
    struct byte_reader r;
    uint64_t now_us = US_PER_S;
    random_generator_init(&random, 1);
    byte_reader_init(&r, bytes_view_of(data, size < 4096 ? size : 4096));
    const struct data_channels_config config = {.event_label = "oai-events",
                                                .has_event_stream = byte_reader_u8(&r) % 4 == 0,
                                                .event_stream = 9,
                                                .packet_bytes_max = 1163,
                                                .random = random_seeded(&random)};
    struct data_channels *d = data_channels_create(&config, now_us);
    data_channels_start(d, now_us);
    fake_sctp_event(SCTP_EVENT_CONNECTED, 0);
    while (byte_reader_left(&r) > 0 && fake_sctp.item_count + 2 < FAKE_SCTP_ITEMS) {
        step(d, &r, &now_us);
    }
    fake_sctp.send_result = SCTP_SEND_OK;
    now_us += 60 * US_PER_S;
    poll(d, 5, now_us);
    data_channels_close(d, now_us);
    const uint64_t end_us = now_us + END_US;
    while (!data_channels_is_over(d) && now_us < end_us) {
        now_us = time_earlier(time_later(data_channels_next_timeout(d), now_us + 1), end_us);
        data_channels_tick(d, now_us);
    }
    require(data_channels_is_over(d));
    data_channels_destroy(d);
    return 0;
}
