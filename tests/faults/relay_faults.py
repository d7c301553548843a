"""What a restart of the relay costs the calls that go through it."""

import time

from fault_bed import Bed, report, wait_until

RESTARTS = 5
LISTENING_MS, SPEAKING_MS, SILENT_MS = 200, 300, 700
CEILING = 2  # of a target: the longest of all gaps


def judge(name, values, target):
    median, worst = report(name, values, target)
    assert median <= target, f"{name}: median {median:.0f} ms, target {target} ms"
    assert worst <= CEILING * target, f"{name}: {worst:.0f} ms, ceiling {CEILING * target} ms"


def longest(gaps, is_talking):
    """Of all calls of one kind, in either direction."""
    of_kind = [gap for gap in gaps if gap.call.is_talking == is_talking]
    return max(max(gap.down_ms or 0, gap.up_ms) for gap in of_kind)


def a_relay_restart(name, workers=(2,) * RESTARTS, **relay):
    """kill -9 and start at once, inside 20 calls, half of which are not talked to."""
    speaking_ms, silent_ms, listening_ms = [], [], []
    with Bed(relay=relay) as bed:
        for count in workers:
            def harm():
                bed.relay.restart(workers=count)
                started_s = time.monotonic()
                wait_until("the relay listens", lambda: bed.relay.get("/healthz")[0] == 200)
                listening_ms.append(1e3 * (time.monotonic() - started_s))
            gaps = bed.gaps(harm)
            speaking_ms.append(longest(gaps, True))
            silent_ms.append(longest(gaps, False))
            # How an operator sees it: clients speak before the new relay knows them.
            assert bed.relay.metric("earshot_relay_datagrams_total", '"no_flow"') > 0
        report(f"{name} listening", listening_ms, LISTENING_MS)
        judge(f"{name} gap, agent speaks", speaking_ms, SPEAKING_MS)
        judge(f"{name} gap, agent is silent", silent_ms, SILENT_MS)
        bed.finish()


def move_to(bed, number):
    """The other of two relays is gone, and what clients send goes to this one."""
    bed.relays[1 - number].kill()
    bed.caller.tell("relay", bed.relays[number].config["listen"][0])
