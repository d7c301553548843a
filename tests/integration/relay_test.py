"""The relay as a process, on loopback: clients, a fake transceiver, strangers, and restarts."""

import os
import random
import signal
import socket
import sys
import tempfile
import time
import unittest

from media_wire import ANNOUNCEMENT, DOWNLINK, TCP, Key, announcement, field, stun_request
from relay_kit import CLUSTER, DTLS, FIND_S, QUIET_S, Relay, RTP, Transceiver, udp


class RelayTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def relay(self, start=True, **config):
        relay = Relay(self.folder, Key(7), **config)
        self.addCleanup(relay.kill)
        if start:
            relay.start()
        return relay

    def transceiver(self, relay, announced=True, **more):
        transceiver = Transceiver(relay, **more)
        self.addCleanup(transceiver.close)
        if announced:
            transceiver.announce_and_wait()
        return transceiver

    def client(self, address="127.0.0.1"):
        client = udp(address)
        self.addCleanup(client.close)
        return client

    def assert_silent(self, sock):
        sock.settimeout(QUIET_S)
        with self.assertRaises(TimeoutError):
            sock.recvfrom(65536)
        sock.settimeout(FIND_S)

    def connect(self, relay, transceiver, client, session, public=0):
        """A request and its answer; the relay address that the transceiver shall answer to."""
        client.sendto(stun_request(transceiver.token(session) + ":peer"), relay.public[public])
        heard, peer, _, back = transceiver.hear()
        self.assertEqual((heard, peer), (session, client.getsockname()[:2]))
        transceiver.say(back, session, peer, b"\x01\x01answer")
        self.assertEqual(client.recvfrom(2000)[0], b"\x01\x01answer")
        return back

    # --- calls -----------------------------------------------------------------------------------

    def test_a_call_goes_through_both_ways(self):
        relay = self.relay()
        transceiver, client = self.transceiver(relay), self.client()
        self.assertEqual(relay.get("/readyz")[0], 200)
        request = stun_request(transceiver.token(42) + ":peer",
                               before=b"\x80\x29\x00\x08" + bytes(8))
        client.sendto(request, relay.public[0])
        session, peer, datagram, back = transceiver.hear()
        self.assertEqual((session, peer, datagram), (42, client.getsockname(), request))
        self.assertEqual(back, ("127.0.0.1", relay.internal_port))
        transceiver.say(back, 42, peer, b"\x01\x01" + bytes(90))
        answer, source = client.recvfrom(2000)
        self.assertEqual((answer, source), (b"\x01\x01" + bytes(90), relay.public[0]))
        for datagram in (RTP, DTLS, b"\x90" * 1500, b"\x80" * 12):
            client.sendto(datagram, relay.public[0])
            self.assertEqual(transceiver.hear()[:3], (42, peer, datagram))
            transceiver.say(back, 42, peer, datagram)
            self.assertEqual(client.recvfrom(2000)[0], datagram)
        self.assertEqual(relay.verdicts("up"), {"token": 1, "flow": 4})
        self.assertEqual(relay.verdicts("down"), {"shim": 5})
        metrics = relay.metrics()
        self.assertEqual(metrics['earshot_relay_bytes_total{direction="up"}'],
                         len(request) + 60 + 103 + 1500 + 12)
        self.assertEqual(metrics['earshot_relay_bytes_total{direction="down"}'],
                         92 + 60 + 103 + 1500 + 12)
        relay.wait_for("a confirmed flow",
                       lambda: relay.metrics()['earshot_relay_flows{state="confirmed"}'] == 1)

    def test_padding_of_a_train_does_not_reach_the_client(self):
        relay = self.relay()
        transceiver, client = self.transceiver(relay), self.client()
        back = self.connect(relay, transceiver, client, 1)
        packet = relay.key.shim(DOWNLINK, transceiver.instance, 1, client.getsockname(), RTP)
        transceiver.socket.sendto(packet + bytes(100), back)
        self.assertEqual(client.recvfrom(2000)[0], RTP)

    def test_a_call_over_ipv6(self):
        relay = self.relay(listen=("127.0.0.1", "::1"))
        transceiver, client = self.transceiver(relay), self.client("::1")
        back = self.connect(relay, transceiver, client, 6, public=1)
        client.sendto(RTP, relay.public[1])
        self.assertEqual(transceiver.hear()[:3], (6, client.getsockname()[:2], RTP))
        # A v4 client does not get into the v6 socket, nor the other way round.
        relay.restart()
        transceiver.say(back, 6, client.getsockname(), RTP)
        data, source = client.recvfrom(2000)
        self.assertEqual((data, source[:2]), (RTP, relay.public[1]))

    def test_an_answer_leaves_from_the_address_that_was_asked(self):
        relay = self.relay(listen=("127.0.0.2", "127.0.0.1", "127.0.0.3"))
        transceiver = self.transceiver(relay)
        for public, address in enumerate(relay.public):
            client = self.client()
            back = self.connect(relay, transceiver, client, public, public)
            transceiver.say(back, public, client.getsockname(), RTP)
            self.assertEqual(client.recvfrom(2000), (RTP, address))

    def test_shards_are_reached_at_base_port_plus_shard(self):
        relay = self.relay()
        transceiver = self.transceiver(relay, announced=False)
        base = transceiver.socket.getsockname()[1] - 5
        transceiver.announce(media_address=f"127.0.0.1:{base}", shards=6)
        relay.wait_for("ready", lambda: relay.get("/readyz")[0] == 200)
        self.connect(relay, transceiver, self.client(), 5 << 26 | 77)

    def test_many_workers_serve_many_clients(self):
        relay = self.relay(workers=3)
        transceiver = self.transceiver(relay)
        ports = set()
        for session in range(30):
            ports.add(self.connect(relay, transceiver, self.client(), session)[1])
        first = relay.internal_port
        self.assertEqual(ports, {first, first + 1, first + 2})

    # --- strangers -------------------------------------------------------------------------------

    def junk(self):
        whole = stun_request("HAAAAAAAAAAAAAAAAAAAAAA:peer")
        yield from (bytes([first]) + bytes(size) for first in range(256) for size in (0, 11, 60))
        yield from (whole[:size] for size in range(1, len(whole) + 1))
        yield from (whole[:20] + os.urandom(80) for _ in range(200))
        yield from (os.urandom(random.randrange(1, 1600)) for _ in range(500))
        yield from (b"\x80" * size for size in (1501, 2008, 9000, 65507))
        yield from (b"\x00" * 65507, b"\xe5" * 65507)

    def test_strangers_get_nothing_and_reach_nobody(self):
        relay = self.relay()
        transceiver, stranger = self.transceiver(relay), self.client()
        log_before, count = len(relay.log()), 0
        for datagram in self.junk():
            stranger.sendto(datagram, relay.public[0])
            count += 1
            if count % 50 == 0:  # no faster than a small buffer can take
                relay.wait_for("junk", lambda: sum(relay.verdicts("up").values()) == count)
        relay.wait_for("junk", lambda: sum(relay.verdicts("up").values()) == count)
        self.assert_silent(stranger)
        self.assertTrue(transceiver.is_quiet())
        self.assertLess(len(relay.log()) - log_before, 200)
        verdicts = relay.verdicts("up")
        self.assertFalse({"token", "flow", "token_no_room", "unsent"} & set(verdicts), verdicts)
        self.assertTrue({"length", "kind", "stun", "token_forged", "no_flow"} <= set(verdicts))
        # And the relay still works.
        self.connect(relay, transceiver, self.client(), 1)

    def test_forged_downlinks_reach_no_client(self):
        relay = self.relay()
        transceiver, client = self.transceiver(relay), self.client()
        back = self.connect(relay, transceiver, client, 1)
        me = client.getsockname()
        good = relay.key.shim(DOWNLINK, transceiver.instance, 1, me, RTP)
        forged = [good[:39] + bytes([good[39] ^ 1]) + good[40:], good[:-1], good[:40], good[:20],
                  b"", b"\xe5", bytes(100), os.urandom(1400), b"\xe5" * 65507,
                  Key(7).shim(DOWNLINK, transceiver.instance, 1, me, RTP),
                  Key(8).shim(DOWNLINK, transceiver.instance, 1, me, RTP)]
        forged += [relay.key.shim(flags, transceiver.instance, 1, me, RTP)
                   for flags in (0, DOWNLINK | TCP, ANNOUNCEMENT, 8, 9)]
        forged += [relay.key.shim(DOWNLINK, transceiver.instance, 1, address, RTP)
                   for address in (("224.0.0.1", 5000), ("255.255.255.255", 5000),
                                   ("0.0.0.0", 5000), ("127.0.0.1", 0), relay.public[0],
                                   ("127.0.0.1", relay.internal_port), ("::1", 5000))]
        for packet in forged:
            transceiver.socket.sendto(packet, back)
        relay.wait_for("forgeries",
                       lambda: sum(relay.verdicts("down").values()) == len(forged) + 1)
        self.assert_silent(client)
        verdicts = relay.verdicts("down")
        self.assertEqual(verdicts.pop("shim"), 1)
        self.assertTrue({"short", "version", "tag", "key", "flags", "forbidden", "no_socket"} <=
                        set(verdicts), verdicts)

    def test_announcements_from_outside_change_nothing(self):
        relay = self.relay(transceiver_networks=["127.0.0.1/32"])
        transceiver, target = self.transceiver(relay), self.client("127.0.0.2")
        port = target.getsockname()[1]
        publisher = transceiver.publisher
        for media in (f"127.0.0.2:{port}", "169.254.169.254:80", f"[::1]:{port}", "127.0.0.1:0"):
            transceiver.instance = 99
            transceiver.announce(media_address=media)
        publisher.publish(announcement(CLUSTER + 1, 98, "127.0.0.1:4000", 1))
        publisher.publish(b"\x0a")
        publisher.publish(b"\x0a" + os.urandom(499))
        publisher.publish(field(1, bytes(10)))
        publisher.publish(announcement(CLUSTER, 97, "localhost:4000", 1))
        names = {"forbidden": 3, "other_cluster": 1}
        result = 'earshot_relay_announcements_total{result="%s"}'
        relay.wait_for("refusals", lambda: all(relay.metrics()[result % name] >= count
                                               for name, count in names.items()))
        relay.wait_for("malformed ones", lambda: relay.metrics()[result % "malformed"] >= 3)
        self.assertEqual(relay.metrics()["earshot_relay_instances_known"], 1)
        client = self.client()
        client.sendto(stun_request(transceiver.token(1) + ":peer"), relay.public[0])
        relay.wait_for("a drop", lambda: relay.verdicts("up") == {"token_instance": 1})
        self.assert_silent(target)

    def test_two_addresses_for_one_instance_are_reported(self):
        relay = self.relay()
        transceiver, rogue = self.transceiver(relay), self.transceiver(relay, announced=False)
        rogue.sequence = 1000
        rogue.announce(start_us=2000)
        name = 'earshot_relay_announcements_total{result="conflict"}'
        relay.wait_for("a conflict", lambda: relay.metrics()[name] == 1)
        self.assertIn("announcement.refused reason=conflict", relay.log())
        self.connect(relay, transceiver, self.client(), 1)
        self.assertTrue(rogue.is_quiet())

    # --- restarts --------------------------------------------------------------------------------

    def restart_in_calls(self, before, after):
        """Calls go on by the first downlink alone: no announcement, no request."""
        relay = self.relay(workers=before)
        transceiver = self.transceiver(relay)
        calls = [(session, client, self.connect(relay, transceiver, client, session))
                 for session, client in enumerate(self.client() for _ in range(12))]
        transceiver.publisher.close()
        relay.restart(workers=after)
        for session, client, back in calls:
            client.sendto(RTP, relay.public[0])
        relay.wait_for("drops", lambda: relay.verdicts("up") == {"no_flow": len(calls)})
        for session, client, back in calls:
            transceiver.say(back, session, client.getsockname(), DTLS)
            self.assertEqual(client.recvfrom(2000), (DTLS, relay.public[0]))
        for session, client, back in calls:
            heard = transceiver.hear_again(session, lambda: client.sendto(RTP, relay.public[0]))
            self.assertEqual(heard, (client.getsockname(), RTP))

    def test_calls_outlive_a_restart(self):
        self.restart_in_calls(2, 2)

    def test_calls_outlive_a_restart_with_one_worker_more(self):
        self.restart_in_calls(2, 3)

    def test_calls_outlive_a_restart_with_one_worker_less(self):
        self.restart_in_calls(3, 2)

    def test_an_announced_flow_brings_the_uplink_back_while_the_agent_is_silent(self):
        relay = self.relay()
        transceiver, client = self.transceiver(relay), self.client()
        back = self.connect(relay, transceiver, client, 3)
        relay.restart()
        transceiver.say(back, 3, client.getsockname(), b"", DOWNLINK | ANNOUNCEMENT)
        relay.wait_for("a flow", lambda: relay.verdicts("down") == {"announcement": 1})
        self.assert_silent(client)
        client.sendto(RTP, relay.public[0])
        self.assertEqual(transceiver.hear()[:3], (3, client.getsockname(), RTP))

    def test_a_relay_forwards_soon_after_it_starts(self):
        relay = self.relay()
        transceiver, client = self.transceiver(relay), self.client()
        back = self.connect(relay, transceiver, client, 3)
        relay.kill()
        relay.launch()
        begin = time.monotonic()
        client.settimeout(0.005)
        while True:
            transceiver.say(back, 3, client.getsockname(), RTP)
            try:
                client.recvfrom(2000)
                break
            except TimeoutError:
                self.assertLess(time.monotonic() - begin, FIND_S)
        print(f"forwards {1000 * (time.monotonic() - begin):.0f} ms after exec", file=sys.stderr)

    # --- life ------------------------------------------------------------------------------------

    def test_a_foreign_process_on_the_port_is_one_clear_line(self):
        relay = self.relay(start=False)
        foreign = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(foreign.close)
        foreign.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        foreign.bind(relay.public[0])
        self.assertEqual(relay.launch().wait(FIND_S), 1)
        last = relay.log().splitlines()[-1]
        self.assertEqual(last, f"earshot-relay: bind udp 127.0.0.1:{relay.public[0][1]}: Address "
                               "already in use (another relay? stop it or change the address)")

    def test_missing_keys_are_one_clear_line(self):
        relay = self.relay(start=False)
        relay.keys = os.path.join(self.folder, "nowhere")
        self.assertEqual(relay.launch().wait(FIND_S), 1)
        self.assertIn("nowhere", relay.log().splitlines()[-1])

    def test_a_wrong_configuration_is_refused_by_name(self):
        relay = self.relay(start=False, workers=99)
        self.assertEqual(relay.launch("--check-config").wait(FIND_S), 1)
        self.assertIn("workers", relay.log())
        relay.config["workers"] = 1
        self.assertEqual(relay.launch("--check-config").wait(FIND_S), 0)

    def test_what_can_not_help_is_said_at_the_start(self):
        relay = self.relay(workers=16, busy_poll="true", gather_us=50)
        cpus = len(os.sched_getaffinity(0))
        self.assertIn(f"relay.workers count=16 cpus={cpus} ", relay.log())
        self.assertIn(" busy_poll=yes gather_us=50\n", relay.log())
        self.assertIn("relay.gather_unused gather_us=50 ", relay.log())
        self.assertEqual("relay.workers_many count=16 " in relay.log(), cpus < 16)

    def test_it_is_ready_when_a_transceiver_was_heard(self):
        relay = self.relay()
        status, body = relay.get("/readyz")
        self.assertEqual(status, 503)
        self.assertIn("transceiver_awaited: no", body)
        self.transceiver(relay)
        self.assertEqual(relay.get("/readyz")[0], 200)
        self.assertIn("worker0: yes", relay.get("/healthz")[1])

    def test_a_draining_relay_forwards_until_nobody_calls(self):
        relay = self.relay()
        transceiver, client = self.transceiver(relay), self.client()
        self.connect(relay, transceiver, client, 1)
        relay.process.send_signal(signal.SIGTERM)
        relay.wait_for("not ready", lambda: relay.get("/readyz")[0] == 503)
        time.sleep(1)
        client.sendto(RTP, relay.public[0])
        self.assertEqual(transceiver.hear()[2], RTP)
        self.connect(relay, transceiver, self.client(), 2)  # new clients too
        last = time.monotonic()
        self.assertEqual(relay.process.wait(30), 0)
        self.assertGreater(time.monotonic() - last, 14.5)

    def test_a_second_sigterm_ends_it_now(self):
        relay = self.relay()
        relay.process.send_signal(signal.SIGTERM)
        relay.wait_for("not ready", lambda: "not_draining: no" in relay.get("/readyz")[1])
        relay.process.send_signal(signal.SIGTERM)
        self.assertEqual(relay.process.wait(FIND_S), 0)

    def test_keys_are_read_again_and_a_bad_file_keeps_the_old(self):
        relay = self.relay(workers=2)
        transceiver = self.transceiver(relay)
        self.connect(relay, transceiver, self.client(), 1)
        with open(os.path.join(relay.keys, "active"), "w") as file:
            file.write("junk\n")
        relay.process.send_signal(signal.SIGHUP)
        failed = 'earshot_key_ring_reloads_failed_total{ring="media"}'
        relay.wait_for("an alarm", lambda: relay.metrics()[failed] >= 1)
        self.connect(relay, transceiver, self.client(), 2)

        new = Key(9)
        new.store(relay.keys)  # no signal: the directory tells
        info = 'earshot_key_ring_key_info{ring="media",key_id="%02d",active="%s"}'
        relay.wait_for("the new key", lambda: relay.metrics().get(info % (9, "true")) == 1)
        self.assertEqual(relay.metrics()[info % (7, "false")], 1)
        old, transceiver.key = transceiver.key, new
        for turn in range(8):  # some of them for either worker
            client = self.client()
            # What was sealed before the rotation still opens.
            for session, key in ((10 + turn, Key(9, new.secret)), (20 + turn, old)):
                check = stun_request(key.token(CLUSTER, transceiver.instance, session) + ":peer")
                transceiver.hear_again(session, lambda: client.sendto(check, relay.public[0]))

    def test_every_datagram_is_counted_once(self):
        relay = self.relay(workers=2)
        transceiver, client = self.transceiver(relay), self.client()
        back = self.connect(relay, transceiver, client, 1)
        up = down = 1
        chance = random.Random(7)
        for _ in range(20):
            for _ in range(20):
                client.sendto(chance.choice((RTP, DTLS, bytes(5), b"\x40" * 60)), relay.public[0])
                transceiver.say(back, 1, client.getsockname(), RTP,
                                chance.choice((DOWNLINK, DOWNLINK, 0)))
                up, down = up + 1, down + 1
            relay.wait_for("the sum", lambda: (sum(relay.verdicts("up").values()),
                                               sum(relay.verdicts("down").values())) == (up, down))
        heard = relay.metrics()
        dropped = 'earshot_socket_dropped_messages_total{direction="%s"}'
        self.assertEqual((heard[dropped % "up"], heard[dropped % "down"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
