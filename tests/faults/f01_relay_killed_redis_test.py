"""F1: kill -9 of the relay, the same address comes back at once, and a flow cache is there.

Target: it listens within 200 ms, and the gap is 300 ms both ways. Median of 5, no one twice as
long; no call is lost.
"""

import time

from fault_bed import report, wait_until
from redis_bed import RedisBed, worst_of
from relay_faults import LISTENING_MS, RESTARTS, SPEAKING_MS, judge

with RedisBed() as bed:
    gaps_ms, listening_ms = [], []
    for _ in range(RESTARTS):
        bed.wait_until_cached()

        def harm():
            bed.relay.restart()
            started_s = time.monotonic()
            wait_until("the relay listens", lambda: bed.relay.get("/healthz")[0] == 200)
            listening_ms.append(1e3 * (time.monotonic() - started_s))
        gaps = bed.gaps(harm)
        gaps_ms.append(worst_of(gaps))
    report("F1 listening", listening_ms, LISTENING_MS)
    judge("F1 gap", gaps_ms, SPEAKING_MS)
    bed.finish()
