"""F6: Redis is stopped, or works a tenth of the time, while strangers ask for look-ups.

Target: no effect. What the calls miss is no more than two packets, 40 ms, beyond what they miss
with a good Redis and the same strangers (median of 3 pairs); a look-up is given up after 20 ms, so
no more is held than 4 datagrams of 256 clients for each worker; memory stays where it was.
"""

import signal
import time

from redis_bed import Crowd, Pairs, RedisBed

PAIRS = 3
TARGET_MS = 40
HELD_MAX = 2 * 256 * 4
GROWTH_MAX_BYTES = 4 << 20

with RedisBed() as bed:
    crowd = Crowd(300)

    def good():
        crowd.speak_for(bed.relay, 2.5, 0.02)

    def frozen():
        bed.redis.signal(signal.SIGSTOP)
        good()
        bed.redis.signal(signal.SIGCONT)

    def slow():
        for _ in range(5):
            bed.redis.signal(signal.SIGSTOP)
            crowd.speak_for(bed.relay, 0.45, 0.02)
            bed.redis.signal(signal.SIGCONT)
            time.sleep(0.05)

    for name, harm in (("frozen", frozen), ("slow", slow)):
        pairs, held = Pairs(bed), []
        harm()  # once before, so that all memory is there
        bed.wait_until_cache_is(1)
        before_bytes = bed.relay.metric("earshot_process_resident_memory_bytes")
        for _ in range(PAIRS):
            pairs.run(good, harm)
            held.append(bed.relay.metric("earshot_flow_cache_held_datagrams"))
            bed.wait_until_cache_is(1)
        growth = bed.relay.metric("earshot_process_resident_memory_bytes") - before_bytes
        print(f"F6 {name}: memory grew by {growth / 1024:.0f} KB")
        assert growth <= GROWTH_MAX_BYTES and max(held) <= HELD_MAX, (growth, held)
        pairs.judge(f"F6 gap, {name}", TARGET_MS)
    assert bed.relay.metric("earshot_flow_cache_timeouts_total") > 0
    assert bed.relay.metric("earshot_flow_cache_held_datagrams") == 0
    bed.finish()
