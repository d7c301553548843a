"""T18: somebody on the internal network forges downlinks, to make the relay send to any client.

Target: forged, bent, cut and foreign shims, and good ones that name an address a relay must not
send to: not one datagram leaves, and each is counted.
"""

import os
import random
import subprocess
import tempfile
import unittest

from raw_kit import Spoofer, Witness
from media_wire import ANNOUNCEMENT, DOWNLINK, PROBE, TCP, Key
from relay_kit import RTP, Relay, Transceiver

AT_ONCE = 80
PUBLIC, CLIENT = "203.0.113.1", ("203.0.113.2", 40000)
FORBIDDEN = ["0.0.0.0", "255.255.255.255", "224.0.0.1", PUBLIC, "127.0.0.1", "10.1.2.3",
             "172.16.0.9", "192.168.1.1", "169.254.169.254", "100.64.0.1", "::", "::1", "ff02::1",
             "fe80::1", "fd00::1", "::ffff:127.0.0.1", "::ffff:10.1.2.3"]


class ForgedDownlinkTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        subprocess.run(["ip", "addr", "replace", f"{PUBLIC}/32", "dev", "lo"], check=True)
        self.relay = Relay(folder.name, Key(7), listen=(PUBLIC,), allow_private_clients="false",
                           transceiver_networks=["127.0.0.1/32"])
        self.addCleanup(self.relay.kill)
        self.relay.start()
        self.transceiver = Transceiver(self.relay)
        self.witness, self.spoofer = Witness(), Spoofer()
        for part in (self.transceiver, self.witness, self.spoofer):
            self.addCleanup(part.close)
        self.internal = ("127.0.0.1", self.relay.internal_port)
        self.sent = 0
        self.left = []  # what the relay sent to anybody

    def shim(self, client=CLIENT, flags=DOWNLINK, key=None):
        return (key or self.relay.key).shim(flags, self.transceiver.instance, 42, client, RTP)

    def send(self, packet, source=None):
        if source is None:
            self.transceiver.socket.sendto(packet, self.internal)
        else:
            self.spoofer.send(source, self.internal, packet)
        self.sent += 1
        if self.sent % AT_ONCE == 0:
            self.look()

    def wait_until_counted(self):
        """Received = the sum over all verdicts."""
        self.relay.wait_for(f"{self.sent} verdicts",
                            lambda: sum(self.relay.verdicts("down").values()) == self.sent)

    def look(self):
        self.wait_until_counted()
        self.left += [seen for seen in self.witness.seen() if seen[0] in self.relay.public]

    def assert_nothing_left(self):
        self.look()
        self.assertEqual(self.left, [])
        self.assertFalse({"shim", "announcement"} & set(self.relay.verdicts("down")))
        # The witness can see one, and the relay can send one.
        self.send(self.shim())
        self.look()
        self.assertEqual(self.left, [(self.relay.public[0], CLIENT, RTP)])

    def test_a_shim_with_any_bit_bent_sends_nothing(self):
        good = self.shim()
        for bit in range(8 * 40):
            bent = bytearray(good)
            bent[bit // 8] ^= 1 << bit % 8
            self.send(bytes(bent))
        self.assert_nothing_left()

    def test_a_shim_cut_anywhere_sends_nothing(self):
        good = self.shim()
        for length in range(len(good)):
            self.send(good[:length])
        self.assert_nothing_left()

    def test_a_shim_of_another_key_or_with_a_guessed_tag_sends_nothing(self):
        for key_id in (7, 8):
            self.send(self.shim(key=Key(key_id, os.urandom(32))))
        guess = random.Random(1)
        for _ in range(2000):
            self.send(self.shim()[:32] + guess.randbytes(8) + RTP)
        self.assert_nothing_left()

    def test_a_good_shim_from_outside_the_networks_sends_nothing(self):
        for source in (("127.0.0.2", 4000), ("10.77.0.1", 4000), ("198.51.100.9", 4000), CLIENT):
            self.send(self.shim(), source)
        self.assert_nothing_left()
        self.assertEqual(self.relay.verdicts("down")["source"], 4)

    def test_a_good_shim_to_a_forbidden_client_sends_nothing(self):
        for ip in FORBIDDEN:
            self.send(self.shim(client=(ip, 40000)))
        self.send(self.shim(client=(CLIENT[0], 0)))
        self.assert_nothing_left()
        self.assertEqual(self.relay.verdicts("down")["forbidden"], len(FORBIDDEN) + 1)

    def test_a_good_shim_that_is_no_downlink_sends_nothing(self):
        for flags in range(16):
            if flags not in (DOWNLINK, DOWNLINK | ANNOUNCEMENT):
                self.assertTrue(flags & (TCP | PROBE) or not flags & DOWNLINK)
                self.send(self.shim(flags=flags))
        self.assert_nothing_left()


unittest.main()
