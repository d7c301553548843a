/* tcp_connection.c - see tcp_connection.h */
#include "services/relay/core/tcp_connection.h"

#include <assert.h>

const char *tcp_end_name(enum tcp_end end)
{
    static const char *const name[TCP_END_COUNT] = {
        [TCP_END_CLIENT] = "client",
        [TCP_END_LENGTH] = "length",
        [TCP_END_FIRST_LATE] = "first_late",
        [TCP_END_FIRST_FRAME] = "first_frame",
        [TCP_END_UNANSWERED] = "unanswered",
        [TCP_END_IDLE] = "idle",
        [TCP_END_STUCK] = "stuck",
        [TCP_END_REPLACED] = "replaced",
        [TCP_END_EVICTED] = "evicted",
        [TCP_END_SESSION_FULL] = "session_full",
        [TCP_END_ADDRESS_FULL] = "address_full",
        [TCP_END_FULL] = "full",
    };
    assert(name[end] != NULL);
    return name[end];
}

void tcp_connection_init(struct tcp_connection *c, const struct net_addr *client, uint8_t *ring,
                         uint64_t now_us)
{
    c->client = *client;
    c->opened_us = now_us;
    c->passed_us = now_us;
    c->progress_us = now_us;
    rate_bucket_init(&c->frames, TCP_FRAMES_PER_S, TCP_FRAMES_BURST);
    tcp_frame_reader_init(&c->in);
    tcp_output_init(&c->out, ring);
}

bool tcp_connection_took_frame(struct tcp_connection *c, uint64_t now_us)
{
    return rate_bucket_take(&c->frames, now_us);
}

void tcp_connection_heard(struct tcp_connection *c, uint64_t now_us)
{
    c->passed_us = now_us;
}

size_t tcp_connection_queue(struct tcp_connection *c, struct bytes_view datagram, uint64_t now_us)
{
    if (tcp_output_frame_count(&c->out) == 0) {
        c->progress_us = now_us;
    }
    c->passed_us = now_us;
    return tcp_output_add(&c->out, datagram);
}

struct tcp_output_sent tcp_connection_wrote(struct tcp_connection *c, size_t len, uint64_t now_us)
{
    c->progress_us = now_us;
    return tcp_output_wrote(&c->out, len);
}

enum tcp_end tcp_connection_overdue(const struct tcp_connection *c, enum tcp_place_state state,
                                    uint64_t now_us)
{
    const uint64_t age_us = time_since(c->opened_us, now_us);
    if (state == TCP_PLACE_NEW) {
        return age_us >= TCP_FIRST_FRAME_US ? TCP_END_FIRST_LATE : TCP_END_NONE;
    }
    if (state == TCP_PLACE_HALF_OPEN) {
        return age_us >= TCP_UNANSWERED_US ? TCP_END_UNANSWERED : TCP_END_NONE;
    }
    if (tcp_output_frame_count(&c->out) > 0 && time_since(c->progress_us, now_us) >= TCP_STUCK_US) {
        return TCP_END_STUCK;
    }
    return time_since(c->passed_us, now_us) >= TCP_IDLE_US ? TCP_END_IDLE : TCP_END_NONE;
}
