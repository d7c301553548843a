/* key_ring_test.c - a ring loads only when every key of it is good, and the fault names the file */
#include "tests/testing.h"

#include "common/routing/key_ring.h"
#include "common/routing/routing_token.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOOD_KEY  "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define OTHER_KEY "FFfefdfcfbfaf9f8f7f6f5f4f3f2f1f0efeeedecebeae9e8e7e6e5e4e3e2e1e0"

struct room {
    char path[64];
    int fd;
};

static int make_room(void **state)
{
    struct room *room = calloc(1, sizeof(*room));
    assert_non_null(room);
    (void)snprintf(room->path, sizeof(room->path), "/tmp/key_ring_test.XXXXXX");
    assert_non_null(mkdtemp(room->path));
    room->fd = open(room->path, O_RDONLY | O_DIRECTORY);
    assert_true(room->fd >= 0);
    *state = room;
    return 0;
}

static int remove_room(void **state)
{
    struct room *room = *state;
    DIR *stream = opendir(room->path);
    const struct dirent *entry = NULL;
    assert_non_null(stream);
    while ((entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] != '.' && unlinkat(room->fd, entry->d_name, 0) != 0) {
            assert_int_equal(unlinkat(room->fd, entry->d_name, AT_REMOVEDIR), 0);
        }
    }
    (void)closedir(stream);
    (void)close(room->fd);
    assert_int_equal(rmdir(room->path), 0);
    free(room);
    return 0;
}

static void put(const struct room *room, const char *name, const char *text, mode_t mode)
{
    const int fd = openat(room->fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
}

static void expect_fault(const struct room *room, const char *name_in_fault)
{
    struct fault fault = {0};
    struct key_ring *ring = key_ring_load(room->path, &fault);
    assert_null(ring);
    assert_int_not_equal(fault.code, FAULT_NONE);
    assert_non_null(strstr(fault.text, name_in_fault));
    assert_non_null(strstr(fault.text, room->path));
}

static void expect_ring(const struct room *room, uint8_t active_id)
{
    struct fault fault = {0};
    struct key_ring *ring = key_ring_load(room->path, &fault);
    assert_string_equal(fault.text, "");
    assert_non_null(ring);
    assert_int_equal(key_ring_active_id(ring), active_id);
    key_ring_destroy(ring);
}

static void a_directory_of_two_keys_is_loaded(void **state)
{
    const struct room *room = *state;
    put(room, "00.key", GOOD_KEY "\n", 0400);
    put(room, "63.key", GOOD_KEY, 0440);
    put(room, "active", "63\n", 0444);
    struct key_ring *ring = key_ring_load(room->path, NULL);
    assert_non_null(ring);
    for (unsigned id = 0; id < 256; id++) {
        const bool has = id == 0 || id == 63;
        assert_int_equal(key_ring_has(ring, (uint8_t)id), has);
        assert_int_equal(key_ring_token_cipher(ring, (uint8_t)id) != NULL, has);
        assert_int_equal(key_ring_shim_mac(ring, (uint8_t)id) != NULL, has);
        assert_int_equal(key_ring_call_id_cipher(ring, (uint8_t)id) != NULL, has);
        assert_int_equal(key_ring_client_secret_cipher(ring, (uint8_t)id) != NULL, has);
    }
    assert_int_equal(key_ring_active_id(ring), 63);
    key_ring_destroy(ring);
}

static void other_names_are_not_looked_at(void **state)
{
    const struct room *room = *state;
    static const char *const other[] = {"7.key",  "007.key",    "07.key~",     "07.KEY",
                                        "a7.key", "active.swp", ".07.key.swp", "README"};
    put(room, "07.key", GOOD_KEY, 0400);
    put(room, "active", "07", 0400);
    for (size_t i = 0; i < COUNT_OF(other); i++) {
        put(room, other[i], "no key", 0666);
    }
    expect_ring(room, 7);
    assert_int_equal(unlinkat(room->fd, ".07.key.swp", 0), 0);
}

/* As Kubernetes mounts a secret: 07.key -> ..data/07.key. */
static void a_key_behind_a_symbolic_link_is_loaded(void **state)
{
    const struct room *room = *state;
    put(room, "data", GOOD_KEY, 0440);
    put(room, "active", "07", 0440);
    assert_int_equal(symlinkat("data", room->fd, "07.key"), 0);
    expect_ring(room, 7);
}

static void a_malformed_key_is_named(void **state)
{
    const struct room *room = *state;
    static const char *const text[] = {
        "",
        "\n",
        GOOD_KEY "0",
        GOOD_KEY "00",
        GOOD_KEY " ",
        " " GOOD_KEY,
        "g00102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        GOOD_KEY GOOD_KEY GOOD_KEY GOOD_KEY,
    };
    put(room, "07.key", GOOD_KEY, 0400);
    put(room, "active", "07", 0400);
    expect_ring(room, 7);
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        put(room, "08.key", text[i], 0600);
        expect_fault(room, "08.key: is not 64 hex digits");
    }
}

static void a_key_id_above_63_is_named(void **state)
{
    const struct room *room = *state;
    put(room, "63.key", GOOD_KEY, 0400);
    put(room, "active", "63", 0400);
    expect_ring(room, 63);
    put(room, "64.key", GOOD_KEY, 0400);
    expect_fault(room, "64.key: key id is outside 00..63");
}

static void a_key_that_others_may_touch_is_refused(void **state)
{
    const struct room *room = *state;
    static const mode_t open_mode[] = {0404, 0402, 0401, 0644, 0666};
    static const mode_t closed_mode[] = {0400, 0440, 0600, 0640, 0660};
    put(room, "active", "07", 0444);
    for (size_t i = 0; i < COUNT_OF(open_mode); i++) {
        put(room, "07.key", GOOD_KEY, 0600);
        assert_int_equal(fchmodat(room->fd, "07.key", open_mode[i], 0), 0);
        expect_fault(room, "07.key: mode");
        assert_int_equal(unlinkat(room->fd, "07.key", 0), 0);
    }
    for (size_t i = 0; i < COUNT_OF(closed_mode); i++) {
        put(room, "07.key", GOOD_KEY, closed_mode[i]);
        expect_ring(room, 7);
        assert_int_equal(unlinkat(room->fd, "07.key", 0), 0);
    }
}

static void an_active_file_that_others_may_write_is_refused(void **state)
{
    const struct room *room = *state;
    put(room, "07.key", GOOD_KEY, 0400);
    put(room, "active", "07", 0646);
    expect_fault(room, "active: mode 0646");
}

static void active_names_a_key_that_is_there(void **state)
{
    const struct room *room = *state;
    static const char *const wrong[] = {"", "7", "007", "x7", "07 ", "08", "64", "99", "0\n7"};
    put(room, "07.key", GOOD_KEY, 0400);
    expect_fault(room, "active: No such file");
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        put(room, "active", wrong[i], 0600);
        expect_fault(room, "active: ");
    }
    put(room, "active", "07\r\n", 0600);
    expect_ring(room, 7);
}

static void what_is_no_file_is_named_and_does_not_block(void **state)
{
    const struct room *room = *state;
    put(room, "active", "07", 0400);
    assert_int_equal(mkfifoat(room->fd, "07.key", 0600), 0);
    expect_fault(room, "07.key: is not a file");
    assert_int_equal(unlinkat(room->fd, "07.key", 0), 0);
    assert_int_equal(mkdirat(room->fd, "07.key", 0700), 0);
    expect_fault(room, "07.key: is not a file");
}

static void an_empty_or_missing_directory_is_named(void **state)
{
    const struct room *room = *state;
    struct room missing = *room;
    expect_fault(room, "holds no NN.key");
    (void)strcat(missing.path, "/absent");
    expect_fault(&missing, "No such file");
}

static void init_makes_a_directory_with_one_active_key(void **state)
{
    const struct room *room = *state;
    struct fault fault = {0};
    struct stat status;
    char path[80];
    (void)snprintf(path, sizeof(path), "%s/keys", room->path);
    assert_true(key_ring_init_directory(path, &fault));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    struct key_ring *ring = key_ring_load(path, &fault);
    assert_non_null(ring);
    assert_int_equal(key_ring_active_id(ring), 0);
    key_ring_destroy(ring);
    assert_int_equal(unlinkat(room->fd, "keys/00.key", 0), 0);
    assert_int_equal(unlinkat(room->fd, "keys/active", 0), 0);

    (void)snprintf(path, sizeof(path), "%s/absent/keys", room->path);
    assert_false(key_ring_init_directory(path, &fault));
    assert_non_null(strstr(fault.text, "mkdir"));
}

static void init_leaves_any_part_of_a_ring_alone(void **state)
{
    const struct room *room = *state;
    static const char *const part[] = {"00.key", "05.key", "99.key", "active"};
    for (size_t i = 0; i < COUNT_OF(part); i++) {
        struct fault fault = {0};
        put(room, part[i], "", 0400);
        assert_false(key_ring_init_directory(room->path, &fault));
        assert_non_null(strstr(fault.text, "is there already"));
        assert_int_equal(unlinkat(room->fd, part[i], 0), 0);
        assert_int_not_equal(unlinkat(room->fd, "00.key", 0), 0); /* nothing was made beside it */
    }
}

static void two_new_rings_differ(void **state)
{
    const struct room *room = *state;
    char text[2][ROUTING_TOKEN_CHARS];
    for (size_t i = 0; i < 2; i++) {
        assert_true(key_ring_init_directory(room->path, NULL));
        struct key_ring *ring = key_ring_load(room->path, NULL);
        assert_non_null(ring);
        routing_token_seal(ring, &(struct routing_token){.session_id = 1}, text[i]);
        key_ring_destroy(ring);
        assert_int_equal(unlinkat(room->fd, "00.key", 0), 0);
        assert_int_equal(unlinkat(room->fd, "active", 0), 0);
    }
    assert_memory_not_equal(text[0], text[1], ROUTING_TOKEN_CHARS);
}

static void a_copy_outlives_the_ring_and_has_its_keys(void **state)
{
    const struct room *room = *state;
    put(room, "07.key", GOOD_KEY, 0400);
    put(room, "08.key", OTHER_KEY, 0400);
    put(room, "active", "08", 0400);
    struct key_ring *ring = key_ring_load(room->path, NULL);
    assert_non_null(ring);
    struct key_ring *copy = key_ring_copy(ring);
    assert_non_null(copy);
    char text[ROUTING_TOKEN_CHARS];
    routing_token_seal(ring, &(struct routing_token){.session_id = 5}, text);
    key_ring_destroy(ring);

    struct routing_token token = {0};
    uint8_t key_id = 0;
    assert_int_equal(key_ring_active_id(copy), 8);
    assert_true(key_ring_has(copy, 7));
    assert_int_equal(routing_token_open(copy, bytes_view_of(text, sizeof(text)), &token, &key_id),
                     ROUTING_TOKEN_OK);
    assert_int_equal(token.session_id, 5);
    key_ring_destroy(copy);
}

#define IN_A_ROOM(test) cmocka_unit_test_setup_teardown(test, make_room, remove_room)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_ROOM(a_directory_of_two_keys_is_loaded),
        IN_A_ROOM(other_names_are_not_looked_at),
        IN_A_ROOM(a_key_behind_a_symbolic_link_is_loaded),
        IN_A_ROOM(a_malformed_key_is_named),
        IN_A_ROOM(a_key_id_above_63_is_named),
        IN_A_ROOM(a_key_that_others_may_touch_is_refused),
        IN_A_ROOM(an_active_file_that_others_may_write_is_refused),
        IN_A_ROOM(active_names_a_key_that_is_there),
        IN_A_ROOM(what_is_no_file_is_named_and_does_not_block),
        IN_A_ROOM(an_empty_or_missing_directory_is_named),
        IN_A_ROOM(init_makes_a_directory_with_one_active_key),
        IN_A_ROOM(init_leaves_any_part_of_a_ring_alone),
        IN_A_ROOM(two_new_rings_differ),
        IN_A_ROOM(a_copy_outlives_the_ring_and_has_its_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
