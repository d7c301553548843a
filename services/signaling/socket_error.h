/*
 * socket_error.h - an error as a message of a WebSocket
 *
 * Pure but for its random event ids.
 * Source:  docs/client-contract.md.
 */
#ifndef EARSHOT_SOCKET_ERROR_H
#define EARSHOT_SOCKET_ERROR_H

#include "common/base/bytes.h"

#define SOCKET_ERROR_BYTES_MAX 1024

/* An event of the Realtime API: {"type":"error","event_id":...,"error":{...}}; its length. Code and
 * message are short texts of ours. */
size_t socket_error_event(const char *code, const char *message, char text[SOCKET_ERROR_BYTES_MAX]);
/* {"type":"error","error":{...}} out of the body of an HTTP answer; its length. */
size_t socket_error_message(struct bytes_view body, char text[SOCKET_ERROR_BYTES_MAX]);

#endif
