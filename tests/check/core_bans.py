#!/usr/bin/env python3
"""Sans-I/O code has no socket, clock, thread, log or file, and allocates only at its birth.

<stdio.h> is allowed for snprintf and vsnprintf alone: they write into memory, and nothing else
formats as safely. The heap is allowed in functions named *_create, *_destroy and *_copy, which do
not run on a packet path.
"""
import re

import source_tree

PURE = (
    "services/transceiver/core/",
    "services/relay/core/",
    "services/transceiver/port/backend_stream.",
    "services/transceiver/port/call_setup.",
    "services/transceiver/port/relay_leg.",
    "services/inference-stub/agent/",
    "services/inference-stub/dialogue.",
    "services/inference-stub/sound/sound.",
    "services/inference-stub/sound/speech_desk.",
    "services/inference-stub/sound/step_cutter.",
    "services/inference-stub/realtime/",
    "services/inference-stub/sound/tone.",
    "services/inference-stub/sound/turn_detector.",
    "services/inference-stub/sound/turn_recorder.",
    "services/inference-stub/sound/voice_activity.",
)

BANNED_HEADERS = re.compile(
    r"(arpa|net|netinet|linux)/.*"
    r"|sys/(socket|un|time|epoll|select|uio|ioctl|mman|signalfd|timerfd|eventfd)\.h"
    r"|(netdb|poll|unistd|fcntl|time|pthread|threads|semaphore|signal|syslog|dirent|locale)\.h"
)

# Header and file, each with its reason.
ALLOWED_HEADERS = {
    # DTLSv1_get_timeout answers in a struct timeval.
    ("sys/time.h", "services/transceiver/core/transport/dtls_transport.c"),
}

BANNED_CALLS = set(
    """printf fprintf dprintf vprintf vfprintf sprintf vsprintf puts fputs putchar putc fputc perror
    scanf fscanf fopen fdopen freopen fclose fread fwrite fgets getline fflush open openat close
    read write pread pwrite socket bind listen accept accept4 connect send sendto sendmsg
    sendmmsg recv recvfrom recvmsg recvmmsg poll ppoll select epoll_wait time clock clock_gettime
    gettimeofday timespec_get localtime gmtime sleep usleep nanosleep rand random srand srandom
    getrandom getenv setenv syslog system fork execve exit signal sigaction pthread_create
    pthread_mutex_lock mtx_lock thrd_create alloca""".split()
)
HEAP_CALLS = set(
    "malloc calloc realloc reallocarray free strdup strndup aligned_alloc posix_memalign".split()
)
HEAP_NAMES = re.compile(r".*_(create|destroy|copy)$")

# Functions that libsrtp calls from srtp_create and srtp_dealloc: birth and death as well.
HEAP_EXCEPTIONS = {"services/transceiver/core/transport/srtp_evp.c"}

CALL = re.compile(r"(?<![\w.>])(\w+)\s*\(")


def is_pure(path):
    return path.startswith(PURE)


def check_headers(path, text):
    for line, name, _ in source_tree.includes(text):
        if BANNED_HEADERS.fullmatch(name) and (name, path) not in ALLOWED_HEADERS:
            yield source_tree.Problem(path, line, f"<{name}> does not belong in sans-I/O code")


def function_at(spans, line):
    return next((name for name, first, last in spans if first <= line <= last), "")


def check_calls(path, text):
    spans = list(source_tree.functions(text))
    for number, line in enumerate(source_tree.plain_code(text).split("\n"), 1):
        for match in CALL.finditer(line):
            name = match[1]
            if name in BANNED_CALLS:
                what = f"{name}() does not belong in sans-I/O code"
                yield source_tree.Problem(path, number, what)
            if name in HEAP_CALLS and path not in HEAP_EXCEPTIONS:
                function = function_at(spans, number)
                if not HEAP_NAMES.fullmatch(function):
                    what = (f"{name}() in {function or 'no function'}: "
                            "the heap is for _create, _destroy and _copy")
                    yield source_tree.Problem(path, number, what)


def check(root):
    for path in filter(is_pure, source_tree.source_files(root)):
        text = source_tree.read(root, path)
        yield from check_headers(path, text)
        yield from check_calls(path, text)


if __name__ == "__main__":
    source_tree.run(check)
