#!/usr/bin/env python3
"""Side-bands of calls, with the real signaling, transceiver and agent. No client connects: the
agent takes events all the same."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from websocket_kit import Refused, WebSocket

PROGRAMS = sys.argv.pop(1)
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SIDEBANDS_MAX = 4
ADDRESS = "127.0.77.1"  # of this test alone: the ports are those of config/local
HTTP_PORT, PATIENCE_S = 8080, 15
OFFER = "\r\n".join((
    "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "m=audio 9 UDP/TLS/RTP/SAVPF 111",
    "c=IN IP4 0.0.0.0", "a=mid:0", "a=ice-ufrag:peer", "a=ice-pwd:0123456789abcdefghij+/",
    "a=fingerprint:sha-256 " + ":".join(["0B"] * 32), "a=setup:actpass", "a=rtcp-mux",
    "a=rtpmap:111 opus/48000/2", ""))
ITEM = {"type": "conversation.item.create",
        "item": {"type": "message", "role": "user", "content": [{"type": "input_text",
                                                                 "text": "count to three"}]}}


class Suite:
    """Stub, transceiver and signaling with their shipped files, on an address of their own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.keys = {}
        self.environment = {
            **os.environ, "EARSHOT_KEYS": self.path("keys"), "EARSHOT_ADMIN_IP": ADDRESS,
            "EARSHOT_HTTP": f"{ADDRESS}:{HTTP_PORT}", "EARSHOT_BACKEND": f"{ADDRESS}:7200",
            "EARSHOT_SIGNALING_CONTROL": f"{ADDRESS}:7101", "EARSHOT_TRANSCEIVER_ADDRESS": ADDRESS,
            "EARSHOT_RELAY_CONTROL": f"{ADDRESS}:7102", "EARSHOT_MEDIA_1": f"{ADDRESS}:3478",
            "EARSHOT_WEB": ""}
        os.makedirs(self.path("keys", "api"), mode=0o700)
        ctl = os.path.join(PROGRAMS, "earshotctl")
        subprocess.run([ctl, "keys", "init", self.path("keys", "media"),
                        self.path("keys", "signaling")], check=True, stdout=subprocess.DEVNULL)
        for tenant in ("acme", "other"):
            self.keys[tenant] = subprocess.run(
                [ctl, "api-keys", "add", self.path("keys", "api", "keys"), tenant], check=True,
                stdout=subprocess.PIPE, text=True).stdout.strip()
        self.log = open(self.path("log"), "w")
        self.processes = [self.start("inference-stub", "--mode", "agent"),
                          self.start("transceiver"), self.start("signaling")]
        for port in (7804, 7802, 7803):
            self.wait_until_ready(port)

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def start(self, service, *options):
        return subprocess.Popen(
            [os.path.join(PROGRAMS, f"earshot-{service}"), "--config",
             os.path.join(ROOT, "config", "local", f"{service}.yaml"), *options], cwd=ROOT,
            env=self.environment, stdin=subprocess.DEVNULL, stderr=self.log)

    def wait_until_ready(self, port):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                urllib.request.urlopen(f"http://{ADDRESS}:{port}/readyz", timeout=2).close()
                return
            except OSError:
                with open(self.path("log")) as log:
                    assert time.monotonic() < deadline, log.read()[-3000:]
                time.sleep(0.05)

    def restart_signaling(self):
        self.processes[-1].kill()
        self.processes[-1].wait()
        self.processes[-1] = self.start("signaling")
        self.wait_until_ready(7803)

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self.log.close()
        self.folder.cleanup()


class Sideband(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.suite = Suite()
        cls.addClassCleanup(cls.suite.stop)

    def setUp(self):
        answer = self.post("/v1/realtime/calls", OFFER, {"Content-Type": "application/sdp"})
        self.location = answer.headers["Location"]
        self.call_id = self.location.split("/")[-1]

    def bearer(self, tenant="acme"):
        return {"Authorization": "Bearer " + self.suite.keys[tenant]}

    def post(self, path, body, headers=()):
        request = urllib.request.Request(f"http://{ADDRESS}:{HTTP_PORT}{path}", body.encode(),
                                         {**self.bearer(), **dict(headers)}, method="POST")
        return urllib.request.urlopen(request, timeout=PATIENCE_S)

    def open(self, tenant="acme", **options):
        client = WebSocket(HTTP_PORT, f"/v1/realtime?call_id={self.call_id}",
                           headers=self.bearer(tenant), host=ADDRESS, timeout=PATIENCE_S, **options)
        self.addCleanup(client.close)
        return client

    def open_and_greet(self, **options):
        client = self.open(**options)
        created = client.read()
        self.assertEqual(created["type"], "session.created", created)
        return client

    def ended(self, reason):
        """How many side-bands ended so."""
        name = f'earshot_signaling_sidebands_ended_total{{reason="{reason}"}}'
        with urllib.request.urlopen(f"http://{ADDRESS}:7803/metrics", timeout=PATIENCE_S) as text:
            lines = text.read().decode().splitlines()
        return next(int(line.split()[-1]) for line in lines if line.startswith(name + " "))

    def read_until(self, client, type):
        """The texts of all events up to the first of this type."""
        texts = []
        while not texts or json.loads(texts[-1])["type"] != type:
            texts.append(client.read_text())
            self.assertIsNotNone(texts[-1], f"closed with {client.close_code} before {type}")
        return texts

    def test_the_first_event_is_session_created_and_an_update_acts(self):
        client = self.open_and_greet()
        client.send({"type": "session.update", "event_id": "mine",
                     "session": {"type": "realtime", "instructions": "Be brief."}})
        updated = json.loads(self.read_until(client, "session.updated")[-1])
        self.assertEqual(updated["session"]["instructions"], "Be brief.")
        self.assertTrue(updated["event_id"])

    def test_every_listener_hears_the_same_bytes(self):
        first, second = self.open_and_greet(), self.open_and_greet()
        first.send(ITEM)
        heard = self.read_until(first, "conversation.item.done")
        self.assertEqual(self.read_until(second, "conversation.item.done"), heard)
        second.send({"type": "response.create", "response": {"output_modalities": ["text"]}})
        heard = self.read_until(first, "response.done")
        self.assertEqual(self.read_until(second, "response.done"), heard)
        self.assertGreater(len(heard), 5)

    def test_what_is_no_event_is_told_to_its_sender_alone(self):
        first, second = self.open_and_greet(), self.open_and_greet()
        for text in ("", "[]", "{", '{"type":"x"}}', "[" * 40 + "]" * 40,
                     json.dumps({"x": [0] * 5000})):
            first.send(text)
            error = first.read()
            self.assertEqual((error["type"], error["error"]["code"]), ("error", "invalid_json"))
            self.assertTrue(error["event_id"])
        first.send(ITEM)
        self.assertEqual(json.loads(self.read_until(second, "conversation.item.done")[0])["type"],
                         "conversation.item.added")

    def test_a_long_event_goes_in_and_one_that_is_too_long_closes(self):
        client = self.open_and_greet()
        instructions = "x" * 150000
        client.send({"type": "session.update",
                     "session": {"type": "realtime", "instructions": instructions}})
        updated = json.loads(self.read_until(client, "session.updated")[-1])
        self.assertEqual(updated["session"]["instructions"], instructions)
        client.send("x" * (256 * 1024 + 1))
        self.assertIsNone(client.read())
        self.assertEqual(client.close_code, 1009)

    def test_a_slow_reader_is_closed_and_nobody_else(self):
        slow, talker = self.open_and_greet(room=4096), self.open_and_greet()
        session = {"type": "realtime", "instructions": "x" * 150000}
        for _ in range(50):
            talker.send({"type": "session.update", "session": session})
            self.read_until(talker, "session.updated")
        while slow.read_text() is not None:
            pass
        self.assertEqual(slow.close_code, 1013)
        self.assertEqual(self.ended("gap"), 1)
        talker.send(ITEM)
        self.read_until(talker, "conversation.item.done")

    def test_another_tenant_finds_no_such_call(self):
        client = self.open("other")
        error = client.read()
        self.assertEqual(error["error"]["code"], "call_id_not_found")
        self.assertIsNone(client.read())
        self.assertEqual(client.close_code, 1008)

    def test_the_fifth_is_refused_before_the_upgrade(self):
        clients = [self.open_and_greet() for _ in range(SIDEBANDS_MAX)]
        with self.assertRaises(Refused) as refused:
            self.open()
        self.assertEqual(refused.exception.status, 429)
        self.assertEqual(refused.exception.error["code"], "rate_limit_exceeded")
        self.open("other").close() # another tenant learns nothing of them
        clients[0].close()
        time.sleep(0.5)
        self.open_and_greet()

    def test_a_replica_that_does_not_know_of_the_others_closes_the_fifth_with_1013(self):
        for _ in range(SIDEBANDS_MAX):
            self.open_and_greet()
        self.suite.restart_signaling() # their leases go on at the transceiver
        fifth = self.open()
        self.assertEqual(fifth.read()["error"]["code"], "rate_limit_exceeded")
        self.assertIsNone(fifth.read())
        self.assertEqual(fifth.close_code, 1013)

    def test_the_end_of_the_call_closes_with_1000_and_then_there_is_none(self):
        clients = [self.open_and_greet() for _ in range(2)]
        self.post(self.location + "/hangup", "").close()
        for client in clients:
            while client.read() is not None:
                pass
            self.assertEqual(client.close_code, 1000)
        time.sleep(2)
        late = self.open()
        self.assertEqual(late.read()["error"]["code"], "call_id_not_found")
        self.assertIsNone(late.read())
        self.assertEqual(late.close_code, 1008)


if __name__ == "__main__":
    unittest.main()
