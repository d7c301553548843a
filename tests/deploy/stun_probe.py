"""One STUN Binding request as a browser's, and a look at the answer (RFC 8489, RFC 8445)."""

import binascii
import hashlib
import hmac
import os
import socket
import struct

COOKIE = 0x2112A442
REQUEST, SUCCESS = 0x0001, 0x0101
USERNAME, INTEGRITY, XOR_ADDRESS, PRIORITY = 0x0006, 0x0008, 0x0020, 0x0024
FINGERPRINT, CONTROLLING = 0x8028, 0x802A
FINGERPRINT_XOR = 0x5354554E
TRIES, TRY_S = 20, 0.25


def header(kind, length, transaction):
    return struct.pack(">HHI", kind, length, COOKIE) + transaction


def attribute(kind, value):
    return struct.pack(">HH", kind, len(value)) + value + bytes(-len(value) % 4)


def integrity(kind, transaction, body, password):
    """The HMAC counts its own 24 bytes into the message's length."""
    text = header(kind, len(body) + 24, transaction) + body
    return hmac.new(password.encode(), text, hashlib.sha1).digest()


def binding_request(username, password, transaction):
    body = (attribute(USERNAME, username.encode()) +
            attribute(PRIORITY, struct.pack(">I", 1853824767)) +
            attribute(CONTROLLING, os.urandom(8)))
    body += attribute(INTEGRITY, integrity(REQUEST, transaction, body, password))
    crc = binascii.crc32(header(REQUEST, len(body) + 8, transaction) + body) ^ FINGERPRINT_XOR
    body += attribute(FINGERPRINT, struct.pack(">I", crc))
    return header(REQUEST, len(body), transaction) + body


def mapped_address(datagram, transaction, password):
    """(ip, port) of a success answer with a right MESSAGE-INTEGRITY, else None."""
    is_success = len(datagram) >= 20 and datagram[:2] == struct.pack(">H", SUCCESS)
    if not is_success or datagram[8:20] != transaction:
        return None
    body, at, address = datagram[20:], 0, None
    while at + 4 <= len(body):
        kind, length = struct.unpack_from(">HH", body, at)
        value = body[at + 4:at + 4 + length]
        if kind == XOR_ADDRESS and length == 8:
            port, ip = struct.unpack(">HI", value[2:])
            address = socket.inet_ntoa(struct.pack(">I", ip ^ COOKIE)), port ^ (COOKIE >> 16)
        if kind == INTEGRITY:
            good = hmac.compare_digest(value, integrity(SUCCESS, transaction, body[:at], password))
            return address if good else None
        at += 4 + length + -length % 4
    return None


def probe(address, username, password, tries=TRIES):
    """What the server says our address is; None when it does not answer."""
    transaction = os.urandom(12)
    request = binding_request(username, password, transaction)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(TRY_S)
        client.connect(address)
        for _ in range(tries):
            client.send(request)
            try:
                seen = mapped_address(client.recv(2048), transaction, password)
            except OSError:  # nothing came, or nobody listens yet
                continue
            if seen is not None:
                return seen
    return None


def probe_tcp(address, username, password):
    """The same over TCP, in a frame of RFC 4571."""
    transaction = os.urandom(12)
    request = binding_request(username, password, transaction)
    with socket.create_connection(address, timeout=TRIES * TRY_S) as client:
        client.sendall(struct.pack(">H", len(request)) + request)
        stream = client.makefile("rb")
        length = stream.read(2)
        if len(length) < 2:
            return None
        return mapped_address(stream.read(struct.unpack(">H", length)[0]), transaction, password)
