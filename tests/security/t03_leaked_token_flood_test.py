"""T3: a flood from spoofed addresses with one leaked, valid token, to fill the relay's flow table.

Target, at five times the table's size a second: running calls lose less than 0.1 % in either
direction and none loses its flow; the transceiver is asked no more often than it answers; the
relay's memory stays as it is. Prints what was measured.
"""

import os
import random
import select
import socket
import tempfile
import time
import unittest

from raw_kit import Spoofer
from media_wire import Key, stun_request
from relay_kit import Relay, Transceiver, udp

FLOWS, SECONDS, TRIES, SEED = 1024, 3, 3, int(os.environ.get("EARSHOT_SEED", "1"))
FLOOD_PER_S, CALLS, SLOT_S = 5 * FLOWS, 64, 0.02
REQUESTS_PER_S, REQUESTS_BURST = 100, 200  # of strangers, to one session
LEAKED = 1000
PAGE = os.sysconf("SC_PAGE_SIZE")


def rtp(number):
    return b"\x80\x6f" + number.to_bytes(4, "big") + bytes(54)


class LeakedTokenFloodTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.relay = Relay(folder.name, Key(7), flows=FLOWS)
        self.addCleanup(self.relay.kill)
        self.relay.start()
        self.transceiver, self.spoofer = Transceiver(self.relay), Spoofer()
        self.transceiver.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.clients = [udp() for _ in range(CALLS)]
        for part in (self.transceiver, self.spoofer, *self.clients):
            self.addCleanup(part.close)
        self.transceiver.announce_and_wait()
        self.asked = 0  # requests to the leaked session
        self.came_up = self.came_down = 0

    def connect(self):
        for session, client in enumerate(self.clients):
            token = self.transceiver.token(session)
            client.sendto(stun_request(token + ":peer"), self.relay.public[0])
            *_, self.back = self.transceiver.hear()
            self.transceiver.say(self.back, session, client.getsockname(), rtp(0))
            client.recv(2000)

    def hear_all(self):
        """What waits, and for as long as anything comes in a moment."""
        ends = [self.transceiver.socket, *self.clients]
        while ready := select.select(ends, [], [], 0)[0]:
            for end in ready:
                packet = end.recv(2000)
                if end is not self.transceiver.socket:
                    self.came_down += 1
                elif packet[40] == 0x80:
                    self.came_up += 1
                else:
                    self.asked += 1

    def flood(self, draw, count, request):
        for _ in range(count):
            source = ("%d.%d.%d.%d" % (draw.randrange(11, 100), *draw.randbytes(3)),
                      draw.randrange(1024, 65536))
            self.spoofer.send(source, self.relay.public[0], request)

    def talk(self, number):
        for session, client in enumerate(self.clients):
            client.sendto(rtp(number), self.relay.public[0])
            self.transceiver.socket.sendto(self.shims[session], self.back)

    def kernel_drops(self):
        metrics = self.relay.metrics()
        return sum(metrics[f'earshot_socket_dropped_messages_total{{direction="{direction}"}}']
                   for direction in ("up", "down"))

    def resident_bytes(self):
        with open(f"/proc/{self.relay.process.pid}/statm") as file:
            return PAGE * int(file.read().split()[1])

    def run_for(self, seconds, flood_per_s):
        """Both ways, each call each 20 ms; how many datagrams each direction sent."""
        draw = random.Random(SEED)
        request = stun_request(self.transceiver.token(LEAKED) + ":thief")
        slots = int(seconds / SLOT_S)
        begin_s = time.monotonic()
        for slot in range(slots):
            self.talk(slot)
            self.flood(draw, int(flood_per_s * SLOT_S), request)
            self.hear_all()
            time.sleep(max(0, begin_s + (slot + 1) * SLOT_S - time.monotonic()))
        time.sleep(0.2)
        self.hear_all()
        return slots * CALLS

    def test_calls_do_not_notice(self):
        self.connect()
        self.shims = [self.relay.key.shim(1, self.transceiver.instance, session,
                                          client.getsockname(), rtp(1))
                      for session, client in enumerate(self.clients)]
        self.run_for(0.2, FLOOD_PER_S)  # what is touched once is resident from then on
        time.sleep(1)
        before = self.resident_bytes()
        for _ in range(TRIES):
            self.came_up = self.came_down = self.asked = 0
            begin_s, dropped = time.monotonic(), self.kernel_drops()
            sent = self.run_for(SECONDS, FLOOD_PER_S)
            if self.kernel_drops() == dropped and min(self.came_up, self.came_down) == sent:
                break  # else it may have been other work of the machine: buffers overflow
        grown = self.resident_bytes() - before
        lost = 1 - min(self.came_up, self.came_down) / sent
        print(f"T3: lost {100 * lost:.3f} % of {sent} each way, target 0.1 %; {self.asked} of "
              f"{FLOOD_PER_S * SECONDS} requests passed; memory grew by {grown} bytes; seed {SEED}")
        self.assertLess(lost, 0.001)
        self.assertLess(grown, 256 * 1024)
        took_s = time.monotonic() - begin_s
        self.assertLessEqual(self.asked, REQUESTS_BURST + REQUESTS_PER_S * took_s)
        metrics = self.relay.metrics()
        self.assertEqual(metrics['earshot_relay_flows{state="confirmed"}'], CALLS)
        self.assertEqual(metrics['earshot_relay_flows_evicted_total{state="confirmed"}'], 0)
        self.assertLessEqual(metrics['earshot_relay_flows{state="half_open"}'], 32)
        self.assertGreater(self.relay.verdicts("up")["session_rate"], 0)


unittest.main()
