/* sim_link.c - see sim_link.h */
#include "tests/support/sim_link.h"

void sim_link_init(struct sim_link *l, const struct sim_link_config *config)
{
    l->config = *config;
    random_generator_init(&l->random, config->seed);
    l->is_bad[0] = l->is_bad[1] = false;
    l->held_until_us = l->latest_us[0] = l->latest_us[1] = 0;
    l->sent = l->count = 0;
    for (size_t i = 0; i < SIM_LINK_DATAGRAMS; i++) {
        l->free_slot[i] = (uint16_t)i;
    }
}

void sim_link_hold(struct sim_link *l, uint64_t until_us)
{
    l->held_until_us = until_us;
}

/* One of `odds` in the mean; never for 0 of them. */
static bool happens(struct sim_link *l, uint64_t share, uint64_t of)
{
    return share > 0 && random_generator_next(&l->random) % of < share;
}

/* Gilbert: a direction is good or bad, and loses everything while it is bad. A bad time lasts
 * burst_mean datagrams; good ones come as often as makes the share of all that is lost right. */
static bool is_lost(struct sim_link *l, int to)
{
    const struct sim_link_config *c = &l->config;
    if (c->burst_mean <= 1 || c->loss_per_mille >= SIM_LINK_PER_MILLE) {
        return happens(l, c->loss_per_mille, SIM_LINK_PER_MILLE);
    }
    if (l->is_bad[to]) {
        l->is_bad[to] = !happens(l, 1, c->burst_mean);
    } else {
        const uint64_t good_share = SIM_LINK_PER_MILLE - c->loss_per_mille;
        l->is_bad[to] = happens(l, c->loss_per_mille, c->burst_mean * good_share);
    }
    return l->is_bad[to];
}

static uint64_t arrival(struct sim_link *l, int to, uint64_t now_us)
{
    const struct sim_link_config *c = &l->config;
    uint64_t us = now_us + c->delay_us;
    us += c->jitter_us == 0 ? 0 : random_generator_next(&l->random) % (c->jitter_us + 1);
    us += happens(l, c->stray_per_mille, SIM_LINK_PER_MILLE) ? c->stray_us : 0;
    us = time_later(us, now_us < l->held_until_us ? l->held_until_us : 0);
    us = time_later(us, c->keeps_order ? l->latest_us[to] : 0);
    l->latest_us[to] = time_later(us, l->latest_us[to]);
    return us;
}

void sim_link_send(struct sim_link *l, int to, struct bytes_view datagram, uint64_t now_us)
{
    const int copies = happens(l, l->config.repeat_per_mille, SIM_LINK_PER_MILLE) ? 2 : 1;
    for (int i = 0; i < copies; i++) {
        if (is_lost(l, to) || l->count == SIM_LINK_DATAGRAMS || datagram.len > SIM_LINK_BYTES) {
            continue;
        }
        const size_t slot = l->free_slot[l->count];
        l->flying[l->count] = (struct sim_datagram){.arrives_us = arrival(l, to, now_us),
                                                    .number = l->sent++,
                                                    .to = to,
                                                    .len = datagram.len,
                                                    .slot = slot};
        l->count++;
        memcpy(l->data[slot], datagram.data, datagram.len);
    }
}

/* The first to arrive; of those that arrive together, the one sent first. */
static size_t first_of(const struct sim_link *l)
{
    size_t first = 0;
    for (size_t i = 1; i < l->count; i++) {
        const struct sim_datagram *a = &l->flying[i];
        const struct sim_datagram *b = &l->flying[first];
        if (a->arrives_us < b->arrives_us ||
            (a->arrives_us == b->arrives_us && a->number < b->number)) {
            first = i;
        }
    }
    return first;
}

uint64_t sim_link_next_us(const struct sim_link *l)
{
    return l->count == 0 ? TIME_NEVER : l->flying[first_of(l)].arrives_us;
}

bool sim_link_take(struct sim_link *l, uint8_t *out, struct sim_datagram *about, uint64_t now_us)
{
    const size_t first = first_of(l);
    if (l->count == 0 || l->flying[first].arrives_us > now_us) {
        return false;
    }
    *about = l->flying[first];
    memcpy(out, l->data[about->slot], about->len);
    l->count--;
    l->flying[first] = l->flying[l->count];
    l->free_slot[l->count] = (uint16_t)about->slot;
    return true;
}
