"""signaling as a process, with transceivers that do as they are told, for the tests of it."""

import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from free_port import free_port

FOLDER = sys.argv.pop(1)
SIGNALING = os.path.join(FOLDER, "earshot-signaling")
FAKE = os.path.join(FOLDER, "fake_transceiver")
SDP = {"Content-Type": "application/sdp"}
CALLS = "/v1/realtime/calls"
PATIENCE_S = 10
# Everybody may do everything, as often as he likes.
OPEN = "auth: off\nlimits: {{offers_per_s_per_tenant: 0, offers_per_s_per_address: 0}}\n"


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.02)


class Signaling:
    """A running earshot-signaling with a configuration and a key ring of its own."""

    def __init__(self, access=OPEN, **http):
        self.folder = tempfile.TemporaryDirectory()
        self.port, self.control_port, self.admin_port = free_port(), free_port(), free_port()
        self.write_keys("00")
        os.mkdir(self.path("web"))
        with open(self.path("web", "index.html"), "w") as file:
            file.write("<p>the page")
        with open(self.path("web", "big.js"), "w") as file:
            file.write("x" * 1000000)
        lines = [f"  {key}: {value}\n" for key, value in http.items()]
        with open(self.path("signaling.yaml"), "w") as file:
            file.write(f"keys: {self.path('keys')}\nweb: {self.path('web')}\n"
                       f"{access.format(api_keys=self.path('api-keys'))}"
                       f"control_listen: 127.0.0.1:{self.control_port}\n"
                       f"admin_listen: 127.0.0.1:{self.admin_port}\n"
                       "answer_timeout: 1s\n"
                       "ingress:\n"
                       "  - {name: a, udp: \"203.0.113.10:3478\", tcp: \"203.0.113.10:443\"}\n"
                       f"http:\n  listen: 127.0.0.1:{self.port}\n{''.join(lines)}")
        self.log = open(self.path("log"), "w")
        self.process = subprocess.Popen([SIGNALING, "--config", self.path("signaling.yaml")],
                                        stderr=self.log)
        wait_until(self.is_up, "the ports of signaling")

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def write_keys(self, active):
        os.makedirs(self.path("keys"), mode=0o700, exist_ok=True)
        for name, text in ((f"{active}.key", active * 32), ("active", active)):
            path = self.path("keys", name)
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write(text + "\n")

    def is_up(self):
        assert self.process.poll() is None, self.read_log()
        try: # the admin port opens last
            socket.create_connection(("127.0.0.1", self.admin_port)).close()
            return True
        except ConnectionRefusedError:
            return False

    def read_log(self):
        with open(self.path("log")) as file:
            return file.read()

    def request(self, method, path, body=None, headers=(), port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            answer.text = answer.read().decode()
            return answer
        finally:
            connection.close()

    def connect(self, text=b""):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        client.sendall(text)
        return client

    def metric(self, name):
        text = self.request("GET", "/metrics", port=self.admin_port).text
        for line in text.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return None

    def wait_for_metric(self, name, value):
        wait_until(lambda: self.metric(name) == value, f"{name} {value}")

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()
        self.folder.cleanup()


class Transceiver:
    """A fake transceiver and the lines that it writes."""

    def __init__(self, signaling, instance, orders):
        self.instance = instance
        self.process = subprocess.Popen(
            [FAKE, instance, f"tcp://127.0.0.1:{signaling.control_port}",
             f"tcp://127.0.0.1:{free_port()}", *orders],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.expect("done " + line)

    def expect(self, start):
        """The next line that begins so; others before it are passed over."""
        while True:
            line = self.lines.get(timeout=PATIENCE_S)
            if line.startswith(start):
                return line

    def has_line(self, start):
        return any(line.startswith(start) for line in list(self.lines.queue))

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


def read_all(client):
    data = b""
    try:
        while piece := client.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data.decode()


class Base(unittest.TestCase):
    """One signaling for a class; its transceivers come and go with each test."""

    http = {}
    access = OPEN

    @classmethod
    def setUpClass(cls):
        cls.signaling = Signaling(cls.access, **cls.http)
        cls.addClassCleanup(cls.signaling.stop)

    def setUp(self):
        self.expect_transceivers("ready", 0)

    def transceiver(self, *orders):
        """Comes up with its orders obeyed."""
        Base.instance = getattr(Base, "instance", 0x5eed0000) + 1
        fake = Transceiver(self.signaling, f"{Base.instance:08x}", orders)
        self.addCleanup(fake.stop)
        wait_until(lambda: f"known instance={fake.instance}" in self.signaling.read_log(),
                   "the transceiver's announcement")
        return fake

    def expect_transceivers(self, state, count):
        self.signaling.wait_for_metric(
            f'earshot_signaling_transceivers_known{{state="{state}"}}', count)

    def retire(self, fake):
        fake.tell("state draining")

    def offer(self, body="v=0\r\n", path=CALLS, headers=SDP):
        return self.signaling.request("POST", path, body, headers)

    def assert_error(self, answer, status, code):
        self.assertEqual(answer.status, status, answer.text)
        self.assertEqual(answer.getheader("Content-Type"), "application/json")
        self.assertEqual(answer.getheader("Access-Control-Allow-Origin"), "*")
        error = json.loads(answer.text)["error"]
        self.assertEqual(error["code"], code)
        self.assertEqual(error["type"], "invalid_request_error")
        self.assertIsNone(error["param"])
        self.assertTrue(error["message"])
        if status == 503:
            self.assertGreaterEqual(int(answer.getheader("Retry-After")), 1)
        return error["message"]
