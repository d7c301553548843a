/*
 * http_gate.h - where a connection waits until the head of its next request is whole and good
 *
 * The head stays with the kernel, and we look at it there (http_screen.h). libwebsockets reads it
 * when it has passed; what has not is answered from here, past libwebsockets.
 * Owns:    an epoll descriptor, readable while a connection has input that nobody looked at.
 * Bounds:  a head of HTTP_SCREEN_BYTES_MAX; its time is the timer of http_connection.
 * Private to http_server.c and http_connection.c.
 */
#ifndef EARSHOT_HTTP_GATE_H
#define EARSHOT_HTTP_GATE_H

#include "services/signaling/http_connection.h"

/* The descriptor, or -1. */
int http_gate_create(void);
/* Until libwebsockets closes its descriptor. */
MUST_USE bool http_gate_add(int gate_fd, struct http_connection *c);
/* Looks at each connection whose input has grown; at some of many. */
void http_gate_turn(int gate_fd);

/* Between two requests, and before the first: the connection is SCREENING. */
void http_gate_await(struct http_connection *c);
/* Of a socket that is held, so that libwebsockets sees no end of it: has its client closed? */
void http_gate_look_for_end(struct http_connection *c);
/* At what a SCREENING connection has sent so far. */
void http_gate_look(struct http_connection *c);

/* Whether the client has closed its half. */
bool http_gate_has_ended(const struct http_connection *c);
/* While the answer to a body is awaited: who has closed his half may be gone altogether. */
void http_gate_probe(struct http_connection *c);
/* Writes head and body of the answer past libwebsockets; false when the kernel took not all. */
MUST_USE bool http_gate_write(struct http_connection *c);

#endif
