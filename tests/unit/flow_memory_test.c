/* flow_memory_test.c - memory is taken up only under the very same label */
#include "tests/testing.h"

#include "services/relay/core/flow_remains.h"
#include "services/relay/flow_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORKERS = 3 };

static struct relay_config plain(void)
{
    struct relay_config config = {
        .forwarder = {.cluster_id = 1, .flow_cap = 1000, .listen_count = 2}};
    assert_true(net_addr_parse("192.0.2.1:3478", &config.forwarder.listen[0]));
    assert_true(net_addr_parse("[2001:db8::1]:3478", &config.forwarder.listen[1]));
    assert_true(net_addr_parse("10.0.0.1:3500", &config.forwarder.internal));
    return config;
}

/* What a supervisor hands to the next process; the first one is gone. */
static int left_by(const struct relay_config *config, unsigned worker_count)
{
    struct flow_memory m;
    struct fault fault = {0};
    assert_true(flow_memory_make(&m, config, worker_count, &fault));
    const int fd = fcntl(m.fd, F_DUPFD_CLOEXEC, 0);
    flow_memory_close(&m);
    assert_true(fd >= 0);
    return fd;
}

static void what_one_process_writes_the_next_one_reads(void **state)
{
    (void)state;
    const struct relay_config config = plain();
    struct flow_memory m;
    struct fault fault = {0};
    assert_true(flow_memory_make(&m, &config, WORKERS, &fault));
    assert_false(m.is_used);
    const int fd = fcntl(m.fd, F_DUPFD_CLOEXEC, 0);
    const size_t lines_bytes = flow_table_bytes(config.forwarder.flow_cap);
    for (unsigned i = 0; i < WORKERS; i++) {
        assert_int_equal((uintptr_t)flow_memory_lines(&m, i) % sizeof(struct flow), 0);
        memset(flow_memory_lines(&m, i), (int)i + 1, lines_bytes);
    }
    flow_memory_notes(&m)->noted_us = 77;
    flow_memory_close(&m);
    assert_null(flow_memory_lines(&m, 0));
    assert_null(flow_memory_notes(&m));

    assert_true(flow_memory_adopt(&m, fd, &config, WORKERS));
    assert_true(m.is_used);
    for (unsigned i = 0; i < WORKERS; i++) {
        const uint8_t *lines = flow_memory_lines(&m, i);
        assert_int_equal(lines[0], i + 1);
        assert_int_equal(lines[lines_bytes - 1], i + 1);
    }
    assert_int_equal(flow_memory_notes(&m)->noted_us, 77);
    flow_memory_close(&m);
    flow_memory_close(&m); /* of one that there is not */
}

/* A flow in a line of worker 1, among pages that nobody ever touched. */
static void only_what_holds_something_is_read(void **state)
{
    (void)state;
    struct relay_config config = plain();
    config.forwarder.flow_cap = 1 << 20;
    struct flow_memory m;
    struct fault fault = {0};
    assert_true(flow_memory_make(&m, &config, WORKERS, &fault));
    assert_null(flow_memory_collect(&m, 1, &config.forwarder, US_PER_S)); /* nobody was here */
    const int fd = fcntl(m.fd, F_DUPFD_CLOEXEC, 0);
    const size_t last = flow_table_bytes(config.forwarder.flow_cap) / sizeof(struct flow) - 1;
    const size_t at[] = {0, 12345, 800000, last};
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        struct flow *lines = flow_memory_lines(&m, 1);
        lines[at[i]] = (struct flow){
            .client = {.port = 1}, .refreshed_us = US_PER_S - i, .state = FLOW_CONFIRMED};
    }
    flow_memory_close(&m);
    struct stat before;
    struct stat after;
    assert_int_equal(fstat(fd, &before), 0);

    assert_true(flow_memory_adopt(&m, fd, &config, WORKERS));
    const size_t expected[WORKERS] = {0, COUNT_OF(at), 0};
    for (unsigned i = 0; i < WORKERS; i++) {
        struct flow_remains *remains = flow_memory_collect(&m, i, &config.forwarder, US_PER_S);
        assert_int_equal(flow_remains_count(remains), expected[i]);
        flow_remains_destroy(remains);
    }
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        const struct flow *lines = flow_memory_lines(&m, 1);
        assert_int_equal(lines[at[i]].state, FLOW_FREE);
    }
    assert_int_equal(fstat(m.fd, &after), 0);
    assert_int_equal(after.st_blocks, before.st_blocks);
    flow_memory_close(&m);
}

static void another_configuration_begins_without_flows(void **state)
{
    (void)state;
    struct flow_memory m;
    const struct relay_config config = plain();
    struct relay_config changed[7];
    for (size_t i = 0; i < COUNT_OF(changed); i++) {
        changed[i] = config;
    }
    changed[0].forwarder.cluster_id++;
    changed[1].forwarder.flow_cap++;
    changed[2].forwarder.listen_count--;
    changed[3].forwarder.listen[0].port++;
    changed[4].forwarder.listen[1].ip[15]++;
    changed[5].forwarder.internal.port++;
    changed[6].forwarder.allow_private_clients = true;
    for (size_t i = 0; i < COUNT_OF(changed); i++) {
        assert_false(flow_memory_adopt(&m, left_by(&config, WORKERS), &changed[i], WORKERS));
        assert_null(flow_memory_lines(&m, 0));
    }
    assert_false(flow_memory_adopt(&m, left_by(&config, WORKERS), &config, WORKERS + 1));
    assert_false(flow_memory_adopt(&m, left_by(&config, WORKERS), &config, WORKERS - 1));
    assert_true(flow_memory_adopt(&m, left_by(&config, WORKERS), &config, WORKERS));
    flow_memory_close(&m);
}

/* The label of another version differs in one of its first words. */
static void another_layout_begins_without_flows(void **state)
{
    (void)state;
    struct flow_memory m;
    const struct relay_config config = plain();
    for (off_t at = 0; at < 24; at++) {
        const int fd = left_by(&config, WORKERS);
        uint8_t byte = 0;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte++;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_false(flow_memory_adopt(&m, fd, &config, WORKERS));
        assert_int_equal(fcntl(fd, F_GETFD), -1); /* taken, so closed */
    }
}

static void what_could_be_cut_short_is_not_mapped(void **state)
{
    (void)state;
    struct flow_memory m;
    const struct relay_config config = plain();
    const int good = left_by(&config, WORKERS);
    assert_int_equal(ftruncate(good, 0), -1);

    const int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    uint8_t block[4096];
    ssize_t len = 0;
    while ((len = read(good, block, sizeof(block))) > 0) {
        assert_int_equal(write(unsealed, block, (size_t)len), len);
    }
    assert_false(flow_memory_adopt(&m, unsealed, &config, WORKERS));
    int pipe_fd[2];
    assert_int_equal(pipe(pipe_fd), 0);
    assert_false(flow_memory_adopt(&m, pipe_fd[0], &config, WORKERS));
    (void)close(pipe_fd[1]);
    (void)close(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_process_writes_the_next_one_reads),
        cmocka_unit_test(only_what_holds_something_is_read),
        cmocka_unit_test(another_configuration_begins_without_flows),
        cmocka_unit_test(another_layout_begins_without_flows),
        cmocka_unit_test(what_could_be_cut_short_is_not_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
