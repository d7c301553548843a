"""A WebSocket client (RFC 6455) in a few lines, for the tests of signaling."""
import base64
import hashlib
import json
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Refused(Exception):
    """The server answered with HTTP."""

    def __init__(self, status, head, body):
        super().__init__(f"{status}: {body}")
        self.status, self.head = status, head
        self.error = json.loads(body)["error"] if body else None


class WebSocket:
    """Its messages are dicts; `close_code` is the server's, when it has closed."""

    def __init__(self, port, path, headers=(), subprotocols=(), context=None, host="127.0.0.1",
                 timeout=10, room=None):
        self.socket = socket.socket()
        if room is not None:  # in bytes, for what nobody has read
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.settimeout(timeout)
        self.socket.connect((host, port))
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        self.data = b""
        self.close_code = None
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "Connection: Upgrade",
                 "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
        lines += [f"{name}: {value}" for name, value in dict(headers).items()]
        if subprotocols:
            lines.append("Sec-WebSocket-Protocol: " + ", ".join(subprotocols))
        self.socket.sendall("\r\n".join(lines + ["", ""]).encode())
        self.shake_hands(key)

    def shake_hands(self, key):
        while b"\r\n\r\n" not in self.data:
            if not self.more():
                raise Refused(0, self.data.decode(), "")
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        head = head.decode()
        status = int(head.split()[1])
        if status != 101:
            while self.more():
                pass
            self.socket.close()
            raise Refused(status, head, self.data.decode())
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
        fields = {name.lower(): value for name, value in fields.items()}
        accept = base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()
        assert fields["sec-websocket-accept"] == accept, head
        self.subprotocol = fields.get("sec-websocket-protocol")

    def more(self):
        try:
            piece = self.socket.recv(65536)
        except ConnectionResetError:
            piece = b""
        self.data += piece
        return piece

    def send_frame(self, opcode, payload, is_final=True):
        mask = os.urandom(4)
        length = len(payload)
        head = bytes([opcode | (0x80 if is_final else 0)])
        if length < 126:
            head += bytes([0x80 | length])
        elif length < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", length)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", length)
        key = (mask * (length // 4 + 1))[:length]
        masked = int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")
        self.socket.sendall(head + mask + masked.to_bytes(length, "big"))

    def send(self, message):
        text = message if isinstance(message, str) else json.dumps(message)
        self.send_frame(TEXT, text.encode())

    def take(self, count):
        while len(self.data) < count:
            if not self.more():
                return None
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def read_frame(self):
        """(opcode, payload), or None at the end of the connection."""
        head = self.take(2)
        if head is None:
            return None
        length = head[1] & 0x7f
        if length == 126:
            length = struct.unpack(">H", self.take(2))[0]
        elif length == 127:
            length = struct.unpack(">Q", self.take(8))[0]
        return head[0] & 0x0f, self.take(length)

    def read_text(self):
        """The next text message; None when the server has closed."""
        while frame := self.read_frame():
            opcode, payload = frame
            if opcode == TEXT:
                return payload.decode()
            if opcode == PING:
                self.send_frame(PONG, payload)
            if opcode == CLOSE:
                self.close_code = struct.unpack(">H", payload[:2])[0] if payload else 1005
                self.send_frame(CLOSE, payload)
        return None

    def read(self):
        text = self.read_text()
        return json.loads(text) if text is not None else None

    def close(self):
        self.socket.close()
