/* flow_kill_test.c - kill -9 of a process that works on a flow table, at any instruction */
#include "tests/testing.h"

#include "common/base/random.h"
#include "tests/flow_settling.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define START_US (1000 * US_PER_S)

/* Few lines, so that gaps are closed all the time. */
enum { CAP = 128, CLIENTS = 300, KILLS = 400, SOCKETS = 4, GENERATIONS = 8 };

static const struct flow_hash_seed seed = {1, 2};

/* What a child tells of its life, in memory that it shares with the test. */
struct shared {
    _Alignas(64) uint8_t lines[2 * 2 * CAP * sizeof(struct flow)];
    volatile uint64_t steps;
    volatile size_t flows; /* after the last step */
};

static struct net_addr client_at(uint32_t i)
{
    struct net_addr a;
    assert_true(net_addr_parse_ip("198.18.0.0", (uint16_t)(20000 + i), &a));
    a.ip[15] = (uint8_t)i;
    return a;
}

/* Half of one flow and half of another would have an owner or a socket of another client. */
static struct flow_owner owner_at(uint32_t i, uint32_t generation)
{
    return (struct flow_owner){.instance_id = 7 * i, .session_id = CLIENTS * generation + i};
}

static void work_until_killed(struct shared *shared, uint64_t random_seed)
{
    struct flow_table *t = flow_table_create(CAP, seed);
    (void)settle_again(t, shared->lines, CAP, SOCKETS, START_US);
    struct random_generator random;
    random_generator_init(&random, random_seed);
    for (;;) {
        const uint64_t draw = random_generator_next(&random);
        const uint32_t i = (uint32_t)(draw >> 8) % CLIENTS;
        const struct net_addr client = client_at(i);
        const struct flow_owner owner = owner_at(i, (uint32_t)(draw >> 40) % GENERATIONS);
        struct flow *flow = draw % 4 == 0 ? flow_table_open(t, &client, owner, START_US)
                                          : flow_table_confirm(t, &client, owner, START_US);
        if (flow != NULL) {
            flow->socket = (uint8_t)(i % SOCKETS);
        }
        shared->flows = flow_table_count(t, FLOW_CONFIRMED) + flow_table_count(t, FLOW_HALF_OPEN);
        shared->steps++;
    }
}

/* Once it works: a table that was being taken up may be lost. */
static void kill_at_work(pid_t child, const struct shared *shared, long delay_ns)
{
    const uint64_t steps = shared->steps;
    while (shared->steps == steps) {
        (void)sched_yield();
    }
    const struct timespec delay = {.tv_nsec = delay_ns};
    (void)nanosleep(&delay, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void assert_no_flow_is_mixed(struct flow_table *t)
{
    size_t count = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct net_addr client = client_at(i);
        const struct flow *flow = flow_table_find(t, &client, START_US);
        if (flow == NULL) {
            continue;
        }
        count++;
        assert_int_equal(flow->owner.instance_id, 7 * i);
        assert_int_equal(flow->owner.session_id % CLIENTS, i);
        assert_true(flow->socket == i % SOCKETS || flow->socket == FLOW_SOCKET_UNKNOWN);
    }
    assert_int_equal(count,
                     flow_table_count(t, FLOW_CONFIRMED) + flow_table_count(t, FLOW_HALF_OPEN));
}

static void a_killed_process_leaves_whole_flows(void **state)
{
    (void)state;
    assert_true(sizeof(((struct shared *)NULL)->lines) >= flow_table_bytes(CAP));
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    struct random_generator random;
    random_generator_init(&random, 26);
    for (unsigned kills = 0; kills < KILLS; kills++) {
        const uint64_t draw = random_generator_next(&random);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            work_until_killed(shared, draw);
        }
        kill_at_work(child, shared, (long)(draw % 4000) * 1000);

        struct flow_table *t = flow_table_create(CAP, seed);
        const size_t taken = settle_again(t, shared->lines, CAP, SOCKETS, START_US);
        /* In one step a flow is taken out, and another one gives its place. */
        assert_true(taken + 2 >= shared->flows);
        assert_no_flow_is_mixed(t);
        flow_table_destroy(t);
    }
    assert_true(shared->steps > KILLS);
    assert_int_equal(munmap(shared, sizeof(*shared)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_process_leaves_whole_flows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
