"""The media plane's wire formats in plain Python, from docs/wire-formats.md alone: key ring,
routing token, relay shim, STUN requests, and announcements as NNG's publishers send them."""

import base64
import ctypes
import hashlib
import hmac
import os
import socket
import struct

DOWNLINK, TCP, ANNOUNCEMENT, PROBE = 1, 2, 4, 8

libcrypto = ctypes.CDLL("libcrypto.so.3")
libcrypto.EVP_CIPHER_CTX_new.restype = ctypes.c_void_p
libcrypto.EVP_aes_128_ecb.restype = ctypes.c_void_p


def aes_128(key, block):
    context = ctypes.c_void_p(libcrypto.EVP_CIPHER_CTX_new())
    out, length = ctypes.create_string_buffer(32), ctypes.c_int()
    cipher = ctypes.c_void_p(libcrypto.EVP_aes_128_ecb())
    assert libcrypto.EVP_EncryptInit_ex(context, cipher, None, key, None) == 1
    assert libcrypto.EVP_EncryptUpdate(context, out, ctypes.byref(length), block, 16) == 1
    libcrypto.EVP_CIPHER_CTX_free(context)
    return out.raw[:16]


def siphash_2_4(key, data):
    mask = 2**64 - 1
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D,
         k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rotate(x, bits):
        return (x << bits | x >> 64 - bits) & mask

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & mask
            v[2] = (v[2] + v[3]) & mask
            v[1] = rotate(v[1], 13) ^ v[0]
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[1]) & mask
            v[0] = (v[0] + v[3]) & mask
            v[1] = rotate(v[1], 17) ^ v[2]
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = rotate(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def hkdf(secret, info):
    extracted = hmac.digest(bytes(32), secret, hashlib.sha256)
    return hmac.digest(extracted, info + b"\x01", hashlib.sha256)[:16]


class Key:
    def __init__(self, key_id, secret=None):
        self.id = key_id
        self.secret = secret or os.urandom(32)
        self.token_key = hkdf(self.secret, b"earshot token v1")
        self.shim_key = hkdf(self.secret, b"earshot shim v1")

    def store(self, directory, active=True):
        """One file after the other appears by renaming, as tools and kubelets do it."""
        os.makedirs(directory, mode=0o700, exist_ok=True)
        files = {f"{self.id:02}.key": self.secret.hex()}
        if active:
            files["active"] = f"{self.id:02}"
        for name, text in files.items():
            path = os.path.join(directory, name)
            with open(os.open(path + "~", os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write(text + "\n")
            os.rename(path + "~", path)

    def token(self, cluster, instance, session, restart=0):
        block = struct.pack(">HIIB5x", cluster, instance, session, restart)
        text = base64.b64encode(aes_128(self.token_key, block)).decode().rstrip("=")
        return base64.b64encode(bytes([self.id << 2])).decode()[0] + text

    def shim(self, flags, instance, session, client, datagram=b""):
        """client: what a socket says of a peer."""
        ip, port = client[0], client[1]
        packed = (socket.inet_pton(socket.AF_INET6, ip) if ":" in ip
                  else bytes(10) + b"\xff\xff" + socket.inet_aton(ip))
        header = struct.pack(">BBHIIHBB", 0xE5, 0x10 | flags, len(datagram), instance, session,
                             port, self.id, 0) + packed
        return header + struct.pack(">Q", siphash_2_4(self.shim_key, header)) + datagram

    def open_shim(self, packet):
        """(flags, instance, session, (ip, port), datagram); the tag must be right, and zeros are
        all that a train may have put behind the datagram."""
        magic, first, length, instance, session, port, key_id, zero = struct.unpack(
            ">BBHIIHBB", packet[:16])
        ip = packet[16:32]
        assert (magic, first >> 4, zero, key_id) == (0xE5, 1, 0, self.id), packet[:40].hex()
        assert packet[32:40] == struct.pack(">Q", siphash_2_4(self.shim_key, packet[:32]))
        assert length <= len(packet) - 40 and not any(packet[40 + length:])
        text = (socket.inet_ntoa(ip[12:]) if ip[:12] == bytes(10) + b"\xff\xff"
                else socket.inet_ntop(socket.AF_INET6, ip))
        return first & 15, instance, session, (text, port), packet[40:40 + length]


def stun_request(username, before=b""):
    """A Binding request; `before` are attributes that stand before USERNAME."""
    value = username.encode()
    padding = bytes(-len(value) % 4)
    attributes = (before + struct.pack(">HH", 6, len(value)) + value + padding +
                  struct.pack(">HHI", 0x24, 4, 0x6E7F00FF) + struct.pack(">HH", 8, 20) + bytes(20))
    return struct.pack(">HHI", 1, len(attributes), 0x2112A442) + os.urandom(12) + attributes


CONTROLLED, CONTROLLING = 0x8029, 0x802A


def stun_check(username, password, role=CONTROLLING):
    """A Binding request that authenticates, as a full ICE agent sends it."""
    value = username.encode()
    attributes = (struct.pack(">HH", 6, len(value)) + value + bytes(-len(value) % 4) +
                  struct.pack(">HHQ", role, 8, 1) + struct.pack(">HHI", 0x24, 4, 0x6E7F00FF))
    request = struct.pack(">HHI", 1, len(attributes) + 24, 0x2112A442) + os.urandom(12) + attributes
    return request + struct.pack(">HH", 8, 20) + hmac.digest(password.encode(), request,
                                                             hashlib.sha1)


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """One protobuf field: a number or a string."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def announcement(cluster, instance, media_address, sequence, start_us=1, shards=1):
    body = (field(1, cluster) + field(2, instance) + field(3, "fake") + field(4, media_address) +
            field(5, "tcp://127.0.0.1:1") + field(8, 10) + field(11, shards) + field(13, 1) +
            field(17, start_us) + field(18, sequence) + field(19, "test"))
    return field(1, body)


def fields(message):
    """{number: [values]} of a protobuf message; what is not a varint stays bytes."""
    out, at = {}, 0

    def read_varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = read_varint()
        if key & 7 == 0:
            value = read_varint()
        else:
            assert key & 7 == 2, "neither a varint nor bytes"
            length = read_varint()
            value, at = message[at:at + length], at + length
        out.setdefault(key >> 3, []).append(value)
    return out


class Subscriber:
    """NNG's SUB, listening: SP over TCP. One publisher."""

    def __init__(self, timeout_s=10):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(timeout_s)
        self.port = self.listener.getsockname()[1]
        self.timeout_s = timeout_s
        self.socket = None

    def hear(self):
        """The next message."""
        if self.socket is None:
            self.socket, _ = self.listener.accept()
            self.socket.settimeout(self.timeout_s)
            self.socket.sendall(b"\x00SP\x00" + struct.pack(">HH", 0x21, 0))
            assert self.read(8) == b"\x00SP\x00" + struct.pack(">HH", 0x20, 0)
        return self.read(struct.unpack(">Q", self.read(8))[0])

    def read(self, count):
        data = self.socket.recv(count, socket.MSG_WAITALL)
        if len(data) < count:
            raise EOFError
        return data

    def close(self):
        self.listener.close()
        if self.socket is not None:
            self.socket.close()


class Publisher:
    """NNG's PUB, dialled: SP over TCP."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.socket.sendall(b"\x00SP\x00" + struct.pack(">HH", 0x20, 0))
        greeting = self.socket.recv(8, socket.MSG_WAITALL)
        assert greeting == b"\x00SP\x00" + struct.pack(">HH", 0x21, 0), greeting

    def publish(self, message):
        self.socket.sendall(struct.pack(">Q", len(message)) + message)

    def close(self):
        self.socket.close()
