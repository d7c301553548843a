/* signaling_config_test.c - the shipped file is read, and each mistake has its line */
#include "tests/testing.h"

#include "services/signaling/signaling_config.h"

#include "common/base/time_us.h"

#include <stdio.h>
#include <stdlib.h>

#define KEYS "api_keys: /api/keys\nkeys: /keys\n"
#define GOOD KEYS "ingress:\n  - {name: a, udp: \"203.0.113.10:3478\"}\n"

static bool parse(const char *text, struct signaling_config *c, struct fault *fault)
{
    return signaling_config_parse(bytes_view_of_text(text), "t.yaml", c, fault);
}

static void the_shipped_file_is_good_and_its_values_are_the_defaults(void **state)
{
    (void)state;
    static struct signaling_config shipped;
    static struct signaling_config bare;
    struct fault fault = {0};
    if (!signaling_config_load(TEST_DATA "/../config/local/signaling.yaml", &shipped, &fault) ||
        !parse("keys: run/keys/signaling\nweb: web\napi_keys: run/keys/api/keys\ndemo: true\n"
               "ingress:\n  - {name: a, udp: \"127.0.0.1:3478\"}\n",
               &bare, &fault)) {
        fail_msg("%s", fault.text);
    }
    /* On one machine offers are not limited; what is done with calls is everywhere. */
    const struct signaling_limits local = {.calls_per_secret = 8,
                                           .operations_per_s_per_tenant = 50,
                                           .operations_per_s_per_address = 50};
    assert_memory_equal(&shipped.limits, &local, sizeof(local));
    assert_int_equal(bare.limits.operations_per_s_per_tenant, 50);
    assert_int_equal(bare.limits.operations_per_s_per_address, 50);
    assert_int_equal(bare.limits.offers_per_s, 0);
    assert_int_equal(bare.limits.offers_per_s_per_tenant, 10);
    assert_int_equal(bare.limits.offers_per_s_per_address, 5);
    assert_int_equal(bare.limits.offers_per_minute_per_secret, 10);
    assert_int_equal(bare.limits.calls_per_secret, 8);
    assert_int_equal(bare.limits.demo_secrets_per_minute_per_address, 6);
    shipped.limits = bare.limits;
    assert_memory_equal(&shipped, &bare, sizeof(bare));
    assert_int_equal(bare.http.connections_max, 1000);
    assert_int_equal(bare.http.connections_per_address_max, 100);
    assert_int_equal(bare.http.requests_per_connection_max, 16);
    assert_int_equal(bare.http.body_bytes_max, 327680);
    assert_int_equal(bare.http.request_timeout_us, 10 * US_PER_S);
    assert_int_equal(bare.answer_timeout_us, 1500 * US_PER_MS);
    assert_int_equal(bare.call_duration_s_max, 3600);
    assert_int_equal(bare.auth, AUTH_KEYS);
    assert_true(bare.http.origins.is_any);
}

static void addresses_are_listed_udp_first_and_empty_ones_are_left_out(void **state)
{
    (void)state;
    struct signaling_config c;
    struct fault fault = {0};
    assert_true(parse(KEYS "ingress:\n"
                           "  - {name: a, udp: \"203.0.113.10:3478\", tcp: \"203.0.113.10:443\"}\n"
                           "  - {name: b, udp: \"\", tcp: \"\"}\n"
                           "  - {name: c, udp: \"[2001:db8::10]:3478\"}\n",
                      &c, &fault));
    static const struct {
        const char *address;
        bool is_tcp;
    } expected[] = {
        {"203.0.113.10:3478", false}, {"[2001:db8::10]:3478", false}, {"203.0.113.10:443", true}};
    assert_int_equal(c.ingress_count, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        char text[NET_ADDR_TEXT_CAP];
        assert_string_equal(net_addr_format(&c.ingress[i].address, text, sizeof(text)),
                            expected[i].address);
        assert_int_equal(c.ingress[i].is_tcp, expected[i].is_tcp);
    }
}

static void listed_origins_replace_the_star(void **state)
{
    (void)state;
    struct signaling_config c;
    struct fault fault = {0};
    assert_true(parse(GOOD "http:\n  allow_origins: [\"https://a.example\", "
                           "\"http://localhost:5173\"]\n",
                      &c, &fault));
    assert_false(c.http.origins.is_any);
    assert_int_equal(c.http.origins.allowed_count, 2);
    assert_string_equal(c.http.origins.allowed[1], "http://localhost:5173");
}

static void each_mistake_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *said;
    } mistake[] = {
        {GOOD "public: true\nauth: off\n", "t.yaml:6: auth: off with public: true: set auth: keys"},
        {"keys: /keys\nauth: keys\n", "api_keys: is empty: name the file of API keys"},
        {GOOD "auth: no\n", "auth: "},
        {GOOD "demo_host: edge.example:8080\n", "demo_host: is a name alone, as edge.example"},
        {GOOD "demo_host: https://edge.example\n", "demo_host: is a name alone"},
        {GOOD "limits: {offers_per_s: 100001}\n", "limits.offers_per_s: 100001 is outside"},
        {KEYS, "ingress: no address"},
        {KEYS "ingress: []\n", "ingress: no address"},
        {KEYS "ingress:\n  - {name: a, udp: \"\"}\n", "ingress: no address"},
        {KEYS "ingress:\n  - {name: a, udp: \"0.0.0.0:3478\"}\n",
         "ingress[0].udp: 0.0.0.0:3478 can not be advertised"},
        {KEYS "ingress:\n  - {name: a, tcp: \"[::]:3478\"}\n",
         "ingress[0].tcp: [::]:3478 can not be advertised"},
        {KEYS "ingress:\n  - {name: a, udp: \"203.0.113.10:0\"}\n",
         "ingress[0].udp: 203.0.113.10:0 can not be advertised"},
        {KEYS "ingress:\n  - {name: a, udp: \"224.0.0.1:3478\"}\n", "can not be advertised"},
        {KEYS "ingress:\n  - {name: a, udp: \"relay:3478\"}\n",
         "ingress[0].udp: \"relay:3478\" is not an address"},
        {KEYS "ingress:\n  - {udp: \"203.0.113.10:3478\"}\n", "ingress[0].name"},
        {"ingress:\n  - {name: a, udp: \"203.0.113.10:3478\"}\n", "keys"},
        {"keys: \"\"\n", "t.yaml:1: keys: is empty"},
        {GOOD "colour: red\n", "colour"},
        {GOOD "http: {header_timeout: 1500ms}\n",
         "http.header_timeout: must be whole seconds: give 1s or 2s"},
        {GOOD "http: {request_timeout: 7500ms}\n", "http.request_timeout: must be whole seconds"},
        {GOOD "http: {idle_timeout: 599999ms}\n", "http.idle_timeout: must be whole seconds"},
        {GOOD "http: {idle_timeout: 600001ms}\n", "http.idle_timeout: 600001ms is outside"},
        {GOOD "http: {connections_max: 0}\n", "http.connections_max"},
        {GOOD "http: {tls: {certificate: a.crt}}\n", "http.tls.key: give certificate and key"},
        {GOOD "http: {tls: {key: a.key}}\n", "http.tls.key: give certificate and key"},
        {GOOD "http: {request_timeout: 61s}\n", "http.request_timeout"},
        {GOOD "http: {allow_origins: [example]}\n", "http.allow_origins[0]: an origin looks"},
        {GOOD "http: {trusted_proxies: [10.0.0.1]}\n", "http.trusted_proxies[0]: \"10.0.0.1\""},
        {GOOD "http: {trusted_proxies: [0.0.0.0/0]}\n",
         "http.trusted_proxies[0]: 0.0.0.0/0 trusts"},
        {GOOD "http: {trusted_proxies: [\"::/0\"]}\n", "http.trusted_proxies[0]: ::/0 trusts"},
        {GOOD "http: {trusted_proxies: [\"10.0.0.0/8,192.0.2.0/24\"]}\n", "one in each entry"},
        {GOOD "answer_timeout: 3001ms\n", "answer_timeout"},
        {GOOD "answer_timeout: 2s\nhttp: {request_timeout: 6s}\n",
         "answer_timeout: 3 times this must be below http.request_timeout"},
    };
    for (size_t i = 0; i < COUNT_OF(mistake); i++) {
        struct signaling_config c;
        struct fault fault = {0};
        assert_false(parse(mistake[i].text, &c, &fault));
        if (strstr(fault.text, mistake[i].said) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", fault.text, mistake[i].said);
        }
    }
}

static void sixteen_addresses_pass_and_one_more_is_refused(void **state)
{
    (void)state;
    char text[2048] = KEYS "ingress:\n";
    for (int i = 0; i < CONTROL_INGRESS_MAX; i++) {
        const size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, "  - {name: a, udp: \"192.0.2.%d:1\"}\n", i);
    }
    struct signaling_config c;
    struct fault fault = {0};
    assert_true(parse(text, &c, &fault));
    assert_int_equal(c.ingress_count, CONTROL_INGRESS_MAX);
    (void)strcat(text, "  - {name: a, tcp: \"192.0.2.1:1\"}\n");
    assert_false(parse(text, &c, &fault));
    assert_non_null(strstr(fault.text, "more than 16 addresses"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_shipped_file_is_good_and_its_values_are_the_defaults),
        cmocka_unit_test(addresses_are_listed_udp_first_and_empty_ones_are_left_out),
        cmocka_unit_test(listed_origins_replace_the_star),
        cmocka_unit_test(each_mistake_is_named),
        cmocka_unit_test(sixteen_addresses_pass_and_one_more_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
