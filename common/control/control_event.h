/*
 * control_event.h - what a transceiver says of its calls without being asked
 *
 * Takes:   one NNG message of at most CONTROL_MESSAGE_BYTES_MAX.
 * Gives:   as control_message.h does: views point into the decoder, until its next decode.
 * Fails:   likewise; a kind of session event from the future is UNKNOWN. An event of no call is
 *          none.
 */
#ifndef EARSHOT_CONTROL_EVENT_H
#define EARSHOT_CONTROL_EVENT_H

#include "common/control/control_message.h"

#define CONTROL_SIDEBANDS_MAX 4 /* of a call */
#define CONTROL_TOPIC_CAP     (2 + CONTROL_CALL_ID_CHARS_MAX)

enum control_session_event_kind {
    CONTROL_SESSION_EVENT_UNKNOWN,
    CONTROL_SESSION_EVENT_CREATED,
    CONTROL_SESSION_EVENT_CONNECTED,
    CONTROL_SESSION_EVENT_ENDED
};

/* In an Envelope, as an announcement is. */
struct control_session_event {
    uint32_t instance_id;
    char call_id[CONTROL_CALL_ID_CHARS_MAX + 1];
    enum control_session_event_kind kind;
    struct bytes_view reason;      /* of ENDED */
    struct control_facts timeline; /* of CONNECTED and ENDED: microseconds after the offer */
    struct control_facts totals;   /* of ENDED */
};

struct control_sideband_event {
    char call_id[CONTROL_CALL_ID_CHARS_MAX + 1];
    uint32_t sideband_id; /* for this one only; 0 = for all but those that wait */
    uint64_t sequence;    /* of the call, from 1 on */
    uint32_t waiting[CONTROL_SIDEBANDS_MAX];
    size_t waiting_count;
    bool is_end; /* the call is over: the text is the reason */
    struct bytes_view text;
};

MUST_USE bool control_decode_session_event(struct control_decoder *d, struct bytes_view message,
                                           struct control_session_event *out);
MUST_USE bool control_decode_sideband_event(struct control_decoder *d, struct bytes_view message,
                                            struct control_sideband_event *out);

/* As control_encode_request. The messages of one call have its topic as their first bytes. */
size_t control_encode_session_event(const struct control_session_event *in, struct bytes_span out);
size_t control_encode_sideband_event(const struct control_sideband_event *in,
                                     struct bytes_span out);
size_t control_sideband_topic(const char *call_id, uint8_t out[CONTROL_TOPIC_CAP]);

#endif
