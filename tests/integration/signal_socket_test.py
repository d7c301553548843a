#!/usr/bin/env python3
"""WebSocket signaling with the real signaling, and transceivers that do as they are told."""
import hashlib
import json
import os
import signal
import time
import unittest

from signaling_kit import Base, Signaling, wait_until
from websocket_kit import BINARY, Refused, WebSocket

PATH = "/v1/realtime/signal"
PROTOCOL = "earshot.signal.v1"
KEY = "sk-acme-of-the-test"
PWD = "0123456789abcdefghijkl"
ACCESS = ("auth: keys\napi_keys: {api_keys}\n"
          "limits: {{offers_per_s_per_tenant: 0, offers_per_s_per_address: 0}}\n")


class SignalSocket(Base):
    @classmethod
    def setUpClass(cls):
        class WithKeys(Signaling):
            def write_keys(self, active):
                super().write_keys(active)
                line = f"acme app {hashlib.sha256(KEY.encode()).hexdigest()}\n"
                path = self.path("api-keys")
                with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                    file.write(line)

        cls.signaling = WithKeys(ACCESS)
        cls.addClassCleanup(cls.signaling.stop)

    def connect(self, **options):
        options.setdefault("subprotocols", [PROTOCOL])
        client = WebSocket(self.signaling.port, PATH, **options)
        self.addCleanup(client.close)
        return client

    def expect_refused(self, status, code, path=PATH, **options):
        options.setdefault("subprotocols", [PROTOCOL])
        with self.assertRaises(Refused) as refused:
            WebSocket(self.signaling.port, path, **options)
        self.assertEqual(refused.exception.status, status)
        self.assertEqual(refused.exception.error["code"], code)
        self.assertIn("Access-Control-Allow-Origin: *", refused.exception.head)

    def offer(self, client, sdp="v=0\r\n", **members):
        client.send({"type": "offer", "sdp": sdp, "key": KEY, **members})
        return client.read()

    def call(self):
        client = self.connect()
        answer = self.offer(client)
        self.assertEqual(answer["type"], "answer", answer)
        return client, answer

    def expect_error_and_close(self, client, code):
        message = client.read()
        self.assertEqual((message["type"], message["error"]["code"]), ("error", code), message)
        self.assertIsNone(client.read())
        self.assertEqual(client.close_code, 1008)

    # --- the upgrade

    def test_a_key_that_comes_along_must_be_good(self):
        self.expect_refused(401, "invalid_api_key", headers={"Authorization": "Bearer wrong"})
        self.expect_refused(401, "invalid_api_key",
                            subprotocols=[PROTOCOL, "openai-insecure-api-key.wrong"])
        client = self.connect(subprotocols=[PROTOCOL, "openai-insecure-api-key." + KEY])
        self.assertEqual(client.subprotocol, PROTOCOL)
        self.assertEqual(self.connect(headers={"Authorization": "Bearer " + KEY}).subprotocol,
                         PROTOCOL)

    def test_the_subprotocol_must_be_named(self):
        self.expect_refused(400, "invalid_value", subprotocols=[])
        self.expect_refused(400, "invalid_value", subprotocols=["realtime"])

    def test_other_paths_are_no_sockets(self):
        self.expect_refused(404, "not_found", path="/v1/realtime/signals")
        self.expect_refused(404, "not_found", path="/")

    # --- offers

    def test_an_offer_is_answered_and_the_socket_ends_no_call(self):
        fake = self.transceiver()
        client, answer = self.call()
        self.assertTrue(answer["sdp"])
        self.assertEqual(fake.expect("create"), "create " + answer["call_id"])
        client.close()
        self.signaling.wait_for_metric("earshot_signaling_sockets", 0)
        time.sleep(0.3)
        self.assertFalse(fake.has_line("end"))
        self.retire(fake)

    def test_the_key_of_the_upgrade_counts_for_the_offer(self):
        fake = self.transceiver()
        client = self.connect(headers={"Authorization": "Bearer " + KEY})
        client.send({"type": "offer", "sdp": "v=0\r\n"})
        self.assertEqual(client.read()["type"], "answer")
        self.retire(fake)

    def test_an_offer_of_a_stranger_is_refused(self):
        client = self.connect()
        client.send({"type": "offer", "sdp": "v=0\r\n", "key": "wrong"})
        self.expect_error_and_close(client, "invalid_api_key")

    def test_refusals_are_those_of_http(self):
        client = self.connect()
        client.send({"type": "offer", "sdp": "v=0\r\n", "key": KEY})
        self.expect_error_and_close(client, "server_overloaded")  # there is no transceiver
        fake = self.transceiver("behave no_common_codec")
        client = self.connect()
        client.send({"type": "offer", "sdp": "v=0\r\n", "key": KEY})
        self.expect_error_and_close(client, "no_common_codec")
        client = self.connect()
        client.send({"type": "offer", "key": KEY})
        self.expect_error_and_close(client, "invalid_offer")
        client = self.connect()
        client.send({"type": "offer", "sdp": "v=0\r\n", "key": KEY, "session": []})
        self.expect_error_and_close(client, "invalid_json")
        self.retire(fake)

    def test_a_client_that_leaves_before_its_answer_leaves_no_session(self):
        fake = self.transceiver("behave slow")
        client = self.connect()
        client.send({"type": "offer", "sdp": "v=0\r\n", "key": KEY})
        created = fake.expect("create").split()[1]
        client.close()
        self.assertEqual(fake.expect("end").split()[1], created)
        self.retire(fake)

    def test_a_client_that_says_nothing_is_closed(self):
        client = self.connect()
        began = time.monotonic()
        self.expect_error_and_close(client, "invalid_value")
        self.assertTrue(4.5 < time.monotonic() - began < 7)

    def test_what_is_no_message_closes(self):
        for text in ("", "[]", "{", '{"type":"restart"}', '{"type":"hangup"}', '{"type":"x"}'):
            client = self.connect()
            client.send(text)
            self.expect_error_and_close(
                client, "invalid_value" if "type" in text else "invalid_json")
        client = self.connect()
        client.send_frame(BINARY, b"{}")
        self.assertIsNone(client.read())
        self.assertEqual(client.close_code, 1003)

    def test_messages_are_bounded(self):
        fake = self.transceiver()
        client = self.connect()
        client.send(json.dumps({"type": "hangup", "x": "y" * (320 * 1024 - 30)}))
        self.expect_error_and_close(client, "invalid_value")
        client = self.connect()
        client.send("x" * (320 * 1024 + 1))
        self.assertIsNone(client.read())
        self.assertEqual(client.close_code, 1009)
        self.retire(fake)

    # --- the call

    def test_a_hangup_ends_the_call(self):
        fake = self.transceiver()
        client, answer = self.call()
        client.send({"type": "hangup"})
        self.assertEqual(client.read(), {"type": "ended", "reason": "hangup"})
        self.assertIsNone(client.read())
        self.assertEqual(client.close_code, 1000)
        self.assertEqual(fake.expect("end").split()[1], answer["call_id"])
        self.retire(fake)

    def test_a_restart_brings_a_fragment(self):
        fake = self.transceiver()
        client, _ = self.call()
        client.send({"type": "restart", "ufrag": "abcd", "pwd": PWD})
        message = client.read()
        self.assertEqual(message["type"], "restarted", message)
        self.assertTrue(message["sdpfrag"])
        client.send({"type": "restart", "ufrag": "a", "pwd": PWD})
        self.expect_error_and_close(client, "invalid_value")
        self.retire(fake)

    def test_a_transceiver_that_falls_silent_and_comes_back_is_told(self):
        fake = self.transceiver()
        client, _ = self.call()
        began = time.monotonic()
        fake.process.send_signal(signal.SIGSTOP)
        self.assertEqual(client.read(), {"type": "unreachable"})
        self.assertTrue(1.5 < time.monotonic() - began < 4)
        fake.process.send_signal(signal.SIGCONT)
        self.assertEqual(client.read(), {"type": "reachable"})
        self.retire(fake)


class Ending(Base):
    def test_sigterm_tells_clients_to_come_again(self):
        client = WebSocket(self.signaling.port, PATH, subprotocols=[PROTOCOL])
        self.signaling.process.send_signal(signal.SIGTERM)
        self.assertIsNone(client.read())
        self.assertEqual(client.close_code, 1001)
        with self.assertRaises(Refused) as refused:
            WebSocket(self.signaling.port, PATH, subprotocols=[PROTOCOL])
        self.assertEqual(refused.exception.status, 503)
        self.assertEqual(self.signaling.process.wait(5), 0)


if __name__ == "__main__":
    unittest.main()
