"""The two backends of examples/, frame by frame: this test is the transceiver."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import backend_wire as wire
from free_port import free_port

sys.argv.pop(1)  # the folder of programs: this test needs none
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
SPEECH = 0x30
SILENCE = 0x10  # flag of AUDIO_IN
FRAME_US = 20000
FRAME_SAMPLES = 480
LINES_MAX, COLUMNS_MAX = 80, 100
PATIENCE_S = 20


def sound(number):
    """20 ms that no other number has."""
    return number.to_bytes(2, "little") * FRAME_SAMPLES


def numbers(samples):
    """What was said, as the numbers of its frames; silence is 0."""
    cut = [samples[i:i + 960] for i in range(0, len(samples), 960)]
    assert all(some == some[:2] * FRAME_SAMPLES for some in cut), "a frame that nobody said"
    return [int.from_bytes(some[:2], "little") for some in cut]


class Conversation:
    """A call with the example: frame n is captured at n * 20 ms."""

    def __init__(self, link, session=7, credit_us=10_000_000):
        self.link, self.session, self.frame = link, session, 0
        self.accept = link.start(session, credit_us=credit_us).json()

    def speak(self, frames):
        for _ in range(frames):
            self.link.send(wire.AUDIO_IN, self.session, sound(self.frame), rate_khz=24,
                           time_us=self.frame * FRAME_US)
            self.frame += 1

    def be_silent(self, frames):
        """As a client with DTX is: no samples, but a duration."""
        for _ in range(frames):
            self.link.send(wire.AUDIO_IN, self.session, flags=SILENCE, duration=8,
                           time_us=self.frame * FRAME_US)
            self.frame += 1

    def notice(self, state, frame):
        self.link.send_json_at(SPEECH, self.session, frame * FRAME_US, state=state, level_dbov=-20)

    def hear_answer(self):
        """(utterance, its frames) up to the one that ends it."""
        samples = b""
        while True:
            frame = self.link.hear_type(wire.AUDIO_OUT)
            assert frame.session == self.session
            samples += frame.payload
            if frame.flags & wire.LAST:
                return frame.utterance, numbers(samples)


class Example:
    """What every example does; the classes below say which."""

    command = None

    def setUp(self):
        if shutil.which(self.command[0]) is None:
            self.skipTest(f"{self.command[0]} is not here")
        signal.signal(signal.SIGALRM, self.give_up)
        signal.alarm(PATIENCE_S)  # its pings would keep a test waiting for ever
        self.addCleanup(signal.alarm, 0)
        port = free_port()
        program = os.path.join(EXAMPLES, self.command[1])
        self.process = subprocess.Popen([self.command[0], program, str(port)])
        self.addCleanup(self.stop)
        self.link = self.connect(("127.0.0.1", port))
        self.addCleanup(self.link.close)
        self.link.greet()

    def give_up(self, *_):
        raise TimeoutError(f"not within {PATIENCE_S} s")

    def stop(self):
        self.process.kill()
        self.process.wait()

    def connect(self, address):
        deadline = time.monotonic() + 10
        while True:
            try:
                return wire.Wire(address)
            except ConnectionRefusedError:
                self.assertIsNone(self.process.poll(), "it ended at once")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)

    def test_it_is_short(self):
        with open(os.path.join(EXAMPLES, self.command[1]), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertLessEqual(len(lines), LINES_MAX)
        self.assertLessEqual(max(map(len, lines)), COLUMNS_MAX)

    def test_it_says_the_turn_back_with_300_ms_from_before_its_onset(self):
        call = Conversation(self.link)
        self.assertEqual(call.accept["out"], "pcm16/24000")
        call.speak(100)
        call.notice("started", 90)
        call.speak(20)
        call.be_silent(5)
        call.notice("stopped", 120)
        flushed = self.link.hear_type(wire.FLUSH)
        self.assertEqual((flushed.session, flushed.utterance, flushed.payload), (7, 0, b""))
        self.assertEqual(call.hear_answer(), (1, [*range(75, 120), 0, 0, 0, 0, 0]))

    def test_it_forgets_what_was_said_long_before_a_turn(self):
        call = Conversation(self.link)
        call.speak(1000)
        call.notice("started", 0)  # as if all of it had been speech
        call.notice("stopped", 1000)
        _, frames = call.hear_answer()
        self.assertIn(len(frames), range(40, 61))
        self.assertEqual(frames[-1], 999)

    def test_it_falls_silent_when_the_user_speaks_into_its_answer(self):
        call = Conversation(self.link, credit_us=400_000)
        call.notice("started", 0)
        call.speak(50)
        call.notice("stopped", 50)
        self.assertEqual(self.link.hear_type(wire.FLUSH).utterance, 0)
        for _ in range(4):  # as much as the credit allows
            heard = self.link.hear_type(wire.AUDIO_OUT)
            self.assertEqual((heard.utterance, len(heard.payload)), (1, 4800))
        call.notice("started", 50)
        self.link.credit(7, 10_000_000)
        frame = self.link.hear_type(wire.FLUSH, wire.AUDIO_OUT)
        self.assertEqual((frame.type, frame.utterance), (wire.FLUSH, 1))
        call.speak(10)
        call.notice("stopped", 60)
        self.assertEqual(call.hear_answer(), (2, [*range(35, 60)]))

    def test_it_goes_on_when_there_is_room_again(self):
        call = Conversation(self.link, credit_us=100_000)
        call.notice("started", 0)
        call.speak(25)
        call.notice("stopped", 25)
        first = self.link.hear_type(wire.AUDIO_OUT)
        self.link.send(wire.PING, payload=b"12345678")
        self.assertEqual(self.link.hear_type(wire.PONG, wire.AUDIO_OUT).payload, b"12345678")
        self.link.credit(7, 10_000_000)
        _, rest = call.hear_answer()
        self.assertEqual(numbers(first.payload) + rest, [*range(25)])

    def test_it_shows_that_it_lives_while_it_only_listens(self):
        call = Conversation(self.link)
        deadline = time.monotonic() + 2.5
        self.link.socket.settimeout(0.02)
        heard = []
        while wire.PING not in heard:
            self.assertLess(time.monotonic(), deadline)
            call.speak(1)
            try:
                heard.append(self.link.hear().type)
            except socket.timeout:
                continue

    def test_two_calls_do_not_mix_and_an_ended_one_is_forgotten(self):
        first, second = Conversation(self.link, 7), Conversation(self.link, 8)
        for call in (first, second):
            call.notice("started", 0)
        second.frame = 500
        for call in (first, second):
            call.speak(10)
            call.notice("stopped", 0)
            self.assertEqual(call.hear_answer()[1], [*range(call.frame - 10, call.frame)])
        self.link.send_json(wire.END, 7, reason="hangup")
        self.assertEqual(self.link.hear_type(wire.ENDED).session, 7)
        del self.link.sent[7], self.link.heard[7]
        again = Conversation(self.link, 7)  # the handle may be used again, and counts from 0
        again.notice("started", 0)
        self.assertEqual(self.link.hear_type(wire.FLUSH).utterance, 0)


class Python(Example, unittest.TestCase):
    command = (sys.executable, "backend.py")


class Node(Example, unittest.TestCase):
    command = ("node", "backend.mjs")


if __name__ == "__main__":
    unittest.main(verbosity=2)
