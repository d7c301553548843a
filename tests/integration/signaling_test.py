"""signaling as a process, with transceivers that do as they are told: what clients see, what
strangers can do, and that no session is left behind."""

import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

FOLDER = sys.argv.pop(1)
SIGNALING = os.path.join(FOLDER, "earshot-signaling")
FAKE = os.path.join(FOLDER, "fake_transceiver")
SDP = {"Content-Type": "application/sdp"}
CALLS = "/v1/realtime/calls"
PATIENCE_S = 10


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.02)


class Signaling:
    """A running earshot-signaling with a configuration and a key ring of its own."""

    def __init__(self, **http):
        self.folder = tempfile.TemporaryDirectory()
        self.port, self.control_port, self.admin_port = free_port(), free_port(), free_port()
        self.write_keys("00")
        os.mkdir(self.path("web"))
        with open(self.path("web", "index.html"), "w") as file:
            file.write("<p>the page")
        with open(self.path("web", "big.js"), "w") as file:
            file.write("x" * 1000000)
        lines = [f"  {key}: {value}\n" for key, value in http.items()]
        with open(self.path("signaling.yaml"), "w") as file:
            file.write(f"keys: {self.path('keys')}\nweb: {self.path('web')}\n"
                       f"control_listen: 127.0.0.1:{self.control_port}\n"
                       f"admin_listen: 127.0.0.1:{self.admin_port}\n"
                       "answer_timeout: 1s\n"
                       "ingress:\n"
                       "  - {name: a, udp: \"203.0.113.10:3478\", tcp: \"203.0.113.10:443\"}\n"
                       f"http:\n  listen: 127.0.0.1:{self.port}\n{''.join(lines)}")
        self.log = open(self.path("log"), "w")
        self.process = subprocess.Popen([SIGNALING, "--config", self.path("signaling.yaml")],
                                        stderr=self.log)
        wait_until(self.is_up, "the ports of signaling")

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def write_keys(self, active):
        os.makedirs(self.path("keys"), mode=0o700, exist_ok=True)
        for name, text in ((f"{active}.key", active * 32), ("active", active)):
            path = self.path("keys", name)
            with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                file.write(text + "\n")

    def is_up(self):
        assert self.process.poll() is None, self.read_log()
        try: # the admin port opens last
            socket.create_connection(("127.0.0.1", self.admin_port)).close()
            return True
        except ConnectionRefusedError:
            return False

    def read_log(self):
        with open(self.path("log")) as file:
            return file.read()

    def request(self, method, path, body=None, headers=(), port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            answer.text = answer.read().decode()
            return answer
        finally:
            connection.close()

    def connect(self, text=b""):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        client.sendall(text)
        return client

    def metric(self, name):
        text = self.request("GET", "/metrics", port=self.admin_port).text
        for line in text.splitlines():
            if line.startswith(name + " "):
                return float(line.split()[-1])
        return None

    def wait_for_metric(self, name, value):
        wait_until(lambda: self.metric(name) == value, f"{name} {value}")

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()
        self.folder.cleanup()


class Transceiver:
    """A fake transceiver and the lines that it writes."""

    def __init__(self, signaling, instance, orders):
        self.instance = instance
        self.process = subprocess.Popen(
            [FAKE, instance, f"tcp://127.0.0.1:{signaling.control_port}",
             f"tcp://127.0.0.1:{free_port()}", *orders],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.expect("done " + line)

    def expect(self, start):
        """The next line that begins so; others before it are passed over."""
        while True:
            line = self.lines.get(timeout=PATIENCE_S)
            if line.startswith(start):
                return line

    def has_line(self, start):
        return any(line.startswith(start) for line in list(self.lines.queue))

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


def read_all(client):
    data = b""
    try:
        while piece := client.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data.decode()


class Base(unittest.TestCase):
    """One signaling for a class; its transceivers come and go with each test."""

    http = {}

    @classmethod
    def setUpClass(cls):
        cls.signaling = Signaling(**cls.http)
        cls.addClassCleanup(cls.signaling.stop)

    def setUp(self):
        self.expect_transceivers("ready", 0)

    def transceiver(self, *orders):
        """Comes up with its orders obeyed."""
        Base.instance = getattr(Base, "instance", 0x5eed0000) + 1
        fake = Transceiver(self.signaling, f"{Base.instance:08x}", orders)
        self.addCleanup(fake.stop)
        wait_until(lambda: f"known instance={fake.instance}" in self.signaling.read_log(),
                   "the transceiver's announcement")
        return fake

    def expect_transceivers(self, state, count):
        self.signaling.wait_for_metric(
            f'earshot_signaling_transceivers_known{{state="{state}"}}', count)

    def retire(self, fake):
        fake.tell("state draining")

    def offer(self, body="v=0\r\n", path=CALLS, headers=SDP):
        return self.signaling.request("POST", path, body, headers)

    def assert_error(self, answer, status, code):
        self.assertEqual(answer.status, status, answer.text)
        self.assertEqual(answer.getheader("Content-Type"), "application/json")
        self.assertEqual(answer.getheader("Access-Control-Allow-Origin"), "*")
        error = json.loads(answer.text)["error"]
        self.assertEqual(error["code"], code)
        self.assertEqual(error["type"], "invalid_request_error")
        self.assertIsNone(error["param"])
        self.assertTrue(error["message"])
        if status == 503:
            self.assertGreaterEqual(int(answer.getheader("Retry-After")), 1)
        return error["message"]


class Calls(Base):
    def test_an_offer_is_answered_and_a_hangup_ends_the_call(self):
        fake = self.transceiver()
        for path in (CALLS, CALLS + "?model=gpt-realtime", "/whip"):
            answer = self.offer("v=0\r\ns=x\r\n", path, {
                "Content-Type": "application/sdp; charset=utf-8", "User-Agent": "kit/1.0",
                "Accept-Language": "de-DE,de;q=0.9"})
            self.assertEqual(answer.status, 201, answer.text)
            self.assertEqual(answer.getheader("Content-Type"), "application/sdp")
            self.assertEqual(answer.getheader("ETag"), '"0"')
            self.assertEqual(answer.text, "v=0\r\ns=answer\r\n")
            self.assertIn("Location", answer.getheader("Access-Control-Expose-Headers"))
            location = answer.getheader("Location")
            self.assertRegex(location, f"^{CALLS}/rtc_[A-Za-z0-9_-]{{23}}$")
            call_id = location.rsplit("/", 1)[1]
            fake.expect("create " + call_id)
            self.assertEqual(
                fake.expect("offer"),
                "offer bytes=10 duration=3600 agent=kit/1.0 language=de-DE "
                "ingress=203.0.113.10:3478/udp,203.0.113.10:443/tcp")
            endings = {CALLS: ("DELETE", location), "/whip": ("DELETE", "/whip/" + call_id)}
            method, url = endings.get(path, ("POST", location + "/hangup"))
            self.assertEqual(self.signaling.request(method, url).status, 200)
            fake.expect(f"end {call_id} hangup")
            self.assert_error(self.signaling.request(method, url), 404, "call_id_not_found")
        self.retire(fake)

    def test_a_patch_restarts_ice_or_brings_candidates(self):
        fake = self.transceiver()
        made = self.offer("v=0\r\ns=x\r\n")
        self.assertEqual(made.getheader("Accept-Patch"), "application/trickle-ice-sdpfrag")
        call_id = made.getheader("Location").rsplit("/", 1)[1]
        fragment = {"Content-Type": "application/trickle-ice-sdpfrag"}

        def patch(etag, body="a=ice-ufrag:x\r\n", path=CALLS):
            fields = fragment if etag is None else {**fragment, "If-Match": etag}
            return self.signaling.request("PATCH", f"{path}/{call_id}", body, fields)

        for path in (CALLS, "/whip"):
            answer = patch("*", path=path)
            self.assertEqual((answer.status, answer.text), (200, "a=ice-lite\r\n"))
            self.assertEqual(answer.getheader("Content-Type"), "application/trickle-ice-sdpfrag")
            self.assertEqual(answer.getheader("ETag"), '"1"')
            self.assertEqual(answer.getheader("Access-Control-Allow-Origin"), "*")
            fake.expect(f"update {call_id} restart generation=0 ingress=2")
        answer = patch('"1"')
        self.assertEqual((answer.status, answer.text), (204, ""))
        self.assertIsNone(answer.getheader("ETag"))
        fake.expect(f"update {call_id} candidates generation=1 ingress=2")
        self.assert_error(patch(None), 428, "precondition_required")
        self.assert_error(patch('"x"'), 412, "precondition_failed")
        self.assert_error(patch("*", "bad_offer"), 400, "invalid_value")
        self.assert_error(patch('"0"', "other_generation"), 412, "precondition_failed")
        self.assert_error(patch("*", "restarts_used_up"), 422, "restart_refused")
        self.assert_error(patch("*", "not_found"), 404, "call_id_not_found")
        self.assert_error(patch("*", "x" * 16385), 413, "too_large")
        self.retire(fake)

    def test_a_call_that_is_not_ours_is_not_found(self):
        for call_id in ("x", "rtc_", "rtc_" + "A" * 23, "rtc_" + "A" * 300):
            for method, url in (("DELETE", f"{CALLS}/{call_id}"), ("DELETE", f"/whip/{call_id}"),
                                ("POST", f"{CALLS}/{call_id}/hangup"),
                                ("PATCH", f"{CALLS}/{call_id}")):
                code = "not_found" if len(call_id) > 200 else "call_id_not_found"
                fields = {"Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*"}
                body = "x" if method == "PATCH" else None
                self.assert_error(self.signaling.request(method, url, body, fields), 404, code)

    def test_each_refusal_has_its_status_and_code(self):
        fake = self.transceiver()
        for word, status, code, message in (
                ("bad_offer", 400, "invalid_offer", "as told"),
                ("no_common_codec", 400, "no_common_codec", "as told"),
                ("too_large", 413, "too_large", "as told"),
                ("full", 503, "server_overloaded", None),
                ("draining", 503, "server_overloaded", None),
                ("backend_unavailable", 503, "backend_unavailable", None),
                ("internal", 500, "internal", None),
                ("not_implemented", 500, "internal", None),
                ("impostor", 500, "internal", None)):
            said = self.assert_error(self.offer("behave " + word), status, code)
            self.assertIn(message or "", said)
        fake.expect("end ")  # the impostor's session
        self.retire(fake)

    def test_a_refused_call_is_placed_elsewhere_and_nowhere_twice(self):
        fakes = [self.transceiver("behave full") for _ in range(3)]
        self.assert_error(self.offer(), 503, "server_overloaded")
        for fake in fakes:
            fake.expect("create")
            self.assertFalse(fake.has_line("create"))
        fakes[1].tell("behave echo")
        self.assertEqual(self.offer().status, 201)
        for fake in fakes:
            self.retire(fake)

    def test_without_a_transceiver_or_a_backend_the_answer_is_503_at_once(self):
        began = time.monotonic()
        self.assert_error(self.offer(), 503, "server_overloaded")
        fake = self.transceiver("backend no")
        self.assert_error(self.offer(), 503, "backend_unavailable")
        fake.tell("backend yes")
        fake.tell("state full")
        self.expect_transceivers("full", 1)
        self.assert_error(self.offer(), 503, "server_overloaded")
        self.assertLess(time.monotonic() - began, PATIENCE_S / 2)
        self.retire(fake)

    def test_a_silent_transceiver_is_passed_by_and_told_to_forget(self):
        silent = self.transceiver("behave silent")
        began = time.monotonic()
        self.assert_error(self.offer(), 503, "server_overloaded")
        self.assertTrue(0.9 < time.monotonic() - began < 2)
        call_id = silent.expect("create").split()[1]
        silent.expect(f"end {call_id} client_gone")
        other = self.transceiver()
        for _ in range(4):
            self.assertEqual(self.offer().status, 201)
        self.retire(silent)
        self.retire(other)

    def test_a_transceiver_that_is_not_heard_takes_no_call(self):
        fake = self.transceiver()
        self.expect_transceivers("ready", 1)
        fake.tell("mute")
        self.expect_transceivers("ready", 0)
        self.assert_error(self.offer(), 503, "server_overloaded")
        self.assertFalse(fake.has_line("create"))

    def test_the_loss_of_the_only_transceiver_is_named_and_so_is_its_return(self):
        fake = self.transceiver()
        name = 'earshot_signaling_offers_total{outcome="no_transceiver"}'
        before = self.signaling.metric(name)
        fake.tell("mute")
        lost = f"level=warn service=signaling transceiver.lost instance={fake.instance} "
        wait_until(lambda: lost in self.signaling.read_log(), "the loss")
        said = self.assert_error(self.offer(), 503, "server_overloaded")
        self.assertIn("No transceiver is known", said)
        self.assertEqual(self.signaling.metric(name), before + 1)
        self.assertIn("call.refused reason=no_transceiver", self.signaling.read_log())
        self.assertIn("transceiver_heard_once: yes", self.signaling.request("GET", "/readyz").text)
        fake.tell("speak")
        back = f"transceiver.back instance={fake.instance}"
        wait_until(lambda: back in self.signaling.read_log(), "the return")
        self.assertEqual(self.offer().status, 201)
        self.assertEqual(self.signaling.read_log().count(lost), 1)
        self.retire(fake)

    def test_calls_that_end_make_room_before_the_next_announcement(self):
        fake = self.transceiver("capacity 2")
        fake.tell("mute")  # within the lease it is asked all the same
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.signaling.port, timeout=PATIENCE_S)
        for _ in range(8):
            connection.request("POST", CALLS, "v=0\r\n", SDP)
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()), (201, b"v=0\r\ns=answer\r\n"))
            connection.request("DELETE", answer.getheader("Location"))
            answer = connection.getresponse()
            self.assertEqual((answer.status, answer.read()), (200, b""))
        connection.close()
        for _ in range(5):  # nor does a refused one take a place
            self.assert_error(self.offer("behave full"), 503, "server_overloaded")
        self.assertEqual([self.offer().status for _ in range(3)], [201, 201, 503])

    def test_a_refusal_says_when_to_come_back_as_the_transceiver_does(self):
        fake = self.transceiver("retry 2500")
        answer = self.offer("behave full")
        self.assert_error(answer, 503, "server_overloaded")
        self.assertEqual(answer.getheader("Retry-After"), "3")
        self.retire(fake)

    def test_a_flood_of_calls_does_not_flood_the_log(self):
        fake = self.transceiver("capacity 10000")
        before = self.signaling.read_log()
        began = time.monotonic()
        for _ in range(6):  # as many on a connection as one allows
            connection = http.client.HTTPConnection("127.0.0.1", self.signaling.port,
                                                    timeout=PATIENCE_S)
            for _ in range(8):
                connection.request("POST", CALLS, "v=0\r\n", SDP)
                answer = connection.getresponse()
                answer.read()
                connection.request("DELETE", answer.getheader("Location"))
                connection.getresponse().read()
            connection.close()
        for _ in range(48):
            self.offer("behave full")
        seconds = int(time.monotonic() - began) + 2
        lines = self.signaling.read_log()[len(before):]
        for event in ("call.created", "call.hangup", "call.refused"):
            self.assertLessEqual(lines.count(event), 20 * seconds)
            self.assertGreaterEqual(lines.count(event), 20)
        if seconds == 2:  # all within a second or two: then some were held back
            self.assertLess(lines.count("call.refused"), 48)
        self.retire(fake)

    def test_a_client_that_leaves_while_waiting_leaves_no_session(self):
        fake = self.transceiver("behave slow")
        orphans = self.signaling.metric("earshot_signaling_orphans_total")
        client = self.signaling.connect(
            f"POST {CALLS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n"
            "Content-Length: 3\r\n\r\nv=0".encode())
        call_id = fake.expect("create").split()[1]
        client.close()
        fake.expect(f"end {call_id} client_gone")
        self.signaling.wait_for_metric("earshot_signaling_orphans_total", orphans + 1)
        self.retire(fake)

    def test_a_queue_of_offers_is_answered_in_order(self):
        fake = self.transceiver()
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.offer().status))
                   for _ in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, [201] * 40)
        self.retire(fake)

    def test_keys_are_read_again_and_old_calls_are_still_known(self):
        fake = self.transceiver()
        location = self.offer().getheader("Location")
        self.signaling.write_keys("01")
        self.signaling.process.send_signal(signal.SIGHUP)
        self.signaling.wait_for_metric(
            'earshot_key_ring_key_info{ring="signaling",key_id="01",active="true"}', 1)
        self.assertRegex(self.offer().getheader("Location"), f"^{CALLS}/rtc_B")
        self.assertEqual(self.signaling.request("DELETE", location).status, 200)
        self.signaling.write_keys("02")  # and by themselves, when their directory changes
        self.signaling.wait_for_metric(
            'earshot_key_ring_key_info{ring="signaling",key_id="02",active="true"}', 1)
        os.remove(self.signaling.path("keys", "active"))
        wait_until(lambda: "keys.reload_failed" in self.signaling.read_log(), "a ring refused")
        self.assertRegex(self.offer().getheader("Location"), f"^{CALLS}/rtc_C")
        failed = 'earshot_key_ring_reloads_failed_total{ring="signaling"}'
        self.assertGreaterEqual(self.signaling.metric(failed), 1)
        self.assertIn("keys.reloaded active=02", self.signaling.read_log())
        self.signaling.write_keys("02")
        self.retire(fake)


class Http(Base):
    def test_a_request_that_is_no_offer_has_its_own_error(self):
        request = self.signaling.request
        self.assert_error(self.offer(headers={"Content-Type": "text/plain"}), 415,
                          "unsupported_media_type")
        self.assert_error(self.offer(headers={"Content-Type": "multipart/form-data; boundary=x"}),
                          415, "unsupported_media_type")
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
        for fields, status in (("Content-Length: 65537\r\n", 413),
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

    def test_what_the_library_answers_itself_is_a_refusal(self):
        for line in ("GET http://x/healthz", "OPTIONS *", "TRACE /", "FOO /", "GET /%zz"):
            with self.signaling.connect(f"{line} HTTP/1.1\r\nHost: x\r\n\r\n".encode()) as client:
                self.assertIn(" 403 ", read_all(client).split("\r\n")[0], line)

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
        for first, second, answers in ((get, get, 1), (get, offer, 1), (offer, get, 0),
                                       (offer, offer, 0), (offer, "\r\n", 0)):
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

    def test_what_is_no_http_is_hung_up(self):
        for text in (b"\x16\x03\x01\x02\x00\x01\x00", b"FOO / HTTP/1.1\r\n\r\n", b"\r\n" * 100,
                     b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                     b"GET / HTTP/1.1\r\nX: " + b"y" * 40000 + b"\r\n\r\n",
                     b"GET http:// HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n"
                     b"Connection: Upgrade, HTTP2-Settings\r\n"
                     b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n",
                     b"GET /v1/realtime HTTP/1.1\r\nHost: x\r\n"
                     b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
                     b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                     b"Sec-WebSocket-Version: 13\r\n\r\n"):
            with self.signaling.connect(text) as client:
                answer = read_all(client)
            self.assertNotIn("HTTP/1.1 2", answer, text)
            self.assertNotIn("101", answer[:20], text)
        self.assertEqual(self.signaling.request("GET", "/healthz").status, 200)


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

    def test_a_client_without_a_header_is_hung_up(self):
        self.assertTrue(0.8 < self.closed_after(self.signaling.connect()) < 2.5)

    def test_a_header_that_drips_is_hung_up(self):
        client = self.signaling.connect(b"GET / HTTP/1.1\r\nX: ")
        self.assertTrue(0.8 < self.closed_after(client, b"x") < 2.5)

    def test_a_second_header_that_drips_is_hung_up(self):
        client = self.signaling.connect(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        client.recv(4096)
        client.sendall(b"GET / HTTP/1.1\r\nX: ")
        self.assertTrue(0.8 < self.closed_after(client, b"x") < 3.5)

    def test_a_body_that_drips_is_hung_up(self):
        client = self.signaling.connect(
            f"POST {CALLS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n"
            "Content-Length: 60000\r\n\r\nv=".encode())
        self.assertTrue(3.5 < self.closed_after(client, b"x") < 5.5)
        self.assertGreaterEqual(self.signaling.metric("earshot_signaling_http_timeouts_total"), 1)

    def test_an_idle_connection_is_closed(self):
        client = self.signaling.connect(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        client.recv(4096)
        self.assertTrue(1.5 < self.closed_after(client) < 4)

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


class Life(Base):
    def setUp(self):
        self.signaling = Signaling()
        self.addCleanup(self.signaling.stop)

    @classmethod
    def setUpClass(cls):
        pass

    def test_when_idle_it_ends_within_two_seconds_of_sigterm(self):
        began = time.monotonic()
        self.signaling.process.send_signal(signal.SIGTERM)
        wait_until(lambda: self.signaling.request("GET", "/readyz").status == 503, "unreadiness")
        self.assert_error(self.offer(), 503, "server_overloaded")
        self.assertEqual(self.signaling.process.wait(timeout=PATIENCE_S), 0)
        self.assertLess(time.monotonic() - began, 2)

    def test_an_offer_under_way_is_answered_before_the_end(self):
        fakes = [self.transceiver("behave silent") for _ in range(2)]
        answers = []
        thread = threading.Thread(target=lambda: answers.append(self.offer()))
        thread.start()
        wait_until(lambda: any(fake.has_line("create") for fake in fakes), "the offer")
        self.signaling.process.send_signal(signal.SIGTERM)
        thread.join()
        self.assert_error(answers[0], 503, "server_overloaded")
        self.assertEqual(self.signaling.process.wait(timeout=PATIENCE_S), 0)

    def test_a_second_sigterm_means_now(self):
        fake = self.transceiver("behave silent")
        client = self.signaling.connect(
            f"POST {CALLS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/sdp\r\n"
            "Content-Length: 3\r\n\r\nv=0".encode())
        fake.expect("create")
        began = time.monotonic()
        self.signaling.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "draining" in self.signaling.read_log(), "the drain")
        self.signaling.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.signaling.process.wait(timeout=PATIENCE_S), 0)
        self.assertLess(time.monotonic() - began, 0.8)
        client.close()

    def test_a_fault_at_start_is_one_line(self):
        with open(self.signaling.path("signaling.yaml")) as file:
            text = file.read()
        for change, said in ((("keys: ", "keys: /nonexistent"), "/nonexistent"),
                             (("ingress:", "public: true\ningress:"),
                              "authentication is not built yet"),
                             (("web: ", "colour: "), "colour")):
            path = self.signaling.path("bad.yaml")
            with open(path, "w") as file:
                file.write(text.replace(*change))
            result = subprocess.run([SIGNALING, "--config", path], capture_output=True, text=True,
                                    timeout=PATIENCE_S)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn(said, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        result = subprocess.run([SIGNALING, "--config", self.signaling.path("signaling.yaml")],
                                capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertIn(f"listen http 127.0.0.1:{self.signaling.port}: Address already in use",
                      result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
