"""The relay restarts inside calls, under a supervisor that keeps its sockets and flows.

Target: 150 ms more than without a restart, where the agent speaks and where it is silent, after a
clean restart and after kill -9 in turn: half of what a relay may cost that kept nothing. No
datagram is dropped for want of a flow or a route, and none is refused by a socket.
"""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
from fault_bed import Bed, wait_until  # noqa: E402
from fd_supervisor import FdSupervisor  # noqa: E402
from relay_faults import judge, longest  # noqa: E402

TARGET_MS = 150
RESTARTS = 6
WANTED = ("no_flow", "flow_instance", "unsent")

supervisor = FdSupervisor()
bed = Bed()
bed.relay.spawn = supervisor.spawn
with bed:
    speaking_ms, silent_ms = [], []
    for number in range(RESTARTS):
        def harm():
            bed.relay.signal(signal.SIGUSR2 if number % 2 == 0 else signal.SIGKILL)
            bed.relay.process.wait()
            bed.relay.start()
            wait_until("the relay listens", lambda: bed.relay.get("/healthz")[0] == 200)
        usual = bed.gaps(lambda: None)
        gaps = bed.gaps(harm)
        for values, is_talking in ((speaking_ms, True), (silent_ms, False)):
            values.append(max(0, longest(gaps, is_talking) - longest(usual, is_talking)))
        for verdict in WANTED:
            assert bed.relay.metric("earshot_relay_datagrams_total", f'"{verdict}"') == 0, verdict
    judge("kept sockets, gap more than usual, agent speaks", speaking_ms, TARGET_MS)
    judge("kept sockets, gap more than usual, agent is silent", silent_ms, TARGET_MS)
    bed.finish()
