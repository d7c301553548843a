"""The backend protocol from either end, in plain Python: a header, PCM, JSON."""

import json
import socket
import struct

HELLO, PING, PONG, GOAWAY, ERROR = 1, 2, 3, 4, 5
START, ACCEPT, REJECT, END, ENDED = 0x10, 0x11, 0x12, 0x13, 0x14
SESSION_RESUME, CONNECTED = 0x15, 0x17
AUDIO_IN, AUDIO_OUT, CREDIT, FLUSH, FLUSHED, PLAYBACK = 0x20, 0x21, 0x22, 0x23, 0x24, 0x25
EVENT = 0x40
LAST = 0x100

HEADER = struct.Struct("<IBBHIIQIBBBB")
MAGIC = 0xA1


class Frame:
    def __init__(self, header, payload):
        (_, _, self.type, self.flags, self.session, self.sequence, self.time_us,
         self.utterance, self.codec, self.rate_khz, self.channels, _) = header
        self.payload = payload

    def json(self):
        return json.loads(self.payload)


class Wire:
    """One connection. Sequences are given to what is sent and checked in what is heard."""

    def __init__(self, address=None, timeout_s=5, accepted=None):
        """Dials the address, or goes on with a socket that was accepted."""
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.socket = accepted or socket.socket(family, socket.SOCK_STREAM)
        self.socket.settimeout(timeout_s)
        try:
            if accepted is None:
                self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise
        self.sent = {}
        self.heard = {}
        self.unread = b""

    def close(self):
        self.socket.close()

    def send(self, type, session=0, payload=b"", flags=0, time_us=0, utterance=0, rate_khz=0,
             duration=0):
        sequence = self.sent.get(session, 0)
        self.sent[session] = sequence + 1
        is_pcm = rate_khz != 0
        self.socket.sendall(
            HEADER.pack(28 + len(payload), MAGIC, type, flags, session, sequence, time_us,
                        utterance, is_pcm, rate_khz, is_pcm, duration) + payload)

    def send_json(self, type, session=0, /, **values):
        self.send_json_at(type, session, 0, **values)

    def send_json_at(self, type, session, time_us, /, **values):
        self.send(type, session, json.dumps(values).encode(), flags=LAST, time_us=time_us)

    def read(self, count):
        while len(self.unread) < count:
            piece = self.socket.recv(65536)
            if not piece:
                raise EOFError
            self.unread += piece
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def hear(self):
        """The next frame; EOFError when the other end has closed."""
        header = HEADER.unpack(self.read(HEADER.size))
        assert header[1] == MAGIC
        frame = Frame(header, self.read(header[0] - 28))
        assert frame.sequence == self.heard.get(frame.session, 0), "a gap in what is heard"
        self.heard[frame.session] = frame.sequence + 1
        return frame

    def hear_type(self, *types):
        """Skips what is not asked for; pings are answered."""
        while True:
            frame = self.hear()
            if frame.type == PING:
                self.send(PONG, payload=frame.payload)
            if frame.type in types:
                return frame

    def hear_end(self):
        """Everything until the other end closes."""
        frames = []
        try:
            while True:
                frames.append(self.hear())
        except (EOFError, ConnectionResetError):
            return frames

    def greet(self):
        self.send_json(HELLO, versions=[1], name="test", heartbeat_ms=1000)
        return self.hear_type(HELLO).json()

    def start(self, session=1, **more):
        formats = ["pcm16/24000", "pcm16/16000"]
        offer = {"call_id": "rtc_test", "in": formats, "out": formats, **more}
        self.send_json(START, session, **offer)
        return self.hear_type(ACCEPT, REJECT)

    def credit(self, session, limit_us):
        self.send(CREDIT, session, struct.pack("<Q", limit_us))
