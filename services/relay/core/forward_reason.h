/*
 * forward_reason.h - why a datagram was forwarded or dropped, each with its name for metrics
 */
#ifndef EARSHOT_FORWARD_REASON_H
#define EARSHOT_FORWARD_REASON_H

#include <stdbool.h>

enum forward_reason {
    /* From a client, forwarded. */
    FORWARD_UP_TOKEN,         /* a request, by its token */
    FORWARD_UP_TOKEN_NO_ROOM, /* the same, but there was no room to keep a flow */
    FORWARD_UP_FLOW,          /* anything else, by its flow */
    /* From a client, dropped. */
    FORWARD_UP_LENGTH,         /* outside 12..1,500 bytes */
    FORWARD_UP_KIND,           /* first byte is not that of STUN, DTLS or RTP (RFC 7983) */
    FORWARD_UP_STUN,           /* STUN that is not well-formed */
    FORWARD_UP_USERNAME,       /* request without a USERNAME of the form token:name */
    FORWARD_UP_TOKEN_FORM,     /* not 23 ice-chars */
    FORWARD_UP_TOKEN_KEY,      /* sealed with a key we do not have */
    FORWARD_UP_TOKEN_FORGED,   /* the check bits are not zero */
    FORWARD_UP_TOKEN_CLUSTER,  /* another cluster's */
    FORWARD_UP_TOKEN_INSTANCE, /* no transceiver of that instance id is known */
    FORWARD_UP_TOKEN_RATE,     /* no flow, and too many tokens of such to open */
    FORWARD_UP_SESSION_RATE,   /* its session gets too many requests from strangers */
    FORWARD_UP_SOURCE_RATE,    /* its block of addresses opens flows too fast */
    FORWARD_UP_NO_FLOW,        /* not a request, and no flow */
    FORWARD_UP_UNPROVEN_RATE,  /* not a request, too many for a half-open flow */
    FORWARD_UP_FLOW_INSTANCE,  /* the flow's transceiver is not known any more */
    FORWARD_UP_UNSENT,         /* the socket refused it (counted by the worker) */
    /* From a transceiver, forwarded or taken. */
    FORWARD_DOWN_SHIM,         /* to the client that the shim names */
    FORWARD_DOWN_ANNOUNCEMENT, /* a flow was announced: nothing to send */
    /* From a transceiver, dropped. */
    FORWARD_DOWN_SOURCE,    /* sender outside transceiver_networks */
    FORWARD_DOWN_SHORT,     /* shorter than it says */
    FORWARD_DOWN_VERSION,   /* no shim, or of another version */
    FORWARD_DOWN_KEY,       /* signed with a key we do not have */
    FORWARD_DOWN_TAG,       /* the tag is wrong */
    FORWARD_DOWN_FLAGS,     /* not a downlink to a client of this transport */
    FORWARD_DOWN_LENGTH,    /* inner datagram empty or above 1,500 bytes */
    FORWARD_DOWN_FORBIDDEN, /* client address that a relay must not send to */
    FORWARD_DOWN_NO_SOCKET, /* no public socket of that address family */
    FORWARD_DOWN_UNSENT,    /* the socket refused it (counted by the worker) */
    FORWARD_DOWN_NO_CLIENT, /* the TCP client is not connected (counted by the TCP thread) */
    FORWARD_REASON_COUNT
};

/* "token", "no_flow": the word in metrics. */
const char *forward_reason_name(enum forward_reason reason);
bool forward_reason_is_down(enum forward_reason reason);
bool forward_reason_is_drop(enum forward_reason reason);

/* What became of the flow cache's word for a client. */
enum forward_cache_result {
    FORWARD_CACHE_TAKEN,
    FORWARD_CACHE_HAS_FLOW, /* the client has a flow by now: what the table says counts */
    FORWARD_CACHE_CLUSTER,  /* another cluster's */
    FORWARD_CACHE_INSTANCE, /* no transceiver of that instance id is known (yet) */
    FORWARD_CACHE_NEXT_HOP, /* known, at another address than the cache says */
    FORWARD_CACHE_NO_ROOM,  /* the session has its share of half-open flows, or the table is full */
    FORWARD_CACHE_RESULT_COUNT
};

/* "taken", "next_hop": the word in metrics. */
const char *forward_cache_result_name(enum forward_cache_result result);

#endif
