#!/usr/bin/env python3
"""signaling behind TLS: HTTP as in clear, and certificates that change while clients are there."""
import http.client
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest

from signaling_kit import Base, CALLS, PATIENCE_S, SDP, read_all, wait_until


def run_openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def make(folder, name, *options):
    path = os.path.join(folder, name)
    run_openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-batch", "-days", "2", "-subj", f"/CN={name}", "-keyout", path + ".key",
                "-out", path + ".crt", *options)
    os.chmod(path + ".key", 0o600)


class Certificates:
    """A CA, and a server's certificate of it that can be replaced."""

    def __init__(self, folder):
        self.folder = folder
        make(folder, "ca", "-addext", "basicConstraints=critical,CA:TRUE")
        self.issue("first")

    def path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, name):
        make(self.folder, name, "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"),
             "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
             "-addext", "basicConstraints=critical,CA:FALSE")
        for end in (".key", ".crt"):
            os.replace(self.path(name + end), self.path("server" + end))


class TlsTest(Base):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.certificates = Certificates(folder.name)
        path = cls.certificates.path
        cls.http = {"tls": f"{{certificate: {path('server.crt')}, key: {path('server.key')}}}"}
        super().setUpClass()
        cls.context = ssl.create_default_context(cafile=path("ca.crt"))

    def connect(self):
        connection = http.client.HTTPSConnection("127.0.0.1", self.signaling.port,
                                                 timeout=PATIENCE_S, context=self.context)
        connection.connect()
        self.addCleanup(connection.close)
        return connection

    def ask(self, connection, method, path, body=None, headers=()):
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        return answer

    def name_of(self, connection):
        return dict(pair[0] for pair in connection.sock.getpeercert()["subject"])["commonName"]

    def hang_up_signal(self):
        self.signaling.process.send_signal(signal.SIGHUP)

    def test_a_call_is_made_and_hung_up(self):
        self.transceiver()
        connection = self.connect()
        answer = self.ask(connection, "POST", CALLS, "v=0\r\n", SDP)
        self.assertEqual(answer.status, 201, answer.text)
        location = answer.getheader("Location")
        self.assertEqual(self.ask(connection, "POST", location + "/hangup", "").status, 200)

    def test_refusals_are_our_own(self):
        connection = self.connect()
        self.assert_error(self.ask(connection, "POST", CALLS, "x", {"Content-Type": "a/b"}), 415,
                          "unsupported_media_type")
        tls = self.connect().sock
        tls.sendall(b"GET /\r\n\r\n")
        head, body = read_all(tls).split("\r\n\r\n")
        self.assertTrue(head.startswith("HTTP/1.1 400 "), head)
        self.assertIn("invalid_value", body)

    def test_a_large_file_comes_whole(self):
        answer = self.ask(self.connect(), "GET", "/big.js")
        self.assertEqual(answer.text, "x" * 1000000)

    def test_plain_http_is_told_so_hung_up_and_counted(self):
        name = 'earshot_signaling_tls_handshakes_total{outcome="failed"}'
        before = self.signaling.metric(name)
        with self.signaling.connect(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") as client:
            answer = read_all(client)
            self.assertTrue(answer.startswith("HTTP/1.1 400 "), answer)
            self.assertIn("https://", answer)
        self.signaling.wait_for_metric(name, before + 1)

    def test_a_new_certificate_is_taken_and_hangs_up_nobody(self):
        old = self.connect()
        before = self.name_of(old)
        self.certificates.issue("second")
        self.hang_up_signal()
        wait_until(lambda: self.name_of(self.connect()) == "second", "the new certificate")
        self.assertEqual(self.ask(old, "GET", "/healthz").status, 200)
        self.assertNotEqual(before, "second")
        self.assertIn("tls.reloaded", self.signaling.read_log())

        self.certificates.issue("third")  # and without a signal
        wait_until(lambda: self.name_of(self.connect()) == "third", "the third certificate")
        with open(self.certificates.path("server.key"), "w") as file:
            file.write("no key\n")
        self.hang_up_signal()
        self.signaling.wait_for_metric("earshot_signaling_tls_reloads_failed_total", 1)
        self.assertIn("server.key: not the certificate's key", self.signaling.read_log())
        self.assertEqual(self.name_of(self.connect()), "third")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
