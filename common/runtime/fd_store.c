/* fd_store.c - see fd_store.h */
#include "common/runtime/fd_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* sd_listen_fds(3): they begin after stdin, stdout and stderr. */
#define FIRST_FD 3

/* A number of the environment; -1 for anything else. */
static long read_number(const char *variable)
{
    const char *text = getenv(variable);
    if (text == NULL || text[0] < '0' || text[0] > '9') {
        return -1;
    }
    char *end = NULL;
    errno = 0;
    const long number = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' ? number : -1;
}

/* Copies the next name of a list with colons and steps behind it. "" when there is none, or it is
 * longer than any of ours. */
static void next_name(const char **list, char name[FD_STORE_NAME_CAP])
{
    const size_t len = strcspn(*list, ":");
    const size_t copied = len < FD_STORE_NAME_CAP ? len : 0;
    memcpy(name, *list, copied);
    name[copied] = '\0';
    *list += len + ((*list)[len] == ':');
}

static void read_kept(struct fd_store *s)
{
    const long count = read_number("LISTEN_FDS");
    if (read_number("LISTEN_PID") != (long)getpid() || count < 1 || count > INT16_MAX) {
        return;
    }
    const char *names = getenv("LISTEN_FDNAMES");
    names = names != NULL ? names : "";
    for (int fd = FIRST_FD; fd < FIRST_FD + (int)count; fd++) {
        char name[FD_STORE_NAME_CAP];
        next_name(&names, name);
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
            continue; /* not open: the environment is another process's */
        }
        if (s->kept_count == FD_STORE_MAX) {
            (void)close(fd);
            continue;
        }
        struct fd_store_entry *entry = &s->kept[s->kept_count++];
        memcpy(entry->name, name, sizeof(name));
        entry->fd = fd;
    }
}

/* A path, or '@' and a name of Linux's abstract namespace. */
static bool connect_to(struct fd_store *s, const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const size_t len = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof(to.sun_path)) {
        return false;
    }
    memcpy(to.sun_path, path, len);
    if (path[0] == '@') {
        to.sun_path[0] = '\0';
    }
    const socklen_t to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    const struct timeval patience = {.tv_sec = FD_STORE_PATIENCE_MS / 1000,
                                     .tv_usec = FD_STORE_PATIENCE_MS % 1000 * 1000};
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
        connect(fd, (const struct sockaddr *)&to, to_len) != 0) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return false;
    }
    s->notify_fd = fd;
    return true;
}

bool fd_store_open(struct fd_store *s)
{
    static const char *const variable[] = {"NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS",
                                           "LISTEN_FDNAMES"};
    *s = (struct fd_store){.notify_fd = -1};
    read_kept(s);
    const char *path = getenv("NOTIFY_SOCKET");
    const bool good = path == NULL || connect_to(s, path);
    for (size_t i = 0; i < COUNT_OF(variable); i++) {
        (void)unsetenv(variable[i]);
    }
    return good;
}

void fd_store_close(struct fd_store *s)
{
    for (size_t i = 0; i < s->kept_count; i++) {
        if (s->kept[i].fd >= 0) {
            (void)close(s->kept[i].fd);
        }
    }
    s->kept_count = 0;
    if (s->notify_fd >= 0) {
        (void)close(s->notify_fd);
        s->notify_fd = -1;
    }
}

bool fd_store_is_there(const struct fd_store *s)
{
    return s->notify_fd >= 0;
}

/* fd -1: none goes with it. */
static bool tell(struct fd_store *s, const char *text, int fd)
{
    if (s->notify_fd < 0) {
        return false;
    }
    union {
        struct cmsghdr header; /* for its alignment */
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } rights = {.bytes = {0}};
    struct iovec line = {.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
    struct msghdr message = {.msg_iov = &line, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = rights.bytes;
        message.msg_controllen = sizeof(rights.bytes);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    }
    if (sendmsg(s->notify_fd, &message, MSG_NOSIGNAL) < 0) {
        (void)close(s->notify_fd);
        s->notify_fd = -1;
        s->is_lost = true;
        return false;
    }
    return true;
}

bool fd_store_put(struct fd_store *s, const char *name, int fd)
{
    /* FDPOLL=0: a socket error must not make the supervisor drop the socket. */
    char text[FD_STORE_NAME_CAP + 32];
    const int len = snprintf(text, sizeof(text), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
    return len > 0 && (size_t)len < sizeof(text) && tell(s, text, fd);
}

void fd_store_forget(struct fd_store *s, const char *name)
{
    char text[FD_STORE_NAME_CAP + 32];
    const int len = snprintf(text, sizeof(text), "FDSTOREREMOVE=1\nFDNAME=%s", name);
    if (name[0] != '\0' && len > 0 && (size_t)len < sizeof(text)) {
        (void)tell(s, text, -1);
    }
}

/* As long as the supervisor has a copy the socket is open: of several that share an address the
 * kernel would choose this one too, for datagrams that nobody reads. It passes over one that is
 * connected, here to itself. */
static void retire(int fd)
{
    struct sockaddr_storage own = {0};
    socklen_t own_len = sizeof(own);
    int type = 0;
    socklen_t type_len = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 && type == SOCK_DGRAM &&
        getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
        (own.ss_family == AF_INET || own.ss_family == AF_INET6)) {
        (void)connect(fd, (const struct sockaddr *)&own, own_len);
    }
}

void fd_store_discard(struct fd_store *s, const char *name, int fd)
{
    fd_store_forget(s, name);
    retire(fd);
    (void)close(fd);
}

/* The next that nobody took, by its name or any; NULL when there is none. */
static struct fd_store_entry *find(struct fd_store *s, const char *name)
{
    for (size_t i = 0; i < s->kept_count; i++) {
        if (s->kept[i].fd >= 0 && (name == NULL || strcmp(s->kept[i].name, name) == 0)) {
            return &s->kept[i];
        }
    }
    return NULL;
}

static int take_one(struct fd_store *s, const char *name)
{
    struct fd_store_entry *entry = find(s, name);
    if (entry == NULL) {
        return -1;
    }
    const int fd = entry->fd;
    entry->fd = -1;
    return fd;
}

int fd_store_take(struct fd_store *s, const char *name)
{
    const int fd = take_one(s, name);
    int twin = fd >= 0 ? take_one(s, name) : -1;
    const bool had_twins = twin >= 0;
    for (; twin >= 0; twin = take_one(s, name)) {
        fd_store_discard(s, name, twin);
    }
    if (had_twins) {
        (void)fd_store_put(s, name, fd); /* its name was forgotten, too */
    }
    return fd;
}

size_t fd_store_forget_rest(struct fd_store *s)
{
    size_t count = 0;
    for (struct fd_store_entry *entry = find(s, NULL); entry != NULL; entry = find(s, NULL)) {
        fd_store_discard(s, entry->name, entry->fd);
        entry->fd = -1;
        count++;
    }
    return count;
}

void fd_store_say_ready(struct fd_store *s)
{
    (void)tell(s, "READY=1", -1);
}
