/* relay_config_test.c - the shipped file loads; each wrong value is one clear line */
#include "tests/testing.h"

#include "services/relay/relay_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SHIPPED TEST_DATA "/../config/local/relay.yaml"

static bool load_text(const char *text, struct relay_config *out, struct fault *fault)
{
    char path[] = "/tmp/relay_config_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    const bool good = relay_config_load(path, out, fault);
    (void)unlink(path);
    return good;
}

static int forget_environment(void **state)
{
    (void)state;
    static const char *const name[] = {"EARSHOT_KEYS",          "EARSHOT_MEDIA_1",
                                       "EARSHOT_MEDIA_2",       "EARSHOT_MEDIA_TCP_1",
                                       "EARSHOT_MEDIA_TCP_2",   "EARSHOT_RELAY_INTERNAL",
                                       "EARSHOT_RELAY_WORKERS", "EARSHOT_FLOW_CACHE"};
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        (void)unsetenv(name[i]);
    }
    return 0;
}

static void assert_addr(const struct net_addr *a, const char *expected)
{
    char text[NET_ADDR_TEXT_CAP];
    assert_string_equal(net_addr_format(a, text, sizeof(text)), expected);
}

static void the_shipped_file_loads_with_its_defaults(void **state)
{
    (void)state;
    struct relay_config c;
    struct fault fault = {0};
    if (!relay_config_load(SHIPPED, &c, &fault)) {
        fail_msg("%s", fault.text);
    }
    assert_int_equal(c.worker_count, 0);
    assert_int_equal(c.forwarder.listen_count, 1);
    assert_addr(&c.forwarder.listen[0], "127.0.0.1:3478");
    assert_addr(&c.forwarder.internal, "127.0.0.1:3500");
    assert_addr(&c.admin_listen, "127.0.0.1:7801");
    assert_string_equal(c.control_url, "tcp://127.0.0.1:7102");
    assert_string_equal(c.keys_directory, "run/keys/media");
    assert_int_equal(c.forwarder.flow_cap, 65536);
    assert_int_equal(c.forwarder.source_flows_per_s, 200);
    assert_int_equal(c.forwarder.source_flows_burst, 400);
    assert_int_equal(c.socket_buffer_bytes, 4 << 20);
    assert_false(c.has_no_trains);
    assert_int_equal(c.gather_us, 0);
    assert_false(c.is_busy_polling);
    assert_int_equal(c.forwarder.transceiver_networks.count, 2);
    assert_true(c.forwarder.allow_private_clients);
    assert_int_equal(c.tcp.listen_count, 0);
    assert_int_equal(c.tcp.connections_max, 4096);
    assert_int_equal(c.tcp.connections_per_address_max, 64);
    assert_false(c.forwarder.has_cache);
    assert_int_equal(c.cache_budget.lookups_per_s, 20000);
    assert_int_equal(c.cache_budget.burst, 20000);
}

static void a_flow_cache_comes_from_the_environment(void **state)
{
    (void)state;
    struct relay_config c;
    struct fault fault = {0};
    (void)setenv("EARSHOT_FLOW_CACHE", "redis://:s3cret@redis:6379/3", 1);
    assert_true(relay_config_load(SHIPPED, &c, &fault));
    assert_true(c.forwarder.has_cache);
    assert_string_equal(c.flow_cache.address, "redis:6379");
    assert_string_equal(c.flow_cache.password, "s3cret");
    assert_int_equal(c.flow_cache.database, 3);
}

static void a_second_address_comes_from_the_environment(void **state)
{
    (void)state;
    struct relay_config c;
    struct fault fault = {0};
    (void)setenv("EARSHOT_MEDIA_1", "192.0.2.7:3478", 1);
    (void)setenv("EARSHOT_MEDIA_2", "[2001:db8::7]:3478", 1);
    assert_true(relay_config_load(SHIPPED, &c, &fault));
    assert_int_equal(c.forwarder.listen_count, 2);
    assert_addr(&c.forwarder.listen[0], "192.0.2.7:3478");
    assert_addr(&c.forwarder.listen[1], "[2001:db8::7]:3478");
}

static void addresses_of_tcp_are_others_than_those_of_udp(void **state)
{
    (void)state;
    struct relay_config c;
    struct fault fault = {0};
    (void)setenv("EARSHOT_MEDIA_TCP_2", "192.0.2.7:443", 1);
    assert_true(relay_config_load(SHIPPED, &c, &fault));
    assert_int_equal(c.forwarder.listen_count, 1);
    assert_int_equal(c.tcp.listen_count, 1);
    assert_addr(&c.tcp.listen[0], "192.0.2.7:443");
}

#define WHOLE                                                                                      \
    "keys: k\nlisten: [\"127.0.0.1:3478\"]\ninternal: 127.0.0.1:3500\n"                            \
    "transceiver_networks: [127.0.0.0/8]\ncontrol_listen: tcp://127.0.0.1:7102\n"

#define PLACES(listen, internal)                                                                   \
    "keys: k\nlisten: [\"" listen "\"]\ninternal: " internal "\n"                                  \
    "transceiver_networks: [127.0.0.0/8]\ncontrol_listen: x\n"

static void a_public_port_may_be_next_to_the_internal_ones(void **state)
{
    (void)state;
    static const char *const table[] = {
        PLACES("127.0.0.1:3499", "127.0.0.1:3500"),
        PLACES("127.0.0.1:3516", "127.0.0.1:3500"),
        PLACES("127.0.0.1:3563", "127.0.0.1:3500"),
        PLACES("127.0.0.2:3500", "127.0.0.1:3500"),
        PLACES("[::1]:3500", "127.0.0.1:3500"),
        PLACES("[::]:3500", "127.0.0.1:3500"),
        PLACES("127.0.0.1:3499", "127.0.0.1:3500") "tcp: {listen: [\"127.0.0.1:3500\"]}\n"};
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        struct relay_config c;
        struct fault fault = {0};
        if (!load_text(table[i], &c, &fault)) {
            fail_msg("%s", fault.text);
        }
    }
}

struct mistake {
    const char *text;
    const char *what; /* part of the line */
};

static void assert_named(const struct mistake *m)
{
    struct relay_config c;
    struct fault fault = {0};
    assert_false(load_text(m->text, &c, &fault));
    assert_null(strstr(fault.text, "s3cret")); /* a fault is logged */
    if (strstr(fault.text, m->what) == NULL) {
        fail_msg("\"%s\" does not name %s", fault.text, m->what);
    }
}

static void a_flow_cache_that_is_no_url_is_told_what_is_wrong(void **state)
{
    (void)state;
    static const struct mistake table[] = {
        {WHOLE "flow_cache: redis\n", "flow_cache: is not redis://"},
        {WHOLE "flow_cache: redis\n", "it does not begin with redis://"},
        {WHOLE "flow_cache: redis://:s3cret@redis:0\n", "its port is not 1..65535"},
        {WHOLE "flow_cache: redis://h\n", "no host:port"},
        {WHOLE "flow_cache: \"redis://[::1]\"\n", "no host:port"},
        {WHOLE "flow_cache: \"redis://::1:6379\"\n", "an IPv6 address stands in brackets"},
        {WHOLE "flow_cache: rediss://h:6379\n", "TLS is not spoken"},
        {WHOLE "flow_cache: redis://h:6379/16\n", "its database is not 0..15"},
        {WHOLE "flow_cache: redis://s3cret@h:6379\n", "a colon between them"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_named(&table[i]);
    }
}

static void each_wrong_value_is_named(void **state)
{
    (void)state;
    static const struct mistake table[] = {
        {WHOLE "workers: 0\n", "workers"},
        {WHOLE "workers: 17\n", "workers"},
        {WHOLE "workers: 2x\n", "workers"},
        {WHOLE "workers: many\n", "workers"},
        {WHOLE "flows: 15\n", "flows"},
        {WHOLE "gather_us: 101\n", "gather_us"},
        {WHOLE "busy_poll: 1\n", "busy_poll"},
        {WHOLE "trains: auto\n", "trains"},
        {WHOLE "flows: 16777217\n", "flows"},
        {WHOLE "new_flows_per_source: {per_second: 0}\n", "per_second"},
        {WHOLE "flow_cache_lookups: {per_second: 0}\n", "per_second"},
        {WHOLE "flow_cache_lookups: {burst: 1000001}\n", "burst"},
        {WHOLE "colour: blue\n", "colour"},
        {WHOLE "tcp: {connections_max: 0}\n", "connections_max"},
        {WHOLE "tcp: {connections_max: 65537}\n", "connections_max"},
        {WHOLE "tcp: {connections_per_address_max: 0}\n", "connections_per_address_max"},
        {WHOLE "tcp: {listen: [localhost:1]}\n", "tcp.listen[0]"},
        {WHOLE "tcp: {listen: [\"127.0.0.1:1\", \"127.0.0.1:1\"]}\n", "tcp.listen[1]"},
        {WHOLE "tcp: {listen: [\"127.0.0.1:0\"]}\n", "tcp.listen[0]: 127.0.0.1:0 has no port"},
        {PLACES("127.0.0.1:0", "127.0.0.1:3500"), "listen[0]: 127.0.0.1:0 has no port"},
        {PLACES("127.0.0.1:3500", "127.0.0.1:3500"), "internal: port 3500 is that of listen"},
        {PLACES("127.0.0.1:3515", "127.0.0.1:3500"), "internal: port 3515 is that of listen"},
        {PLACES("0.0.0.0:3505", "127.0.0.1:3500"), "internal: port 3505 is that of listen"},
        {PLACES("127.0.0.1:3563", "127.0.0.1:3500") "tcp: {listen: [\"127.0.0.1:443\"]}\n",
         "internal: port 3563 is that of listen"},
        {"keys: k\nlisten: [localhost:3478]\ninternal: 127.0.0.1:3500\n"
         "transceiver_networks: [127.0.0.0/8]\ncontrol_listen: x\n",
         "listen[0]"},
        {"keys: k\nlisten: [\"127.0.0.1:1\", \"127.0.0.1:1\"]\ninternal: 127.0.0.1:3500\n"
         "transceiver_networks: [127.0.0.0/8]\ncontrol_listen: x\n",
         "listed twice"},
        {"keys: k\nlisten: [\"\"]\ninternal: 127.0.0.1:3500\n"
         "transceiver_networks: [127.0.0.0/8]\ncontrol_listen: x\n",
         "no address to listen on"},
        {"keys: k\nlisten: [\"127.0.0.1:3478\"]\ninternal: 127.0.0.1:65473\n"
         "transceiver_networks: [127.0.0.0/8]\ncontrol_listen: x\n",
         "internal"},
        {"keys: k\nlisten: [\"127.0.0.1:3478\"]\ninternal: 127.0.0.1:0\n"
         "transceiver_networks: [127.0.0.0/8]\ncontrol_listen: x\n",
         "internal"},
        {"keys: k\nlisten: [\"127.0.0.1:3478\"]\ninternal: 127.0.0.1:3500\n"
         "transceiver_networks: [127.0.0.0]\ncontrol_listen: x\n",
         "transceiver_networks[0]"},
        {"keys: k\nlisten: [\"127.0.0.1:3478\"]\ninternal: 127.0.0.1:3500\ncontrol_listen: x\n",
         "transceiver_networks"},
        {"listen: [\"127.0.0.1:3478\"]\ninternal: 127.0.0.1:3500\n"
         "transceiver_networks: [127.0.0.0/8]\ncontrol_listen: x\n",
         "keys"},
    };
    struct relay_config c;
    struct fault fault = {0};
    if (!load_text(WHOLE, &c, &fault)) {
        fail_msg("%s", fault.text);
    }
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        assert_named(&table[i]);
    }
}

static void what_a_worker_does_can_be_chosen(void **state)
{
    (void)state;
    struct relay_config c;
    struct fault fault = {0};
    assert_true(load_text(WHOLE "workers: 16\ngather_us: 100\nbusy_poll: true\n"
                                "trains: false\nsocket_buffer: 1GB\n",
                          &c, &fault));
    assert_int_equal(c.socket_buffer_bytes, 1 << 30);
    assert_int_equal(c.worker_count, 16);
    assert_int_equal(c.gather_us, 100);
    assert_true(c.has_no_trains);
    assert_true(c.is_busy_polling);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_shipped_file_loads_with_its_defaults, forget_environment),
        cmocka_unit_test_setup_teardown(a_flow_cache_comes_from_the_environment, forget_environment,
                                        forget_environment),
        cmocka_unit_test_setup_teardown(a_second_address_comes_from_the_environment,
                                        forget_environment, forget_environment),
        cmocka_unit_test_setup_teardown(addresses_of_tcp_are_others_than_those_of_udp,
                                        forget_environment, forget_environment),
        cmocka_unit_test(a_public_port_may_be_next_to_the_internal_ones),
        cmocka_unit_test(a_flow_cache_that_is_no_url_is_told_what_is_wrong),
        cmocka_unit_test(each_wrong_value_is_named),
        cmocka_unit_test(what_a_worker_does_can_be_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
