"""How many RTP datagrams of each payload type pass, as a JSON object.

usage: payload_types.py PORT SECONDS

Those that go to UDP port PORT, on every interface; SRTP leaves the payload type in the clear
(RFC 3711 s.3.1). Needs CAP_NET_RAW, as root of a namespace has.
"""
import collections
import json
import socket
import sys
import time

ETHER_IPV4, IP_UDP = b"\x08\x00", 17
RTCP_TYPES = range(64, 96)  # RFC 5761 s.4: the second byte of RTCP, less its first bit


def payload_type(packet, port):
    """Of an Ethernet frame, or None."""
    if packet[12:14] != ETHER_IPV4 or packet[14] >> 4 != 4 or packet[23] != IP_UDP:
        return None
    datagram = packet[14 + 4 * (packet[14] & 15):]
    rtp = datagram[8:]
    if int.from_bytes(datagram[2:4], "big") != port or len(rtp) < 12 or rtp[0] >> 6 != 2:
        return None
    return None if rtp[1] & 127 in RTCP_TYPES else rtp[1] & 127


def main(port, seconds):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as capture:
        counts = collections.Counter()
        end = time.monotonic() + seconds
        capture.settimeout(0.1)
        while time.monotonic() < end:
            try:
                packet, (_, _, kind, *_) = capture.recvfrom(65535)
            except socket.timeout:
                continue
            found = payload_type(packet, port)
            if kind != socket.PACKET_OUTGOING and found is not None:  # loopback shows both
                counts[found] += 1
        print(json.dumps(counts))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
