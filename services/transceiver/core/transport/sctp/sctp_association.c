/* sctp_association.c - see sctp_association.h */
#include "services/transceiver/core/transport/sctp/sctp_association.h"

#include <assert.h>
#include <stdlib.h>

struct sctp_association {
    struct sctp_config config;
};

struct sctp_association *sctp_association_create(const struct sctp_config *config, uint64_t now_us)
{
    (void)now_us;
    assert(config->packet_bytes_max >= SCTP_PACKET_BYTES_MIN);
    assert(config->packet_bytes_max <= SCTP_PACKET_BYTES_MAX);
    struct sctp_association *a = calloc(1, sizeof(*a));
    if (a != NULL) {
        a->config = *config;
    }
    return a;
}

void sctp_association_destroy(struct sctp_association *a)
{
    free(a);
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
    (void)now_us;
    *out = (struct bytes_view){0};
    return false;
}

bool sctp_association_poll_message(struct sctp_association *a, struct sctp_message *out)
{
    (void)a;
    (void)out;
    return false;
}

bool sctp_association_poll_event(struct sctp_association *a, struct sctp_event *out)
{
    (void)a;
    (void)out;
    return false;
}

enum sctp_send_result sctp_association_send(struct sctp_association *a,
                                            const struct sctp_message *message,
                                            const struct sctp_reliability *reliability,
                                            uint64_t now_us)
{
    (void)a;
    (void)message;
    (void)reliability;
    (void)now_us;
    return SCTP_SEND_NOT_CONNECTED;
}

size_t sctp_association_buffered_bytes(const struct sctp_association *a)
{
    (void)a;
    return 0;
}

bool sctp_association_reset_streams(struct sctp_association *a, const uint16_t *stream,
                                    size_t count, uint64_t now_us)
{
    (void)a;
    (void)stream;
    (void)count;
    (void)now_us;
    return false;
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
