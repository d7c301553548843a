/* message_port.c - see message_port.h */
#include "common/runtime/message_port.h"

#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

/* A fleet of 1,000 that announces in one burst must fit: with 128, 22 % of it was lost. */
#define SUBSCRIBER_MESSAGES 2048
/* A backend that says much at once, as a whole answer in small events, fits too. */
#define QUEUE_MESSAGES 512
/* NNG counts its own header of a request or a reply into the size of a message. */
#define REQUEST_HEADER_BYTES 4
#define TIMEOUT_MS           1000
#define RESEND_MS            500
#define RECONNECT_MS_MIN     100
#define RECONNECT_MS_MAX     2000
#define CLOSE_S              1

struct message_port {
    nng_socket socket;
    int receive_fd;
    int send_flags;
    nng_msg *received;      /* what the last receive lent out, or NULL */
    atomic_int connections; /* written by NNG's threads */
};

static void note_connection(nng_pipe pipe, nng_pipe_ev event, void *port)
{
    struct message_port *p = port;
    (void)pipe;
    atomic_fetch_add(&p->connections, event == NNG_PIPE_EV_ADD_POST ? 1 : -1);
}

static int open_socket(enum message_port_kind kind, nng_socket *out)
{
    switch (kind) {
    case MESSAGE_PORT_PUB:
        return nng_pub0_open(out);
    case MESSAGE_PORT_SUB:
        return nng_sub0_open(out);
    case MESSAGE_PORT_REQ:
        return nng_req0_open(out);
    case MESSAGE_PORT_REP:
        return nng_rep0_open(out);
    }
    return NNG_EINVAL;
}

static bool has_request_header(enum message_port_kind kind)
{
    return kind == MESSAGE_PORT_REQ || kind == MESSAGE_PORT_REP;
}

/* Every limit is set by us: NNG's own default for a message, for one, is "any size". */
static int set_common_limits(nng_socket socket, enum message_port_kind kind)
{
    const struct {
        const char *name;
        nng_duration value_ms;
    } duration[] = {
        {NNG_OPT_RECVTIMEO, TIMEOUT_MS},
        {NNG_OPT_SENDTIMEO, TIMEOUT_MS},
        {NNG_OPT_RECONNMINT, RECONNECT_MS_MIN},
        {NNG_OPT_RECONNMAXT, RECONNECT_MS_MAX},
    };
    const size_t header_bytes = has_request_header(kind) ? REQUEST_HEADER_BYTES : 0;
    int error =
        nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, MESSAGE_PORT_BYTES_MAX + header_bytes);
    for (size_t i = 0; error == 0 && i < COUNT_OF(duration); i++) {
        error = nng_socket_set_ms(socket, duration[i].name, duration[i].value_ms);
    }
    if (error == 0) {
        error = nng_socket_set_bool(socket, NNG_OPT_TCP_NODELAY, true);
    }
    if (error == 0) {
        error = nng_socket_set_bool(socket, NNG_OPT_TCP_KEEPALIVE, true);
    }
    return error;
}

static int set_kind_limits(nng_socket socket, enum message_port_kind kind)
{
    switch (kind) {
    case MESSAGE_PORT_PUB:
        return nng_socket_set_int(socket, NNG_OPT_SENDBUF, QUEUE_MESSAGES);
    case MESSAGE_PORT_SUB:
        return nng_socket_set_int(socket, NNG_OPT_RECVBUF, SUBSCRIBER_MESSAGES);
    case MESSAGE_PORT_REQ:
        return nng_socket_set_ms(socket, NNG_OPT_REQ_RESENDTIME, RESEND_MS);
    case MESSAGE_PORT_REP:
        return 0; /* one request at a time: there is no queue to bound */
    }
    return NNG_EINVAL;
}

struct message_port *message_port_open(enum message_port_kind kind, struct fault *fault)
{
    struct message_port *p = calloc(1, sizeof(*p));
    if (p == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "open message port: out of memory");
        return NULL;
    }
    /* A REP socket refuses a reply while the one before it is still being written, and its peer may
     * ask again before that: this lasts microseconds, so it is waited for. */
    p->send_flags = kind == MESSAGE_PORT_REP ? 0 : NNG_FLAG_NONBLOCK;
    int error = open_socket(kind, &p->socket);
    if (error == 0) {
        error = set_common_limits(p->socket, kind);
    }
    if (error == 0) {
        error = set_kind_limits(p->socket, kind);
    }
    if (error == 0) {
        error = nng_pipe_notify(p->socket, NNG_PIPE_EV_ADD_POST, note_connection, p);
    }
    if (error == 0) {
        error = nng_pipe_notify(p->socket, NNG_PIPE_EV_REM_POST, note_connection, p);
    }
    p->receive_fd = -1;
    if (error == 0 && kind != MESSAGE_PORT_PUB) {
        error = nng_socket_get_int(p->socket, NNG_OPT_RECVFD, &p->receive_fd);
    }
    if (error != 0) {
        (void)fault_set(fault, FAULT_LIBRARY, "open message port: %s", nng_strerror(error));
        message_port_close(p);
        return NULL;
    }
    return p;
}

static void give_back(struct message_port *p)
{
    if (p->received != NULL) {
        nng_msg_free(p->received);
        p->received = NULL;
    }
}

static void *close_socket(void *port)
{
    const struct message_port *p = port;
    (void)nng_close(p->socket); /* of a socket that was never opened: an error without effect */
    return NULL;
}

/* nng_close of NNG 1.5.2 now and then never returns (nanomsg/nng#1543, #1813): a thread is lost to
 * it then, and the port, of which NNG may still speak, but not the caller. */
void message_port_close(struct message_port *p)
{
    pthread_t closer;
    struct timespec until;
    if (p == NULL) {
        return;
    }
    give_back(p);
    if (pthread_create(&closer, NULL, close_socket, p) != 0) {
        (void)close_socket(p);
        free(p);
        return;
    }
    (void)clock_gettime(CLOCK_REALTIME, &until); /* ThreadSanitizer knows no other join */
    until.tv_sec += CLOSE_S;
    if (pthread_timedjoin_np(closer, NULL, &until) == 0) {
        free(p);
    } else {
        (void)pthread_detach(closer);
    }
}

bool message_port_listen(struct message_port *p, const char *url, struct fault *fault)
{
    const int error = nng_listen(p->socket, url, NULL, 0);
    return error == 0 ||
           fault_set(fault, FAULT_SYSTEM, "listen %s: %s%s", url, nng_strerror(error),
                     error == NNG_EADDRINUSE ? " (stop what has it or change the address)" : "");
}

bool message_port_dial(struct message_port *p, const char *url, struct fault *fault)
{
    const int error = nng_dial(p->socket, url, NULL, NNG_FLAG_NONBLOCK);
    return error == 0 || fault_set(fault, FAULT_SYSTEM, "dial %s: %s", url, nng_strerror(error));
}

bool message_port_subscribe(struct message_port *p, struct bytes_view topic)
{
    return nng_socket_set(p->socket, NNG_OPT_SUB_SUBSCRIBE, topic.data, topic.len) == 0;
}

void message_port_unsubscribe(struct message_port *p, struct bytes_view topic)
{
    (void)nng_socket_set(p->socket, NNG_OPT_SUB_UNSUBSCRIBE, topic.data, topic.len);
}

int message_port_connections(const struct message_port *p)
{
    return atomic_load(&p->connections);
}

int message_port_receive_fd(const struct message_port *p)
{
    return p->receive_fd;
}

bool message_port_receive(struct message_port *p, struct bytes_view *out)
{
    give_back(p);
    if (nng_recvmsg(p->socket, &p->received, NNG_FLAG_NONBLOCK) != 0) {
        p->received = NULL;
        return false;
    }
    *out = bytes_view_of(nng_msg_body(p->received), nng_msg_len(p->received));
    return true;
}

bool message_port_send(struct message_port *p, struct bytes_view message)
{
    nng_msg *copy = NULL;
    if (message.len > MESSAGE_PORT_BYTES_MAX || nng_msg_alloc(&copy, message.len) != 0) {
        return false;
    }
    if (message.len > 0) {
        memcpy(nng_msg_body(copy), message.data, message.len);
    }
    if (nng_sendmsg(p->socket, copy, p->send_flags) != 0) {
        nng_msg_free(copy); /* NNG takes a message only when it succeeds */
        return false;
    }
    return true;
}
