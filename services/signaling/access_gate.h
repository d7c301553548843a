/*
 * access_gate.h - which requests come through: keys, client secrets, and limits
 *
 * Takes:   requests whose resource needs somebody's word (access_gate_check), before anybody works
 *          on them.
 * Gives:   whose they are, or the answer: 401, 403 or 429 (docs/client-contract.md).
 * Owns:    auth, the buckets of all limits, and the count of calls by secret. Limits are of this
 *          replica alone.
 * Rule:    strangers learn that a key is not good, never why; counters tell why.
 */
#ifndef EARSHOT_ACCESS_GATE_H
#define EARSHOT_ACCESS_GATE_H

#include "common/runtime/metrics.h"
#include "services/signaling/access/auth.h"
#include "services/signaling/access/secret_calls.h"
#include "services/signaling/signaling_config.h"

enum access_need {
    ACCESS_OPERATE, /* on a call that is there: an API key or a client secret, within its limits */
    ACCESS_OFFER,   /* the same, within all limits */
    ACCESS_ISSUE,   /* an API key, and no client secret; as often as offers of a tenant, and as
                       operations of an address */
    ACCESS_DEMO     /* the page of this very origin, within its limit */
};

enum access_limit {
    ACCESS_LIMIT_ADDRESS,
    ACCESS_LIMIT_TENANT,
    ACCESS_LIMIT_SECRET,
    ACCESS_LIMIT_TOTAL,
    ACCESS_LIMIT_ISSUE,
    ACCESS_LIMIT_DEMO,
    ACCESS_LIMIT_OPERATE_ADDRESS,
    ACCESS_LIMIT_OPERATE_TENANT,
    ACCESS_LIMIT_SECRET_CALLS, /* that live */
    ACCESS_LIMIT_SIDEBANDS,    /* of a call, as far as this replica has them */
    ACCESS_LIMIT_COUNT
};

/* Written by the loop's thread, read by any. */
struct access_counts {
    metric_value checks_total[AUTH_VERDICT_COUNT];
    metric_value limited_total[ACCESS_LIMIT_COUNT];
    metric_value foreign_pages_total; /* that asked for a secret of the demo */
    metric_value api_keys;            /* that are loaded */
};

struct access_gate;

/* Loads the API keys that config names, and says so in the log. NULL and a fault when they can not
 * be used. Borrows config. */
struct access_gate *access_gate_create(const struct signaling_config *config, struct fault *fault);
void access_gate_destroy(struct access_gate *g);
const struct access_counts *access_gate_counts(const struct access_gate *g);
struct auth *access_gate_auth(struct access_gate *g);
/* Who makes calls counts them here (calls_api.h). */
struct secret_calls *access_gate_calls(struct access_gate *g);

/* Reads the API keys again; a file that is not good, or has become empty, leaves the old ones, and
 * a fault. */
MUST_USE bool access_gate_reload(struct access_gate *g, struct fault *fault);

/* Whose request is it? out->session, of offers alone, borrows until the next check.
 * False: *refusal is the answer. */
MUST_USE bool access_gate_check(struct access_gate *g, const struct http_request *request,
                                enum access_need need, struct auth_identity *out,
                                struct http_response *refusal, uint64_t now_us);

/* The same for those who came otherwise: a key, or the value of Authorization. */
struct access_visitor {
    struct net_addr client;
    struct bytes_view authorization; /* counts when key is empty */
    struct bytes_view key;
    const char *request_id; /* for the log; NULL = none */
};
MUST_USE bool access_gate_check_visitor(struct access_gate *g, const struct access_visitor *visitor,
                                        enum access_need need, struct auth_identity *out,
                                        struct http_response *refusal, uint64_t now_us);

/* Operations of somebody who was let in before, on a socket. */
MUST_USE bool access_gate_may_operate(struct access_gate *g, const struct net_addr *client,
                                      const struct auth_identity *who,
                                      struct http_response *refusal, uint64_t now_us);

/* The answer to a side-band too many: that limit is kept elsewhere, and counts here. */
void access_gate_refuse_sideband(struct access_gate *g, const uint8_t tenant[API_KEY_TENANT_BYTES],
                                 const char *call_id, struct http_response *refusal,
                                 uint64_t now_us);

/* "address": the label of the counter. */
const char *access_limit_name(enum access_limit limit);

#endif
