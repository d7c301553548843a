#!/usr/bin/env python3
"""Keys, client secrets, tenants and limits, with the real signaling."""
import hashlib
import json
import os
import unittest

from signaling_kit import CALLS, SDP, Base, Signaling, wait_until

ACME, OTHER, PEER = "sk-acme-of-the-test", "sk-other-of-the-test", "sk-peer-of-the-test"
SECRETS = "/v1/realtime/client_secrets"
FRAGMENT = {"Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*"}
BOUNDARY = "----formdata-undici-012345678901"
KEYS = ("auth: keys\napi_keys: {api_keys}\ndemo: true\n"
        "limits: {{offers_per_s_per_tenant: 0, offers_per_s_per_address: 0, "
        "offers_per_minute_per_secret: 0}}\n")


def line_of(tenant, role, key, *words):
    return " ".join((tenant, role, hashlib.sha256(key.encode()).hexdigest(), *words)) + "\n"


def bearer(key, **headers):
    return {"Authorization": f"Bearer {key}", **headers}


def tenant_of(name):
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def form_of(**parts):
    text = "".join(f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
                   f"{content}\r\n" for name, content in parts.items())
    return f"{text}--{BOUNDARY}--\r\n"


class Guarded(Base):
    access = KEYS
    keys = (line_of("acme", "app", ACME), line_of("other", "app", OTHER),
            line_of("east", "peer", PEER))

    @classmethod
    def setUpClass(cls):
        keys = cls.keys

        class WithKeys(Signaling):
            def write_keys(self, active):
                super().write_keys(active)
                self.write_api_keys("".join(keys))

            def write_api_keys(self, text):
                path = self.path("new-api-keys")
                with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
                    file.write(text)
                os.rename(path, self.path("api-keys"))

        cls.signaling = WithKeys(cls.access, **cls.http)
        cls.addClassCleanup(cls.signaling.stop)

    def request(self, method, path, key=None, body=None, **headers):
        fields = bearer(key, **headers) if key else headers
        return self.signaling.request(method, path, body, fields)

    def call(self, key, body="v=0\r\n", path=CALLS, headers=SDP):
        return self.signaling.request("POST", path, body, bearer(key, **headers))

    def secret(self, key=ACME, **wish):
        answer = self.request("POST", SECRETS, key, json.dumps(wish) if wish else None,
                              **{"Content-Type": "application/json"})
        self.assertEqual(answer.status, 200, answer.text)
        return json.loads(answer.text)


class Keys(Guarded):
    def test_without_a_good_key_nobody_calls(self):
        fake = self.transceiver()
        for key in (None, "sk-wrong", PEER, "ek_Anonsense", ACME + "x"):
            for method, path in (("POST", CALLS), ("POST", "/whip"), ("POST", "/v1/realtime"),
                                 ("POST", SECRETS), ("PATCH", CALLS + "/rtc_x"),
                                 ("DELETE", "/whip/rtc_x"), ("GET", CALLS + "/rtc_x"),
                                 ("POST", CALLS + "/rtc_x/hangup")):
                answer = self.request(method, path, key, "v=0\r\n" if method == "POST" else None)
                self.assert_error(answer, 401, "invalid_api_key")
                self.assertEqual(answer.getheader("WWW-Authenticate"), "Bearer")
                self.assertRegex(answer.getheader("x-request-id"), "^req_[0-9a-f]{16}$")
        self.assertFalse(fake.has_line("create"))
        self.retire(fake)

    def test_a_call_belongs_to_the_tenant_of_its_key(self):
        fake = self.transceiver()
        answer = self.call(ACME)
        self.assertEqual(answer.status, 201, answer.text)
        self.assertEqual(fake.expect("brings"),
                         f"brings tenant={tenant_of('acme')} stream=-1 session=")
        path = answer.getheader("Location")
        for key, status in ((OTHER, 404), (ACME, 200)):
            self.assertEqual(self.request("PATCH", path, key, "x", **FRAGMENT).status, status)
        for key, status in ((OTHER, 404), (ACME, 204)):
            self.assertEqual(self.request("GET", path, key).status, status)
            self.assertEqual(self.request("HEAD", path, key).status, status)
        for key, status in ((OTHER, 404), (ACME, 200), (ACME, 404)):
            self.assertEqual(self.request("POST", path + "/hangup", key).status, status)
        self.assertEqual(self.request("GET", path, ACME).status, 404)
        self.retire(fake)

    def test_new_keys_count_when_the_file_changes_and_bad_ones_leave_the_old(self):
        signaling = self.signaling
        self.addCleanup(signaling.wait_for_metric, "earshot_signaling_api_keys", len(self.keys))
        self.addCleanup(signaling.write_api_keys, "".join(self.keys))
        signaling.write_api_keys("nonsense\n")
        wait_until(lambda: "api_keys.reload_failed" in signaling.read_log(), "the fault")
        self.assertIn("api-keys:1: wants: tenant role sha256", signaling.read_log())
        self.assertEqual(self.request("POST", SECRETS, ACME).status, 200)
        self.assertEqual(signaling.metric("earshot_signaling_api_keys_reloads_failed_total"), 1)
        signaling.write_api_keys(line_of("new", "app", "sk-new"))
        signaling.wait_for_metric("earshot_signaling_api_keys", 1)
        self.assertEqual(self.request("POST", SECRETS, "sk-new").status, 200)
        self.assertEqual(self.request("POST", SECRETS, ACME).status, 401)

    def test_no_key_is_ever_logged(self):
        secret = self.secret()["value"]
        for key in (ACME, secret, "sk-wrong-of-the-log"):
            self.request("POST", CALLS, key, "v=0\r\n", **SDP)
        log = self.signaling.read_log()
        for key in (ACME, secret, "sk-wrong-of-the-log", hashlib.sha256(ACME.encode()).hexdigest()):
            self.assertNotIn(key, log)
        answer = self.request("POST", CALLS, "sk-wrong-of-the-log", "v=0\r\n", **SDP)
        self.assertIn("access.refused reason=unknown_key request="
                      + answer.getheader("x-request-id"), self.signaling.read_log())


class ClientSecrets(Guarded):
    def test_a_secret_is_issued_as_the_contract_says(self):
        plain = self.secret()
        self.assertTrue(plain["value"].startswith("ek_"))
        session = plain["session"]
        self.assertEqual((session["type"], session["object"]), ("realtime", "realtime.session"))
        self.assertTrue(session["id"].startswith("sess_"))
        self.assertEqual(session["audio"]["input"]["turn_detection"]["silence_duration_ms"], 500)
        wish = {"session": {"type": "realtime", "instructions": "Be brief."},
                "expires_after": {"anchor": "created_at", "seconds": 10}}
        made = self.secret(**wish)
        self.assertEqual(made["session"]["instructions"], "Be brief.")
        self.assertAlmostEqual(plain["expires_at"] - made["expires_at"], 590, delta=5)

    def test_what_can_not_be_granted_is_told(self):
        cases = (('{"expires_after":{"seconds":9}}', 400, "invalid_value"),
                 ('{"expires_after":{"seconds":7201}}', 400, "invalid_value"),
                 ('{"expires_after":{"anchor":"now"}}', 400, "invalid_value"),
                 ('{"expires_after":7}', 400, "invalid_value"),
                 ('{"session":[]}', 400, "invalid_value"),
                 ('{"session":{"type":"transcription"}}', 400, "invalid_value"),
                 ("[]", 400, "invalid_json"), ("{", 400, "invalid_json"),
                 (json.dumps({"session": {"instructions": os.urandom(8000).hex()}}), 413,
                  "too_large"),
                 (json.dumps({"session": {"instructions": "x" * 196608}}), 413, "too_large"))
        for body, status, code in cases:
            self.assert_error(self.request("POST", SECRETS, ACME, body), status, code)
        for seconds in (10, 7200):
            self.secret(expires_after={"seconds": seconds})
        self.secret(session={"instructions": "x" * 190000}) # it deflates

    def test_a_secret_brings_its_tenant_and_session_but_makes_no_secret(self):
        fake = self.transceiver()
        session = {"type": "realtime", "instructions": "Be brief."}
        value = self.secret(session=session)["value"]
        self.assertEqual(self.call(value).status, 201)
        brought = fake.expect("brings")
        self.assertIn(tenant_of("acme"), brought)
        self.assertEqual(json.loads(brought.partition("session=")[2]), session)
        self.assert_error(self.request("POST", SECRETS, value), 401, "invalid_api_key")
        self.retire(fake)

    def test_the_longest_secret_fits_a_header(self):
        fake = self.transceiver()
        session = {"instructions": os.urandom(3750).hex()}
        value = self.secret(session=session)["value"]
        self.assertIn(len(value), range(5500, 6145))
        self.assertEqual(self.call(value).status, 201)
        self.assertEqual(json.loads(fake.expect("brings").partition("session=")[2]), session)
        self.retire(fake)

    def test_a_form_lays_its_session_over_that_of_the_secret(self):
        fake = self.transceiver()
        value = self.secret(session={"instructions": "a", "audio": {"input": {"x": 1}}})["value"]
        form = form_of(session='{"instructions":"b","audio":{"input":{"y":2}}}', sdp="v=0\r\n")
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        answer = self.call(value, form, CALLS + "?model=m&dcid=7", headers)
        self.assertEqual(answer.status, 201, answer.text)
        brought = fake.expect("brings")
        self.assertIn(" stream=7 ", brought)
        self.assertEqual(json.loads(brought.partition("session=")[2]),
                         {"instructions": "b", "audio": {"input": {"x": 1, "y": 2}}})
        cases = ((form_of(sdp="v=0\r\n", session="{"), 400, "invalid_json"),
                 (form_of(session="{}"), 400, "invalid_offer"),
                 (form_of(sdp=""), 400, "invalid_offer"),
                 (form_of(sdp="x" * 65537), 413, "too_large"),
                 (form_of(sdp="m=application 9\r\n", session=json.dumps({"i": "x" * 57400})),
                  413, "too_large"),
                 (form[:-4], 400, "invalid_value"))
        for body, status, code in cases:
            self.assert_error(self.call(value, body, CALLS, headers), status, code)
        self.assertFalse(fake.has_line("create"))
        self.retire(fake)

    def test_the_path_of_the_beta_makes_a_call_too(self):
        fake = self.transceiver()
        answer = self.call(ACME, path="/v1/realtime?model=gpt-realtime")
        self.assertEqual(answer.status, 201, answer.text)
        self.assertTrue(answer.getheader("Location").startswith(CALLS + "/rtc_"))
        self.assert_error(self.call(ACME, path=CALLS + "?dcid=1024"), 400, "invalid_value")
        self.retire(fake)

    def test_the_page_of_this_origin_alone_gets_one_without_a_key(self):
        fake = self.transceiver()
        own = {"Origin": f"http://127.0.0.1:{self.signaling.port}"}
        answer = self.request("POST", "/demo/secret", **own)
        self.assertEqual(answer.status, 200, answer.text)
        self.assertEqual(answer.getheader("Cache-Control"), "no-store")
        self.assertEqual(self.call(json.loads(answer.text)["value"]).status, 201)
        self.assertIn(tenant_of("demo page"), fake.expect("brings"))
        for headers in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
            self.assert_error(self.request("POST", "/demo/secret", **headers), 403,
                              "origin_not_allowed")
        rebound = {"Host": "evil.example:8080", "Origin": "http://evil.example:8080"}
        self.assert_error(self.request("POST", "/demo/secret", **rebound), 403,
                          "origin_not_allowed")
        for _ in range(5):
            self.assertEqual(self.request("POST", "/demo/secret", **own).status, 200)
        answer = self.request("POST", "/demo/secret", **own)
        self.assert_error(answer, 429, "rate_limit_exceeded")
        self.assertIn(int(answer.getheader("Retry-After")), range(1, 11))
        self.retire(fake)


class Proxied(Guarded):
    """All requests come from 127.0.0.1, which passes on those of others."""
    http = {"trusted_proxies": "[127.0.0.0/8, \"\"]", "connections_per_address_max": 2}
    access = ("auth: keys\napi_keys: {api_keys}\nlimits: {{offers_per_s_per_tenant: 0, "
              "offers_per_s_per_address: 2}}\n")
    keys = (line_of("acme", "app", ACME),)

    def statuses(self, forwarded, count=4):
        fields = {**SDP, "X-Forwarded-For": forwarded}
        return [self.call(ACME, headers=fields).status for _ in range(count)]

    def test_each_client_of_a_proxy_has_a_limit_of_its_own(self):
        fake = self.transceiver()
        self.assertEqual(self.statuses("198.51.100.1"), [201, 201, 429, 429])
        self.assertEqual(self.statuses("198.51.100.2"), [201, 201, 429, 429])
        # Who sends such a field himself gains nothing: the proxy's word stands behind it.
        self.assertEqual(self.statuses("203.0.113.1, 198.51.100.2"), [429] * 4)
        self.retire(fake)

    def test_a_proxy_has_as_many_connections_as_it_wants(self):
        held = [self.signaling.connect(b"GET / HTTP/1.1\r\n") for _ in range(8)]
        self.assertEqual(self.request("GET", "/healthz").status, 200)
        for client in held:
            client.close()


class Limits(Guarded):
    access = ("auth: keys\napi_keys: {api_keys}\nlimits: {{offers_per_s_per_tenant: 2, "
              "offers_per_s_per_address: 0, offers_per_minute_per_secret: 3}}\n")
    keys = (line_of("acme", "app", ACME), line_of("busy", "app", OTHER, "offers_per_s=100"))

    def outcomes(self, key, count):
        return [self.call(key).status for _ in range(count)]

    def test_a_tenant_makes_as_many_calls_as_it_may(self):
        fake = self.transceiver()
        statuses = self.outcomes(ACME, 6)
        self.assertEqual(statuses[:2], [201, 201])
        self.assertIn(429, statuses)
        self.assertEqual(self.outcomes(OTHER, 20), [201] * 20)
        limited = self.signaling.metric('earshot_signaling_limited_total{limit="tenant"}')
        self.assertGreater(limited, 0)
        self.retire(fake)

    def test_a_secret_makes_as_many_as_it_may(self):
        fake = self.transceiver()
        self.assertEqual(self.outcomes(self.secret(OTHER)["value"], 4), [201, 201, 201, 429])
        self.retire(fake)

    def test_there_is_no_demo_where_none_is_configured(self):
        own = {"Origin": f"http://127.0.0.1:{self.signaling.port}"}
        self.assert_error(self.request("POST", "/demo/secret", **own), 404, "not_found")


if __name__ == "__main__":
    unittest.main()
