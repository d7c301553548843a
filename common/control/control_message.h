/*
 * control_message.h - the messages between services, as plain structs
 *
 * No generated type leaves control_message.c, control_request.c and control_reply.c, which are this
 * header's three parts, control_event.c and control_facts.[ch], and none of protobuf-c this room.
 * Takes:   one NNG message of at most CONTROL_MESSAGE_BYTES_MAX.
 * Gives:   a struct whose views point into the decoder's own arena, valid until the decoder's next
 *          decode or its destruction.
 * Fails:   decode returns false: malformed, too large, unknown body, a string with NUL or of a
 *          length above its field's limit, a request id that is not 16 bytes. Unknown enum values
 *          become *_UNKNOWN.
 */
#ifndef EARSHOT_CONTROL_MESSAGE_H
#define EARSHOT_CONTROL_MESSAGE_H

#include "common/base/net_addr.h"
#include "common/control/control_decoder.h"

#define CONTROL_MESSAGE_BYTES_MAX 393216
#define CONTROL_REQUEST_ID_BYTES  16
#define CONTROL_TENANT_BYTES      16
#define CONTROL_OFFER_BYTES_MAX   65536 /* and an answer */
#define CONTROL_SESSION_BYTES_MAX 262144
#define CONTROL_INGRESS_MAX       16
#define CONTROL_KEY_IDS_MAX       64
#define CONTROL_NAME_CHARS_MAX    253
#define CONTROL_URL_CHARS_MAX     255
#define CONTROL_CALL_ID_CHARS_MAX 64
#define CONTROL_TEXT_CHARS_MAX    255 /* of each other text */
#define CONTROL_SDPFRAG_BYTES_MAX 16384
#define CONTROL_EVENT_BYTES_MAX   262144 /* of a client or a backend, on the event channel */
#define CONTROL_ROWS_MAX          500
#define CONTROL_FACTS_MAX         64 /* of each kind */
#define CONTROL_FACT_CHARS_MAX    31

/* The first byte of an Envelope with an announcement: the tag of that field. */
#define CONTROL_ANNOUNCEMENT_TOPIC "\x0a"

enum control_state {
    CONTROL_STATE_UNKNOWN,
    CONTROL_STATE_READY,
    CONTROL_STATE_FULL,
    CONTROL_STATE_DRAINING,
    CONTROL_STATE_STOPPING
};

struct control_announcement {
    uint16_t cluster_id;
    uint32_t instance_id;
    char name[CONTROL_NAME_CHARS_MAX + 1];
    struct net_addr media_address; /* base port; shard s listens on port + s */
    char control_url[CONTROL_URL_CHARS_MAX + 1];
    char events_url[CONTROL_URL_CHARS_MAX + 1];
    char admin_url[CONTROL_URL_CHARS_MAX + 1];
    uint32_t capacity;
    uint32_t sessions_active;  /* pending, running and ending ones */
    uint32_t sessions_pending; /* of these: in set-up */
    uint32_t shard_count;
    uint32_t load_permille;
    enum control_state state;
    bool backend_up;
    uint64_t drain_deadline_unix_ms;
    uint8_t key_ids[CONTROL_KEY_IDS_MAX];
    size_t key_id_count;
    uint8_t key_id_active;
    uint64_t start_time_unix_us;
    uint64_t sequence;
    char version[32];
};

struct control_ingress {
    struct net_addr address;
    bool is_tcp;
};

struct control_create_session {
    char call_id[CONTROL_CALL_ID_CHARS_MAX + 1];
    struct bytes_view offer_sdp;
    struct control_ingress ingress[CONTROL_INGRESS_MAX];
    size_t ingress_count;
    uint32_t duration_s_max;
    struct bytes_view backend_name;
    struct bytes_view session_json;
    struct bytes_view client_agent;
    struct bytes_view client_language;
    struct bytes_view client_place;
    uint8_t tenant[CONTROL_TENANT_BYTES];
    struct bytes_view placement_reason;
    struct bytes_view trace_id;
    uint64_t offer_unix_us; /* 0 = unknown */
    bool has_event_stream;  /* the event channel is there without DCEP, on event_stream */
    uint16_t event_stream;
};

/* Which call, and who asks. */
struct control_call {
    char call_id[CONTROL_CALL_ID_CHARS_MAX + 1];
    uint8_t tenant[CONTROL_TENANT_BYTES];
    bool is_operator;
};

struct control_end_session {
    struct control_call call;
    struct bytes_view reason;
};

struct control_update_session {
    struct control_call call;
    struct bytes_view sdpfrag;
    bool restarts_ice;       /* else: candidates of ice_generation */
    uint32_t ice_generation; /* that the client knows */
    struct control_ingress ingress[CONTROL_INGRESS_MAX];
    size_t ingress_count;
};

struct control_get_session {
    struct control_call call;
};

struct control_list_sessions {
    uint8_t tenant[CONTROL_TENANT_BYTES];
    bool is_operator;
    uint32_t from_session_id; /* 0 = from the first */
};

struct control_attach_sideband {
    struct control_call call;
    uint32_t sideband_id; /* not 0 */
    uint32_t lease_ms;    /* 0 = detach */
};

struct control_inject_event {
    struct control_call call;
    uint32_t sideband_id;
    struct bytes_view event;
};

enum control_request_kind {
    CONTROL_REQUEST_UNKNOWN, /* a body from the future: answer `not_implemented` */
    CONTROL_CREATE_SESSION,
    CONTROL_END_SESSION,
    CONTROL_UPDATE_SESSION,
    CONTROL_GET_SESSION,
    CONTROL_LIST_SESSIONS,
    CONTROL_ATTACH_SIDEBAND,
    CONTROL_INJECT_EVENT
};

struct control_request {
    uint8_t request_id[CONTROL_REQUEST_ID_BYTES];
    enum control_request_kind kind;
    union {
        struct control_create_session create_session;
        struct control_end_session end_session;
        struct control_update_session update_session;
        struct control_get_session get_session;
        struct control_list_sessions list_sessions;
        struct control_attach_sideband attach_sideband;
        struct control_inject_event inject_event;
    } body;
};

enum control_refusal {
    CONTROL_REFUSAL_NONE,
    CONTROL_BAD_OFFER,
    CONTROL_TOO_LARGE,
    CONTROL_NO_COMMON_CODEC,
    CONTROL_FULL,
    CONTROL_DRAINING,
    CONTROL_BACKEND_UNAVAILABLE,
    CONTROL_INTERNAL,
    CONTROL_NOT_FOUND,
    CONTROL_NOT_IMPLEMENTED,
    CONTROL_OTHER_GENERATION, /* the ICE generation is not the current one */
    CONTROL_RESTARTS_USED_UP,
    CONTROL_REFUSAL_COUNT
};

enum control_session_state {
    CONTROL_SESSION_UNKNOWN,
    CONTROL_SESSION_CHECKING,
    CONTROL_SESSION_HANDSHAKE,
    CONTROL_SESSION_CONNECTED,
    CONTROL_SESSION_ENDED
};

struct control_session_row {
    char call_id[CONTROL_CALL_ID_CHARS_MAX + 1];
    uint32_t session_id;
    enum control_session_state state;
    uint64_t offer_unix_us;
};

/* A name and a number for a person. */
struct control_fact {
    char name[CONTROL_FACT_CHARS_MAX + 1];
    uint64_t value;
};

struct control_facts {
    struct control_fact fact[CONTROL_FACTS_MAX];
    size_t count;
};

struct control_reply {
    uint8_t request_id[CONTROL_REQUEST_ID_BYTES];
    enum control_refusal refusal; /* NONE: the rest counts for its kind */
    struct bytes_view message;    /* of a refusal */
    uint32_t retry_after_ms;      /* of a refusal; 0 = do not say */
    enum control_request_kind kind;
    uint32_t instance_id; /* CREATE_SESSION */
    uint32_t session_id;
    struct bytes_view answer_sdp;
    uint32_t ice_generation; /* UPDATE_SESSION */
    struct bytes_view sdpfrag;
    struct control_session_row row; /* GET_SESSION */
    struct bytes_view end_reason;   /* empty while it lives */
    struct control_facts timeline;  /* microseconds after the offer */
    struct control_facts counters;
    const struct control_session_row *rows; /* LIST_SESSIONS; borrowed, as the views are */
    size_t row_count;
    uint32_t next_session_id;   /* 0 = that was all */
    uint64_t sideband_sequence; /* ATTACH_SIDEBAND: of the last event of the call */
    bool is_new_sideband;
};

/* "bad_offer", "full": the words of the design and of logs. */
const char *control_refusal_name(enum control_refusal refusal);
const char *control_state_name(enum control_state state);
const char *control_session_state_name(enum control_session_state state);

/* A PUB message holds an Envelope; a body that is no announcement gives false too. */
MUST_USE bool control_decode_announcement(struct control_decoder *d, struct bytes_view message,
                                          struct control_announcement *out);
MUST_USE bool control_decode_request(struct control_decoder *d, struct bytes_view message,
                                     struct control_request *out);
MUST_USE bool control_decode_reply(struct control_decoder *d, struct bytes_view message,
                                   struct control_reply *out);

/* Bytes written to out.data (room out.cap; CONTROL_MESSAGE_BYTES_MAX suffices); 0 when they do not
 * fit, or when a field is longer than its bound above or a text holds a NUL. */
size_t control_encode_announcement(const struct control_announcement *in, struct bytes_span out);
size_t control_encode_request(const struct control_request *in, struct bytes_span out);
size_t control_encode_reply(const struct control_reply *in, struct bytes_span out);

#endif
