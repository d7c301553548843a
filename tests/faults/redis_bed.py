"""A bed whose relays share a flow cache: a real redis-server that can be harmed, and a crowd."""

import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

from fault_bed import PUBLIC, Bed, wait_until
from relay_faults import longest

PROGRAM = "/usr/bin/redis-server"
ADDRESS = ("127.0.0.1", 6379)
SKIPPED = 77


class Redis:
    def __init__(self):
        if not os.access(PROGRAM, os.X_OK):
            print(f"skipped: {PROGRAM} is not installed")
            sys.exit(SKIPPED)
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [PROGRAM, "--port", str(ADDRESS[1]), "--bind", ADDRESS[0], "--save", "",
             "--appendonly", "no", "--dir", "/tmp"], stdout=subprocess.DEVNULL)
        wait_until("redis answers", lambda: self.answers("PING"))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def signal(self, number):
        self.process.send_signal(number)

    @staticmethod
    def pack(words):
        parts = [str(word).encode() for word in words]
        return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)

    def ask_all(self, commands):
        """Sends all of them at once; the first line of each answer, and what it holds."""
        with socket.create_connection(ADDRESS, timeout=15) as link:
            link.sendall(b"".join(self.pack(words) for words in commands))
            lines = link.makefile("rb")
            return [self.read(lines) for _ in commands]

    def read(self, lines):
        head = lines.readline().rstrip(b"\r\n")
        if head[:1] == b"$" and head != b"$-1":
            return lines.read(int(head[1:]) + 2)[:-2].decode()
        if head[:1] == b"*":
            return [self.read(lines) for _ in range(int(head[1:]))]
        assert head[:1] != b"-", head
        return head[1:].decode()

    def ask(self, *words):
        return self.ask_all([words])[0]

    def answers(self, *words):
        try:
            return bool(self.ask(*words))
        except OSError:
            return False

    def flows(self):
        """{key: value} of all flows that relays have written."""
        keys = self.ask("KEYS", "earshot:flow:*")
        return dict(zip(keys, self.ask_all([("GET", key) for key in keys])))


class RedisBed(Bed):
    def __init__(self, relays=1, **config):
        self.redis = Redis()
        self.redis.start()
        url = "redis://%s:%d" % ADDRESS
        super().__init__(relays=relays, relay={"flow_cache": url, **config})

    def __exit__(self, *what):
        self.redis.signal(signal.SIGCONT)
        super().__exit__(*what)
        self.redis.kill()

    def wait_until_cached(self):
        """Each of the calls has its flow in Redis: an empty one is filled within 40 s."""
        wait_until("all flows are written", lambda: len(self.redis.flows()) >= len(self.calls),
                   60)

    def switch_to(self, number):
        """The other relay dies, and at the same moment its traffic goes to this one."""
        other = self.relays[1 - number]
        other.signal(signal.SIGKILL)
        self.caller.tell("relay", self.relays[number].config["listen"][0])
        other.kill()

    def revive_other_than(self, number):
        """And until it has all that it needs to take over."""
        other = self.relays[1 - number]
        other.start()
        other.wait_until_ready()
        self.wait_until_cache_is(1)

    def wait_until_cache_is(self, is_up):
        for relay in self.relays:
            wait_until(f"{relay.name} sees Redis {'come' if is_up else 'go'}",
                       lambda: relay.metric("earshot_flow_cache_up") == is_up)


class Crowd:
    """Clients whose calls are of no interest: each has a port, and may have an entry in Redis."""

    def __init__(self, count):
        self.sockets = []
        for _ in range(count):
            one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            one.bind((PUBLIC, 0))
            self.sockets.append(one)

    def remember(self, redis):
        """As if a relay had confirmed a flow of each: to a transceiver that has no such call."""
        cluster, instance, _, next_hop, port = next(iter(redis.flows().values())).split("|")
        redis.ask_all([("SET", "earshot:flow:1:udp:%s|%d" % one.getsockname(),
                        f"{cluster}|{instance}|{0x02000000 + i:08x}|{next_hop}|{port}", "EX", 120)
                       for i, one in enumerate(self.sockets)])

    def speak(self, relay):
        """One datagram of each, that looks like RTP."""
        ip, _, port = relay.config["listen"][0].rpartition(":")
        for one in self.sockets:
            one.sendto(b"\x80" + bytes(99), (ip, int(port)))

    def speak_for(self, relay, seconds, period_s):
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            begun_s = time.monotonic()
            self.speak(relay)
            time.sleep(max(0, begun_s + period_s - time.monotonic()))

    def close(self):
        for one in self.sockets:
            one.close()


def share_within_20_ms(relay):
    """Of all look-ups that were answered."""
    buckets = dict(re.findall(r'earshot_flow_cache_wait_seconds_bucket\{le="([^"]+)"\} (\d+)',
                              relay.get("/metrics")[1]))
    total = int(buckets["+Inf"])
    return int(buckets["0.02"]) / total if total > 0 else 0.0, total


def worst_of(gaps):
    return max(longest(gaps, True), longest(gaps, False))


class Pairs:
    """Gaps with a fault, each beside one without it a moment before: what the fault adds."""

    def __init__(self, bed):
        self.bed, self.without_ms, self.with_ms = bed, [], []

    def run(self, control, harm):
        self.without_ms.append(worst_of(self.bed.gaps(control)))
        self.with_ms.append(worst_of(self.bed.gaps(harm)))

    def judge(self, name, target_ms):
        added_ms = [b - a for a, b in zip(self.without_ms, self.with_ms)]
        median = statistics.median(added_ms)
        print(f"{name}: median {median:.0f} ms more than without, target {target_ms} ms; with "
              f"{statistics.median(self.with_ms):.0f} ms, without "
              f"{statistics.median(self.without_ms):.0f} ms, {len(added_ms)} pairs", flush=True)
        assert median <= target_ms, added_ms
