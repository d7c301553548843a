/*
 * flow_cache_url.h - where Redis is, as one line of configuration
 *
 * Form:    redis://host:port, redis://:password@host:port, redis://user:password@host:port, each
 *          perhaps with /database (0..15) behind. All up to the last '@' is user and password, and
 *          nothing in it is decoded: a password may hold any character. An empty one is none.
 * Secret:  the struct holds the password. Whoever copies it cleanses the copy.
 */
#ifndef EARSHOT_FLOW_CACHE_URL_H
#define EARSHOT_FLOW_CACHE_URL_H

#include "common/base/bytes.h"

#define FLOW_CACHE_URL_CAP      512
#define FLOW_CACHE_ADDRESS_CAP  272 /* a DNS name, a colon, a port */
#define FLOW_CACHE_USER_CAP     64
#define FLOW_CACHE_PASSWORD_CAP 256
#define FLOW_CACHE_DATABASE_MAX 15

struct flow_cache_url {
    char address[FLOW_CACHE_ADDRESS_CAP]; /* host:port */
    char user[FLOW_CACHE_USER_CAP];       /* "" = the default one */
    char password[FLOW_CACHE_PASSWORD_CAP];
    unsigned database;
};

/* NULL, or for any other text what is wrong with it, without a word of it; out is then zeros. */
MUST_USE const char *flow_cache_url_parse(const char *text, struct flow_cache_url *out);

#endif
