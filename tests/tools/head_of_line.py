"""How late voice is over TCP when its network loses packets: head-of-line delay.

    tests/e2e/in_namespace.sh python3 tests/tools/head_of_line.py build/release/bin [options]

A real relay, and a transceiver that sends 50 packets of 110 bytes a second to two clients, one of
UDP and one of TCP, behind a link of two TUN devices that delays and loses packets, both ways alike.
Prints one JSON line for each: how many packets arrived, and percentiles of their delay beyond the
link's own; and one of pairs: how much later a packet came over TCP than the same one over UDP. The
pairs hardly feel a busy machine, which delays both.
"""

import argparse
import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time

options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
options.add_argument("programs")
options.add_argument("--loss", type=float, default=0.02, help="of each packet (0.02)")
options.add_argument("--one-way-ms", type=float, default=20, help="the link's delay (20)")
options.add_argument("--seconds", type=float, default=60)
options.add_argument("--seed", type=int, default=1)
options = options.parse_args()

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
sys.argv = [sys.argv[0], options.programs]
from media_wire import DOWNLINK, TCP, Key, stun_request  # noqa: E402
from relay_kit import Relay, TCP_INTERNAL_PORT, Transceiver  # noqa: E402

RELAY_IP, CLIENT_IP = "198.51.100.1", "198.51.100.2"
PACKET_S, PACKET_BYTES = 0.020, 110
LATE_MS = 60  # a jitter buffer of three packets
TUNSETIFF, IFF_TUN_WITHOUT_HEADER = 0x400454CA, 0x1001
CLONE_NEWNET = 0x40000000


def open_tun(name, own, other):
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN_WITHOUT_HEADER))
    for words in (["addr", "add", own, "peer", other, "dev", name],
                  ["link", "set", name, "up"], ["link", "set", "lo", "up"]):
        subprocess.run(["ip", *words], check=True)
    return tun


def carry_packets(ends):
    """Each packet leaves at the other end later, or not at all."""
    dice, waiting, count = random.Random(options.seed), [], 0
    while True:
        pause = max(0, waiting[0][0] - time.monotonic()) if waiting else None
        for end in select.select(ends, [], [], pause)[0]:
            packet = os.read(end, 65536)
            if dice.random() >= options.loss:
                count += 1
                due = time.monotonic() + options.one_way_ms / 1000
                heapq.heappush(waiting, (due, count, ends[end == ends[0]], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(waiting)
            os.write(end, packet)


class Listener:
    """The far end of one transport: packets with the time they were sent at."""

    def __init__(self, kind, address):
        self.is_tcp, self.stream = kind == socket.SOCK_STREAM, b""
        self.delay_ms = {}  # by the packet's number
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.connect(address)

    def send(self, datagram):
        frame = struct.pack(">H", len(datagram)) + datagram if self.is_tcp else datagram
        self.socket.sendall(frame)

    def read(self):
        data, now = self.socket.recv(65536), time.monotonic()
        self.stream = self.stream + data if self.is_tcp else struct.pack(">H", len(data)) + data
        while len(self.stream) >= 2:
            length = 2 + struct.unpack(">H", self.stream[:2])[0]
            if len(self.stream) < length:
                break
            packet, self.stream = self.stream[2:length], self.stream[length:]
            if packet[0] == 0x80:
                number, sent = struct.unpack(">I4xd", packet[4:20])
                self.delay_ms[number] = (now - sent) * 1000 - options.one_way_ms


def report(what, delays_ms):
    delays_ms = sorted(delays_ms)
    out = {"what": what, "loss": options.loss, "rtt_ms": 2 * options.one_way_ms,
           "count": len(delays_ms)}
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1)):
        out[f"{name}_ms"] = round(delays_ms[int(share * (len(delays_ms) - 1))], 1)
    late = sum(delay > LATE_MS for delay in delays_ms)
    out[f"above_{LATE_MS}_ms"] = f"{100 * late / len(delays_ms):.1f} %"
    print(json.dumps(out), flush=True)


def report_both(udp, tcp):
    report("delay over udp", udp.delay_ms.values())
    report("delay over tcp", tcp.delay_ms.values())
    report("tcp behind udp", [delay - udp.delay_ms[number]
                              for number, delay in tcp.delay_ms.items() if number in udp.delay_ms])


def listen(addresses, requests):
    listeners = [Listener(kind, address) for kind, address in addresses]
    end = time.monotonic() + options.seconds + 5
    for listener, request in zip(listeners, requests):
        listener.send(request)
    asked = time.monotonic()
    while time.monotonic() < end:
        for ready in select.select([one.socket for one in listeners], [], [], 0.2)[0]:
            next(one for one in listeners if one.socket is ready).read()
        for listener, request in zip(listeners, requests):
            if not listener.delay_ms and time.monotonic() > asked + 1:
                listener.send(request)  # the first may have been lost
                asked = time.monotonic()
    report_both(*listeners)


def fork(work, *words):
    child = os.fork()
    if child == 0:
        try:
            work(*words)
        finally:
            os._exit(0)
    return child


def open_far_end(back):
    """In a network of its own: its TUN goes back, the process stays to listen."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    tun = open_tun("tun1", CLIENT_IP, RELAY_IP)
    socket.send_fds(back, [b"tun"], [tun])
    words = json.loads(back.recv(65536))
    listen([(kind, tuple(address)) for kind, address in words["addresses"]],
           [bytes.fromhex(request) for request in words["requests"]])


def speak(transceiver, relay, clients, count):
    begin = time.monotonic()
    for i in range(count):
        time.sleep(max(0, begin + i * PACKET_S - time.monotonic()))
        body = struct.pack(">BBHII", 0x80, 111, i & 65535, i, 1)
        body += struct.pack(">d", time.monotonic())
        for session, client, is_tcp in clients:
            port = relay.internal_port + (TCP_INTERNAL_PORT if is_tcp else 0)
            transceiver.say(("127.0.0.1", port), session, client, body.ljust(PACKET_BYTES, b"\0"),
                            DOWNLINK | (TCP if is_tcp else 0))


def hear_both(transceiver):
    """[(session, client, is_tcp)] once both have asked."""
    found = {}
    while len(found) < 2:
        packet, _ = transceiver.socket.recvfrom(65536)
        flags, _, session, client, _ = transceiver.key.open_shim(packet)
        found[session] = (session, client, bool(flags & TCP))
    return list(found.values())


def main():
    count = int(options.seconds / PACKET_S)
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener = fork(open_far_end, there)
    far = socket.recv_fds(here, 16, 1)[1][0]
    near = open_tun("tun0", RELAY_IP, CLIENT_IP)
    carrier = fork(carry_packets, [near, far])
    with tempfile.TemporaryDirectory() as folder:
        relay = Relay(folder, Key(7), listen=(RELAY_IP,), tcp=(RELAY_IP,))
        relay.start()
        transceiver = Transceiver(relay)
        transceiver.announce_and_wait()
        here.send(json.dumps({
            "addresses": [(socket.SOCK_DGRAM, relay.public[0]), (socket.SOCK_STREAM, relay.tcp[0])],
            "requests": [stun_request(transceiver.token(session) + ":peer").hex()
                         for session in (1, 2)]}).encode())
        speak(transceiver, relay, hear_both(transceiver), count)
        os.waitpid(listener, 0)
        os.kill(carrier, 9)
        relay.kill()


main()
