/* ice_agent_test.c - who is answered, and with what */
#include "tests/unit/ice_agent_world.h"

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

static void the_longest_ufrags_are_good(void **state)
{
    (void)state;
    char local[ICE_OWN_UFRAG_CHARS_MAX + 1];
    char remote[ICE_UFRAG_CHARS_MAX + 1];
    memset(local, 'l', sizeof(local));
    memset(remote, 'r', sizeof(remote));
    local[ICE_OWN_UFRAG_CHARS_MAX] = '\0';
    remote[ICE_UFRAG_CHARS_MAX] = '\0';
    const struct ice_credentials longest = {local, PWD, remote};
    struct ice_agent *agent = ice_agent_create(&longest, T0);
    uint8_t bytes[1024];
    char username[ICE_OWN_UFRAG_CHARS_MAX + 1 + ICE_UFRAG_CHARS_MAX + 1];
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
        cmocka_unit_test(the_longest_ufrags_are_good),
        cmocka_unit_test(every_result_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
