/*
 * socket_site.h - the URLs that are WebSockets, and who speaks on each
 *
 * Takes:   upgrades to judge (as an http_judge), and each HTTP_EVENT_SOCKET_*.
 * Source:  docs/client-contract.md.
 */
#ifndef EARSHOT_SOCKET_SITE_H
#define EARSHOT_SOCKET_SITE_H

#include "services/signaling/events_sideband.h"
#include "services/signaling/signal_socket.h"

struct socket_site {
    bool is_draining;
    struct events_sideband *sidebands; /* NULL, with the next: nobody is let in yet */
    struct signal_socket *signals;
    struct control_plane *plane; /* whose news of calls they get */
    struct calls_api *calls;     /* and this one, of those it counts */
};

/* context: a struct socket_site. */
void socket_site_judge(void *context, const struct http_upgrade *upgrade,
                       struct http_judgement *out);
void socket_site_event(const struct socket_site *site, const struct http_event *event,
                       uint64_t now_us);
/* Nobody is let in any more. Clients are told to come again (1001): another replica has them then.
 * Whoever waits for the answer to an offer stays. */
void socket_site_drain(struct socket_site *site);
/* After the events of a turn. */
void socket_site_turn(const struct socket_site *site, uint64_t now_us);
uint64_t socket_site_next_timeout(const struct socket_site *site);

#endif
