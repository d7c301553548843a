/*
 * backend_message.h - messages that pass through unread: EVENT, CHANNEL_DATA; and SIDEBAND
 *
 * A message longer than a frame comes in chunks; LAST marks the final, or only, one. Whoever only
 * passes them on, or has no use for them, still checks each chunk.
 * Bounds:  BACKEND_MESSAGE_BYTES_MAX a message; the header of a CHANNEL_DATA is one small JSON.
 */
#ifndef EARSHOT_BACKEND_MESSAGE_H
#define EARSHOT_BACKEND_MESSAGE_H

#include "common/backend_link/backend_payload.h"

/* What a message is cut into, so that it never stands in the way of audio. */
#define BACKEND_CHUNK_BYTES 16384

enum backend_chunk_result {
    BACKEND_CHUNK_MORE,
    BACKEND_CHUNK_WHOLE,     /* the message is complete and good */
    BACKEND_CHUNK_TOO_LONG,  /* said once: the rest of it up to LAST is MORE */
    BACKEND_CHUNK_BAD_HEADER /* CHANNEL_DATA without its JSON, or that ends with it */
};

/* The chunks of one session and type, so far. Starts as zeros. */
struct backend_chunks {
    size_t bytes; /* of the message */
    bool has_header;
    bool is_refused;
};

/* frame: EVENT or CHANNEL_DATA. bytes_max: of the message, without the header of CHANNEL_DATA. */
enum backend_chunk_result backend_chunks_input(struct backend_chunks *c,
                                               const struct backend_frame *frame, size_t bytes_max);

/* The first chunk of a CHANNEL_DATA: a label of nothing but control characters has 6 bytes each. */
#define BACKEND_CHANNEL_BYTES_MAX (6 * (BACKEND_TEXT_CAP - 1) + 96)

struct backend_channel {
    uint32_t channel; /* tells two channels of one label apart */
    char label[BACKEND_TEXT_CAP];
    bool is_binary;
    bool is_ordered;
};

MUST_USE bool backend_channel_decode(struct bytes_view payload, struct backend_channel *out);
/* Fits BACKEND_CHANNEL_BYTES_MAX. */
size_t backend_channel_encode(const struct backend_channel *in, char *text, size_t cap);

struct backend_sideband {
    uint32_t id;
    bool is_attached; /* else gone */
};

MUST_USE bool backend_sideband_decode(struct bytes_view payload, struct backend_sideband *out);
size_t backend_sideband_encode(const struct backend_sideband *in, char *text, size_t cap);

#endif
