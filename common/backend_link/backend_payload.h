/*
 * backend_payload.h - the JSON payloads of connections and sessions, as plain structs
 *
 * Takes:   one payload of at most BACKEND_PAYLOAD_BYTES_MAX (SESSION_START: its own bound) and
 *          depth 8; unknown keys are ignored, missing ones get the protocol's default.
 * Gives:   values with bounded text; text that is too long is cut.
 * Fails:   decode returns false: no JSON object, too long, or a key of a wrong type. Encode returns
 *          0 when the text does not fit.
 * Not here: SESSION_START's session JSON is passed through as the bytes it came as; what is told of
 *          a running call (backend_report.h).
 */
#ifndef EARSHOT_BACKEND_PAYLOAD_H
#define EARSHOT_BACKEND_PAYLOAD_H

#include "common/backend_link/backend_format.h"
#include "common/backend_link/backend_report.h"

#define BACKEND_PAYLOAD_BYTES_MAX 4096
#define BACKEND_MESSAGE_BYTES_MAX 262144 /* SESSION_START and EVENT, put together from chunks */
#define BACKEND_START_DEPTH_MAX   32     /* of SESSION_START, with its session */
#define BACKEND_TEXT_CAP          128
#define BACKEND_TOKEN_CAP         33 /* 128 random bits in hexadecimal, and a NUL */

struct backend_hello {
    bool speaks_version_1;
    char name[BACKEND_TEXT_CAP];
    char instance[BACKEND_TEXT_CAP];
    struct backend_format format[BACKEND_FORMATS_MAX]; /* names we do not know are left out */
    size_t format_count;
    uint32_t session_count_max;
    bool can_resume; /* knows SESSION_RESUME */
    uint32_t heartbeat_ms;
};

struct backend_go_away {
    char reason[BACKEND_TEXT_CAP];
    uint64_t deadline_us; /* from now on; TIME_NEVER when it names none */
};

struct backend_start {
    const char *call_id;
    const char *resume_token;                      /* NULL: the call can not be resumed */
    struct backend_format in[BACKEND_FORMATS_MAX]; /* what is offered, in order */
    size_t in_count;
    struct backend_format out[BACKEND_FORMATS_MAX];
    size_t out_count;
    uint64_t credit_us;
    uint64_t wall_clock_us;
    struct bytes_view trace_id;
    struct bytes_view client_agent;
    struct bytes_view client_language;
    struct bytes_view client_place;
    struct bytes_view session_json; /* empty: {} */
    uint32_t message_bytes_max;     /* of an EVENT, to the client */
    uint64_t expires_at_s;          /* Unix time at which the call ends at the latest */
    bool has_events;                /* the client has an event channel */
    bool is_restarted;              /* the call had a backend before */
};

/* What a backend reads of SESSION_START. */
struct backend_start_request {
    char call_id[BACKEND_TEXT_CAP];
    char resume_token[BACKEND_TOKEN_CAP];          /* empty: none */
    struct backend_format in[BACKEND_FORMATS_MAX]; /* in the transceiver's order */
    size_t in_count;
    struct backend_format out[BACKEND_FORMATS_MAX];
    size_t out_count;
    uint64_t credit_us;
    uint32_t message_bytes_max;
    uint64_t expires_at_s; /* 0: it does not say */
    bool has_events;
    bool is_restarted;
};

/* How far speech toward the client has come when a call goes on with a new connection. */
struct backend_position {
    uint32_t utterance;         /* the newest that was received; 0 = none */
    uint64_t received_us;       /* of it */
    uint64_t received_total_us; /* of all, as the credit counts */
    uint64_t sent_us;           /* of the newest, to the client */
    uint64_t credit_us;         /* the limit */
};

struct backend_resume {
    char call_id[BACKEND_TEXT_CAP];
    char token[BACKEND_TOKEN_CAP];      /* of the START or RESUME before; good once */
    char next_token[BACKEND_TOKEN_CAP]; /* for the RESUME after this one */
    struct backend_position position;
    uint64_t audio_in_from_us; /* session time from which speech of the client is repeated */
};

struct backend_accept {
    struct backend_format in; /* a name that is not known is no format */
    struct backend_format out;
    uint32_t prebuffer_ms;
    uint32_t progress_ms;
    bool pauses_on_speech; /* the transceiver holds its speech when it hears some */
};

struct backend_reject {
    char code[BACKEND_TEXT_CAP];
    char message[BACKEND_TEXT_CAP];
    bool retry_elsewhere;
};

struct backend_end {
    char reason[BACKEND_TEXT_CAP];
    bool when_drained; /* after the queue has played */
};

/* The last word of a session. */
struct backend_ended {
    char reason[BACKEND_TEXT_CAP];
    uint64_t audio_in_frames; /* AUDIO_IN with samples */
    uint64_t audio_out_us;    /* media time of all AUDIO_OUT that counted against the credit */
};

struct backend_error {
    char code[BACKEND_TEXT_CAP];
    char message[BACKEND_TEXT_CAP];
    bool is_fatal;
    uint8_t type; /* of the frame that was wrong */
    uint32_t sequence;
};

MUST_USE bool backend_hello_decode(struct bytes_view payload, struct backend_hello *out);
MUST_USE bool backend_go_away_decode(struct bytes_view payload, struct backend_go_away *out);
MUST_USE bool backend_start_decode(struct bytes_view payload, struct backend_start_request *out);
MUST_USE bool backend_resume_decode(struct bytes_view payload, struct backend_resume *out);
MUST_USE bool backend_accept_decode(struct bytes_view payload, struct backend_accept *out);
MUST_USE bool backend_reject_decode(struct bytes_view payload, struct backend_reject *out);
MUST_USE bool backend_end_decode(struct bytes_view payload, struct backend_end *out);
MUST_USE bool backend_ended_decode(struct bytes_view payload, struct backend_ended *out);
MUST_USE bool backend_error_decode(struct bytes_view payload, struct backend_error *out);

size_t backend_hello_encode(const struct backend_hello *in, char *text, size_t cap);
size_t backend_go_away_encode(const struct backend_go_away *in, char *text, size_t cap);
/* At most BACKEND_MESSAGE_BYTES_MAX, in chunks as an EVENT; the session JSON is put in unread. */
size_t backend_start_encode(const struct backend_start *in, char *text, size_t cap);
/* As much room as the text of a SESSION_START may take. */
size_t backend_start_cap(const struct backend_start *in);
size_t backend_resume_encode(const struct backend_resume *in, char *text, size_t cap);
size_t backend_accept_encode(const struct backend_accept *in, char *text, size_t cap);
size_t backend_reject_encode(const struct backend_reject *in, char *text, size_t cap);
size_t backend_end_encode(const struct backend_end *in, char *text, size_t cap);
size_t backend_ended_encode(const struct backend_ended *in, char *text, size_t cap);
size_t backend_error_encode(const struct backend_error *in, char *text, size_t cap);

#endif
