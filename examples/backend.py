#!/usr/bin/env python3
"""A voice agent in one file: it says your last turn back, and stops when you speak into it.

earshot dials in. Both sides write frames, a header of 32 bytes and then samples or JSON; all of
them are in docs/backend-protocol.md. Where Call.speech answers, a real agent asks its model.
"""
import functools, json, socketserver, struct, sys, time

HEADER = struct.Struct("<IBBHIIQIBBBB")
HELLO, PING, PONG, START, ACCEPT, END, ENDED = 0x01, 0x02, 0x03, 0x10, 0x11, 0x13, 0x14
AUDIO_IN, AUDIO_OUT, CREDIT, FLUSH, SPEECH = 0x20, 0x21, 0x22, 0x23, 0x30
LAST = 0x100  # flag: the end of an utterance, or of a message
FORMAT, BYTES_PER_S = "pcm16/24000", 2 * 24000
KEEP_US = 300_000  # from before speech was noticed: words begin softly

class Call:
    def __init__(self, send, limit_us):
        self.send, self.limit_us, self.said_us = send, limit_us, 0
        self.heard, self.user_speaks = [], False
        self.unsaid, self.utterance = b"", 0  # what we say has a number, one more each time

    def listen(self, time_us, samples):  # a frame is 20 ms: keeps a minute of a turn, else 1 s
        self.heard = self.heard[-3000 if self.user_speaks else -50:] + [(time_us, samples)]

    def speech(self, state, time_us):
        self.user_speaks = state == "started"
        if self.user_speaks:
            self.unsaid = b""
            self.send(FLUSH, utterance=self.utterance)  # earshot drops what it has of ours, at once
            self.heard = [(at, samples) for at, samples in self.heard if at >= time_us - KEEP_US]
        else:
            self.utterance += 1
            self.unsaid = b"".join(samples for _, samples in self.heard)
            self.say()

    def say(self):  # as much as there is room for: earshot plays it at the right speed, not we
        while self.unsaid and self.said_us + 100_000 <= self.limit_us:
            samples, self.unsaid = self.unsaid[:BYTES_PER_S // 10], self.unsaid[BYTES_PER_S // 10:]
            self.send(AUDIO_OUT, samples, 0 if self.unsaid else LAST, self.utterance)
            self.said_us += len(samples) * 1_000_000 // BYTES_PER_S

class Connection(socketserver.StreamRequestHandler):
    def send(self, session, type, payload=b"", flags=0, utterance=0):
        if isinstance(payload, dict):
            payload, flags = json.dumps(payload).encode(), LAST
        number = self.sequence[session] = self.sequence.get(session, -1) + 1
        pcm = (1, 24, 1, 0) if type == AUDIO_OUT else (0, 0, 0, 0)  # PCM16, kHz, channels
        self.wfile.write(HEADER.pack(28 + len(payload), 0xA1, type, flags, session, number, 0,
                                     utterance, *pcm) + payload)
        self.sent_s = time.monotonic()

    def handle(self):
        self.sequence, calls = {}, {}
        while header := self.rfile.read(HEADER.size):
            length, _, type, _, session, _, time_us, *_, duration = HEADER.unpack(header)
            payload = self.rfile.read(length - 28)
            if type == HELLO:
                self.send(0, HELLO, {"versions": [1], "name": "example"})
            elif type == START:
                send = functools.partial(self.send, session)
                calls[session] = Call(send, json.loads(payload)["credit_us"])
                send(ACCEPT, {"in": FORMAT, "out": FORMAT})
            elif type == AUDIO_IN:  # silence has no samples but a duration, in units of 2.5 ms
                calls[session].listen(time_us, payload or bytes(duration * BYTES_PER_S // 400))
            elif type == SPEECH:
                calls[session].speech(json.loads(payload)["state"], time_us)
            elif type == CREDIT:
                calls[session].limit_us = int.from_bytes(payload, "little")
                calls[session].say()
            elif type == END:
                self.send(session, ENDED, {})
                del calls[session], self.sequence[session]
            elif type == PING:
                self.send(0, PONG, payload)
            if time.monotonic() > self.sent_s + 1:  # who sends nothing for 3 s counts as dead
                self.send(0, PING, bytes(8))

socketserver.ThreadingTCPServer.allow_reuse_address = True
address = ("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 7200)
socketserver.ThreadingTCPServer(address, Connection).serve_forever()
