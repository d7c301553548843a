/* stub_listener_test.c - TCP and UNIX listeners, and paths that the dead left behind */
#include "tests/testing.h"

#include "services/inference-stub/stub_listener.h"
#include "tests/far_end.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>

static char directory[] = "/tmp/stub_listener_test.XXXXXX";

static int set_up(void **state)
{
    (void)state;
    log_open("test", LOG_ERROR, LOG_TEXT);
    return mkdtemp(directory) == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory); /* nothing was left in it */
}

static struct stub_config tcp_at(const char *address)
{
    struct stub_config config = {0};
    assert_true(net_addr_parse(address, &config.listen));
    return config;
}

static struct stub_config unix_at(const char *name)
{
    struct stub_config config = {0};
    (void)snprintf(config.unix_path, sizeof(config.unix_path), "%s/%s", directory, name);
    return config;
}

static int open_listener(const struct stub_config *config)
{
    struct fault fault = {0};
    const int fd = stub_listener_open(config, &fault);
    if (fd < 0) {
        fail_msg("%s", fault.text);
    }
    assert_true((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    return fd;
}

static void assert_refused(const struct stub_config *config, const char *expected)
{
    struct fault fault = {0};
    assert_int_equal(stub_listener_open(config, &fault), -1);
    assert_int_equal(fault.code, FAULT_SYSTEM);
    if (strstr(fault.text, expected) == NULL) {
        fail_msg("%s", fault.text);
    }
}

static bool is_answered(const struct stub_config *config, int listener)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    if (config->unix_path[0] != '\0') {
        struct sockaddr_un *un = (struct sockaddr_un *)&address;
        un->sun_family = AF_UNIX;
        len = sizeof(*un);
        memcpy(un->sun_path, config->unix_path, sizeof(un->sun_path));
    } else {
        assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    }
    const int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_good = connect(fd, (struct sockaddr *)&address, len) == 0;
    (void)close(fd);
    return is_good;
}

static void port_0_lets_the_system_choose(void **state)
{
    (void)state;
    const struct stub_config config = tcp_at("127.0.0.1:0");
    const int first = open_listener(&config);
    const int second = open_listener(&config);
    assert_int_not_equal(far_end_address_of(first).port, far_end_address_of(second).port);
    assert_true(is_answered(&config, first));
    assert_true(is_answered(&config, second));
    stub_listener_close(&config, first);
    stub_listener_close(&config, second);
}

static void an_ipv6_address_is_listened_at(void **state)
{
    (void)state;
    const struct stub_config config = tcp_at("[::1]:0");
    const int fd = open_listener(&config);
    assert_true(is_answered(&config, fd));
    stub_listener_close(&config, fd);
}

static void a_tcp_address_in_use_is_refused_by_its_name(void **state)
{
    (void)state;
    struct stub_config config = tcp_at("127.0.0.1:0");
    const int fd = open_listener(&config);
    config.listen = far_end_address_of(fd);
    char address[NET_ADDR_TEXT_CAP];
    assert_refused(&config, net_addr_format(&config.listen, address, sizeof(address)));
    assert_refused(&config, "change listen");
    stub_listener_close(&config, fd);
    const int again = open_listener(&config);
    stub_listener_close(&config, again);
}

static void a_unix_path_is_there_until_it_is_closed(void **state)
{
    (void)state;
    const struct stub_config config = unix_at("live");
    const int fd = open_listener(&config);
    assert_true(is_answered(&config, fd));
    stub_listener_close(&config, fd);
    assert_int_equal(access(config.unix_path, F_OK), -1);
}

static void a_path_that_is_answered_is_not_taken_over(void **state)
{
    (void)state;
    const struct stub_config config = unix_at("live");
    const int fd = open_listener(&config);
    assert_refused(&config, config.unix_path);
    assert_true(is_answered(&config, fd));
    stub_listener_close(&config, fd);
}

static void a_path_that_a_dead_process_left_is_taken_over(void **state)
{
    (void)state;
    const struct stub_config config = unix_at("dead");
    (void)close(open_listener(&config)); /* and no unlink */
    assert_int_equal(access(config.unix_path, F_OK), 0);
    assert_false(is_answered(&config, -1));
    const int fd = open_listener(&config);
    assert_true(is_answered(&config, fd));
    stub_listener_close(&config, fd);
}

static void a_file_that_is_no_socket_is_left_alone(void **state)
{
    (void)state;
    const struct stub_config config = unix_at("file");
    const int file = open(config.unix_path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    (void)close(file);
    assert_refused(&config, config.unix_path);
    assert_int_equal(unlink(config.unix_path), 0);
}

static void a_path_in_no_directory_is_refused(void **state)
{
    (void)state;
    const struct stub_config config = unix_at("no/where");
    assert_refused(&config, "No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_0_lets_the_system_choose),
        cmocka_unit_test(an_ipv6_address_is_listened_at),
        cmocka_unit_test(a_tcp_address_in_use_is_refused_by_its_name),
        cmocka_unit_test(a_unix_path_is_there_until_it_is_closed),
        cmocka_unit_test(a_path_that_is_answered_is_not_taken_over),
        cmocka_unit_test(a_path_that_a_dead_process_left_is_taken_over),
        cmocka_unit_test(a_file_that_is_no_socket_is_left_alone),
        cmocka_unit_test(a_path_in_no_directory_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
