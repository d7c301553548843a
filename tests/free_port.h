/*
 * free_port.h - a port of 127.0.0.1 where nobody is
 *
 * Below the ephemeral ports, any of which some connection of this machine may take at any moment;
 * tests that run at the same time begin to look at different places.
 */
#ifndef EARSHOT_TESTS_FREE_PORT_H
#define EARSHOT_TESTS_FREE_PORT_H

#include "tests/testing.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FREE_PORT_FIRST = 10000, FREE_PORT_COUNT = 22000, FREE_PORT_STEP = 127 };

static inline bool free_port_binds(int type, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    const bool binds = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    (void)close(fd);
    return binds;
}

/* type: SOCK_STREAM or SOCK_DGRAM. */
static inline uint16_t free_port(int type)
{
    static unsigned tried;
    const unsigned begin = (unsigned)getpid() * FREE_PORT_STEP;
    for (;;) {
        assert_true(tried < FREE_PORT_COUNT);
        const uint16_t port = (uint16_t)(FREE_PORT_FIRST + (begin + tried++) % FREE_PORT_COUNT);
        if (free_port_binds(type, port)) {
            return port;
        }
    }
}

#endif
