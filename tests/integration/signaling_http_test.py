"""signaling as a process: what strangers can send, and how long they may take."""

import http.client
import json
import socket
import time
import unittest

from signaling_kit import Base, CALLS, PATIENCE_S, SDP, read_all, wait_until


class Http(Base):
    def test_a_request_that_is_no_offer_has_its_own_error(self):
        request = self.signaling.request
        self.assert_error(self.offer(headers={"Content-Type": "text/plain"}), 415,
                          "unsupported_media_type")
        self.assert_error(self.offer(headers={"Content-Type": "multipart/form-data; boundary=x"}),
                          400, "invalid_value")
        self.assert_error(self.offer("x" * 65537), 413, "too_large")
        self.assert_error(request("POST", CALLS, "v=0"), 415, "unsupported_media_type")
        self.assert_error(self.offer(""), 400, "invalid_offer")
        self.assert_error(request("GET", "/nothing"), 404, "not_found")
        self.assert_error(request("POST", "/v1/realtime/callsx", "v=0", SDP), 404, "not_found")
        for method, path, allow in (("PUT", CALLS, "POST, GET, HEAD, OPTIONS"),
                                    ("PATCH", "/whip", "POST, GET, HEAD, OPTIONS"),
                                    ("PUT", "/whip/rtc_x", "PATCH, DELETE, GET, HEAD, OPTIONS"),
                                    ("GET", CALLS + "/rtc_x/hangup", "POST, OPTIONS"),
                                    ("DELETE", "/", "GET, HEAD, OPTIONS")):
            answer = request(method, path)
            self.assert_error(answer, 405, "method_not_allowed")
            self.assertEqual(answer.getheader("Allow"), allow)

    def test_framing_that_can_be_misread_is_refused(self):
        for fields, status in (("Content-Length: 327681\r\n", 413),
                               ("Content-Length: 99999999999\r\n", 413),
                               ("Transfer-Encoding: chunked\r\n", 411),
                               ("", 411),
                               ("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", 400),
                               ("Content-Length: 3\r\nContent-Length: 3\r\n", 400),
                               ("Content-Length: 3, 3\r\n", 400),
                               ("Content-Length: -3\r\n", 400),
                               ("Content-Length: 0x3\r\n", 400)):
            with self.signaling.connect(
                    f"POST {CALLS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n"
                    f"{fields}\r\nv=0".encode()) as client:
                text = read_all(client)
            self.assertTrue(text.startswith(f"HTTP/1.1 {status} "), (fields, text))
            self.assertIn("Connection: close", text)
            self.assertIn('{"error":', text)

    def test_a_request_of_http_1_1_names_one_host(self):
        for version, fields, status in (("1.1", "Host: x\r\n", 200), ("1.0", "", 200),
                                        ("1.1", "", 400), ("1.1", "Host:\r\n", 400),
                                        ("1.1", "Host: x\r\nHost: y\r\n", 400),
                                        ("1.0", "Host: x\r\nHost: y\r\n", 400)):
            with self.signaling.connect(f"GET /healthz HTTP/{version}\r\n{fields}"
                                        "Connection: close\r\n\r\n".encode()) as client:
                text = read_all(client)
            self.assertTrue(text.startswith(f"HTTP/1.1 {status} "), (version, fields, text))
            self.assertIn("Access-Control-Allow-Origin: *", text)

    def test_an_upgrade_that_nobody_speaks_here_is_ignored(self):
        with self.signaling.connect(b"GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n"
                                    b"Connection: Upgrade\r\n\r\n") as client:
            self.assertIn(b"HTTP/1.1 200 OK", client.recv(4096))

    def test_whatever_is_wrong_the_answer_is_json_that_a_page_may_read(self):
        get = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        upgrade = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "
        for text, status in ((get.replace("/", "http://x/", 1), 400),
                             (get.replace("/healthz", "/%zz"), 400),
                             (get.replace("GET", "TRACE"), 501), (get.replace("GET", "FOO"), 501),
                             (get.replace("GET /healthz", "CONNECT x:1"), 501),
                             (get.replace("GET /healthz", "OPTIONS *"), 204),
                             (get.replace("1.1", "2.0"), 505), (get.replace("\r", ""), 400),
                             (get.replace("x", "x\r\n folded"), 400),
                             (get.replace("x", "x\r\nX: " + "y" * 40000), 431),
                             ("GET /" + "y" * 40000, 414), ("\x16\x03\x01\x02\0\1\0", 400),
                             (upgrade + "websocket\r\n\r\n", 400),
                             (upgrade + "IRC/6.9\r\n\r\n", 400)):
            for ahead in (False, True):  # as the first request of a connection, and as a later one
                with self.signaling.connect(get.encode() if ahead else b"") as client:
                    if ahead:
                        self.assertIn(b"200 OK", client.recv(4096))
                    client.sendall(text.encode())
                    head, body = read_all(client).split("\r\n\r\n")
                self.assertTrue(head.startswith(f"HTTP/1.1 {status} "), (text[:80], head))
                self.assertIn("\r\nAccess-Control-Allow-Origin: *\r\n", head)
                self.assertIn("\r\nConnection: close", head)
                if status != 204:
                    self.assertEqual(set(json.loads(body)["error"]),
                                     {"message", "type", "param", "code"}, text[:80])
        self.assertEqual(self.signaling.request("GET", "/healthz").status, 200)

    def test_the_largest_offer_passes_and_a_larger_one_is_told_so(self):
        fake = self.transceiver()
        self.assertEqual(self.offer("x" * 65536).status, 201)
        self.assertIn("bytes=65536", fake.expect("offer"))
        self.assert_error(self.offer("x" * 65537), 413, "too_large")
        self.assert_error(self.offer("x" * 1000000), 413, "too_large")
        self.retire(fake)

    def test_a_preflight_is_answered_as_the_contract_says(self):
        for path, status in ((CALLS, 204), (CALLS + "/rtc_x", 204), ("/whip", 200)):
            answer = self.signaling.request("OPTIONS", path, headers={
                "Origin": "https://app.example", "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization, content-type, x-stainless-os"})
            self.assertEqual(answer.status, status)
            self.assertEqual(answer.text, "")
            self.assertEqual(answer.getheader("Access-Control-Allow-Origin"), "*")
            self.assertEqual(answer.getheader("Access-Control-Allow-Methods"),
                             "POST, GET, PATCH, DELETE, OPTIONS")
            self.assertEqual(answer.getheader("Access-Control-Allow-Headers"),
                             "authorization, content-type, x-stainless-os")
            self.assertEqual(answer.getheader("Access-Control-Max-Age"), "600")
        answer = self.signaling.request("OPTIONS", CALLS, headers={
            "Access-Control-Request-Headers": "authorization, cookie"})
        self.assertIsNone(answer.getheader("Access-Control-Allow-Headers"))

    def test_the_page_is_served_and_no_path_leads_out_of_it(self):
        answer = self.signaling.request("GET", "/")
        self.assertEqual((answer.status, answer.text), (200, "<p>the page"))
        self.assertIn("frame-ancestors 'none'", answer.getheader("Content-Security-Policy"))
        self.assertEqual(len(self.signaling.request("GET", "/big.js").text), 1000000)
        head = self.signaling.request("HEAD", "/big.js")
        self.assertEqual((head.getheader("Content-Length"), head.text), ("1000000", ""))
        for path in ("/../keys/00.key", "/%2e%2e/keys/00.key", "/..%2fkeys/00.key", "//etc/passwd",
                     "/keys/00.key", "/index.html%00.js", "/index.html/"):
            with self.signaling.connect(f"GET {path} HTTP/1.0\r\n\r\n".encode()) as client:
                text = read_all(client)
            self.assertNotIn(" 200 ", text)
            self.assertNotIn("0000", text)

    def test_probes_answer_on_the_public_port(self):
        self.assertEqual(self.signaling.request("GET", "/healthz").text, "ok\n")
        fake = self.transceiver()
        wait_until(lambda: self.signaling.request("GET", "/readyz").status == 200, "readiness")
        self.assertIn("transceiver_heard_once: yes", self.signaling.request("GET", "/readyz").text)
        admin = self.signaling.request("GET", "/readyz", port=self.signaling.admin_port)
        self.assertEqual(admin.status, 200)
        self.retire(fake)

    def test_one_connection_serves_sixteen_requests_and_closes_after_the_last(self):
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.signaling.port, timeout=PATIENCE_S)
        for count in range(16):
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            self.assertEqual(answer.read(), b"ok\n")
            self.assertEqual(answer.getheader("Connection"), "close" if count == 15 else None)
        connection.close()

    def test_who_sends_requests_ahead_is_hung_up_and_harms_nobody(self):
        fake = self.transceiver("behave slow")
        offer = (f"POST {CALLS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n"
                 "Content-Length: 3\r\n\r\nv=0")
        get = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        before = self.signaling.metric("earshot_process_cpu_seconds_total")
        for first, second, answers in ((get, get, 1), (get, offer, 1), (offer, get, 1),
                                       (offer, offer, 1), (offer, "\r\n", 1)):
            with self.signaling.connect((first + second * 3).encode()) as client:
                self.assertEqual(read_all(client).count("HTTP/1.1 "), answers)
            self.assertEqual(self.signaling.request("GET", "/healthz").status, 200)
        self.assertLess(self.signaling.metric("earshot_process_cpu_seconds_total") - before, 0.3)
        self.retire(fake)

    def test_offers_one_after_the_other_share_a_connection(self):
        fake = self.transceiver()
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.signaling.port, timeout=PATIENCE_S)
        for _ in range(5):
            connection.request("GET", "/")
            self.assertEqual(connection.getresponse().read(), b"<p>the page")
            connection.request("POST", CALLS, "v=0\r\n", SDP)
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()), (201, b"v=0\r\ns=answer\r\n"))
            self.assertIsNone(answer.getheader("Connection"))
        connection.close()
        self.retire(fake)


class Limits(Base):
    http = {"connections_max": 8, "connections_per_address_max": 6, "header_timeout": "1s",
            "request_timeout": "4s", "idle_timeout": "2s"}

    def closed_after(self, client, drip=b"", patience=8):
        """Seconds until the server closes, while bytes drip into it."""
        began = time.monotonic()
        client.settimeout(0.1)
        while time.monotonic() - began < patience:
            try:
                if drip:
                    client.sendall(drip)
                if client.recv(4096) == b"":
                    break
            except socket.timeout:
                continue
            except (ConnectionResetError, BrokenPipeError):
                break
        client.close()
        return time.monotonic() - began

    def assert_hung_up(self, earliest, latest, connect, drip=b"", attempts=3):
        """A busy machine may hang up late, but not each time; nothing is hung up early."""
        for _ in range(attempts):
            took = self.closed_after(connect(), drip)
            self.assertGreater(took, earliest)
            if took < latest:
                return
        self.fail(f"each took longer than {latest} s, the last one {took} s")

    def connect_again(self, first_bytes=b""):
        """A connection that has had an answer before these bytes."""
        client = self.signaling.connect(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        client.recv(4096)
        client.sendall(first_bytes)
        return client

    def test_a_client_without_a_header_is_hung_up(self):
        self.assert_hung_up(0.8, 2.5, self.signaling.connect)

    def test_a_header_that_drips_is_hung_up(self):
        self.assert_hung_up(
            0.8, 2.5, lambda: self.signaling.connect(b"GET / HTTP/1.1\r\nX: "), b"x")

    def test_a_second_header_that_drips_is_hung_up(self):
        self.assert_hung_up(
            0.8, 3.5, lambda: self.connect_again(b"GET / HTTP/1.1\r\nX: "), b"x")

    def test_a_body_that_drips_is_hung_up(self):
        head = (f"POST {CALLS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n"
                "Content-Length: 60000\r\n\r\nv=").encode()
        self.assert_hung_up(3.5, 5.5, lambda: self.signaling.connect(head), b"x")
        self.assertGreaterEqual(self.signaling.metric("earshot_signaling_http_timeouts_total"), 1)

    def test_an_idle_connection_is_closed(self):
        self.assert_hung_up(1.5, 4, self.connect_again)

    def test_a_reader_that_does_not_read_is_hung_up(self):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", self.signaling.port))
        client.sendall(b"GET /big.js HTTP/1.1\r\nHost: x\r\n\r\n")
        name = "earshot_signaling_http_connections"
        wait_until(lambda: self.signaling.metric(name) == 1, "the connection")
        began = time.monotonic()
        wait_until(lambda: self.signaling.metric(name) == 0, "its end")
        self.assertLess(time.monotonic() - began, 6)
        client.close()

    def test_more_connections_than_allowed_are_closed_and_others_go_on(self):
        clients = [self.signaling.connect(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                   for _ in range(6)]
        for client in clients:
            self.assertIn(b"200 OK", client.recv(4096))
        with self.signaling.connect() as seventh:
            self.assertEqual(read_all(seventh), "")
        name = 'earshot_signaling_http_connections_total{outcome="refused_address"}'
        self.assertEqual(self.signaling.metric(name), 1)
        others = []
        for _ in range(3):  # 127.0.0.2 is another client
            other = socket.socket()
            other.bind(("127.0.0.2", 0))
            other.settimeout(PATIENCE_S)
            other.connect(("127.0.0.1", self.signaling.port))
            others.append(other)
        self.assertEqual(read_all(others[2]), "")
        name = 'earshot_signaling_http_connections_total{outcome="refused_full"}'
        self.assertEqual(self.signaling.metric(name), 1)
        others[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertIn(b"200 OK", others[0].recv(4096))
        for client in clients + others:
            client.close()
        self.signaling.wait_for_metric("earshot_signaling_http_connections", 0)
        self.assertEqual(self.signaling.request("GET", "/healthz").status, 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
