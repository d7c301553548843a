/* stub_config_test.c - the shipped file loads, and what is wrong is named with its line */
#include "tests/testing.h"

#include "services/inference-stub/stub_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool load(const char *yaml, struct stub_config *config, struct fault *fault)
{
    char path[] = "/tmp/stub_config_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, yaml, strlen(yaml)), strlen(yaml));
    (void)close(fd);
    const bool is_good = stub_config_load(path, config, fault);
    (void)unlink(path);
    return is_good;
}

static void an_empty_file_and_the_shipped_one_give_the_same(void **state)
{
    (void)state;
    (void)unsetenv("EARSHOT_BACKEND");
    struct stub_config empty;
    struct stub_config shipped;
    struct fault fault = {0};
    assert_true(load("{}\n", &empty, &fault));
    assert_true(
        stub_config_load(TEST_DATA "/../config/local/inference-stub.yaml", &shipped, &fault));
    assert_string_equal(shipped.agent_script, TEST_DATA "/../config/local/agent.yaml");
    assert_string_equal(empty.agent_script, "");
    memset(shipped.agent_script, 0, sizeof(shipped.agent_script));
    assert_memory_equal(&empty, &shipped, sizeof(empty));
    assert_int_equal(shipped.mode, STUB_MODE_AGENT);
    assert_int_equal(shipped.listen.port, 7200);
    assert_int_equal(shipped.admin_listen.port, 7804);
}

static void a_script_lies_beside_the_configuration_unless_its_path_is_whole(void **state)
{
    (void)state;
    struct stub_config config;
    struct fault fault = {0};
    assert_true(load("agent_script: a.yaml\n", &config, &fault));
    const char *name = strrchr(config.agent_script, '/');
    assert_non_null(name);
    assert_string_equal(name, "/a.yaml");
    assert_true(config.agent_script[0] == '/' && name > config.agent_script);
    assert_true(load("agent_script: /b/a.yaml\n", &config, &fault));
    assert_string_equal(config.agent_script, "/b/a.yaml");
    char yaml[STUB_PATH_CAP + 32];
    (void)snprintf(yaml, sizeof(yaml), "agent_script: %0*d\n", STUB_PATH_CAP - 1, 0);
    assert_false(load(yaml, &config, &fault));
    assert_non_null(strstr(fault.text, ":1: agent_script: is longer"));
}

static void listen_takes_an_address_or_a_path(void **state)
{
    (void)state;
    struct stub_config config;
    struct fault fault = {0};
    assert_true(load("listen: \"[::1]:7\"\n", &config, &fault));
    assert_string_equal(config.unix_path, "");
    assert_false(net_addr_is_ipv4(&config.listen));
    assert_true(load("listen: unix:/run/stub.sock\n", &config, &fault));
    assert_string_equal(config.unix_path, "/run/stub.sock");
    char yaml[160];
    for (int len = 107; len <= 108; len++) {
        (void)snprintf(yaml, sizeof(yaml), "listen: unix:/%0*d\n", len - 1, 0);
        assert_int_equal(load(yaml, &config, &fault), len == 107);
    }
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        const char *says;
    } cases[] = {
        {"mode: parot\n", ":1: mode:"},
        {"\nlisten: somewhere\n", ":2: listen:"},
        {"listen: \"unix:\"\n", ":1: listen:"},
        {"greeting: \"\"\n", ":1: greeting:"},
        {"echo_delay: 5001ms\n", ":1: echo_delay:"},
        {"tone_hz: 8000\n", ":1: tone_hz:"},
        {"tone_hz: 19\n", ":1: tone_hz:"},
        {"connections_max: 257\n", ":1: connections_max:"},
        {"sessions_max: 0\n", ":1: sessions_max:"},
        {"colour: blue\n", ":1: colour:"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct stub_config config;
        struct fault fault = {0};
        assert_false(load(cases[i].yaml, &config, &fault));
        assert_non_null(strstr(fault.text, cases[i].says));
    }
}

static void modes_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"echo", "tone", "parrot", "agent"};
    enum stub_mode mode;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_true(stub_config_mode(names[i], &mode));
        assert_string_equal(stub_config_mode_name(mode), names[i]);
    }
    assert_false(stub_config_mode("Echo", &mode));
    assert_false(stub_config_mode("", &mode));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_and_the_shipped_one_give_the_same),
        cmocka_unit_test(a_script_lies_beside_the_configuration_unless_its_path_is_whole),
        cmocka_unit_test(listen_takes_an_address_or_a_path),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line),
        cmocka_unit_test(modes_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
