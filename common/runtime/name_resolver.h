/*
 * name_resolver.h - host names looked up on a thread of their own, again and again
 *
 * A look-up blocks for seconds when DNS is ill, so no loop that carries voice does one. The thread
 * looks every name up each NAME_RESOLVER_PERIOD_US and reports an answer only when it has changed.
 * Takes:   "host:port", "ip:port" or "[ip]:port", at most NAME_RESOLVER_NAMES_MAX of them.
 * Gives:   answers through a pipe: poll name_resolver_fd, then take until false. An answer without
 *          an address means that the name can not be found now; it is given once.
 * Fails:   start refuses a name without a port from 1 to 65535. stop waits for a running look-up.
 */
#ifndef EARSHOT_NAME_RESOLVER_H
#define EARSHOT_NAME_RESOLVER_H

#include "common/base/net_addr.h"
#include "common/base/status.h"
#include "common/base/time_us.h"

#define NAME_RESOLVER_NAMES_MAX     16
#define NAME_RESOLVER_NAME_CAP      272 /* a DNS name of 253, a colon, a port */
#define NAME_RESOLVER_ADDRESSES_MAX 64  /* more are left out */
#define NAME_RESOLVER_PERIOD_US     (2 * US_PER_S)

struct name_answer {
    size_t name_index;
    size_t address_count;
    struct net_addr address[NAME_RESOLVER_ADDRESSES_MAX]; /* sorted */
};

struct name_resolver;

struct name_resolver *name_resolver_start(const char *const *names, size_t name_count,
                                          struct fault *fault);
void name_resolver_stop(struct name_resolver *r);

int name_resolver_fd(const struct name_resolver *r);
MUST_USE bool name_resolver_take(struct name_resolver *r, struct name_answer *out);

#endif
