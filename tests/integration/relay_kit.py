"""The relay as a process, and a transceiver that it serves."""

import os
import select
import socket
import subprocess
import sys
import time

import admin_port
from free_port import free_port, free_ports
from media_wire import DOWNLINK, Publisher, announcement

PROGRAM = os.path.join(sys.argv.pop(1), "earshot-relay")
CLUSTER = 1
INTERNAL_PORTS = 16
TCP_INTERNAL_PORT = 63  # above the first
QUIET_S = 0.3  # how long nothing must come
FIND_S = 10    # how long something may take, on a machine with other work

RTP = b"\x80\x6f" + bytes(58)
DTLS = b"\x16\xfe\xff" + bytes(100)


def udp(address="127.0.0.1", port=0):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    out = socket.socket(family, socket.SOCK_DGRAM)
    out.bind((address, port))
    out.settimeout(FIND_S)
    return out


def address_text(ip, port):
    return f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"


def yaml_text(value):
    if isinstance(value, list):
        return "[" + ", ".join(f'"{one}"' for one in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {yaml_text(one)}" for name, one in value.items()) + "}"
    return str(value)


class Relay:
    """A relay that can be killed and started again at the same addresses."""

    def __init__(self, folder, key, listen=("127.0.0.1",), tcp=(), tcp_limits=None, **config):
        self.folder, self.key = folder, key
        self.public = [(ip, free_port(socket.SOCK_DGRAM)) for ip in listen]
        self.tcp, self.tcp_limits = [(ip, free_port()) for ip in tcp], tcp_limits or {}
        self.admin_port, self.control_port = free_port(), free_port()
        count = TCP_INTERNAL_PORT + 1 if tcp else INTERNAL_PORTS
        self.internal_port = free_ports(count, socket.SOCK_DGRAM)
        self.keys = os.path.join(folder, "keys")
        key.store(self.keys)
        self.config = config
        self.log_path = os.path.join(folder, "log")
        self.process = None

    def configure(self):
        values = {
            "keys": self.keys,
            "listen": [address_text(*address) for address in self.public],
            "tcp": {"listen": [address_text(*address) for address in self.tcp],
                    **self.tcp_limits},
            "internal": f"127.0.0.1:{self.internal_port}", "workers": 1,
            "transceiver_networks": ["127.0.0.0/8"], "allow_private_clients": "true",
            "control_listen": f"tcp://127.0.0.1:{self.control_port}",
            "admin_listen": f"127.0.0.1:{self.admin_port}", **self.config}
        path = os.path.join(self.folder, "relay.yaml")
        with open(path, "w") as file:
            for name, value in values.items():
                file.write(f"{name}: {yaml_text(value)}\n")
        return path

    def launch(self, *options):
        with open(self.log_path, "a") as log:
            self.process = subprocess.Popen([PROGRAM, "--config", self.configure(), *options],
                                            stderr=log)
        return self.process

    def start(self):
        self.launch()
        deadline = time.monotonic() + FIND_S
        while self.get("/healthz")[0] != 200:
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.01)

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        assert "Sanitizer" not in self.log(), self.log()

    def restart(self, **config):
        self.kill()
        self.config.update(config)
        self.start()

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def get(self, path):
        return admin_port.get(self.admin_port, path)

    def metrics(self):
        out = {}
        for line in self.get("/metrics")[1].splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                out[name] = float(value)
        return out

    def verdicts(self, direction):
        """{verdict: count} of what is not 0."""
        prefix = f'earshot_relay_datagrams_total{{direction="{direction}",verdict="'
        return {name[len(prefix):-2]: int(value) for name, value in self.metrics().items()
                if name.startswith(prefix) and value != 0}

    def wait_for(self, what, holds, seconds=FIND_S):
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"{what}\n{self.metrics()}\n{self.log()}"
            time.sleep(0.02)


class Transceiver:
    """Answers nothing by itself: a test says what it does."""

    def __init__(self, relay, instance=0x5EED0001):
        self.relay, self.key, self.instance = relay, relay.key, instance
        self.socket = udp()
        self.sequence = 0
        self.publisher = None

    @property
    def media(self):
        return "127.0.0.1:%d" % self.socket.getsockname()[1]

    def announce(self, **more):
        if self.publisher is None:
            self.publisher = Publisher(self.relay.control_port)
        self.sequence += 1
        values = {"media_address": self.media, "start_us": 1000, **more}
        self.publisher.publish(announcement(CLUSTER, self.instance, sequence=self.sequence,
                                            **values))

    def announce_and_wait(self):
        name = "earshot_relay_instances_known"
        before = self.relay.metrics()[name]
        self.announce()
        self.relay.wait_for("an instance", lambda: self.relay.metrics()[name] == before + 1)

    def token(self, session):
        return self.key.token(CLUSTER, self.instance, session)

    def hear(self):
        """(session, client, datagram, relay address) of the next shim; it is an uplink of ours."""
        packet, relay = self.socket.recvfrom(65536)
        flags, instance, session, client, datagram = self.key.open_shim(packet)
        assert flags == 0 and instance == self.instance
        return session, client, datagram, relay

    def hear_again(self, session, send):
        """(client, datagram) of this session, however often it must be sent: a worker takes what is
        new at its next turn, and has no counter for it."""
        deadline = time.monotonic() + FIND_S
        while True:
            assert time.monotonic() < deadline, f"session {session} was not heard"
            send()
            while self.socket_has_datagram(0.1):
                heard, client, datagram, _ = self.hear()
                if heard == session:
                    return client, datagram

    def socket_has_datagram(self, seconds):
        return bool(select.select([self.socket], [], [], seconds)[0])

    def say(self, relay, session, client, datagram, flags=DOWNLINK):
        self.socket.sendto(self.key.shim(flags, self.instance, session, client, datagram), relay)

    def is_quiet(self):
        self.socket.settimeout(QUIET_S)
        try:
            self.socket.recvfrom(65536)
            return False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(FIND_S)

    def close(self):
        self.socket.close()
        if self.publisher is not None:
            self.publisher.close()
