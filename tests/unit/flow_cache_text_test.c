/* flow_cache_text_test.c - one spelling for a flow, and where Redis is */
#include "tests/testing.h"

#include "services/relay/core/flow_cache_text.h"
#include "services/relay/flow_cache/flow_cache_url.h"

#include <stdio.h>

static struct net_addr addr(const char *text)
{
    struct net_addr a;
    assert_true(net_addr_parse(text, &a));
    return a;
}

static void keys_name_cluster_transport_and_client(void **state)
{
    static const struct {
        uint16_t cluster_id;
        bool is_tcp;
        const char *client;
        const char *key;
    } row[] = {
        {1, false, "203.0.113.77:51870", "earshot:flow:1:udp:203.0.113.77|51870"},
        {65535, true, "[2001:db8::7]:1", "earshot:flow:65535:tcp:2001:db8::7|1"},
    };
    char key[FLOW_CACHE_KEY_CAP];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_true(flow_cache_write_key(&(struct flow_cache_key){.client = addr(row[i].client),
                                                                  .cluster_id = row[i].cluster_id,
                                                                  .is_tcp = row[i].is_tcp},
                                         key));
        assert_string_equal(key, row[i].key);
    }
}

static void an_address_that_only_this_host_understands_has_no_text(void **state)
{
    char key[FLOW_CACHE_KEY_CAP];
    char value[FLOW_CACHE_VALUE_BYTES_MAX + 1];
    struct net_addr local = addr("[fe80::1]:4000");
    (void)state;
    local.scope = 2;
    assert_false(flow_cache_write_key(&(struct flow_cache_key){.client = local}, key));
    assert_false(flow_cache_write_value(&(struct cached_flow){.next_hop = local}, value));
    local.scope = 0;
    local.port = 0;
    assert_false(flow_cache_write_value(&(struct cached_flow){.next_hop = local}, value));
}

static void a_value_comes_back_as_it_was(void **state)
{
    static const char *const row[] = {
        "0001|5eed0001|00002a03|10.0.0.5|4000",
        "0000|00000000|00000000|0.0.0.0|1",
        "ffff|ffffffff|ffffffff|ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff|65535",
        "0001|5eed0001|00002a03|fd00::5|4000",
    };
    char again[FLOW_CACHE_VALUE_BYTES_MAX + 1];
    struct cached_flow flow;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_true(flow_cache_read_value(bytes_view_of_text(row[i]), &flow));
        assert_true(flow_cache_write_value(&flow, again));
        assert_string_equal(again, row[i]);
    }
    assert_true(flow_cache_read_value(bytes_view_of_text(row[0]), &flow));
    const struct net_addr next_hop = addr("10.0.0.5:4000");
    assert_true(net_addr_equal(&flow.next_hop, &next_hop));
    assert_int_equal(flow.cluster_id, 1);
    assert_int_equal(flow.instance_id, 0x5eed0001);
    assert_int_equal(flow.session_id, 0x2a03);
}

static void every_other_text_is_refused(void **state)
{
    static const char *const row[] = {
        "",
        "|",
        "||||",
        "1|5eed0001|00002a03|10.0.0.5|4000",
        "00001|5eed0001|00002a03|10.0.0.5|4000",
        "0001|5EED0001|00002a03|10.0.0.5|4000",
        "0001|5eed001|00002a03|10.0.0.5|4000",
        "0001|5eed0001|00002a03f|10.0.0.5|4000",
        "0001|5eed0001|0000 a03|10.0.0.5|4000",
        "0x01|5eed0001|00002a03|10.0.0.5|4000",
        "0001|5eed0001|00002a03|10.0.0.05|4000",
        "0001|5eed0001|00002a03|10.0.5|4000",
        "0001|5eed0001|00002a03|localhost|4000",
        "0001|5eed0001|00002a03||4000",
        "0001|5eed0001|00002a03|::ffff:10.0.0.5|4000",
        "0001|5eed0001|00002a03|FD00::5|4000",
        "0001|5eed0001|00002a03|fd00:0::5|4000",
        "0001|5eed0001|00002a03|[fd00::5]|4000",
        "0001|5eed0001|00002a03|fe80::1%lo|4000",
        "0001|5eed0001|00002a03|10.0.0.5|0",
        "0001|5eed0001|00002a03|10.0.0.5|04000",
        "0001|5eed0001|00002a03|10.0.0.5|65536",
        "0001|5eed0001|00002a03|10.0.0.5|4000 ",
        "0001|5eed0001|00002a03|10.0.0.5|4000|",
        "0001|5eed0001|00002a03|10.0.0.5|-1",
        "0001|5eed0001|00002a03|10.0.0.5|",
        "0001|5eed0001|00002a03|10.0.0.5",
        " 0001|5eed0001|00002a03|10.0.0.5|4000",
        "0001|5eed0001|00002a03|10.0.0.5|4000\n",
        "0000000000000000000000000000000000000000000000000000000000000000000000000|1|1|1|1",
    };
    struct cached_flow flow;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        if (flow_cache_read_value(bytes_view_of_text(row[i]), &flow)) {
            fail_msg("\"%s\" was taken", row[i]);
        }
    }
}

static void a_value_that_is_cut_or_goes_on_is_refused(void **state)
{
    static const char whole[] = "0001|5eed0001|00002a03|10.0.0.5|4000";
    uint8_t longer[FLOW_CACHE_VALUE_BYTES_MAX + 1] = {0};
    struct cached_flow flow;
    (void)state;
    for (size_t len = 0; len < sizeof(whole) - 1; len++) {
        /* The first digits of a port are a port, too: the last value is another one. */
        const bool is_port_cut = len > sizeof(whole) - 1 - 4;
        assert_int_equal(flow_cache_read_value(bytes_view_of(whole, len), &flow), is_port_cut);
    }
    memcpy(longer, whole, sizeof(whole) - 1);
    for (size_t len = sizeof(whole); len <= sizeof(longer); len++) {
        assert_false(flow_cache_read_value(bytes_view_of(longer, len), &flow)); /* NULs behind */
    }
}

static void a_url_has_an_address_and_perhaps_secrets(void **state)
{
    static const struct {
        const char *text;
        const char *address;
        const char *user;
        const char *password;
        unsigned database;
    } row[] = {
        {"redis://127.0.0.1:6379", "127.0.0.1:6379", "", "", 0},
        {"redis://redis:6379/", "redis:6379", "", "", 0},
        {"redis://[::1]:6379/15", "[::1]:6379", "", "", 15},
        {"redis://:secret@redis:6379/3", "redis:6379", "", "secret", 3},
        {"redis://:@redis:6379", "redis:6379", "", "", 0},
        {"redis://relay:p@ss/w:rd%20@redis:6379", "redis:6379", "relay", "p@ss/w:rd%20", 0},
    };
    struct flow_cache_url url;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        assert_null(flow_cache_url_parse(row[i].text, &url));
        assert_string_equal(url.address, row[i].address);
        assert_string_equal(url.user, row[i].user);
        assert_string_equal(url.password, row[i].password);
        assert_int_equal(url.database, row[i].database);
    }
}

static void another_text_is_no_url(void **state)
{
    static const char *const row[] = {
        "",
        "redis",
        "redis://",
        "redis://redis",
        "redis://:6379",
        "redis://redis:",
        "redis://redis:0",
        "redis://redis:65536",
        "redis://redis:6379/16",
        "redis://redis:6379/a",
        "redis://redis:6379/1/",
        "redis://password@redis:6379",
        "rediss://redis:6379",
        "http://redis:6379",
    };
    static const struct flow_cache_url zeros;
    struct flow_cache_url url;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(row); i++) {
        if (flow_cache_url_parse(row[i], &url) == NULL) {
            fail_msg("\"%s\" was taken", row[i]);
        }
        assert_memory_equal(&url, &zeros, sizeof(url));
    }
}

static void parts_of_a_url_have_bounds(void **state)
{
    char text[FLOW_CACHE_URL_CAP];
    struct flow_cache_url url;
    (void)state;
    for (int len = FLOW_CACHE_PASSWORD_CAP - 1; len <= FLOW_CACHE_PASSWORD_CAP; len++) {
        (void)snprintf(text, sizeof(text), "redis://:%0*d@redis:6379", len, 1);
        assert_int_equal(flow_cache_url_parse(text, &url) == NULL, len < FLOW_CACHE_PASSWORD_CAP);
    }
    for (int len = FLOW_CACHE_USER_CAP - 1; len <= FLOW_CACHE_USER_CAP; len++) {
        (void)snprintf(text, sizeof(text), "redis://%0*d:x@redis:6379", len, 1);
        assert_int_equal(flow_cache_url_parse(text, &url) == NULL, len < FLOW_CACHE_USER_CAP);
    }
    for (int len = FLOW_CACHE_ADDRESS_CAP - 6; len <= FLOW_CACHE_ADDRESS_CAP - 5; len++) {
        (void)snprintf(text, sizeof(text), "redis://%0*d:6379", len, 1);
        assert_int_equal(flow_cache_url_parse(text, &url) == NULL,
                         len < FLOW_CACHE_ADDRESS_CAP - 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_name_cluster_transport_and_client),
        cmocka_unit_test(an_address_that_only_this_host_understands_has_no_text),
        cmocka_unit_test(a_value_comes_back_as_it_was),
        cmocka_unit_test(every_other_text_is_refused),
        cmocka_unit_test(a_value_that_is_cut_or_goes_on_is_refused),
        cmocka_unit_test(a_url_has_an_address_and_perhaps_secrets),
        cmocka_unit_test(another_text_is_no_url),
        cmocka_unit_test(parts_of_a_url_have_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
