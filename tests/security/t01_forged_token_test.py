"""T1: a forged or edited ufrag, or a lying announcement, makes the relay send to a chosen host.

Target: no datagram leaves to an address outside the route table, and none by a token that was not
sealed with the ring; each one is counted. forwarder_forgery_test tries ten million, in one process.
"""

import base64
import os
import random
import string
import tempfile
import unittest

from raw_kit import Witness
from media_wire import Key, announcement, stun_request
from relay_kit import CLUSTER, Relay, Transceiver, udp

TOKENS, AT_ONCE = 40000, 80
ICE_CHARS = string.ascii_letters + string.digits + "+/"
LIES = ["127.0.0.2:4000", "[::ffff:127.0.0.2]:4000", "169.254.169.254:80", "0.0.0.0:4000",
        "255.255.255.255:4000", "224.0.0.1:4000", "10.77.0.1:4000", "[::1]:4000", "[fd77::1]:4000",
        "127.0.0.1:0"]


class ForgedTokenTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.relay = Relay(folder.name, Key(7), transceiver_networks=["127.0.0.1/32"])
        self.addCleanup(self.relay.kill)
        self.relay.start()
        self.transceiver, self.client = Transceiver(self.relay), udp()
        self.witness = Witness()
        for part in (self.transceiver, self.client, self.witness):
            self.addCleanup(part.close)
        self.transceiver.announce_and_wait()
        self.sent = 0

    def send(self, token):
        self.client.sendto(stun_request(token + ":peer"), self.relay.public[0])
        self.sent += 1
        if self.sent % AT_ONCE == 0:
            self.assert_nothing_left()

    def assert_nothing_left(self):
        self.relay.wait_for(f"{self.sent} verdicts",
                            lambda: sum(self.relay.verdicts("up").values()) == self.sent)
        left = [seen for seen in self.witness.seen() if seen[1] != self.relay.public[0]]
        self.assertEqual(left, [])

    def assert_the_good_one_leaves(self):
        self.assert_nothing_left()
        self.client.sendto(stun_request(self.transceiver.token(42) + ":peer"), self.relay.public[0])
        self.transceiver.hear()
        left = {seen[1] for seen in self.witness.seen()} - {self.relay.public[0]}
        self.assertEqual(left, {self.transceiver.socket.getsockname()})

    def test_an_edited_cut_or_resealed_token_goes_nowhere(self):
        draw = random.Random(1)
        other = Key(7, os.urandom(32))
        good = self.transceiver.token(42)
        for number in range(TOKENS):
            if number % 4 == 0:
                token = other.token(CLUSTER, self.transceiver.instance, number)
            elif number % 4 == 1:
                token = good[:1 + number // 4 % 22]
            elif number % 4 == 2:
                token = good[0] + base64.b64encode(draw.randbytes(16)).decode().rstrip("=")
            else:
                at = draw.randrange(1, 22)
                wrong = draw.choice(ICE_CHARS.replace(good[at], ""))
                token = good[:at] + wrong + good[at + 1:]
            self.send(token)
        self.assert_the_good_one_leaves()
        self.assertFalse({"token_rate", "flow"} & set(self.relay.verdicts("up")))

    def test_an_announcement_of_an_address_outside_the_networks_is_no_route(self):
        for number, address in enumerate(LIES):
            self.transceiver.publisher.publish(
                announcement(CLUSTER, 100 + number, address, sequence=1))
        name = 'earshot_relay_announcements_total{result="forbidden"}'
        malformed = 'earshot_relay_announcements_total{result="malformed"}'
        self.relay.wait_for("refusals", lambda: self.relay.metrics()[name] +
                            self.relay.metrics()[malformed] == len(LIES))
        for number in range(len(LIES)):
            self.send(self.relay.key.token(CLUSTER, 100 + number, 42))
        self.assert_nothing_left()
        self.assertEqual(self.relay.verdicts("up"), {"token_instance": len(LIES)})
        self.assert_the_good_one_leaves()


unittest.main()
