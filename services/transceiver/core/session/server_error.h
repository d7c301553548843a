/*
 * server_error.h - the three events that the transceiver itself writes on the event channel
 *
 * It knows no more of the Realtime API than these: everything else passes through unread.
 * Gives:   one JSON object, an `error` of type `server_error` with an event_id of its own.
 * Source:  docs/client-contract.md, "What the server itself may say".
 */
#ifndef EARSHOT_SERVER_ERROR_H
#define EARSHOT_SERVER_ERROR_H

#include "common/base/random.h"

#define SERVER_ERROR_BYTES_MAX 384

enum server_error {
    SERVER_ERROR_SESSION_EXPIRING,  /* a drain or the call's limit ends it in 30 s */
    SERVER_ERROR_BACKEND_LOST,      /* the call goes on, and waits for another */
    SERVER_ERROR_MESSAGE_TOO_LARGE, /* a message of the client was dropped */
    SERVER_ERROR_COUNT
};

/* The text is in `text`, without a NUL. Returns its length. */
size_t server_error_write(enum server_error error, struct random_source random,
                          char text[SERVER_ERROR_BYTES_MAX]);

#endif
