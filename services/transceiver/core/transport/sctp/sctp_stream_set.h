/* sctp_stream_set.h - some of an association's streams, a bit each */
#ifndef EARSHOT_SCTP_STREAM_SET_H
#define EARSHOT_SCTP_STREAM_SET_H

#include "services/transceiver/core/transport/sctp/sctp_message.h"

#define SCTP_STREAM_SET_WORDS (SCTP_STREAMS / 64)

struct sctp_stream_set {
    uint64_t word[SCTP_STREAM_SET_WORDS];
};

static inline void sctp_stream_set_add(struct sctp_stream_set *s, uint16_t stream)
{
    s->word[stream / 64] |= UINT64_C(1) << (stream % 64);
}

static inline void sctp_stream_set_remove(struct sctp_stream_set *s, uint16_t stream)
{
    s->word[stream / 64] &= ~(UINT64_C(1) << (stream % 64));
}

static inline bool sctp_stream_set_has(const struct sctp_stream_set *s, uint16_t stream)
{
    return (s->word[stream / 64] >> (stream % 64) & 1) != 0;
}

/* The lowest that is at least `from`. False when there is none. */
MUST_USE static inline bool sctp_stream_set_next(const struct sctp_stream_set *s, uint32_t from,
                                                 uint16_t *out)
{
    for (uint32_t i = from / 64; i < SCTP_STREAM_SET_WORDS; i++) {
        const uint64_t above = i == from / 64 ? UINT64_MAX << (from % 64) : UINT64_MAX;
        if ((s->word[i] & above) != 0) {
            *out = (uint16_t)(i * 64 + (uint32_t)__builtin_ctzll(s->word[i] & above));
            return true;
        }
    }
    return false;
}

/* The lowest, which is no longer in it. */
MUST_USE static inline bool sctp_stream_set_take(struct sctp_stream_set *s, uint16_t *out)
{
    if (!sctp_stream_set_next(s, 0, out)) {
        return false;
    }
    sctp_stream_set_remove(s, *out);
    return true;
}

#endif
