/* sctp_pair.c - see sctp_pair.h */
#include "tests/support/sctp_pair.h"

#include <assert.h>
#include <stdlib.h>

/* The tag is drawn first, then the TSN: sctp_association_create. */
static void fill(void *context, uint8_t *out, size_t len)
{
    struct sctp_pair_random *r = context;
    r->draws++;
    if (r->draws == 2) {
        assert(len == sizeof(r->first_tsn));
        memcpy(out, &r->first_tsn, sizeof(r->first_tsn));
        return;
    }
    random_fill(random_seeded(&r->generator), out, len);
}

static struct sctp_association *create_end(struct sctp_pair *p, const struct sctp_pair_config *c,
                                           int end)
{
    struct sctp_pair_random *r = &p->random[end];
    random_generator_init(&r->generator, c->link.seed * 2 + (uint64_t)end);
    r->first_tsn = c->first_tsn[end];
    const struct sctp_config config = {
        .port = SCTP_PORT_DEFAULT,
        .packet_bytes_max = SCTP_PAIR_PACKET_BYTES,
        .message_bytes_max = SCTP_PAIR_MESSAGE_BYTES,
        .peer_message_bytes_max = 0,
        .zero_checksum = c->zero_checksum[end],
        .random = {.fill = fill, .context = r},
    };
    struct sctp_association *a = sctp_association_create(&config, c->begin_us);
    assert(a != NULL);
    return a;
}

struct sctp_pair *sctp_pair_create(const struct sctp_pair_config *config)
{
    struct sctp_pair *p = calloc(1, sizeof(*p));
    assert(p != NULL);
    p->hooks = config->hooks;
    p->now_us = config->begin_us;
    sim_link_init(&p->link, &config->link);
    p->end[0] = create_end(p, config, 0);
    p->end[1] = create_end(p, config, 1);
    return p;
}

void sctp_pair_destroy(struct sctp_pair *p)
{
    sctp_association_destroy(p->end[0]);
    sctp_association_destroy(p->end[1]);
    free(p);
}

static bool drain_arrivals(struct sctp_pair *p, int end)
{
    struct sctp_message message;
    struct sctp_event event;
    bool is_any = false;
    if (!p->is_deaf[end] && sctp_association_poll_message(p->end[end], &message)) {
        is_any = true;
        if (p->hooks.message != NULL) {
            p->hooks.message(p->hooks.context, end, &message);
        }
    }
    if (sctp_association_poll_event(p->end[end], &event)) {
        is_any = true;
        if (p->hooks.event != NULL) {
            p->hooks.event(p->hooks.context, end, &event);
        }
    }
    return is_any;
}

static bool drain_packet(struct sctp_pair *p, int end)
{
    struct bytes_view packet;
    if (!sctp_association_poll_packet(p->end[end], &packet, p->now_us)) {
        return false;
    }
    assert(packet.len <= SCTP_PAIR_PACKET_BYTES);
    p->packets[end]++;
    if (p->hooks.packet == NULL || p->hooks.packet(p->hooks.context, end, packet)) {
        sim_link_send(&p->link, 1 - end, packet, p->now_us);
    }
    return true;
}

void sctp_pair_drain(struct sctp_pair *p)
{
    for (int end = 0; end < 2; end++) {
        while (drain_arrivals(p, end) || drain_packet(p, end)) {
        }
    }
}

static void tick(struct sctp_pair *p, int end)
{
    if (sctp_association_next_timeout(p->end[end]) <= p->now_us) {
        sctp_association_tick(p->end[end], p->now_us);
        assert(sctp_association_next_timeout(p->end[end]) > p->now_us);
    }
}

void sctp_pair_run_until(struct sctp_pair *p, uint64_t until_us)
{
    uint8_t bytes[SIM_LINK_BYTES];
    struct sim_datagram about;
    sctp_pair_drain(p);
    for (;;) {
        uint64_t next_us = sim_link_next_us(&p->link);
        next_us = time_earlier(next_us, sctp_association_next_timeout(p->end[0]));
        next_us = time_earlier(next_us, sctp_association_next_timeout(p->end[1]));
        if (next_us > until_us) {
            p->now_us = until_us;
            return;
        }
        p->now_us = time_later(next_us, p->now_us);
        while (sim_link_take(&p->link, bytes, &about, p->now_us)) {
            sctp_association_input(p->end[about.to], bytes_view_of(bytes, about.len), p->now_us);
            sctp_pair_drain(p);
        }
        tick(p, 0);
        tick(p, 1);
        sctp_pair_drain(p);
    }
}

void sctp_pair_connect(struct sctp_pair *p, bool first_begins, bool second_begins)
{
    if (first_begins) {
        sctp_association_connect(p->end[0], p->now_us);
    }
    if (second_begins) {
        sctp_association_connect(p->end[1], p->now_us);
    }
    sctp_pair_run_until(p, p->now_us + US_PER_S);
}
