"""signaling as a process: calls, and the life of the process. No session is left behind."""

import http.client
import os
import signal
import subprocess
import threading
import time
import unittest

from signaling_kit import Base, CALLS, PATIENCE_S, SDP, SIGNALING, Signaling, wait_until


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
                              "auth: off with public: true: set auth: keys"),
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
