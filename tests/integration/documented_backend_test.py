"""The backend of docs/backend-protocol.md runs as it stands there, and says everything back."""

import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import backend_wire as wire
from free_port import free_port

sys.argv.pop(1)  # the folder of programs: this test needs none
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DOCUMENT = os.path.join(ROOT, "docs", "backend-protocol.md")
PORT_IN_DOCUMENT = "7200"


def documented_backend(port):
    with open(DOCUMENT, encoding="utf-8") as file:
        program = re.search(r"^```python\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)[1]
    return program.replace(PORT_IN_DOCUMENT, str(port))


class DocumentedBackend(unittest.TestCase):
    def setUp(self):
        port = free_port()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "backend.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(documented_backend(port))
        self.process = subprocess.Popen([sys.executable, path])
        self.addCleanup(self.stop)
        self.link = self.connect(("127.0.0.1", port))
        self.addCleanup(self.link.close)

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

    def test_it_greets_accepts_echoes_and_ends(self):
        self.assertIn(1, self.link.greet()["versions"])
        self.assertEqual(self.link.start(7).type, wire.ACCEPT)
        sound = struct.pack("<480h", *range(480))
        for _ in range(3):
            self.link.send(wire.AUDIO_IN, 7, sound, rate_khz=24)
            heard = self.link.hear_type(wire.AUDIO_OUT)
            self.assertEqual((heard.session, heard.utterance, heard.rate_khz), (7, 1, 24))
            self.assertEqual(heard.payload, sound)
        self.link.send_json(wire.END, 7, reason="hangup")
        self.assertEqual(self.link.hear_type(wire.ENDED).session, 7)

    def test_it_answers_a_ping_with_the_same_bytes(self):
        self.link.greet()
        self.link.send(wire.PING, payload=b"12345678")
        self.assertEqual(self.link.hear_type(wire.PONG).payload, b"12345678")

    def test_two_calls_do_not_mix(self):
        self.link.greet()
        self.link.start(7)
        self.link.start(8)
        for session in (8, 7):
            self.link.send(wire.AUDIO_IN, session, bytes([session] * 960), rate_khz=24)
            heard = self.link.hear_type(wire.AUDIO_OUT)
            self.assertEqual((heard.session, heard.payload[:1]), (session, bytes([session])))


if __name__ == "__main__":
    unittest.main()
