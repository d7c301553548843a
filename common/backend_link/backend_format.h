/*
 * backend_format.h - the names of audio formats: "pcm16/24000" is {BACKEND_CODEC_PCM16, 24}
 */
#ifndef EARSHOT_BACKEND_FORMAT_H
#define EARSHOT_BACKEND_FORMAT_H

#include "common/backend_link/backend_frame.h"

#define BACKEND_FORMATS_MAX 8

struct backend_format {
    uint8_t codec; /* enum backend_codec; BACKEND_CODEC_NONE: no format */
    uint8_t rate_khz;
};

/* False for a name that is not one of the protocol's; *out is no format then. */
MUST_USE bool backend_format_parse(const char *name, struct backend_format *out);
/* Never NULL for one of the protocol's formats. */
const char *backend_format_name(struct backend_format format);

static inline bool backend_format_equal(struct backend_format a, struct backend_format b)
{
    return a.codec == b.codec && a.rate_khz == b.rate_khz;
}

#endif
