/*
 * http_upgrade.h - does a head ask for a WebSocket?
 *
 * Pure. Takes a head that http_screen passed.
 * Rule:    an Upgrade to something else is ignored (RFC 9110 s.7.8), and so is one without
 *          "Connection: Upgrade". What libwebsockets would answer by itself is BAD, and answered
 *          by us: lists that are longer than its buffers, a key or version that it does not check.
 * Source:  RFC 6455 s.4.2.1; docs/client-contract.md.
 * Not here: who may (the judge of http_server.h), the handshake (libwebsockets).
 */
#ifndef EARSHOT_HTTP_UPGRADE_H
#define EARSHOT_HTTP_UPGRADE_H

#include "services/signaling/http_server.h"

/* libwebsockets hangs up on a longer list of connection options or subprotocols. */
#define HTTP_UPGRADE_LIST_CHARS_MAX 126

enum http_upgrade_kind {
    HTTP_UPGRADE_NONE,
    HTTP_UPGRADE_SOCKET,
    HTTP_UPGRADE_BAD /* *refusal is its answer */
};

/* *out borrows from the head. */
enum http_upgrade_kind http_upgrade_read(struct bytes_view head, struct http_upgrade *out,
                                         struct http_response *refusal);

/* Is the name one of the list? Subprotocols are compared by case. */
bool http_upgrade_offers(struct bytes_view subprotocols, const char *name);
/* Would libwebsockets answer this one (NULL: none)? It takes the first that it knows, and hangs up
 * when names before it are long, or when it knows none. */
bool http_upgrade_can_answer(struct bytes_view subprotocols, const char *name);
/* The key in "openai-insecure-api-key.<key>", which browsers send in the list; or empty. */
struct bytes_view http_upgrade_offered_key(struct bytes_view subprotocols);

#endif
