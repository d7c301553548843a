#!/usr/bin/env python3
"""Each library is seen by the files that hide it, and by no other (docs/architecture.md)."""
import fnmatch

import source_tree

TRANSPORT = "services/transceiver/core/transport"

# The first pattern that fits a header decides. Its doors are patterns of paths.
DOORS = [
    # For cleansing, constant-time compares and the version.
    ("openssl/crypto.h", ["common/crypto/*", "common/runtime/process.c", f"{TRANSPORT}/*"]),
    ("openssl/*", ["common/crypto/*", f"{TRANSPORT}/dtls_*", f"{TRANSPORT}/srtp_evp.c",
                   "services/signaling/http_tls.c", "services/signaling/http_certificate.[ch]"]),
    ("arm_acle.h", [f"{TRANSPORT}/sctp/crc32c.c"]),  # the CRC32 instructions
    ("srtp2/*", [f"{TRANSPORT}/srtp_transport.c", f"{TRANSPORT}/srtp_evp.[ch]"]),
    ("opus*", ["services/transceiver/core/media/voice_*.c"]),
    ("nng/*", ["common/runtime/message_port.c"]),
    (
        "*.pb-c.h",
        [
            "common/control/control_message.c",
            "common/control/control_re*.c",
            "common/control/control_event.c",
            "common/control/control_facts.[ch]",
        ],
    ),
    ("protobuf-c/*", ["common/control/control_decoder.c", "common/control/control_wire.h"]),
    ("yaml.h", ["common/runtime/config_tree.c"]),
    (
        "libwebsockets.h",
        [
            "common/runtime/admin_http.c",
            "services/signaling/http_server.c",
            "services/signaling/http_connection.c",
            "services/signaling/http_gate.c",
            "services/signaling/http_connection_socket.c",
            "services/signaling/http_socket.c",
        ],
    ),
    (
        "jansson.h",
        [
            "common/backend_link/backend_*.[ch]",
            "services/signaling/*.c",
            "services/inference-stub/agent/spoken_value.c",
            "services/inference-stub/agent/stub_line.c",
            "services/inference-stub/realtime/*.[ch]",
        ],
    ),
    ("hiredis/*", ["services/relay/flow_cache/flow_cache_connection.c"]),
    ("flite/*", ["services/inference-stub/sound/speech.c"]),
    (
        "speex/*",
        ["services/inference-stub/sound/pcm_resample.c", "services/transceiver/core/media/*.c"],
    ),
    ("zlib.h", ["common/stun/stun_integrity.c", "services/signaling/access/client_secret.c"]),
    ("maxminddb.h", ["services/signaling/client_place.c"]),
]

C_LIBRARY = set(
    """assert.h complex.h ctype.h dirent.h errno.h fcntl.h float.h getopt.h inttypes.h limits.h
    math.h netdb.h poll.h pthread.h sched.h signal.h stdarg.h stdatomic.h stdbool.h stddef.h
    stdint.h stdio.h stdlib.h string.h strings.h time.h unistd.h""".split()
)
SYSTEM_FOLDERS = ("sys/", "net/", "netinet/", "arpa/", "linux/")


def doors_of(header):
    for pattern, doors in DOORS:
        if fnmatch.fnmatchcase(header, pattern):
            return doors
    return None


def check(root):
    for path in source_tree.source_files(root):
        for line, name, is_own in source_tree.includes(source_tree.read(root, path)):
            doors = doors_of(name)
            if doors is not None:
                if not any(fnmatch.fnmatchcase(path, door) for door in doors):
                    yield source_tree.Problem(path, line, f"{name} is hidden in {', '.join(doors)}")
            elif not is_own and name not in C_LIBRARY and not name.startswith(SYSTEM_FOLDERS):
                what = f"<{name}> has no door: add it to library_doors.py"
                yield source_tree.Problem(path, line, what)


if __name__ == "__main__":
    source_tree.run(check)
