"""T4: a caller with a session of his own spoofs a victim's address and port, to get his flow.

Target: not one of the victim's datagrams is lost or goes only to the thief's session: on a running
call, and just after a restart of the relay, where the thief's transceiver is heard first. Until the
victim's own transceiver is heard, within its 20 ms, nobody could know.
"""

import os
import signal
import tempfile
import unittest

from raw_kit import Spoofer
from media_wire import ANNOUNCEMENT, DOWNLINK, Key, stun_request
from relay_kit import Relay, Transceiver, udp

DATAGRAMS, AT_ONCE = 500, 10
BATCH = 60  # a relay that was held up finds so many at once, of 64 that it takes together
VICTIM, THIEF = 11, 12  # sessions, each on a transceiver of its own


def numbered(number):
    return b"\x80\x6f" + number.to_bytes(4, "big") + bytes(54)


class FlowTheftTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.relay = Relay(folder.name, Key(7))
        self.addCleanup(self.relay.kill)
        self.relay.start()
        self.near = Transceiver(self.relay, instance=1)
        self.far = Transceiver(self.relay, instance=2)
        self.client = udp()
        self.spoofer = Spoofer()
        for part in (self.near, self.far, self.client, self.spoofer):
            self.addCleanup(part.close)
        self.near.announce_and_wait()
        self.far.announce_and_wait()
        self.peer = self.client.getsockname()

    def connect_victim(self):
        self.client.sendto(stun_request(self.near.token(VICTIM) + ":peer"), self.relay.public[0])
        *_, self.back = self.near.hear()
        self.near.say(self.back, VICTIM, self.peer, numbered(0))
        self.client.recv(2000)

    def steal(self):
        """One spoofed check; the thief's transceiver answers toward the victim, as it must."""
        token = self.far.token(THIEF) + ":thief"
        self.spoofer.send(self.peer, self.relay.public[0], stun_request(token))
        while self.far.hear()[0] != THIEF:
            pass
        self.far.say(self.back, THIEF, self.peer, b"\x01\x01answer")
        self.far.say(self.back, THIEF, self.peer, b"", flags=DOWNLINK | ANNOUNCEMENT)

    def collect(self, transceiver, session):
        """What of the victim waits for this session, by its numbers."""
        numbers = set()
        while transceiver.socket_has_datagram(0.1):
            heard, client, datagram, _ = transceiver.hear()
            if datagram[0] == 0x80:
                self.assertEqual((heard, client), (session, self.peer))
                numbers.add(int.from_bytes(datagram[2:6], "big"))
        return numbers

    def speak(self, disturb):
        """Every datagram of the victim comes to its session, whatever disturbs in between. A few
        at once, so that no socket's buffer is part of the test."""
        for first in range(0, DATAGRAMS, AT_ONCE):
            numbers = set(range(first, first + AT_ONCE))
            disturb()
            for number in numbers:
                self.client.sendto(numbered(number), self.relay.public[0])
            while numbers:
                heard, client, datagram, _ = self.near.hear()
                self.assertEqual((heard, client), (VICTIM, self.peer))
                numbers.discard(int.from_bytes(datagram[2:6], "big"))

    def test_a_running_call_keeps_its_datagrams(self):
        self.connect_victim()
        self.steal()
        self.speak(self.steal)
        # What the victim's transceiver says still reaches the victim.
        self.near.say(self.back, VICTIM, self.peer, numbered(7))
        while self.client.recv(2000) != numbered(7):
            pass

    def test_after_a_restart_the_thief_who_was_heard_first_takes_nothing(self):
        self.connect_victim()
        self.relay.restart()
        self.far.say(self.back, THIEF, self.peer, b"\x01\x01answer")
        self.assertEqual(self.client.recv(2000), b"\x01\x01answer")
        self.near.say(self.back, VICTIM, self.peer, numbered(0))
        self.assertEqual(self.client.recv(2000), numbered(0))
        self.speak(lambda: self.far.say(self.back, THIEF, self.peer, b"\x01\x01answer"))
        # The thief's session gets copies, which it can not read, and the operator sees them.
        self.assertTrue(self.collect(self.far, THIEF))
        self.assertGreater(self.relay.metrics()["earshot_relay_disputed_datagrams_total"], 0)

    def test_after_a_restart_a_full_batch_comes_to_its_session(self):
        self.connect_victim()
        self.relay.restart()
        self.far.say(self.back, THIEF, self.peer, b"\x01\x01answer")
        self.assertEqual(self.client.recv(2000), b"\x01\x01answer")
        self.near.say(self.back, VICTIM, self.peer, numbered(0))
        self.assertEqual(self.client.recv(2000), numbered(0))
        os.kill(self.relay.process.pid, signal.SIGSTOP)
        for number in range(BATCH):
            self.client.sendto(numbered(number), self.relay.public[0])
        os.kill(self.relay.process.pid, signal.SIGCONT)
        self.assertEqual(self.collect(self.near, VICTIM), set(range(BATCH)))
        self.assertEqual(self.relay.metrics()["earshot_relay_disputed_unsent_total"], 0)

    def test_four_sessions_of_a_thief_take_nothing(self):
        self.connect_victim()
        self.relay.restart()
        for thief in range(THIEF, THIEF + 4):
            self.far.say(self.back, thief, self.peer, b"\x01\x01answer")
        self.near.say(self.back, VICTIM, self.peer, numbered(0))
        while self.client.recv(2000) != numbered(0):
            pass
        self.speak(lambda: self.near.say(self.back, VICTIM, self.peer, numbered(0)))


unittest.main()
