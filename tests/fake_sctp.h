/*
 * fake_sctp.h - an association that does as it is told: for tests of what stands on it
 *
 * It takes the place of sctp_association.c in a test program. One at a time.
 */
#ifndef EARSHOT_FAKE_SCTP_H
#define EARSHOT_FAKE_SCTP_H

#include "services/transceiver/core/transport/sctp/sctp_association.h"

#include <assert.h>

#define FAKE_SCTP_ITEMS 8192
#define FAKE_SCTP_TEXT  64

/* What comes from the client, in order. */
struct fake_sctp_item {
    bool is_event;
    struct sctp_event event;
    uint16_t stream;
    uint32_t ppid;
    size_t len;
    uint8_t text[FAKE_SCTP_TEXT];
};

struct fake_sctp_sent {
    struct sctp_message message;
    struct sctp_reliability reliability;
    size_t len;
    uint8_t text[FAKE_SCTP_TEXT]; /* its beginning */
};

static struct fake_sctp {
    struct sctp_config config;
    struct fake_sctp_item item[FAKE_SCTP_ITEMS];
    size_t item_next;
    size_t item_count;
    struct fake_sctp_sent sent[64];
    size_t sent_count;
    uint16_t reset[256];
    size_t reset_count;
    size_t reset_requests;
    bool knows_no_resets;
    enum sctp_send_result send_result;
    size_t buffered_bytes;
    size_t drops; /* of what was not sent */
} fake_sctp;

struct sctp_association {
    int nothing;
};

static struct sctp_association fake_association;

struct sctp_association *sctp_association_create(const struct sctp_config *config, uint64_t now_us)
{
    (void)now_us;
    fake_sctp = (struct fake_sctp){.config = *config};
    return &fake_association;
}

void sctp_association_destroy(struct sctp_association *a)
{
    (void)a;
}

void sctp_association_connect(struct sctp_association *a, uint64_t now_us)
{
    (void)a;
    (void)now_us;
}

void sctp_association_input(struct sctp_association *a, struct bytes_view packet, uint64_t now_us)
{
    (void)a;
    (void)packet;
    (void)now_us;
}

void sctp_association_tick(struct sctp_association *a, uint64_t now_us)
{
    (void)a;
    (void)now_us;
}

uint64_t sctp_association_next_timeout(const struct sctp_association *a)
{
    (void)a;
    return TIME_NEVER;
}

bool sctp_association_poll_packet(struct sctp_association *a, struct bytes_view *out,
                                  uint64_t now_us)
{
    (void)a;
    (void)out;
    (void)now_us;
    return false;
}

bool sctp_association_poll_message(struct sctp_association *a, struct sctp_message *out)
{
    (void)a;
    if (fake_sctp.item_next == fake_sctp.item_count ||
        fake_sctp.item[fake_sctp.item_next].is_event) {
        return false;
    }
    const struct fake_sctp_item *item = &fake_sctp.item[fake_sctp.item_next++];
    *out = (struct sctp_message){
        .stream = item->stream, .ppid = item->ppid, .data = bytes_view_of(item->text, item->len)};
    return true;
}

bool sctp_association_poll_event(struct sctp_association *a, struct sctp_event *out)
{
    (void)a;
    if (fake_sctp.item_next == fake_sctp.item_count ||
        !fake_sctp.item[fake_sctp.item_next].is_event) {
        return false;
    }
    *out = fake_sctp.item[fake_sctp.item_next++].event;
    return true;
}

static inline bool fake_sctp_will_tell(enum sctp_event_kind kind, uint16_t stream)
{
    for (size_t i = fake_sctp.item_next; i < fake_sctp.item_count; i++) {
        const struct fake_sctp_item *item = &fake_sctp.item[i];
        if (item->is_event && item->event.kind == kind && item->event.stream == stream) {
            return true;
        }
    }
    return false;
}

bool sctp_association_has_ended(const struct sctp_association *a)
{
    (void)a;
    return fake_sctp_will_tell(SCTP_EVENT_CLOSED, 0) || fake_sctp_will_tell(SCTP_EVENT_FAILED, 0);
}

bool sctp_association_has_reset(const struct sctp_association *a, uint16_t stream)
{
    (void)a;
    return fake_sctp_will_tell(SCTP_EVENT_STREAM_RESET_BY_PEER, stream);
}

enum sctp_send_result sctp_association_send(struct sctp_association *a,
                                            const struct sctp_message *message,
                                            const struct sctp_reliability *reliability,
                                            uint64_t now_us)
{
    (void)a;
    (void)now_us;
    if (fake_sctp.send_result == SCTP_SEND_OK) {
        assert(fake_sctp.sent_count < COUNT_OF(fake_sctp.sent));
        struct fake_sctp_sent *sent = &fake_sctp.sent[fake_sctp.sent_count++];
        assert(message->data.len > 0);
        sent->message = *message;
        sent->len = message->data.len;
        memcpy(sent->text, message->data.data,
               sent->len < FAKE_SCTP_TEXT ? sent->len : FAKE_SCTP_TEXT);
        if (reliability != NULL) {
            sent->reliability = *reliability;
        }
    }
    return fake_sctp.send_result;
}

size_t sctp_association_buffered_bytes(const struct sctp_association *a)
{
    (void)a;
    return fake_sctp.buffered_bytes;
}

void sctp_association_drop_unsent(struct sctp_association *a, uint64_t now_us)
{
    (void)a;
    (void)now_us;
    fake_sctp.drops++;
}

bool sctp_association_reset_streams(struct sctp_association *a, const uint16_t *stream,
                                    size_t count, uint64_t now_us)
{
    (void)a;
    (void)now_us;
    assert(count > 0);
    for (size_t i = 0; i < count; i++) {
        fake_sctp.reset[fake_sctp.reset_count++] = stream[i];
    }
    fake_sctp.reset_requests++;
    return !fake_sctp.knows_no_resets;
}

void sctp_association_shutdown(struct sctp_association *a, uint64_t now_us)
{
    (void)a;
    (void)now_us;
}

void sctp_association_abort(struct sctp_association *a, uint64_t now_us)
{
    (void)a;
    (void)now_us;
}

static inline struct fake_sctp_item *fake_sctp_add(void)
{
    assert(fake_sctp.item_count < FAKE_SCTP_ITEMS);
    return &fake_sctp.item[fake_sctp.item_count++];
}

static inline void fake_sctp_message(uint16_t stream, uint32_t ppid, const void *text, size_t len)
{
    struct fake_sctp_item *item = fake_sctp_add();
    assert(len > 0 && len <= FAKE_SCTP_TEXT);
    *item = (struct fake_sctp_item){.stream = stream, .ppid = ppid, .len = len};
    memcpy(item->text, text, len);
}

static inline void fake_sctp_event(enum sctp_event_kind kind, uint16_t stream)
{
    *fake_sctp_add() =
        (struct fake_sctp_item){.is_event = true, .event = {.kind = kind, .stream = stream}};
}

#endif
