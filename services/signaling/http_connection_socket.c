/* http_connection_socket.c - http_connection.h: a connection that has become a WebSocket */
#include "services/signaling/http_connection.h"

#include "services/signaling/http_socket.h"

#include <libwebsockets.h>

int http_connection_on_upgrade(struct http_connection *c, char *wanted)
{
    if (c->state != HTTP_CONNECTION_UPGRADING) {
        wanted[0] = '-'; /* h2c, or a websocket without all that belongs to it */
    }
    return 0;
}

int http_connection_on_socket(struct http_connection *c)
{
    if (c->state != HTTP_CONNECTION_UPGRADING) {
        return -1;
    }
    c->state = HTTP_CONNECTION_SOCKET;
    c->socket->has_open_event = true;
    c->socket->is_open = true;
    metric_add(&c->counts->sockets_opened_total, 1);
    metric_set(&c->counts->sockets, metric_get(&c->counts->sockets) + 1);
    /* Pings of libwebsockets watch it from here on. */
    lws_set_timer_usecs(c->wsi, (lws_usec_t)HTTP_SOCKET_LIFE_US);
    return 0;
}

int http_connection_on_piece(struct http_connection *c, struct bytes_view piece)
{
    if (c->state != HTTP_CONNECTION_SOCKET) {
        return -1;
    }
    const int result = http_socket_on_piece(c->socket, c->wsi, piece);
    if (result == 0) {
        http_connection_throttle(c, !http_socket_is_reading(c->socket));
    }
    return result;
}

static void bound_close(struct http_connection *c)
{
    if (c->socket->close_code != 0 && !c->socket->is_ending) {
        c->socket->is_ending = true;
        lws_set_timer_usecs(c->wsi, HTTP_SOCKET_CLOSE_US);
    }
}

int http_connection_write_socket(struct http_connection *c)
{
    const int result = http_socket_on_writeable(c->socket, c->wsi);
    bound_close(c);
    return result;
}

void http_connection_socket_changed(struct http_connection *c)
{
    if (c->state != HTTP_CONNECTION_SOCKET) {
        return; /* its client is gone */
    }
    http_connection_throttle(c, !http_socket_is_reading(c->socket));
    lws_callback_on_writable(c->wsi);
    bound_close(c);
}
