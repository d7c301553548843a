/* name_resolver.c - see name_resolver.h */
#include "common/runtime/name_resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A pipe hands over an answer whole only below PIPE_BUF. */
_Static_assert(sizeof(struct name_answer) <= PIPE_BUF, "an answer is one atomic write");

struct resolved_name {
    char host[NAME_RESOLVER_NAME_CAP];
    char port[8];
    struct name_answer last;
    bool was_told;
};

struct name_resolver {
    struct resolved_name name[NAME_RESOLVER_NAMES_MAX];
    size_t name_count;
    int answers[2]; /* read by the owner, written by the thread */
    int stop[2];    /* closing the owner's end ends the thread */
    pthread_t thread;
    bool has_thread;
};

static bool is_port(const char *text)
{
    const size_t digits = strspn(text, "0123456789");
    const unsigned long port = strtoul(text, NULL, 10);
    return digits > 0 && text[digits] == '\0' && port >= 1 && port <= UINT16_MAX;
}

static bool split_name(const char *text, size_t index, struct resolved_name *out)
{
    const bool has_brackets = text[0] == '[';
    const char *host = has_brackets ? text + 1 : text;
    const char *colon = strrchr(text, ':');
    if (colon == NULL || !is_port(colon + 1) || strlen(colon + 1) >= sizeof(out->port)) {
        return false;
    }
    const char *host_end = has_brackets ? colon - 1 : colon;
    if (host_end <= host || (has_brackets && *host_end != ']') ||
        (size_t)(host_end - host) >= sizeof(out->host)) {
        return false;
    }
    memcpy(out->host, host, (size_t)(host_end - host));
    memcpy(out->port, colon + 1, strlen(colon + 1));
    out->last.name_index = index;
    return true;
}

static int compare_addresses(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct net_addr));
}

static void look_up(const struct resolved_name *name, struct name_answer *out)
{
    *out = (struct name_answer){.name_index = name->last.name_index};
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    if (getaddrinfo(name->host, name->port, &hints, &list) != 0) {
        return;
    }
    for (const struct addrinfo *i = list;
         i != NULL && out->address_count < NAME_RESOLVER_ADDRESSES_MAX; i = i->ai_next) {
        struct sockaddr_storage address = {0};
        memcpy(&address, i->ai_addr, i->ai_addrlen);
        if (net_addr_from_sockaddr(&address, &out->address[out->address_count])) {
            out->address_count++;
        }
    }
    freeaddrinfo(list);
    qsort(out->address, out->address_count, sizeof(out->address[0]), compare_addresses);
}

/* False when the owner wants an end, or reads nothing any more. */
static bool tell(struct name_resolver *r, struct resolved_name *name)
{
    struct name_answer answer;
    look_up(name, &answer);
    if (name->was_told && memcmp(&answer, &name->last, sizeof(answer)) == 0) {
        return true;
    }
    struct pollfd wait[2] = {{.fd = r->answers[1], .events = POLLOUT}, {.fd = r->stop[0]}};
    while (poll(wait, 2, -1) < 0 && errno == EINTR) {
    }
    if (wait[1].revents != 0 ||
        write(r->answers[1], &answer, sizeof(answer)) != (ssize_t)sizeof(answer)) {
        return false;
    }
    name->last = answer;
    name->was_told = true;
    return true;
}

static void *resolver_thread(void *context)
{
    struct name_resolver *r = context;
    for (;;) {
        for (size_t i = 0; i < r->name_count; i++) {
            if (!tell(r, &r->name[i])) {
                return NULL;
            }
        }
        struct pollfd stop = {.fd = r->stop[0]};
        if (poll(&stop, 1, (int)(NAME_RESOLVER_PERIOD_US / US_PER_MS)) > 0) {
            return NULL;
        }
    }
}

struct name_resolver *name_resolver_start(const char *const *names, size_t name_count,
                                          struct fault *fault)
{
    struct name_resolver *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        (void)fault_set(fault, FAULT_SYSTEM, "name resolver: out of memory");
        return NULL;
    }
    r->answers[0] = r->answers[1] = r->stop[0] = r->stop[1] = -1;
    for (size_t i = 0; i < name_count; i++) {
        if (i >= NAME_RESOLVER_NAMES_MAX || !split_name(names[i], i, &r->name[i])) {
            (void)fault_set(fault, FAULT_CONFIG, "%s: not host:port", names[i]);
            goto failed;
        }
    }
    r->name_count = name_count;
    if (pipe2(r->answers, O_CLOEXEC) != 0 || pipe2(r->stop, O_CLOEXEC) != 0 ||
        fcntl(r->answers[0], F_SETFL, O_NONBLOCK) != 0) {
        (void)fault_set(fault, FAULT_SYSTEM, "name resolver: pipe: %s", strerror(errno));
        goto failed;
    }
    const int error = pthread_create(&r->thread, NULL, resolver_thread, r);
    if (error != 0) {
        (void)fault_set(fault, FAULT_SYSTEM, "name resolver: thread: %s", strerror(error));
        goto failed;
    }
    r->has_thread = true;
    return r;
failed:
    name_resolver_stop(r);
    return NULL;
}

static void close_if_open(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

void name_resolver_stop(struct name_resolver *r)
{
    if (r == NULL) {
        return;
    }
    close_if_open(r->stop[1]);
    if (r->has_thread) {
        (void)pthread_join(r->thread, NULL);
    }
    close_if_open(r->stop[0]);
    close_if_open(r->answers[0]);
    close_if_open(r->answers[1]);
    free(r);
}

int name_resolver_fd(const struct name_resolver *r)
{
    return r->answers[0];
}

bool name_resolver_take(struct name_resolver *r, struct name_answer *out)
{
    return read(r->answers[0], out, sizeof(*out)) == (ssize_t)sizeof(*out);
}
