"""The relay restarts under a supervisor that keeps its sockets and flows, under 20,000 packets/s.

Targets: a clean restart loses nothing; kill -9 loses no more than the batches that the workers
had in their hands. The flows are there in the new process: nothing is dropped for want of one,
though no transceiver has sent a word. Half of the packets go up, half down.
"""

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
from fd_supervisor import FdSupervisor  # noqa: E402
from free_port import free_port  # noqa: E402
from media_wire import DOWNLINK, Key, stun_request  # noqa: E402
from relay_kit import INTERNAL_PORTS, PROGRAM, RTP, Relay, Transceiver, udp  # noqa: E402

PER_SECOND, MILLISECONDS = 20000, 2000
RATES = (PER_SECOND, PER_SECOND, PER_SECOND // 4, PER_SECOND // 16)
CLIENTS = 16
NEW_CLIENTS = 50
MANY_FLOWS = 100000  # of each worker
WORKERS = 2
BATCH = 8 * 64  # eight trains, before they are sent on
NOTES_S = 0.6  # how often the relay notes its routes, twice
FORCE_RECEIVE_BUFFER, MEMORY_INFO, DROPS = 33, 55, 8  # of Linux; Python has no names for them
STREAM = os.path.join(os.path.dirname(PROGRAM), "steady_stream")
BUFFER = 4 << 20
CONFIRMED, UNKNOWN_SOCKET = 2, 255  # of a flow


def flow_line(number, refreshed_us):
    """A confirmed flow of 198.18.0.0/15, as a worker leaves it (flow_table.h)."""
    client = struct.pack(">10xHI", 0xffff, (198 << 24 | 18 << 16) + number)
    return client + struct.pack("<HHIIIQQIIIBBBB", 40000, 0, 0, 1, number, refreshed_us, 0, 0, 0, 0,
                                CONFIRMED, UNKNOWN_SOCKET, 0, 0)


class KeptRelay(Relay):
    """A relay whose supervisor keeps what it is given."""

    def __init__(self, *arguments, **config):
        super().__init__(*arguments, **config)
        self.supervisor = FdSupervisor()

    def launch(self, *options):
        with open(self.log_path, "a") as log:
            self.process = self.supervisor.spawn(PROGRAM, ["--config", self.configure(), *options],
                                                 log)
        return self.process

    def hand_over(self):
        """The shortest restart: the successor starts when the process has ended."""
        self.process.send_signal(signal.SIGUSR2)
        assert self.process.wait() == 0, self.log()
        self.launch()

    def kept(self):
        """(sockets, flows, forgotten) of the latest start, once each worker has its flows."""
        def latest():
            return re.split(r"relay\.kept ", self.log())[-1]

        def flows():
            found = re.findall(r"relay\.flows_kept worker=\d+ flows=(\d+)", latest())
            return [int(count) for count in found]
        self.wait_for("flows", lambda: len(flows()) == self.config["workers"])
        sockets, forgotten = re.match(r"sockets=(\d+) forgotten=(\d+)", latest()).groups()
        return int(sockets), sum(flows()), int(forgotten)


class KeptSocketsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.relay = KeptRelay(folder.name, Key(7), workers=WORKERS, socket_buffer="4MB")
        self.addCleanup(self.relay.supervisor.close)
        self.addCleanup(self.relay.kill)
        self.relay.start()
        self.transceiver = Transceiver(self.relay)
        self.addCleanup(self.transceiver.close)
        self.transceiver.announce_and_wait()
        self.calls = [self.connect(session) for session in range(CLIENTS)]

    def connect(self, session):
        """A client with a confirmed flow; and where its transceiver answers to."""
        client = udp()
        self.addCleanup(client.close)
        client.sendto(stun_request(self.transceiver.token(session) + ":peer"), self.relay.public[0])
        _, peer, _, back = self.transceiver.hear()
        self.transceiver.say(back, session, peer, RTP)
        self.assertEqual(client.recvfrom(2000)[0], RTP)
        return session, client, back

    def say_the_last_word(self):
        """The transceiver announces itself, which the relay writes down, and then no more."""
        name = 'earshot_relay_announcements_total{result="%s"}'
        before = self.relay.metrics()
        self.transceiver.publisher.close()
        self.transceiver.publisher = None
        self.transceiver.announce()
        self.relay.wait_for("a word", lambda: any(
            self.relay.metrics()[name % result] > before[name % result]
            for result in ("new", "kept")))
        self.transceiver.publisher.close()
        time.sleep(NOTES_S)

    def streams(self, is_down):
        for session, client, back in self.calls:
            yield "%d %s:%d -\n" % (client.fileno(), *self.relay.public[0])
            shim = self.relay.key.shim(DOWNLINK, self.transceiver.instance, session,
                                       client.getsockname(), bytes(60))[:40]
            if is_down:
                yield "%d %s:%d %s\n" % (self.transceiver.socket.fileno(), *back, shim.hex())

    def overflowed(self):
        """Datagrams that found a buffer of the relay full, since it was first started."""
        total = 0
        for name, fds in self.relay.supervisor.store.items():
            if name != "flows":
                with socket.socket(fileno=os.dup(fds[0])) as one:
                    facts = one.getsockopt(socket.SOL_SOCKET, MEMORY_INFO, 4 * (DROPS + 1))
                    total += struct.unpack_from("I", facts, 4 * DROPS)[0]
        return total

    def stream_while(self, harm, is_down=True, per_second=PER_SECOND):
        """What was lost of the stream, up and down or up alone, while harm was done; and of that,
        what found a buffer full."""
        sockets = [self.transceiver.socket, *(client for _, client, _ in self.calls)]
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, FORCE_RECEIVE_BUFFER, BUFFER)
        numbers = [one.fileno() for one in sockets]
        self.say_the_last_word()
        overflowed = self.overflowed()
        stream = subprocess.Popen([STREAM, str(per_second), str(MILLISECONDS), *map(str, numbers)],
                                  text=True, pass_fds=numbers, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        with stream:
            stream.stdin.writelines(self.streams(is_down))
            stream.stdin.close()
            time.sleep(MILLISECONDS / 3000)
            harm()
            line = stream.stdout.read()
        result = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}
        self.assertEqual(result["sent"], per_second * MILLISECONDS // 1000)
        self.assertEqual(result["twice"], 0)
        overflowed = self.overflowed() - overflowed + result["missed"]
        print(f"{self.id().rpartition('.')[2]}: {per_second}/s {line.strip()} "
              f"overflowed={overflowed}", file=sys.stderr)
        return result["lost"], overflowed

    def fill(self, count):
        """Lets each worker find as many flows more than it had when it ended. They lie side by
        side, not where the hash of a table would put them; and then it starts."""
        memory, = self.relay.supervisor.store["flows"]
        lines = 2 * self.relay.config["flows"] * len(flow_line(0, 0))
        first = os.fstat(memory).st_size - WORKERS * lines
        self.relay.process.send_signal(signal.SIGUSR2)
        self.assertEqual(self.relay.process.wait(), 0)
        now_us = time.monotonic_ns() // 1000
        for worker in range(WORKERS):
            found = os.pread(memory, lines, first + worker * lines)
            kept = b"".join(found[at:at + 64] for at in range(0, len(found), 64) if found[at + 60])
            more = b"".join(flow_line(i, now_us - i) for i in range(count))
            os.pwrite(memory, (kept + more).ljust(lines, b"\0"), first + worker * lines)
        self.relay.launch()
        self.assertTrue(self.relay.supervisor.ready.wait(10))

    def assert_nothing_is_lost(self, harm, in_hands=0, flows=CLIENTS, **more):
        """Where a starved machine or a sanitizer makes the restart longer than the buffers hold, at
        a lower rate; but never more than what overflowed."""
        for per_second in RATES:
            lost, overflowed = self.stream_while(harm, per_second=per_second, **more)
            self.assertLessEqual(lost, overflowed + in_hands, self.relay.verdicts("up"))
            self.assertEqual(self.relay.kept(), (WORKERS + INTERNAL_PORTS, flows, 0))
            self.assertLessEqual(set(self.relay.verdicts("up")), {"flow"})
            if lost <= in_hands:
                return
        self.fail("at no rate")

    def test_a_restart_loses_nothing(self):
        self.assert_nothing_is_lost(self.relay.hand_over)

    def test_a_restart_loses_nothing_while_no_transceiver_says_a_word(self):
        self.assert_nothing_is_lost(self.relay.hand_over, is_down=False)

    def test_a_restart_with_a_large_table_loses_nothing(self):
        self.relay.kill()
        self.relay.config["flows"] = 1 << 20
        self.relay.launch()
        self.assertTrue(self.relay.supervisor.ready.wait(10))
        self.transceiver.publisher.close()
        self.transceiver.publisher = None
        self.transceiver.announce_and_wait()
        self.calls = [self.connect(session) for session in range(CLIENTS)]
        self.fill(MANY_FLOWS)
        self.assert_nothing_is_lost(self.relay.hand_over, flows=CLIENTS + WORKERS * MANY_FLOWS)

    def test_restarts_may_follow_each_other(self):
        def harm():
            for _ in range(3):
                self.relay.hand_over()
                self.assertTrue(self.relay.supervisor.ready.wait(10))
        self.assert_nothing_is_lost(harm, is_down=False)

    def test_kill_9_loses_no_more_than_a_batch_of_each_worker(self):
        def harm():
            self.relay.kill()
            self.relay.launch()
        self.assert_nothing_is_lost(harm, in_hands=WORKERS * BATCH)

    def test_with_other_workers_flows_are_learned_anew(self):
        for workers in (3, 1):
            def harm():
                self.relay.config["workers"] = workers
                self.relay.hand_over()
            lost, overflowed = self.stream_while(harm, per_second=RATES[-1])
            self.assertLess(lost, overflowed + RATES[-1] // 2)
            _, flows, forgotten = self.relay.kept()
            self.assertEqual((flows, forgotten), (0, 2 if workers == 1 else 0))
            names = [f"internal.{self.relay.internal_port + i}" for i in range(INTERNAL_PORTS)]
            names += ["flows", *(f"public.{worker}" for worker in range(workers))]
            self.assertEqual(self.relay.supervisor.names(), sorted(names))

    def test_a_supervisor_that_ignores_a_removal_takes_no_client(self):
        relay, take = self.relay, self.relay.supervisor.take
        relay.supervisor.take = lambda text, fds: "FDSTOREREMOVE" in text or take(text, fds)
        for workers in (1, 2):  # what was not removed is taken up again
            relay.config["workers"] = workers
            relay.hand_over()
            self.assertTrue(relay.supervisor.ready.wait(10))
            self.assertIn("public.1", relay.supervisor.names())
            self.say_the_last_word()
            for session in range(NEW_CLIENTS):
                self.connect(1000 * workers + session)

    def test_sockets_of_another_configuration_are_closed(self):
        relay, old = self.relay, self.relay.public[0]
        relay.public[0] = (old[0], free_port(socket.SOCK_DGRAM))
        relay.hand_over()
        self.assertTrue(relay.supervisor.ready.wait(10))
        self.assertEqual(relay.kept(), (INTERNAL_PORTS, 0, 0))
        udp(*old).close()
        relay.hand_over()
        self.assertTrue(relay.supervisor.ready.wait(10))
        self.assertEqual(relay.kept(), (WORKERS + INTERNAL_PORTS, 0, 0))


if __name__ == "__main__":
    unittest.main()
