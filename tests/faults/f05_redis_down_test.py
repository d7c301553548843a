"""F5: kill -9 of Redis inside twenty calls, with strangers at the relay's door.

Target: no effect. What the calls miss is no more than two packets, 40 ms, beyond what they miss
with Redis and the same strangers (median of 5 pairs); readiness stays; a new call works meanwhile;
Redis is found again within 6 s of its return.
"""

import time

from fault_bed import report
from redis_bed import Crowd, Pairs, RedisBed

PAIRS = 5
TARGET_MS, BACK_MS = 40, 6000

with RedisBed() as bed:
    back_ms = []
    crowd, pairs = Crowd(200), Pairs(bed)

    def down():
        bed.redis.kill()
        bed.wait_until_cache_is(0)
        assert bed.relay.get("/readyz")[0] == 200
        crowd.speak_for(bed.relay, 1, 0.02)

    for _ in range(PAIRS):
        pairs.run(lambda: crowd.speak_for(bed.relay, 1, 0.02), down)
        assert bed.relay.metric("earshot_flow_cache_misses_total", '"away"') > 0
        bed.redis.start()
        started_s = time.monotonic()
        bed.wait_until_cache_is(1)
        back_ms.append(1e3 * (time.monotonic() - started_s))
    assert "flow_cache.down" in bed.log() and "flow_cache.up" in bed.log()
    bed.wait_until_cached()
    report("F5 Redis is found again", back_ms, BACK_MS)
    assert max(back_ms) <= BACK_MS
    pairs.judge("F5 gap", TARGET_MS)

    bed.redis.kill()
    bed.wait_until_cache_is(0)
    bed.finish()
    bed.redis.start()
