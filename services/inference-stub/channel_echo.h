/*
 * channel_echo.h - messages of data channels, of which those with the label `echo` go back
 *
 * Takes:   the CHANNEL_DATA of a session.
 * Gives:   a whole message that is to go back as it came.
 * Owns:    one message of at most BACKEND_MESSAGE_BYTES_MAX.
 */
#ifndef EARSHOT_CHANNEL_ECHO_H
#define EARSHOT_CHANNEL_ECHO_H

#include "services/inference-stub/chunked_message.h"
#include "services/inference-stub/message_outbox.h"

#define CHANNEL_ECHO_LABEL "echo"

/* Starts as zeros. */
struct channel_echo {
    struct backend_chunks chunks;
    bool is_echoed; /* the message that is coming in */
    size_t head_len;
    char head[256];
    struct chunked_message bytes;
};

enum channel_echo_result {
    CHANNEL_ECHO_NOTHING,
    CHANNEL_ECHO_MESSAGE, /* send it, then clear */
    CHANNEL_ECHO_BROKEN   /* no CHANNEL_DATA of this protocol */
};

/* The message is borrowed until clear. */
enum channel_echo_result channel_echo_input(struct channel_echo *c,
                                            const struct backend_frame *frame,
                                            struct outbox_message *out);
void channel_echo_clear(struct channel_echo *c);

#endif
