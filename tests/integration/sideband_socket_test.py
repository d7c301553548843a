#!/usr/bin/env python3
"""Who may open a side-band of a call, with the real signaling."""
import hashlib
import os
import unittest

from signaling_kit import CALLS, SDP, Base, Signaling
from websocket_kit import Refused, WebSocket

KEYS = {"acme": "sk-acme-of-the-test", "other": "sk-other-of-the-test"}
ACCESS = ("auth: keys\napi_keys: {api_keys}\n"
          "limits: {{offers_per_s_per_tenant: 0, offers_per_s_per_address: 0}}\n")


def bearer(tenant):
    return {"Authorization": f"Bearer {KEYS[tenant]}"}


class SidebandSocket(Base):
    http = {"allow_origins": '["https://app.example"]'}

    @classmethod
    def setUpClass(cls):
        class WithKeys(Signaling):
            def write_keys(self, active):
                super().write_keys(active)
                path = self.path("api-keys")
                with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                    for tenant, key in KEYS.items():
                        file.write(f"{tenant} app {hashlib.sha256(key.encode()).hexdigest()}\n")

        cls.signaling = WithKeys(ACCESS, **cls.http)
        cls.addClassCleanup(cls.signaling.stop)

    def setUp(self):
        super().setUp()
        self.fake = self.transceiver()
        answer = self.offer(headers={**SDP, **bearer("acme")})
        self.assertEqual(answer.status, 201, answer.text)
        self.call_id = answer.getheader("Location").removeprefix(CALLS + "/")
        self.addCleanup(self.retire, self.fake)

    def expect_refused(self, status, code, call_id=None, **options):
        query = "" if call_id == "" else f"?call_id={call_id or self.call_id}"
        with self.assertRaises(Refused) as refused:
            WebSocket(self.signaling.port, "/v1/realtime" + query, **options)
        self.assertEqual(refused.exception.status, status)
        self.assertEqual(refused.exception.error["code"], code)

    def test_a_key_is_needed(self):
        self.expect_refused(401, "invalid_api_key")
        self.expect_refused(401, "invalid_api_key", headers={"Authorization": "Bearer x"})
        self.expect_refused(401, "invalid_api_key",
                            subprotocols=["realtime", "openai-insecure-api-key.x"])

    def test_a_call_id_of_no_transceiver_here_is_not_found(self):
        for call_id in ("", "rtc_x", self.call_id[:-1], self.call_id[:-4] + "AAAA"):
            self.expect_refused(404, "call_id_not_found", call_id, headers=bearer("acme"))

    def test_a_foreign_page_is_refused(self):
        self.expect_refused(403, "origin_not_allowed",
                            headers={**bearer("acme"), "Origin": "https://evil.example"})

    def test_realtime_stands_first_of_the_subprotocols(self):
        key = "openai-insecure-api-key." + KEYS["acme"]
        for subprotocols in ([key], [key, "realtime"], ["earshot.signal.v1", key]):
            self.expect_refused(400, "invalid_value", subprotocols=subprotocols)

    def test_what_is_right_is_let_in(self):
        key = "openai-insecure-api-key." + KEYS["acme"]
        for options in ({"headers": bearer("acme")}, {"subprotocols": ["realtime", key]},
                        {"headers": {**bearer("acme"), "Origin": "https://app.example"}}):
            client = WebSocket(self.signaling.port, f"/v1/realtime?call_id={self.call_id}",
                               **options)
            self.assertEqual(client.subprotocol,
                             "realtime" if "subprotocols" in options else None)
            client.close()


if __name__ == "__main__":
    unittest.main()
