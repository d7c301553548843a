/*
 * backend_frame.h - the frames between a transceiver and an inference backend
 *
 * A frame is a 32-byte little-endian header and a payload. The codec knows the header; what a
 * payload means is the business of the two ends (docs/backend-protocol.md).
 * Takes:   bytes of a stream, in any split (backend_frame_reader).
 * Gives:   frames whose payload is borrowed until the next call on the reader.
 * Owns:    the reader holds one frame of at most 65,540 bytes.
 * Fails:   a wrong length or magic ends the stream: no resynchronisation is possible.
 */
#ifndef EARSHOT_BACKEND_FRAME_H
#define EARSHOT_BACKEND_FRAME_H

#include "common/base/bytes.h"

#define BACKEND_FRAME_HEADER_BYTES 32
#define BACKEND_FRAME_LENGTH_MIN   28
#define BACKEND_FRAME_LENGTH_MAX   65536
#define BACKEND_FRAME_BYTES_MAX    (4 + BACKEND_FRAME_LENGTH_MAX)
#define BACKEND_FRAME_PAYLOAD_MAX  (BACKEND_FRAME_LENGTH_MAX - BACKEND_FRAME_LENGTH_MIN)
#define BACKEND_FRAME_MAGIC        0xa1

enum backend_frame_type {
    BACKEND_HELLO = 0x01,
    BACKEND_PING = 0x02,
    BACKEND_PONG = 0x03,
    BACKEND_GOAWAY = 0x04,
    BACKEND_ERROR = 0x05,
    BACKEND_SESSION_START = 0x10,
    BACKEND_SESSION_ACCEPT = 0x11,
    BACKEND_SESSION_REJECT = 0x12,
    BACKEND_SESSION_END = 0x13,
    BACKEND_SESSION_ENDED = 0x14,
    BACKEND_SESSION_RESUME = 0x15,
    BACKEND_CONNECTED = 0x17,
    BACKEND_AUDIO_IN = 0x20,
    BACKEND_AUDIO_OUT = 0x21,
    BACKEND_CREDIT = 0x22,
    BACKEND_FLUSH = 0x23,
    BACKEND_FLUSHED = 0x24,
    BACKEND_PLAYBACK = 0x25,
    BACKEND_PAUSE = 0x26,
    BACKEND_RESUME = 0x27,
    BACKEND_SPEECH = 0x30,
    BACKEND_DTMF = 0x31,
    BACKEND_EVENT = 0x40,
    BACKEND_CHANNEL_DATA = 0x41,
    BACKEND_SIDEBAND = 0x42,
    BACKEND_NET_STATS = 0x50
};

/* Unknown types from here on are skipped; unknown ones below are an ERROR `unsupported`. */
#define BACKEND_FRAME_TYPE_OPTIONAL_FROM 0x80

/* bit 8: the final frame of an utterance or of a message in chunks */
#define BACKEND_FLAG_LAST 0x0100

enum backend_audio_in_flag {
    BACKEND_AUDIO_CONCEALED = 0x01,
    BACKEND_AUDIO_FEC = 0x02,
    BACKEND_AUDIO_RED = 0x04,
    BACKEND_AUDIO_SPEECH = 0x08,
    BACKEND_AUDIO_SILENCE = 0x10,
    BACKEND_AUDIO_DISCONTINUITY = 0x20,
    BACKEND_AUDIO_LATE = 0x40
};

/* Of an EVENT of the backend: only for the side-band that `utterance` names. */
#define BACKEND_EVENT_SIDEBAND 0x01

enum backend_codec {
    BACKEND_CODEC_NONE = 0,
    BACKEND_CODEC_PCM16 = 1,
    BACKEND_CODEC_OPUS = 2,
    BACKEND_CODEC_PCMU = 3,
    BACKEND_CODEC_PCMA = 4
};

struct backend_frame {
    uint8_t type;
    uint16_t flags;
    uint32_t session;
    uint32_t sequence; /* given when the frame is written to the stream */
    uint64_t time_us;
    uint32_t utterance; /* AUDIO_IN: RTP timestamp of the first sample */
    uint8_t codec;      /* enum backend_codec */
    uint8_t rate_khz;
    uint8_t channels;
    uint8_t duration_2500us; /* 8 = 20 ms; 0 = derive from the payload */
    struct bytes_view payload;
};

/* The header alone; the caller writes frame->payload behind it. Asserts on a payload that is too
 * long: callers cut before. */
void backend_frame_encode_header(const struct backend_frame *frame,
                                 uint8_t out[BACKEND_FRAME_HEADER_BYTES]);

enum backend_frame_result {
    BACKEND_FRAME_OK,
    BACKEND_FRAME_MORE,     /* not a whole frame yet */
    BACKEND_FRAME_LENGTH,   /* fatal: length outside 28..65,536 */
    BACKEND_FRAME_BAD_MAGIC /* fatal */
};

/* One frame at the front of `bytes`; payload is borrowed from it. out_bytes = size of the frame. */
enum backend_frame_result backend_frame_decode(struct bytes_view bytes, struct backend_frame *out,
                                               size_t *out_bytes);

/* A stream of frames in any split. */
struct backend_frame_reader;

struct backend_frame_reader *backend_frame_reader_create(void);
void backend_frame_reader_destroy(struct backend_frame_reader *r);
/* Room to read(2) into, never empty after a poll that said MORE. */
struct bytes_span backend_frame_reader_reserve(struct backend_frame_reader *r);
void backend_frame_reader_commit(struct backend_frame_reader *r, size_t len);
/* Call until it does not say OK. payload is borrowed until the next call on the reader. */
enum backend_frame_result backend_frame_reader_poll(struct backend_frame_reader *r,
                                                    struct backend_frame *out);

#endif
