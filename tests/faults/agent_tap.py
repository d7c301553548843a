"""An ear on the way between transceivers and their voice agent: when each call's speech arrived.

A transceiver dials the tap, the tap dials the agent, and bytes go through unchanged. Of the frames
toward the agent it reads who a call is and when AUDIO_IN came; what was concealed or silent is no
speech: nothing of it was delivered.
"""

import json
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
from backend_wire import AUDIO_IN, HEADER, LAST, SESSION_RESUME, START  # noqa: E402

CONCEALED, SILENCE = 0x01, 0x10


class Ear:
    """What was heard of one call."""

    def __init__(self):
        self.latest_s = None
        self.gap_s = 0.0

    def note(self, now_s):
        if self.latest_s is not None:
            self.gap_s = max(self.gap_s, now_s - self.latest_s)
        self.latest_s = now_s

    def age_s(self):
        return float("inf") if self.latest_s is None else time.monotonic() - self.latest_s


class Frames:
    """The frames of one connection, from its bytes."""

    def __init__(self, tap):
        self.tap = tap
        self.bytes = b""
        self.start = {}
        self.ears = {}

    def input(self, data):
        self.bytes += data
        at = 0
        while at + HEADER.size <= len(self.bytes):
            header = HEADER.unpack_from(self.bytes, at)
            end = at + 4 + header[0]
            if end > len(self.bytes):
                break
            self.note(*header[2:5], self.bytes[at + HEADER.size:end])
            at = end
        self.bytes = self.bytes[at:]

    def note(self, kind, flags, session, payload):
        if kind == AUDIO_IN and not flags & (CONCEALED | SILENCE):
            self.ears[session].note(time.monotonic())
        elif kind in (START, SESSION_RESUME):
            self.start[session] = self.start.get(session, b"") + payload
            if kind == SESSION_RESUME or flags & LAST:
                call_id = json.loads(self.start.pop(session))["call_id"]
                self.ears[session] = self.tap.ears.setdefault(call_id, Ear())


class AgentTap:
    def __init__(self, address, agent):
        self.agent = agent
        self.ears = {}  # by call id
        self.listener = socket.create_server(address)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            near, _ = self.listener.accept()
            try:
                far = socket.create_connection(self.agent)
            except OSError:
                near.close()
                continue
            for pair in ((near, far, Frames(self)), (far, near, None)):
                threading.Thread(target=self.carry, args=pair, daemon=True).start()

    @staticmethod
    def carry(source, sink, frames):
        """Until either side is gone: then both are."""
        try:
            while data := source.recv(65536):
                sink.sendall(data)
                if frames is not None:
                    frames.input(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def mark(self):
        for ear in self.ears.values():
            ear.gap_s, ear.latest_s = 0.0, time.monotonic()
