/* access_gate_test.c - limits are somebody's own, and the demo is for its own page */
#include "tests/testing.h"

#include "tests/capture.h"

#include "services/signaling/access_gate.h"

#include "common/base/time_us.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* SHA-256 of "abc". */
#define HASH "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static struct signaling_config config;
static struct access_gate *gate;

static int open_gate(void **state)
{
    (void)state;
    struct fault fault = {0};
    config = (struct signaling_config){.auth = AUTH_OFF,
                                       .demo_host = "edge.example",
                                       .limits = {.offers_per_s = 8,
                                                  .offers_per_s_per_tenant = 5,
                                                  .offers_per_s_per_address = 3,
                                                  .demo_secrets_per_minute_per_address = 6}};
    gate = access_gate_create(&config, &fault);
    return gate != NULL ? 0 : -1;
}

static int close_gate(void **state)
{
    (void)state;
    access_gate_destroy(gate);
    return 0;
}

static void write_keys(const char *text)
{
    FILE *file = fopen(config.api_keys_path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int open_gate_with_keys(void **state)
{
    (void)state;
    struct fault fault = {0};
    config = (struct signaling_config){.auth = AUTH_KEYS};
    (void)snprintf(config.api_keys_path, sizeof(config.api_keys_path), "/tmp/access_gate_XXXXXX");
    const int fd = mkstemp(config.api_keys_path);
    if (fd < 0 || close(fd) != 0) {
        return -1;
    }
    write_keys("demo app " HASH "\n");
    gate = access_gate_create(&config, &fault);
    return gate != NULL ? 0 : -1;
}

static int close_gate_with_keys(void **state)
{
    (void)unlink(config.api_keys_path);
    return close_gate(state);
}

static struct http_request request_from(const char *address)
{
    struct http_request request = {.method = HTTP_POST,
                                   .host = bytes_view_of_text("edge.example:8080")};
    assert_true(net_addr_parse(address, &request.client));
    return request;
}

static unsigned ask(const char *address, enum access_need need, uint64_t now_us)
{
    const struct http_request request = request_from(address);
    struct auth_identity who;
    struct http_response refusal;
    return access_gate_check(gate, &request, need, &who, &refusal, now_us) ? 200 : refusal.status;
}

static unsigned take_all(const char *address, enum access_need need, uint64_t now_us)
{
    unsigned count = 0;
    while (count < 100 && ask(address, need, now_us) == 200) {
        count++;
    }
    return count;
}

static uint64_t limited(enum access_limit limit)
{
    return metric_get(&access_gate_counts(gate)->limited_total[limit]);
}

static void an_address_and_then_its_tenant_come_to_their_limits(void **state)
{
    (void)state;
    assert_int_equal(take_all("192.0.2.1:1", ACCESS_OFFER, 0), 3);
    assert_int_equal(ask("192.0.2.1:2", ACCESS_OFFER, 0), 429); /* its port says nothing */
    assert_int_equal(limited(ACCESS_LIMIT_ADDRESS), 2);
    assert_int_equal(take_all("192.0.2.2:1", ACCESS_OFFER, 0), 2);
    assert_int_equal(limited(ACCESS_LIMIT_TENANT), 1);
    assert_int_equal(take_all("192.0.2.1:1", ACCESS_OFFER, US_PER_S), 3);
}

static void an_ipv6_client_counts_by_its_network(void **state)
{
    (void)state;
    assert_int_equal(take_all("[2001:db8::1]:1", ACCESS_OFFER, 0), 3);
    assert_int_equal(ask("[2001:db8::ffff:1]:1", ACCESS_OFFER, 0), 429);
    assert_int_equal(ask("[2001:db8:0:1::1]:1", ACCESS_OFFER, 0), 200);
}

static void a_refusal_says_which_limit_and_whether_to_wait(void **state)
{
    (void)state;
    static const uint8_t tenant[API_KEY_TENANT_BYTES] = {0xab};
    struct capture printed;
    const struct http_request request = request_from("192.0.2.1:1");
    struct auth_identity who;
    struct http_response refusal;
    (void)take_all("192.0.2.1:1", ACCESS_OFFER, 0);
    assert_false(access_gate_check(gate, &request, ACCESS_OFFER, &who, &refusal, 0));
    assert_non_null(strstr(refusal.own_body, "from this address"));
    assert_int_equal(refusal.retry_after_s, 1);
    capture_begin(&printed);
    access_gate_refuse_sideband(gate, tenant, "rtc_a", &refusal, 0);
    capture_end(&printed);
    assert_non_null(strstr(printed.text, "access.limited limit=sidebands "
                                         "tenant=ab000000000000000000000000000000 call=rtc_a "));
    assert_int_equal(refusal.status, 429);
    assert_non_null(strstr(refusal.own_body, "This call has all the side-bands"));
    assert_int_equal(refusal.retry_after_s, 0);
}

static void all_together_have_one_limit(void **state)
{
    (void)state;
    config.limits.offers_per_s_per_tenant = 0;
    unsigned count = 0;
    for (int i = 0; i < 5; i++) {
        static const char *const address[] = {"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1",
                                              "192.0.2.4:1", "192.0.2.5:1"};
        count += take_all(address[i], ACCESS_OFFER, 0);
    }
    assert_int_equal(count, 8);
    assert_true(limited(ACCESS_LIMIT_TOTAL) > 0);
}

static void what_makes_no_call_is_not_limited_by_offers(void **state)
{
    (void)state;
    assert_int_equal(take_all("192.0.2.1:1", ACCESS_OPERATE, 0), 100);
    assert_int_equal(take_all("192.0.2.1:1", ACCESS_ISSUE, 0), 5);
    assert_int_equal(limited(ACCESS_LIMIT_ISSUE), 1);
    assert_int_equal(take_all("192.0.2.1:1", ACCESS_OFFER, 0), 3);
}

static void operations_have_limits_of_their_own_and_twice_as_many_at_once(void **state)
{
    (void)state;
    config.limits.operations_per_s_per_address = 4;
    config.limits.operations_per_s_per_tenant = 5;
    assert_int_equal(take_all("192.0.2.1:1", ACCESS_OPERATE, 0), 8);
    assert_int_equal(limited(ACCESS_LIMIT_OPERATE_ADDRESS), 1);
    assert_int_equal(take_all("192.0.2.2:1", ACCESS_OPERATE, 0), 2);
    assert_int_equal(limited(ACCESS_LIMIT_OPERATE_TENANT), 1);
    assert_int_equal(take_all("192.0.2.1:1", ACCESS_OFFER, 0), 3); /* offers do not suffer */
    assert_int_equal(take_all("192.0.2.1:1", ACCESS_OPERATE, US_PER_S), 4);
}

static void an_address_comes_to_its_limit_before_its_key_is_looked_up(void **state)
{
    (void)state;
    static const enum access_need need[] = {ACCESS_OPERATE, ACCESS_ISSUE};
    const struct access_counts *counts = access_gate_counts(gate);
    config.limits.operations_per_s_per_address = 2;
    for (size_t i = 0; i < COUNT_OF(need); i++) {
        const uint64_t before = metric_get(&counts->checks_total[AUTH_PASS]);
        for (int n = 0; n < 10; n++) {
            (void)ask("192.0.2.1:1", need[i], i * 10 * US_PER_S);
        }
        assert_int_equal(metric_get(&counts->checks_total[AUTH_PASS]) - before, 4);
    }
}

static void who_operates_on_a_socket_is_counted_too(void **state)
{
    (void)state;
    struct http_request request = request_from("192.0.2.1:1");
    const struct auth_identity busy = {.tenant = {1}, .offers_per_s = 3};
    struct http_response refusal;
    unsigned count = 0;
    config.limits.operations_per_s_per_tenant = 5;
    while (count < 100 && access_gate_may_operate(gate, &request.client, &busy, &refusal, 0)) {
        count++;
    }
    assert_int_equal(count, 30); /* 3 offers a second, so 15 operations */
    assert_int_equal(refusal.status, 429);
    assert_int_equal(refusal.retry_after_s, 1);
}

static void who_is_refused_is_told_when_to_come_again(void **state)
{
    (void)state;
    const struct http_request request = request_from("192.0.2.1:1");
    struct auth_identity who;
    struct http_response refusal;
    assert_int_equal(take_all("192.0.2.1:1", ACCESS_OFFER, 0), 3);
    assert_false(access_gate_check(gate, &request, ACCESS_OFFER, &who, &refusal, 0));
    assert_int_equal(refusal.status, 429);
    assert_int_equal(refusal.retry_after_s, 1);
}

static void the_demo_is_for_the_page_of_this_origin(void **state)
{
    (void)state;
    static const struct {
        const char *origin;
        bool is_own;
    } origin_case[] = {
        {"http://edge.example:8080", true},
        {"https://edge.example:8080", true},
        {"http://EDGE.example:8080", true},
        {"", false},
        {"null", false},
        {"http://edge.example", false},
        {"http://edge.example:80801", false},
        {"http://xedge.example:8080", false},
        {"edge.example:8080", false},
        {"ftp://edge.example:8080", false},
        {"http://edge.example:8080/", false},
    };
    uint64_t foreign = 0;
    for (size_t i = 0; i < COUNT_OF(origin_case); i++) {
        struct http_request request = request_from("192.0.2.1:1");
        struct auth_identity who;
        struct http_response refusal = {0};
        request.origin = bytes_view_of_text(origin_case[i].origin);
        assert_int_equal(access_gate_check(gate, &request, ACCESS_DEMO, &who, &refusal, 0),
                         origin_case[i].is_own);
        assert_int_equal(refusal.status, origin_case[i].is_own ? 0 : 403);
        foreign += !origin_case[i].is_own;
    }
    assert_int_equal(metric_get(&access_gate_counts(gate)->foreign_pages_total), foreign);
    struct http_request rebound = request_from("192.0.2.1:1");
    struct http_request no_host = request_from("192.0.2.1:1");
    struct auth_identity who;
    struct http_response refusal;
    no_host.host = (struct bytes_view){0};
    no_host.origin = bytes_view_of_text("http://");
    assert_false(access_gate_check(gate, &no_host, ACCESS_DEMO, &who, &refusal, 0));
    rebound.host = bytes_view_of_text("evil.example:8080"); /* his name, our address */
    rebound.origin = bytes_view_of_text("http://evil.example:8080");
    assert_false(access_gate_check(gate, &rebound, ACCESS_DEMO, &who, &refusal, 0));
    assert_int_equal(refusal.status, 403);
}

static enum auth_verdict check_abc(struct auth_identity *who)
{
    return auth_check(access_gate_auth(gate), bytes_view_of_text("abc"), 0, who);
}

static void a_tenant_of_the_name_demo_is_not_the_tenant_of_the_page(void **state)
{
    (void)state;
    struct auth_identity page;
    struct auth_identity demo;
    struct http_response refusal;
    struct http_request request = request_from("192.0.2.1:1");
    request.host = bytes_view_of_text("localhost");
    request.origin = bytes_view_of_text("http://localhost");
    assert_true(access_gate_check(gate, &request, ACCESS_DEMO, &page, &refusal, 0));
    assert_int_equal(check_abc(&demo), AUTH_PASS);
    assert_memory_not_equal(page.tenant, demo.tenant, sizeof(page.tenant));
    /* And no line can name it. */
    struct fault fault = {0};
    write_keys("demo page app " HASH "\n");
    assert_false(access_gate_reload(gate, &fault));
}

static void a_file_that_has_lost_its_keys_leaves_the_old_ones(void **state)
{
    (void)state;
    static const char *const text[] = {"", "\n", "# demo app\n"};
    struct auth_identity who;
    struct fault fault;
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        fault = (struct fault){0};
        write_keys(text[i]);
        assert_false(access_gate_reload(gate, &fault));
        assert_non_null(strstr(fault.text, "holds no key"));
        assert_int_equal(check_abc(&who), AUTH_PASS);
        assert_int_equal(metric_get(&access_gate_counts(gate)->api_keys), 1);
    }
    write_keys("acme app " HASH "\n");
    assert_true(access_gate_reload(gate, &fault));
}

static void who_starts_without_keys_may_go_on_without(void **state)
{
    (void)state;
    struct fault fault = {0};
    write_keys("");
    access_gate_destroy(gate);
    gate = access_gate_create(&config, &fault);
    assert_non_null(gate);
    assert_true(access_gate_reload(gate, &fault));
}

int main(void)
{
#define GATE_TEST(name) cmocka_unit_test_setup_teardown(name, open_gate, close_gate)
    const struct CMUnitTest tests[] = {
        GATE_TEST(an_address_and_then_its_tenant_come_to_their_limits),
        GATE_TEST(an_ipv6_client_counts_by_its_network),
        GATE_TEST(a_refusal_says_which_limit_and_whether_to_wait),
        GATE_TEST(all_together_have_one_limit),
        GATE_TEST(what_makes_no_call_is_not_limited_by_offers),
        GATE_TEST(operations_have_limits_of_their_own_and_twice_as_many_at_once),
        GATE_TEST(an_address_comes_to_its_limit_before_its_key_is_looked_up),
        GATE_TEST(who_operates_on_a_socket_is_counted_too),
        GATE_TEST(who_is_refused_is_told_when_to_come_again),
        GATE_TEST(the_demo_is_for_the_page_of_this_origin),
        cmocka_unit_test_setup_teardown(a_tenant_of_the_name_demo_is_not_the_tenant_of_the_page,
                                        open_gate_with_keys, close_gate_with_keys),
        cmocka_unit_test_setup_teardown(a_file_that_has_lost_its_keys_leaves_the_old_ones,
                                        open_gate_with_keys, close_gate_with_keys),
        cmocka_unit_test_setup_teardown(who_starts_without_keys_may_go_on_without,
                                        open_gate_with_keys, close_gate_with_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
