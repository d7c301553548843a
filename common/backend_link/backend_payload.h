/*
 * backend_payload.h - the JSON payloads of control frames, as plain structs
 *
 * Takes:   one payload of at most BACKEND_PAYLOAD_BYTES_MAX (SESSION_START: its own bound) and
 *          depth 8; unknown keys are ignored, missing ones get the protocol's default.
 * Gives:   values with bounded text; text that is too long is cut.
 * Fails:   decode returns false: no JSON object, too long, or a key of a wrong type. Encode returns
 *          0 when the text does not fit.
 * Not here: SESSION_START's session JSON is passed through as the bytes it came as.
 */
#ifndef EARSHOT_BACKEND_PAYLOAD_H
#define EARSHOT_BACKEND_PAYLOAD_H

#include "common/backend_link/backend_frame.h"

#define BACKEND_PAYLOAD_BYTES_MAX 4096
#define BACKEND_MESSAGE_BYTES_MAX 262144 /* SESSION_START and EVENT, put together from chunks */
#define BACKEND_TEXT_CAP          128
#define BACKEND_FORMATS_MAX       8

/* "pcm16/24000" is {BACKEND_CODEC_PCM16, 24}. */
struct backend_format {
    uint8_t codec;
    uint8_t rate_khz;
};

/* False for a name that is not one of the protocol's. */
MUST_USE bool backend_format_parse(const char *name, struct backend_format *out);
/* Never NULL for a format that was parsed or is one of the protocol's. */
const char *backend_format_name(struct backend_format format);
static inline bool backend_format_equal(struct backend_format a, struct backend_format b)
{
    return a.codec == b.codec && a.rate_khz == b.rate_khz;
}

struct backend_hello {
    bool speaks_version_1;
    char name[BACKEND_TEXT_CAP];
    char instance[BACKEND_TEXT_CAP];
    struct backend_format format[BACKEND_FORMATS_MAX]; /* names we do not know are left out */
    size_t format_count;
    uint32_t session_count_max;
    uint32_t heartbeat_ms;
};

struct backend_start {
    const char *call_id;
    struct backend_format format[BACKEND_FORMATS_MAX]; /* offered for both directions, in order */
    size_t format_count;
    uint64_t credit_us;
    uint64_t wall_clock_us;
    struct bytes_view trace_id;
    struct bytes_view client_agent;
    struct bytes_view client_language;
    struct bytes_view client_place;
    struct bytes_view session_json; /* empty: {} */
    bool has_events;
};

/* What a backend reads of SESSION_START. */
struct backend_start_request {
    char call_id[BACKEND_TEXT_CAP];
    struct backend_format in[BACKEND_FORMATS_MAX]; /* in the transceiver's order */
    size_t in_count;
    struct backend_format out[BACKEND_FORMATS_MAX];
    size_t out_count;
    uint64_t credit_us;
    uint32_t message_bytes_max;
    bool has_events;
};

struct backend_accept {
    struct backend_format in;
    struct backend_format out;
    uint32_t prebuffer_ms;
    uint32_t progress_ms;
};

struct backend_reject {
    char code[BACKEND_TEXT_CAP];
    char message[BACKEND_TEXT_CAP];
};

struct backend_end {
    char reason[BACKEND_TEXT_CAP];
    bool when_drained; /* after the queue has played */
};

struct backend_error {
    char code[BACKEND_TEXT_CAP];
    char message[BACKEND_TEXT_CAP];
    bool is_fatal;
    uint8_t type; /* of the frame that was wrong; written, not read */
    uint32_t sequence;
};

struct backend_flushed {
    uint32_t utterance;
    uint64_t sent_us;
    uint64_t heard_us;
    uint64_t dropped_us;
};

struct backend_playback {
    uint32_t utterance;
    const char *state;  /* started, progress, underrun, paused, resumed, done; decode: or "" */
    const char *reason; /* of done; NULL else, and not read by decode */
    uint64_t sent_us;
    uint64_t heard_us;
    uint64_t queued_us;
};

MUST_USE bool backend_hello_decode(struct bytes_view payload, struct backend_hello *out);
MUST_USE bool backend_start_decode(struct bytes_view payload, struct backend_start_request *out);
MUST_USE bool backend_accept_decode(struct bytes_view payload, struct backend_accept *out);
MUST_USE bool backend_reject_decode(struct bytes_view payload, struct backend_reject *out);
MUST_USE bool backend_end_decode(struct bytes_view payload, struct backend_end *out);
MUST_USE bool backend_error_decode(struct bytes_view payload, struct backend_error *out);
MUST_USE bool backend_playback_decode(struct bytes_view payload, struct backend_playback *out);

size_t backend_hello_encode(const struct backend_hello *in, char *text, size_t cap);
/* SESSION_START may be as long as a frame; the session JSON is put in unread. */
size_t backend_start_encode(const struct backend_start *in, char *text, size_t cap);
size_t backend_accept_encode(const struct backend_accept *in, char *text, size_t cap);
size_t backend_reject_encode(const struct backend_reject *in, bool retry_elsewhere, char *text,
                             size_t cap);
size_t backend_go_away_encode(const char *reason, uint64_t deadline_us, char *text, size_t cap);
size_t backend_connected_encode(bool is_tcp, uint64_t setup_us, char *text, size_t cap);
size_t backend_end_encode(const char *reason, char *text, size_t cap);
size_t backend_error_encode(const struct backend_error *in, char *text, size_t cap);
size_t backend_flushed_encode(const struct backend_flushed *in, char *text, size_t cap);
size_t backend_playback_encode(const struct backend_playback *in, char *text, size_t cap);

#endif
