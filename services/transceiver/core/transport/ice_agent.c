/* ice_agent.c - see ice_agent.h */
#include "services/transceiver/core/transport/ice_agent.h"

#include "common/crypto/hmac_sha1.h"
#include "common/stun/stun_integrity.h"

#include <stdlib.h>

#define USERNAME_BYTES_MAX (ICE_OWN_UFRAG_CHARS_MAX + 1 + ICE_UFRAG_CHARS_MAX)

static_assert(USERNAME_BYTES_MAX <= STUN_USERNAME_BYTES_MAX, "a longest USERNAME can be read");

#define ERROR_UNKNOWN_ATTRIBUTE 420 /* RFC 8489 s.14.8 */
#define ERROR_ROLE_CONFLICT     487 /* RFC 8445 s.7.3.1.1 */

enum ice_state { ICE_STATE_CHECKING, ICE_STATE_CONNECTED, ICE_STATE_EXPIRED };

enum ice_timer { ICE_TIMER_CONSENT, ICE_TIMER_OLD_GENERATION, ICE_TIMER_COUNT };

#define EVENT_COUNT (ICE_EVENT_EXPIRED + 1)

struct generation {
    bool is_valid;
    uint8_t username[USERNAME_BYTES_MAX]; /* of a check: ours, a colon, the client's ufrag */
    size_t username_bytes;
    struct hmac_sha1_key password;
};

struct transaction {
    uint8_t id[STUN_TRANSACTION_ID_BYTES];
    bool is_tcp;
    uint8_t repeats;
    struct net_addr client;
};

struct known_path {
    struct net_path path;
    uint64_t authenticated_us; /* when something new and authentic last came by it */
};

struct ice_agent {
    enum ice_state state;
    struct generation current;
    struct generation old;  /* what the client used before a restart */
    bool awaits_nomination; /* a restart happened, and no nominated check since */
    struct transaction transactions[ICE_TRANSACTIONS_MAX];
    size_t transaction_count; /* ever remembered: the next one overwrites the oldest */
    struct known_path paths[ICE_PATHS_MAX];
    size_t path_count;
    size_t selected; /* an index of paths, as soon as path_count > 0 */
    uint64_t last_alive_us;
    uint64_t budget_us; /* when the checks so far would have come, one each interval */
    uint64_t deadline_us[ICE_TIMER_COUNT];
    bool is_pending[EVENT_COUNT];
};

const char *ice_input_result_name(enum ice_input_result result)
{
    static const char *const name[ICE_INPUT_RESULT_COUNT] = {
        [ICE_INPUT_ANSWER] = "answer",           [ICE_INPUT_ANSWER_AGAIN] = "answer_again",
        [ICE_INPUT_KEEPALIVE] = "keepalive",     [ICE_INPUT_MALFORMED] = "malformed",
        [ICE_INPUT_NOT_REQUEST] = "not_request", [ICE_INPUT_USERNAME] = "username",
        [ICE_INPUT_INTEGRITY] = "integrity",     [ICE_INPUT_FINGERPRINT] = "fingerprint",
        [ICE_INPUT_REPLAY] = "replay",           [ICE_INPUT_REPEATED] = "repeated",
        [ICE_INPUT_BUDGET] = "budget",           [ICE_INPUT_EXPIRED] = "expired",
    };
    assert(result < ICE_INPUT_RESULT_COUNT);
    return name[result];
}

static void generation_set(struct generation *g, const struct ice_credentials *credentials)
{
    struct byte_writer w;
    byte_writer_init(&w, g->username, sizeof(g->username));
    byte_writer_bytes(&w, bytes_view_of_text(credentials->local_ufrag));
    byte_writer_u8(&w, ':');
    byte_writer_bytes(&w, bytes_view_of_text(credentials->remote_ufrag));
    assert(!w.failed); /* the SDP parser and the token bound both ufrags */
    g->username_bytes = w.len;
    hmac_sha1_key_init(&g->password, bytes_view_of_text(credentials->local_pwd));
    g->is_valid = true;
}

static void generation_forget(struct generation *g)
{
    g->is_valid = false;
    hmac_sha1_key_wipe(&g->password);
}

static bool generation_has(const struct generation *g, struct bytes_view username)
{
    return g->is_valid && username.data != NULL &&
           bytes_equal(username, bytes_view_of(g->username, g->username_bytes));
}

static void note_alive(struct ice_agent *agent, uint64_t now_us)
{
    agent->last_alive_us = now_us;
    agent->deadline_us[ICE_TIMER_CONSENT] = now_us + ICE_CONSENT_US;
}

struct ice_agent *ice_agent_create(const struct ice_credentials *credentials, uint64_t now_us)
{
    struct ice_agent *agent = calloc(1, sizeof(*agent));
    if (agent == NULL) {
        return NULL;
    }
    agent->state = ICE_STATE_CHECKING;
    agent->deadline_us[ICE_TIMER_OLD_GENERATION] = TIME_NEVER;
    generation_set(&agent->current, credentials);
    note_alive(agent, now_us);
    return agent;
}

void ice_agent_destroy(struct ice_agent *agent)
{
    if (agent == NULL) {
        return;
    }
    generation_forget(&agent->current);
    generation_forget(&agent->old);
    free(agent);
}

static void forget_old_generation(struct ice_agent *agent)
{
    generation_forget(&agent->old);
    agent->deadline_us[ICE_TIMER_OLD_GENERATION] = TIME_NEVER;
}

static void enter(struct ice_agent *agent, enum ice_state state)
{
    switch (state) {
    case ICE_STATE_CONNECTED:
        assert(agent->state == ICE_STATE_CHECKING);
        agent->is_pending[ICE_EVENT_CONNECTED] = true;
        break;
    case ICE_STATE_EXPIRED:
        assert(agent->state != ICE_STATE_EXPIRED);
        forget_old_generation(agent);
        generation_forget(&agent->current);
        agent->deadline_us[ICE_TIMER_CONSENT] = TIME_NEVER;
        agent->is_pending[ICE_EVENT_EXPIRED] = true;
        break;
    case ICE_STATE_CHECKING:
        assert(false && "nothing leads back to the first state");
        break;
    }
    agent->state = state;
}

static bool is_same_client(const struct net_path *a, const struct net_path *b)
{
    return a->is_tcp == b->is_tcp && net_addr_equal(&a->client, &b->client);
}

static struct known_path *find_path(struct ice_agent *agent, const struct net_path *path)
{
    for (size_t i = 0; i < agent->path_count; i++) {
        if (net_path_equal(&agent->paths[i].path, path)) {
            return &agent->paths[i];
        }
    }
    return NULL;
}

/* A free place, or that of the path which authenticated longest ago and is not selected. */
static struct known_path *place_for_path(struct ice_agent *agent)
{
    if (agent->path_count < ICE_PATHS_MAX) {
        return &agent->paths[agent->path_count++];
    }
    struct known_path *oldest = &agent->paths[agent->selected == 0 ? 1 : 0];
    for (size_t i = 0; i < ICE_PATHS_MAX; i++) {
        struct known_path *p = &agent->paths[i];
        if (i != agent->selected && p->authenticated_us < oldest->authenticated_us) {
            oldest = p;
        }
    }
    return oldest;
}

static struct known_path *touch_path(struct ice_agent *agent, const struct net_path *path,
                                     uint64_t now_us)
{
    struct known_path *known = find_path(agent, path);
    if (known == NULL) {
        known = place_for_path(agent);
        known->path = *path;
    }
    known->authenticated_us = now_us;
    return known;
}

static void select_path(struct ice_agent *agent, const struct known_path *path)
{
    const size_t index = (size_t)(path - agent->paths);
    if (agent->state == ICE_STATE_CHECKING) {
        agent->selected = index;
        enter(agent, ICE_STATE_CONNECTED);
    } else if (index != agent->selected) {
        agent->selected = index;
        agent->is_pending[ICE_EVENT_MOVED] = true;
    }
}

bool ice_agent_is_validated(const struct ice_agent *agent, const struct net_path *path)
{
    for (size_t i = 0; i < agent->path_count; i++) {
        if (is_same_client(&agent->paths[i].path, path)) {
            return true;
        }
    }
    return false;
}

bool ice_agent_selected(const struct ice_agent *agent, struct net_path *out)
{
    if (agent->state != ICE_STATE_CONNECTED) {
        return false;
    }
    *out = agent->paths[agent->selected].path;
    return true;
}

static enum ice_input_result read_request(struct bytes_view datagram, struct stun_message *out)
{
    if (stun_message_parse(datagram, out) != STUN_OK) {
        return ICE_INPUT_MALFORMED;
    }
    switch (out->type) {
    case STUN_BINDING_REQUEST:
        return ICE_INPUT_ANSWER;
    case STUN_BINDING_INDICATION:
        return ICE_INPUT_KEEPALIVE;
    default:
        return ICE_INPUT_NOT_REQUEST;
    }
}

/* So no check with the current generation has passed: that would have ended it. */
static bool is_old_good(const struct ice_agent *agent, uint64_t now_us)
{
    return agent->old.is_valid && now_us < agent->deadline_us[ICE_TIMER_OLD_GENERATION];
}

static const struct generation *find_generation(const struct ice_agent *agent,
                                                struct bytes_view username, uint64_t now_us)
{
    if (generation_has(&agent->current, username)) {
        return &agent->current;
    }
    const bool is_of_old = is_old_good(agent, now_us) && generation_has(&agent->old, username);
    return is_of_old ? &agent->old : NULL;
}

static enum ice_input_result authenticate(const struct stun_message *request,
                                          const struct generation *generation)
{
    if (generation == NULL) {
        return ICE_INPUT_USERNAME;
    }
    if (!stun_integrity_verify(request, &generation->password)) {
        return ICE_INPUT_INTEGRITY;
    }
    return stun_fingerprint_verify(request) ? ICE_INPUT_ANSWER : ICE_INPUT_FINGERPRINT;
}

static struct transaction *find_transaction(struct ice_agent *agent, const uint8_t *id)
{
    const size_t held = agent->transaction_count < ICE_TRANSACTIONS_MAX ? agent->transaction_count
                                                                        : ICE_TRANSACTIONS_MAX;
    for (size_t i = 0; i < held; i++) {
        if (memcmp(agent->transactions[i].id, id, STUN_TRANSACTION_ID_BYTES) == 0) {
            return &agent->transactions[i];
        }
    }
    return NULL;
}

static void remember_transaction(struct ice_agent *agent, const uint8_t *id,
                                 const struct net_path *from)
{
    struct transaction *t = &agent->transactions[agent->transaction_count % ICE_TRANSACTIONS_MAX];
    *t = (struct transaction){.client = from->client, .is_tcp = from->is_tcp};
    memcpy(t->id, id, sizeof(t->id));
    agent->transaction_count++;
}

/* A client that lost our answer asks again with the same id; so does someone who recorded it. */
static enum ice_input_result repeat(struct transaction *t, const struct net_path *from)
{
    if (t->is_tcp != from->is_tcp || !net_addr_equal(&t->client, &from->client)) {
        return ICE_INPUT_REPLAY;
    }
    if (t->repeats == ICE_REPEATS_MAX) {
        return ICE_INPUT_REPEATED;
    }
    t->repeats++;
    return ICE_INPUT_ANSWER_AGAIN;
}

/* A bucket kept as one time: how far it lies ahead of now is how much of the burst is used. */
static bool take_from_budget(struct ice_agent *agent, uint64_t now_us)
{
    const uint64_t used_until_us = time_later(agent->budget_us, now_us);
    if (used_until_us - now_us > (ICE_CHECK_BURST - 1) * ICE_CHECK_INTERVAL_US) {
        return false;
    }
    agent->budget_us = used_until_us + ICE_CHECK_INTERVAL_US;
    return true;
}

/* A lite agent is always controlled. A check without any role is taken for a controlling one. */
static uint16_t error_of(const struct stun_message *request)
{
    if (request->unknown_required != 0) {
        return ERROR_UNKNOWN_ATTRIBUTE;
    }
    return request->ice_controlled ? ERROR_ROLE_CONFLICT : 0;
}

static void take_good_check(struct ice_agent *agent, const struct ice_check *check,
                            bool is_current_generation, uint64_t now_us)
{
    const bool is_first = agent->path_count == 0;
    const bool is_old_path_silent =
        !is_first &&
        time_since(agent->paths[agent->selected].authenticated_us, now_us) >= ICE_SILENCE_US;
    const bool is_nominated = check->request.use_candidate;
    const bool ends_restart = agent->awaits_nomination && is_current_generation && is_nominated;
    const struct known_path *path = touch_path(agent, &check->from, now_us);
    if (is_first || (is_nominated && is_old_path_silent) || ends_restart) {
        select_path(agent, path);
    }
    if (is_current_generation) {
        forget_old_generation(agent);
    }
    if (ends_restart) {
        agent->awaits_nomination = false;
    }
}

enum ice_input_result ice_agent_input(struct ice_agent *agent, struct bytes_view datagram,
                                      const struct net_path *from, struct ice_check *out_check,
                                      uint64_t now_us)
{
    struct stun_message *request = &out_check->request;
    if (agent->state == ICE_STATE_EXPIRED) {
        return ICE_INPUT_EXPIRED;
    }
    const enum ice_input_result kind = read_request(datagram, request);
    if (kind != ICE_INPUT_ANSWER) {
        return kind;
    }
    const struct generation *generation = find_generation(agent, request->username, now_us);
    const enum ice_input_result verdict = authenticate(request, generation);
    if (verdict != ICE_INPUT_ANSWER) {
        return verdict;
    }
    out_check->from = *from;
    out_check->error_code = error_of(request);
    out_check->password = &generation->password;

    struct transaction *seen = find_transaction(agent, request->transaction_id);
    if (seen != NULL) {
        return repeat(seen, from);
    }
    if (!take_from_budget(agent, now_us)) {
        return ICE_INPUT_BUDGET;
    }
    remember_transaction(agent, request->transaction_id, from);
    note_alive(agent, now_us);
    if (out_check->error_code == 0) {
        take_good_check(agent, out_check, generation == &agent->current, now_us);
    }
    return ICE_INPUT_ANSWER;
}

void ice_agent_begin_answer(const struct ice_check *check, struct byte_writer *w)
{
    const uint8_t *id = check->request.transaction_id;
    switch (check->error_code) {
    case 0:
        stun_message_begin(w, STUN_BINDING_SUCCESS, id);
        stun_message_add_xor_address(w, STUN_XOR_MAPPED_ADDRESS, &check->from.client);
        break;
    case ERROR_ROLE_CONFLICT:
        stun_message_begin(w, STUN_BINDING_ERROR, id);
        stun_message_add_error(w, ERROR_ROLE_CONFLICT, "Role Conflict");
        break;
    default: {
        const uint16_t unknown = check->request.unknown_required;
        const uint8_t list[] = {(uint8_t)(unknown >> 8), (uint8_t)unknown};
        stun_message_begin(w, STUN_BINDING_ERROR, id);
        /* A longer phrase would make the answer longer than the request. */
        stun_message_add_error(w, ERROR_UNKNOWN_ATTRIBUTE, "Unknown");
        stun_message_add(w, STUN_UNKNOWN_ATTRIBUTES, bytes_view_of(list, sizeof(list)));
        break;
    }
    }
}

void ice_agent_finish_answer(const struct ice_check *check, struct byte_writer *w)
{
    stun_integrity_append(w, check->password);
    stun_fingerprint_append(w);
}

void ice_agent_note_authenticated(struct ice_agent *agent, const struct net_path *path,
                                  bool is_newest, uint64_t now_us)
{
    if (agent->state == ICE_STATE_EXPIRED) {
        return;
    }
    note_alive(agent, now_us);
    /* A packet that someone held back and sends from elsewhere is authentic, but not the newest:
     * no path is learned from it. */
    if (is_newest) {
        select_path(agent, touch_path(agent, path, now_us));
    } else if (find_path(agent, path) != NULL) {
        (void)touch_path(agent, path, now_us);
    }
}

uint64_t ice_agent_last_alive_us(const struct ice_agent *agent)
{
    return agent->last_alive_us;
}

void ice_agent_restart(struct ice_agent *agent, const struct ice_credentials *credentials,
                       uint64_t now_us)
{
    if (agent->state == ICE_STATE_EXPIRED) {
        return;
    }
    /* Else the client has never used the current one, maybe never got it: it still lives by the
     * old one, whose time is not lengthened by restarts that go wrong. */
    if (!is_old_good(agent, now_us)) {
        agent->old = agent->current;
        agent->deadline_us[ICE_TIMER_OLD_GENERATION] = now_us + ICE_OLD_GENERATION_US;
    }
    agent->awaits_nomination = true;
    generation_set(&agent->current, credentials);
}

void ice_agent_tick(struct ice_agent *agent, uint64_t now_us)
{
    if (now_us >= agent->deadline_us[ICE_TIMER_OLD_GENERATION]) {
        forget_old_generation(agent);
    }
    if (now_us >= agent->deadline_us[ICE_TIMER_CONSENT]) {
        enter(agent, ICE_STATE_EXPIRED);
    }
}

uint64_t ice_agent_next_timeout(const struct ice_agent *agent)
{
    uint64_t first_us = TIME_NEVER;
    for (size_t i = 0; i < ICE_TIMER_COUNT; i++) {
        first_us = time_earlier(first_us, agent->deadline_us[i]);
    }
    return first_us;
}

bool ice_agent_poll_event(struct ice_agent *agent, enum ice_event *out)
{
    for (size_t i = 0; i < EVENT_COUNT; i++) {
        if (agent->is_pending[i]) {
            agent->is_pending[i] = false;
            *out = (enum ice_event)i;
            return true;
        }
    }
    return false;
}
