"""A port of 127.0.0.1 where nobody is.

Below the ephemeral ports, any of which some connection of this machine may take at any moment;
tests that run at the same time begin to look at different places.
"""

import itertools
import os
import socket

FIRST, COUNT, STEP = 10000, 22000, 127
candidates = (FIRST + (os.getpid() * STEP + tried) % COUNT for tried in itertools.count())


def binds(port, kind):
    with socket.socket(socket.AF_INET, kind) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(kind=socket.SOCK_STREAM):
    return next(port for port in candidates if binds(port, kind))


def free_ports(count, kind):
    """The first of so many in a row."""
    while True:
        first = free_port(kind)
        if all(free_port(kind) == first + more for more in range(1, count)):
            return first
