/* own_network.c - see own_network.h */
#include "tests/bench/own_network.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool write_text(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const size_t len = strlen(text);
    const bool is_written = fd >= 0 && write(fd, text, len) == (ssize_t)len;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_written;
}

/* Whoever we were is root of the namespace and nobody outside. */
static bool map_ids(uid_t uid, gid_t gid)
{
    char uid_map[48];
    char gid_map[48];
    (void)snprintf(uid_map, sizeof(uid_map), "0 %u 1", uid);
    (void)snprintf(gid_map, sizeof(gid_map), "0 %u 1", gid);
    return write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/gid_map", gid_map) && write_text("/proc/self/uid_map", uid_map);
}

static bool loopback_up(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool is_up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_up;
}

/* Until the process ends. Whoever can not open the file does not wait. */
static void wait_for_turn(void)
{
    const int fd = open(OWN_NETWORK_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd >= 0) {
        (void)flock(fd, LOCK_EX);
    }
}

bool own_network_enter(struct fault *fault)
{
    wait_for_turn();
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    const bool is_in = uid == 0 ? unshare(CLONE_NEWNET) == 0
                                : unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 && map_ids(uid, gid);
    return (is_in && loopback_up()) ||
           fault_set(fault, FAULT_SYSTEM, "a network of our own: %s (root can make one)",
                     strerror(errno));
}
