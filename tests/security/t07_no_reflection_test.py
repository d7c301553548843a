"""T7: somebody uses us as a reflector: he spoofs a third party and lets us answer it.

Target: what is not authenticated, at every UDP port of a running system, brings exactly 0 bytes
back. The corpus is what the fuzz targets begin with: every kind of message that a client, a
relay or a transceiver sends, whole and broken.
"""

import glob
import os
import socket
import sys
import time

from raw_kit import Witness

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "tests/faults"))
from fault_bed import PUBLIC, Bed, wait_until  # noqa: E402

CORPORA = ["stun_message", "dtls_filter", "dtls_transport", "sctp_packet", "srtp_transport",
           "rtp_packet", "rtcp_packet", "relay_shim", "forwarder", "routing_token"]
DATAGRAM_MAX, QUIET_S = 1500, 0.05
# The relay's public port, its internal ones, and the transceiver's.
PORTS = [(PUBLIC, 3478)] + [("127.0.0.1", 3500 + i) for i in range(16)] + [("127.0.0.1", 4000)]


def corpus():
    for name in CORPORA:
        paths = sorted(glob.glob(os.path.join(ROOT, "tests/fuzz/seeds", name, "*")))
        assert paths, f"no seeds of {name}"
        for path in paths:
            with open(path, "rb") as file:
                data = file.read()
            yield from {data[:DATAGRAM_MAX], data[1:DATAGRAM_MAX], data[4:DATAGRAM_MAX]}


def stranger(ip):
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    out.bind((ip, 0))
    out.setblocking(False)
    return out


with Bed(talking=1, listened=0) as bed:
    witness = Witness()
    sent = 0
    for port in PORTS:
        attacker = stranger(port[0])
        for datagram in corpus():
            attacker.sendto(datagram, port)
            sent += 1
            if sent % 50 == 0:
                back = [seen for seen in witness.seen() if seen[1] == attacker.getsockname()]
                assert back == [], back
        time.sleep(QUIET_S)
        back = [seen for seen in witness.seen() if seen[1] == attacker.getsockname()]
        assert back == [], back
        try:
            assert False, attacker.recv(2000)
        except BlockingIOError:
            pass
        attacker.close()
    bed.wait_until_all_sound()
    print(f"T7: {sent} datagrams to {len(PORTS)} ports, 0 bytes back")
    # They did arrive, and were dropped where they belong.
    wait_until("drops", lambda: bed.relay.metric("earshot_relay_datagrams_total", '"no_flow"') > 0
               and bed.relay.metric("earshot_relay_datagrams_total", '"version"') > 0
               and bed.transceiver.metric("earshot_transceiver_shims_total") >
               bed.transceiver.metric("earshot_transceiver_shims_total", '"ok"'))
    witness.close()
