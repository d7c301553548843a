"""F3: the relay dies and another one takes its traffic, as after a load balancer hashed anew.

The clients' datagrams go to the other relay from then on; the transceiver still answers to the dead
one, so no downlink teaches the new one anything. Target without a flow cache: the client's next
STUN check brings a call back, 3.2 s with Chromium, whose checks are as far apart as those of
fault_caller. Median of 3; no call is lost.
"""

from fault_bed import Bed
from relay_faults import judge, longest, move_to

TARGET_MS = 3200

with Bed(relays=2) as bed:
    lost_ms = []
    for target in (1, 0, 1):
        gaps = bed.gaps(lambda: move_to(bed, target))
        lost_ms.append(max(longest(gaps, True), longest(gaps, False)))
        bed.relays[1 - target].start()
        bed.relays[1 - target].wait_until_ready()
    judge("F3 gap, no flow cache", lost_ms, TARGET_MS)
    bed.finish()
