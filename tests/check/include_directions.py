#!/usr/bin/env python3
"""Rooms include only the rooms below them (docs/architecture.md)."""
import os

import source_tree

CORE = "services/transceiver/core"
MACHINES = [f"{CORE}/{name}" for name in ("sdp", "transport", "transport/sctp", "rtp", "media")]
SESSION_NEEDS = [
    "common/base", "common/backend_link", "common/crypto", "common/stun", "common/routing", CORE,
    *MACHINES,
]
PORT_NEEDS = [*SESSION_NEEDS, f"{CORE}/session", "common/control", "common/runtime", "common/udp"]

# Each room and what it may include besides itself. A folder that is not here is no room.
MAY_INCLUDE = {
    "common/base": [],
    "common/crypto": ["common/base"],
    "common/stun": ["common/base", "common/crypto"],
    "common/routing": ["common/base", "common/crypto"],
    "common/backend_link": ["common/base"],
    "common/control": ["common/base"],
    "common/runtime": ["common/base"],
    "common/udp": ["common/base", "common/runtime"],
    CORE: ["common/base", "common/backend_link"],
    f"{CORE}/sdp": ["common/base", CORE],
    f"{CORE}/transport": ["common/base", "common/crypto", "common/stun", CORE],
    f"{CORE}/transport/sctp": ["common/base", "common/crypto"],
    f"{CORE}/rtp": ["common/base", CORE],
    f"{CORE}/media": ["common/base", CORE],
    f"{CORE}/session": SESSION_NEEDS,
    "services/transceiver/port": PORT_NEEDS,
    "services/transceiver": [*PORT_NEEDS, "services/transceiver/port"],
    "services/relay/core": ["common/base", "common/crypto", "common/stun", "common/routing"],
    "services/relay/flow_cache": ["common/base", "common/runtime", "services/relay/core"],
    "services/relay": [
        "common/base", "common/crypto", "common/stun", "common/routing", "common/control",
        "common/runtime", "common/udp", "services/relay/core", "services/relay/flow_cache",
    ],
    "services/signaling/offer": ["common/base"],
    "services/signaling/access": ["common/base", "common/crypto", "common/routing"],
    "services/signaling": [
        "common/base", "common/crypto", "common/routing", "common/control", "common/runtime",
        "services/signaling/access", "services/signaling/offer",
    ],
    "services/inference-stub/realtime": ["common/base"],
    "services/inference-stub/sound": ["common/base"],
    "services/inference-stub/agent": [
        "common/base", "common/backend_link", "common/runtime",
        "services/inference-stub/realtime", "services/inference-stub/sound",
    ],
    "services/inference-stub": [
        "common/base", "common/backend_link", "common/runtime",
        "services/inference-stub/agent", "services/inference-stub/realtime",
        "services/inference-stub/sound",
    ],
    "tools/earshotctl": [
        "common/base", "common/crypto", "common/routing", "common/control", "common/runtime",
    ],
}


def check(root):
    for path in source_tree.source_files(root):
        room = os.path.dirname(path)
        if room not in MAY_INCLUDE:
            what = f"{room} is no room: add it to include_directions.py"
            yield source_tree.Problem(path, 1, what)
            continue
        for line, name, is_own in source_tree.includes(source_tree.read(root, path)):
            other = os.path.dirname(name)
            if not is_own or name.endswith(".pb-c.h") or other == room:
                continue
            if other not in MAY_INCLUDE:
                yield source_tree.Problem(path, line, f'"{name}" is not a full path from the root')
            elif other not in MAY_INCLUDE[room]:
                yield source_tree.Problem(path, line, f"{room} may not include {other}")


if __name__ == "__main__":
    source_tree.run(check)
