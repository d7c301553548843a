/*
 * flow_cache_connection.h - one connection to Redis, without a wait and without a callback
 *
 * Hides hiredis. Commands go out in order and answers come in the same order, so a ring of what is
 * owed says whose an answer is.
 * Takes:   look-ups and stores, at most FLOW_CACHE_IN_FLIGHT_MAX of each without an answer
 *          (asserted): neither kind can take the other one's room, however many come.
 * Gives:   what Redis said of each. The connection introduces itself (password, database, a PING);
 *          it is good for anything only after the PONG, and is asked for another one whenever it
 *          was idle for FLOW_CACHE_IDLE_US: Redis is not believed to be there because a connect
 *          succeeded.
 * Fails:   with a fault, after which it can only be closed: what the socket says; an answer that is
 *          FLOW_CACHE_PATIENCE_US late, longer than FLOW_CACHE_ANSWER_BYTES_MAX, a list, or
 *          nobody's.
 * Secret:  the password is in the connection from open until it is sent, then cleansed.
 * Time:    next_timeout when the clock alone changes something.
 */
#ifndef EARSHOT_FLOW_CACHE_CONNECTION_H
#define EARSHOT_FLOW_CACHE_CONNECTION_H

#include "common/base/status.h"
#include "common/base/time_us.h"
#include "services/relay/flow_cache/flow_cache_request.h"
#include "services/relay/flow_cache/flow_cache_url.h"

#define FLOW_CACHE_IN_FLIGHT_MAX    128
#define FLOW_CACHE_PATIENCE_US      US_PER_S
#define FLOW_CACHE_ENTRY_LIFE_S     120
#define FLOW_CACHE_IDLE_US          US_PER_S
#define FLOW_CACHE_ANSWER_BYTES_MAX 65536
#define FLOW_CACHE_REFUSAL_CAP      80

struct flow_cache_reply {
    struct flow_cache_request request;
    enum flow_cache_result result;        /* of a STORE: FOUND, it is written now, or REFUSED */
    struct cached_flow flow;              /* of a LOOK_UP: FOUND */
    char refusal[FLOW_CACHE_REFUSAL_CAP]; /* REFUSED: Redis's own words, safe for a log */
};

struct flow_cache_connection;

/* Begins to connect. NULL and a fault. */
struct flow_cache_connection *flow_cache_connection_open(const struct net_addr *address,
                                                         const struct flow_cache_url *url,
                                                         uint64_t now_us, struct fault *fault);
void flow_cache_connection_close(struct flow_cache_connection *c);

int flow_cache_connection_fd(const struct flow_cache_connection *c);
bool flow_cache_connection_has_output(const struct flow_cache_connection *c);
bool flow_cache_connection_is_greeted(const struct flow_cache_connection *c);
/* Whether one more of this kind may be sent. */
bool flow_cache_connection_has_room(const struct flow_cache_connection *c,
                                    enum flow_cache_request_kind kind);
/* Requests of this kind that have no answer yet. */
size_t flow_cache_connection_owes(const struct flow_cache_connection *c,
                                  enum flow_cache_request_kind kind);

/* False when a request has no text; then nothing was sent. */
MUST_USE bool flow_cache_connection_send(struct flow_cache_connection *c,
                                         const struct flow_cache_request *request, uint64_t now_us);
/* Writes and reads what the socket takes and has. */
MUST_USE bool flow_cache_connection_write(struct flow_cache_connection *c, struct fault *fault);
MUST_USE bool flow_cache_connection_read(struct flow_cache_connection *c, struct fault *fault);
/* After a read, until it says NONE. */
enum flow_cache_taken { FLOW_CACHE_NONE, FLOW_CACHE_REPLY, FLOW_CACHE_BROKEN };
enum flow_cache_taken flow_cache_connection_take(struct flow_cache_connection *c,
                                                 struct flow_cache_reply *out, struct fault *fault);
/* Asks whether it is still there; ends its patience. */
MUST_USE bool flow_cache_connection_tick(struct flow_cache_connection *c, struct fault *fault,
                                         uint64_t now_us);
uint64_t flow_cache_connection_next_timeout(const struct flow_cache_connection *c);

#endif
