"""The transceiver as a process, its backend, and what a client knows of its call."""

import os
import re
import socket
import subprocess
import sys
import threading
import time

import admin_port
import backend_wire as wire
from free_port import free_port
from media_wire import Subscriber, fields

PROGRAMS = sys.argv.pop(1)
PROGRAM = os.path.join(PROGRAMS, "earshot-transceiver")
CLIENT = os.path.join(PROGRAMS, "control_client")
QUIET_S = 0.3  # how long nothing must come
FIND_S = 10    # how long something may take, on a machine with other work

PEER = ("203.0.113.9", 40000)
RTP = b"\x80\x6f" + bytes(58)
INGRESS = "198.51.100.7:3478"
OFFER = """v=0
o=- 1 1 IN IP4 127.0.0.1
s=-
t=0 0
m=audio 9 UDP/TLS/RTP/SAVPF 111
c=IN IP4 0.0.0.0
a=mid:0
a=ice-ufrag:peer
a=ice-pwd:0123456789abcdefghij+/
a=fingerprint:sha-256 """ + ":".join(["0B"] * 32) + """
a=setup:actpass
a=rtcp-mux
a=rtpmap:111 opus/48000/2
""".replace("\n", "\r\n")

# Numbers of proto/placement.proto.
MEDIA_ADDRESS, CONTROL_URL, CAPACITY, ACTIVE, STATE, BACKEND_UP = 4, 5, 8, 9, 13, 14
DEADLINE, KEY_IDS, SEQUENCE, ACTIVE_KEY = 15, 16, 18, 20
READY, FULL, DRAINING = 1, 2, 3


class Backend:
    """Refuses links until it accepts one, and greets. A thread answers pings, so that a test need
    not hurry."""

    def __init__(self):
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.settimeout(FIND_S)
        self.port = self.listener.getsockname()[1]
        self.link = None
        self.frames = []
        self.changed = threading.Condition()

    def accept(self, **hello):
        self.listener.listen()
        connection, _ = self.listener.accept()
        self.link = wire.Wire(accepted=connection, timeout_s=60)
        assert self.link.hear().type == wire.HELLO
        self.link.send_json(wire.HELLO, versions=[1], name="test", **hello)
        threading.Thread(target=self.listen, args=(self.link,), daemon=True).start()

    def listen(self, link):
        try:
            while True:
                frame = link.hear()
                if frame.type == wire.PING:
                    link.send(wire.PONG, payload=frame.payload)
                with self.changed:
                    self.frames.append(frame)
                    self.changed.notify_all()
        except (EOFError, OSError):
            pass

    def hear(self, type):
        """The first frame of this type that was not taken before."""
        def find():
            return next((f for f in self.frames if f.type == type), None)
        with self.changed:
            assert self.changed.wait_for(find, FIND_S), f"no frame of type {type:#x}"
            frame = find()
            self.frames.remove(frame)
            return frame

    def count(self, type):
        with self.changed:
            return sum(frame.type == type for frame in self.frames)

    def hang_up(self):
        if self.link is not None:
            self.link.socket.shutdown(socket.SHUT_RDWR)
            self.link.close()

    def close(self):
        self.listener.close()
        if self.link is not None:
            self.link.close()


class Transceiver:
    def __init__(self, folder, key, backend_port, **config):
        self.folder, self.key = folder, key
        self.media_port = free_port(socket.SOCK_DGRAM)
        self.control_port, self.admin_port = free_port(), free_port()
        self.events_port = free_port()
        self.keys = os.path.join(folder, "keys")
        key.store(self.keys)
        self.subscriber = Subscriber()
        self.config = {"address": "127.0.0.1", "keys": self.keys, "media_port": self.media_port,
                       "control_port": self.control_port, "events_port": self.events_port,
                       "announce": f'["127.0.0.1:{self.subscriber.port}"]',
                       "backend": f"127.0.0.1:{backend_port}", "udp_buffer": "64KB",
                       "admin_listen": f"127.0.0.1:{self.admin_port}", **config}
        self.log_path = os.path.join(folder, "log")
        self.process = None

    def launch(self, *options):
        path = os.path.join(self.folder, "transceiver.yaml")
        with open(path, "w") as file:
            file.writelines(f"{name}: {value}\n" for name, value in self.config.items())
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen([PROGRAM, "--config", path, *options], stderr=log)
        return self.process

    def start(self):
        self.launch()
        self.wait_for("life", lambda: self.get("/healthz")[0] == 200)

    def kill(self):
        self.subscriber.close()
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        assert self.process is None or "Sanitizer" not in self.log(), self.log()

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def get(self, path):
        return admin_port.get(self.admin_port, path)

    def metric(self, name):
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return None

    def wait_for(self, what, holds):
        deadline = time.monotonic() + FIND_S
        while not holds():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, f"{what}\n{self.get('/metrics')[1]}\n{self.log()}"
            time.sleep(0.02)

    def wait_for_metric(self, name, value):
        self.wait_for(f"{name} {value}", lambda: self.metric(name) == value)

    def hear_announcement(self, **wanted):
        """The next one that says so; `wanted` is {"field_NUMBER": value}."""
        deadline = time.monotonic() + FIND_S
        while True:
            envelope = fields(self.subscriber.hear())
            if 1 not in envelope:  # news of a call
                continue
            heard = fields(envelope[1][0])
            if all(heard.get(int(name[6:]), [0])[0] == value for name, value in wanted.items()):
                return heard
            assert time.monotonic() < deadline, heard

    def ask(self, request_id, *words):
        url = f"tcp://127.0.0.1:{self.control_port}"
        return subprocess.run([CLIENT, url, request_id, *words], stdout=subprocess.PIPE,
                              timeout=2 * FIND_S, check=True).stdout.decode()

    def create(self, call_id, request_id=None, tenant="t1", offer=OFFER):
        path = os.path.join(self.folder, "offer")
        with open(path, "w", newline="") as file:
            file.write(offer)
        return self.ask(request_id or call_id, "create", call_id, tenant, path, INGRESS)


class Call:
    """What a client knows after its offer was answered."""

    def __init__(self, text):
        words, self.answer = text.split("\n", 1)
        kind, instance, session = words.split()
        assert kind == "created", text
        self.instance, self.session = int(instance), int(session)
        self.ufrag = re.search("a=ice-ufrag:(.*)\r", self.answer)[1]
        self.password = re.search("a=ice-pwd:(.*)\r", self.answer)[1]
