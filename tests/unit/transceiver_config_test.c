/* transceiver_config_test.c - the shipped file loads; both sides of each bound; one clear line */
#include "tests/testing.h"

#include "common/base/time_us.h"
#include "services/transceiver/port/transceiver_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SHIPPED TEST_DATA "/../config/local/transceiver.yaml"

static bool load_text(const char *text, struct transceiver_config *out, struct fault *fault)
{
    char path[] = "/tmp/transceiver_config_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
    const bool good = transceiver_config_load(path, out, fault);
    (void)unlink(path);
    return good;
}

static int forget_environment(void **state)
{
    (void)state;
    static const char *const name[] = {
        "EARSHOT_KEYS",       "EARSHOT_TRANSCEIVER_ADDRESS", "EARSHOT_RELAY_CONTROL",
        "EARSHOT_BACKEND",    "EARSHOT_SIGNALING_CONTROL",   "EARSHOT_DRAIN_TIMEOUT",
        "EARSHOT_ADMIN_IP",   "EARSHOT_LOG_LEVEL",           "EARSHOT_LOG_FORMAT",
        "EARSHOT_CORE_DUMPS",
    };
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        (void)unsetenv(name[i]);
    }
    return 0;
}

static void the_shipped_file_loads_with_its_defaults(void **state)
{
    (void)state;
    struct transceiver_config c;
    struct fault fault = {0};
    char text[NET_ADDR_TEXT_CAP];
    if (!transceiver_config_load(SHIPPED, &c, &fault)) {
        fail_msg("%s", fault.text);
    }
    assert_false(c.is_address_auto);
    assert_string_equal(net_addr_format_ip(&c.address, text, sizeof(text)), "127.0.0.1");
    assert_int_equal(c.cluster_id, 1);
    assert_int_equal(c.media_port, 4000);
    assert_int_equal(c.control_port, 7001);
    assert_int_equal(c.events_port, 7002);
    assert_int_equal(c.shard_count, 1);
    assert_int_equal(c.udp_buffer_bytes, 4 << 20);
    assert_int_equal(c.announce_count, 2);
    assert_string_equal(c.announce[0], "127.0.0.1:7102");
    assert_string_equal(c.backend, "127.0.0.1:7200");
    assert_string_equal(c.keys_directory, "run/keys/media");
    assert_int_equal(c.session_count_max, 200);
    assert_int_equal(c.call_duration_max_us, 3600 * US_PER_S);
    assert_int_equal(c.setup_timeout_us, 30 * US_PER_S);
    assert_int_equal(c.credit_us, 10 * US_PER_S);
    assert_int_equal(c.bitrate_bps, 32000);
    assert_int_equal(c.complexity, 5);
    assert_int_equal(c.complexity_min, 1);
    assert_true(c.has_red);
    assert_false(c.idle_sparse);
    assert_false(c.allow_core_dumps);
}

#define WHOLE "keys: k\nannounce: [relay:7102]\nbackend: agent:7200\n"

static void each_bound_is_held_and_each_wrong_value_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *fault; /* part of the line; NULL: it is good */
    } c[] = {
        {WHOLE, NULL},
        {"announce: [relay:7102]\nbackend: agent:7200\n", "keys"},
        {"keys: k\nbackend: agent:7200\n", "announce"},
        {"keys: k\nannounce: []\nbackend: agent:7200\n", "announce"},
        {"keys: k\nannounce: [a:1, a:2, a:3, a:4, a:5, a:6, a:7, a:8]\nbackend: b:1\n", NULL},
        {"keys: k\nannounce: [a:1, a:2, a:3, a:4, a:5, a:6, a:7, a:8, a:9]\nbackend: b:1\n",
         "announce"},
        {"keys: k\nannounce: [relay:7102]\n", "backend"},
        {WHOLE "cluster_id: 65535\n", NULL},
        {WHOLE "cluster_id: 65536\n", "cluster_id"},
        {WHOLE "address: auto\n", NULL},
        {WHOLE "address: 0.0.0.0\n", "address: relays can not send to 0.0.0.0"},
        {WHOLE "address: \"::\"\n", "address: relays can not send to ::"},
        {WHOLE "address: 2001:db8::1\n", NULL},
        {WHOLE "address: some.host\n", "address"},
        {WHOLE "address: 127.0.0.1:4000\n", "address"},
        {WHOLE "media_port: 0\n", "media_port"},
        {WHOLE "media_port: 65535\n", NULL},
        {WHOLE "media_port: 65536\n", "media_port"},
        {WHOLE "media_port: 65472\nshards: 64\n", NULL},
        {WHOLE "media_port: 65473\nshards: 64\n", "no port is left"},
        {WHOLE "shards: 0\n", "shards"},
        {WHOLE "shards: 65\n", "shards"},
        {WHOLE "control_port: 0\n", "control_port"},
        {WHOLE "events_port: 7001\n", "events_port"},
        {WHOLE "udp_buffer: 64KB\n", NULL},
        {WHOLE "udp_buffer: 65535\n", "udp_buffer"},
        {WHOLE "sessions_max: 0\n", "sessions_max"},
        {WHOLE "sessions_max: 65536\n", NULL},
        {WHOLE "sessions_max: 65537\n", "sessions_max"},
        {WHOLE "call_duration_max: 1s\n", NULL},
        {WHOLE "call_duration_max: 999ms\n", "call_duration_max"},
        {WHOLE "call_duration_max: 24h\n", NULL},
        {WHOLE "call_duration_max: 25h\n", "call_duration_max"},
        {WHOLE "setup_timeout: 300s\n", NULL},
        {WHOLE "setup_timeout: 301s\n", "setup_timeout"},
        {WHOLE "drain_timeout: 0s\n", NULL},
        {WHOLE "backend_credit: 999ms\n", "backend_credit"},
        {WHOLE "backend_credit: 60s\n", NULL},
        {WHOLE "backend_credit: 61s\n", "backend_credit"},
        {WHOLE "opus: {bitrate_bps: 5999}\n", "bitrate_bps"},
        {WHOLE "opus: {bitrate_bps: 6000, complexity: 10}\n", NULL},
        {WHOLE "opus: {complexity: 11}\n", "complexity"},
        {WHOLE "opus: {complexity: 5, complexity_min: 5}\n", NULL},
        {WHOLE "opus: {complexity: 5, complexity_min: 6}\n", "complexity_min"},
        {WHOLE "opus: {complexity: 0}\n", NULL},
        {WHOLE "idle: full\n", NULL},
        {WHOLE "idle: sparse\n", NULL},
        {WHOLE "idle: often\n", "idle"},
        {WHOLE "red: off\n", NULL},
        {WHOLE "red: sometimes\n", "red"},
        {WHOLE "log: {level: loud}\n", "level"},
        {WHOLE "colour: blue\n", "colour"},
    };
    for (size_t i = 0; i < COUNT_OF(c); i++) {
        struct transceiver_config config;
        struct fault fault = {0};
        const bool good = load_text(c[i].text, &config, &fault);
        if (good != (c[i].fault == NULL) || (!good && strstr(fault.text, c[i].fault) == NULL)) {
            fail_msg("%s: %s", c[i].text, fault.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_shipped_file_loads_with_its_defaults, forget_environment),
        cmocka_unit_test(each_bound_is_held_and_each_wrong_value_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
