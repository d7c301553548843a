/* route_kill_test.c - a process that is killed while it notes its routes, at one store exactly: the
 * page of that store is read-only */
#include "tests/testing.h"

#include "services/relay/core/route_table.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_US (1000 * US_PER_S)

enum { PAGE = 4096, NOTE_BYTES = sizeof(struct route_note) };

static struct route_table *table_of(uint32_t first_id, size_t count)
{
    struct route_networks all = {.count = 1};
    assert_true(net_block_parse("10.0.0.0/8", &all.block[0]));
    struct route_table *t = route_table_create(1, &all);
    assert_non_null(t);
    for (uint32_t i = 0; i < count; i++) {
        struct route_announcement a = {.instance_id = first_id + i, .cluster_id = 1, .sequence = 1};
        assert_true(net_addr_parse("10.0.0.5:4000", &a.media_address));
        assert_int_equal(route_table_announce(t, &a, START_US), ROUTE_NEW);
    }
    return t;
}

static void note(struct route_notes *notes, uint32_t first_id, size_t count)
{
    struct route_table *t = table_of(first_id, count);
    route_table_note(t, notes, START_US);
    route_table_destroy(t);
}

/* As note, by a process that dies of its first store to the page. */
static void note_until_killed(struct route_notes *notes, uint32_t first_id, size_t count,
                              uint8_t *page)
{
    struct route_table *t = table_of(first_id, count);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* cmocka's would tell of it */
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        if (mprotect(page, PAGE, PROT_READ) == 0) {
            route_table_note(t, notes, START_US);
        }
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0); /* a sanitizer exits */
    route_table_destroy(t);
}

static size_t recalled(const struct route_notes *notes)
{
    struct route_table *t = table_of(0, 0);
    route_table_recall(t, notes, START_US);
    const size_t count = route_table_count(t);
    route_table_destroy(t);
    return count;
}

static uint8_t *pages(void)
{
    uint8_t *p = mmap(NULL, sizeof(struct route_notes) + 2 * PAGE, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static void a_list_that_grows_does_not_run_into_an_older_one(void **state)
{
    (void)state;
    uint8_t *page = pages();
    struct route_notes *notes = (struct route_notes *)(void *)page;
    /* The first whose mark lies on the second page. */
    const size_t end = (PAGE - offsetof(struct route_notes, note)) / NOTE_BYTES;
    note(notes, 1000, end + 50);
    note(notes, 2000, end - 1);
    assert_int_equal(recalled(notes), end - 1);
    note_until_killed(notes, 2000, end, page + PAGE);
    assert_true(recalled(notes) <= end);
    assert_int_equal(munmap(page, sizeof(*notes) + 2 * PAGE), 0);
}

static void an_entry_that_is_half_written_is_none(void **state)
{
    (void)state;
    uint8_t *page = pages();
    /* The first entry's address is the last thing on the first page. */
    const size_t past =
        offsetof(struct route_notes, note) + offsetof(struct route_note, instance_id);
    struct route_notes *notes = (struct route_notes *)(void *)(page + PAGE - past);
    note(notes, 1000, 1);
    note(notes, 1000, 0);
    assert_int_equal(recalled(notes), 0);
    note_until_killed(notes, 2000, 1, page);
    assert_int_equal(recalled(notes), 0);
    assert_int_equal(munmap(page, sizeof(*notes) + 2 * PAGE), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_that_grows_does_not_run_into_an_older_one),
        cmocka_unit_test(an_entry_that_is_half_written_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
