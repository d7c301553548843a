/*
 * ice_agent_world.h - an ICE agent, the checks that a client sends it, and the paths they take
 *
 * A check is good unless a test wants it otherwise.
 */
#ifndef EARSHOT_ICE_AGENT_WORLD_H
#define EARSHOT_ICE_AGENT_WORLD_H

#include "tests/testing.h"

#include "common/crypto/hmac_sha1.h"
#include "common/stun/stun_integrity.h"
#include "services/transceiver/core/transport/ice_agent.h"

#include <stdio.h>

#define T0     (5 * US_PER_S)
#define TOKEN  "H5NdZDc2lJmCIcFu0G39oFA"
#define PWD    "m8Jt0vQ4yL2cX6nB1rK5sD9f"
#define REMOTE "rem0"

static const struct ice_credentials first_credentials = {TOKEN, PWD, REMOTE};
static const struct ice_credentials second_credentials = {"I5NdZDc2lJmCIcFu0G39oFA",
                                                          "a8Jt0vQ4yL2cX6nB1rK5sD9f", "rem1"};
static const struct ice_credentials wrong_pwd = {TOKEN, "m8Jt0vQ4yL2cX6nB1rK5sD9g", REMOTE};

static inline struct ice_agent *make_agent(void)
{
    struct ice_agent *agent = ice_agent_create(&first_credentials, T0);
    assert_non_null(agent);
    return agent;
}

static inline struct net_path path_of(const char *client)
{
    struct net_path path = {0};
    assert_true(net_addr_parse(client, &path.client));
    assert_true(net_addr_parse("10.0.0.1:3500", &path.relay));
    return path;
}

static inline struct net_path client_path(unsigned number)
{
    struct net_path path = path_of("192.0.2.1:5000");
    path.client.port = (uint16_t)(5000 + number);
    return path;
}

/* What a client sends. The default, all zero but the credentials, is a plain good check. */
struct wanted_check {
    const struct ice_credentials *credentials;
    bool is_nominated;
    bool is_controlled;
    bool has_no_role;
    bool has_no_username;
    bool has_no_integrity;
    bool has_no_fingerprint;
    uint16_t required; /* an attribute that we do not know */
    const char *username;
    uint16_t type;
    uint32_t id; /* 0 = a new one */
};

struct sent {
    uint8_t bytes[512];
    size_t len;
};

static uint32_t last_id;

static inline void add_attributes(struct byte_writer *w, const struct wanted_check *wanted)
{
    char username[600];
    const struct ice_credentials *c = wanted->credentials;
    (void)snprintf(username, sizeof(username), "%s:%s", c->local_ufrag, c->remote_ufrag);
    if (!wanted->has_no_username) {
        stun_message_add(
            w, STUN_USERNAME,
            bytes_view_of_text(wanted->username != NULL ? wanted->username : username));
    }
    if (!wanted->has_no_role) {
        const uint16_t role = wanted->is_controlled ? STUN_ICE_CONTROLLED : STUN_ICE_CONTROLLING;
        stun_message_add_u64(w, role, UINT64_C(0x1122334455667788));
        stun_message_add_u32(w, STUN_PRIORITY, 0x7effffff);
    }
    if (wanted->is_nominated) {
        stun_message_add(w, STUN_USE_CANDIDATE, (struct bytes_view){0});
    }
    if (wanted->required != 0) {
        stun_message_add(w, wanted->required, (struct bytes_view){0});
    }
}

static inline struct sent build(struct wanted_check wanted)
{
    struct sent sent = {0};
    struct byte_writer w;
    struct hmac_sha1_key key;
    uint8_t id[STUN_TRANSACTION_ID_BYTES] = {0};
    const uint32_t number = wanted.id != 0 ? wanted.id : ++last_id;
    memcpy(id, &number, sizeof(number));
    if (wanted.credentials == NULL) {
        wanted.credentials = &first_credentials;
    }
    byte_writer_init(&w, sent.bytes, sizeof(sent.bytes));
    stun_message_begin(&w, wanted.type != 0 ? wanted.type : STUN_BINDING_REQUEST, id);
    add_attributes(&w, &wanted);
    hmac_sha1_key_init(&key, bytes_view_of_text(wanted.credentials->local_pwd));
    if (!wanted.has_no_integrity) {
        stun_integrity_append(&w, &key);
    }
    if (!wanted.has_no_fingerprint) {
        stun_fingerprint_append(&w);
    }
    assert_false(w.failed);
    sent.len = w.len;
    return sent;
}

static inline enum ice_input_result input(struct ice_agent *agent, const struct sent *sent,
                                          const struct net_path *from, uint64_t now_us)
{
    struct ice_check check;
    return ice_agent_input(agent, bytes_view_of(sent->bytes, sent->len), from, &check, now_us);
}

static inline enum ice_input_result check_from(struct ice_agent *agent, const struct net_path *from,
                                               struct wanted_check wanted, uint64_t now_us)
{
    const struct sent sent = build(wanted);
    return input(agent, &sent, from, now_us);
}

static inline bool is_selected(const struct ice_agent *agent, const struct net_path *path)
{
    struct net_path selected;
    return ice_agent_selected(agent, &selected) && net_path_equal(&selected, path);
}

static inline void expect_events(struct ice_agent *agent, bool connected, bool moved, bool expired)
{
    bool seen[3] = {false};
    enum ice_event event;
    while (ice_agent_poll_event(agent, &event)) {
        assert_false(seen[event]);
        seen[event] = true;
    }
    assert_int_equal(seen[ICE_EVENT_CONNECTED], connected);
    assert_int_equal(seen[ICE_EVENT_MOVED], moved);
    assert_int_equal(seen[ICE_EVENT_EXPIRED], expired);
}

/* An agent whose selected path is client_path(0), authenticated at T0. */
static inline struct ice_agent *make_connected(void)
{
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, T0), ICE_INPUT_ANSWER);
    assert_true(is_selected(agent, &path));
    expect_events(agent, true, false, false);
    return agent;
}

static inline struct sent answer_to(struct ice_agent *agent, const struct sent *sent,
                                    const struct net_path *from)
{
    struct sent answer = {0};
    struct ice_check check;
    struct byte_writer w;
    assert_int_equal(
        ice_agent_input(agent, bytes_view_of(sent->bytes, sent->len), from, &check, T0),
        ICE_INPUT_ANSWER);
    byte_writer_init(&w, answer.bytes, sizeof(answer.bytes));
    ice_agent_begin_answer(&check, &w);
    ice_agent_finish_answer(&check, &w);
    assert_false(w.failed);
    answer.len = w.len;
    return answer;
}

static inline void parse_answer(const struct sent *answer, const struct sent *request,
                                const char *pwd, struct stun_message *out)
{
    struct hmac_sha1_key key;
    hmac_sha1_key_init(&key, bytes_view_of_text(pwd));
    assert_int_equal(stun_message_parse(bytes_view_of(answer->bytes, answer->len), out), STUN_OK);
    assert_memory_equal(out->transaction_id, request->bytes + 8, STUN_TRANSACTION_ID_BYTES);
    assert_true(stun_integrity_verify(out, &key));
    assert_int_not_equal(out->fingerprint_offset, 0);
    assert_true(stun_fingerprint_verify(out));
}

#endif
