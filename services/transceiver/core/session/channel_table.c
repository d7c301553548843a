/* channel_table.c - see channel_table.h */
#include "services/transceiver/core/session/channel_table.h"

#include <assert.h>

struct data_channel *channel_table_find(struct channel_table *t, uint16_t stream)
{
    for (size_t i = 0; i < COUNT_OF(t->slot); i++) {
        if (t->slot[i].is_used && t->slot[i].stream == stream) {
            return &t->slot[i];
        }
    }
    return NULL;
}

struct data_channel *channel_table_find_event(struct channel_table *t)
{
    for (size_t i = 0; i < COUNT_OF(t->slot); i++) {
        if (t->slot[i].is_used && t->slot[i].is_event) {
            return &t->slot[i];
        }
    }
    return NULL;
}

struct data_channel *channel_table_find_any(struct channel_table *t)
{
    for (size_t i = 0; i < COUNT_OF(t->slot); i++) {
        if (t->slot[i].is_used) {
            return &t->slot[i];
        }
    }
    return NULL;
}

struct data_channel *channel_table_add(struct channel_table *t, uint16_t stream,
                                       struct bytes_view label)
{
    assert(label.len <= DCEP_NAME_BYTES_MAX);
    for (size_t i = 0; i < COUNT_OF(t->slot); i++) {
        struct data_channel *c = &t->slot[i];
        if (!c->is_used) {
            *c = (struct data_channel){.is_used = true, .stream = stream};
            if (label.len > 0) {
                memcpy(c->label, label.data, label.len);
            }
            return c;
        }
    }
    return NULL;
}

void channel_table_set_terms(struct data_channel *c, const struct dcep_open *open)
{
    static const enum sctp_reliability_kind kind[] = {
        [DCEP_RELIABLE] = SCTP_RELIABLE,
        [DCEP_RETRANSMITS] = SCTP_MAX_RETRANSMITS,
        [DCEP_LIFETIME] = SCTP_LIFETIME,
    };
    c->is_unordered = open->is_unordered;
    c->reliability = (struct sctp_reliability){.kind = kind[open->reliability],
                                               .limit = open->reliability_parameter};
}

size_t channel_table_streams(const struct channel_table *t, uint16_t *stream)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(t->slot); i++) {
        if (t->slot[i].is_used) {
            stream[count++] = t->slot[i].stream;
        }
    }
    return count;
}

void channel_table_want_reset(struct channel_table *t, uint16_t stream)
{
    assert(stream < SCTP_STREAMS);
    t->reset_wanted[stream / 8] |= (uint8_t)(1u << stream % 8);
    t->has_resets = true;
}

size_t channel_table_take_resets(struct channel_table *t, uint16_t *stream, size_t count_max)
{
    size_t count = 0;
    for (uint16_t i = 0; t->has_resets && i < SCTP_STREAMS && count < count_max; i++) {
        const uint8_t bit = (uint8_t)(1u << i % 8);
        if ((t->reset_wanted[i / 8] & bit) != 0) {
            t->reset_wanted[i / 8] &= (uint8_t)~bit;
            stream[count++] = i;
        }
    }
    t->has_resets = count == count_max;
    return count;
}
