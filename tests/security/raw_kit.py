"""What an attacker and a witness need: datagrams from any address, and every datagram that is sent.

Both need CAP_NET_RAW, which a test has in a network namespace of its own.
"""

import ctypes
import os
import select
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))

UDP, OUTGOING, ETHERNET_HEADER = 17, 4, 14
ETH_P_ALL, ETH_P_IP, SOL_PACKET, PACKET_STATISTICS, SO_ATTACH_FILTER = 3, 0x800, 263, 6, 26

# Classic BPF, (code, if so, if not, value): IPv4, UDP, and on its way out; else nothing is kept.
LOAD_HALF, LOAD_BYTE, IF_EQUAL, RETURN, PACKET_TYPE = 0x28, 0x30, 0x15, 0x06, 0xFFFFF004
OUTGOING_UDP = [(LOAD_HALF, 0, 0, 12), (IF_EQUAL, 0, 5, ETH_P_IP),
                (LOAD_BYTE, 0, 0, ETHERNET_HEADER + 9), (IF_EQUAL, 0, 3, UDP),
                (LOAD_BYTE, 0, 0, PACKET_TYPE), (IF_EQUAL, 0, 1, OUTGOING),
                (RETURN, 0, 0, 65535), (RETURN, 0, 0, 0)]


class Spoofer:
    """Sends UDP over IPv4 with a source of its choice."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)

    def send(self, source, destination, payload):
        udp = struct.pack(">HHHH", source[1], destination[1], 8 + len(payload), 0)
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 64, UDP, 0,
                         socket.inet_aton(source[0]), socket.inet_aton(destination[0]))
        self.socket.sendto(ip + udp + payload, destination)

    def close(self):
        self.socket.close()


class Witness:
    """Sees each UDP datagram over IPv4 that leaves anything in this namespace. It has room for some
    hundred between two looks, and says so when that was not enough."""

    def __init__(self):
        # What goes to a neighbour that does not exist must be seen as well.
        subprocess.run(["ip", "link", "set", "earshot0", "arp", "off"], check=True)
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *x) for x in OUTGOING_UDP))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                               struct.pack("HP", len(OUTGOING_UDP), ctypes.addressof(code)))

    def seen(self):
        """(source, destination, payload) of what was sent since the last time."""
        _, missed = struct.unpack("II", self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        assert missed == 0, f"the witness missed {missed} frames"
        while select.select([self.socket], [], [], 0)[0]:
            packet = self.socket.recv(65536)[ETHERNET_HEADER:]
            header = 4 * (packet[0] & 15)
            ports = struct.unpack_from(">HH", packet, header)
            yield ((socket.inet_ntoa(packet[12:16]), ports[0]),
                   (socket.inet_ntoa(packet[16:20]), ports[1]), packet[header + 8:])

    def close(self):
        self.socket.close()
