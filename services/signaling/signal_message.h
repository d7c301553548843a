/*
 * signal_message.h - the messages of earshot.signal.v1, read and written
 *
 * Pure. A message is one JSON object with a type; what is unknown in it is passed over.
 * Bounds:  SIGNAL_MESSAGE_DEPTH_MAX and _MEMBERS_MAX, beyond which it is none.
 * Source:  docs/client-contract.md.
 */
#ifndef EARSHOT_SIGNAL_MESSAGE_H
#define EARSHOT_SIGNAL_MESSAGE_H

#include "common/base/bytes.h"

#define SIGNAL_MESSAGE_DEPTH_MAX   32
#define SIGNAL_MESSAGE_MEMBERS_MAX 4096
#define SIGNAL_FRAGMENT_BYTES_MAX  640

enum signal_message_kind {
    SIGNAL_NO_MESSAGE, /* not one JSON object within bounds */
    SIGNAL_UNKNOWN,    /* one of no type of ours */
    SIGNAL_OFFER,
    SIGNAL_RESTART,
    SIGNAL_HANGUP
};

/* Views are empty where a member is absent or of another type; all borrow from `tree`. */
struct signal_message {
    void *tree;
    struct bytes_view sdp;
    struct bytes_view key;
    struct bytes_view session; /* a JSON object as text */
    char *session_text;
    struct bytes_view ufrag;
    struct bytes_view pwd;
};

/* *out is discarded by the caller, whatever kind it is. */
enum signal_message_kind signal_message_read(struct bytes_view text, struct signal_message *out);
void signal_message_discard(struct signal_message *m);

/* The credentials of a restart as an SDP fragment (RFC 8840); 0 when they can not be such. */
size_t signal_message_fragment(const struct signal_message *m,
                               char text[SIGNAL_FRAGMENT_BYTES_MAX]);

/* {"type":TYPE,NAME:VALUE} and, unless NULL, "call_id"; freed by the caller. NULL without memory,
 * or when the value is not UTF-8. */
char *signal_message_write(const char *type, const char *name, struct bytes_view value,
                           const char *call_id);

#endif
