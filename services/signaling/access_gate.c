/* access_gate.c - see access_gate.h */
#include "services/signaling/access_gate.h"

#include "common/runtime/clock.h"
#include "common/runtime/log.h"
#include "services/signaling/access/rate_limit.h"
#include "services/signaling/own_page.h"

#include <stdlib.h>

#define DEMO_TENANT "demo page" /* with a blank: no line of the file of keys can name it */
#define IPV6_NET    8           /* an IPv6 client has a whole /64 to call from */
#define MINUTE_US   (60 * US_PER_S)

/* A tenant with a rate of offers of its own has so many operations to each. */
#define OPERATIONS_PER_OFFER 5

struct access_gate {
    const struct signaling_config *config;
    struct access_counts counts;
    struct auth *auth;
    struct rate_limit *limits;
    struct secret_calls *calls;
    struct log_limit refused_limit;
    struct log_limit limited_limit;
    enum access_limit met; /* by the last request that was refused with 429 */
};

/* --- life ------------------------------------------------------------------------------------- */

struct access_gate *access_gate_create(const struct signaling_config *config, struct fault *fault)
{
    struct access_gate *g = calloc(1, sizeof(*g));
    struct api_keys *keys = NULL;
    if (g == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "access: out of memory");
        return NULL;
    }
    g->config = config;
    g->refused_limit.lines_per_s = LOG_EVENTS_PER_S;
    g->limited_limit.lines_per_s = LOG_EVENTS_PER_S;
    if (config->auth == AUTH_KEYS) {
        keys = api_keys_load(config->api_keys_path, fault);
        if (keys == NULL) {
            access_gate_destroy(g);
            return NULL;
        }
        metric_set(&g->counts.api_keys, api_keys_count(keys));
        log_info("api_keys.loaded count=%zu", api_keys_count(keys));
    }
    g->auth = auth_create(config->auth, keys);
    g->limits = rate_limit_create(random_system());
    g->calls = secret_calls_create();
    if (g->auth == NULL || g->limits == NULL || g->calls == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "access: out of memory");
        access_gate_destroy(g);
        return NULL;
    }
    return g;
}

void access_gate_destroy(struct access_gate *g)
{
    if (g == NULL) {
        return;
    }
    auth_destroy(g->auth);
    rate_limit_destroy(g->limits);
    secret_calls_destroy(g->calls);
    free(g);
}

const struct access_counts *access_gate_counts(const struct access_gate *g)
{
    return &g->counts;
}

struct auth *access_gate_auth(struct access_gate *g)
{
    return g->auth;
}

struct secret_calls *access_gate_calls(struct access_gate *g)
{
    return g->calls;
}

bool access_gate_reload(struct access_gate *g, struct fault *fault)
{
    if (g->config->auth == AUTH_OFF) {
        return true;
    }
    struct api_keys *keys = api_keys_load(g->config->api_keys_path, fault);
    if (keys == NULL) {
        return false;
    }
    /* A file that is being written, or was lost, would lock everybody out. */
    if (api_keys_count(keys) == 0 && metric_get(&g->counts.api_keys) > 0) {
        api_keys_destroy(keys);
        return fault_set(fault, FAULT_CONFIG, "API keys %s: holds no key",
                         g->config->api_keys_path);
    }
    metric_set(&g->counts.api_keys, api_keys_count(keys));
    auth_set_keys(g->auth, keys);
    return true;
}

/* --- refusals --------------------------------------------------------------------------------- */

const char *access_limit_name(enum access_limit limit)
{
    static const char *const name[ACCESS_LIMIT_COUNT] = {
        [ACCESS_LIMIT_ADDRESS] = "address",
        [ACCESS_LIMIT_TENANT] = "tenant",
        [ACCESS_LIMIT_SECRET] = "secret",
        [ACCESS_LIMIT_TOTAL] = "total",
        [ACCESS_LIMIT_ISSUE] = "issue",
        [ACCESS_LIMIT_DEMO] = "demo",
        [ACCESS_LIMIT_OPERATE_ADDRESS] = "operate_address",
        [ACCESS_LIMIT_OPERATE_TENANT] = "operate_tenant",
        [ACCESS_LIMIT_SECRET_CALLS] = "secret_calls",
        [ACCESS_LIMIT_SIDEBANDS] = "sidebands",
    };
    return name[limit];
}

/* One answer for every reason but the one that the caller can mend. */
static void refuse_key(struct access_gate *g, enum auth_verdict verdict, const char *request_id,
                       struct http_response *refusal, uint64_t now_us)
{
    const char *message = verdict == AUTH_MISSING ? "Send a key: Authorization: Bearer KEY."
                          : verdict == AUTH_API_KEY_WANTED
                              ? "Only an API key may do this, not a client secret."
                              : "This key is not known, or has expired.";
    *refusal = http_response_error(401, "invalid_api_key", bytes_view_of_text(message));
    refusal->wants_bearer = true;
    if (log_limit_pass(&g->refused_limit, now_us)) {
        log_info("access.refused reason=%s request=%s held_back=%llu", auth_verdict_name(verdict),
                 request_id != NULL ? request_id : "-",
                 (unsigned long long)g->refused_limit.held_back);
    }
}

/* What the caller can do: to wait helps with a rate, and not with a number of what lives. */
static const char *limit_message(enum access_limit limit)
{
    switch (limit) {
    case ACCESS_LIMIT_SECRET_CALLS:
        return "This client secret has all the calls that it may have: end one.";
    case ACCESS_LIMIT_SIDEBANDS:
        return "This call has all the side-bands that it may have: close one.";
    case ACCESS_LIMIT_ADDRESS:
    case ACCESS_LIMIT_OPERATE_ADDRESS:
        return "Too many requests from this address: see Retry-After.";
    case ACCESS_LIMIT_TENANT:
    case ACCESS_LIMIT_ISSUE:
    case ACCESS_LIMIT_OPERATE_TENANT:
        return "Too many requests of this tenant: see Retry-After.";
    case ACCESS_LIMIT_SECRET:
        return "Too many calls with this client secret: see Retry-After.";
    default:
        return "Too many requests: see Retry-After.";
    }
}

/* A wait of 0: nobody can say how long. */
static void refuse_limit(struct access_gate *g, enum access_limit limit, uint64_t wait_us,
                         struct http_response *refusal)
{
    *refusal =
        http_response_error(429, "rate_limit_exceeded", bytes_view_of_text(limit_message(limit)));
    refusal->retry_after_s = (unsigned)((wait_us + US_PER_S - 1) / US_PER_S);
    metric_add(&g->counts.limited_total[limit], 1);
    g->met = limit;
}

/* No tenant (NULL): it was the address, before anybody looked at the key. A side-band is named by
 * its call, all else by its request. */
static void log_limited(struct access_gate *g, const uint8_t *tenant, const char *id,
                        uint64_t now_us)
{
    static const char digit[] = "0123456789abcdef";
    char name[2 * API_KEY_TENANT_BYTES + 1] = "-";
    if (!log_limit_pass(&g->limited_limit, now_us)) {
        return;
    }
    for (size_t i = 0; tenant != NULL && i < API_KEY_TENANT_BYTES; i++) {
        name[2 * i] = digit[tenant[i] >> 4];
        name[2 * i + 1] = digit[tenant[i] & 15];
        name[2 * i + 2] = '\0';
    }
    log_info("access.limited limit=%s tenant=%s %s=%s held_back=%llu", access_limit_name(g->met),
             name, g->met == ACCESS_LIMIT_SIDEBANDS ? "call" : "request", id != NULL ? id : "-",
             (unsigned long long)g->limited_limit.held_back);
}

void access_gate_refuse_sideband(struct access_gate *g, const uint8_t tenant[API_KEY_TENANT_BYTES],
                                 const char *call_id, struct http_response *refusal,
                                 uint64_t now_us)
{
    refuse_limit(g, ACCESS_LIMIT_SIDEBANDS, 0, refusal);
    log_limited(g, tenant, call_id, now_us);
}

/* --- limits ----------------------------------------------------------------------------------- */

static bool take(struct access_gate *g, enum access_limit limit, struct bytes_view key,
                 struct rate rate, struct http_response *refusal, uint64_t now_us)
{
    uint64_t wait_us = 0;
    if (rate_limit_take(g->limits, (uint8_t)limit, key, rate, &wait_us, now_us)) {
        return true;
    }
    refuse_limit(g, limit, wait_us, refusal);
    return false;
}

static struct bytes_view address_of(const struct net_addr *client)
{
    return bytes_view_of(client->ip, net_addr_is_ipv4(client) ? sizeof(client->ip) : IPV6_NET);
}

static bool address_may_offer(struct access_gate *g, const struct net_addr *client,
                              struct http_response *refusal, uint64_t now_us)
{
    const struct rate rate = {g->config->limits.offers_per_s_per_address, US_PER_S};
    return take(g, ACCESS_LIMIT_ADDRESS, address_of(client), rate, refusal, now_us);
}

static struct rate rate_of_tenant(const struct access_gate *g, const struct auth_identity *who)
{
    const uint32_t of_all = g->config->limits.offers_per_s_per_tenant;
    return (struct rate){who->offers_per_s > 0 ? who->offers_per_s : of_all, US_PER_S};
}

/* Whoever hangs up often for a while does nothing wrong: as many again at once. */
static struct rate rate_of_operations(uint32_t per_s)
{
    return (struct rate){2 * per_s, 2 * US_PER_S};
}

static bool address_may_operate(struct access_gate *g, const struct net_addr *client,
                                struct http_response *refusal, uint64_t now_us)
{
    const struct rate rate = rate_of_operations(g->config->limits.operations_per_s_per_address);
    return take(g, ACCESS_LIMIT_OPERATE_ADDRESS, address_of(client), rate, refusal, now_us);
}

static bool tenant_may_operate(struct access_gate *g, const struct auth_identity *who,
                               struct http_response *refusal, uint64_t now_us)
{
    const uint32_t of_all = g->config->limits.operations_per_s_per_tenant;
    const uint32_t own = OPERATIONS_PER_OFFER * who->offers_per_s;
    const struct rate rate = rate_of_operations(of_all > 0 && own > of_all ? own : of_all);
    return take(g, ACCESS_LIMIT_OPERATE_TENANT, bytes_view_of(who->tenant, sizeof(who->tenant)),
                rate, refusal, now_us);
}

bool access_gate_may_operate(struct access_gate *g, const struct net_addr *client,
                             const struct auth_identity *who, struct http_response *refusal,
                             uint64_t now_us)
{
    if (address_may_operate(g, client, refusal, now_us) &&
        tenant_may_operate(g, who, refusal, now_us)) {
        return true;
    }
    log_limited(g, who->tenant, NULL, now_us);
    return false;
}

static bool tenant_may_issue(struct access_gate *g, const struct auth_identity *who,
                             struct http_response *refusal, uint64_t now_us)
{
    return take(g, ACCESS_LIMIT_ISSUE, bytes_view_of(who->tenant, sizeof(who->tenant)),
                rate_of_tenant(g, who), refusal, now_us);
}

/* Who can say when one of its calls ends? */
static bool secret_may_call(struct access_gate *g, const struct auth_identity *who,
                            struct http_response *refusal)
{
    const uint32_t calls_max = g->config->limits.calls_per_secret;
    if (calls_max == 0 || who->secret_id[0] == '\0' ||
        secret_calls_count(g->calls, who->secret_id) < calls_max) {
        return true;
    }
    refuse_limit(g, ACCESS_LIMIT_SECRET_CALLS, 0, refusal);
    return false;
}

static bool tenant_may_offer(struct access_gate *g, const struct auth_identity *who,
                             struct http_response *refusal, uint64_t now_us)
{
    const struct signaling_limits *limits = &g->config->limits;
    const struct rate of_secret = {
        who->secret_id[0] != '\0' ? limits->offers_per_minute_per_secret : 0, MINUTE_US};
    const struct rate of_all = {limits->offers_per_s, US_PER_S};
    return secret_may_call(g, who, refusal) &&
           take(g, ACCESS_LIMIT_SECRET, bytes_view_of_text(who->secret_id), of_secret, refusal,
                now_us) &&
           take(g, ACCESS_LIMIT_TENANT, bytes_view_of(who->tenant, sizeof(who->tenant)),
                rate_of_tenant(g, who), refusal, now_us) &&
           take(g, ACCESS_LIMIT_TOTAL, (struct bytes_view){0}, of_all, refusal, now_us);
}

/* --- checks ----------------------------------------------------------------------------------- */

static enum auth_verdict identify(struct access_gate *g, struct bytes_view key,
                                  enum access_need need, struct auth_identity *out)
{
    enum auth_verdict verdict = auth_check(g->auth, key, clock_unix_us() / US_PER_S, out);
    if (verdict == AUTH_PASS && need == ACCESS_ISSUE && g->config->auth == AUTH_KEYS &&
        out->secret_id[0] != '\0') {
        verdict = AUTH_API_KEY_WANTED;
    }
    return verdict;
}

/* Last of all, for it costs most. */
static bool take_session(struct access_gate *g, struct bytes_view key, const char *request_id,
                         struct auth_identity *who, struct http_response *refusal, uint64_t now_us)
{
    if (auth_take_session(g->auth, key, who)) {
        return true;
    }
    refuse_key(g, AUTH_BAD_SECRET, request_id, refusal, now_us);
    return false;
}

static bool check_key(struct access_gate *g, const struct access_visitor *visitor,
                      enum access_need need, struct auth_identity *out,
                      struct http_response *refusal, uint64_t now_us)
{
    const struct bytes_view key =
        visitor->key.len > 0 ? visitor->key : auth_bearer(visitor->authorization);
    const enum auth_verdict verdict = identify(g, key, need, out);
    metric_add(&g->counts.checks_total[verdict], 1);
    if (verdict != AUTH_PASS) {
        refuse_key(g, verdict, visitor->request_id, refusal, now_us);
        return false;
    }
    switch (need) {
    case ACCESS_OFFER:
        return tenant_may_offer(g, out, refusal, now_us) &&
               take_session(g, key, visitor->request_id, out, refusal, now_us);
    case ACCESS_ISSUE:
        return tenant_may_issue(g, out, refusal, now_us);
    default:
        return tenant_may_operate(g, out, refusal, now_us);
    }
}

bool access_gate_check_visitor(struct access_gate *g, const struct access_visitor *visitor,
                               enum access_need need, struct auth_identity *out,
                               struct http_response *refusal, uint64_t now_us)
{
    /* First the address: it costs least, and bounds how often a stranger's key is looked up. */
    if (need == ACCESS_OFFER ? !address_may_offer(g, &visitor->client, refusal, now_us)
                             : !address_may_operate(g, &visitor->client, refusal, now_us)) {
        log_limited(g, NULL, visitor->request_id, now_us);
        return false;
    }
    if (check_key(g, visitor, need, out, refusal, now_us)) {
        return true;
    }
    if (refusal->status == 429) {
        log_limited(g, out->tenant, visitor->request_id, now_us);
    }
    return false;
}

static bool check_page(struct access_gate *g, const struct http_request *request,
                       struct auth_identity *out, struct http_response *refusal, uint64_t now_us)
{
    const struct rate rate = {g->config->limits.demo_secrets_per_minute_per_address, MINUTE_US};
    if (!own_page_is_source(request->host, request->origin, g->config->demo_host)) {
        metric_add(&g->counts.foreign_pages_total, 1);
        *refusal = http_response_error(403, "origin_not_allowed",
                                       bytes_view_of_text("This is for the page at / alone."));
        return false;
    }
    *out = (struct auth_identity){.role = API_KEY_APP};
    if (g->config->auth == AUTH_KEYS) {
        api_keys_tenant(bytes_view_of_text(DEMO_TENANT), out->tenant);
    }
    if (take(g, ACCESS_LIMIT_DEMO, address_of(&request->client), rate, refusal, now_us)) {
        return true;
    }
    log_limited(g, out->tenant, request->id, now_us);
    return false;
}

bool access_gate_check(struct access_gate *g, const struct http_request *request,
                       enum access_need need, struct auth_identity *out,
                       struct http_response *refusal, uint64_t now_us)
{
    const struct access_visitor visitor = {.client = request->client,
                                           .authorization = request->authorization,
                                           .request_id = request->id};
    if (need == ACCESS_DEMO) {
        return check_page(g, request, out, refusal, now_us);
    }
    return access_gate_check_visitor(g, &visitor, need, out, refusal, now_us);
}
