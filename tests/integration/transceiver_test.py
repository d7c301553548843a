"""The transceiver as a process, on loopback: a fake relay, backend and signaling, and strangers."""

import os
import signal
import socket
import tempfile
import time
import unittest

import backend_wire as wire
from media_wire import CONTROLLED, DOWNLINK, PROBE, TCP, Key, stun_check
from transceiver_kit import (ACTIVE_KEY, Backend, BACKEND_UP, Call, CAPACITY, CONTROL_URL,
                             DEADLINE, DRAINING, FIND_S, FULL, KEY_IDS, MEDIA_ADDRESS, OFFER, PEER,
                             QUIET_S, READY, RTP, SEQUENCE, STATE, Transceiver)


class TransceiverTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.key = Key(7)
        self.relay = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.relay.close)
        self.relay.bind(("127.0.0.1", 0))
        self.relay.settimeout(FIND_S)
        self.backend = Backend()
        self.addCleanup(self.backend.close)

    def transceiver(self, start=True, greet=True, **config):
        transceiver = Transceiver(self.folder, self.key, self.backend.port, **config)
        self.addCleanup(transceiver.kill)
        if start:
            transceiver.start()
            if greet:
                self.backend.accept()
                transceiver.wait_for_metric("earshot_transceiver_backend_links", 1)
        return transceiver

    def send(self, transceiver, packet):
        self.relay.sendto(packet, ("127.0.0.1", transceiver.media_port))

    def send_for(self, transceiver, call, datagram):
        self.send(transceiver, self.key.shim(0, call.instance, call.session, PEER, datagram))

    def assert_silent(self):
        self.relay.settimeout(QUIET_S)
        with self.assertRaises(TimeoutError):
            self.relay.recvfrom(2000)
        self.relay.settimeout(FIND_S)

    # --- announcements ---------------------------------------------------------------------------

    def test_it_tells_who_it_is_again_and_again(self):
        transceiver = self.transceiver(greet=False, sessions_max=40)
        heard = transceiver.hear_announcement()
        self.assertEqual(heard[MEDIA_ADDRESS], [b"127.0.0.1:%d" % transceiver.media_port])
        self.assertEqual(heard[CONTROL_URL], [b"tcp://127.0.0.1:%d" % transceiver.control_port])
        self.assertEqual((heard[CAPACITY], heard[STATE]), ([40], [READY]))
        self.assertEqual((heard[KEY_IDS], heard[ACTIVE_KEY]), ([b"\x07"], [7]))
        self.assertNotIn(BACKEND_UP, heard)
        begin = time.monotonic()
        for _ in range(4):
            before, heard = heard, transceiver.hear_announcement()
            self.assertEqual(heard[SEQUENCE][0], before[SEQUENCE][0] + 1)
        self.assertGreater(time.monotonic() - begin, 1.2)
        self.assertEqual(transceiver.get("/readyz")[0], 503)
        self.backend.accept()
        transceiver.hear_announcement(field_14=1)
        transceiver.wait_for("readiness", lambda: transceiver.get("/readyz")[0] == 200)

    # --- strangers -------------------------------------------------------------------------------

    def test_what_no_relay_of_ours_sent_is_counted_and_not_answered(self):
        transceiver = self.transceiver()
        call = Call(transceiver.create("rtc_1"))
        check = stun_check(f"{call.ufrag}:peer", call.password)
        good = self.key.shim(0, call.instance, call.session, PEER, check)
        forger = Key(7)
        verdict = 'earshot_transceiver_shims_total{verdict="%s"}'
        for packet, name in (
                (good[:39], "short"), (good[:-1], "short"), (check, "version"),
                (forger.shim(0, call.instance, call.session, PEER, check), "tag"),
                (Key(9).shim(0, call.instance, call.session, PEER, check), "unknown_key"),
                (self.key.shim(0, call.instance ^ 1, call.session, PEER, check), "instance"),
                (self.key.shim(DOWNLINK, call.instance, call.session, PEER, check), "version"),
                (self.key.shim(PROBE, call.instance, call.session, PEER, b""), "version")):
            before = transceiver.metric(verdict % name)
            self.send(transceiver, packet)
            transceiver.wait_for_metric(verdict % name, before + 1)
        self.send(transceiver, self.key.shim(0, call.instance, call.session ^ 1, PEER, check))
        transceiver.wait_for_metric("earshot_transceiver_datagrams_without_session_total", 1)
        self.send(transceiver, self.key.shim(0, call.instance, call.session, PEER, bytes(1501)))
        transceiver.wait_for_metric(verdict % "too_long", 1)
        self.assert_silent()
        self.assertEqual(transceiver.metric("earshot_transceiver_sent_datagrams_total"), 0)

    def test_a_stranger_behind_a_relay_gets_nothing_from_a_call(self):
        transceiver = self.transceiver()
        call = Call(transceiver.create("rtc_1"))
        verdict = 'earshot_transceiver_datagrams_total{verdict="%s"}'
        for datagram, name in (
                (stun_check(f"{call.ufrag}:peer", "wrong password, 22 chars"), "stun_refused"),
                (stun_check(f"{call.ufrag}:other", call.password), "stun_refused"),
                (b"\x16\xfe\xff" + bytes(60), "dtls_unvalidated"), (RTP, "srtp_too_early"),
                (b"\xc0" + bytes(60), "unknown_kind"), (b"", "unknown_kind")):
            before = transceiver.metric(verdict % name)
            self.send_for(transceiver, call, datagram)
            transceiver.wait_for_metric(verdict % name, before + 1)
        self.assert_silent()

    def test_a_good_check_is_answered_to_the_relay_that_brought_it(self):
        transceiver = self.transceiver()
        call = Call(transceiver.create("rtc_1"))
        check = stun_check(f"{call.ufrag}:peer", call.password)
        self.send(transceiver, self.key.shim(TCP, call.instance, call.session, PEER, check))
        flags, instance, session, peer, answer = self.key.open_shim(self.relay.recv(2000))
        self.assertEqual((flags, instance, session, peer),
                         (DOWNLINK | TCP, call.instance, call.session, PEER))
        self.assertEqual((answer[:2], answer[8:20]), (b"\x01\x01", check[8:20]))
        self.assertLessEqual(len(answer), len(check))
        flags, *_, hello = self.key.open_shim(self.relay.recv(2000))
        self.assertEqual((flags, hello[0]), (DOWNLINK | TCP, 22))

    def test_a_datagram_at_the_wrong_shards_port_reaches_its_call(self):
        transceiver = self.transceiver(greet=False, shards=2, sessions_max=40)
        for links in (1, 2):
            self.backend.accept()
            transceiver.wait_for_metric("earshot_transceiver_backend_links", links)
        calls = [Call(transceiver.create(f"rtc_{n}")) for n in range(4)]
        shards = [call.session >> 26 for call in calls]
        self.assertEqual(set(shards), {0, 1})
        for call, shard in zip(calls, shards):
            check = stun_check(f"{call.ufrag}:peer", call.password)
            packet = self.key.shim(0, call.instance, call.session, PEER, check)
            self.relay.sendto(packet, ("127.0.0.1", transceiver.media_port + 1 - shard))
            answer, sender = self.relay.recvfrom(2000)
            self.assertEqual(self.key.open_shim(answer)[4][:2], b"\x01\x01")
            self.assertEqual(sender[1], transceiver.media_port + shard)
            self.relay.recv(2000)  # its DTLS hello
        transceiver.wait_for_metric("earshot_transceiver_misdirected_datagrams_total", len(calls))

    def test_a_client_that_claims_our_role_does_not_stop_its_shard(self):
        transceiver = self.transceiver()
        call = Call(transceiver.create("rtc_1"))
        refused = stun_check(f"{call.ufrag}:peer", call.password, CONTROLLED)
        self.send_for(transceiver, call, refused)
        self.assertEqual(self.key.open_shim(self.relay.recv(2000))[4][:2], b"\x01\x11")
        time.sleep(0.7)  # longer than the interval of an announced flow
        other = Call(transceiver.create("rtc_2"))
        self.send_for(transceiver, other, stun_check(f"{other.ufrag}:peer", other.password))
        self.assertEqual(self.key.open_shim(self.relay.recv(2000))[4][:2], b"\x01\x01")

    # --- requests --------------------------------------------------------------------------------

    def test_a_call_is_answered_with_our_ingress_and_told_to_the_backend(self):
        transceiver = self.transceiver()
        call = Call(transceiver.create("rtc_1"))
        self.assertIn(" 198.51.100.7 3478 typ host", call.answer)
        start = self.backend.hear(wire.START)
        self.assertEqual((start.session, start.json()["call_id"]), (call.session, "rtc_1"))
        transceiver.hear_announcement(field_9=1)

    def test_the_same_request_gets_the_same_reply_and_makes_one_call(self):
        transceiver = self.transceiver()
        first = transceiver.create("rtc_1")
        self.assertEqual(transceiver.create("rtc_1"), first)
        self.assertNotEqual(transceiver.create("rtc_1", request_id="another"), first)
        self.backend.hear(wire.START)
        self.backend.hear(wire.START)
        self.assertEqual(self.backend.count(wire.START), 0)

    def test_without_a_backend_nobody_is_let_in(self):
        transceiver = self.transceiver(greet=False)
        self.assertRegex(transceiver.create("rtc_1"), "^refused backend_unavailable 1000 .")
        self.backend.accept()
        transceiver.wait_for_metric("earshot_transceiver_backend_links", 1)
        Call(transceiver.create("rtc_2"))

    def test_a_full_transceiver_refuses_and_says_so(self):
        transceiver = self.transceiver(sessions_max=1)
        Call(transceiver.create("rtc_1"))
        self.assertRegex(transceiver.create("rtc_2"), "^refused full 1000 .")
        transceiver.hear_announcement(field_13=FULL)
        self.assertEqual(transceiver.ask("r3", "end", "rtc_1", "t1"), "ended\n")
        Call(transceiver.create("rtc_4"))

    def test_what_it_can_not_do_is_refused_for_its_reason(self):
        transceiver = self.transceiver()
        self.assertRegex(transceiver.ask("r1", "unknown"), "^refused not_implemented 0 .")
        self.assertRegex(transceiver.ask("r2", "garbage"), "^refused bad_offer 0 not a request")
        self.assertRegex(transceiver.create("rtc_1", offer="hello"), "^refused bad_offer 0 .")
        g722 = OFFER.replace("SAVPF 111", "SAVPF 9").replace("111 opus/48000/2", "9 G722/8000")
        self.assertRegex(transceiver.create("rtc_2", offer=g722), "^refused no_common_codec 0 .")

    def test_a_call_is_ended_by_its_tenant_or_an_operator(self):
        transceiver = self.transceiver()
        Call(transceiver.create("rtc_1", tenant="mine"))
        Call(transceiver.create("rtc_2", tenant="mine"))
        self.assertRegex(transceiver.ask("r1", "end", "rtc_1", "theirs"), "^refused not_found")
        self.assertEqual(transceiver.ask("r2", "end", "rtc_1", "mine"), "ended\n")
        self.assertRegex(transceiver.ask("r3", "end", "rtc_1", "mine"), "^refused not_found")
        self.assertEqual(transceiver.ask("r4", "end", "rtc_2", "theirs", "operator"), "ended\n")
        self.assertEqual(self.backend.hear(wire.END).json(), {"reason": "hangup"})

    # --- the backend -----------------------------------------------------------------------------

    def accept_call(self):
        start = self.backend.hear(wire.START)
        self.backend.link.send_json(wire.ACCEPT, start.session)
        return start

    def test_a_backend_that_dies_is_dialled_again_and_its_calls_go_on(self):
        transceiver = self.transceiver(greet=False)
        self.backend.accept(resume=True)
        transceiver.wait_for_metric("earshot_transceiver_backend_links", 1)
        Call(transceiver.create("rtc_1"))
        token = self.accept_call().json()["resume_token"]
        for _ in range(2):
            self.backend.hang_up()
            self.backend.accept(resume=True)
            resume = self.backend.hear(wire.SESSION_RESUME)
            self.assertEqual(resume.json()["resume_token"], token)
            self.assertEqual(resume.json()["call_id"], "rtc_1")
            token = resume.json()["next_resume_token"]
            self.backend.link.send_json(wire.ACCEPT, resume.session)
        transceiver.wait_for_metric("earshot_transceiver_backend_calls_resumed_total", 2)
        self.assertIn("backend.lost", transceiver.log())
        self.assertIn("session.backend_back call=rtc_1 how=resumed", transceiver.log())

    def test_a_backend_that_does_not_know_the_call_starts_it_anew(self):
        transceiver = self.transceiver(greet=False)
        self.backend.accept(resume=True)
        transceiver.wait_for_metric("earshot_transceiver_backend_links", 1)
        Call(transceiver.create("rtc_1"))
        self.assertFalse(self.accept_call().json()["restarted"])
        self.backend.hang_up()
        self.backend.accept(resume=True)
        resume = self.backend.hear(wire.SESSION_RESUME)
        del self.backend.link.heard[resume.session]  # the handle is free after a REJECT
        self.backend.link.send_json(wire.REJECT, resume.session, code="no_session")
        del self.backend.link.sent[resume.session]
        self.assertTrue(self.accept_call().json()["restarted"])
        transceiver.wait_for_metric("earshot_transceiver_backend_calls_restarted_total", 1)

    def test_a_backend_that_stays_away_loses_its_calls_after_five_seconds(self):
        transceiver = self.transceiver()
        Call(transceiver.create("rtc_1"))
        self.accept_call()
        transceiver.wait_for_metric("earshot_transceiver_backend_links", 1)
        begin = time.monotonic()
        self.backend.hang_up()
        reason = 'earshot_transceiver_sessions_ended_total{reason="backend_lost"}'
        transceiver.wait_for_metric(reason, 1)
        self.assertGreater(time.monotonic() - begin, 4.5)

    def test_a_call_without_an_accept_ends_after_two_seconds(self):
        transceiver = self.transceiver()
        begin = time.monotonic()
        Call(transceiver.create("rtc_1"))
        end = self.backend.hear(wire.END)
        self.assertGreater(time.monotonic() - begin, 1.9)
        self.assertEqual(end.json(), {"reason": "backend_unavailable"})

    def test_a_reject_ends_the_call(self):
        transceiver = self.transceiver()
        call = Call(transceiver.create("rtc_1"))
        self.backend.hear(wire.START)
        self.backend.link.send_json(wire.REJECT, call.session, code="overload", message="no")
        reason = 'earshot_transceiver_sessions_ended_total{reason="backend_unavailable"}'
        transceiver.wait_for_metric(reason, 1)

    def test_a_backend_by_name_is_tried_at_each_of_its_addresses(self):
        transceiver = self.transceiver(greet=False, backend=f"localhost:{self.backend.port}")
        self.backend.accept()  # it listens on one family only
        transceiver.wait_for_metric("earshot_transceiver_backend_links", 1)

    # --- life ------------------------------------------------------------------------------------

    def test_without_calls_a_sigterm_ends_it(self):
        transceiver = self.transceiver()
        transceiver.process.send_signal(signal.SIGTERM)
        self.assertEqual(transceiver.process.wait(FIND_S), 0)
        self.assertIn("transceiver.stopped", transceiver.log())

    def test_a_draining_transceiver_keeps_its_calls_and_takes_no_new_one(self):
        transceiver = self.transceiver()
        call = Call(transceiver.create("rtc_1"))
        self.backend.link.send_json(wire.ACCEPT, call.session)
        transceiver.process.send_signal(signal.SIGTERM)
        heard = transceiver.hear_announcement(field_13=DRAINING)
        self.assertGreater(heard[DEADLINE][0], time.time() * 1000)
        self.assertEqual(transceiver.get("/readyz")[0], 503)
        self.assertRegex(transceiver.create("rtc_2"), "^refused draining")
        time.sleep(1)
        self.send_for(transceiver, call, stun_check(f"{call.ufrag}:peer", call.password))
        self.assertEqual(self.key.open_shim(self.relay.recv(2000))[4][:2], b"\x01\x01")
        self.assertEqual(transceiver.ask("r3", "end", "rtc_1", "t1"), "ended\n")
        self.assertEqual(transceiver.process.wait(FIND_S), 0)

    def test_a_second_sigterm_ends_the_calls_now(self):
        transceiver = self.transceiver()
        call = Call(transceiver.create("rtc_1"))
        self.backend.link.send_json(wire.ACCEPT, call.session)
        transceiver.process.send_signal(signal.SIGTERM)
        transceiver.wait_for("a drain", lambda: transceiver.get("/readyz")[0] == 503)
        transceiver.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.backend.hear(wire.END).json(), {"reason": "shutdown"})
        self.assertEqual(transceiver.process.wait(FIND_S), 0)

    def test_the_drain_has_an_end(self):
        transceiver = self.transceiver(drain_timeout="500ms")
        call = Call(transceiver.create("rtc_1"))
        self.backend.link.send_json(wire.ACCEPT, call.session)
        transceiver.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.backend.hear(wire.END).json(), {"reason": "shutdown"})
        self.assertEqual(transceiver.process.wait(FIND_S), 0)

    def test_keys_are_read_again_and_a_bad_file_keeps_the_old(self):
        transceiver = self.transceiver()
        call = Call(transceiver.create("rtc_1"))
        path = os.path.join(transceiver.keys, "active")
        with open(path, "w") as file:
            file.write("junk\n")
        transceiver.process.send_signal(signal.SIGHUP)
        transceiver.wait_for("a line", lambda: "keys.reload_failed" in transceiver.log())
        self.send_for(transceiver, call, stun_check(f"{call.ufrag}:peer", call.password))
        self.key.open_shim(self.relay.recv(2000))
        self.key.open_shim(self.relay.recv(2000))

        new = Key(9)
        new.store(transceiver.keys)
        transceiver.process.send_signal(signal.SIGHUP)
        info = 'earshot_key_ring_key_info{ring="media",key_id="09",active="true"}'
        transceiver.wait_for_metric(info, 1)
        transceiver.hear_announcement(field_20=9)
        check = stun_check(f"{call.ufrag}:peer", call.password)
        self.send_for(transceiver, call, check)  # the old key still opens
        packet = self.relay.recv(2000)
        while packet[14] != 9:  # what was sent before the change
            packet = self.relay.recv(2000)
        new.open_shim(packet)
        later = Call(transceiver.create("rtc_2"))
        self.assertEqual(later.ufrag[0], new.token(0, 0, 0)[0])

    def test_a_port_that_is_taken_is_one_clear_line(self):
        for port, kind, line in (
                ("media_port", socket.SOCK_DGRAM, "bind udp 127.0.0.1:{}: Address already in use"),
                ("control_port", socket.SOCK_STREAM, "listen tcp://127.0.0.1:{}: Address in use"),
                ("events_port", socket.SOCK_STREAM, "listen tcp://127.0.0.1:{}: Address in use"),
                ("admin_port", socket.SOCK_STREAM, "127.0.0.1:{}")):
            with self.subTest(port):
                transceiver = self.transceiver(start=False)
                number = getattr(transceiver, port)
                with socket.socket(socket.AF_INET, kind) as taken:
                    taken.bind(("127.0.0.1", number))
                    if kind == socket.SOCK_STREAM:
                        taken.listen()
                    self.assertEqual(transceiver.launch().wait(FIND_S), 1)
                last = transceiver.log().splitlines()[-1]
                self.assertIn(line.format(number), last)
                self.assertTrue(last.startswith("earshot-transceiver: "), last)

    def test_what_is_wrong_in_the_configuration_is_one_clear_line(self):
        for key, value, word in (("shards", 65, "shards"), ("keys", "/nowhere", "/nowhere"),
                                 ("backend", "nobody", "nobody"), ("colour", "blue", "colour"),
                                 ("backend", "unix:/" + 107 * "x", "longer than 107")):
            with self.subTest(key):
                transceiver = self.transceiver(start=False, **{key: value})
                self.assertEqual(transceiver.launch().wait(FIND_S), 1)
                last = transceiver.log().splitlines()[-1]
                self.assertIn(word, last)

    def test_the_configuration_can_be_checked_without_a_start(self):
        transceiver = self.transceiver(start=False)
        self.assertEqual(transceiver.launch("--check-config").wait(FIND_S), 0)
        transceiver.config["shards"] = 0
        self.assertEqual(transceiver.launch("--check-config").wait(FIND_S), 1)


if __name__ == "__main__":
    unittest.main()
