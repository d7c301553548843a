/* ice_agent_test.c - who is answered, which paths are believed, and when the path moves */
#include "tests/testing.h"

#include "common/base/random.h"
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

static struct ice_agent *make_agent(void)
{
    struct ice_agent *agent = ice_agent_create(&first_credentials, T0);
    assert_non_null(agent);
    return agent;
}

static struct net_path path_of(const char *client)
{
    struct net_path path = {0};
    assert_true(net_addr_parse(client, &path.client));
    assert_true(net_addr_parse("10.0.0.1:3500", &path.relay));
    return path;
}

static struct net_path client_path(unsigned number)
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

static void add_attributes(struct byte_writer *w, const struct wanted_check *wanted)
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

static struct sent build(struct wanted_check wanted)
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

static enum ice_input_result input(struct ice_agent *agent, const struct sent *sent,
                                   const struct net_path *from, uint64_t now_us)
{
    struct ice_check check;
    return ice_agent_input(agent, bytes_view_of(sent->bytes, sent->len), from, &check, now_us);
}

static enum ice_input_result check_from(struct ice_agent *agent, const struct net_path *from,
                                        struct wanted_check wanted, uint64_t now_us)
{
    const struct sent sent = build(wanted);
    return input(agent, &sent, from, now_us);
}

static bool is_selected(const struct ice_agent *agent, const struct net_path *path)
{
    struct net_path selected;
    return ice_agent_selected(agent, &selected) && net_path_equal(&selected, path);
}

static void expect_events(struct ice_agent *agent, bool connected, bool moved, bool expired)
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
static struct ice_agent *make_connected(void)
{
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, T0), ICE_INPUT_ANSWER);
    assert_true(is_selected(agent, &path));
    expect_events(agent, true, false, false);
    return agent;
}

static struct sent answer_to(struct ice_agent *agent, const struct sent *sent,
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

static void parse_answer(const struct sent *answer, const struct sent *request, const char *pwd,
                         struct stun_message *out)
{
    struct hmac_sha1_key key;
    hmac_sha1_key_init(&key, bytes_view_of_text(pwd));
    assert_int_equal(stun_message_parse(bytes_view_of(answer->bytes, answer->len), out), STUN_OK);
    assert_memory_equal(out->transaction_id, request->bytes + 8, STUN_TRANSACTION_ID_BYTES);
    assert_true(stun_integrity_verify(out, &key));
    assert_int_not_equal(out->fingerprint_offset, 0);
    assert_true(stun_fingerprint_verify(out));
}

static void a_check_is_answered_with_the_address_it_came_from(void **state)
{
    (void)state;
    static const char *const client[] = {"192.0.2.1:5000", "[2001:db8::7]:65535"};
    for (size_t i = 0; i < COUNT_OF(client); i++) {
        struct ice_agent *agent = make_agent();
        const struct net_path path = path_of(client[i]);
        const struct sent request = build((struct wanted_check){0});
        const struct sent answer = answer_to(agent, &request, &path);
        struct stun_message m;
        parse_answer(&answer, &request, PWD, &m);
        assert_int_equal(m.type, STUN_BINDING_SUCCESS);
        assert_true(m.has_xor_mapped_address);
        assert_true(net_addr_equal(&m.xor_mapped_address, &path.client));
        assert_true(is_selected(agent, &path));
        ice_agent_destroy(agent);
    }
}

static void no_answer_is_longer_than_the_shortest_request_that_gets_it(void **state)
{
    (void)state;
    static const struct wanted_check shortest[] = {
        {.has_no_fingerprint = true, .has_no_role = true},
        {.has_no_fingerprint = true, .is_controlled = true},
        {.has_no_fingerprint = true, .has_no_role = true, .required = 0x7fff},
    };
    for (size_t i = 0; i < COUNT_OF(shortest); i++) {
        struct ice_agent *agent = make_agent();
        const struct net_path path = path_of("[2001:db8::7]:65535");
        const struct sent request = build(shortest[i]);
        const struct sent answer = answer_to(agent, &request, &path);
        assert_in_range(answer.len, 1, request.len);
        ice_agent_destroy(agent);
    }
}

static void attributes_may_be_added_to_an_answer(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    const struct sent request = build((struct wanted_check){0});
    struct ice_check check;
    struct stun_message m;
    struct bytes_view added;
    struct sent answer = {0};
    struct byte_writer w;
    assert_int_equal(
        ice_agent_input(agent, bytes_view_of(request.bytes, request.len), &path, &check, T0),
        ICE_INPUT_ANSWER);
    byte_writer_init(&w, answer.bytes, sizeof(answer.bytes));
    ice_agent_begin_answer(&check, &w);
    stun_message_add(&w, 0xc070, bytes_view_of_text("DTLS"));
    ice_agent_finish_answer(&check, &w);
    answer.len = w.len;
    parse_answer(&answer, &request, PWD, &m);
    assert_true(stun_message_find(&m, 0xc070, &added));
    assert_true(bytes_equal(added, bytes_view_of_text("DTLS")));
    ice_agent_destroy(agent);
}

static void a_check_without_a_role_is_answered(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    const struct wanted_check bare = {.has_no_role = true, .has_no_fingerprint = true};
    assert_int_equal(check_from(agent, &path, bare, T0), ICE_INPUT_ANSWER);
    assert_true(is_selected(agent, &path));
    ice_agent_destroy(agent);
}

static const struct {
    struct wanted_check wanted;
    uint16_t code;
} error_case[] = {
    {{.is_controlled = true}, 487},
    {{.is_controlled = true, .is_nominated = true}, 487},
    {{.required = 0x0015}, 420},
    {{.required = 0x7fff, .is_controlled = true}, 420},
};

static void a_check_that_breaks_the_rules_gets_an_error_and_no_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(error_case); i++) {
        struct ice_agent *agent = make_agent();
        const struct net_path path = client_path(0);
        const struct sent request = build(error_case[i].wanted);
        const struct sent answer = answer_to(agent, &request, &path);
        struct stun_message m;
        struct net_path selected;
        parse_answer(&answer, &request, PWD, &m);
        assert_int_equal(m.type, STUN_BINDING_ERROR);
        assert_int_equal(m.error_code, error_case[i].code);
        assert_false(m.has_xor_mapped_address);
        assert_false(ice_agent_selected(agent, &selected));
        assert_false(ice_agent_is_validated(agent, &path));
        expect_events(agent, false, false, false);
        ice_agent_destroy(agent);
    }
}

static void an_unknown_attribute_is_named_in_the_answer(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    const struct sent request = build((struct wanted_check){.required = 0x1234});
    const struct sent answer = answer_to(agent, &request, &path);
    const uint8_t list[] = {0x12, 0x34};
    struct stun_message m;
    struct bytes_view value;
    parse_answer(&answer, &request, PWD, &m);
    assert_true(stun_message_find(&m, STUN_UNKNOWN_ATTRIBUTES, &value));
    assert_true(bytes_equal(value, bytes_view_of(list, sizeof(list))));
    ice_agent_destroy(agent);
}

static void an_unknown_attribute_that_may_be_ignored_is_ignored(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    const struct wanted_check with_network_cost = {.required = 0xc057};
    assert_int_equal(check_from(agent, &path, with_network_cost, T0), ICE_INPUT_ANSWER);
    assert_true(is_selected(agent, &path));
    ice_agent_destroy(agent);
}

static const struct ice_credentials wrong_pwd = {TOKEN, "m8Jt0vQ4yL2cX6nB1rK5sD9g", REMOTE};

static const struct {
    struct wanted_check wanted;
    enum ice_input_result result;
} refused_case[] = {
    {{.type = STUN_BINDING_INDICATION}, ICE_INPUT_KEEPALIVE},
    {{.type = STUN_BINDING_INDICATION, .has_no_username = true, .has_no_integrity = true},
     ICE_INPUT_KEEPALIVE},
    {{.type = STUN_BINDING_SUCCESS}, ICE_INPUT_NOT_REQUEST},
    {{.type = STUN_BINDING_ERROR}, ICE_INPUT_NOT_REQUEST},
    {{.type = 0x0003}, ICE_INPUT_NOT_REQUEST}, /* TURN Allocate */
    {{.has_no_username = true}, ICE_INPUT_USERNAME},
    {{.username = ""}, ICE_INPUT_USERNAME},
    {{.username = TOKEN}, ICE_INPUT_USERNAME},
    {{.username = TOKEN ":"}, ICE_INPUT_USERNAME},
    {{.username = REMOTE ":" TOKEN}, ICE_INPUT_USERNAME},
    {{.username = TOKEN ":rem"}, ICE_INPUT_USERNAME},
    {{.username = TOKEN ":rem00"}, ICE_INPUT_USERNAME},
    {{.username = TOKEN ":reM0"}, ICE_INPUT_USERNAME},
    {{.username = TOKEN "::rem0"}, ICE_INPUT_USERNAME},
    {{.credentials = &second_credentials}, ICE_INPUT_USERNAME},
    {{.credentials = &wrong_pwd}, ICE_INPUT_INTEGRITY},
    {{.has_no_integrity = true}, ICE_INPUT_INTEGRITY},
    {{.has_no_integrity = true, .required = 0x7fff}, ICE_INPUT_INTEGRITY},
    {{.credentials = &wrong_pwd, .is_controlled = true}, ICE_INPUT_INTEGRITY},
};

static void what_is_not_authentic_gets_no_answer_and_changes_nothing(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    struct net_path selected;
    for (size_t i = 0; i < COUNT_OF(refused_case); i++) {
        assert_int_equal(check_from(agent, &path, refused_case[i].wanted, T0 + 1),
                         refused_case[i].result);
        assert_false(ice_agent_selected(agent, &selected));
        assert_false(ice_agent_is_validated(agent, &path));
        assert_true(ice_agent_last_alive_us(agent) == T0);
    }
    expect_events(agent, false, false, false);
    ice_agent_destroy(agent);
}

static void a_wrong_fingerprint_is_refused_an_absent_one_is_not(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    struct sent sent = build((struct wanted_check){0});
    sent.bytes[sent.len - 1] ^= 1;
    assert_int_equal(input(agent, &sent, &path, T0), ICE_INPUT_FINGERPRINT);
    assert_false(ice_agent_is_validated(agent, &path));
    const struct wanted_check without = {.has_no_fingerprint = true};
    assert_int_equal(check_from(agent, &path, without, T0), ICE_INPUT_ANSWER);
    ice_agent_destroy(agent);
}

static void a_check_with_any_flipped_bit_is_refused(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    struct sent sent = build((struct wanted_check){.is_nominated = true});
    for (size_t bit = 0; bit < sent.len * 8; bit++) {
        sent.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        const enum ice_input_result result = input(agent, &sent, &path, T0 + 1);
        /* FINGERPRINT may turn into an attribute that is ignored behind MESSAGE-INTEGRITY. */
        const bool is_fingerprint_type = bit / 8 == sent.len - 8 || bit / 8 == sent.len - 7;
        if (is_fingerprint_type) {
            assert_true(result == ICE_INPUT_ANSWER || result == ICE_INPUT_ANSWER_AGAIN ||
                        result == ICE_INPUT_REPEATED);
        } else {
            assert_true(result != ICE_INPUT_ANSWER && result != ICE_INPUT_ANSWER_AGAIN);
        }
        sent.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    ice_agent_destroy(agent);
}

static void a_check_cut_at_any_byte_is_malformed(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    struct sent sent = build((struct wanted_check){0});
    while (sent.len > 0) {
        sent.len--;
        assert_int_equal(input(agent, &sent, &path, T0), ICE_INPUT_MALFORMED);
    }
    ice_agent_destroy(agent);
}

static void a_transaction_id_is_answered_three_times(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path other = client_path(1);
    const struct sent sent = build((struct wanted_check){0});
    assert_int_equal(input(agent, &sent, &other, T0 + 1), ICE_INPUT_ANSWER);
    for (int i = 0; i < ICE_REPEATS_MAX; i++) {
        assert_int_equal(input(agent, &sent, &other, T0 + 2), ICE_INPUT_ANSWER_AGAIN);
    }
    assert_int_equal(input(agent, &sent, &other, T0 + 2), ICE_INPUT_REPEATED);
    ice_agent_destroy(agent);
}

static void a_repeat_gets_the_same_answer(void **state)
{
    (void)state;
    static const struct wanted_check wanted[] = {{0}, {.is_controlled = true}};
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        struct ice_agent *agent = make_agent();
        const struct net_path path = client_path(0);
        const struct sent sent = build(wanted[i]);
        const struct sent first = answer_to(agent, &sent, &path);
        struct ice_check check;
        struct sent again = {0};
        struct byte_writer w;
        assert_int_equal(
            ice_agent_input(agent, bytes_view_of(sent.bytes, sent.len), &path, &check, T0 + 1),
            ICE_INPUT_ANSWER_AGAIN);
        byte_writer_init(&w, again.bytes, sizeof(again.bytes));
        ice_agent_begin_answer(&check, &w);
        ice_agent_finish_answer(&check, &w);
        assert_int_equal(w.len, first.len);
        assert_memory_equal(again.bytes, first.bytes, first.len);
        ice_agent_destroy(agent);
    }
}

static void a_known_transaction_id_from_elsewhere_is_a_replay(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path from = client_path(1);
    struct net_path other_port = client_path(2);
    struct net_path other_transport = from;
    struct net_path other_relay = from;
    const struct sent sent = build((struct wanted_check){0});
    other_transport.is_tcp = true;
    other_relay.relay.port++;
    assert_int_equal(input(agent, &sent, &from, T0), ICE_INPUT_ANSWER);
    assert_int_equal(input(agent, &sent, &other_port, T0), ICE_INPUT_REPLAY);
    assert_int_equal(input(agent, &sent, &other_transport, T0), ICE_INPUT_REPLAY);
    assert_false(ice_agent_is_validated(agent, &other_port));
    assert_false(ice_agent_is_validated(agent, &other_transport));
    assert_int_equal(input(agent, &sent, &other_relay, T0), ICE_INPUT_ANSWER_AGAIN);
    ice_agent_destroy(agent);
}

static void a_repeat_neither_moves_the_path_nor_keeps_alive(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    const struct sent sent = build((struct wanted_check){.is_nominated = true});
    assert_int_equal(input(agent, &sent, &new, T0 + 1), ICE_INPUT_ANSWER);
    assert_true(is_selected(agent, &old)); /* it is not silent yet */
    assert_int_equal(input(agent, &sent, &new, T0 + US_PER_S), ICE_INPUT_ANSWER_AGAIN);
    assert_true(is_selected(agent, &old));
    assert_true(ice_agent_last_alive_us(agent) == T0 + 1);
    ice_agent_destroy(agent);
}

static void the_last_64_transaction_ids_are_known(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    const struct net_path elsewhere = client_path(1);
    const uint32_t base = UINT32_C(0xaa000000);
    for (uint32_t i = 0; i < ICE_TRANSACTIONS_MAX + 1; i++) {
        assert_int_equal(check_from(agent, &path, (struct wanted_check){.id = base + i}, T0),
                         ICE_INPUT_ANSWER);
    }
    for (uint32_t i = 1; i < ICE_TRANSACTIONS_MAX + 1; i++) {
        assert_int_equal(check_from(agent, &elsewhere, (struct wanted_check){.id = base + i}, T0),
                         ICE_INPUT_REPLAY);
    }
    assert_int_equal(check_from(agent, &elsewhere, (struct wanted_check){.id = base}, T0),
                     ICE_INPUT_ANSWER);
    ice_agent_destroy(agent);
}

static void checks_are_budgeted_to_200_at_once_and_100_a_second(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    for (int i = 0; i < ICE_CHECK_BURST; i++) {
        assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, T0), ICE_INPUT_ANSWER);
    }
    assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, T0), ICE_INPUT_BUDGET);
    uint64_t now_us = T0 + ICE_CHECK_INTERVAL_US - 1;
    assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, now_us), ICE_INPUT_BUDGET);
    for (int i = 1; i <= 300; i++) {
        now_us = T0 + (uint64_t)i * ICE_CHECK_INTERVAL_US;
        assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, now_us),
                         ICE_INPUT_ANSWER);
        assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, now_us),
                         ICE_INPUT_BUDGET);
    }
    /* Idle for long, the burst is whole again, and not larger. */
    now_us += 3600 * US_PER_S;
    for (int i = 0; i < ICE_CHECK_BURST; i++) {
        assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, now_us),
                         ICE_INPUT_ANSWER);
    }
    assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, now_us), ICE_INPUT_BUDGET);
    ice_agent_destroy(agent);
}

static void forged_and_repeated_checks_do_not_use_the_budget(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    const struct sent first = build((struct wanted_check){0});
    const struct wanted_check forged = {.credentials = &wrong_pwd};
    assert_int_equal(input(agent, &first, &path, T0), ICE_INPUT_ANSWER);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(check_from(agent, &path, forged, T0), ICE_INPUT_INTEGRITY);
        (void)input(agent, &first, &path, T0);
    }
    for (int i = 0; i < ICE_CHECK_BURST - 1; i++) {
        assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, T0), ICE_INPUT_ANSWER);
    }
    assert_int_equal(check_from(agent, &path, (struct wanted_check){0}, T0), ICE_INPUT_BUDGET);
    ice_agent_destroy(agent);
}

static void the_first_good_check_is_selected_nominated_or_not(void **state)
{
    (void)state;
    for (int nominated = 0; nominated < 2; nominated++) {
        struct ice_agent *agent = make_agent();
        const struct net_path path = client_path(0);
        const struct wanted_check wanted = {.is_nominated = nominated == 1};
        assert_int_equal(check_from(agent, &path, wanted, T0), ICE_INPUT_ANSWER);
        assert_true(is_selected(agent, &path));
        expect_events(agent, true, false, false);
        expect_events(agent, false, false, false);
        ice_agent_destroy(agent);
    }
}

static void a_check_alone_never_moves_the_path(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    for (uint64_t age_us = 0; age_us < 20 * US_PER_S; age_us += US_PER_S) {
        assert_int_equal(check_from(agent, &new, (struct wanted_check){0}, T0 + age_us),
                         ICE_INPUT_ANSWER);
        assert_true(is_selected(agent, &old));
    }
    assert_true(ice_agent_is_validated(agent, &new));
    expect_events(agent, false, false, false);
    ice_agent_destroy(agent);
}

static const struct {
    uint64_t silence_us;
    bool moves;
} silence_case[] = {
    {0, false},
    {ICE_SILENCE_US - 1, false},
    {ICE_SILENCE_US, true},
};

static void a_nominated_check_moves_the_path_after_500_ms_of_silence(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(silence_case); i++) {
        struct ice_agent *agent = make_connected();
        const struct net_path old = client_path(0);
        const struct net_path new = client_path(1);
        const struct wanted_check nominated = {.is_nominated = true};
        ice_agent_note_authenticated(agent, &old, false, T0 + 7);
        const uint64_t now_us = T0 + 7 + silence_case[i].silence_us;
        assert_int_equal(check_from(agent, &new, nominated, now_us), ICE_INPUT_ANSWER);
        assert_int_equal(is_selected(agent, &new), silence_case[i].moves);
        assert_int_equal(is_selected(agent, &old), !silence_case[i].moves);
        expect_events(agent, false, silence_case[i].moves, false);
        ice_agent_destroy(agent);
    }
}

static void a_check_on_the_old_path_breaks_its_silence(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    const struct wanted_check nominated = {.is_nominated = true};
    assert_int_equal(check_from(agent, &old, (struct wanted_check){0}, T0 + US_PER_S),
                     ICE_INPUT_ANSWER);
    (void)check_from(agent, &new, nominated, T0 + US_PER_S + ICE_SILENCE_US - 1);
    assert_true(is_selected(agent, &old));
    (void)check_from(agent, &new, nominated, T0 + US_PER_S + ICE_SILENCE_US);
    assert_true(is_selected(agent, &new));
    ice_agent_destroy(agent);
}

static void traffic_elsewhere_does_not_break_the_silence(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path new = client_path(1);
    (void)check_from(agent, &new, (struct wanted_check){0}, T0 + 1);
    ice_agent_note_authenticated(agent, &new, false, T0 + ICE_SILENCE_US - 1);
    (void)check_from(agent, &new, (struct wanted_check){.is_nominated = true}, T0 + ICE_SILENCE_US);
    assert_true(is_selected(agent, &new));
    ice_agent_destroy(agent);
}

static void the_newest_packet_moves_the_path_at_once(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    (void)check_from(agent, &new, (struct wanted_check){0}, T0);
    ice_agent_note_authenticated(agent, &new, false, T0 + 1);
    assert_true(is_selected(agent, &old)); /* an older one that came late */
    ice_agent_note_authenticated(agent, &new, true, T0 + 2);
    assert_true(is_selected(agent, &new));
    expect_events(agent, false, true, false);
    ice_agent_note_authenticated(agent, &old, true, T0 + 3);
    assert_true(is_selected(agent, &old));
    expect_events(agent, false, true, false);
    ice_agent_note_authenticated(agent, &old, true, T0 + 4);
    expect_events(agent, false, false, false);
    ice_agent_destroy(agent);
}

/* A NAT gave the client another port: its media comes before its next check. */
static void the_newest_packet_from_an_unknown_path_is_believed_a_late_one_is_not(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    ice_agent_note_authenticated(agent, &new, false, T0 + 1);
    assert_false(ice_agent_is_validated(agent, &new));
    assert_true(is_selected(agent, &old));
    ice_agent_note_authenticated(agent, &new, true, T0 + 2);
    assert_true(ice_agent_is_validated(agent, &new));
    assert_true(is_selected(agent, &new));
    ice_agent_destroy(agent);
}

static void the_relay_of_the_return_path_follows_the_same_rules(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    struct net_path new = old;
    assert_true(net_addr_parse("10.0.0.2:3501", &new.relay));
    (void)check_from(agent, &new, (struct wanted_check){.is_nominated = true}, T0 + 1);
    assert_true(is_selected(agent, &old));
    ice_agent_note_authenticated(agent, &new, true, T0 + 2);
    assert_true(is_selected(agent, &new));
    ice_agent_destroy(agent);
}

static void a_client_is_validated_whatever_relay_it_comes_by(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    struct net_path path = client_path(0);
    path.relay.port++;
    assert_true(ice_agent_is_validated(agent, &path));
    path.is_tcp = true;
    assert_false(ice_agent_is_validated(agent, &path));
    path.is_tcp = false;
    path.client.port++;
    assert_false(ice_agent_is_validated(agent, &path));
    ice_agent_destroy(agent);
}

static void the_ninth_path_replaces_the_one_that_authenticated_longest_ago(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    for (unsigned i = 1; i < ICE_PATHS_MAX; i++) {
        const struct net_path path = client_path(i);
        (void)check_from(agent, &path, (struct wanted_check){0}, T0 + i);
    }
    /* 0 is the oldest, but selected; 1 is refreshed, so 2 is next. */
    const struct net_path first = client_path(1);
    (void)check_from(agent, &first, (struct wanted_check){0}, T0 + 100);
    const struct net_path ninth = client_path(8);
    (void)check_from(agent, &ninth, (struct wanted_check){0}, T0 + 101);
    for (unsigned i = 0; i <= ICE_PATHS_MAX; i++) {
        const struct net_path path = client_path(i);
        assert_int_equal(ice_agent_is_validated(agent, &path), i != 2);
    }
    const struct net_path selected = client_path(0);
    assert_true(is_selected(agent, &selected));
    ice_agent_destroy(agent);
}

static void the_selected_path_survives_any_number_of_others(void **state)
{
    (void)state;
    for (unsigned selected_index = 0; selected_index < ICE_PATHS_MAX; selected_index++) {
        struct ice_agent *agent = make_agent();
        for (unsigned i = 0; i <= selected_index; i++) {
            const struct net_path path = client_path(i);
            (void)check_from(agent, &path, (struct wanted_check){0}, T0);
        }
        const struct net_path selected = client_path(selected_index);
        ice_agent_note_authenticated(agent, &selected, true, T0);
        for (unsigned i = 100; i < 190; i++) {
            const struct net_path path = client_path(i);
            (void)check_from(agent, &path, (struct wanted_check){0}, T0 + i);
            assert_true(ice_agent_is_validated(agent, &path));
        }
        assert_true(is_selected(agent, &selected));
        assert_true(ice_agent_is_validated(agent, &selected));
        ice_agent_destroy(agent);
    }
}

static void consent_lasts_30_s_from_the_last_authentic_datagram(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    struct net_path selected;
    const uint64_t alive_us = T0 + 3 * US_PER_S;
    ice_agent_note_authenticated(agent, &path, false, alive_us);
    assert_true(ice_agent_last_alive_us(agent) == alive_us);
    assert_true(ice_agent_next_timeout(agent) == alive_us + ICE_CONSENT_US);
    ice_agent_tick(agent, alive_us + ICE_CONSENT_US - 1);
    assert_true(ice_agent_selected(agent, &selected));
    expect_events(agent, false, false, false);
    ice_agent_tick(agent, alive_us + ICE_CONSENT_US);
    assert_false(ice_agent_selected(agent, &selected));
    expect_events(agent, false, false, true);
    assert_true(ice_agent_next_timeout(agent) == TIME_NEVER);
    ice_agent_destroy(agent);
}

static void an_agent_that_never_sees_a_check_expires_after_30_s(void **state)
{
    (void)state;
    struct ice_agent *agent = make_agent();
    const struct net_path path = client_path(0);
    (void)check_from(agent, &path, (struct wanted_check){.credentials = &wrong_pwd}, T0 + US_PER_S);
    ice_agent_tick(agent, T0 + ICE_CONSENT_US - 1);
    expect_events(agent, false, false, false);
    ice_agent_tick(agent, T0 + ICE_CONSENT_US);
    expect_events(agent, false, false, true);
    ice_agent_destroy(agent);
}

static void each_kind_of_authentic_datagram_keeps_alive(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    const struct net_path unknown = client_path(9);
    (void)check_from(agent, &path, (struct wanted_check){0}, T0 + 1);
    assert_true(ice_agent_last_alive_us(agent) == T0 + 1);
    (void)check_from(agent, &path, (struct wanted_check){.is_controlled = true}, T0 + 2);
    assert_true(ice_agent_last_alive_us(agent) == T0 + 2);
    ice_agent_note_authenticated(agent, &path, true, T0 + 3);
    assert_true(ice_agent_last_alive_us(agent) == T0 + 3);
    ice_agent_note_authenticated(agent, &unknown, false, T0 + 4);
    assert_true(ice_agent_last_alive_us(agent) == T0 + 4);
    ice_agent_destroy(agent);
}

static void after_consent_is_gone_nothing_is_answered(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    struct net_path selected;
    uint64_t now_us = T0 + ICE_CONSENT_US;
    ice_agent_tick(agent, now_us);
    assert_int_equal(check_from(agent, &path, (struct wanted_check){.is_nominated = true}, now_us),
                     ICE_INPUT_EXPIRED);
    ice_agent_note_authenticated(agent, &path, true, now_us);
    ice_agent_restart(agent, &second_credentials, now_us);
    assert_int_equal(
        check_from(agent, &path, (struct wanted_check){.credentials = &second_credentials}, now_us),
        ICE_INPUT_EXPIRED);
    assert_false(ice_agent_selected(agent, &selected));
    assert_true(ice_agent_next_timeout(agent) == TIME_NEVER);
    expect_events(agent, false, false, true);
    ice_agent_destroy(agent);
}

static const struct wanted_check new_check = {.credentials = &second_credentials};
static const struct wanted_check old_check = {.credentials = &first_credentials};

static void both_generations_are_good_until_the_new_one_is_used(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    ice_agent_restart(agent, &second_credentials, T0);
    assert_int_equal(check_from(agent, &path, old_check, T0 + US_PER_S), ICE_INPUT_ANSWER);
    const struct sent sent = build(new_check);
    const struct sent answer = answer_to(agent, &sent, &path);
    struct stun_message m;
    parse_answer(&answer, &sent, second_credentials.local_pwd, &m);
    assert_int_equal(check_from(agent, &path, old_check, T0 + US_PER_S), ICE_INPUT_USERNAME);
    assert_int_equal(check_from(agent, &path, new_check, T0 + US_PER_S), ICE_INPUT_ANSWER);
    ice_agent_destroy(agent);
}

static void an_error_answer_does_not_end_the_old_generation(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    const struct wanted_check controlled = {.credentials = &second_credentials,
                                            .is_controlled = true};
    ice_agent_restart(agent, &second_credentials, T0);
    assert_int_equal(check_from(agent, &path, controlled, T0), ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, old_check, T0), ICE_INPUT_ANSWER);
    ice_agent_destroy(agent);
}

static void the_old_generation_is_good_for_30_s(void **state)
{
    (void)state;
    for (int ticks = 0; ticks < 2; ticks++) {
        struct ice_agent *agent = make_connected();
        const struct net_path path = client_path(0);
        const uint64_t end_us = T0 + 10 * US_PER_S + ICE_OLD_GENERATION_US;
        ice_agent_restart(agent, &second_credentials, T0 + 10 * US_PER_S);
        assert_int_equal(check_from(agent, &path, old_check, end_us - 1), ICE_INPUT_ANSWER);
        assert_true(ice_agent_next_timeout(agent) == end_us);
        if (ticks == 1) {
            ice_agent_tick(agent, end_us);
            assert_true(ice_agent_next_timeout(agent) == end_us - 1 + ICE_CONSENT_US);
        }
        assert_int_equal(check_from(agent, &path, old_check, end_us), ICE_INPUT_USERNAME);
        assert_int_equal(check_from(agent, &path, new_check, end_us), ICE_INPUT_ANSWER);
        ice_agent_destroy(agent);
    }
}

static void generations_do_not_mix(void **state)
{
    (void)state;
    static const struct ice_credentials mixed[] = {
        {TOKEN, PWD, "rem1"},
        {"I5NdZDc2lJmCIcFu0G39oFA", PWD, "rem1"},
        {TOKEN, "a8Jt0vQ4yL2cX6nB1rK5sD9f", REMOTE},
        {"I5NdZDc2lJmCIcFu0G39oFA", "a8Jt0vQ4yL2cX6nB1rK5sD9f", REMOTE},
    };
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    ice_agent_restart(agent, &second_credentials, T0);
    for (size_t i = 0; i < COUNT_OF(mixed); i++) {
        const enum ice_input_result result =
            check_from(agent, &path, (struct wanted_check){.credentials = &mixed[i]}, T0);
        assert_true(result == ICE_INPUT_USERNAME || result == ICE_INPUT_INTEGRITY);
    }
    ice_agent_destroy(agent);
}

static void a_second_restart_ends_the_oldest_generation(void **state)
{
    (void)state;
    static const struct ice_credentials third = {"J5NdZDc2lJmCIcFu0G39oFA", PWD, "rem2"};
    struct ice_agent *agent = make_connected();
    const struct net_path path = client_path(0);
    ice_agent_restart(agent, &second_credentials, T0);
    ice_agent_restart(agent, &third, T0);
    assert_int_equal(check_from(agent, &path, old_check, T0), ICE_INPUT_USERNAME);
    assert_int_equal(check_from(agent, &path, new_check, T0), ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, (struct wanted_check){.credentials = &third}, T0),
                     ICE_INPUT_ANSWER);
    assert_int_equal(check_from(agent, &path, new_check, T0), ICE_INPUT_USERNAME);
    ice_agent_destroy(agent);
}

static void the_first_nominated_check_after_a_restart_moves_the_path_at_once(void **state)
{
    (void)state;
    struct ice_agent *agent = make_connected();
    const struct net_path old = client_path(0);
    const struct net_path new = client_path(1);
    const struct net_path newer = client_path(2);
    const struct wanted_check nominated_old = {.credentials = &first_credentials,
                                               .is_nominated = true};
    const struct wanted_check nominated_new = {.credentials = &second_credentials,
                                               .is_nominated = true};
    ice_agent_restart(agent, &second_credentials, T0);
    assert_true(is_selected(agent, &old));
    (void)check_from(agent, &new, nominated_old, T0 + 1);
    assert_true(is_selected(agent, &old)); /* the old generation has no such right */
    (void)check_from(agent, &new, new_check, T0 + 2);
    assert_true(is_selected(agent, &old));
    (void)check_from(agent, &new, nominated_new, T0 + 3);
    assert_true(is_selected(agent, &new));
    (void)check_from(agent, &newer, nominated_new, T0 + 4);
    assert_true(is_selected(agent, &new)); /* once */
    ice_agent_destroy(agent);
}

static void the_longest_ufrags_are_good(void **state)
{
    (void)state;
    char local[ICE_UFRAG_CHARS_MAX + 1];
    char remote[ICE_UFRAG_CHARS_MAX + 1];
    memset(local, 'l', sizeof(local));
    memset(remote, 'r', sizeof(remote));
    local[ICE_UFRAG_CHARS_MAX] = '\0';
    remote[ICE_UFRAG_CHARS_MAX] = '\0';
    const struct ice_credentials longest = {local, PWD, remote};
    struct ice_agent *agent = ice_agent_create(&longest, T0);
    uint8_t bytes[1024];
    char username[2 * ICE_UFRAG_CHARS_MAX + 2];
    struct byte_writer w;
    struct hmac_sha1_key key;
    struct ice_check check;
    const uint8_t id[STUN_TRANSACTION_ID_BYTES] = {1};
    const struct net_path path = client_path(0);
    (void)snprintf(username, sizeof(username), "%s:%s", local, remote);
    hmac_sha1_key_init(&key, bytes_view_of_text(PWD));
    byte_writer_init(&w, bytes, sizeof(bytes));
    stun_message_begin(&w, STUN_BINDING_REQUEST, id);
    stun_message_add(&w, STUN_USERNAME, bytes_view_of_text(username));
    stun_integrity_append(&w, &key);
    assert_int_equal(ice_agent_input(agent, bytes_view_of(bytes, w.len), &path, &check, T0),
                     ICE_INPUT_ANSWER);
    ice_agent_destroy(agent);
}

/* Any mix of changes: a tick at the deadline makes progress, and a path is selected exactly from
 * the first good check to the end. */
static void a_tick_at_the_deadline_always_makes_progress(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct random_generator g;
        struct ice_agent *agent = make_agent();
        uint64_t now_us = T0;
        random_generator_init(&g, seed);
        for (int step = 0; step < 200; step++) {
            const struct net_path path = client_path((unsigned)(random_generator_next(&g) % 12));
            now_us += random_generator_next(&g) % (4 * US_PER_S);
            switch (random_generator_next(&g) % 5) {
            case 0:
                (void)check_from(agent, &path, old_check, now_us);
                break;
            case 1:
                (void)check_from(agent, &path, new_check, now_us);
                break;
            case 2:
                ice_agent_note_authenticated(agent, &path, step % 2 == 0, now_us);
                break;
            case 3:
                ice_agent_restart(agent, step % 2 == 0 ? &second_credentials : &first_credentials,
                                  now_us);
                break;
            default:
                now_us = time_later(now_us, ice_agent_next_timeout(agent) == TIME_NEVER
                                                ? now_us
                                                : ice_agent_next_timeout(agent));
                break;
            }
            ice_agent_tick(agent, now_us);
            assert_true(ice_agent_next_timeout(agent) > now_us);
        }
        ice_agent_destroy(agent);
    }
}

static void every_result_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < ICE_INPUT_RESULT_COUNT; i++) {
        assert_non_null(ice_input_result_name((enum ice_input_result)i));
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(ice_input_result_name((enum ice_input_result)i),
                                    ice_input_result_name((enum ice_input_result)j));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_check_is_answered_with_the_address_it_came_from),
        cmocka_unit_test(no_answer_is_longer_than_the_shortest_request_that_gets_it),
        cmocka_unit_test(attributes_may_be_added_to_an_answer),
        cmocka_unit_test(a_check_without_a_role_is_answered),
        cmocka_unit_test(a_check_that_breaks_the_rules_gets_an_error_and_no_path),
        cmocka_unit_test(an_unknown_attribute_is_named_in_the_answer),
        cmocka_unit_test(an_unknown_attribute_that_may_be_ignored_is_ignored),
        cmocka_unit_test(what_is_not_authentic_gets_no_answer_and_changes_nothing),
        cmocka_unit_test(a_wrong_fingerprint_is_refused_an_absent_one_is_not),
        cmocka_unit_test(a_check_with_any_flipped_bit_is_refused),
        cmocka_unit_test(a_check_cut_at_any_byte_is_malformed),
        cmocka_unit_test(a_transaction_id_is_answered_three_times),
        cmocka_unit_test(a_repeat_gets_the_same_answer),
        cmocka_unit_test(a_known_transaction_id_from_elsewhere_is_a_replay),
        cmocka_unit_test(a_repeat_neither_moves_the_path_nor_keeps_alive),
        cmocka_unit_test(the_last_64_transaction_ids_are_known),
        cmocka_unit_test(checks_are_budgeted_to_200_at_once_and_100_a_second),
        cmocka_unit_test(forged_and_repeated_checks_do_not_use_the_budget),
        cmocka_unit_test(the_first_good_check_is_selected_nominated_or_not),
        cmocka_unit_test(a_check_alone_never_moves_the_path),
        cmocka_unit_test(a_nominated_check_moves_the_path_after_500_ms_of_silence),
        cmocka_unit_test(a_check_on_the_old_path_breaks_its_silence),
        cmocka_unit_test(traffic_elsewhere_does_not_break_the_silence),
        cmocka_unit_test(the_newest_packet_moves_the_path_at_once),
        cmocka_unit_test(the_newest_packet_from_an_unknown_path_is_believed_a_late_one_is_not),
        cmocka_unit_test(the_relay_of_the_return_path_follows_the_same_rules),
        cmocka_unit_test(a_client_is_validated_whatever_relay_it_comes_by),
        cmocka_unit_test(the_ninth_path_replaces_the_one_that_authenticated_longest_ago),
        cmocka_unit_test(the_selected_path_survives_any_number_of_others),
        cmocka_unit_test(consent_lasts_30_s_from_the_last_authentic_datagram),
        cmocka_unit_test(an_agent_that_never_sees_a_check_expires_after_30_s),
        cmocka_unit_test(each_kind_of_authentic_datagram_keeps_alive),
        cmocka_unit_test(after_consent_is_gone_nothing_is_answered),
        cmocka_unit_test(both_generations_are_good_until_the_new_one_is_used),
        cmocka_unit_test(an_error_answer_does_not_end_the_old_generation),
        cmocka_unit_test(the_old_generation_is_good_for_30_s),
        cmocka_unit_test(generations_do_not_mix),
        cmocka_unit_test(a_second_restart_ends_the_oldest_generation),
        cmocka_unit_test(the_first_nominated_check_after_a_restart_moves_the_path_at_once),
        cmocka_unit_test(the_longest_ufrags_are_good),
        cmocka_unit_test(a_tick_at_the_deadline_always_makes_progress),
        cmocka_unit_test(every_result_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
