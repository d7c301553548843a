/* fd_store_test.c - the supervisor's end is a socket of the test; the environment a child's own */
#include "tests/testing.h"

#include "common/runtime/fd_store.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int supervisor = -1;
static char notify_socket[64];

/* The name is chosen by the kernel. */
static int listen_as_supervisor(void **state)
{
    (void)state;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(name.sun_family);
    supervisor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(supervisor >= 0);
    assert_int_equal(bind(supervisor, (const struct sockaddr *)&name, len), 0);
    len = sizeof(name);
    assert_int_equal(getsockname(supervisor, (struct sockaddr *)&name, &len), 0);
    const int name_len = (int)(len - offsetof(struct sockaddr_un, sun_path)) - 1;
    (void)snprintf(notify_socket, sizeof(notify_socket), "@%.*s", name_len, name.sun_path + 1);
    return 0;
}

static int stop_listening(void **state)
{
    (void)state;
    (void)close(supervisor);
    return 0;
}

/* The next message, and the descriptor with it or -1. */
static int hear(char text[128])
{
    struct pollfd ready = {.fd = supervisor, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 1000), 1);
    union {
        struct cmsghdr header;
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } rights;
    struct iovec line = {.iov_base = text, .iov_len = 127};
    struct msghdr message = {.msg_iov = &line,
                             .msg_iovlen = 1,
                             .msg_control = rights.bytes,
                             .msg_controllen = sizeof(rights.bytes)};
    const ssize_t len = recvmsg(supervisor, &message, MSG_CMSG_CLOEXEC);
    assert_true(len >= 0);
    text[len] = '\0';
    int fd = -1;
    if (CMSG_FIRSTHDR(&message) != NULL) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    }
    return fd;
}

static bool is_same_file(int a, int b)
{
    struct stat of_a;
    struct stat of_b;
    return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

static void without_a_supervisor_nothing_is_kept(void **state)
{
    (void)state;
    static struct fd_store s;
    (void)unsetenv("NOTIFY_SOCKET");
    assert_true(fd_store_open(&s));
    assert_false(fd_store_is_there(&s));
    assert_false(fd_store_put(&s, "flows", 0));
    assert_int_equal(fd_store_take(&s, "flows"), -1);
    assert_int_equal(fd_store_forget_rest(&s), 0);
    fd_store_forget(&s, "flows");
    fd_store_say_ready(&s);
    fd_store_close(&s);
}

static void what_is_put_arrives_with_its_name(void **state)
{
    (void)state;
    static struct fd_store s;
    char text[128];
    assert_int_equal(setenv("NOTIFY_SOCKET", notify_socket, 1), 0);
    assert_true(fd_store_open(&s));
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_true(fd_store_is_there(&s));
    int pipe_fd[2];
    assert_int_equal(pipe(pipe_fd), 0);
    assert_true(fd_store_put(&s, "public.0", pipe_fd[0]));
    const int copy = hear(text);
    assert_string_equal(text, "FDSTORE=1\nFDPOLL=0\nFDNAME=public.0");
    assert_true(is_same_file(copy, pipe_fd[0]));
    fd_store_forget(&s, "public.0");
    assert_int_equal(hear(text), -1);
    assert_string_equal(text, "FDSTOREREMOVE=1\nFDNAME=public.0");
    fd_store_say_ready(&s);
    assert_int_equal(hear(text), -1);
    assert_string_equal(text, "READY=1");
    fd_store_close(&s);
    assert_false(fd_store_is_there(&s));
    (void)close(copy);
    (void)close(pipe_fd[0]);
    (void)close(pipe_fd[1]);
}

static void a_supervisor_that_is_not_there_is_told_nothing(void **state)
{
    (void)state;
    static struct fd_store s;
    static char too_long[200];
    memset(too_long, 'x', sizeof(too_long) - 1);
    too_long[0] = '/';
    const char *const wrong[] = {"",        "@",      "run/notify", "/nowhere/notify",
                                 "@nobody", too_long, "vsock:2:1"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(setenv("NOTIFY_SOCKET", wrong[i], 1), 0);
        assert_false(fd_store_open(&s));
        assert_false(fd_store_is_there(&s));
        assert_false(fd_store_put(&s, "flows", 0));
        fd_store_close(&s);
    }
}

static void a_supervisor_that_does_not_read_is_given_up(void **state)
{
    (void)state;
    static struct fd_store s;
    assert_int_equal(setenv("NOTIFY_SOCKET", notify_socket, 1), 0);
    assert_true(fd_store_open(&s));
    unsigned told = 0;
    while (fd_store_put(&s, "flows", 0)) {
        assert_true(++told < 100000);
    }
    assert_false(fd_store_is_there(&s));
    assert_true(s.is_lost);
    fd_store_close(&s);
    char text[128];
    for (; told > 0; told--) {
        (void)close(hear(text));
    }
}

/* --- What comes back, in a child whose descriptors from 3 on are those of a supervisor --- */

/* Descriptors 3, 4, ... are new pipes' ends. */
static void be_given(int count, const char *count_text, const char *names, int pid_offset)
{
    char pid[32];
    for (int fd = 3; fd < 3 + count; fd++) {
        int pipe_fd[2];
        if (pipe(pipe_fd) != 0 || dup2(pipe_fd[0], fd) != fd) {
            _exit(99);
        }
    }
    (void)snprintf(pid, sizeof(pid), "%d", getpid() + pid_offset);
    (void)setenv("LISTEN_PID", pid, 1);
    (void)setenv("LISTEN_FDS", count_text, 1);
    (void)setenv("LISTEN_FDNAMES", names, 1);
    (void)setenv("NOTIFY_SOCKET", notify_socket, 1);
}

#define EXPECT(condition)                                                                          \
    if (!(condition)) {                                                                            \
        (void)fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                              \
        _exit(1);                                                                                  \
    }

static struct fd_store store;

static void take_by_name(void)
{
    be_given(3, "3", "public.0:internal.3500:flows", 0);
    EXPECT(fd_store_open(&store));
    EXPECT(getenv("LISTEN_PID") == NULL && getenv("LISTEN_FDS") == NULL);
    EXPECT(getenv("LISTEN_FDNAMES") == NULL);
    EXPECT(fcntl(4, F_GETFD) == FD_CLOEXEC);
    EXPECT(fd_store_take(&store, "flows") == 5);
    EXPECT(fd_store_take(&store, "flows") == -1);
    EXPECT(fd_store_take(&store, "internal.3500") == 4);
    EXPECT(fd_store_take(&store, "public.1") == -1);
    fd_store_close(&store);
    EXPECT(fcntl(3, F_GETFD) == -1 && errno == EBADF); /* nobody took it */
    EXPECT(fcntl(4, F_GETFD) == FD_CLOEXEC);
}

static void forget_the_rest(void)
{
    be_given(3, "3", "public.0:public.1", 0); /* a third one without a name */
    EXPECT(fd_store_open(&store));
    EXPECT(fd_store_take(&store, "public.0") == 3);
    EXPECT(fd_store_forget_rest(&store) == 2);
    EXPECT(fcntl(3, F_GETFD) == FD_CLOEXEC);
    EXPECT(fcntl(4, F_GETFD) == -1 && fcntl(5, F_GETFD) == -1);
}

/* Two of one name: a removal was lost once. */
static void take_one_of_two(void)
{
    be_given(3, "3", "public.0:public.0:public.1", 0);
    EXPECT(fd_store_open(&store));
    EXPECT(fd_store_take(&store, "public.0") == 3);
    EXPECT(fcntl(4, F_GETFD) == -1);
    EXPECT(fd_store_forget_rest(&store) == 1);
    EXPECT(fcntl(3, F_GETFD) == FD_CLOEXEC);
}

/* A socket of the group at this address; a new group for port 0. */
static int member_of(struct sockaddr_in *at)
{
    const int one = 1;
    socklen_t len = sizeof(*at);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    EXPECT(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) == 0);
    EXPECT(bind(fd, (const struct sockaddr *)at, len) == 0);
    EXPECT(getsockname(fd, (struct sockaddr *)at, &len) == 0);
    return fd;
}

/* The supervisor does not even listen, and still has its copy of what is discarded. */
static void discard_a_member_of_a_group(void)
{
    enum { CLIENTS = 100 };
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    (void)unsetenv("NOTIFY_SOCKET");
    EXPECT(fd_store_open(&store));
    const int used = member_of(&at);
    const int stale = member_of(&at);
    const int copy = dup(stale);
    fd_store_discard(&store, "public.1", stale);
    EXPECT(fcntl(stale, F_GETFD) == -1);
    for (unsigned i = 0; i < CLIENTS; i++) {
        const int client = socket(AF_INET, SOCK_DGRAM, 0);
        EXPECT(sendto(client, "x", 1, 0, (const struct sockaddr *)&at, sizeof(at)) == 1);
        (void)close(client);
    }
    unsigned heard = 0;
    char byte;
    while (recv(used, &byte, 1, 0) == 1) {
        heard++;
    }
    EXPECT(heard == CLIENTS);
    EXPECT(recv(copy, &byte, 1, 0) == -1);
}

static void ignore_what_is_for_another_process(void)
{
    be_given(1, "1", "flows", 1);
    EXPECT(fd_store_open(&store));
    EXPECT(fd_store_take(&store, "flows") == -1);
    EXPECT(fd_store_forget_rest(&store) == 0);
    EXPECT(fcntl(3, F_GETFD) == 0); /* nor is it touched */
}

static void ignore_what_is_no_number(void)
{
    static const char *const wrong[] = {"", "0", "-1", "+1", "1x", "99999999999999999999", " 1"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        be_given(1, wrong[i], "flows", 0);
        EXPECT(fd_store_open(&store));
        EXPECT(store.kept_count == 0);
        fd_store_close(&store);
    }
}

static void be_given_less_than_was_said(void)
{
    be_given(2, "5", "a:b", 0);
    for (int fd = 5; fd < 8; fd++) {
        (void)close(fd);
    }
    EXPECT(fd_store_open(&store));
    EXPECT(store.kept_count == 2);
    EXPECT(fd_store_take(&store, "b") == 4);
}

static void be_given_too_many_and_long_names(void)
{
    static char names[4096];
    memset(names, 'n', FD_STORE_NAME_CAP); /* one longer than any of ours */
    (void)snprintf(names + FD_STORE_NAME_CAP, sizeof(names) - FD_STORE_NAME_CAP, ":%.*s:last",
                   FD_STORE_NAME_CAP - 1, names);
    int null = open("/dev/null", O_RDONLY);
    for (int fd = 6; fd < 3 + FD_STORE_MAX + 2; fd++) {
        EXPECT(dup2(null, fd) == fd);
    }
    be_given(3, "514", names, 0);
    EXPECT(fd_store_open(&store));
    EXPECT(store.kept_count == FD_STORE_MAX);
    EXPECT(fcntl(3 + FD_STORE_MAX - 1, F_GETFD) == FD_CLOEXEC);
    EXPECT(fcntl(4 + FD_STORE_MAX, F_GETFD) == -1); /* and what was 3 + MAX may be in use again */
    char longest[FD_STORE_NAME_CAP];
    memset(longest, 'n', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    EXPECT(fd_store_take(&store, longest) == 4);
    EXPECT(fd_store_take(&store, "last") == 5);
}

static void a_child_can(void (*deed)(void))
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        deed();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void what_was_kept_comes_back_by_its_name_and_once(void **state)
{
    (void)state;
    a_child_can(take_by_name);
}

static void what_nobody_wants_any_more_is_forgotten(void **state)
{
    (void)state;
    char text[128];
    a_child_can(forget_the_rest);
    assert_int_equal(hear(text), -1);
    assert_string_equal(text, "FDSTOREREMOVE=1\nFDNAME=public.1");
    struct pollfd more = {.fd = supervisor, .events = POLLIN};
    assert_int_equal(poll(&more, 1, 0), 0);
}

static void of_two_with_one_name_one_is_kept(void **state)
{
    (void)state;
    static const char *const said[] = {"FDSTOREREMOVE=1\nFDNAME=public.0",
                                       "FDSTORE=1\nFDPOLL=0\nFDNAME=public.0",
                                       "FDSTOREREMOVE=1\nFDNAME=public.1"};
    char text[128];
    a_child_can(take_one_of_two);
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        const int fd = hear(text);
        assert_string_equal(text, said[i]);
        assert_int_equal(fd >= 0, i == 1);
        if (fd >= 0) {
            (void)close(fd);
        }
    }
}

static void what_is_discarded_is_heard_of_no_more(void **state)
{
    (void)state;
    a_child_can(discard_a_member_of_a_group);
}

static void an_environment_that_is_wrong_gives_nothing(void **state)
{
    (void)state;
    a_child_can(ignore_what_is_for_another_process);
    a_child_can(ignore_what_is_no_number);
    a_child_can(be_given_less_than_was_said);
    a_child_can(be_given_too_many_and_long_names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_supervisor_nothing_is_kept),
        cmocka_unit_test(what_is_put_arrives_with_its_name),
        cmocka_unit_test(a_supervisor_that_is_not_there_is_told_nothing),
        cmocka_unit_test(a_supervisor_that_does_not_read_is_given_up),
        cmocka_unit_test(what_was_kept_comes_back_by_its_name_and_once),
        cmocka_unit_test(what_nobody_wants_any_more_is_forgotten),
        cmocka_unit_test(of_two_with_one_name_one_is_kept),
        cmocka_unit_test(what_is_discarded_is_heard_of_no_more),
        cmocka_unit_test(an_environment_that_is_wrong_gives_nothing),
    };
    return cmocka_run_group_tests(tests, listen_as_supervisor, stop_listening);
}
