"""F7: what Redis says is wrong, in every way, when another relay asks for its clients; Redis full.

Target: 0 datagrams outside the relay's own table, seen by a trap at the address that the entries
name; a call is back with its client's next STUN check, 3.2 s. A full Redis has no effect: the calls
miss no more than two packets, 40 ms, beyond what they miss without (median of 3 pairs).
"""

import socket
import time

from fault_bed import wait_until
from redis_bed import Pairs, RedisBed, worst_of
from relay_faults import judge

TARGET_MS, FULL_TARGET_MS = 3200, 40
TRAP = ("127.0.0.1", 9999)


def wrong(value, i):
    cluster, instance, session, next_hop, port = value.split("|")
    return [
        ("SET", f"{cluster}|{instance}|{session}|{TRAP[0]}|{TRAP[1]}"),
        ("SET", f"{cluster}|deadbeef|{session}|{next_hop}|{port}"),
        ("SET", f"0002|{instance}|{session}|{next_hop}|{port}"),
        ("SET", f"{cluster}|{instance}|{(int(session, 16) ^ 0x3ff00):08x}|{next_hop}|{port}"),
        ("SET", f"{cluster}|{instance}|{session}|{next_hop}|{port} "),
        ("SET", "x" * 100000),
        ("SET", ""),
        ("RPUSH", value),
    ][i % 8]


def poison(redis):
    flows = redis.flows()
    redis.ask("FLUSHALL")
    redis.ask_all([(command, key, text) for key, (command, text)
                   in zip(flows, (wrong(value, i) for i, value in enumerate(flows.values())))])


with RedisBed(relays=2) as bed, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trap:
    trap.bind(TRAP)
    trap.setblocking(False)
    gaps_ms = []
    for number in (1, 0, 1):
        bed.wait_until_cached()

        def harm():
            bed.relays[1 - number].kill()
            poison(bed.redis)
            bed.switch_to(number)
        gaps = bed.gaps(harm)
        gaps_ms.append(worst_of(gaps))
        relay = bed.relays[number]
        for name, result in (("flows", "next_hop"), ("flows", "instance"), ("flows", "cluster"),
                             ("lookups", "malformed")):
            assert relay.metric(f"earshot_flow_cache_{name}_total", f'"{result}"') > 0, result
        bed.redis.ask("FLUSHALL")
        bed.revive_other_than(number)
    try:
        assert not trap.recv(2048), "a datagram went outside the table"
    except BlockingIOError:
        pass
    judge("F7 gap, poisoned", gaps_ms, TARGET_MS)

    pairs, relay = Pairs(bed), bed.relays[1]

    def refused():
        return relay.metric("earshot_flow_cache_stores_total", '"refused"')

    def full():
        before = refused()
        bed.redis.ask("CONFIG", "SET", "maxmemory", "1")
        wait_until("Redis refuses", lambda: refused() > before, 60)

    for _ in range(3):
        pairs.run(lambda: time.sleep(5), full)
        bed.redis.ask("CONFIG", "SET", "maxmemory", "0")
    assert "flow_cache.refused" in bed.log()
    pairs.judge("F7 gap, full", FULL_TARGET_MS)
    bed.finish()
